//! Sums of a buffer's words: a kernel that only reads, to measure an adapter's read speed.

use super::{Access, AdapterClass, Dispatch, Kernel, fold};

/// Sums of blocks of words.
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
        /// Groups of four quads per invocation.
        pub turns: u32,
    }
}

/// Words per invocation: enough to hide its start, few enough to give every core some.
pub const WORDS: usize = 128;

/// Sums `count` times [`WORDS`] words.
///
/// * storage: data u32 `[count * WORDS]`, sums u32 `[count]`: the nth is the sum, modulo 2³², of every quad whose index
///   modulo `count` is n
pub fn dispatch(count: usize, class: AdapterClass) -> Dispatch {
    let params = SumBlocksParams { invocations: count as u32, turns: WORDS as u32 / 16 };
    let lanes = if class.is_software() { 8 } else { 64 };
    Dispatch::new(&SUM_BLOCKS, vec![("LANES", f64::from(lanes))], &params, fold(count, lanes))
}
