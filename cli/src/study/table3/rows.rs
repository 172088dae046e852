//! The rows: what is changed, what the paper says of it, and the direction that follows.

use crate::study::miniature::Miniature;
use crate::study::statistics::Direction;

/// Name of the row that the others are compared with.
pub const BASE: &str = "base";
/// Perplexity and BLEU of the base model in the paper's table 3.
const PAPER_BASE: [f64; 2] = [4.92, 25.8];
/// Smaller differences of the paper's numbers count as none: ln perplexity, BLEU.
pub const PAPER_MARGINS: [f64; 2] = [0.005, 0.15];

/// What the literature says of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Evidence {
    /// Perplexity and BLEU in table 3; the base has 4.92 and 25.8.
    Table([f64; 2]),
    /// The direction of loss and BLEU, from another text.
    Text([Direction; 2]),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    pub name: &'static str,
    pub changed: &'static str,
    pub miniature: Miniature,
    /// Name of the row to compare with.
    pub reference: &'static str,
    pub claim: &'static str,
    pub source: &'static str,
    pub evidence: Evidence,
}

impl Row {
    /// Difference of the paper's ln perplexity (nats per token) and BLEU from its base.
    pub fn paper_differences(&self) -> Option<[f64; 2]> {
        match self.evidence {
            Evidence::Table(numbers) => Some(differences(numbers)),
            Evidence::Text(_) => None,
        }
    }

    /// Predicted directions of dev loss and BLEU.
    pub fn predicted(&self) -> [Direction; 2] {
        match self.evidence {
            Evidence::Text(directions) => directions,
            Evidence::Table(numbers) => {
                let differences = differences(numbers);
                [0, 1].map(|metric| direction(differences[metric], PAPER_MARGINS[metric]))
            }
        }
    }
}

fn differences([perplexity, bleu]: [f64; 2]) -> [f64; 2] {
    [(perplexity / PAPER_BASE[0]).ln(), bleu - PAPER_BASE[1]]
}

fn direction(difference: f64, margin: f64) -> Direction {
    match difference {
        difference if difference > margin => Direction::Higher,
        difference if difference < -margin => Direction::Lower,
        _ => Direction::Same,
    }
}

/// A claim with its place.
type Claim = (&'static str, &'static str);

const M: Miniature = Miniature::BASE;
const ATTENTION: Claim = (
    "Single-head attention is 0.9 BLEU worse than the best setting; quality also drops off with too many heads.",
    "Table 3 (A)",
);
const KEYS: Claim = ("Reducing the attention key size d_k hurts model quality.", "Table 3 (B)");
const BIGGER: Claim = ("Bigger models are better.", "Table 3 (C)");
const DROPOUT: Claim = ("Dropout is very helpful in avoiding over-fitting.", "Table 3 (D)");
const SMOOTHING: Claim =
    ("Label smoothing hurts perplexity, but improves accuracy and BLEU.", "Table 3 (D), section 5.4");
const LEARNED: Claim =
    ("Learned positions give nearly identical results to sinusoids.", "Table 3 (E), section 3.5");
const XIONG: &str = "Xiong et al. 2020";
const POST: Claim = ("With the paper's norm after each sum, the warm-up is essential.", XIONG);
const PRE: Claim = ("Norms before the sublayers give results comparable to the original's.", XIONG);
const PRE_FREE: Claim = ("With norms before the sublayers, the warm-up can be left out.", XIONG);

const BATCH: Claim =
    ("Batch norm in place of layer norm costs quality in translation.", "Shen et al. 2020, abstract");

/// A row of table 3 with the paper's perplexity and BLEU.
fn row(
    name: &'static str,
    changed: &'static str,
    miniature: Miniature,
    (claim, source): Claim,
    numbers: [f64; 2],
) -> Row {
    Row { name, changed, miniature, reference: BASE, claim, source, evidence: Evidence::Table(numbers) }
}

/// Rows of the paper's table 3, in its order.
pub fn table_3() -> Vec<Row> {
    let base = row(BASE, "", M, ("", "Table 3, base"), PAPER_BASE);
    [vec![base], attention(), sizes(), regularization(), places_of_norms()].concat()
}

/// Rows with layer norm, and with batch norm in its place.
pub fn norms() -> Vec<Row> {
    use Direction::{Higher, Lower, Same};
    let row = |name, changed, reference, miniature, (claim, source): Claim, directions| Row {
        name,
        changed,
        miniature,
        reference,
        claim,
        source,
        evidence: Evidence::Text(directions),
    };
    let batch = |miniature| Miniature { batch_norm: true, ..miniature };
    let (pre, worse) = (Miniature { pre_norm: true, ..M }, [Higher, Lower]);
    vec![
        row(BASE, "layer norm after each sum", BASE, M, ("", "Vaswani et al. 2017"), [Same; 2]),
        row("batch-norm", "batch norm after each sum", BASE, batch(M), BATCH, worse),
        row("pre-norm", "layer norm before the sublayers", BASE, pre, PRE, [Same; 2]),
        row("pre-norm-batch-norm", "batch norm before the sublayers", "pre-norm", batch(pre), BATCH, worse),
    ]
}

fn attention() -> Vec<Row> {
    let heads = |heads: usize| {
        let width = M.d_model / heads;
        Miniature { heads, d_k: width, d_v: width, ..M }
    };
    let keys = |d_k| Miniature { d_k, ..M };
    vec![
        row("heads-1", "1 head, d_k = d_v = 128", heads(1), ATTENTION, [5.29, 24.9]),
        row("heads-4", "4 heads, d_k = d_v = 32", heads(4), ATTENTION, [5.00, 25.5]),
        row("heads-16", "16 heads, d_k = d_v = 8", heads(16), ATTENTION, [4.91, 25.8]),
        row("key-width-4", "d_k = 4, a quarter", keys(4), KEYS, [5.16, 25.1]),
        row("key-width-8", "d_k = 8, half", keys(8), KEYS, [5.01, 25.4]),
    ]
}

fn sizes() -> Vec<Row> {
    let layers = |layers| Miniature { layers, ..M };
    let d_ff = |d_ff| Miniature { d_ff, ..M };
    let d_model = |d_model: usize| {
        let width = d_model / M.heads;
        Miniature { d_model, d_k: width, d_v: width, ..M }
    };
    vec![
        row("layers-1", "N = 1, a third", layers(1), BIGGER, [6.11, 23.7]),
        row("layers-2", "N = 2, two thirds", layers(2), BIGGER, [5.19, 25.3]),
        row("layers-4", "N = 4, four thirds", layers(4), BIGGER, [4.88, 25.5]),
        row("d-model-64", "d_model = 64, half", d_model(64), BIGGER, [5.75, 24.5]),
        row("d-model-256", "d_model = 256, double", d_model(256), BIGGER, [4.66, 26.0]),
        row("d-ff-256", "d_ff = 256, half", d_ff(256), BIGGER, [5.12, 25.4]),
        row("d-ff-1024", "d_ff = 1024, double", d_ff(1024), BIGGER, [4.75, 26.2]),
    ]
}

fn regularization() -> Vec<Row> {
    let dropout = |dropout| Miniature { dropout, ..M };
    let smoothing = |label_smoothing| Miniature { label_smoothing, ..M };
    let learned = Miniature { learned_positions: true, ..M };
    vec![
        row("dropout-0", "no dropout", dropout(0.0), DROPOUT, [5.77, 24.6]),
        row("dropout-0.2", "dropout 0.2", dropout(0.2), DROPOUT, [4.95, 25.5]),
        row("smoothing-0", "no label smoothing", smoothing(0.0), SMOOTHING, [4.67, 25.3]),
        row("smoothing-0.2", "label smoothing 0.2", smoothing(0.2), SMOOTHING, [5.47, 25.7]),
        row("learned-positions", "learned positions", learned, LEARNED, [4.92, 25.7]),
    ]
}

/// Rows of the survey literature, beside the paper's own post-norm with warm-up.
fn places_of_norms() -> Vec<Row> {
    use Direction::{Higher, Lower, Same};
    let row = |(name, changed): (&'static str, &'static str),
               miniature,
               (claim, source): Claim,
               directions| {
        Row { name, changed, miniature, reference: BASE, claim, source, evidence: Evidence::Text(directions) }
    };
    let pre_norm = Miniature { pre_norm: true, ..M };
    let without = |miniature| Miniature { warmup: false, ..miniature };
    let free = ("pre-norm-no-warmup", "norms before, no warm-up");
    vec![
        row(("post-norm-no-warmup", "no warm-up"), without(M), POST, [Higher, Lower]),
        row(("pre-norm", "norms before the sublayers"), pre_norm, PRE, [Same; 2]),
        Row { reference: "pre-norm", ..row(free, without(pre_norm), PRE_FREE, [Same; 2]) },
    ]
}

/// Rows by name, in the table's order, with the rows that they are compared with.
///
/// Returns the unknown name if there is one. No names: all rows.
pub fn chosen(all: Vec<Row>, names: &[String]) -> Result<Vec<Row>, String> {
    if let Some(unknown) = names.iter().find(|name| all.iter().all(|row| row.name != **name)) {
        return Err(unknown.clone());
    }
    let is_named = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let references: Vec<&str> =
        all.iter().filter(|row| is_named(row.name)).map(|row| row.reference).collect();
    let is_chosen = |row: &Row| is_named(row.name) || row.name == BASE || references.contains(&row.name);
    Ok(all.iter().filter(|row| is_chosen(row)).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_are_the_signs_of_the_table() {
        use Direction::{Higher, Lower, Same};
        let of = |name: &str| table_3().iter().find(|row| row.name == name).unwrap().predicted();
        assert_eq!(of(BASE), [Same, Same]);
        assert_eq!(of("heads-1"), [Higher, Lower]);
        assert_eq!(of("heads-16"), [Same, Same]);
        assert_eq!(of("layers-4"), [Lower, Lower]); // the table's own numbers
        assert_eq!(of("smoothing-0"), [Lower, Lower]); // better perplexity, worse BLEU
        assert_eq!(of("smoothing-0.2"), [Higher, Same]);
        assert_eq!(of("learned-positions"), [Same, Same]);
        assert_eq!(of("post-norm-no-warmup"), [Higher, Lower]);
    }

    #[test]
    fn rows_come_with_those_that_they_are_compared_with() {
        let names = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|&name| name.to_owned()).collect();
            chosen(table_3(), &wanted).map(|rows| rows.iter().map(|row| row.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["heads-4"]).unwrap(), [BASE, "heads-4"]);
        assert_eq!(names(&["pre-norm-no-warmup"]).unwrap(), [BASE, "pre-norm", "pre-norm-no-warmup"]);
        assert_eq!(names(&["heads-3"]).unwrap_err(), "heads-3");
        let batch = chosen(norms(), &["pre-norm-batch-norm".to_owned()]).unwrap();
        assert_eq!(
            batch.iter().map(|row| row.name).collect::<Vec<_>>(),
            [BASE, "pre-norm", "pre-norm-batch-norm"]
        );
        assert_eq!(names(&[]).unwrap().len(), table_3().len());
    }

    #[test]
    fn heads_are_of_equal_cost() {
        for row in table_3().iter().filter(|row| row.name.starts_with("heads")) {
            let Miniature { heads, d_k, d_v, d_model, .. } = row.miniature;
            assert_eq!((heads * d_k, heads * d_v), (d_model, d_model), "{}", row.name);
        }
    }
}
