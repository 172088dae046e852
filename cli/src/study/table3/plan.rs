//! The studies of miniatures: their rows, and the texts of their pages.

use super::rows::{self, Row};

/// A study of miniatures.
pub struct Plan {
    /// Name of the command, the folder and the pages.
    pub name: &'static str,
    pub title: &'static str,
    pub claim: &'static str,
    pub source: &'static str,
    /// What speaks against the results.
    pub against: &'static [&'static str],
    /// The end of the command's help.
    pub help: &'static str,
    pub rows: fn() -> Vec<Row>,
}

pub const TABLE_3: Plan = Plan {
    name: "table3",
    title: "Table 3 in small",
    claim: "What heads, key width, size, dropout, label smoothing and positions are worth to the Transformer; and where it needs \
            its warm-up.",
    source: "Vaswani et al. 2017, “Attention Is All You Need”, section 6.2 and table 3; Xiong et al. 2020, “On Layer \
             Normalization in the Transformer Architecture”",
    against: &[
        "A model of two million parameters that sees some thousand short batches is far from convergence; the paper's models took \
         100,000 steps of 25,000 tokens. Over-fitting, which dropout and label smoothing are for, hardly begins.",
        "The data are short sentences of everyday language. The paper's are of newspapers and of parliament.",
        "One learning rate serves all rows. Each could have a better one of its own.",
        "Few seeds: intervals are wide. Of twenty verdicts one is wrong by chance.",
        "BLEU is of greedy search; the paper's is of four beams and averaged checkpoints.",
        "Learned positions begin with small random numbers, sinusoids with full size.",
    ],
    help: "\
Rows: base heads-1 heads-4 heads-16 key-width-4 key-width-8 layers-1 layers-2
layers-4 d-model-64 d-model-256 d-ff-256 d-ff-1024 dropout-0 dropout-0.2
smoothing-0 smoothing-0.2 learned-positions post-norm-no-warmup pre-norm
pre-norm-no-warmup. The rows that they are compared with are always trained.

DIR gets runs.jsonl, and table3.html, .md, .csv and .json, which grow with every
run. The same command goes on after Ctrl-C or a kill.",
    rows: rows::table_3,
};

pub const NORMS: Plan = Plan {
    name: "norms",
    title: "Batch norm against layer norm",
    claim: "In translation, batch norm in place of layer norm costs quality.",
    source: "Shen et al. 2020, “PowerNorm: Rethinking Batch Normalization in Transformers”, abstract; batch norm: \
             Ioffe & Szegedy 2015; layer norm: Ba et al. 2016",
    against: &[
        "Statistics are over the tokens of one batch, and these batches are small: the paper's have some thousand tokens. Batch norm \
         gains by larger ones.",
        "A model of two million parameters is far from convergence after these tokens: the difference may be one of how fast each \
         begins to learn, not of where it ends.",
        "Source and target have statistics of their own, over all their tokens. Running ones move by a tenth with each batch, as in \
         torch; the paper does not say more of its batch norm.",
        "Batch norm sees later tokens through its statistics while it trains, and not while it translates. Layer norm never does.",
        "One learning rate serves all rows. Each could have a better one of its own.",
        "Few seeds: intervals are wide. Of twenty verdicts one is wrong by chance.",
    ],
    help: "\
Rows: base batch-norm pre-norm pre-norm-batch-norm. The rows that they are
compared with are always trained.

DIR gets runs.jsonl, and norms.html, .md, .csv and .json, which grow with every
run. The same command goes on after Ctrl-C or a kill.",
    rows: rows::norms,
};
