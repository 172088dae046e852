//! The norm of all gradients, and the factor that clips it. Pascanu et al. 2013, algorithm 1.

use super::{Access, Dispatch, Kernel, fold};

/// One workgroup per block.
pub static SUM_SQUARES: Kernel = Kernel {
    name: "sum_squares",
    wgsl: wgsl!("sum_squares" + "reduce" + "grid"),
    storage: &[Access::Read, Access::Write],
    params: SumSquaresParams::FIELDS,
};

/// One workgroup.
pub static CLIP_FACTOR: Kernel = Kernel {
    name: "clip_factor",
    wgsl: wgsl!("clip_factor" + "reduce" + "grid"),
    storage: &[Access::Read, Access::Write],
    params: ClipFactorParams::FIELDS,
};

params! {
    /// Group 1 of `sum_squares.wgsl`.
    pub struct SumSquaresParams {
        /// Quads of the buffer.
        pub quads: u32,
        /// Word of the partial sums of the first block.
        pub first: u32,
    }
}

params! {
    /// Group 1 of `clip_factor.wgsl`.
    pub struct ClipFactorParams {
        /// Number of partial sums.
        pub count: u32,
        /// Whether there is a maximum.
        pub clips: u32,
        /// Maximum norm.
        pub max_norm: f32,
    }
}

/// Words of a block: enough to hide a workgroup's start.
const BLOCK: usize = 4096;

/// Partial sums of a buffer of `words` words.
pub const fn partial_sums(words: usize) -> usize {
    words.div_ceil(BLOCK)
}

/// Sums the squares of a gradient's words, whose number is a multiple of four, in blocks.
///
/// * storage: gradient f32 `[words]`, partial sums f32: [`partial_sums`] words from `first` on
pub fn sum_squares_dispatch(words: usize, first: usize) -> Dispatch {
    let params = SumSquaresParams { quads: (words / 4) as u32, first: first as u32 };
    Dispatch::new(&SUM_SQUARES, Vec::new(), &params, fold(partial_sums(words), 1))
}

/// The norm of all gradients, and min(1, max_norm / (norm + 10⁻⁶)), as `torch.nn.utils.clip_grad_norm_` has it. Without a
/// maximum the factor is 1.
///
/// * storage: partial sums f32 `[count]`, clip state f32 `[2]`: norm, factor
pub fn factor_dispatch(count: usize, max_norm: Option<f32>) -> Dispatch {
    let params = ClipFactorParams {
        count: count as u32,
        clips: max_norm.is_some().into(),
        max_norm: max_norm.unwrap_or(0.0),
    };
    Dispatch::new(&CLIP_FACTOR, Vec::new(), &params, [1, 1, 1])
}
