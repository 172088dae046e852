//! A few rows of f32 with row-major f32 weights, which a training changes.

use pulp::{Arch, Simd, WithSimd};

use super::few_rows::{Multiplier, Piece};
use super::vector;

#[derive(Clone, Copy)]
struct Floats<S>(S);

impl<S: Simd> Multiplier for Floats<S> {
    type X = f32;
    type W = f32;
    const MANY_REGISTERS: bool = S::F32_LANES == 16;

    #[inline(always)]
    fn inner_products<const ROWS: usize, const OUTPUTS: usize>(
        self,
        x: [&[f32]; ROWS],
        w: [&[f32]; OUTPUTS],
    ) -> [[f32; OUTPUTS]; ROWS] {
        vector::inner_products(self.0, x, w)
    }
}

impl Piece<'_, f32, f32> {
    pub fn multiply_floats(self) {
        Arch::new().dispatch(self);
    }
}

impl WithSimd for Piece<'_, f32, f32> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.multiply(Floats(simd));
    }
}
