//! `y[r] = scale * table[tokens[r]] + positions[r-th position]`.  Vaswani et al. 2017, sections 3.4 and 3.5.

use std::ops::Range;

use super::{Access, ByPrecision, Dispatch, PANEL, fold, stride};
use crate::precision::WeightPrecision;

/// One invocation for four elements of y.
pub static EMBED: ByPrecision = by_precision!(
    "",
    "embed" + "grid",
    &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Write],
    EmbedParams::FIELDS
);

params! {
    /// Group 1 of `embed.wgsl`.
    pub struct EmbedParams {
        /// Rows of y.
        pub rows: u32,
        /// Quads per row of y and of the position table.
        pub quads: u32,
        /// First token of this part of the table.
        pub first_token: u32,
        /// Tokens in this part.
        pub part_tokens: u32,
        /// Factor of the table's values: √d_model, or 1.
        pub scale: f32,
        /// Whether position 0 comes without a token.
        pub zero_start: u32,
    }
}

/// Shape and switches of an embedding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmbedShape {
    /// Number of tokens.
    pub rows: usize,
    /// Elements per embedding.
    pub d_model: usize,
    /// Factor of the table's values: √d_model, or 1.
    pub scale: f32,
    /// Whether positions are added.
    pub positions: bool,
    /// Whether position 0 comes without a token.
    pub zero_start: bool,
    /// Storage of the table.
    pub precision: WeightPrecision,
}

/// Writes the rows whose token is in `part`, which starts at a multiple of [`PANEL`].
///
/// * storage: tokens u32 `[rows]`, table (panels of `part`), positions u32 `[rows]` (also for `zero_start` alone),
///   position table `[positions, d_model]`, y `[rows, d_model]`
pub fn dispatch(shape: &EmbedShape, part: Range<usize>) -> Dispatch {
    assert!(part.start.is_multiple_of(PANEL), "tokens {part:?} of a table in panels");
    let quads = stride(shape.d_model) / 4;
    let params = EmbedParams {
        rows: shape.rows as u32,
        quads: quads as u32,
        first_token: part.start as u32,
        part_tokens: part.len() as u32,
        scale: shape.scale,
        zero_start: shape.zero_start.into(),
    };
    let constants = vec![("HAS_POSITIONS", f64::from(shape.positions))];
    Dispatch::new(EMBED.of(shape.precision), constants, &params, fold(shape.rows * quads, 64))
}
