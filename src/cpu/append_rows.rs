//! Copies the first columns of several matrices, side by side, into a cache.

/// Copies columns; skips rows whose slot is beyond the cache.
///
/// * `parts`: values and row width of each matrix; `width`: copied columns of each
/// * `cache_slots`: `[rows]`, row of the cache; `cache`: `[…, parts * width]`
pub fn append_rows(parts: &[(&[f32], usize)], cache_slots: &[u32], width: usize, cache: &mut [f32]) {
    for (row, &slot) in cache_slots.iter().enumerate() {
        let Some(cached) = cache.chunks_exact_mut(parts.len() * width).nth(slot as usize) else { continue };
        for (cached, (values, stride)) in cached.chunks_exact_mut(width).zip(parts) {
            cached.copy_from_slice(&values[row * stride..][..width]);
        }
    }
}
