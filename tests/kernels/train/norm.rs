//! The gradients of layer norm and RMS norm.

use wordloom::kernels::layer_norm::LayerNormShape;
use wordloom::kernels::layer_norm_gradient::{dispatch, weight_dispatch};
use wordloom::kernels::shares::Shares;
use wordloom::kernels::stride;

use super::linear::add_shares;
use super::{TOLERANCE, assert_near, run_twice};
use crate::common::{device_test, gpu};
use crate::{UNTOUCHED, pad, random, unpad, upload};

struct Case {
    shape: LayerNormShape,
    x: Vec<f32>,
    residual: Vec<f32>,
    gamma: Vec<f32>,
    dy: Vec<f32>,
}

/// The gradients in f64: of z, and of γ; and the mean and 1 / σ of each row.
struct Exact {
    dz: Vec<f64>,
    gamma: Vec<f64>,
    statistics: Vec<f64>,
}

impl Case {
    fn random(shape: LayerNormShape) -> Self {
        let LayerNormShape { rows, width, .. } = shape;
        // γ around 1, rows that are not centered
        let shifted = |values: Vec<f32>| values.into_iter().map(|value| value + 0.5).collect();
        let [x, residual] = [1, 2].map(|seed| shifted(random(seed, rows * width)));
        Self { shape, x, residual, gamma: shifted(random(3, width)), dy: random(4, rows * width) }
    }

    fn exact(&self) -> Exact {
        let LayerNormShape { rows, width, epsilon, residual, centered } = self.shape;
        let mut exact = Exact { dz: vec![], gamma: vec![0.0; width], statistics: vec![] };
        for row in 0..rows {
            let at = |column: usize| row * width + column;
            let z = |column: usize| {
                let added = if residual { f64::from(self.residual[at(column)]) } else { 0.0 };
                f64::from(self.x[at(column)]) + added
            };
            let average =
                |of: &dyn Fn(usize) -> f64| -> f64 { (0..width).map(of).sum::<f64>() / width as f64 };
            let mean = if centered { average(&z) } else { 0.0 };
            let factor = 1.0 / (average(&|c| (z(c) - mean).powi(2)) + f64::from(epsilon)).sqrt();
            let normalized = |c: usize| (z(c) - mean) * factor;
            let g = |c: usize| f64::from(self.dy[at(c)]) * f64::from(self.gamma[c]);
            let g_mean = if centered { average(&g) } else { 0.0 };
            let slope = average(&|c| g(c) * normalized(c));
            exact.dz.extend((0..width).map(|c| factor * (g(c) - g_mean - normalized(c) * slope)));
            for column in 0..width {
                exact.gamma[column] += f64::from(self.dy[at(column)]) * normalized(column);
            }
            exact.statistics.extend([mean, factor]);
        }
        exact
    }
}

#[device_test]
async fn norms_have_the_gradients_of_the_formulas() {
    let gpu = gpu().await;
    for (rows, width) in [(1, 1), (1, 5), (3, 64), (65, 63), (300, 17), (20, 257), (4, 1024)] {
        for (residual, centered, earlier) in
            [(false, true, false), (true, true, true), (false, false, true), (true, false, false)]
        {
            let shape = LayerNormShape { rows, width, epsilon: 1e-5, residual, centered };
            let case = Case::random(shape);
            let exact = case.exact();
            let what = format!("{shape:?}, earlier: {earlier}");
            let rows_of = |data: &[f32]| upload(&gpu, &pad(data, width, 7.0));
            let [x, residual, dy] = [&case.x, &case.residual, &case.dy].map(|data| rows_of(data));
            let gamma = upload(&gpu, &pad(&case.gamma, width, 0.0));
            let addend = random(5, rows * width);
            let outputs = [vec![UNTOUCHED; rows * stride(width)], vec![UNTOUCHED; 4 * rows]];
            let inputs = [&x, &residual, &dy, &gamma, &rows_of(&addend)];
            let got = run_twice(&gpu, &dispatch(&shape, earlier), &inputs, &outputs).await;
            let statistics = unpad(&what, &got[1], rows, 2);
            assert_near(&what, &statistics, &exact.statistics, TOLERANCE);
            // without the addend, and with a width of 1, dz is nothing but rounding
            let added = |(i, dz): (usize, &f64)| dz + if earlier { f64::from(addend[i]) } else { 0.0 };
            let want: Vec<f64> = exact.dz.iter().enumerate().map(added).collect();
            if width > 1 {
                assert_near(&what, &unpad(&what, &got[0], rows, width), &want, TOLERANCE);
            }
            let before = random(6, width);
            let statistics = upload(&gpu, &got[1]);
            let inputs = [&x, &residual, &dy, &statistics];
            let want: Vec<f64> = exact.gamma.iter().zip(&before).map(|(g, &b)| g + f64::from(b)).collect();
            for shares in [1, 3].map(|count| Shares::new(rows, count)) {
                let launch = (&weight_dispatch(&shape, shares), shares);
                let got = add_shares(&gpu, launch, &inputs, pad(&before, width, 0.0)).await;
                let what = format!("{what}, {shares:?}");
                assert_near(&what, &unpad(&what, &got, 1, width), &want, TOLERANCE);
            }
        }
    }
}
