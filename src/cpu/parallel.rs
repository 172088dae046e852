//! Shares work between the processor's cores. A browser has one.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// The wish to stop of the run on this thread.
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Runs operators that skip what is left of their rows once `stop` is set; their results are then useless.
pub fn unless_stopped<R>(stop: &Arc<AtomicBool>, work: impl FnOnce() -> R) -> R {
    let _earlier = Earlier(STOP.replace(Some(stop.clone())));
    work()
}

/// The wish of the run before, which counts again when this one ends, also by a panic.
struct Earlier(Option<Arc<AtomicBool>>);

impl Drop for Earlier {
    fn drop(&mut self) {
        STOP.set(self.0.take());
    }
}

/// Minimum work to wake another core, multiplications.
const GRAIN: usize = 1 << 19;

/// A number of pieces to split work into: enough for every core, none too small.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    pieces: usize,
}

/// Pieces for each core: a core that another program holds up for a while keeps the others waiting for one piece only.
const PIECES: usize = 16;

impl Budget {
    /// The budget of a whole operator of `work` multiplications.
    pub fn new(work: usize) -> Self {
        let cores = cores();
        let most = if cores == 1 { 1 } else { PIECES * cores };
        Self { pieces: (work / GRAIN).clamp(1, most) }
    }

    pub fn allows_split(self) -> bool {
        self.pieces > 1
    }

    /// Runs both halves of a piece, in parallel if possible.
    pub fn join(self, a: impl FnOnce(Self) + Send, b: impl FnOnce(Self) + Send) {
        let half = Self { pieces: self.pieces.div_ceil(2) };
        #[cfg(not(target_arch = "wasm32"))]
        rayon::join(|| a(half), || b(half));
        #[cfg(target_arch = "wasm32")]
        {
            a(half);
            b(half);
        }
    }
}

/// Number of threads that share the work of an operator.
pub fn cores() -> usize {
    #[cfg(not(target_arch = "wasm32"))]
    return rayon::current_num_threads();
    #[cfg(target_arch = "wasm32")]
    return 1;
}

/// Runs a sequence of operators on the threads that share their work, so that no operator is handed over.
#[cfg(not(target_arch = "wasm32"))]
pub fn among_the_cores<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    rayon::scope(|_| work())
}

/// Runs a sequence of operators here: a browser's GPU handles, which `work` may hold, cannot move between threads.
#[cfg(target_arch = "wasm32")]
pub fn among_the_cores<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Calls `each(row, &mut data[row * width..][..width])` for every row, in any order. `work`: multiplications of a row.
pub fn for_each_row<T: Send>(
    data: &mut [T],
    width: usize,
    work: usize,
    each: impl Fn(usize, &mut [T]) + Sync,
) {
    let stop = STOP.with_borrow(Clone::clone);
    let is_stopped = || stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
    for_each_block(data, width, work, |first, block| {
        for (row, values) in block.chunks_exact_mut(width).enumerate() {
            if is_stopped() {
                return;
            }
            each(first + row, values);
        }
    });
}

/// As [`for_each_row`], for blocks: `each(first_row, &mut data[first_row * width..][..rows * width])`.
pub fn for_each_block<T: Send>(
    data: &mut [T],
    width: usize,
    work: usize,
    each: impl Fn(usize, &mut [T]) + Sync,
) {
    for_each_block_of(1, (data, width), work, each);
}

/// As [`for_each_block`], for blocks of at least so many rows, if there are as many.
pub fn for_each_block_of<T: Send>(
    least: usize,
    (data, width): (&mut [T], usize),
    work: usize,
    each: impl Fn(usize, &mut [T]) + Sync,
) {
    fn split<T: Send>(
        (budget, least): (Budget, usize),
        first: usize,
        data: &mut [T],
        width: usize,
        each: &(impl Fn(usize, &mut [T]) + Sync),
    ) {
        let rows = data.len() / width;
        if rows / 2 >= least && budget.allows_split() {
            let (low, high) = data.split_at_mut(rows / 2 * width);
            budget.join(
                |budget| split((budget, least), first, low, width, each),
                |budget| split((budget, least), first + rows / 2, high, width, each),
            );
        } else {
            each(first, data);
        }
    }
    let rows = data.len().checked_div(width).unwrap_or(0);
    if rows > 0 {
        split((Budget::new(rows.saturating_mul(work)), least.max(1)), 0, data, width, &each);
    }
}
