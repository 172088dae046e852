//! Marian's binary weights (`.bin`): `u64` version, `u64` count, a header of four `u64` for each item (bytes of its
//! name with a NUL, type, rank, bytes of its data), names, shapes as `i32`, `u64` padding and so many bytes, data.
//! All is little endian.
//!
//! Marian multiplies `x · W`, so a matrix is `[inputs, outputs]`; tables are `[tokens, width]`. Data in f32 is row-major.
//! A matrix in 8 bits is stored transposed, so it has strides; a table in 8 bits is not. A vector has one axis here; the
//! header has a 1 before it.

use std::collections::BTreeMap;

use safetensors::Dtype;

use super::eight_bits::{ScaleAxis, Scales};
use super::reader::Found;
use super::tensor::TensorInfo;
use crate::model::error::ModelError;
use crate::model::files::{ByteSource, ModelFiles};
use crate::model::student_files::{self, StudentFiles};
use crate::sorting;

const VERSION: u64 = 1;
/// Bytes before the headers.
const PREFIX: u64 = 16;
/// Bytes of an item's header.
const HEADER: u64 = 32;
/// Maximum number of items; real models have a few hundred.
const MOST_ITEMS: u64 = 1 << 16;
/// Maximum rank of a tensor.
const MOST_AXES: u64 = 8;
/// Bytes after the last item that padding can explain.
const MOST_PADDING: u64 = 256;
/// Item with the model's options.
const OPTIONS: &str = "special:model.yml";
/// Maximum length of the options, bytes.
const OPTIONS_LIMIT: u64 = 1 << 20;
/// Parts of the names of tables, which are row-major in any type.
const TABLES: [&str; 3] = ["Wemb", "Wpos", "Wtype"];

/// Type of an item's elements.
#[derive(Clone, Copy)]
enum Element {
    Plain(Dtype),
    /// Signed bytes, then the f32 that the weights were multiplied with.
    Intgemm8,
}

/// An item of the file.
struct Item {
    name: String,
    element: Element,
    shape: Vec<usize>,
    offset: u64,
    bytes: u64,
}

/// Opens the weights of a folder; `None` if it has none of this format.
pub(in crate::model) fn file(files: &ModelFiles) -> Result<Option<ByteSource>, ModelError> {
    let Some(student) = StudentFiles::find(files)? else { return Ok(None) };
    let file = student_files::open(files, &student.weights)?;
    // CTranslate2's weights have this name, too
    let is_foreign = student.weights == "model.bin" && !has_version(&file)?;
    Ok((!is_foreign).then_some(file))
}

pub(super) fn open(files: &ModelFiles) -> Result<Option<Found>, ModelError> {
    let Some(file) = file(files)? else { return Ok(None) };
    let mut tensors = BTreeMap::new();
    for item in items(&file)? {
        if !item.name.starts_with("special:") {
            let info = tensor(&item);
            tensors.insert(item.name, info);
        }
    }
    Ok(Some(Found { label: file.label().to_owned(), format: "Marian", files: vec![file], tensors }))
}

/// Whether a file begins as a Marian binary.
fn has_version(file: &ByteSource) -> Result<bool, ModelError> {
    let mut version = [0; 8];
    if file.len() >= PREFIX {
        file.read_at(0, &mut version)?;
    }
    Ok(u64::from_le_bytes(version) == VERSION)
}

/// The text of `special:model.yml`.
pub(in crate::model) fn options(file: &ByteSource) -> Result<String, ModelError> {
    let invalid = |problem: String| ModelError::InvalidCheckpoint { file: file.label().to_owned(), problem };
    let items = items(file)?;
    let Some(item) = items.iter().find(|item| item.name == OPTIONS) else {
        return Err(invalid(format!("it has no {OPTIONS:?}, the options of the model")));
    };
    if item.bytes > OPTIONS_LIMIT {
        return Err(invalid(format!(
            "{OPTIONS:?} has {} bytes; at most {OPTIONS_LIMIT} are expected",
            item.bytes
        )));
    }
    let mut text = vec![0; item.bytes as usize];
    file.read_at(item.offset, &mut text)?;
    let text = String::from_utf8(text).map_err(|_| invalid(format!("{OPTIONS:?} is not UTF-8")))?;
    Ok(text.trim_end_matches('\0').to_owned())
}

/// Reads a stretch of the file from front to back.
struct Cursor<'f> {
    file: &'f ByteSource,
    place: u64,
}

impl Cursor<'_> {
    fn take(&mut self, bytes: u64, what: &str) -> Result<Vec<u8>, ModelError> {
        let left = self.file.len().saturating_sub(self.place);
        if bytes > left {
            return Err(self.invalid(format!("{what} would end after the file (it may be incomplete)")));
        }
        let mut taken = vec![0; bytes as usize];
        self.file.read_at(self.place, &mut taken)?;
        self.place += bytes;
        Ok(taken)
    }

    fn invalid(&self, problem: String) -> ModelError {
        ModelError::InvalidCheckpoint { file: self.file.label().to_owned(), problem }
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word))
}

/// All items, with their data inside the file.
fn items(file: &ByteSource) -> Result<Vec<Item>, ModelError> {
    let mut cursor = Cursor { file, place: 0 };
    let prefix: Vec<u64> = words(&cursor.take(PREFIX, "its prefix")?).collect();
    if prefix[0] != VERSION {
        let problem = format!("it is not a Marian binary: its version is {}, not {VERSION}", prefix[0]);
        return Err(cursor.invalid(problem));
    }
    if prefix[1] > MOST_ITEMS {
        return Err(cursor.invalid(format!("it has {} items; at most {MOST_ITEMS} are expected", prefix[1])));
    }
    let headers: Vec<u64> = words(&cursor.take(prefix[1] * HEADER, "the headers of its items")?).collect();
    let (headers, _) = headers.as_chunks::<4>();
    let mut named = Vec::with_capacity(headers.len());
    for &[name_bytes, code, axes, bytes] in headers {
        let name = cursor.take(name_bytes, "the name of an item")?;
        let name = match name.split_last() {
            Some((0, name)) if !name.contains(&0) => String::from_utf8(name.to_vec()).ok(),
            _ => None,
        };
        let name = name.ok_or_else(|| cursor.invalid("the name of an item is not text".to_owned()))?;
        let element = element(code).map_err(|kind| cursor.invalid(format!("the item {name:?} is {kind}")))?;
        named.push((name, element, axes, bytes));
    }
    let mut items = Vec::with_capacity(named.len());
    for (name, element, axes, bytes) in named {
        let shape = shape(&mut cursor, &name, axes)?;
        items.push(Item { name, element, shape, offset: 0, bytes });
    }
    let padding = words(&cursor.take(8, "its padding")?).next().unwrap_or_default();
    cursor.place = cursor.place.saturating_add(padding);
    place(&cursor, &mut items)?;
    Ok(items)
}

fn shape(cursor: &mut Cursor, name: &str, axes: u64) -> Result<Vec<usize>, ModelError> {
    if axes > MOST_AXES {
        let problem = format!("the item {name:?} has {axes} axes; at most {MOST_AXES} are expected");
        return Err(cursor.invalid(problem));
    }
    let sizes = cursor.take(4 * axes, "the shape of an item")?;
    let sizes = sizes.as_chunks().0.iter().map(|&size| usize::try_from(i32::from_le_bytes(size)));
    let sizes: Result<Vec<usize>, _> = sizes.collect();
    sizes.map_err(|_| cursor.invalid(format!("the item {name:?} has a negative size")))
}

/// Sets the offsets of the items, from the cursor on, after a check of their lengths and names.
fn place(cursor: &Cursor, items: &mut [Item]) -> Result<(), ModelError> {
    let mut offset = cursor.place;
    if offset > cursor.file.len() {
        return Err(cursor.invalid("its padding would end after the file (it may be incomplete)".to_owned()));
    }
    for item in &mut *items {
        item.offset = offset;
        let end = offset.checked_add(item.bytes).filter(|&end| end <= cursor.file.len());
        let Some(end) = end else {
            let problem = format!("the item {:?} would end after the file (it may be incomplete)", item.name);
            return Err(cursor.invalid(problem));
        };
        let elements = item.shape.iter().try_fold(1u64, |product, &size| product.checked_mul(size as u64));
        let needed = elements.and_then(|elements| match item.element {
            Element::Plain(dtype) => elements.checked_mul(dtype.bitsize() as u64 / 8),
            Element::Intgemm8 => elements.checked_add(4),
        });
        if needed.is_none_or(|needed| needed > item.bytes) {
            let (name, shape, bytes) = (&item.name, &item.shape, item.bytes);
            return Err(
                cursor.invalid(format!("the item {name:?} of shape {shape:?} has {bytes} bytes, too few"))
            );
        }
        offset = end;
    }
    let mut names: Vec<&str> = items.iter().map(|item| &*item.name).collect();
    sorting::sort(&mut names);
    if let Some([name, _]) = names.array_windows().find(|[one, other]| one == other) {
        return Err(cursor.invalid(format!("it has two items {name:?}")));
    }
    match cursor.file.len() - offset {
        0..MOST_PADDING => Ok(()),
        more => Err(cursor.invalid(format!("{more} bytes follow its last item"))),
    }
}

/// The type of a code; the error describes a type that cannot be read.
fn element(code: u64) -> Result<Element, String> {
    const INTGEMM: u64 = 0x4000;
    const PACKED: u64 = 0x0800;
    Ok(Element::Plain(match code {
        0x0101 => Dtype::I8,
        0x0102 => Dtype::I16,
        0x0104 => Dtype::I32,
        0x0108 => Dtype::I64,
        0x0201 => Dtype::U8,
        0x0202 => Dtype::U16,
        0x0204 => Dtype::U32,
        0x0208 => Dtype::U64,
        0x0402 => Dtype::F16,
        0x0404 => Dtype::F32,
        0x0408 => Dtype::F64,
        0x4101 => return Ok(Element::Intgemm8),
        0x4102 => return Err("in 16 bits (intgemm16); 8 bits (intgemm8) and float32 are read".to_owned()),
        code if code & (INTGEMM | PACKED) != 0 => {
            return Err(format!(
                "in a form for one kind of processor (type {code:#06x}); take the portable file, \
                 \"….intgemm8.bin\" or \"….intgemm.alphas.bin\""
            ));
        }
        code => return Err(format!("of the unknown type {code:#06x}")),
    }))
}

/// The tensor of an item, in the layout of this module's description.
fn tensor(item: &Item) -> TensorInfo {
    let mut shape = &item.shape[..];
    while let [1, rest @ ..] = shape
        && !rest.is_empty()
    {
        shape = rest;
    }
    let (dtype, in_8_bits) = match item.element {
        Element::Plain(dtype) => (dtype, false),
        Element::Intgemm8 => (Dtype::I8, true),
    };
    let mut info = TensorInfo::new(dtype, shape.to_vec(), 0, item.offset);
    if in_8_bits {
        let elements = item.shape.iter().product::<usize>() as u64;
        info.scales = Some(Scales { axis: ScaleAxis::Whole, offset: item.offset + elements });
    }
    let is_table = TABLES.iter().any(|part| item.name.contains(part));
    if in_8_bits
        && !is_table
        && let &[rows, _] = shape
    {
        info.strides = Some(vec![1, rows]);
    }
    info
}
