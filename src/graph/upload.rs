//! Bringing weights to a device, a chunk at a time.

use super::error::UnstorableWeight;
use super::weights::{Storage, WeightEntry, WeightKind, WeightSource, WeightTable, Weights, pad_rows};
use crate::cpu::StoredMatrix;
use crate::gpu::{Gpu, GpuError};
use crate::kernels::{PANEL, panels, stride};
use crate::precision::WeightPrecision;

/// Host memory that a chunk takes, elements.
const CHUNK_ELEMENTS: usize = 1 << 18;
/// Bytes written before the device's staging memory is released.
const FLUSH_BYTES: u64 = 8 << 20;

/// How far the values of some weights have come. No file is ever held whole, and who drives an upload can wait between
/// two chunks: for a download, or for a browser that wants to paint.
pub struct Upload {
    /// Entries of the table, in the order in which they are read.
    order: Vec<usize>,
    /// Where in `order` the upload is, and at which row of that entry.
    entry: usize,
    row: usize,
    /// Elements that have arrived.
    done: usize,
    /// Bytes since the last flush.
    pending: u64,
    scratch: Vec<f32>,
}

impl Upload {
    /// An upload of all entries of a table, in the order given.
    pub fn new(order: Vec<usize>) -> Self {
        Self { order, entry: 0, row: 0, done: 0, pending: 0, scratch: Vec::new() }
    }

    /// Elements that have arrived on the device.
    pub fn elements(&self) -> usize {
        self.done
    }

    /// Brings one more chunk; `false` when there was none left. After an error the same chunk can be tried again.
    ///
    /// # Errors
    /// Those of the source; [`UnstorableWeight`]; [`GpuError`] of the device.
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
                let scales = self.read_matrix(index, entry, rows, precision, source)?;
                stored.set_rows(self.row, entry.width, &self.scratch, scales.as_deref());
            }
        }
        self.arrived(entry, rows);
        Ok(true)
    }

    /// As [`advance`](Self::advance), for weights on a GPU: sessions over them may be made meanwhile.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
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

    /// Some rows of a matrix, into panels.
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

    /// Some rows of a vector or a table, with the stride of activations.
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

    /// Some rows of a matrix, which `precision` has to be able to hold, and for 8 bits the scales that the source has.
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
