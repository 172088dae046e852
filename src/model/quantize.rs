//! Writes a model's weights in 8 bits, in the format of `docs/weights.md`.

use std::collections::BTreeSet;
use std::io::{self, Write};

use safetensors::Dtype;
use safetensors::tensor::TensorInfo as Entry;

use super::checkpoint::{Checkpoint, eight_bits, header::Header};
use super::{Model, ModelError};
use crate::graph::{UnstorableWeight, WeightKind};
use crate::precision::{WeightPrecision, quantize, row_scale};

/// Values held at once.
const CHUNK: usize = 1 << 18;

/// The reason why a model cannot be written in 8 bits.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QuantizeError {
    /// The model's files cannot be read, or a weight is not finite.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The new file cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The model's matrices are already in 8 bits.
    #[error("{model}: its matrices are in 8 bits already")]
    AlreadyQuantized {
        /// Label of the model.
        model: String,
    },
}

struct Matrix<'a> {
    name: &'a str,
    shape: [usize; 2],
    scales: Vec<f32>,
    by_column: bool,
}

impl Model {
    /// Writes a `model.safetensors` with 8-bit matrices, with the numbers of [`WeightPrecision::Q8`]. All else is f32.
    /// Unused tensors are left out.
    pub fn write_quantized(&self, file: &mut impl Write) -> Result<(), QuantizeError> {
        if self.stored_precision() == WeightPrecision::Q8 {
            return Err(QuantizeError::AlreadyQuantized { model: self.label().to_owned() });
        }
        let checkpoint = self.checkpoint();
        let (mut matrices, mut others, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (kind, source) in self.blueprint().weights() {
            for (name, transposed) in source.tensors() {
                match kind {
                    _ if !seen.insert(name) => {}
                    WeightKind::Matrix => matrices.push(Matrix::new(checkpoint, name, transposed)?),
                    WeightKind::Vector | WeightKind::Rows => others.push(name),
                }
            }
        }
        file.write_all(&header(checkpoint, &matrices, &others)?)?;
        for matrix in &matrices {
            write_f32(file, &matrix.scales)?;
        }
        for name in others {
            let mut values = vec![0.0; checkpoint.info(name).map_or(0, |info| info.element_count())];
            checkpoint.read(name, &mut values)?;
            write_f32(file, &values)?;
        }
        matrices.iter().try_for_each(|matrix| matrix.write(checkpoint, file))
    }
}

impl<'a> Matrix<'a> {
    /// A scale belongs to an output: a row, or a column if the file's matrix is transposed.
    fn new(checkpoint: &Checkpoint, name: &'a str, by_column: bool) -> Result<Self, ModelError> {
        let &[rows, columns] = checkpoint.info(name).map_or(&[][..], |info| &info.shape) else {
            unreachable!("the blueprint has checked that it is a matrix")
        };
        let (outputs, inputs) = if by_column { (columns, rows) } else { (rows, columns) };
        let at_once = (CHUNK / inputs.max(1)).max(1);
        let (mut scales, mut values) = (Vec::with_capacity(outputs), Vec::new());
        for first in (0..outputs).step_by(at_once) {
            let range = first..outputs.min(first + at_once);
            values.resize(range.len() * inputs, 0.0);
            match by_column {
                true => checkpoint.read_columns(name, range, &mut values)?,
                false => checkpoint.read_rows(name, range, &mut values)?,
            }
            scales.extend(values.chunks_exact(inputs.max(1)).map(row_scale));
        }
        if let Some(&value) = scales.iter().find(|scale| !scale.is_finite()) {
            let (weight, precision) = (name.to_owned(), WeightPrecision::Q8);
            return Err(UnstorableWeight { weight, value, precision }.into());
        }
        Ok(Self { name, shape: [rows, columns], scales, by_column })
    }

    fn write(&self, checkpoint: &Checkpoint, file: &mut impl Write) -> Result<(), QuantizeError> {
        let [rows, columns] = self.shape;
        let at_once = (CHUNK / columns.max(1)).max(1);
        let (mut values, mut bytes) = (Vec::new(), Vec::new());
        for first in (0..rows).step_by(at_once) {
            let range = first..rows.min(first + at_once);
            values.resize(range.len() * columns, 0.0);
            checkpoint.read_rows(self.name, range.clone(), &mut values)?;
            bytes.clear();
            for (row, values) in range.zip(values.chunks_exact(columns)) {
                match self.by_column {
                    true => bytes.extend(values.iter().zip(&self.scales).map(|(&x, &scale)| byte(x, scale))),
                    false => bytes.extend(values.iter().map(|&x| byte(x, self.scales[row]))),
                }
            }
            file.write_all(&bytes)?;
        }
        Ok(())
    }
}

fn byte(value: f32, scale: f32) -> u8 {
    quantize(value, scale).cast_unsigned()
}

fn write_f32(file: &mut impl Write, values: &[f32]) -> io::Result<()> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    file.write_all(&bytes)
}

/// The header of a file with scales, then other f32 tensors, then matrices.
fn header(checkpoint: &Checkpoint, matrices: &[Matrix<'_>], others: &[&str]) -> io::Result<Vec<u8>> {
    let scales = matrices.iter().map(|matrix| {
        let count = matrix.scales.len();
        let shape = if matrix.by_column { [1, count] } else { [count, 1] };
        (eight_bits::scales_name(matrix.name), Dtype::F32, shape.to_vec())
    });
    let others = others.iter().map(|name| {
        let shape = checkpoint.info(name).map(|info| info.shape.clone()).unwrap_or_default();
        ((*name).to_owned(), Dtype::F32, shape)
    });
    let matrices = matrices.iter().map(|matrix| (matrix.name.to_owned(), Dtype::I8, matrix.shape.to_vec()));
    let mut end = 0;
    let tensors = scales.chain(others).chain(matrices).map(|(name, dtype, shape)| {
        let start = end;
        end += shape.iter().product::<usize>() * dtype.bitsize() / 8;
        (name, Entry { dtype, shape, data_offsets: (start, end) })
    });
    let header = Header { tensors: tensors.collect(), metadata: Some(eight_bits::metadata()) };
    let mut json = serde_json::to_vec(&header)?;
    json.resize(json.len().next_multiple_of(8), b' '); // so that the data is aligned
    Ok([&(json.len() as u64).to_le_bytes()[..], &json].concat())
}
