//! Batch norm: the statistics of columns, the norm, and its gradients. One invocation walks down a column or computes one
//! element, because miniatures are small and a training on a GPU spends its time in products.

use super::{Access, Dispatch, Kernel, fold, stride};

/// One invocation per element.
pub static BATCH_NORM: Kernel = Kernel {
    name: "batch_norm",
    wgsl: wgsl!("batch_norm" + "batch_norm" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Write],
    params: BatchNormParams::FIELDS,
};

/// One invocation per column.
pub static BATCH_STATISTICS: Kernel = Kernel {
    name: "batch_statistics",
    wgsl: wgsl!("batch_statistics" + "batch_norm" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Write, Access::Write],
    params: BatchNormParams::FIELDS,
};

/// One invocation per column.
pub static BATCH_NORM_SUMS: Kernel = Kernel {
    name: "batch_norm_sums",
    wgsl: wgsl!("batch_norm_sums" + "batch_norm" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Write, Access::Write],
    params: BatchNormParams::FIELDS,
};

/// One invocation per element.
pub static BATCH_NORM_GRADIENT: Kernel = Kernel {
    name: "batch_norm_gradient",
    wgsl: wgsl!("batch_norm_gradient" + "batch_norm" + "grid"),
    storage: &[
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Write,
    ],
    params: BatchNormParams::FIELDS,
};

params! {
    /// Group 1 of all four kernels.
    pub struct BatchNormParams {
        /// Rows of x.
        pub rows: u32,
        /// Columns of x, without padding.
        pub width: u32,
        /// Number added to the variance.
        pub epsilon: f32,
        /// Share of a batch in the new running statistics.
        pub momentum: f32,
    }
}

/// Shape and constants of a batch norm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchNormShape {
    /// Rows of x.
    pub rows: usize,
    /// Columns of x.
    pub width: usize,
    /// Number added to the variance.
    pub epsilon: f32,
    /// Share of a batch in the new running statistics.
    pub momentum: f32,
}

impl BatchNormShape {
    fn params(&self) -> BatchNormParams {
        let Self { rows, width, epsilon, momentum } = *self;
        BatchNormParams { rows: rows as u32, width: width as u32, epsilon, momentum }
    }

    fn per_column(&self) -> [u32; 3] {
        fold(stride(self.width), 64)
    }

    fn per_element(&self) -> [u32; 3] {
        fold(self.rows * stride(self.width), 64)
    }
}

/// The norm with given statistics.
///
/// * storage: x `[rows, width]`, statistics `[2 * width]`: means, then variances, γ, β `[width]`, y `[rows, width]`
pub fn dispatch(shape: &BatchNormShape) -> Dispatch {
    Dispatch::new(&BATCH_NORM, Vec::new(), &shape.params(), shape.per_element())
}

/// The statistics of a batch; the running ones move towards them.
///
/// * storage: x `[rows, width]`, ranges u32 `[rows, 2]`: the sentence of each row, running, statistics `[2 * width]`
pub fn statistics_dispatch(shape: &BatchNormShape) -> Dispatch {
    Dispatch::new(&BATCH_STATISTICS, Vec::new(), &shape.params(), shape.per_column())
}

/// Sums for the gradients.
///
/// * storage: x, ranges, statistics, dy `[rows, width]`, means `[2 * width]`: of dy and of dy · n, γ gradient `[width]`
pub fn sums_dispatch(shape: &BatchNormShape) -> Dispatch {
    Dispatch::new(&BATCH_NORM_SUMS, Vec::new(), &shape.params(), shape.per_column())
}

/// The gradient of x. The means are those that [`sums_dispatch`] wrote.
///
/// * storage: x, ranges, statistics, γ, dy, means, dx `[rows, width]`
pub fn gradient_dispatch(shape: &BatchNormShape) -> Dispatch {
    Dispatch::new(&BATCH_NORM_GRADIENT, Vec::new(), &shape.params(), shape.per_element())
}
