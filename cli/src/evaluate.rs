//! `wordloom evaluate`

use std::path::{Path, PathBuf};

use serde_json::json;
use wordloom::evaluate::{Bleu, Chrf, EvaluateError, bleu, chrf};

use super::CliError;
use super::lines::Lines;
use super::output::Output;

#[derive(clap::Args)]
#[command(after_help = "\
Numbers are those of sacreBLEU's defaults: BLEU on 13a tokens with exponential
smoothing, cased; chrF2 of characters. Lines should be as a reader sees them.

Example:
  wordloom translate --input book.txt | wordloom evaluate --reference buch.txt")]
pub struct Arguments {
    /// Translations, a line each [default: stdin]
    #[arg(value_name = "HYPOTHESES")]
    hypotheses: Option<PathBuf>,
    /// What they should be, a line each; repeatable
    #[arg(short, long, value_name = "FILE", required = true)]
    reference: Vec<PathBuf>,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let hypotheses = read_lines(arguments.hypotheses.as_deref())?;
    let references =
        arguments.reference.iter().map(|path| read_lines(Some(path))).collect::<Result<Vec<_>, _>>()?;
    let hypotheses: Vec<&str> = hypotheses.iter().map(String::as_str).collect();
    let references: Vec<Vec<&str>> =
        references.iter().map(|lines| lines.iter().map(String::as_str).collect()).collect();
    let named = |error| CliError::Input(name_files(arguments, &error));
    let bleu = bleu(&hypotheses, &references).map_err(named)?;
    let chrf = chrf(&hypotheses, &references).map_err(named)?;
    let mut output = Output::open(None)?;
    match arguments.json {
        true => output.json(&as_json(hypotheses.len(), references.len(), &bleu, &chrf))?,
        false => {
            for (name, value) in rows(references.len(), &bleu, &chrf) {
                output.line(&format!("{name:<12} {value}"))?;
            }
        }
    }
    output.flush()
}

fn read_lines(path: Option<&Path>) -> Result<Vec<String>, CliError> {
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

fn name_files(arguments: &Arguments, error: &EvaluateError) -> String {
    let hypotheses = match &arguments.hypotheses {
        Some(path) => path.display().to_string(),
        None => "standard input".to_owned(),
    };
    match error {
        EvaluateError::LineCounts { hypotheses: count, reference, lines } => format!(
            "{hypotheses} has {count} lines, but {} has {lines}; each hypothesis needs a line in each reference",
            arguments.reference[reference - 1].display()
        ),
        error => format!("{hypotheses}: {error}"),
    }
}

fn as_json(lines: usize, references: usize, bleu: &Bleu, chrf: &Chrf) -> serde_json::Value {
    json!({
        "lines": lines,
        "references": references,
        "bleu": {
            "score": bleu.score,
            "precisions": bleu.precisions,
            "matches": bleu.matches,
            "totals": bleu.totals,
            "brevity_penalty": bleu.brevity_penalty,
            "hypothesis_length": bleu.hypothesis_length,
            "reference_length": bleu.reference_length,
            "signature": Bleu::signature(references),
        },
        "chrf": { "score": chrf.score, "signature": Chrf::signature(references) },
    })
}

fn rows(references: usize, bleu: &Bleu, chrf: &Chrf) -> [(&'static str, String); 6] {
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
    [
        ("BLEU", format!("{:.2}", bleu.score)),
        ("precisions", precisions),
        ("lengths", lengths),
        ("", Bleu::signature(references)),
        ("chrF2", format!("{:.2}", chrf.score)),
        ("", Chrf::signature(references)),
    ]
}
