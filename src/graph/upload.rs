//! Bringing weights to a device, a chunk at a time.

use super::weights::{Part, Storage, WeightEntry, WeightKind, WeightSource, WeightTable, Weights, pad_rows};
use crate::gpu::{Gpu, GpuError};
use crate::kernels::{PANEL, panels, stride};

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
    /// Those of the source; [`GpuError`] of the device.
    pub fn advance<S: WeightSource>(
        &mut self,
        gpu: Option<&Gpu>,
        table: &WeightTable,
        weights: &mut Weights,
        source: &mut S,
    ) -> Result<bool, S::Error> {
        let Some(&index) = self.order.get(self.entry) else {
            return Ok(false);
        };
        let entry = &table.entries()[index];
        let rows = match (&mut weights.storage, gpu) {
            (Storage::Cpu(tensors), _) => {
                let rows = (CHUNK_ELEMENTS / entry.width).clamp(1, entry.rows - self.row);
                let values = &mut tensors[index][self.row * entry.width..][..rows * entry.width];
                source.read_rows(index, self.row..self.row + rows, values)?;
                rows
            }
            (Storage::Gpu(tensors), Some(gpu)) => {
                let rows = match entry.kind {
                    WeightKind::Matrix => self.matrix_chunk(gpu, index, entry, &tensors[index], source)?,
                    WeightKind::Vector | WeightKind::Rows => {
                        self.rows_chunk(gpu, index, entry, &tensors[index][0], source)?
                    }
                };
                self.flush_now_and_then(gpu)?;
                rows
            }
            (Storage::Gpu(_), None) => unreachable!("weights on a GPU come with it"),
        };
        self.done += rows * entry.width;
        self.row += rows;
        if self.row == entry.rows {
            (self.entry, self.row) = (self.entry + 1, 0);
        }
        Ok(true)
    }

    /// Some rows of a matrix, into panels.
    fn matrix_chunk<S: WeightSource>(
        &mut self,
        gpu: &Gpu,
        index: usize,
        entry: &WeightEntry,
        parts: &[Part],
        source: &mut S,
    ) -> Result<usize, S::Error> {
        let part = parts.iter().find(|part| part.outputs().contains(&self.row));
        let part = part.unwrap_or_else(|| unreachable!("the parts cover all rows"));
        let panels_per_chunk = (CHUNK_ELEMENTS / (stride(entry.width) * PANEL)).max(1);
        let rows = (part.outputs().end - self.row).min(panels_per_chunk * PANEL);
        self.read(index, entry, rows, source)?;
        let packed = panels::pack(&self.scratch, rows, entry.width);
        gpu.write(&part.buffer, (self.row - part.outputs().start) * stride(entry.width), &packed);
        self.pending += packed.len() as u64 * 4;
        Ok(rows)
    }

    /// Some rows of a vector or a table, with the stride of activations.
    fn rows_chunk<S: WeightSource>(
        &mut self,
        gpu: &Gpu,
        index: usize,
        entry: &WeightEntry,
        part: &Part,
        source: &mut S,
    ) -> Result<usize, S::Error> {
        let padded = stride(entry.width);
        let rows = (CHUNK_ELEMENTS / padded).clamp(1, entry.rows - self.row);
        self.read(index, entry, rows, source)?;
        let padded_rows = pad_rows(&self.scratch, entry.width);
        gpu.write(&part.buffer, self.row * padded, &padded_rows);
        self.pending += padded_rows.len() as u64 * 4;
        Ok(rows)
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
