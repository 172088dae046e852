//! Keys and values as sums of a text's rows, with learned factors. Wang et al. 2020, "Linformer", equation (7).

use super::{Access, ColumnLayout, Dispatch, Kernel, fold, stride};
use crate::shape::ProjectedShape;

/// A quad of a sum per invocation.
pub static PROJECT_LENGTH: Kernel = Kernel {
    name: "project_length",
    wgsl: wgsl!("project_length" + "length_projection" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Write, Access::Write],
    params: ProjectLengthParams::FIELDS,
};

params! {
    /// Group 1.
    pub struct ProjectLengthParams {
        /// Sentences.
        pub batch: u32,
        /// Rows of a sentence.
        pub length: u32,
        /// Rows of a sentence in the result.
        pub room: u32,
        /// Sums of a text.
        pub rank: u32,
        /// Quads of a row of the result, with padding.
        pub quads: u32,
        /// Columns of the keys.
        pub keys: u32,
        /// Columns of keys and values.
        pub width: u32,
        /// Row stride of x, elements.
        pub x_stride: u32,
        /// First column of the keys in x.
        pub x_first: u32,
        /// Row stride of the factors, elements.
        pub factor_stride: u32,
    }
}

/// Rows and columns of learned factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FactorShape {
    /// Sums of a text.
    pub rank: usize,
    /// Most tokens of a text.
    pub positions: usize,
}

/// Projects keys and values of each sentence.
///
/// * storage: x `[batch * length, …]`, mask u32 `[batch, length]` (nonzero = visible), factors of keys and of values `[rank,
///   positions]` each, y `[batch * room, keys + values]`, visible u32 `[batch, room]`
pub fn dispatch(shape: &ProjectedShape, factors: FactorShape, x: ColumnLayout) -> Dispatch {
    let ProjectedShape { batch, length, room, keys, values } = *shape;
    let quads = stride(keys + values) / 4;
    let params = ProjectLengthParams {
        batch: batch as u32,
        length: length as u32,
        room: room as u32,
        rank: factors.rank as u32,
        quads: quads as u32,
        keys: keys as u32,
        width: (keys + values) as u32,
        x_stride: x.stride as u32,
        x_first: x.first as u32,
        factor_stride: stride(factors.positions) as u32,
    };
    Dispatch::new(&PROJECT_LENGTH, Vec::new(), &params, fold(batch * room * quads, 64))
}
