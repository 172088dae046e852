//! The weights of a model: their table, and their storage on a device.

use std::ops::Range;

use super::error::UnstorableWeight;
use crate::cpu::{Memory, StoredMatrix, WeightMatrix};
use crate::device::Device;
use crate::gpu::{Buffer, GpuError};
use crate::kernels::{PANEL, panels, stride};
use crate::precision::{InputRounding, PrecisionChoice, WeightPrecision};
use crate::shape::Shape;

/// A matrix `[outputs, inputs]` of a linear layer, or an embedding table `[vocabulary, d_model]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Matrix {
    pub(crate) index: usize,
    /// Rows in the file: output features, or tokens.
    pub outputs: usize,
    /// Columns in the file: input features, or `d_model`.
    pub inputs: usize,
}

/// A vector: bias, scale of a norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Vector {
    pub(crate) index: usize,
    /// Number of elements.
    pub length: usize,
}

/// A table that is read by row: positions, biases by distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rows {
    pub(crate) index: usize,
    /// Number of rows.
    pub rows: usize,
    /// Elements in a row.
    pub width: usize,
}

/// Use of a weight, which decides its layout on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightKind {
    /// See [`Matrix`]; panels of [`PANEL`] outputs on a GPU.
    Matrix,
    /// See [`Vector`].
    Vector,
    /// See [`Rows`].
    Rows,
}

/// An entry of a [`WeightTable`].
#[derive(Clone, Debug)]
pub struct WeightEntry {
    /// Name in labels and messages, e.g. `decoder.0.self.qkv.weight`.
    pub name: String,
    /// Layout.
    pub kind: WeightKind,
    /// Rows in the source; 1 for a vector.
    pub rows: usize,
    /// Columns in the source.
    pub width: usize,
}

/// The weights of a model, without values.
#[derive(Clone, Debug, Default)]
pub struct WeightTable {
    entries: Vec<WeightEntry>,
}

impl WeightTable {
    /// Adds a matrix.
    pub fn matrix(&mut self, name: impl Into<String>, outputs: usize, inputs: usize) -> Matrix {
        Matrix { index: self.add(name.into(), WeightKind::Matrix, outputs, inputs), outputs, inputs }
    }

    /// Adds a vector.
    pub fn vector(&mut self, name: impl Into<String>, length: usize) -> Vector {
        Vector { index: self.add(name.into(), WeightKind::Vector, 1, length), length }
    }

    /// Adds a table of rows.
    pub fn rows(&mut self, name: impl Into<String>, rows: usize, width: usize) -> Rows {
        Rows { index: self.add(name.into(), WeightKind::Rows, rows, width), rows, width }
    }

    /// Entries in the order of addition.
    pub fn entries(&self) -> &[WeightEntry] {
        &self.entries
    }

    /// Name of a matrix.
    pub fn name(&self, matrix: Matrix) -> &str {
        &self.entries[matrix.index].name
    }

    /// Elements of all weights.
    pub fn elements(&self) -> usize {
        self.entries.iter().map(|entry| entry.rows * entry.width).sum()
    }

    /// Bytes of all weights: matrices in `precision`, all else in f32.
    pub fn bytes(&self, precision: WeightPrecision) -> u64 {
        let bytes = self.entries.iter().map(|entry| match entry.kind {
            WeightKind::Matrix => precision.matrix_bytes(entry.rows, entry.width),
            WeightKind::Vector | WeightKind::Rows => 4 * (entry.rows * entry.width) as u64,
        });
        bytes.sum()
    }

    fn add(&mut self, name: String, kind: WeightKind, rows: usize, width: usize) -> usize {
        self.entries.push(WeightEntry { name, kind, rows, width });
        self.entries.len() - 1
    }
}

/// A source of weights. It reads rows of one entry at a time, so that no file is held whole.
pub trait WeightSource {
    /// Error of a read.
    type Error: From<GpuError> + From<UnstorableWeight>;

    /// Reads rows of the table's entry `index` into `out`, `[rows.len(), width]`.
    fn read_rows(&mut self, index: usize, rows: Range<usize>, out: &mut [f32]) -> Result<(), Self::Error>;

    /// Factors from the inputs of a matrix to whole numbers from -127 to 127, if the source has them: for each of its
    /// parts the number of outputs, and the factor. A [`WeightPrecision::Q8`] product on the CPU then rounds its inputs
    /// so.
    fn read_input_multipliers(&mut self, _index: usize) -> Result<Vec<(usize, f32)>, Self::Error> {
        Ok(Vec::new())
    }

    /// The scales of a matrix's rows, if the source stores it in 8 bits: a [`WeightPrecision::Q8`] device then stores
    /// the same whole numbers.
    fn read_scales(&mut self, _index: usize, _rows: Range<usize>) -> Result<Option<Vec<f32>>, Self::Error> {
        Ok(None)
    }
}

#[derive(Clone, Debug)]
pub(super) struct WeightPart {
    /// Outputs of a matrix in this buffer; else all rows.
    pub outputs: Range<usize>,
    /// Elements of 4 bytes.
    pub elements: usize,
}

impl WeightEntry {
    /// The buffers of the weight: several if a buffer for a matrix would exceed `max_bytes`.
    pub(super) fn parts(&self, precision: WeightPrecision, max_bytes: u64) -> Vec<WeightPart> {
        let &Self { rows, width, .. } = self;
        if self.kind != WeightKind::Matrix {
            return vec![WeightPart { outputs: 0..rows, elements: rows * stride(width) }];
        }
        let panel_bytes = panels::panel_words(width, precision) as u64 * 4;
        let outputs_per_part = (max_bytes / panel_bytes).max(1) as usize * PANEL;
        (0..rows)
            .step_by(outputs_per_part)
            .map(|first| {
                let outputs = first..rows.min(first + outputs_per_part);
                let elements = panels::packed_words(outputs.len(), width, precision);
                WeightPart { outputs, elements }
            })
            .collect()
    }
}

impl WeightEntry {
    /// The shape of a state that holds values in the layout of the weight, on any device.
    pub fn layout_shape(&self) -> Shape {
        match self.kind {
            WeightKind::Matrix => {
                Shape::new(panels::packed_words(self.rows, self.width, WeightPrecision::F32) / PANEL, PANEL)
            }
            WeightKind::Vector | WeightKind::Rows => Shape::new(self.rows, self.width),
        }
    }

    /// Row-major values, from those of a state of [`layout_shape`](Self::layout_shape).
    pub fn row_major_of(&self, stored: &[f32], on_gpu: bool) -> Vec<f32> {
        match (self.kind, on_gpu) {
            (WeightKind::Matrix, true) => panels::unpack(stored, self.rows, self.width),
            _ => stored[..self.rows * self.width].to_vec(),
        }
    }

    /// The values of a state of [`layout_shape`](Self::layout_shape), from row-major values.
    pub fn in_layout(&self, values: &[f32], on_gpu: bool) -> Vec<f32> {
        match (self.kind, on_gpu) {
            (WeightKind::Matrix, true) => {
                let packed = panels::pack(values, self.rows, self.width, WeightPrecision::F32);
                packed.into_iter().map(f32::from_bits).collect()
            }
            _ => {
                let mut stored = values.to_vec();
                stored.resize(self.layout_shape().elements(), 0.0);
                stored
            }
        }
    }

    /// Row-major values, from the layout of `rows` rows on a GPU.
    fn unpacked(&self, stored: &[f32], rows: usize) -> Vec<f32> {
        match self.kind {
            WeightKind::Matrix => panels::unpack(stored, rows, self.width),
            WeightKind::Vector | WeightKind::Rows => stored
                .chunks(stride(self.width))
                .take(rows)
                .flat_map(|row| &row[..self.width])
                .copied()
                .collect(),
        }
    }
}

pub(super) struct GpuPart {
    pub about: WeightPart,
    pub buffer: Buffer,
}

pub(super) enum Storage {
    /// In the layouts of [`StoredMatrix`].
    Cpu(Vec<StoredMatrix>),
    /// Parts of each entry; vectors and rows have one part.
    Gpu(Vec<Vec<GpuPart>>),
}

/// The weights of a model on a device.
pub struct Weights {
    pub(super) storage: Storage,
    precision: WeightPrecision,
    rounding: InputRounding,
    bytes: u64,
}

impl Weights {
    /// Allocates zeros for the weights of a table, for an [`Upload`](super::Upload) to fill. Matrices are stored in
    /// `precision`, all else in f32.
    /// Returns [`GpuError`] if the device or the host is out of memory.
    pub fn allocate(
        device: &Device,
        table: &WeightTable,
        precision: WeightPrecision,
    ) -> Result<Self, GpuError> {
        Self::allocate_in(device, table, precision, |entry| match (entry.kind, precision) {
            (WeightKind::Matrix, WeightPrecision::F32) => StoredMatrix::panels(entry.rows, entry.width),
            (WeightKind::Matrix, _) => StoredMatrix::zeros(entry.rows, entry.width, precision),
            (WeightKind::Vector | WeightKind::Rows, _) => {
                StoredMatrix::zeros(entry.rows, entry.width, WeightPrecision::F32)
            }
        })
    }

    /// As [`allocate`](Self::allocate), for weights that a training changes: all in f32, on the CPU row-major.
    pub fn allocate_to_train(device: &Device, table: &WeightTable) -> Result<Self, GpuError> {
        let precision = WeightPrecision::F32;
        Self::allocate_in(device, table, precision, |entry| {
            StoredMatrix::zeros(entry.rows, entry.width, precision)
        })
    }

    /// `on_cpu`: memory of an entry on the CPU; `None` if there is none.
    fn allocate_in(
        device: &Device,
        table: &WeightTable,
        precision: WeightPrecision,
        on_cpu: impl Fn(&WeightEntry) -> Option<StoredMatrix>,
    ) -> Result<Self, GpuError> {
        let mut bytes = 0;
        let storage = match device {
            Device::Cpu => {
                let tensors = table
                    .entries
                    .iter()
                    .map(|entry| on_cpu(entry).ok_or(GpuError::HostMemory { bytes: table.bytes(precision) }));
                bytes = table.bytes(precision);
                Storage::Cpu(tensors.collect::<Result<_, _>>()?)
            }
            Device::Gpu(gpu) => {
                let tensors = table.entries.iter().map(|entry| {
                    let parts = entry.parts(precision, gpu.max_storage_bytes()).into_iter().map(|about| {
                        let buffer = gpu.buffer(&entry.name, about.elements)?;
                        bytes += buffer.bytes();
                        Ok(GpuPart { about, buffer })
                    });
                    parts.collect()
                });
                Storage::Gpu(tensors.collect::<Result<_, GpuError>>()?)
            }
        };
        Ok(Self { storage, precision, rounding: InputRounding::default(), bytes })
    }

    /// Sets how inputs of [`WeightPrecision::Q8`] matrices are rounded. On the CPU only.
    #[must_use]
    pub fn with_input_rounding(mut self, rounding: InputRounding) -> Self {
        self.rounding = rounding;
        self.storage = match self.storage {
            Storage::Cpu(tensors) => {
                Storage::Cpu(tensors.into_iter().map(|stored| stored.with_input_rounding(rounding)).collect())
            }
            on_gpu @ Storage::Gpu(_) => on_gpu,
        };
        self
    }

    /// The choice that stores matrices as they are.
    pub fn stored_as(&self) -> PrecisionChoice {
        match self.rounding {
            InputRounding::SixteenBits => PrecisionChoice::Is(self.precision),
            InputRounding::EightBits => PrecisionChoice::W8A8,
        }
    }

    /// Storage of matrices.
    pub fn precision(&self) -> WeightPrecision {
        self.precision
    }

    /// Device memory of the weights, bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Stored bytes of a matrix.
    pub fn matrix_bytes(&self, matrix: Matrix) -> u64 {
        self.entry_bytes(matrix.index)
    }

    /// Stored bytes of a vector.
    pub fn vector_bytes(&self, vector: Vector) -> u64 {
        self.entry_bytes(vector.index)
    }

    fn entry_bytes(&self, index: usize) -> u64 {
        match &self.storage {
            Storage::Cpu(tensors) => tensors[index].bytes(),
            Storage::Gpu(tensors) => tensors[index].iter().map(|part| part.buffer.bytes()).sum(),
        }
    }

    pub(super) fn cpu_matrix(&self, index: usize) -> WeightMatrix<'_> {
        match &self.storage {
            Storage::Cpu(tensors) => tensors[index].view(),
            Storage::Gpu(_) => unreachable!("a session runs on the device that holds its weights"),
        }
    }

    /// The values of a vector or a table of rows.
    pub(super) fn cpu(&self, index: usize) -> &[f32] {
        match self.cpu_matrix(index) {
            WeightMatrix::F32(values) => values,
            _ => unreachable!("only matrices are stored in another way"),
        }
    }

    /// The values of a weight that is stored in f32.
    pub(super) fn cpu_mut(&mut self, index: usize) -> &mut Memory<f32> {
        match &mut self.storage {
            Storage::Cpu(tensors) => match &mut tensors[index] {
                StoredMatrix::F32(values) => values,
                _ => unreachable!("training stores weights in f32"),
            },
            Storage::Gpu(_) => unreachable!("a session runs on the device that holds its weights"),
        }
    }

    /// Reads a weight's values, row-major. Training stores them in f32.
    pub async fn read(
        &self,
        table: &WeightTable,
        index: usize,
        device: &Device,
    ) -> Result<Vec<f32>, GpuError> {
        let entry = &table.entries()[index];
        match (&self.storage, device) {
            (Storage::Gpu(tensors), Device::Gpu(gpu)) => {
                let mut values = Vec::with_capacity(entry.rows * entry.width);
                for part in &tensors[index] {
                    let stored: Vec<f32> = gpu.read(&part.buffer).await?;
                    values.extend(entry.unpacked(&stored, part.about.outputs.len()));
                }
                Ok(values)
            }
            _ => Ok(self.cpu(index).to_vec()),
        }
    }

    pub(super) fn gpu_parts(&self, index: usize) -> &[GpuPart] {
        match &self.storage {
            Storage::Gpu(tensors) => &tensors[index],
            Storage::Cpu(_) => unreachable!("a session runs on the device that holds its weights"),
        }
    }

    pub(super) fn parts(&self) -> Vec<Vec<WeightPart>> {
        match &self.storage {
            Storage::Gpu(tensors) => {
                tensors.iter().map(|parts| parts.iter().map(|part| part.about.clone()).collect()).collect()
            }
            Storage::Cpu(_) => unreachable!("a session runs on the device that holds its weights"),
        }
    }
}

/// `[rows, width]` → `[rows, stride(width)]`, zeros in the padding.
pub(super) fn pad_rows(data: &[f32], width: usize) -> Vec<f32> {
    let padded = stride(width);
    if padded == width {
        return data.to_vec();
    }
    let mut out = vec![0.0; data.len() / width * padded];
    for (to, from) in out.chunks_exact_mut(padded).zip(data.chunks_exact(width)) {
        to[..width].copy_from_slice(from);
    }
    out
}
