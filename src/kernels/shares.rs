//! How many workgroups share out the summands of a sum. A gradient has few tiles or columns and many summands: one workgroup for each
//! would leave most of a large GPU idle. [`sum_shares`](super::sum_shares) adds up their sums.

use super::AdapterClass;

/// Summands that a workgroup of any kernel reads at a time.
const STEP: usize = 32;

/// Workgroups that keep a large GPU busy, and summands that are worth a workgroup.
const BUSY_FROM: usize = 512;
const WORTH_A_SHARE: usize = 256;

/// Shares of the summands: equal ones but for the last, and at most so many as were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Summands of each.
    pub length: usize,
    /// Number.
    pub count: usize,
}

impl Shares {
    /// At most `count` shares of whole steps.
    pub fn new(summands: usize, count: usize) -> Self {
        let length = summands.div_ceil(count.max(1)).next_multiple_of(STEP);
        Self { length, count: summands.div_ceil(length) }
    }

    /// Shares of the summands of each of `workgroups` workgroups. A software adapter has few cores to keep busy.
    pub fn choose(summands: usize, workgroups: usize, class: AdapterClass) -> Self {
        let wanted = match class.is_software() {
            true => 1,
            false => BUSY_FROM.div_ceil(workgroups).min(summands / WORTH_A_SHARE),
        };
        Self::new(summands, wanted)
    }
}
