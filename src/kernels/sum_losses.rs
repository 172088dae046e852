//! The sums of the rows of losses, for the metrics of a step.

use super::{Access, Dispatch, Kernel};

/// One workgroup.
pub static SUM_LOSSES: Kernel = Kernel {
    name: "sum_losses",
    wgsl: wgsl!("sum_losses" + "reduce_rows" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Write],
    params: SumLossesParams::FIELDS,
};

params! {
    /// Group 1.
    pub struct SumLossesParams {
        /// Rows of the losses.
        pub rows: u32,
        /// Rows of the metrics.
        pub slots: u32,
        /// Word of the step state with the slot.
        pub slot_word: u32,
        /// Whether the sums are added to the slot's.
        pub adds: u32,
    }
}

/// Sums the rows of losses into a slot of the metrics; a slot that does not exist is not written.
/// `adds`: whether the sums are added to the slot's, else they replace them.
///
/// * storage: losses `[rows, 4]`, step state u32, metrics `[slots, 4]`
pub fn dispatch(rows: usize, slots: usize, slot_word: usize, adds: bool) -> Dispatch {
    let params = SumLossesParams {
        rows: rows as u32,
        slots: slots as u32,
        slot_word: slot_word as u32,
        adds: adds.into(),
    };
    Dispatch::new(&SUM_LOSSES, Vec::new(), &params, [1, 1, 1])
}
