//! The result of a study: claims with their numbers, figures, and data.

use serde::Serialize;
use serde_json::Value;

use crate::study::chart::number;
use crate::study::report::Figure;
use crate::study::statistics::{Summary, Verdict};

/// The result of a study.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    pub claim: &'static str,
    pub source: &'static str,
    pub method: Vec<String>,
    pub claims: Vec<Claim>,
    pub figures: Vec<Figure>,
    /// Name, value and a note.
    pub facts: Vec<[String; 3]>,
    pub against: Vec<String>,
    pub data: Data,
}

/// One claim, and what was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    pub claim: String,
    pub source: &'static str,
    /// The rule by which the claim is judged.
    pub prediction: String,
    pub measured: Vec<Measured>,
    pub verdict: Verdict,
    /// Why a claim is not decidable, or another remark.
    pub note: String,
}

/// A mean with its spread.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    pub name: String,
    #[serde(flatten)]
    pub summary: Summary,
    /// The things that were counted, in the plural: heads.
    pub of: &'static str,
}

impl Measured {
    /// `None` without values.
    pub fn new(name: impl Into<String>, values: &[f64], of: &'static str) -> Option<Self> {
        Some(Self { name: name.into(), summary: Summary::of(values)?, of })
    }

    /// `saturation: 0.71 ± 0.05 (n 56 heads)`
    pub fn text(&self) -> String {
        let Self { name, summary: Summary { n, mean, deviation }, of } = self;
        let spread =
            deviation.map_or("spread unknown".to_owned(), |deviation| format!("± {}", number(deviation)));
        let of = if *n == 1 { of.trim_end_matches('s') } else { of };
        format!("{name}: {} {spread} (n {n} {of})", number(*mean))
    }
}

/// The measured values as a table.
#[derive(Clone, Debug, Default)]
pub struct Data {
    pub columns: Vec<&'static str>,
    pub rows: Vec<Vec<Value>>,
}

impl Data {
    pub fn new(columns: &[&'static str]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub fn csv(&self) -> String {
        let mut csv = self.columns.join(",") + "\n";
        for row in &self.rows {
            let cells = row.iter().map(|cell| match cell {
                Value::String(text) if text.contains([',', '"', '\n']) => {
                    format!("\"{}\"", text.replace('"', "\"\""))
                }
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                value => value.to_string(),
            });
            csv += &(cells.collect::<Vec<_>>().join(",") + "\n");
        }
        csv
    }

    /// A list of objects.
    pub fn json(&self) -> Value {
        let row = |row: &Vec<Value>| {
            self.columns
                .iter()
                .map(|name| (*name).to_owned())
                .zip(row.iter().cloned())
                .collect::<serde_json::Map<_, _>>()
        };
        self.rows.iter().map(|one| Value::Object(row(one))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_with_n_and_spread() {
        let text = |values: &[f64]| Measured::new("share", values, "heads").map(|measured| measured.text());
        assert_eq!(text(&[0.5, 0.7]).unwrap(), "share: 0.600 ± 0.141 (n 2 heads)");
        assert_eq!(text(&[0.5]).unwrap(), "share: 0.500 spread unknown (n 1 head)");
        assert_eq!(text(&[]), None);
    }

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let data = Data {
            columns: vec!["word", "mass"],
            rows: vec![vec!["a,\"b\"".into(), 0.5.into()], vec![Value::Null, 1.into()]],
        };
        assert_eq!(data.csv(), "word,mass\n\"a,\"\"b\"\"\",0.5\n,1\n");
        assert_eq!(data.json()[1]["mass"], 1);
    }
}
