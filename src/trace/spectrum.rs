//! Singular values of a matrix: how many components hold its variance.

use crate::sorting;
use nalgebra::DMatrix;

use super::Map;

/// Share of the variance that [`Spectrum::components_for_most`] asks for.
pub const MOST: f64 = 0.9;

/// The singular values of a matrix.
///
/// Their squares are the variance of its components, without subtracting the mean. A count of the values above rounding, as in
/// NumPy's `matrix_rank`, says little about attention: it is nearly always the largest possible one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spectrum {
    /// Singular values, largest first; as many as the shorter side of the matrix.
    pub values: Vec<f64>,
}

impl Spectrum {
    /// Decomposes a matrix. An empty one has no values.
    pub fn of_matrix(matrix: DMatrix<f64>) -> Self {
        if matrix.is_empty() {
            return Self::default();
        }
        // nalgebra does not sort those of `singular_values`
        let mut values: Vec<f64> = matrix.singular_values().iter().copied().collect();
        sorting::sort_by(&mut values, |a, b| b.total_cmp(a));
        Self { values }
    }

    /// Decomposes a map.
    pub fn of(map: Map<'_>) -> Self {
        let weights = map.weights.iter().map(|&weight| f64::from(weight));
        Self::of_matrix(DMatrix::from_row_iterator(map.queries, map.keys, weights))
    }

    /// Share of the variance that the first 1, 2, 3, … components hold, 0 to 1. A matrix of zeros has none.
    pub fn cumulative(&self) -> Vec<f64> {
        shares(self.values.iter().map(|value| value * value))
    }

    /// As [`cumulative`](Self::cumulative), of the singular values themselves. Wang et al. 2020, "Linformer", figure 1.
    pub fn cumulative_values(&self) -> Vec<f64> {
        shares(self.values.iter().copied())
    }

    /// Smallest number of components that together hold a share of the variance.
    pub fn components(&self, share: f64) -> usize {
        let cumulative = self.cumulative();
        match cumulative.iter().position(|&held| held >= share - 1e-12) {
            Some(place) => place + 1,
            None => cumulative.len(),
        }
    }

    /// [`components`](Self::components) for [`MOST`] of the variance.
    pub fn components_for_most(&self) -> usize {
        self.components(MOST)
    }
}

fn shares(values: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let all: f64 = values.clone().sum();
    if all <= 0.0 {
        return Vec::new();
    }
    let mut sum = 0.0;
    values
        .map(|value| {
            sum += value;
            sum / all
        })
        .collect()
}
