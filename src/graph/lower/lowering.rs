//! The context of lowering: the target, and the launches so far.

use std::ops::Range;
use std::sync::Arc;

use super::launch::{Binding, Launch};
use crate::graph::values::{Columns, Home, Value, ValueInfo};
use crate::graph::weights::{Matrix, WeightPart, WeightTable};
use crate::kernels::{AdapterClass, ColumnLayout, Dispatch, Kernel, PassedOver, stride};
use crate::precision::WeightPrecision;
use crate::shape::{Dtype, Shape};

/// The device's properties that launches depend on.
#[derive(Clone, Debug)]
pub struct Target {
    /// Processor that runs the shaders.
    pub class: AdapterClass,
    /// Storage of matrices.
    pub precision: WeightPrecision,
    /// Kernels that the device does not get.
    pub passed_over: Arc<PassedOver>,
    /// Whether the device has [matrix units](crate::kernels::matrix_units).
    pub matrix_units: bool,
    pub(in crate::graph) parts: Vec<Vec<WeightPart>>,
}

impl Target {
    /// A target for the weights of `table`; a buffer has at most `max_storage_bytes`. No device is needed.
    pub fn new(
        class: AdapterClass,
        precision: WeightPrecision,
        table: &WeightTable,
        max_storage_bytes: u64,
    ) -> Self {
        let parts = table.entries().iter().map(|entry| entry.parts(precision, max_storage_bytes));
        Self { class, precision, passed_over: Arc::default(), matrix_units: false, parts: parts.collect() }
    }
}

/// The launches of a graph so far.
pub struct Lowering<'a> {
    target: &'a Target,
    /// Class of the operator's kernels.
    pub(super) class: AdapterClass,
    pub(super) place: Arc<str>,
    pub(super) values: Vec<ValueInfo>,
    pub(super) launches: Vec<Launch>,
}

impl<'a> Lowering<'a> {
    pub(super) fn new(target: &'a Target, values: Vec<ValueInfo>) -> Self {
        Self { target, class: target.class, place: Arc::default(), values, launches: Vec::new() }
    }

    /// Class of the operator's kernels: the device's, or the other one if its kernels are passed over.
    pub fn class(&self) -> AdapterClass {
        self.class
    }

    /// Storage of matrices.
    pub fn precision(&self) -> WeightPrecision {
        self.target.precision
    }

    /// Whether the device has matrix units, and gets all of these kernels for them. A browser offers none, and a page goes without
    /// their text.
    pub fn has_units_for(&self, kernels: &[&'static Kernel]) -> bool {
        cfg!(not(target_arch = "wasm32"))
            && self.target.matrix_units
            && self.class == AdapterClass::Hardware
            && self.target.passed_over.flaws(kernels.iter().copied()).are_none()
    }

    /// The shape of a value.
    pub fn shape(&self, value: Value) -> Shape {
        self.values[value.0].shape
    }

    /// The layout of columns of a value.
    pub fn layout(&self, columns: Columns) -> ColumnLayout {
        ColumnLayout { stride: stride(self.shape(columns.value).width), first: columns.first }
    }

    /// The buffers of a matrix with the outputs in each: several if one would be too large.
    pub fn parts(&self, matrix: Matrix) -> impl Iterator<Item = (Range<usize>, Binding)> + use<'a> {
        let parts = self.target.parts[matrix.index].iter().enumerate();
        parts.map(move |(part, about)| (about.outputs.clone(), Binding::Weight { index: matrix.index, part }))
    }

    /// Adds scratch memory for the launches of this operator.
    pub fn scratch(&mut self, shape: Shape, dtype: Dtype) -> Value {
        self.values.push(ValueInfo { shape, dtype, home: Home::Planned });
        Value(self.values.len() - 1)
    }

    /// Appends a launch. Panics if the number of bindings is not the kernel's.
    pub fn launch(&mut self, dispatch: Dispatch, bindings: Vec<Binding>) {
        assert_eq!(bindings.len(), dispatch.kernel.storage.len(), "bindings of {}", dispatch.kernel.name);
        self.launches.push(Launch { place: self.place.clone(), dispatch, bindings });
    }

    /// Appends launches; panics as [`launch`](Self::launch).
    pub fn launch_all(&mut self, launches: Vec<(Dispatch, Vec<Binding>)>) {
        launches.into_iter().for_each(|(dispatch, bindings)| self.launch(dispatch, bindings));
    }
}
