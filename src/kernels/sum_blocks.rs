//! Sums of a buffer's words: a kernel that does nothing but read, for measuring how fast an adapter reads.

use super::{Access, AdapterClass, Dispatch, Kernel, fold};

/// See the module.
pub static SUM_BLOCKS: Kernel = Kernel {
    name: "sum_blocks",
    wgsl: wgsl!("sum_blocks" + "read_data" + "grid"),
    storage: &[Access::Read, Access::Write],
    params: SumBlocksParams::FIELDS,
};

/// The same with integers of 64 bits.
pub static SUM_BLOCKS_EXTENDED: Kernel = Kernel {
    name: "extended_sum_blocks",
    wgsl: wgsl!("sum_blocks" + "read_data_int64" + "grid"),
    storage: &[Access::Read, Access::Write],
    params: SumBlocksParams::FIELDS,
};

params! {
    /// Group 1.
    pub struct SumBlocksParams {
        /// Invocations that share the data.
        pub invocations: u32,
        /// Fours of pieces of an invocation.
        pub turns: u32,
    }
}

/// Words that one invocation reads: enough that starting it is little beside its work, few enough that every core has
/// some.
pub const WORDS: usize = 128;

/// Words that a reading takes: a quad, or two.
pub const fn piece(class: AdapterClass) -> usize {
    match class {
        AdapterClass::ExtendedSoftware => 8,
        AdapterClass::Software | AdapterClass::BrowserSoftware | AdapterClass::Hardware => 4,
    }
}

/// The launch that sums `count` times [`WORDS`] words.
///
/// * storage: data u32 `[count * WORDS]`, sums u32 `[count]`: the nth, modulo 2³², of every [`piece`] of neighbouring words
///   whose place among the pieces is n modulo `count`
pub fn dispatch(count: usize, class: AdapterClass) -> Dispatch {
    let turns = WORDS / (4 * piece(class));
    let params = SumBlocksParams { invocations: count as u32, turns: turns as u32 };
    let lanes = if class.is_software() { 8 } else { 64 };
    let kernel = if class == AdapterClass::ExtendedSoftware { &SUM_BLOCKS_EXTENDED } else { &SUM_BLOCKS };
    Dispatch::new(kernel, vec![("LANES", f64::from(lanes))], &params, fold(count, lanes))
}
