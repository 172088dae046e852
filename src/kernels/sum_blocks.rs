//! Sums of a buffer's words: a kernel that does nothing but read, for measuring how fast an adapter reads.

use super::{Access, AdapterClass, Dispatch, Kernel, fold};

/// See the module.
pub static SUM_BLOCKS: Kernel = Kernel {
    name: "sum_blocks",
    wgsl: wgsl!("sum_blocks" + "grid"),
    storage: &[Access::Read, Access::Write],
    params: SumBlocksParams::FIELDS,
};

params! {
    /// Group 1.
    pub struct SumBlocksParams {
        /// Invocations that share the data.
        pub invocations: u32,
        /// Fours of quads of an invocation.
        pub turns: u32,
    }
}

/// Words that one invocation reads: enough that starting it is little beside its work, few enough that every core has
/// some.
pub const WORDS: usize = 128;

/// The launch that sums `count` times [`WORDS`] words.
///
/// * storage: data u32 `[count * WORDS]`, sums u32 `[count]`: the nth, modulo 2³², of every quad of neighbouring words whose
///   place among the quads is n modulo `count`
pub fn dispatch(count: usize, class: AdapterClass) -> Dispatch {
    let params = SumBlocksParams { invocations: count as u32, turns: WORDS as u32 / 16 };
    let lanes = if class.is_software() { 8 } else { 64 };
    Dispatch::new(&SUM_BLOCKS, vec![("LANES", f64::from(lanes))], &params, fold(count, lanes))
}
