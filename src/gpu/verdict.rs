//! The result of a device's check that later runs need.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::kernels::PassedOver;
use crate::precision::WeightPrecision;

/// How much of a device was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// Nothing.
    #[default]
    Nothing,
    /// A few shapes of the kernels that every translation needs.
    Quick,
    /// Every kernel, and a model.
    Full,
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// How much was checked.
    pub extent: Extent,
    /// The storage of matrices whose kernels a quick check asked. A full one asks all.
    pub precisions: BTreeSet<WeightPrecision>,
    /// Kernels that the device gets no more.
    pub passed_over: Arc<PassedOver>,
}

impl Verdict {
    /// Whether the kernels for matrices of a precision were asked, and those without matrices.
    pub fn covers(&self, precision: WeightPrecision) -> bool {
        self.extent == Extent::Full || self.precisions.contains(&precision)
    }
}
