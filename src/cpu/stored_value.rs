//! Numbers that weights are stored as.

use half::f16;
#[cfg(not(target_arch = "wasm32"))]
use half::slice::HalfFloatSliceExt;

/// A number that is widened to f32 before it is multiplied.
pub trait StoredValue: Copy + Sync {
    fn widened(self) -> f32;

    /// Widens `values` into `out` of the same length.
    fn widen(values: &[Self], out: &mut [f32]);

    /// For each row of x the sums of its products with weights `[inputs, 32]`, widened in registers, from the first input on.
    /// `None` if the processor has no fast way.
    #[inline(always)]
    fn sums<const ROWS: usize>(_: [&[f32]; ROWS], _: &[[Self; 32]]) -> Option<[[f32; 32]; ROWS]> {
        None
    }

    /// `values` as f32, widened into `out` if the type needs widening.
    #[inline(always)]
    fn all_widened<'v>(values: &'v [Self], out: &'v mut Vec<f32>) -> &'v [f32] {
        out.resize(values.len(), 0.0);
        Self::widen(values, out);
        out
    }
}

impl StoredValue for f32 {
    #[inline(always)]
    fn widened(self) -> f32 {
        self
    }

    #[inline(always)]
    fn widen(values: &[Self], out: &mut [f32]) {
        out.copy_from_slice(values);
    }

    #[inline(always)]
    fn all_widened<'v>(values: &'v [Self], _: &'v mut Vec<f32>) -> &'v [f32] {
        values
    }
}

impl StoredValue for f16 {
    #[inline(always)]
    fn widened(self) -> f32 {
        self.to_f32()
    }

    #[inline(always)]
    fn widen(values: &[Self], out: &mut [f32]) {
        #[cfg(target_arch = "wasm32")]
        widen_by_integers(values, out);
        #[cfg(target_arch = "x86_64")]
        if x86::widen(values, out) {
            return;
        }
        #[cfg(not(target_arch = "wasm32"))]
        values.convert_to_f32_slice(out);
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn sums<const ROWS: usize>(x: [&[f32]; ROWS], weights: &[[f16; 32]]) -> Option<[[f32; 32]; ROWS]> {
        x86::sums(x, weights)
    }
}

/// Sixteen numbers by one instruction: the `half` library widens eight at a time, which takes longer than to multiply them.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{_mm512_cvtph_ps, _mm512_fmadd_ps, _mm512_set1_ps, _mm512_setzero_ps};

    use half::f16;
    use half::slice::HalfFloatSliceExt;
    use pulp::cast;

    /// Whether the processor could.
    #[expect(unsafe_code, reason = "the processor was asked for the instruction")]
    #[inline]
    pub fn widen(values: &[f16], out: &mut [f32]) -> bool {
        let has = is_x86_feature_detected!("avx512f");
        if has {
            // SAFETY: the processor has the instruction
            unsafe { sixteen(values, out) };
        }
        has
    }

    /// See [`StoredValue::sums`](super::StoredValue::sums).
    #[expect(unsafe_code, reason = "the processor was asked for the instructions")]
    #[inline]
    pub fn sums<const ROWS: usize>(x: [&[f32]; ROWS], weights: &[[f16; 32]]) -> Option<[[f32; 32]; ROWS]> {
        // SAFETY: the processor has the instructions
        is_x86_feature_detected!("avx512f").then(|| unsafe { sums_of_sixteen(x, weights) })
    }

    #[target_feature(enable = "avx512f")]
    fn sums_of_sixteen<const ROWS: usize>(x: [&[f32]; ROWS], weights: &[[f16; 32]]) -> [[f32; 32]; ROWS] {
        let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
        let x = x.map(|x| &x[..weights.len()]);
        for (k, weights) in weights.iter().enumerate() {
            let halves: [[u16; 16]; 2] = bytemuck::cast(*weights);
            let weights = [_mm512_cvtph_ps(cast(halves[0])), _mm512_cvtph_ps(cast(halves[1]))];
            for row in 0..ROWS {
                let x = _mm512_set1_ps(x[row][k]);
                sums[row] = [
                    _mm512_fmadd_ps(x, weights[0], sums[row][0]),
                    _mm512_fmadd_ps(x, weights[1], sums[row][1]),
                ];
            }
        }
        sums.map(|sums| bytemuck::cast::<[[f32; 16]; 2], _>(sums.map(cast)))
    }

    #[target_feature(enable = "avx512f")]
    fn sixteen(values: &[f16], out: &mut [f32]) {
        let (vectors, rest) = bytemuck::cast_slice::<f16, u16>(values).as_chunks::<16>();
        let (widened, tail) = out.as_chunks_mut::<16>();
        for (out, vector) in widened.iter_mut().zip(vectors) {
            *out = cast(_mm512_cvtph_ps(cast(*vector)));
        }
        values[values.len() - rest.len()..].convert_to_f32_slice(tail);
    }
}

/// Integer operations and one exact multiplication, which compilers vectorize for WebAssembly.
#[cfg(any(target_arch = "wasm32", test))]
#[inline(always)]
fn widen_by_integers(values: &[f16], out: &mut [f32]) {
    /// Difference of the exponents' biases, as a factor.
    const REBIAS: f32 = f32::from_bits((127 + 112) << 23);
    const INFINITY: u32 = 0x7c00 << 13;
    for (out, value) in out.iter_mut().zip(values) {
        let bits = u32::from(value.to_bits());
        let magnitude = (bits & 0x7fff) << 13;
        // infinities and NaN keep the largest exponent
        let beyond = if magnitude >= INFINITY { 0xff << 23 } else { 0 };
        let widened = (f32::from_bits(magnitude) * REBIAS).to_bits() | beyond;
        *out = f32::from_bits(widened | (bits & 0x8000) << 16);
    }
}

impl StoredValue for i8 {
    #[inline(always)]
    fn widened(self) -> f32 {
        f32::from(self)
    }

    #[inline(always)]
    fn widen(values: &[Self], out: &mut [f32]) {
        for (out, &value) in out.iter_mut().zip(values) {
            *out = f32::from(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_precision_number_is_widened_exactly() {
        let all: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
        for widen in [f16::widen, widen_by_integers] {
            let mut widened = vec![0.0; all.len()];
            widen(&all, &mut widened);
            for (value, widened) in all.iter().zip(&widened) {
                let want = value.to_f32();
                let same = want.to_bits() == widened.to_bits() || (want.is_nan() && widened.is_nan());
                assert!(same, "{:#06x}: {widened}, not {want}", value.to_bits());
            }
        }
    }
}
