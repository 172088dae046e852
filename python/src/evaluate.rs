//! BLEU, chrF and ROUGE.

use pyo3::prelude::*;
use wordloom::evaluate::{bleu, chrf, rouge};

use crate::errors::{OrRaise, wrong_value};
use crate::strings::texts;

/// Scores of lines against references: names and values of a metric. BLEU and chrF are 0 to 100, ROUGE's F-scores 0 to 1.
#[pyfunction]
pub fn evaluate(
    py: Python<'_>,
    hypotheses: &Bound<'_, PyAny>,
    references: Vec<Bound<'_, PyAny>>,
    metric: &str,
) -> PyResult<Vec<(&'static str, f64)>> {
    let hypotheses = texts(hypotheses)?;
    let references = references.iter().map(texts).collect::<PyResult<Vec<_>>>()?;
    py.detach(|| {
        let lines: Vec<&str> = hypotheses.iter().map(AsRef::as_ref).collect();
        let references: Vec<Vec<&str>> =
            references.iter().map(|lines| lines.iter().map(AsRef::as_ref).collect()).collect();
        match metric {
            "bleu" => Ok(vec![("bleu", bleu(&lines, &references).or_raise()?.score)]),
            "chrf" => Ok(vec![("chrf", chrf(&lines, &references).or_raise()?.score)]),
            "rouge" => {
                let scores = rouge(&lines, &references).or_raise()?;
                Ok(scores.named().into_iter().map(|(name, score)| (name, score.fmeasure)).collect())
            }
            _ => {
                Err(wrong_value(format!("metric is {metric:?}; it must be \"bleu\", \"chrf\" or \"rouge\"")))
            }
        }
    })
}
