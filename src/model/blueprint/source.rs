//! The sources of weights: tensors of the file, in the layout of the blocks, and computed tables.

use std::ops::Range;

use safetensors::Dtype;

use super::Blueprint;
use crate::graph::{WeightKind, WeightSource};
use crate::model::checkpoint::{Checkpoint, INPUT_MULTIPLIER, TensorInfo};
use crate::model::config::RelativePositions;
use crate::model::error::ModelError;
use crate::model::positions::{SinusoidalLayout, sinusoidal_positions};
use crate::precision::WeightPrecision;

/// The source of one weight.
#[derive(Clone, Debug)]
pub enum Source {
    /// Rows of tensors in the file, in order.
    Tensors(Vec<Piece>),
    /// Zeros, then a vector of the file: the bias of two layers as one, of which only the second has a bias.
    ZerosAnd {
        /// Number of zeros.
        zeros: usize,
        /// The vector.
        piece: Piece,
    },
    /// Computed sinusoids, perhaps with a row of zeros.
    Sinusoids {
        /// Order of sines and cosines.
        layout: SinusoidalLayout,
        /// Row of padding.
        zero_row: Option<usize>,
    },
    /// Values of distance buckets, expanded to distances.
    Distances {
        /// `[buckets, heads]` each; the distances of the first come before those of the second.
        tensors: Vec<String>,
        /// Buckets of distances.
        positions: RelativePositions,
        /// Whether keys may follow the query.
        bidirectional: bool,
    },
}

/// A part of a weight.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Name of the tensor.
    pub tensor: String,
    /// Rows of the weight in this tensor.
    pub rows: Range<usize>,
    /// Whether the tensor stores the rows as columns.
    pub transposed: bool,
}

impl Source {
    /// The tensors of the source, and whether each is transposed.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, bool)> {
        let (pieces, tables) = match self {
            Self::Tensors(pieces) => (&pieces[..], &[][..]),
            Self::ZerosAnd { piece, .. } => (std::slice::from_ref(piece), &[][..]),
            Self::Sinusoids { .. } => (&[][..], &[][..]),
            Self::Distances { tensors, .. } => (&[][..], &tensors[..]),
        };
        let tables = tables.iter().map(|tensor| (&tensor[..], false));
        pieces.iter().map(|piece| (&piece.tensor[..], piece.transposed)).chain(tables)
    }

    /// The least precision that keeps a matrix exact.
    pub fn precision(&self, checkpoint: &Checkpoint) -> WeightPrecision {
        let are = |test: &dyn Fn(&TensorInfo, bool) -> bool| {
            self.tensors()
                .all(|(name, transposed)| checkpoint.info(name).is_some_and(|info| test(info, transposed)))
        };
        if are(&|info, _| info.dtype == Dtype::F16) {
            WeightPrecision::F16
        } else if are(&TensorInfo::is_in_8_bits) {
            WeightPrecision::Q8
        } else {
            WeightPrecision::F32
        }
    }

    /// The end of the source's last byte: file and offset; `None` if it is computed.
    pub fn end(&self, checkpoint: &Checkpoint) -> Option<(usize, u64)> {
        self.tensors().filter_map(|(name, _)| checkpoint.end(name)).max()
    }
}

pub(crate) struct CheckpointSource<'a> {
    pub blueprint: &'a Blueprint,
    pub checkpoint: &'a Checkpoint,
}

impl WeightSource for CheckpointSource<'_> {
    type Error = ModelError;

    fn read_rows(&mut self, index: usize, rows: Range<usize>, out: &mut [f32]) -> Result<(), ModelError> {
        let entry = &self.blueprint.table.entries()[index];
        match &self.blueprint.sources[index] {
            // rows of a vector's pieces are single elements, all read at once
            Source::Tensors(pieces) if entry.kind == WeightKind::Vector => self.read_vector(pieces, out),
            Source::Tensors(pieces) => self.read_pieces(pieces, rows, entry.width, out),
            Source::ZerosAnd { zeros, piece } => {
                let (first, rest) = out.split_at_mut(*zeros);
                first.fill(0.0);
                self.read_vector(std::slice::from_ref(piece), rest)
            }
            Source::Sinusoids { layout, zero_row } => {
                out.copy_from_slice(&sinusoidal_positions(*layout, rows.clone(), entry.width));
                if let Some(row) = zero_row.filter(|row| rows.contains(row)) {
                    out[(row - rows.start) * entry.width..][..entry.width].fill(0.0);
                }
                Ok(())
            }
            Source::Distances { tensors, positions, bidirectional } => {
                let values = positions.buckets * entry.width;
                let mut buckets = vec![0.0; tensors.len() * values];
                for (tensor, buckets) in tensors.iter().zip(buckets.chunks_exact_mut(values)) {
                    self.checkpoint.read(tensor, buckets)?;
                }
                let each = entry.rows / tensors.len();
                for (row, out) in rows.zip(out.chunks_exact_mut(entry.width)) {
                    let distance = (row % each) as i64 - (each / 2) as i64;
                    let bucket = positions.bucket(distance, *bidirectional);
                    let from = row / each * values + bucket * entry.width;
                    out.copy_from_slice(&buckets[from..][..entry.width]);
                }
                Ok(())
            }
        }
    }

    fn read_input_multipliers(&mut self, index: usize) -> Result<Vec<(usize, f32)>, ModelError> {
        let Source::Tensors(pieces) = &self.blueprint.sources[index] else { return Ok(Vec::new()) };
        let mut multipliers = Vec::with_capacity(pieces.len());
        for piece in pieces {
            match self.input_multiplier(&piece.tensor)? {
                Some(multiplier) => multipliers.push((piece.rows.len(), multiplier)),
                None => return Ok(Vec::new()),
            }
        }
        Ok(multipliers)
    }

    fn read_scales(&mut self, index: usize, rows: Range<usize>) -> Result<Option<Vec<f32>>, ModelError> {
        let Source::Tensors(pieces) = &self.blueprint.sources[index] else { return Ok(None) };
        let mut scales = Vec::with_capacity(rows.len());
        for (piece, rows) in overlapping(pieces, &rows) {
            match self.checkpoint.scales(&piece.tensor, piece.transposed, rows)? {
                Some(some) => scales.extend(some),
                None => return Ok(None),
            }
        }
        Ok(Some(scales))
    }
}

impl CheckpointSource<'_> {
    /// Reads the multiplier of a matrix's inputs, if the file has one.
    fn input_multiplier(&self, matrix: &str) -> Result<Option<f32>, ModelError> {
        let name = format!("{matrix}{INPUT_MULTIPLIER}");
        match self.checkpoint.info(&name) {
            Some(info) if info.element_count() == 1 => {
                let mut value = [0.0];
                self.checkpoint.read(&name, &mut value)?;
                self.checkpoint.check_multiplier(&name, value[0])?;
                Ok(Some(value[0]))
            }
            Some(_) => self.checkpoint.require(&name, &[1]).map(|_| None),
            None => Ok(None),
        }
    }

    fn read_vector(&self, pieces: &[Piece], mut out: &mut [f32]) -> Result<(), ModelError> {
        for piece in pieces {
            let shape = self.checkpoint.info(&piece.tensor).map_or(&[][..], |info| &info.shape);
            let row_elements: usize = shape.iter().skip(1).product();
            let (now, rest) = out.split_at_mut(piece.rows.len() * row_elements);
            self.checkpoint.read_rows(&piece.tensor, piece.rows.clone(), now)?;
            out = rest;
        }
        Ok(())
    }

    fn read_pieces(
        &self,
        pieces: &[Piece],
        wanted: Range<usize>,
        width: usize,
        mut out: &mut [f32],
    ) -> Result<(), ModelError> {
        for (piece, rows) in overlapping(pieces, &wanted) {
            let (now, rest) = out.split_at_mut(rows.len() * width);
            match piece.transposed {
                true => self.checkpoint.read_columns(&piece.tensor, rows, now)?,
                false => self.checkpoint.read_rows(&piece.tensor, rows, now)?,
            }
            out = rest;
        }
        Ok(())
    }
}

/// The pieces that contain `rows`, with the rows in their tensors.
fn overlapping<'p>(
    pieces: &'p [Piece],
    wanted: &Range<usize>,
) -> impl Iterator<Item = (&'p Piece, Range<usize>)> {
    let mut first = 0;
    pieces.iter().filter_map(move |piece| {
        let here = first..first + piece.rows.len();
        first = here.end;
        let (start, end) = (wanted.start.max(here.start), wanted.end.min(here.end));
        let offset = piece.rows.start.wrapping_sub(here.start);
        (start < end).then(|| (piece, start.wrapping_add(offset)..end.wrapping_add(offset)))
    })
}
