//! Sums of the shares of a [gradient](super::linear_gradient) whose summands several workgroups shared out.

use super::linear_gradient::Earlier;
use super::{Access, Dispatch, Kernel, fold};

/// A quad per invocation.
pub static SUM_SHARES: Kernel = Kernel {
    name: "sum_shares",
    wgsl: wgsl!("sum_shares" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Write],
    params: SumSharesParams::FIELDS,
};

params! {
    /// Group 1.
    pub struct SumSharesParams {
        /// Quads of a share.
        pub quads: u32,
        /// Shares.
        pub shares: u32,
        /// 0: nothing, 1: the buffer `earlier`, 2: what the sums hold.
        pub earlier: u32,
    }
}

/// `sums = earlier + Σ shares`, in their order.
///
/// * storage: shares `[shares, elements]`, earlier `[elements]`, sums `[elements]`; `elements` is a multiple of four
/// * without [`Earlier::Buffer`], any other buffer than the sums can be bound for `earlier`
pub fn dispatch(elements: usize, shares: usize, earlier: Earlier) -> Dispatch {
    let params =
        SumSharesParams { quads: (elements / 4) as u32, shares: shares as u32, earlier: earlier.code() };
    Dispatch::new(&SUM_SHARES, Vec::new(), &params, fold(elements / 4, 64))
}
