//! `wordloom evaluate`

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wordloom::evaluate::{Bleu, Chrf, EvaluateError, Required, Rouge, bleu, chrf, rouge};
use wordloom::readable::{counted, grouped};

use super::lines::Lines;
use super::output::Output;
use super::{CliError, notice};

#[derive(clap::Args)]
#[command(after_help = "\
Numbers are those of sacreBLEU's defaults: BLEU on 13a tokens with exponential
smoothing, cased; chrF2 of characters. Lines should be as a reader sees them.
--rouge has those of rouge-score without a stemmer: means over the lines. In a
line, <n> is a line break, which ends a sentence for ROUGE-Lsum.

Words that a line must have are separated by |, their alternatives by /, such as
Anna|Montag/montags, alone or as the last column after a tab.

Example:
  wordloom translate --input book.txt | wordloom evaluate --reference buch.txt")]
pub struct Arguments {
    /// Translations, a line each [default: stdin]
    #[arg(value_name = "HYPOTHESES")]
    hypotheses: Option<PathBuf>,
    /// What they should be, a line each; repeatable
    #[arg(short, long, value_name = "FILE", required_unless_present = "must_contain")]
    reference: Vec<PathBuf>,
    /// Columns of tables whose first line names them
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "reference")]
    columns: Vec<String>,
    /// Words that each line must have
    #[arg(long, value_name = "FILE")]
    must_contain: Option<PathBuf>,
    /// Compare summaries: ROUGE-1, -2, -L and -Lsum
    #[arg(long, requires = "reference", conflicts_with = "must_contain")]
    rouge: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// References: lines with the name of their file.
type References = Vec<(String, Vec<String>)>;

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let hypotheses = read_lines(arguments.hypotheses.as_deref())?;
    let hypotheses: Vec<&str> = hypotheses.iter().map(String::as_str).collect();
    let references = references(arguments)?;
    let lines: Vec<Vec<&str>> =
        references.iter().map(|(_, lines)| lines.iter().map(String::as_str).collect()).collect();
    let named = |error| CliError::Input(name_files(arguments, &references, &error));
    if arguments.rouge {
        return run_rouge(arguments, &hypotheses, &references);
    }
    let scores = match lines.is_empty() {
        true if hypotheses.is_empty() => return Err(named(EvaluateError::NoLines)),
        true => None,
        false => Some((bleu(&hypotheses, &lines).map_err(named)?, chrf(&hypotheses, &lines).map_err(named)?)),
    };
    let words = arguments.must_contain.as_deref().map(|path| missing(arguments, path, &hypotheses));
    let words = words.transpose()?;
    let mut output = Output::open(None)?;
    match arguments.json {
        true => output.json(&as_json(hypotheses.len(), lines.len(), scores.as_ref(), words.as_ref()))?,
        false => {
            let of_scores = scores.iter().flat_map(|(bleu, chrf)| rows(lines.len(), bleu, chrf));
            for (name, value) in of_scores.chain(words.iter().flat_map(Words::rows)) {
                output.line(&format!("{name:<12} {value}"))?;
            }
        }
    }
    output.flush()
}

fn run_rouge(arguments: &Arguments, hypotheses: &[&str], references: &References) -> Result<(), CliError> {
    let broken = |line: &str| line.replace("<n>", "\n");
    let owned: Vec<Vec<String>> =
        references.iter().map(|(_, lines)| lines.iter().map(|line| broken(line)).collect()).collect();
    let lines: Vec<Vec<&str>> =
        owned.iter().map(|lines| lines.iter().map(String::as_str).collect()).collect();
    let owned: Vec<String> = hypotheses.iter().map(|line| broken(line)).collect();
    let hypotheses: Vec<&str> = owned.iter().map(String::as_str).collect();
    let rouge = rouge(&hypotheses, &lines)
        .map_err(|error| CliError::Input(name_files(arguments, references, &error)))?;
    let mut output = Output::open(None)?;
    match arguments.json {
        true => output.json(&rouge_json(hypotheses.len(), references.len(), &rouge))?,
        false => {
            for (name, (_, score)) in ROUGE_NAMES.iter().zip(rouge.named()) {
                let [f, precision, recall] =
                    [score.fmeasure, score.precision, score.recall].map(|share| 100.0 * share);
                output.line(&format!("{name:<12} {f:.2}   precision {precision:.2}, recall {recall:.2}"))?;
            }
        }
    }
    output.flush()
}

/// Names of [`Rouge::named`] in the literature.
const ROUGE_NAMES: [&str; 4] = ["ROUGE-1", "ROUGE-2", "ROUGE-L", "ROUGE-Lsum"];

/// Scores are shares from 0 to 1, as `rouge-score` writes them.
fn rouge_json(lines: usize, references: usize, rouge: &Rouge) -> serde_json::Value {
    let mut value = json!({ "lines": lines, "references": references, "stemmer": false });
    for (name, score) in rouge.named() {
        value[name] = json!({
            "precision": score.precision,
            "recall": score.recall,
            "fmeasure": score.fmeasure,
        });
    }
    value
}

/// All lines of a file, or of standard input.
pub fn read_lines(path: Option<&Path>) -> Result<Vec<String>, CliError> {
    let lines = Lines::open(path)?;
    let mut all = Vec::new();
    loop {
        let round = lines.round();
        all.extend(round.lines.into_iter().map(|line| line.text));
        if let Some(end) = round.end {
            return end.map(|()| all);
        }
    }
}

/// All lines of each file, or the wanted columns of each.
fn references(arguments: &Arguments) -> Result<References, CliError> {
    let mut references = Vec::new();
    for path in &arguments.reference {
        let lines = read_lines(Some(path))?;
        match arguments.columns.is_empty() {
            true => {
                if !lines.is_empty() && lines.iter().all(|line| line.contains('\t')) {
                    let file = path.display();
                    notice(&format!(
                        "warning: every line of {file} has a tab, as in a table; give the column of references alone: cut -f2 {file}"
                    ));
                }
                references.push((path.display().to_string(), lines));
            }
            false => references.extend(columns(path, &lines, &arguments.columns)?),
        }
    }
    Ok(references)
}

/// Columns of a table by their names in its first line.
fn columns(path: &Path, lines: &[String], names: &[String]) -> Result<References, CliError> {
    let invalid = |problem: String| CliError::Input(format!("{}{problem}", path.display()));
    let Some((first, rows)) = lines.split_first() else {
        return Err(invalid(": it is empty; --columns needs a first line with names".to_owned()));
    };
    let cells = |line: &str| -> Vec<String> {
        line.trim_end_matches(['\r', '\n']).split('\t').map(str::to_owned).collect()
    };
    let header = cells(first);
    for list in [&header[..], names] {
        let twice = |(index, name): &(usize, &String)| list[..*index].contains(name) && names.contains(name);
        let Some((_, name)) = list.iter().enumerate().find(twice) else { continue };
        return Err(match std::ptr::eq(list, names) {
            true => CliError::Usage(format!("--columns names {name:?} twice; each column is one reference")),
            false => invalid(format!(", line 1: there are two columns {name:?}; give one another name")),
        });
    }
    let of_column = |name: &String| {
        let Some(place) = header.iter().position(|other| other == name) else {
            return Err(invalid(format!(": there is no column {name:?}; there are {}", header.join(", "))));
        };
        let cell = |(index, row): (usize, &String)| {
            let (cells, number) = (cells(row), index + 2);
            cells.get(place).cloned().ok_or_else(|| {
                let cells = counted(cells.len(), "column");
                invalid(format!(", line {number}: {cells}, so there is no {name:?}"))
            })
        };
        let lines = rows.iter().enumerate().map(cell).collect::<Result<_, _>>()?;
        Ok((format!("{}, column {name}", path.display()), lines))
    };
    names.iter().map(of_column).collect()
}

/// What the hypotheses lack of the words that they must have.
struct Words {
    lines: usize,
    /// Numbers of lines, and their missing words.
    missing: Vec<(usize, Vec<String>)>,
}

fn missing(arguments: &Arguments, path: &Path, hypotheses: &[&str]) -> Result<Words, CliError> {
    let invalid = |problem: String| CliError::Input(format!("{}{problem}", path.display()));
    let required = read_lines(Some(path))?;
    if required.len() != hypotheses.len() {
        let (lines, count) = (counted(required.len(), "line"), grouped(hypotheses.len()));
        let problem = format!(" has {lines}, but {} has {count}", name_of_hypotheses(arguments));
        return Err(invalid(problem));
    }
    let mut missing = Vec::new();
    for (number, (line, hypothesis)) in (1..).zip(required.iter().zip(hypotheses)) {
        let words = Required::new(line.rsplit('\t').next().unwrap_or_default());
        if words.is_empty() {
            return Err(invalid(format!(", line {number}: there is no word that must be there")));
        }
        let lacks = words.missing_in(hypothesis);
        if !lacks.is_empty() {
            missing.push((number, lacks));
        }
    }
    Ok(Words { lines: hypotheses.len(), missing })
}

impl Words {
    fn complete(&self) -> usize {
        self.lines - self.missing.len()
    }

    fn share(&self) -> f64 {
        self.complete() as f64 / self.lines.max(1) as f64
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let of_all = format!("{} of {} lines ({:.1} %)", self.complete(), self.lines, 100.0 * self.share());
        let lacks = self.missing.iter();
        let lacks = lacks.map(|(line, words)| ("", format!("line {line} lacks {}", words.join(", "))));
        std::iter::once(("all words", of_all)).chain(lacks).collect()
    }

    fn as_json(&self) -> Value {
        let missing = self.missing.iter();
        let missing: Vec<Value> =
            missing.map(|(line, words)| json!({ "line": line, "words": words })).collect();
        json!({ "complete": self.complete(), "share": self.share(), "missing": missing })
    }
}

fn name_of_hypotheses(arguments: &Arguments) -> String {
    match &arguments.hypotheses {
        Some(path) => path.display().to_string(),
        None => "standard input".to_owned(),
    }
}

fn name_files(arguments: &Arguments, references: &References, error: &EvaluateError) -> String {
    let hypotheses = name_of_hypotheses(arguments);
    match error {
        EvaluateError::LineCounts { hypotheses: count, reference, lines } => format!(
            "{hypotheses} has {}, but {} has {}; each hypothesis needs a line in each reference",
            counted(*count, "line"),
            references.get(reference - 1).map_or("a reference", |(name, _)| name),
            grouped(lines)
        ),
        error => format!("{hypotheses}: {error}"),
    }
}

fn as_json(lines: usize, references: usize, scores: Option<&(Bleu, Chrf)>, words: Option<&Words>) -> Value {
    let mut all = json!({ "lines": lines, "references": references });
    if let Some((bleu, chrf)) = scores {
        all["bleu"] = json!({
            "score": bleu.score,
            "precisions": bleu.precisions,
            "matches": bleu.matches,
            "totals": bleu.totals,
            "brevity_penalty": bleu.brevity_penalty,
            "hypothesis_length": bleu.hypothesis_length,
            "reference_length": bleu.reference_length,
            "signature": Bleu::signature(references),
        });
        all["chrf"] = json!({ "score": chrf.score, "signature": Chrf::signature(references) });
    }
    if let Some(words) = words {
        all["words"] = words.as_json();
    }
    all
}

fn rows(references: usize, bleu: &Bleu, chrf: &Chrf) -> Vec<(&'static str, String)> {
    let precisions = bleu.precisions.map(|precision| format!("{precision:.1}")).join(" / ");
    let lengths = match bleu.reference_length {
        0 => format!("{} words, references 0", bleu.hypothesis_length),
        reference => format!(
            "{} words, references {reference} (ratio {:.3}), brevity penalty {:.3}",
            bleu.hypothesis_length,
            bleu.hypothesis_length as f64 / reference as f64,
            bleu.brevity_penalty
        ),
    };
    vec![
        ("BLEU", format!("{:.2}", bleu.score)),
        ("precisions", precisions),
        ("lengths", lengths),
        ("", Bleu::signature(references)),
        ("chrF2", format!("{:.2}", chrf.score)),
        ("", Chrf::signature(references)),
    ]
}
