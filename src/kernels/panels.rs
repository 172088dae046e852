//! The layout of weight matrices on the device: panels of [`PANEL`] outputs.
//!
//! A matrix `[outputs, inputs]` is transposed and cut into panels of 64 outputs and `depth = stride(inputs)` inputs. A
//! *block* is the unit of a read: four neighbouring outputs of as many neighbouring inputs as fill 16 bytes. So
//! neighbouring outputs are neighbours in memory, as matrix–vector products need, and the 64 columns of a workgroup are
//! contiguous for any number of outputs. Elements outside the matrix are zero.
//!
//! | stored | inputs of a block | a panel | shader |
//! |---|---|---|---|
//! | f32 | 1 | `[depth, 16 blocks, 4]` | `shared/weights_f32.wgsl` |
//! | f16 | 2 | `[depth / 2, 16 blocks, 2, 4]` | `shared/weights_f16.wgsl` |
//! | q8 | 4 | `[depth / 4, 16 blocks, 4, 4]`, then the scales of its outputs, f32 `[64]` | `shared/weights_q8.wgsl` |

use half::f16;
use half::slice::HalfFloatSliceExt;

use super::{PANEL, stride};
use crate::precision::{WeightPrecision, quantize, row_scale};

/// Words (4 bytes) of a panel of a matrix with `inputs` inputs.
pub const fn panel_words(inputs: usize, precision: WeightPrecision) -> usize {
    let values = stride(inputs) * PANEL;
    match precision {
        WeightPrecision::F32 => values,
        WeightPrecision::F16 => values / 2,
        WeightPrecision::Q8 => values / 4 + PANEL,
    }
}

/// Words of a packed matrix.
pub const fn packed_words(outputs: usize, inputs: usize, precision: WeightPrecision) -> usize {
    outputs.div_ceil(PANEL) * panel_words(inputs, precision)
}

/// Packs a row-major matrix `[outputs, inputs]`, rounded to `precision`. Panels are consecutive, so that a large matrix
/// can be packed in multiples of [`PANEL`] rows.
pub fn pack(weight: &[f32], outputs: usize, inputs: usize, precision: WeightPrecision) -> Vec<u32> {
    pack_with_scales(weight, outputs, inputs, precision, None)
}

/// As [`pack`], with `known` 8-bit scales of the rows, if any.
pub fn pack_with_scales(
    weight: &[f32],
    outputs: usize,
    inputs: usize,
    precision: WeightPrecision,
    known: Option<&[f32]>,
) -> Vec<u32> {
    assert_eq!(weight.len(), outputs * inputs, "the matrix is [{outputs}, {inputs}]");
    let mut packed = vec![0; packed_words(outputs, inputs, precision)];
    if inputs == 0 {
        return packed;
    }
    let mut halves = vec![f16::ZERO; if precision == WeightPrecision::F16 { inputs } else { 0 }];
    let panels = packed.chunks_exact_mut(panel_words(inputs, precision));
    for (index, (panel, rows)) in panels.zip(weight.chunks(PANEL * inputs)).enumerate() {
        let (values, scales) = panel.split_at_mut(stride(inputs) * PANEL * precision.value_bytes() / 4);
        for (n, row) in rows.chunks_exact(inputs).enumerate() {
            match precision {
                WeightPrecision::F32 => {
                    scatter::<_, _, 1>(bytemuck::cast_slice_mut(values), n, row, |value| value);
                }
                WeightPrecision::F16 => {
                    halves.convert_from_f32_slice(row);
                    scatter::<_, _, 2>(bytemuck::cast_slice_mut(values), n, &halves, |value| value);
                }
                WeightPrecision::Q8 => {
                    let scale = known.map_or_else(|| row_scale(row), |scales| scales[index * PANEL + n]);
                    scales[n] = scale.to_bits();
                    scatter::<_, _, 4>(bytemuck::cast_slice_mut(values), n, row, |value| {
                        quantize(value, scale)
                    });
                }
            }
        }
    }
    packed
}

/// The row-major matrix of f32 panels, the inverse of [`pack`].
pub fn unpack(packed: &[f32], outputs: usize, inputs: usize) -> Vec<f32> {
    let mut weight = vec![0.0; outputs * inputs];
    if inputs == 0 {
        return weight;
    }
    for (panel, rows) in packed.chunks_exact(stride(inputs) * PANEL).zip(weight.chunks_mut(PANEL * inputs)) {
        for (n, row) in rows.chunks_exact_mut(inputs).enumerate() {
            row.iter_mut().enumerate().for_each(|(k, value)| *value = panel[position::<1>(k, n)]);
        }
    }
    weight
}

/// Writes the row of output `n` into a panel whose blocks have `INPUTS` inputs.
fn scatter<V: Copy, T, const INPUTS: usize>(panel: &mut [T], n: usize, row: &[V], stored: impl Fn(V) -> T) {
    let blocks = panel.chunks_exact_mut(PANEL * INPUTS);
    for (blocks, values) in blocks.zip(row.chunks(INPUTS)) {
        for (k, &value) in values.iter().enumerate() {
            blocks[position::<INPUTS>(k, n)] = stored(value);
        }
    }
}

/// The index of the value of input `k` and output `n` in a panel.
const fn position<const INPUTS: usize>(k: usize, n: usize) -> usize {
    let (row, k) = (k / INPUTS, k % INPUTS);
    row * INPUTS * PANEL + n / 4 * (4 * INPUTS) + k * 4 + n % 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_found_where_the_layout_says() {
        for (outputs, inputs) in [(1, 1), (3, 5), (64, 4), (65, 7), (130, 33)] {
            // whole numbers that every precision holds, and a 127 in every row: the scale is 1
            let value = |i: usize| if i.is_multiple_of(inputs) { 127.0 } else { 1.0 + (i % 100) as f32 };
            let weight: Vec<f32> = (0..outputs * inputs).map(value).collect();
            for precision in WeightPrecision::ALL {
                let packed = pack(&weight, outputs, inputs, precision);
                assert_eq!(packed.len(), packed_words(outputs, inputs, precision));
                if precision == WeightPrecision::F32 {
                    assert_eq!(unpack(bytemuck::cast_slice(&packed), outputs, inputs), weight);
                }
                let mut rest = packed.clone();
                let (words, values) = (panel_words(inputs, precision), stride(inputs) * PANEL);
                for output in 0..outputs {
                    let (panel, n) = (&packed[output / PANEL * words..][..words], output % PANEL);
                    for k in 0..inputs {
                        let stored = match precision {
                            WeightPrecision::F32 => f32::from_bits(panel[position::<1>(k, n)]),
                            WeightPrecision::F16 => {
                                bytemuck::cast_slice::<_, f16>(panel)[position::<2>(k, n)].to_f32()
                            }
                            WeightPrecision::Q8 => {
                                f32::from(bytemuck::cast_slice::<_, i8>(panel)[position::<4>(k, n)])
                            }
                        };
                        let place = format!("{precision} [{outputs}, {inputs}] at ({output}, {k})");
                        assert_eq!(stored, weight[output * inputs + k], "{place}");
                    }
                    if precision == WeightPrecision::Q8 {
                        assert_eq!(f32::from_bits(panel[values / 4 + n]), 1.0, "a scale");
                        rest[output / PANEL * words + values / 4 + n] = 0;
                    }
                }
                let bytes: &[u8] = bytemuck::cast_slice(&rest);
                let nonzero =
                    bytes.chunks(precision.value_bytes()).filter(|value| value.iter().any(|&b| b != 0));
                assert_eq!(nonzero.count(), weight.len(), "{precision}: padding is zero");
            }
        }
    }
}
