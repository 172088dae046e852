//! Copies the keys and values of a fused projection into the caches.

/// * `qkv`: `[rows, 3 * d_model]`; `cache_slots`: `[rows]`, the caches' row that each one goes to
/// * `key_cache`, `value_cache`: `[…, d_model]`
pub fn append_kv(
    qkv: &[f32],
    cache_slots: &[u32],
    d_model: usize,
    key_cache: &mut [f32],
    value_cache: &mut [f32],
) {
    for (qkv, &slot) in qkv.chunks_exact(3 * d_model).zip(cache_slots) {
        let place = slot as usize * d_model..(slot as usize + 1) * d_model;
        key_cache[place.clone()].copy_from_slice(&qkv[d_model..2 * d_model]);
        value_cache[place].copy_from_slice(&qkv[2 * d_model..]);
    }
}
