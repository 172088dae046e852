//! Weights: which a model has, and where they are on a device.

use std::ops::Range;

use crate::device::Device;
use crate::gpu::{Buffer, Gpu, GpuError};
use crate::kernels::{PANEL, panels, stride};

/// A matrix `[outputs, inputs]` of a linear layer, or an embedding table `[vocabulary, d_model]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Matrix {
    pub(super) index: usize,
    /// Rows in the file: output features, or tokens.
    pub outputs: usize,
    /// Columns in the file: input features, or `d_model`.
    pub inputs: usize,
}

/// A vector: bias, scale of a norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Vector {
    pub(super) index: usize,
    /// Its length.
    pub length: usize,
}

/// A table read row by row: positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rows {
    pub(super) index: usize,
    /// Number of rows.
    pub rows: usize,
    /// Elements in a row.
    pub width: usize,
}

/// How a weight is used, and so how it is laid out on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightKind {
    /// See [`Matrix`]; panels of [`PANEL`] outputs on a GPU.
    Matrix,
    /// See [`Vector`].
    Vector,
    /// See [`Rows`].
    Rows,
}

/// One entry of a [`WeightTable`].
#[derive(Clone, Debug)]
pub struct WeightEntry {
    /// For labels and messages, e.g. `decoder.0.self.qkv.weight`.
    pub name: String,
    /// Layout.
    pub kind: WeightKind,
    /// `[rows, width]` as read from the source; a vector has one row.
    pub rows: usize,
    /// See `rows`.
    pub width: usize,
}

/// All weights of a model, without their values.
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

    /// The entries, in the order in which they were added.
    pub fn entries(&self) -> &[WeightEntry] {
        &self.entries
    }

    /// The name that a matrix was added under.
    pub fn name(&self, matrix: Matrix) -> &str {
        &self.entries[matrix.index].name
    }

    /// Elements of all weights together.
    pub fn elements(&self) -> usize {
        self.entries.iter().map(|entry| entry.rows * entry.width).sum()
    }

    fn add(&mut self, name: String, kind: WeightKind, rows: usize, width: usize) -> usize {
        self.entries.push(WeightEntry { name, kind, rows, width });
        self.entries.len() - 1
    }
}

/// Where weights come from: some rows of one entry at a time, so that no file is ever held whole.
pub trait WeightSource {
    /// What reading can fail with.
    type Error: From<GpuError>;

    /// Reads rows of the table's entry `index` into `out`, `[rows.len(), width]`.
    ///
    /// # Errors
    /// When the source cannot be read.
    fn read_rows(&mut self, index: usize, rows: Range<usize>, out: &mut [f32]) -> Result<(), Self::Error>;
}

/// A range of a matrix's outputs in one buffer of the device.
pub(super) struct Part {
    first_output: usize,
    count: usize,
    pub buffer: Buffer,
}

impl Part {
    pub fn outputs(&self) -> Range<usize> {
        self.first_output..self.first_output + self.count
    }
}

pub(super) enum Storage {
    /// Row-major, as in the file.
    Cpu(Vec<Vec<f32>>),
    /// One list of parts for each entry; vectors and rows have one part.
    Gpu(Vec<Vec<Part>>),
}

/// The weights of a model on a device.
pub struct Weights {
    pub(super) storage: Storage,
    bytes: u64,
}

/// Host memory used to bring weights to a GPU, elements.
const CHUNK_ELEMENTS: usize = 1 << 18;
/// Bytes written before the device's staging memory is released.
const FLUSH_BYTES: u64 = 8 << 20;

impl Weights {
    /// Brings all weights of a table to a device, one tensor at a time. `progress` is told the fraction done.
    ///
    /// # Errors
    /// Those of the source; [`GpuError`] where the device has no room.
    pub fn load<S: WeightSource>(
        device: &Device,
        table: &WeightTable,
        source: &mut S,
        progress: &mut dyn FnMut(f32),
    ) -> Result<Self, S::Error> {
        let total = table.elements().max(1) as f32;
        let mut done = 0;
        let mut bytes = 0;
        let mut report = |entry: &WeightEntry| {
            done += entry.rows * entry.width;
            progress(done as f32 / total);
        };
        let storage = match device {
            Device::Cpu => {
                let mut tensors = Vec::with_capacity(table.entries.len());
                for (index, entry) in table.entries.iter().enumerate() {
                    let mut tensor = vec![0.0; entry.rows * entry.width];
                    source.read_rows(index, 0..entry.rows, &mut tensor)?;
                    bytes += tensor.len() as u64 * 4;
                    tensors.push(tensor);
                    report(entry);
                }
                Storage::Cpu(tensors)
            }
            Device::Gpu(gpu) => {
                let mut uploader = Uploader { gpu, pending: 0, scratch: Vec::new() };
                let mut tensors = Vec::with_capacity(table.entries.len());
                for (index, entry) in table.entries.iter().enumerate() {
                    let parts = match entry.kind {
                        WeightKind::Matrix => uploader.matrix(index, entry, source)?,
                        WeightKind::Vector | WeightKind::Rows => vec![uploader.rows(index, entry, source)?],
                    };
                    bytes += parts.iter().map(|part| part.buffer.bytes()).sum::<u64>();
                    tensors.push(parts);
                    report(entry);
                }
                gpu.flush()?;
                Storage::Gpu(tensors)
            }
        };
        Ok(Self { storage, bytes })
    }

    /// Device memory that they take, bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn cpu(&self, index: usize) -> &[f32] {
        match &self.storage {
            Storage::Cpu(tensors) => &tensors[index],
            Storage::Gpu(_) => unreachable!("a session runs on the device that holds its weights"),
        }
    }

    pub(super) fn parts(&self, index: usize) -> &[Part] {
        match &self.storage {
            Storage::Gpu(tensors) => &tensors[index],
            Storage::Cpu(_) => unreachable!("a session runs on the device that holds its weights"),
        }
    }
}

struct Uploader<'a> {
    gpu: &'a Gpu,
    pending: u64,
    scratch: Vec<f32>,
}

impl Uploader<'_> {
    /// A matrix in panels, split over several buffers where one would be too large.
    fn matrix<S: WeightSource>(
        &mut self,
        index: usize,
        entry: &WeightEntry,
        source: &mut S,
    ) -> Result<Vec<Part>, S::Error> {
        let panel_elements = stride(entry.width) * PANEL;
        let panels_per_part = (self.gpu.max_storage_bytes() / (panel_elements as u64 * 4)).max(1) as usize;
        let panels_per_chunk = (CHUNK_ELEMENTS / panel_elements).max(1);
        let mut parts = Vec::new();
        for first_output in (0..entry.rows).step_by(panels_per_part * PANEL) {
            let outputs = (entry.rows - first_output).min(panels_per_part * PANEL);
            let buffer = self.gpu.buffer(&entry.name, panels::packed_len(outputs, entry.width))?;
            for first in (0..outputs).step_by(panels_per_chunk * PANEL) {
                let rows = (outputs - first).min(panels_per_chunk * PANEL);
                self.scratch.resize(rows * entry.width, 0.0);
                source.read_rows(
                    index,
                    first_output + first..first_output + first + rows,
                    &mut self.scratch,
                )?;
                let packed = panels::pack(&self.scratch, rows, entry.width);
                self.write(&buffer, first * stride(entry.width), &packed)?;
            }
            parts.push(Part { first_output, count: outputs, buffer });
        }
        Ok(parts)
    }

    /// A vector or a table, row by row with the stride of activations.
    fn rows<S: WeightSource>(
        &mut self,
        index: usize,
        entry: &WeightEntry,
        source: &mut S,
    ) -> Result<Part, S::Error> {
        let padded = stride(entry.width);
        let buffer = self.gpu.buffer(&entry.name, entry.rows * padded)?;
        let rows_per_chunk = (CHUNK_ELEMENTS / padded).max(1);
        for first in (0..entry.rows).step_by(rows_per_chunk) {
            let rows = (entry.rows - first).min(rows_per_chunk);
            self.scratch.resize(rows * entry.width, 0.0);
            source.read_rows(index, first..first + rows, &mut self.scratch)?;
            let padded_rows = pad_rows(&self.scratch, entry.width);
            self.write(&buffer, first * padded, &padded_rows)?;
        }
        Ok(Part { first_output: 0, count: entry.rows, buffer })
    }

    fn write(&mut self, buffer: &Buffer, first: usize, data: &[f32]) -> Result<(), GpuError> {
        self.gpu.write(buffer, first, data);
        self.pending += data.len() as u64 * 4;
        if self.pending >= FLUSH_BYTES {
            self.pending = 0;
            self.gpu.flush()?;
        }
        Ok(())
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
