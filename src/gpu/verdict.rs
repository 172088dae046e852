//! The result of a device's check that later runs need.

use std::sync::Arc;

use crate::kernels::PassedOver;

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
    /// Kernels that the device gets no more.
    pub passed_over: Arc<PassedOver>,
}
