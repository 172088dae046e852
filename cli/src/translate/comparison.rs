//! Numbers by which translations are compared: with a reference, and between kinds of attention.

use std::path::Path;
use std::time::Duration;

use wordloom::Translation;
use wordloom::evaluate::{EvaluateError, bleu, chrf};
use wordloom::readable::counted;

use super::super::CliError;

/// How near the translations are to those of a file.
pub fn compared(texts: &[String], path: &Path, reference: &[String]) -> Result<String, CliError> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let reference: [Vec<&str>; 1] = [reference.iter().map(String::as_str).collect()];
    if texts.len() != reference[0].len() {
        return Err(CliError::Input(format!(
            "{} has {} lines, but {} were translated; each needs a line",
            path.display(),
            reference[0].len(),
            texts.len()
        )));
    }
    let refused = |error: EvaluateError| CliError::Input(error.to_string());
    let (bleu, chrf) =
        (bleu(&texts, &reference).map_err(refused)?, chrf(&texts, &reference).map_err(refused)?);
    Ok(format!("compared with {}: BLEU {:.2}, chrF2 {:.2}", path.display(), bleu.score, chrf.score))
}

/// The translations of a run together, to compare kinds of attention.
#[derive(Default)]
pub struct Totals {
    sentences: usize,
    tokens: usize,
    /// Sum over the best hypothesis of each sentence.
    log_probability: f64,
    pub time: Duration,
}

impl Totals {
    pub fn add(&mut self, translation: &Translation) {
        for best in translation.sentences.iter().filter_map(|sentence| sentence.hypotheses.first()) {
            let steps = &best.search.step_logprobs;
            self.sentences += 1;
            self.tokens += steps.len();
            self.log_probability += steps.iter().map(|&step| f64::from(step)).sum::<f64>();
        }
    }

    pub fn text(&self, kinds: &str) -> String {
        let &Self { sentences, tokens, log_probability, time } = self;
        let mean = |count: usize| log_probability / count.max(1) as f64;
        format!(
            "attention: {kinds}: {} in {:.2} s, log-probability {:.3} a sentence, {:.4} a token",
            counted(sentences, "sentence"),
            time.as_secs_f64(),
            mean(sentences),
            mean(tokens)
        )
    }
}
