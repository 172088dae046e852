//! The operators, one file each: inputs, shape rule, reads and writes, launches on a GPU, call on the CPU.
//!
//! A new operator is a file here that implements [`Operator`](crate::graph::Operator), a function in `src/cpu`, and a
//! kernel with its shader.

mod activate;
mod adam;
mod append_kv;
mod append_rows;
mod attention;
mod attention_scores;
mod attention_weights;
mod banded_attention;
mod batch_norm;
mod batch_norm_gradient;
mod beam_step;
mod best_tokens;
mod cached_attention;
mod column_tokens;
mod dropout;
mod edit_scores;
mod embed;
mod embedding_gradient;
mod gather_rows;
mod greedy_step;
mod layer_norm;
mod layer_norm_gradient;
mod layers;
mod linear;
mod linear_gradient;
mod log_probability;
mod log_softmax_top_k;
mod low_rank;
mod project_length;
mod project_packed;
mod ranged_attention;
mod reorder_slots;
mod search_states;
mod selected_linear;
mod softmax_loss;
mod ssru;
mod sum_losses;
mod sum_rows;
mod tied_rows;

pub use adam::{AdamConstants, TrainedWeight};
pub use attention::{AttentionScores, ScoreFunction};
pub use attention_scores::ScoreStage;
pub use banded_attention::{BandedScores, SideKeys};
pub use cached_attention::Cache;
pub use edit_scores::EditedScores;
pub use layers::{Linear, Normalization};
pub use log_softmax_top_k::TermInputs;
pub use project_length::LengthProjections;
pub use project_packed::ProjectedRows;
pub use ranged_attention::{RangedScores, Ranges};
pub use search_states::{SearchStates, SearchTable};
pub use ssru::CellCache;

#[doc(inline)]
pub use crate::activation::Activation;
#[doc(inline)]
pub use crate::shape::{
    AttentionShape, Band, BandedShape, CachedAttentionShape, LOW_RANK_LENGTH, LowRankShape, ProjectedShape,
    SideBlocks,
};
