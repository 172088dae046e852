//! The trained tensors of a model, read tensor by tensor.
//!
//! A reader of a format ([`READERS`]) opens files and lists their tensors: name, type, shape, place. All else is the same for every
//! format. A reader checks everything that it lists, so that no read leaves the files, and no allocation exceeds what their
//! real lengths allow.

pub(super) mod eight_bits;
pub(super) mod header;
pub(super) mod marian;
mod pickle;
mod random;
mod reader;
mod strided;
mod tensor;
mod unreadable;

use std::collections::BTreeMap;
use std::ops::Range;

use half::{bf16, f16};
use safetensors::Dtype;

use super::error::ModelError;
use super::files::{ByteSource, ModelFiles};
use eight_bits::{ScaleAxis, Scales};
use random::RandomTensors;
use reader::{Found, Reader};
use strided::{Axis, Elements, read_block};
pub use tensor::TensorInfo;

/// The readers of formats. The first one whose files are there wins.
const READERS: [Reader; 4] = [header::open, pickle::open, marian::open, unreadable::open_other_name];

/// End of the name of a tensor with one value: the factor from inputs of a matrix, whose name comes before, to whole
/// numbers from -127 to 127. Marian writes it for models that run in 8 bits.
pub(super) const INPUT_MULTIPLIER: &str = "_QuantMultA";

/// Values per tensor held at once during a comparison.
const COMPARED_AT_ONCE: usize = 1 << 16;

/// Bytes held at once, besides the result, during a read.
const CHUNK: usize = 1 << 18;

/// The tensors of a model, in one or more files.
#[derive(Debug)]
pub struct Checkpoint {
    label: String,
    format: &'static str,
    shards: Vec<ByteSource>,
    tensors: BTreeMap<String, TensorInfo>,
    /// Random values, if there are no files.
    random: Option<RandomTensors>,
}

impl Checkpoint {
    /// Opens the weights of a folder, and checks where their tensors are: `model.safetensors`, its shards, PyTorch's
    /// `pytorch_model.bin`, its shards, or one file of another name.
    ///
    /// Errors: [`ModelError::InvalidCheckpoint`] and [`ModelError::UnknownGlobal`] if a file is invalid or the shards
    /// contradict the index; [`ModelError::MissingShard`]; [`ModelError::NoWeights`] if the weights are in another
    /// format; those of [`ModelFiles::open`].
    pub fn open(files: &ModelFiles) -> Result<Self, ModelError> {
        for open in READERS {
            if let Some(Found { label, format, files, tensors }) = open(files)? {
                return Ok(Self { label, format, shards: files, tensors, random: None });
            }
        }
        Err(unreadable::explain(files)?)
    }

    /// The error for a folder without a configuration, if its files show what it is.
    pub(super) fn explain(files: &ModelFiles) -> Option<ModelError> {
        unreadable::explain_without_configuration(files)
    }

    /// A checkpoint without tensors; [`Checkpoint::claim`] makes them up. `tables`: names of embedding tables.
    pub(super) fn random(label: String, seed: u64, tables: Vec<&'static str>) -> Self {
        let random = Some(RandomTensors { seed, tables });
        Self { label, format: "random", shards: Vec::new(), tensors: BTreeMap::new(), random }
    }

    /// Whether values are made up, not read.
    pub fn is_random(&self) -> bool {
        self.random.is_some()
    }

    /// Name in messages: the file, or the index of the shards.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Name of the format, such as "safetensors".
    pub fn format(&self) -> &'static str {
        self.format
    }

    /// Bytes of all files.
    pub fn byte_len(&self) -> u64 {
        self.shards.iter().map(ByteSource::len).sum()
    }

    /// Names of the tensors, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Whether a tensor exists.
    pub fn contains(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// Type and shape of a tensor.
    pub fn info(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.get(name)
    }

    /// The shard of a tensor, and its end in bytes. Downloads deliver tensors in this order.
    pub(super) fn end(&self, name: &str) -> Option<(usize, u64)> {
        self.info(name).map(|info| (info.shard, info.end()))
    }

    /// Type and shape of a required tensor.
    ///
    /// Errors: [`ModelError::MissingTensor`]; [`ModelError::TensorShape`] if its shape is not `expected`;
    /// [`ModelError::TensorDtype`] if its elements are not numbers.
    pub fn require(&self, name: &str, expected: &[usize]) -> Result<&TensorInfo, ModelError> {
        let info = self.find(name)?;
        if info.shape != expected {
            let (file, tensor) = (self.file_label(info).to_owned(), name.to_owned());
            let (found, expected) = (info.shape.clone(), expected.to_vec());
            return Err(ModelError::TensorShape { file, tensor, found, expected });
        }
        self.element_bytes(name, info)?;
        Ok(info)
    }

    /// As [`require`](Self::require); a checkpoint of random values makes the tensor up.
    pub(super) fn claim(&mut self, name: &str, shape: &[usize]) -> Result<(), ModelError> {
        if self.is_random() && !self.contains(name) {
            let info = TensorInfo::new(Dtype::F32, shape.to_vec(), 0, 0);
            self.tensors.insert(name.to_owned(), info);
        }
        self.require(name, shape).map(|_| ())
    }

    /// Reads a whole tensor, row-major, as f32: F16 and BF16 exactly, F64 rounded, 8 bits multiplied by their scales.
    /// Panics if `values` is not [`TensorInfo::element_count`] long.
    ///
    /// Errors: [`ModelError::MissingTensor`], [`ModelError::TensorDtype`], [`ModelError::FileShrank`],
    /// [`ModelError::Io`].
    pub fn read(&self, name: &str, values: &mut [f32]) -> Result<(), ModelError> {
        let info = self.find(name)?;
        if let Some(strides) = &info.strides {
            return self.read_block(name, info, 0, &strided::row_major(&info.shape, strides), values);
        }
        self.read_elements(name, info, 0..info.element_count(), values)
    }

    /// Whether two tensors have equal shapes and values. Reads both, a few rows at a time.
    pub fn are_equal(&self, one: &str, other: &str) -> Result<bool, ModelError> {
        let shape = |name| self.info(name).map(|info| &info.shape[..]);
        let (Some(shape), true) = (shape(one), shape(one) == shape(other)) else {
            return Ok(false);
        };
        if self.info(one) == self.info(other) && !self.is_random() {
            return Ok(true); // the same bytes
        }
        let rows = shape.first().copied().unwrap_or(1);
        let width: usize = shape.iter().skip(1).product();
        let rows_at_once = (COMPARED_AT_ONCE / width.max(1)).max(1);
        let [mut a, mut b] = [const { Vec::new() }; 2];
        for first in (0..rows).step_by(rows_at_once) {
            let here = first..rows.min(first + rows_at_once);
            a.resize(here.len() * width, 0.0);
            b.resize(here.len() * width, 0.0);
            self.read_rows(one, here.clone(), &mut a)?;
            self.read_rows(other, here, &mut b)?;
            if a != b {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads rows (slices along the first axis) of a tensor, as [`Checkpoint::read`]. Panics if the rows do not exist
    /// or `values` has another length.
    pub fn read_rows(&self, name: &str, rows: Range<usize>, values: &mut [f32]) -> Result<(), ModelError> {
        let info = self.find(name)?;
        let (count, width) = match info.shape.split_first() {
            Some((&count, sizes)) => (count, sizes.iter().product::<usize>()),
            None => (1, 1),
        };
        assert!(rows.start <= rows.end && rows.end <= count, "{name}: rows {rows:?} of {count}");
        if let Some(strides) = info.strides.as_deref().filter(|strides| !strides.is_empty()) {
            let shape: Vec<usize> = [rows.len()].into_iter().chain(info.shape[1..].iter().copied()).collect();
            return self.read_block(
                name,
                info,
                rows.start * strides[0],
                &strided::row_major(&shape, strides),
                values,
            );
        }
        self.read_elements(name, info, rows.start * width..rows.end * width, values)
    }

    /// Reads columns of a matrix, as rows of its transpose, as [`Checkpoint::read_rows`]. Panics if the columns do not
    /// exist or `values` has another length.
    pub fn read_columns(
        &self,
        name: &str,
        columns: Range<usize>,
        values: &mut [f32],
    ) -> Result<(), ModelError> {
        let info = self.find(name)?;
        let &[rows, width] = info.shape.as_slice() else { panic!("{name}: is a matrix") };
        assert!(columns.end <= width, "{name}: columns {columns:?} of {width}");
        assert_eq!(values.len(), rows * columns.len(), "{name}: length of the destination");
        if let Some(&[down, right]) = info.strides.as_deref() {
            let axes = [
                Axis { count: rows, file: down, result: 1 },
                Axis { count: columns.len(), file: right, result: rows },
            ];
            return self.read_block(name, info, columns.start * right, &axes, values);
        }
        let mut part = vec![0.0; columns.len()];
        // the last row first: during a download, this waits once for all rows
        for row in (0..rows).rev() {
            let start = row * width;
            self.read_elements(name, info, start + columns.start..start + columns.end, &mut part)?;
            for (value, &element) in values.iter_mut().skip(row).step_by(rows).zip(&part) {
                *value = element;
            }
        }
        Ok(())
    }

    /// Checks a multiplier of inputs.
    pub(super) fn check_multiplier(&self, name: &str, value: f32) -> Result<(), ModelError> {
        if value.is_normal() && value > 0.0 {
            return Ok(());
        }
        let problem = format!("the multiplier of inputs {name:?} is {value}; it must be above 0");
        Err(ModelError::InvalidCheckpoint { file: self.label.clone(), problem })
    }

    fn file_label(&self, info: &TensorInfo) -> &str {
        self.shards.get(info.shard).map_or(&self.label, ByteSource::label)
    }

    fn find(&self, name: &str) -> Result<&TensorInfo, ModelError> {
        self.tensors.get(name).ok_or_else(|| ModelError::MissingTensor {
            checkpoint: self.label.clone(),
            tensor: name.to_owned(),
            nearest: nearest(name, self.names()),
        })
    }

    fn read_elements(
        &self,
        name: &str,
        info: &TensorInfo,
        elements: Range<usize>,
        values: &mut [f32],
    ) -> Result<(), ModelError> {
        assert_eq!(values.len(), elements.len(), "{name}: length of the destination");
        if let Some(random) = &self.random {
            random.fill(name, &info.shape, elements, values);
            return Ok(());
        }
        let file = &self.shards[info.shard];
        let width = self.element_bytes(name, info)?;
        let mut scratch = vec![0; CHUNK.min(values.len() * width)];
        let mut offset = info.offset + (elements.start * width) as u64;
        for part in values.chunks_mut(CHUNK / width) {
            let bytes = &mut scratch[..part.len() * width];
            file.read_at(offset, bytes)?;
            widen(info.dtype, bytes, part);
            offset += bytes.len() as u64;
        }
        match info.scales {
            Some(scales) => self.scale(name, info, scales, elements.start, values),
            None => Ok(()),
        }
    }

    /// Reads a block from an element of a tensor on.
    fn read_block(
        &self,
        name: &str,
        info: &TensorInfo,
        first: usize,
        axes: &[Axis],
        values: &mut [f32],
    ) -> Result<(), ModelError> {
        let elements: usize = axes.iter().map(|axis| axis.count).product();
        assert_eq!(values.len(), elements, "{name}: length of the destination");
        let (file, width) = (&self.shards[info.shard], self.element_bytes(name, info)?);
        let start = info.offset + (first * width) as u64;
        read_block(&Elements { file, dtype: info.dtype, width, start }, axes, values)?;
        match info.scales {
            // a reader gives no other scales to a tensor with strides
            Some(scales) => self.scale(name, info, scales, 0, values),
            None => Ok(()),
        }
    }

    fn element_bytes(&self, name: &str, info: &TensorInfo) -> Result<usize, ModelError> {
        info.element_bytes().ok_or_else(|| {
            let (file, tensor) = (self.file_label(info).to_owned(), name.to_owned());
            ModelError::TensorDtype { file, tensor, found: info.dtype }
        })
    }

    fn scale(
        &self,
        name: &str,
        info: &TensorInfo,
        scales: Scales,
        start: usize,
        values: &mut [f32],
    ) -> Result<(), ModelError> {
        if values.contains(&-128.0) {
            let problem = format!("the tensor {name:?} has the value -128; values are -127 to 127");
            return Err(ModelError::InvalidCheckpoint { file: self.file_label(info).to_owned(), problem });
        }
        if values.is_empty() {
            return Ok(());
        }
        if scales.axis == ScaleAxis::Whole {
            let scale = self.read_scales(info, scales, 0..1)?[0];
            values.iter_mut().for_each(|value| *value *= scale);
            return Ok(());
        }
        let (width, end) = (info.shape[1], start + values.len());
        let (rows, column) = (start / width..end.div_ceil(width), start % width);
        match (scales.axis == ScaleAxis::Column, rows.len()) {
            (false, _) => {
                let scales = self.read_scales(info, scales, rows)?;
                let (first, others) = values.split_at_mut(values.len().min(width - column));
                let rows = [first].into_iter().chain(others.chunks_mut(width));
                rows.zip(scales).for_each(|(row, scale)| row.iter_mut().for_each(|value| *value *= scale));
            }
            (true, 1) => {
                let scales = self.read_scales(info, scales, column..column + values.len())?;
                values.iter_mut().zip(scales).for_each(|(value, scale)| *value *= scale);
            }
            (true, _) => {
                let scales = self.read_scales(info, scales, 0..width)?;
                let scales = scales.iter().cycle().skip(column);
                values.iter_mut().zip(scales).for_each(|(value, scale)| *value *= scale);
            }
        }
        Ok(())
    }

    fn read_scales(
        &self,
        info: &TensorInfo,
        scales: Scales,
        range: Range<usize>,
    ) -> Result<Vec<f32>, ModelError> {
        if scales.axis == ScaleAxis::Whole {
            let scale = 1.0 / self.read_multiplier(info, scales)?;
            return Ok(vec![scale; range.len()]);
        }
        let mut bytes = vec![0; 4 * range.len()];
        self.shards[info.shard].read_at(scales.offset + 4 * range.start as u64, &mut bytes)?;
        Ok(bytes.as_chunks().0.iter().map(|&scale| f32::from_le_bytes(scale)).collect())
    }

    fn read_multiplier(&self, info: &TensorInfo, scales: Scales) -> Result<f32, ModelError> {
        let mut bytes = [0; 4];
        self.shards[info.shard].read_at(scales.offset, &mut bytes)?;
        let multiplier = f32::from_le_bytes(bytes);
        if multiplier.is_normal() && multiplier > 0.0 {
            return Ok(multiplier);
        }
        let problem = format!("a tensor's multiplier is {multiplier}; it must be positive");
        Err(ModelError::InvalidCheckpoint { file: self.file_label(info).to_owned(), problem })
    }

    /// The number that the weights of an 8-bit tensor were multiplied with, if it is one for the whole tensor: a
    /// weight is its byte divided by this.
    pub fn multiplier(&self, name: &str) -> Result<Option<f32>, ModelError> {
        let info = self.find(name)?;
        let scales = info.scales.filter(|scales| scales.axis == ScaleAxis::Whole);
        scales.map(|scales| self.read_multiplier(info, scales)).transpose()
    }

    /// Scales of rows or columns of an 8-bit matrix; `None` if its scales belong to the other axis.
    pub(super) fn scales(
        &self,
        name: &str,
        by_column: bool,
        range: Range<usize>,
    ) -> Result<Option<Vec<f32>>, ModelError> {
        let info = self.find(name)?;
        let scales = info.scales.filter(|scales| scales.serve(by_column));
        scales.map(|scales| self.read_scales(info, scales, range)).transpose()
    }
}

/// Little-endian elements to f32.
fn widen(dtype: Dtype, bytes: &[u8], values: &mut [f32]) {
    fn each<const N: usize>(bytes: &[u8], values: &mut [f32], decode: impl Fn([u8; N]) -> f32) {
        let (elements, _) = bytes.as_chunks();
        for (value, &element) in values.iter_mut().zip(elements) {
            *value = decode(element);
        }
    }
    match dtype {
        Dtype::I8 => each(bytes, values, |[element]| f32::from(element as i8)),
        Dtype::F16 => each(bytes, values, |element| f16::from_le_bytes(element).to_f32()),
        Dtype::BF16 => each(bytes, values, |element| bf16::from_le_bytes(element).to_f32()),
        Dtype::F32 => each(bytes, values, f32::from_le_bytes),
        Dtype::F64 => each(bytes, values, |element| f64::from_le_bytes(element) as f32),
        _ => unreachable!("element_bytes knows the same types"),
    }
}

/// The name with the fewest single-character edits to `name`, if few: another prefix, a missing layer.
fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    // limits of the work, because a file may be hostile
    const NAMES: usize = 10_000;
    const LENGTH: usize = 200;
    names
        .take(NAMES)
        .filter(|other| other.len() <= LENGTH)
        .map(|other| (edit_distance(name, other), other))
        .min()
        .filter(|(edits, _)| *edits <= name.len() / 3)
        .map(|(_, other)| other.to_owned())
}

/// Levenshtein distance in bytes, by rows of the table.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
