//! The inverse of reading weights, for training: values and gradients of weights as the file's tensors.

use std::collections::BTreeMap;

use super::Blueprint;
use super::source::{Piece, Source};
use crate::graph::WeightKind;
use crate::model::checkpoint::Checkpoint;
use crate::model::error::ModelError;

/// How the rows of a bucket of distances become one row of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BucketRows {
    /// Any of them, because they are equal: weights.
    Equal,
    /// Their sum: gradients.
    Sum,
}

/// A tensor as in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileTensor {
    /// Sizes.
    pub shape: Vec<usize>,
    /// Row-major elements.
    pub values: Vec<f32>,
}

impl Blueprint {
    /// Turns values of weights, row-major, into the file's tensors, the inverse of reading them. Tensors of which no
    /// weight is given are left out; parts of a tensor without a weight stay zero.
    pub(crate) fn file_tensors(
        &self,
        checkpoint: &Checkpoint,
        weights: impl Iterator<Item = (usize, Vec<f32>)>,
        bucket_rows: BucketRows,
    ) -> Result<BTreeMap<String, FileTensor>, ModelError> {
        let mut tensors = BTreeMap::new();
        for (index, values) in weights {
            let entry = &self.table.entries()[index];
            match &self.sources[index] {
                Source::Tensors(pieces) => {
                    let mut rest = &values[..];
                    for piece in pieces {
                        rest = put_piece(
                            tensor_of(&mut tensors, checkpoint, &piece.tensor),
                            piece,
                            entry.kind,
                            rest,
                        );
                    }
                }
                Source::ZerosAnd { zeros, piece } => {
                    put_piece(
                        tensor_of(&mut tensors, checkpoint, &piece.tensor),
                        piece,
                        entry.kind,
                        &values[*zeros..],
                    );
                }
                Source::Sinusoids { .. } => {}
                Source::Distances { tensors: names, positions, bidirectional } => {
                    let each = entry.rows / names.len();
                    for (name, values) in names.iter().zip(values.chunks_exact(each * entry.width)) {
                        let table = tensor_of(&mut tensors, checkpoint, name);
                        if bucket_rows == BucketRows::Equal {
                            checkpoint.read(name, &mut table.values)?; // some buckets have no distance
                        }
                        for (row, values) in values.chunks_exact(entry.width).enumerate() {
                            let bucket = positions.bucket(row as i64 - (each / 2) as i64, *bidirectional);
                            put_bucket(&mut table.values[bucket * entry.width..], values, bucket_rows);
                        }
                    }
                }
            }
        }
        Ok(tensors)
    }

    /// The first row of each row's group, if rows of a table share their values.
    pub(crate) fn tied_rows(&self, index: usize) -> Option<Vec<u32>> {
        let Source::Distances { tensors, positions, bidirectional } = &self.sources[index] else {
            return None;
        };
        let rows = self.table.entries()[index].rows;
        let each = rows / tensors.len();
        let bucket = |row: usize| {
            (row / each, positions.bucket((row % each) as i64 - (each / 2) as i64, *bidirectional))
        };
        let mut first_of_bucket = BTreeMap::new();
        Some((0..rows).map(|row| *first_of_bucket.entry(bucket(row)).or_insert(row as u32)).collect())
    }

    /// The tensors that a weight comes from; none if it is computed.
    pub(crate) fn tensors_of(&self, index: usize) -> impl Iterator<Item = &str> {
        self.sources[index].tensors().map(|(name, _)| name)
    }
}

/// The tensor of a name, with zeros at first.
fn tensor_of<'t>(
    tensors: &'t mut BTreeMap<String, FileTensor>,
    checkpoint: &Checkpoint,
    name: &str,
) -> &'t mut FileTensor {
    tensors.entry(name.to_owned()).or_insert_with(|| {
        let shape = checkpoint.info(name).map_or(Vec::new(), |info| info.shape.clone());
        FileTensor { values: vec![0.0; shape.iter().product()], shape }
    })
}

/// Puts the values of a distance into its bucket.
fn put_bucket(bucket: &mut [f32], values: &[f32], rows: BucketRows) {
    for (stored, value) in bucket.iter_mut().zip(values) {
        match rows {
            BucketRows::Equal => *stored = *value,
            BucketRows::Sum => *stored += value,
        }
    }
}

/// Copies the first values to a piece's place in its tensor; returns the other values.
fn put_piece<'v>(tensor: &mut FileTensor, piece: &Piece, kind: WeightKind, values: &'v [f32]) -> &'v [f32] {
    let rows = piece.rows.len();
    let all = if kind == WeightKind::Vector { &[][..] } else { &tensor.shape[..] };
    let width: usize = match (piece.transposed, all) {
        (_, []) if tensor.shape.first() == Some(&1) => tensor.values.len(),
        (_, []) => 1,
        (true, shape) => shape[0],
        (false, shape) => shape.iter().skip(1).product(),
    };
    let (now, rest) = values.split_at(rows * width);
    match piece.transposed && width > 1 {
        true => {
            let columns = tensor.shape[1];
            for (row, values) in piece.rows.clone().zip(now.chunks_exact(width)) {
                for (column, value) in values.iter().enumerate() {
                    tensor.values[column * columns + row] = *value;
                }
            }
        }
        false => tensor.values[piece.rows.start * width..][..now.len()].copy_from_slice(now),
    }
    rest
}
