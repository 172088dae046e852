//! Sharing work between the processor's cores. In a browser there is one.

/// Work that is worth waking another core for, in multiplications.
const GRAIN: usize = 1 << 19;

/// Permission to split a piece of work: enough pieces to keep every core busy, none too small to be worth it.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    pieces: usize,
}

impl Budget {
    /// For a whole operator of `work` multiplications.
    pub fn new(work: usize) -> Self {
        #[cfg(not(target_arch = "wasm32"))]
        let cores = rayon::current_num_threads();
        #[cfg(target_arch = "wasm32")]
        let cores = 1;
        let most = if cores == 1 { 1 } else { 4 * cores };
        Self { pieces: (work / GRAIN).clamp(1, most) }
    }

    /// Whether to split once more.
    pub fn allows_split(self) -> bool {
        self.pieces > 1
    }

    /// Runs both halves of a piece, side by side where possible.
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

/// Runs what consists of many operators on the threads that share their work, so that none of them has to be handed over.
#[cfg(not(target_arch = "wasm32"))]
pub fn among_the_cores<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    rayon::scope(|_| work())
}

/// Runs what consists of many operators. A browser's handles of a GPU, which `work` may hold, cannot be sent to threads.
#[cfg(target_arch = "wasm32")]
pub fn among_the_cores<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Calls `each(row, &mut data[row * width..][..width])` for every row, in any order; a row takes `work` multiplications.
pub fn for_each_row<T: Send>(
    data: &mut [T],
    width: usize,
    work: usize,
    each: impl Fn(usize, &mut [T]) + Sync,
) {
    for_each_block(data, width, work, |first, block| {
        for (row, values) in block.chunks_exact_mut(width).enumerate() {
            each(first + row, values);
        }
    });
}

/// The same for blocks of rows: `each(first_row, &mut data[first_row * width..][..rows * width])`.
pub fn for_each_block<T: Send>(
    data: &mut [T],
    width: usize,
    work: usize,
    each: impl Fn(usize, &mut [T]) + Sync,
) {
    fn split<T: Send>(
        budget: Budget,
        first: usize,
        data: &mut [T],
        width: usize,
        each: &(impl Fn(usize, &mut [T]) + Sync),
    ) {
        let rows = data.len() / width;
        if rows > 1 && budget.allows_split() {
            let (low, high) = data.split_at_mut(rows / 2 * width);
            budget.join(
                |budget| split(budget, first, low, width, each),
                |budget| split(budget, first + rows / 2, high, width, each),
            );
        } else {
            each(first, data);
        }
    }
    let rows = data.len().checked_div(width).unwrap_or(0);
    if rows > 0 {
        split(Budget::new(rows.saturating_mul(work)), 0, data, width, &each);
    }
}
