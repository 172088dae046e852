//! How many lines or texts are translated at once.

use std::time::Duration;

/// Lines of the first window: few, for early results.
pub const FIRST_WINDOW: usize = 128;
/// Maximal number of lines of a window. More lines would hardly reduce padding.
const LARGEST_WINDOW: usize = 4096;
/// Bytes after which a window is complete; it bounds memory for long lines.
pub const ENOUGH_BYTES: u64 = 1 << 20;
/// Range of a window's time: a faster one makes the next larger. Lines appear at its end, and a killed run loses them.
const WINDOW_TIME: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(20)];

/// The size of the next window after one that took this time.
pub fn next_window(lines: usize, took: Duration) -> usize {
    match took {
        _ if took < WINDOW_TIME[0] => {
            let times = WINDOW_TIME[0].as_millis() / took.as_millis().max(1);
            (lines * times.clamp(2, 32) as usize).min(LARGEST_WINDOW)
        }
        _ if took > WINDOW_TIME[1] => (lines / 2).max(FIRST_WINDOW),
        _ => lines,
    }
}
