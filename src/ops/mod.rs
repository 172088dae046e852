//! The operators: one file each, with everything about it in one place: its inputs, its shape rule, what it reads and
//! writes, its launches on a GPU, and its call on the CPU. They are few, and named after what they compute.
//!
//! A new operator is a file here, where the [`Operator`](crate::graph::Operator) trait asks for all that, a function in
//! `src/cpu`, and a kernel with its shader.

mod append_kv;
mod append_rows;
mod attention;
mod attention_weights;
mod beam_step;
mod best_tokens;
mod cached_attention;
mod edit_scores;
mod embed;
mod greedy_step;
mod layer_norm;
mod linear;
mod log_probability;
mod log_softmax_top_k;
mod reorder_slots;
mod search_states;

pub use attention::AttentionScores;
pub use cached_attention::Cache;
pub use edit_scores::EditedScores;
pub use layer_norm::Normalization;
pub use linear::Linear;
pub use search_states::{SearchStates, SearchTable};

#[doc(inline)]
pub use crate::activation::Activation;
#[doc(inline)]
pub use crate::shape::{AttentionShape, CachedAttentionShape};
