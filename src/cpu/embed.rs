//! `y[r] = scale * table[tokens[r]] + positions[r-th position]`

use super::WeightMatrix;

/// Overwrites the rows of y whose position is 0 with that position alone; with zeros without a table.
///
/// * `positions`: `[rows]`; `table`: `[positions, d_model]`
pub fn start_rows(positions: &[u32], table: Option<&[f32]>, y: &mut [f32]) {
    let d_model = y.len().checked_div(positions.len()).unwrap_or(0);
    for (y, _) in y.chunks_exact_mut(d_model.max(1)).zip(positions).filter(|(_, position)| **position == 0) {
        match table {
            Some(table) => y.copy_from_slice(&table[..d_model]),
            None => y.fill(0.0),
        }
    }
}

/// Computes token embeddings, plus position embeddings if any.
///
/// * `tokens`: `[rows]`; `positions`: `[rows]`, and the table that they index, `[positions, d_model]`
/// * `table`: `[vocabulary, d_model]`; `y`: `[rows, d_model]`
pub fn embed(
    tokens: &[u32],
    positions: Option<(&[u32], &[f32])>,
    table: WeightMatrix,
    d_model: usize,
    scale: f32,
    y: &mut [f32],
) {
    let row = |index: u32| index as usize * d_model..(index as usize + 1) * d_model;
    for (r, (y, &token)) in y.chunks_exact_mut(d_model).zip(tokens).enumerate() {
        table.widen_row(token as usize, y);
        let scale = table.row_scale(token as usize) * scale;
        y.iter_mut().for_each(|y| *y *= scale);
        if let Some((indices, positions)) = positions {
            for (y, x) in y.iter_mut().zip(&positions[row(indices[r])]) {
                *y += x;
            }
        }
    }
}
