//! The texts of an explanation: what each step does, why, and where the paper says so.

use super::kind::StepKind;
use crate::model::AttentionKind;
use crate::model::config::NormKind;
use crate::trace::Anatomy;

/// Where queries, keys and values come from.
pub(super) fn origin(kind: AttentionKind) -> &'static str {
    match kind {
        AttentionKind::Encoder => {
            "Encoder self-attention: queries, keys and values all come from the source tokens, and each token sees all others."
        }
        AttentionKind::Decoder => {
            "Decoder self-attention: queries, keys and values all come from the target so far; a mask hides later tokens."
        }
        AttentionKind::Cross => {
            "Cross-attention: queries come from the decoder, keys and values from the encoder's output."
        }
    }
}

/// Title, reason, and section of "Attention Is All You Need" (or another paper) of a step.
pub(super) struct Words {
    pub title: &'static str,
    pub why: &'static str,
    pub section: &'static str,
}

const fn words(title: &'static str, why: &'static str, section: &'static str) -> Words {
    Words { title, why, section }
}

pub(super) fn of(kind: StepKind, model: &Anatomy, attention: AttentionKind) -> Words {
    let rms = model.norm == NormKind::Rms;
    match kind {
        StepKind::Embedding => embedding(model),
        StepKind::Input => words(
            "What the layer reads",
            "The layers below have already mixed other tokens into this vector.",
            "§3.1",
        ),
        StepKind::NormBefore => words(
            "Norm before the block",
            "It keeps vectors on one scale; before the block, gradients stay small.",
            if rms { "RMSNorm, eq. (4)" } else { "Xiong et al. 2020" },
        ),
        StepKind::Query => words("Query", "W_Q makes of the token what it looks for.", "§3.2.2"),
        StepKind::Keys => match attention {
            AttentionKind::Cross => {
                words("Keys", "W_K makes of each source token what it can be found by.", "§3.2.3")
            }
            _ => words("Keys", "W_K makes of each token what it can be found by.", "§3.2.2"),
        },
        StepKind::Products => {
            words("Query · keys", "A dot product is large where query and key point the same way.", "§3.2.1")
        }
        StepKind::Scale => scale(model),
        StepKind::Mask => mask(model, attention),
        StepKind::Softmax => {
            words("Softmax", "Scores become shares: all positive, their sum is 1.", "§3.2.1, eq. (1)")
        }
        StepKind::Values => {
            words("Weighted values", "The head's result: the mean of values, by those shares.", "§3.2.1")
        }
        StepKind::Heads => {
            words("Heads side by side", "Each head looked for something else; nothing is lost yet.", "§3.2.2")
        }
        StepKind::Output => {
            words("Times W^O", "It mixes the heads, back to the width of the model.", "§3.2.2")
        }
        StepKind::Residual => words(
            "Residual sum",
            "The block adds to its input, so information need not pass through it.",
            "§3.1",
        ),
        StepKind::NormAfter if !model.norm_first => words(
            "Norm after the block",
            "Every vector gets mean 0 and variance 1, then scale and shift.",
            "§3.1",
        ),
        StepKind::NormAfter => words("Norm", "It keeps vectors on one scale.", "§3.1"),
        StepKind::FeedForward => words(
            "Feed-forward network",
            "Each token alone: wider, a bend, and back. Most of a layer's weights are here.",
            if model.gated { "§3.3; Shazeer 2020" } else { "§3.3" },
        ),
        StepKind::End => match attention {
            AttentionKind::Encoder => {
                words("The memory", "Every cross-attention makes its keys and values of this.", "§3.1")
            }
            _ => words("The last state", "All that the model knows about the next token.", "§3.1"),
        },
        StepKind::Logits => words(
            "Logits and probabilities",
            "One product per token of the vocabulary; softmax makes probabilities of them.",
            "§3.4",
        ),
    }
}

fn embedding(model: &Anatomy) -> Words {
    match model.relative_positions {
        true => words(
            "Embedding",
            "A token becomes a vector. Its position comes later, as a bias of the scores.",
            "§3.4; T5 §2.1",
        ),
        false => words(
            "Embedding and position",
            "Attention alone knows no order, so each position adds a vector of its own.",
            "§3.4, §3.5",
        ),
    }
}

fn scale(model: &Anatomy) -> Words {
    match model.divided_by_width {
        true => words(
            "Divided by √d_k",
            "Products of d_k terms have variance d_k; without this, softmax saturates.",
            "§3.2.1",
        ),
        false => {
            words("No division by √d_k", "This model puts the factor into its weights instead.", "T5 §2.1")
        }
    }
}

/// Where a switch replaces the factor.
pub(super) fn switched_scale() -> Words {
    words("Another factor", "A switch replaces 1/√d_k: the products are multiplied by this factor.", "§3.2.1")
}

fn mask(model: &Anatomy, attention: AttentionKind) -> Words {
    match attention {
        AttentionKind::Decoder => {
            words("Mask", "Later tokens get minus infinity: at training time they are the answer.", "§3.2.3")
        }
        AttentionKind::Encoder if model.relative_positions => {
            words("Bias and mask", "Each distance has a bias of its own; only padding is hidden.", "T5 §2.1")
        }
        _ => words("Mask", "Only padding is hidden; here there is none, so nothing changes.", "§3.2.3"),
    }
}
