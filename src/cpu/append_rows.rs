//! Copies the first columns of several matrices, side by side, into a cache.

/// A row whose slot is beyond the cache is left out.
///
/// * `parts`: matrices, as their values and the width of a row; `width`: their columns that are copied
/// * `cache_slots`: for each row the cache's row that it goes to; `cache`: `[…, parts * width]`
pub fn append_rows(parts: &[(&[f32], usize)], cache_slots: &[u32], width: usize, cache: &mut [f32]) {
    for (row, &slot) in cache_slots.iter().enumerate() {
        let Some(cached) = cache.chunks_exact_mut(parts.len() * width).nth(slot as usize) else { continue };
        for (cached, (values, stride)) in cached.chunks_exact_mut(width).zip(parts) {
            cached.copy_from_slice(&values[row * stride..][..width]);
        }
    }
}
