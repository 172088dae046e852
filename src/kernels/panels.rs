//! The layout of weight matrices on the device: panels of [`PANEL`] outputs.
//!
//! A matrix `[outputs, inputs]` is transposed and cut into panels. Element `(k, n)` of the transposed matrix lies at
//! `(n / 64) * depth * 64 + k * 64 + n % 64` with `depth = stride(inputs)`. So neighbouring outputs are neighbours in
//! memory, which matrix–vector products need, and the 64 columns that one workgroup of a matrix product multiplies by
//! are one contiguous block, whatever the number of outputs. What lies outside of the matrix is zero.

use super::{PANEL, stride};

/// Elements of a packed matrix.
pub const fn packed_len(outputs: usize, inputs: usize) -> usize {
    outputs.next_multiple_of(PANEL) * stride(inputs)
}

/// Packs a row-major matrix `[outputs, inputs]`.
pub fn pack(weight: &[f32], outputs: usize, inputs: usize) -> Vec<f32> {
    let mut packed = vec![0.0; packed_len(outputs, inputs)];
    pack_into(weight, outputs, inputs, &mut packed);
    packed
}

/// Packs a row-major matrix `[outputs, inputs]` into the `packed_len(outputs, inputs)` elements of `packed`. Consecutive
/// panels are consecutive in memory, so that a large matrix may be packed piece by piece, in multiples of [`PANEL`] rows.
pub fn pack_into(weight: &[f32], outputs: usize, inputs: usize, packed: &mut [f32]) {
    assert_eq!(weight.len(), outputs * inputs, "the matrix is [{outputs}, {inputs}]");
    assert_eq!(packed.len(), packed_len(outputs, inputs), "the packed matrix [{outputs}, {inputs}]");
    if inputs == 0 {
        return;
    }
    for (panel, rows) in packed.chunks_exact_mut(stride(inputs) * PANEL).zip(weight.chunks(PANEL * inputs)) {
        panel.fill(0.0);
        for (n, row) in rows.chunks_exact(inputs).enumerate() {
            for (column, &value) in panel.chunks_exact_mut(PANEL).zip(row) {
                column[n] = value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_found_where_the_layout_says() {
        for (outputs, inputs) in [(1, 1), (3, 5), (64, 4), (65, 7), (130, 33)] {
            let weight: Vec<f32> = (1..=outputs * inputs).map(|i| i as f32).collect();
            let packed = pack(&weight, outputs, inputs);
            for n in 0..outputs {
                for k in 0..inputs {
                    let at = (n / PANEL) * stride(inputs) * PANEL + k * PANEL + n % PANEL;
                    assert_eq!(packed[at], weight[n * inputs + k], "[{outputs}, {inputs}] at ({n}, {k})");
                }
            }
            assert_eq!(packed.iter().filter(|&&value| value != 0.0).count(), weight.len());
        }
    }
}
