//! `MODEL_CARD.md`: what a model was trained on, how, and how well it does.

/// The facts of a training for readers of the model. Texts are Markdown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Card {
    /// Title, such as `en-de`.
    pub name: String,
    /// Hugging Face's name of the model's kind; empty: `marian`.
    pub model_type: &'static str,
    /// Source language, as the user names it; may be empty.
    pub source_language: String,
    /// Target language; may be empty.
    pub target_language: String,
    /// The training data: files, numbers of pairs, licences. One entry a line.
    pub data: Vec<String>,
    /// Seed of weights, batches and dropout.
    pub seed: u64,
    /// The command that trained the model, or the call: `wordloom.train(…)`.
    pub command: String,
    /// Names and values: steps, minutes, dev loss, BLEU.
    pub scores: Vec<(String, String)>,
    /// Anything else, such as removed pairs or the normalization of the text. One entry a line.
    pub notes: Vec<String>,
}

impl Card {
    /// The card as Markdown.
    pub fn to_markdown(&self) -> String {
        let mut text = format!("# {}\n\n", one_line(&self.name));
        text += "An encoder–decoder Transformer (Vaswani et al. 2017) in the layout of Hugging Face's ";
        text += &match self.model_type {
            "" | "marian" => "`MarianMTModel`".to_owned(),
            other => format!("models of the type `{other}`"),
        };
        text += &match (one_line(&self.source_language), one_line(&self.target_language)) {
            (source, target) if source.is_empty() || target.is_empty() => ".\n".to_owned(),
            (source, target) => format!(": {source} to {target}.\n"),
        };
        let list = |title: &str, lines: &[String]| match lines {
            [] => String::new(),
            lines => {
                let lines: Vec<String> = lines.iter().map(|line| format!("* {}\n", one_line(line))).collect();
                format!("\n## {title}\n\n{}", lines.concat())
            }
        };
        text += &list("Data", &self.data);
        text += &format!("\n## Training\n\nSeed {}. Command:\n\n{}", self.seed, code(&self.command));
        if !self.scores.is_empty() {
            text += "\n## Results\n\n| | |\n|---|---|\n";
            for (name, value) in &self.scores {
                text += &format!("| {} | {} |\n", cell(name), cell(value));
            }
        }
        text + &list("Notes", &self.notes)
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A cell of a table.
fn cell(text: &str) -> String {
    one_line(text).replace('|', "\\|")
}

/// A block of code, with a fence longer than any run of backticks in it.
fn code(text: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    let language = if text.starts_with("wordloom.") { "python" } else { "sh" };
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}
