//! Uploads weights to a device, chunk by chunk.

use super::error::UnstorableWeight;
use super::weights::{Storage, WeightEntry, WeightKind, WeightSource, WeightTable, Weights, pad_rows};
use crate::cpu::StoredMatrix;
use crate::gpu::{Gpu, GpuError};
use crate::kernels::{PANEL, panels, stride};
use crate::precision::WeightPrecision;

/// Host memory of a chunk, elements.
const CHUNK_ELEMENTS: usize = 1 << 18;
/// Bytes written before the device's staging memory is released.
const FLUSH_BYTES: u64 = 8 << 20;

/// Progress of an upload. No file is ever held whole, and the caller can pause between chunks: for a download, or to
/// let a browser paint.
pub struct Upload {
    /// Entries of the table, in read order.
    order: Vec<usize>,
    /// Current index in `order`, and current row of that entry.
    entry: usize,
    row: usize,
    done: usize,
    /// Bytes since the last flush.
    pending: u64,
    scratch: Vec<f32>,
}

impl Upload {
    /// Prepares an upload of entries of a table, in this order.
    pub fn new(order: Vec<usize>) -> Self {
        Self { order, entry: 0, row: 0, done: 0, pending: 0, scratch: Vec::new() }
    }

    /// Number of elements on the device.
    pub fn elements(&self) -> usize {
        self.done
    }

    /// Uploads one more chunk; returns `false` if none is left. After an error, the same chunk can be retried.
    pub fn advance<S: WeightSource>(
        &mut self,
        gpu: Option<&Gpu>,
        table: &WeightTable,
        weights: &mut Weights,
        source: &mut S,
    ) -> Result<bool, S::Error> {
        if let Some(gpu) = gpu {
            return self.advance_on_gpu(gpu, table, weights, source);
        }
        let Some(&index) = self.order.get(self.entry) else {
            return Ok(false);
        };
        let (entry, precision) = (&table.entries()[index], weights.precision());
        let Storage::Cpu(tensors) = &mut weights.storage else {
            unreachable!("weights on a GPU come with it")
        };
        let rows = (CHUNK_ELEMENTS / entry.width).clamp(1, entry.rows - self.row);
        match &mut tensors[index] {
            StoredMatrix::F32(values) => {
                let values = &mut values[self.row * entry.width..][..rows * entry.width];
                source.read_rows(index, self.row..self.row + rows, values)?;
            }
            stored => {
                if self.row == 0 && precision == WeightPrecision::Q8 {
                    stored.set_input_multipliers(source.read_input_multipliers(index)?);
                }
                let scales = self.read_matrix(index, entry, rows, precision, source)?;
                stored.set_rows(self.row, entry.width, &self.scratch, scales.as_deref());
            }
        }
        self.arrived(entry, rows);
        Ok(true)
    }

    /// As [`advance`](Self::advance), for weights on a GPU; sessions with them can be created meanwhile.
    pub fn advance_on_gpu<S: WeightSource>(
        &mut self,
        gpu: &Gpu,
        table: &WeightTable,
        weights: &Weights,
        source: &mut S,
    ) -> Result<bool, S::Error> {
        let Some(&index) = self.order.get(self.entry) else {
            return Ok(false);
        };
        let entry = &table.entries()[index];
        let rows = match entry.kind {
            WeightKind::Matrix => self.matrix_chunk(gpu, index, entry, weights, source)?,
            WeightKind::Vector | WeightKind::Rows => self.rows_chunk(gpu, index, entry, weights, source)?,
        };
        self.flush_now_and_then(gpu)?;
        self.arrived(entry, rows);
        Ok(true)
    }

    fn arrived(&mut self, entry: &WeightEntry, rows: usize) {
        self.done += rows * entry.width;
        self.row += rows;
        if self.row == entry.rows {
            (self.entry, self.row) = (self.entry + 1, 0);
        }
    }

    /// Uploads rows of a matrix, in panels.
    fn matrix_chunk<S: WeightSource>(
        &mut self,
        gpu: &Gpu,
        index: usize,
        entry: &WeightEntry,
        weights: &Weights,
        source: &mut S,
    ) -> Result<usize, S::Error> {
        let precision = weights.precision();
        let part = weights.gpu_parts(index).iter().find(|part| part.about.outputs.contains(&self.row));
        let part = part.unwrap_or_else(|| unreachable!("the parts cover all rows"));
        let panels_per_chunk = (CHUNK_ELEMENTS / (stride(entry.width) * PANEL)).max(1);
        let rows = (part.about.outputs.end - self.row).min(panels_per_chunk * PANEL);
        let scales = self.read_matrix(index, entry, rows, precision, source)?;
        let packed = panels::pack_with_scales(&self.scratch, rows, entry.width, precision, scales.as_deref());
        let first_panel = (self.row - part.about.outputs.start) / PANEL;
        gpu.write(&part.buffer, first_panel * panels::panel_words(entry.width, precision), &packed);
        self.pending += packed.len() as u64 * 4;
        Ok(rows)
    }

    /// Uploads rows of a vector or a table, with the stride of activations.
    fn rows_chunk<S: WeightSource>(
        &mut self,
        gpu: &Gpu,
        index: usize,
        entry: &WeightEntry,
        weights: &Weights,
        source: &mut S,
    ) -> Result<usize, S::Error> {
        let padded = stride(entry.width);
        let rows = (CHUNK_ELEMENTS / padded).clamp(1, entry.rows - self.row);
        self.read(index, entry, rows, source)?;
        let padded_rows = pad_rows(&self.scratch, entry.width);
        gpu.write(&weights.gpu_parts(index)[0].buffer, self.row * padded, &padded_rows);
        self.pending += padded_rows.len() as u64 * 4;
        Ok(rows)
    }

    /// Reads rows of a matrix and checks that `precision` can hold them; for 8 bits, also the source's scales.
    fn read_matrix<S: WeightSource>(
        &mut self,
        index: usize,
        entry: &WeightEntry,
        rows: usize,
        precision: WeightPrecision,
        source: &mut S,
    ) -> Result<Option<Vec<f32>>, S::Error> {
        self.read(index, entry, rows, source)?;
        if let Some(value) = precision.overflow(&self.scratch) {
            return Err(UnstorableWeight { weight: entry.name.clone(), value, precision }.into());
        }
        match precision {
            WeightPrecision::Q8 => source.read_scales(index, self.row..self.row + rows),
            WeightPrecision::F32 | WeightPrecision::F16 => Ok(None),
        }
    }

    fn read<S: WeightSource>(
        &mut self,
        index: usize,
        entry: &WeightEntry,
        rows: usize,
        source: &mut S,
    ) -> Result<(), S::Error> {
        self.scratch.resize(rows * entry.width, 0.0);
        source.read_rows(index, self.row..self.row + rows, &mut self.scratch)
    }

    fn flush_now_and_then(&mut self, gpu: &Gpu) -> Result<(), GpuError> {
        if self.pending >= FLUSH_BYTES {
            self.pending = 0;
            gpu.flush()?;
        }
        Ok(())
    }
}
