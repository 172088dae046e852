//! Numbers of the studies: moments, entropy, rank correlation, least squares.

use nalgebra::DMatrix;

/// Mean and variance, with n in the denominator.
pub fn moments(values: impl Iterator<Item = f64> + Clone) -> [f64; 2] {
    let (count, sum) = values.clone().fold((0usize, 0.0), |(count, sum), value| (count + 1, sum + value));
    let mean = sum / count.max(1) as f64;
    let squares: f64 = values.map(|value| (value - mean).powi(2)).sum();
    [mean, squares / count.max(1) as f64]
}

/// Softmax of scores.
pub fn softmax(scores: &[f64]) -> Vec<f64> {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

/// Entropy of a distribution, nats.
pub fn entropy(distribution: &[f64]) -> f64 {
    distribution.iter().filter(|&&p| p > 0.0).map(|p| -p * p.ln()).sum()
}

/// Ranks from 1, equal values share their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    for group in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let before = order.iter().position(|index| *index == group[0]).unwrap_or_default();
        group.iter().for_each(|&index| ranks[index] = before as f64 + (group.len() + 1) as f64 / 2.0);
    }
    ranks
}

/// Pearson's correlation. `None` if one side does not vary, or with fewer than two values.
pub fn pearson(a: &[f64], b: &[f64]) -> Option<f64> {
    assert_eq!(a.len(), b.len(), "both sides have a value for each item");
    let ([mean_a, variance_a], [mean_b, variance_b]) =
        (moments(a.iter().copied()), moments(b.iter().copied()));
    let product: f64 = a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum();
    let scale = (variance_a * variance_b).sqrt() * a.len() as f64;
    (a.len() > 1 && scale > 0.0).then(|| product / scale)
}

/// Spearman's rank correlation, with mean ranks for equal values. `None` as in [`pearson`].
pub fn spearman(a: &[f64], b: &[f64]) -> Option<f64> {
    pearson(&ranks(a), &ranks(b))
}

/// A linear map with an intercept by ridge regression: least squares with the penalty `ridge · ‖weights‖²`.
pub struct Regression {
    weights: DMatrix<f64>,
    means: [DMatrix<f64>; 2],
}

impl Regression {
    /// Fits `y ≈ x · weights + intercept`; `x` is `[items, inputs]`, `y` is `[items, outputs]`. The intercept has no penalty.
    /// `None` if the equations have no unique solution.
    pub fn fit(x: &DMatrix<f64>, y: &DMatrix<f64>, ridge: f64) -> Option<Self> {
        let means = [x, y].map(|side| DMatrix::from_rows(&[side.row_mean()]));
        let [x, y] = [(x, &means[0]), (y, &means[1])].map(|(side, mean)| centred(side, mean));
        let mut normal = x.tr_mul(&x);
        for index in 0..normal.nrows() {
            normal[(index, index)] += ridge;
        }
        let weights = normal.cholesky()?.solve(&x.tr_mul(&y));
        Some(Self { weights, means })
    }

    pub fn predict(&self, x: &DMatrix<f64>) -> DMatrix<f64> {
        let mut y = centred(x, &self.means[0]) * &self.weights;
        y.row_iter_mut().for_each(|mut row| row += self.means[1].row(0));
        y
    }

    /// Share of the variance of `y` that the prediction explains: R² over all outputs together, as scikit-learn's
    /// `r2_score(multioutput="variance_weighted")`.
    pub fn explained(&self, x: &DMatrix<f64>, y: &DMatrix<f64>) -> f64 {
        let mean = DMatrix::from_rows(&[y.row_mean()]);
        1.0 - (y - self.predict(x)).norm_squared() / centred(y, &mean).norm_squared()
    }
}

fn centred(matrix: &DMatrix<f64>, mean: &DMatrix<f64>) -> DMatrix<f64> {
    let mut result = matrix.clone();
    result.row_iter_mut().for_each(|mut row| row -= mean.row(0));
    result
}

/// Normal numbers that follow from a seed: SplitMix64 and Box–Muller.
pub struct Normal(u64);

impl Normal {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform in (0, 1].
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + f64::EPSILON / 4.0
    }

    pub fn next(&mut self) -> f64 {
        let (radius, angle) = ((-2.0 * self.uniform().ln()).sqrt(), std::f64::consts::TAU * self.uniform());
        radius * angle.cos()
    }

    pub fn matrix(&mut self, rows: usize, columns: usize) -> DMatrix<f64> {
        DMatrix::from_fn(rows, columns, |_, _| self.next())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use wordloom::trace::spectrum::Spectrum;

    use super::*;

    /// Made by `tests/data/make_studies.py` with NumPy, SciPy and scikit-learn.
    fn expected() -> Value {
        serde_json::from_str(include_str!("../../../../tests/data/studies.json")).unwrap()
    }

    fn numbers(value: &Value) -> Vec<f64> {
        value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    }

    fn matrix(value: &Value) -> DMatrix<f64> {
        let size = |name: &str| value[name].as_u64().unwrap() as usize;
        DMatrix::from_row_slice(size("rows"), size("columns"), &numbers(&value["values"]))
    }

    #[track_caller]
    fn near(got: &[f64], expected: &[f64], tolerance: f64) {
        assert_eq!(got.len(), expected.len());
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() <= tolerance, "{got}, not {expected}");
        }
    }

    #[test]
    fn spectra_are_numpy_s() {
        for one in expected()["spectra"].as_array().unwrap() {
            let spectrum = Spectrum::of_matrix(matrix(&one["matrix"]));
            near(&spectrum.values, &numbers(&one["singular_values"]), 1e-6);
            near(&spectrum.cumulative(), &numbers(&one["cumulative"]), 1e-6);
            near(&spectrum.cumulative_values(), &numbers(&one["cumulative_values"]), 1e-6);
            assert_eq!(spectrum.components_for_most() as u64, one["components"].as_u64().unwrap());
        }
        let nothing = Spectrum::of_matrix(DMatrix::zeros(3, 2));
        assert_eq!((nothing.components(0.9), nothing.cumulative().len()), (0, 0));
        assert_eq!(Spectrum::of_matrix(DMatrix::zeros(0, 2)), Spectrum::default());
    }

    #[test]
    fn rank_correlation_and_entropy_are_scipy_s() {
        let expected = expected();
        for one in expected["correlations"].as_array().unwrap() {
            let got = spearman(&numbers(&one["a"]), &numbers(&one["b"])).unwrap();
            near(&[got], &[one["spearman"].as_f64().unwrap()], 1e-12);
        }
        assert_eq!(spearman(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]), None);
        let Value::Object(of) = &expected["entropy"] else { unreachable!("an object") };
        near(&[entropy(&numbers(&of["distribution"]))], &[of["nats"].as_f64().unwrap()], 1e-12);
    }

    #[test]
    fn ridge_regression_is_scikit_learn_s() {
        for one in expected()["regressions"].as_array().unwrap() {
            let [x, y, other_x, other_y, predicted] =
                ["x", "y", "other_x", "other_y", "predicted"].map(|name| matrix(&one[name]));
            let fitted = Regression::fit(&x, &y, one["ridge"].as_f64().unwrap()).unwrap();
            near(fitted.predict(&other_x).as_slice(), predicted.as_slice(), 1e-9);
            near(&[fitted.explained(&x, &y)], &[one["explained"].as_f64().unwrap()], 1e-9);
            near(&[fitted.explained(&other_x, &other_y)], &[one["explained_other"].as_f64().unwrap()], 1e-9);
        }
    }

    #[test]
    fn normal_numbers_have_mean_0_and_variance_1() {
        let mut normal = Normal::new(1);
        let values: Vec<f64> = (0..20_000).map(|_| normal.next()).collect();
        let [mean, variance] = moments(values.iter().copied());
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }
}
