//! Copies the keys and values of a fused projection into the caches.

/// Copies keys and values; skips rows whose slot is beyond the caches.
///
/// * `qkv`: `[rows, 2 * key_width + value_width]`; `cache_slots`: `[rows]`, row of the caches
/// * `key_cache`: `[…, key_width]`; `value_cache`: `[…, value_width]`
pub fn append_kv(
    qkv: &[f32],
    cache_slots: &[u32],
    [key_width, value_width]: [usize; 2],
    key_cache: &mut [f32],
    value_cache: &mut [f32],
) {
    let cache_rows = key_cache.len() / key_width;
    for (qkv, &slot) in qkv.chunks_exact(2 * key_width + value_width).zip(cache_slots) {
        let slot = slot as usize;
        if slot < cache_rows {
            let (key, value) = qkv[key_width..].split_at(key_width);
            key_cache[slot * key_width..][..key_width].copy_from_slice(key);
            value_cache[slot * value_width..][..value_width].copy_from_slice(value);
        }
    }
}
