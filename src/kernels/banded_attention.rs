//! Attention to the keys of a band and to a few side keys: sliding windows and global tokens (Beltagy et al. 2020,
//! "Longformer"), blocks, and sums of blocks. No buffer grows with the square of the length.

use super::{Access, ColumnLayout, Dispatch, Kernel, fold, stride};
use crate::shape::BandedShape;

const STORAGE: &[Access] =
    &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Read, Access::Read, Access::Write];

/// One workgroup per 16 queries, head and 64 elements of the head.
pub static BANDED_ATTENTION: Kernel = Kernel {
    name: "banded_attention",
    wgsl: wgsl!("banded_attention" + "banded_attention" + "masked" + "grid"),
    storage: STORAGE,
    params: BandedAttentionParams::FIELDS,
};

/// One workgroup per query and head.
pub static BANDED_ATTENTION_WEIGHTS: Kernel = Kernel {
    name: "banded_attention_weights",
    wgsl: wgsl!("banded_attention_weights" + "banded_attention" + "reduce" + "masked" + "grid"),
    storage: STORAGE,
    params: BandedAttentionParams::FIELDS,
};

params! {
    /// Group 1 of both kernels. Strides and columns in elements.
    pub struct BandedAttentionParams {
        /// Sentences.
        pub batch: u32,
        /// Heads.
        pub heads: u32,
        /// Queries of a sentence, and keys.
        pub length: u32,
        /// Row stride of the queries' value.
        pub q_stride: u32,
        /// First column of the queries.
        pub q_first: u32,
        /// Row stride of the value with keys and values.
        pub kv_stride: u32,
        /// First column of the keys.
        pub k_first: u32,
        /// First column of the values.
        pub v_first: u32,
        /// Row stride of the value with the side keys.
        pub side_stride: u32,
        /// First column of the side keys.
        pub side_k_first: u32,
        /// First column of their values.
        pub side_v_first: u32,
        /// Room for the side keys of a sentence.
        pub most_sides: u32,
        /// Positions of a block; 1 for a window.
        pub block: u32,
        /// Keys before the block.
        pub left: u32,
        /// Keys after the block.
        pub right: u32,
        /// Factor of the scores.
        pub scale: f32,
        /// Reach of the band's bias.
        pub reach: u32,
        /// Rows of the band's bias.
        pub bias_rows: u32,
        /// Tokens of a side key; 0 if side keys have no bias.
        pub side_tokens: u32,
        /// Reach of the side keys' bias, blocks.
        pub side_reach: u32,
        /// Logarithm of how often repeated side keys count.
        pub copies_bias: f32,
    }
}

/// Queries of a workgroup.
const TILE: usize = 16;
/// Elements of a head's values that a workgroup sums.
const HEAD_BLOCK: usize = 64;

/// The places of queries, keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BandedLayout {
    /// Queries.
    pub queries: ColumnLayout,
    /// Keys.
    pub keys: ColumnLayout,
    /// First column of the values, which are in the same value as the keys.
    pub values_first: usize,
    /// Side keys.
    pub side_keys: ColumnLayout,
    /// First column of the side values, which are in the same value as the side keys.
    pub side_values_first: usize,
}

fn launch(
    kernel: &'static Kernel,
    shape: &BandedShape,
    layout: &BandedLayout,
    workgroups: usize,
) -> Dispatch {
    let BandedLayout { queries, keys, values_first, side_keys, side_values_first } = *layout;
    let params = BandedAttentionParams {
        batch: shape.batch as u32,
        heads: shape.heads as u32,
        length: shape.length as u32,
        q_stride: queries.stride as u32,
        q_first: queries.first as u32,
        kv_stride: keys.stride as u32,
        k_first: keys.first as u32,
        v_first: values_first as u32,
        side_stride: side_keys.stride as u32,
        side_k_first: side_keys.first as u32,
        side_v_first: side_values_first as u32,
        most_sides: shape.most_sides as u32,
        block: shape.band.block as u32,
        left: shape.band.left as u32,
        right: shape.band.right as u32,
        scale: shape.scale,
        reach: shape.reach.unwrap_or(0) as u32,
        bias_rows: shape.reach.map_or(0, |reach| 2 * reach + 1) as u32,
        side_tokens: shape.side_blocks.map_or(0, |blocks| blocks.tokens) as u32,
        side_reach: shape.side_blocks.map_or(0, |blocks| blocks.reach) as u32,
        copies_bias: (shape.side_copies as f32).ln(),
    };
    let starts = [queries.first, keys.first, values_first, side_keys.first, side_values_first];
    let aligned = starts.iter().chain([&shape.d_head, &shape.d_value]).all(|n| n.is_multiple_of(4));
    let constants = vec![
        ("D_HEAD", shape.d_head as f64),
        ("D_VALUE", shape.d_value as f64),
        ("ALIGNED", f64::from(aligned)),
        ("HAS_BIAS", f64::from(shape.bias_rows() > 0)),
        ("HAS_SIDES", f64::from(shape.most_sides > 0)),
        ("HAS_COPIES", f64::from(shape.side_copies > 1)),
    ];
    Dispatch::new(kernel, constants, &params, fold(workgroups, 1))
}

/// Computes the contexts.
///
/// * storage: queries `[batch * length, …]`, keys and values `[batch * length, …]`, key mask u32 `[batch, length]`
///   (nonzero = visible in bands), bias `[bias_rows, heads]` (by the distance of a band's key, then by that of a side key
///   in blocks), side keys and values `[…, …]`, side rows u32 `[batch, 2 + most_sides]` (number of side keys, number of
///   the first of them that count `side_copies` times, then their rows), context `[batch * length, heads * d_value]`
/// * any buffer but the last can be bound for a bias, side keys or side rows that are not there
pub fn dispatch(shape: &BandedShape, layout: &BandedLayout) -> Dispatch {
    let tiles = shape.batch * shape.length.div_ceil(TILE) * shape.heads;
    launch(&BANDED_ATTENTION, shape, layout, tiles * shape.d_value.div_ceil(HEAD_BLOCK))
}

/// Computes the weights: those of the side keys, then those of the band.
///
/// * storage: as of [`dispatch`], but the last is weights `[batch * heads * length, most_sides + band's width]`
pub fn weights_dispatch(shape: &BandedShape, layout: &BandedLayout) -> Dispatch {
    launch(&BANDED_ATTENTION_WEIGHTS, shape, layout, shape.batch * shape.heads * shape.length)
}

/// Row stride of the weights, elements.
pub fn weight_stride(shape: &BandedShape) -> usize {
    stride(shape.weight_columns())
}
