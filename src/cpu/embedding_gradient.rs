//! Gradient of an embedding table: rows summed by the table row that each has read.

/// Marks the end of a list of segments.
pub const NO_ROW: u32 = u32::MAX;

/// `dtable[t] += scale · Σ dy[row]` for each table row t, in the order of `order`: the same bits in every run.
///
/// * `dy`: `[rows, width]`; `order`: row numbers, sorted by table row
/// * `segments`: table row and first index in `order` of each segment, ended by [`NO_ROW`] and the end of the last one
/// * `dtable`: `[table rows, width]`
pub fn embedding_gradient(
    dy: &[f32],
    order: &[u32],
    segments: &[u32],
    scale: f32,
    width: usize,
    dtable: &mut [f32],
) {
    let ends = segments.chunks_exact(2).skip(1).map(|next| next[1] as usize);
    for (segment, end) in segments.chunks_exact(2).zip(ends) {
        if segment[0] == NO_ROW {
            break;
        }
        let sum = &mut dtable[segment[0] as usize * width..][..width];
        for &row in &order[segment[1] as usize..end] {
            let dy = &dy[row as usize * width..][..width];
            sum.iter_mut().zip(dy).for_each(|(sum, dy)| *sum += scale * dy);
        }
    }
}
