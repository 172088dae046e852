//! BLEU, chrF and ROUGE.

use pyo3::prelude::*;
use wordloom::evaluate::{bleu, chrf, rouge};

use crate::errors::{OrRaise, wrong_value};
use crate::run::run_to_its_end;
use crate::strings::texts;

/// Names and values of a metric.
type Scores = Vec<(&'static str, f64)>;

/// Scores of lines against references: names and values of a metric. BLEU and chrF are 0 to 100, ROUGE's F-scores 0 to 1.
#[pyfunction]
pub fn evaluate(
    py: Python<'_>,
    hypotheses: &Bound<'_, PyAny>,
    references: Vec<Bound<'_, PyAny>>,
    metric: &str,
) -> PyResult<Scores> {
    let score: fn(&[&str], &[Vec<&str>]) -> PyResult<Scores> = match metric {
        "bleu" => |lines, references| Ok(vec![("bleu", bleu(lines, references).or_raise()?.score)]),
        "chrf" => |lines, references| Ok(vec![("chrf", chrf(lines, references).or_raise()?.score)]),
        "rouge" => |lines, references| {
            let scores = rouge(lines, references).or_raise()?;
            Ok(scores.named().into_iter().map(|(name, score)| (name, score.fmeasure)).collect())
        },
        _ => {
            let known = "it must be \"bleu\", \"chrf\" or \"rouge\"";
            return Err(wrong_value(format!("metric is {metric:?}; {known}")));
        }
    };
    let hypotheses = owned(hypotheses)?;
    let references = references.iter().map(owned).collect::<PyResult<Vec<_>>>()?;
    run_to_its_end(py, move || {
        let lines: Vec<&str> = hypotheses.iter().map(AsRef::as_ref).collect();
        let references: Vec<Vec<&str>> =
            references.iter().map(|lines| lines.iter().map(AsRef::as_ref).collect()).collect();
        score(&lines, &references)
    })?
}

/// Copies of the strings of a list, which outlive the call.
fn owned(list: &Bound<'_, PyAny>) -> PyResult<Vec<Box<str>>> {
    Ok(texts(list)?.iter().map(|text| Box::from(&**text)).collect())
}
