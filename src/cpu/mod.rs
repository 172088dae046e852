//! The operators on the CPU: plain functions on slices, written from the formulas.
//!
//! They are the reference of the [kernels](crate::kernels), and run if there is no GPU. Values are row-major without
//! padding: `[rows, width]` has `rows * width` elements. Weight matrices are `[outputs, inputs]` as in the file, in any
//! [precision](WeightMatrix). Lengths that do not agree are mistakes of the caller and panic.

mod activate;
mod activate_gradient;
mod adam;
mod additive_attention;
mod amx;
mod append_kv;
mod append_rows;
mod attend;
mod attend_all;
mod attention;
mod attention_scores;
mod banded_attention;
mod batch_norm;
mod bf16_product;
mod bf16_tiles;
mod bf16_unit;
mod bf16_vectors;
mod bytes;
mod cached_attention;
mod dropout;
mod embed;
mod embedding_gradient;
mod few_rows;
#[cfg(feature = "training")]
mod few_rows_of_floats;
mod gather_rows;
mod heatmap;
mod integer_tiles;
mod integers;
mod layer_norm;
mod layer_norm_gradient;
mod linear;
mod linear_gradient;
mod log_probability;
mod log_softmax_top_k;
mod low_rank;
mod matrix_product;
mod memory;
mod panels;
mod parallel;
mod philox;
mod project_length;
mod project_packed;
mod quad_sums;
mod quads;
mod ranged_attention;
mod rounded_bytes;
mod rounded_rows;
mod selected_linear;
mod shared_product;
mod softmax_loss;
mod ssru;
mod stored_value;
mod sum_rows;
mod term_scores;
mod tied_rows;
mod turned_rows;
mod vector;
mod weights;

pub use activate_gradient::{activate_gradient, activated};
pub use adam::{AdamStep, adam, sum_of_squares};
pub use additive_attention::{additive_attention, additive_attention_weights};
pub use append_kv::append_kv;
pub use append_rows::append_rows;
pub use attention::{AttentionScores, attention, attention_weights};
pub use attention_scores::{MASKED, attention_scores};
pub use banded_attention::{BandedScores, banded_attention, banded_attention_weights};
pub use batch_norm::{
    BATCH_NORM_MOMENTUM, BatchNormGradient, batch_norm, batch_norm_gradient, batch_norm_sums,
    batch_statistics,
};
pub use bf16_product::bf16_is_fast;
pub use cached_attention::{Cache, cached_attention};
pub use dropout::{DropoutKey, DropoutShare, dropout};
pub use embed::{embed, start_rows};
pub use embedding_gradient::{NO_ROW, embedding_gradient};
pub use few_rows::LIBRARY_ROWS;
pub use gather_rows::gather_rows;
pub use heatmap::{MapCells, MatrixCells, heatmap, map_maxima, scaled};
pub use layer_norm::layer_norm;
pub use layer_norm_gradient::{NormGradient, layer_norm_gradient, layer_norm_weight_gradient};
pub use linear::{Linear, linear, training_linear};
pub use linear_gradient::{column_sums, linear_input_gradient, linear_weight_gradient};
pub use log_probability::log_probability;
pub use log_softmax_top_k::log_softmax_top_k;
pub use low_rank::low_rank;
pub use memory::Memory;
pub use panels::Panels;
pub(crate) use parallel::{among_the_cores, cores, unless_stopped};
pub use project_length::{LengthFactors, project_length, projected_rows};
pub use project_packed::{
    PackedRows, length_factor_gradient, packed_ranges, packed_row_gradient, project_packed,
};
pub use quads::Quads;
pub use ranged_attention::{
    ContextGradient, RangedAttention, RangedShape, context_products, ranged_attention, ranged_bias_gradient,
    ranged_key_gradient, ranged_query_gradient,
};
pub use selected_linear::selected_linear;
pub use softmax_loss::{LOSS_COLUMNS, NO_LABEL, softmax_loss};
pub use ssru::{CellHistory, Cells, ssru};
pub use sum_rows::sum_rows;
pub use term_scores::term_scores;
pub use tied_rows::tie_gradients;
pub use weights::{StoredMatrix, WeightMatrix};

/// Columns of a matrix, e.g. the keys in a fused `[rows, 3 * d_model]` projection.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    /// All columns of all rows.
    pub data: &'a [f32],
    /// Elements per row.
    pub stride: usize,
    /// First column.
    pub first: usize,
}

impl<'a> Columns<'a> {
    /// The columns of one head of `width` columns.
    fn head(self, head: usize, width: usize) -> Self {
        Self { first: self.first + head * width, ..self }
    }

    fn row(&self, row: usize, width: usize) -> &'a [f32] {
        let start = row * self.stride + self.first;
        &self.data[start..start + width]
    }
}
