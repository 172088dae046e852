//! The best approximation of a sentence's rows by a matrix of rank k. Eckart & Young 1936; its singular vectors by rotations
//! of pairs of rows, Hestenes 1958.

use super::{Access, ColumnLayout, Dispatch, Kernel, fold, stride};
use crate::shape::{LOW_RANK_LENGTH, LowRankShape};

/// One workgroup per sentence.
pub static LOW_RANK_ROTATE: Kernel = Kernel {
    name: "low_rank_rotate",
    wgsl: wgsl!("low_rank_rotate" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Write],
    params: RotateParams::FIELDS,
};

/// One workgroup per row.
pub static LOW_RANK: Kernel = Kernel {
    name: "low_rank",
    wgsl: wgsl!("low_rank" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Write],
    params: LowRankParams::FIELDS,
};

params! {
    /// Group 1 of [`LOW_RANK_ROTATE`].
    pub struct RotateParams {
        /// Sentences.
        pub batch: u32,
        /// Rows of a sentence.
        pub length: u32,
        /// Quads of a row, with padding.
        pub quads: u32,
        /// Elements of a row.
        pub width: u32,
        /// Row stride of x, elements.
        pub x_stride: u32,
        /// First column of x.
        pub x_first: u32,
        /// First round of this launch, in its sweep.
        pub first_round: u32,
        /// Rounds of this launch.
        pub rounds: u32,
        /// Nonzero: begins with the rows of x.
        pub is_first: u32,
    }
}

params! {
    /// Group 1 of [`LOW_RANK`].
    pub struct LowRankParams {
        /// Sentences.
        pub batch: u32,
        /// Rows of a sentence.
        pub length: u32,
        /// Quads of a row, with padding.
        pub quads: u32,
        /// Elements of a row.
        pub width: u32,
        /// Row stride of x, elements.
        pub x_stride: u32,
        /// First column of x.
        pub x_first: u32,
        /// Dimensions of the subspace.
        pub rank: u32,
    }
}

/// Passes over all pairs of rows. A fixed number, because a launch does not know whether rows are orthogonal yet; the last
/// ones rotate nothing.
const SWEEPS: usize = 10;
/// Iterations of all loops of an invocation in one launch. lavapipe stops an invocation after 65,535, and a driver one that
/// takes seconds.
const ITERATIONS: usize = 40_000;

/// The launches that make the rows of each sentence orthogonal.
///
/// * storage of each: x `[batch * length, …]`, mask u32 `[batch, length]` (nonzero = visible), rotated `[batch * length,
///   width]`
pub fn rotations(shape: &LowRankShape, x: ColumnLayout) -> Vec<Dispatch> {
    let LowRankShape { batch, length, width, .. } = *shape;
    let quads = stride(width) / 4;
    let blocks = length.div_ceil(2).div_ceil(16);
    let of_round = blocks * (2 * quads.div_ceil(16) + 17) + 1;
    let fixed = length + 5 * (length * quads).div_ceil(256);
    let most = (ITERATIONS.saturating_sub(fixed) / of_round).max(1);
    let all = (length + length % 2).saturating_sub(1).max(1);
    let launches = (0..SWEEPS).flat_map(|sweep| (0..all).step_by(most).map(move |first| (sweep, first)));
    let launch = |(sweep, first): (usize, usize)| {
        let params = RotateParams {
            batch: batch as u32,
            length: length as u32,
            quads: quads as u32,
            width: width as u32,
            x_stride: x.stride as u32,
            x_first: x.first as u32,
            first_round: first as u32,
            rounds: most.min(all - first) as u32,
            is_first: (sweep == 0 && first == 0).into(),
        };
        Dispatch::new(&LOW_RANK_ROTATE, Vec::new(), &params, fold(batch, 1))
    };
    launches.map(launch).collect()
}

/// Projects each row on the leading rows of [`rotations`].
///
/// * storage: x `[batch * length, …]`, mask u32 `[batch, length]`, rotated `[batch * length, width]`, y the same
/// * panics if a sentence has more than [`LOW_RANK_LENGTH`] rows
pub fn dispatch(shape: &LowRankShape, x: ColumnLayout) -> Dispatch {
    let LowRankShape { batch, length, width, rank } = *shape;
    assert!(length <= LOW_RANK_LENGTH, "{length} rows of {LOW_RANK_LENGTH} at most");
    let params = LowRankParams {
        batch: batch as u32,
        length: length as u32,
        quads: (stride(width) / 4) as u32,
        width: width as u32,
        x_stride: x.stride as u32,
        x_first: x.first as u32,
        rank: u32::try_from(rank).unwrap_or(u32::MAX),
    };
    Dispatch::new(&LOW_RANK, Vec::new(), &params, fold(batch * length, 1))
}
