//! Columns of strings: the different texts of a batch, and a column of the same type with their translations.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{
    AnyDictionaryArray, Array, ArrayRef, AsArray, GenericStringArray, OffsetSizeTrait, StringViewBuilder,
};
use datafusion::arrow::datatypes::DataType;

use crate::FunctionError;

/// Whether a column of this type has strings.
pub fn has_strings(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => {
            !matches!(**values, DataType::Dictionary(..)) && has_strings(values)
        }
        _ => false,
    }
}

/// Translates a column, each different text once. The result has its type and its nulls.
///
/// * `translate`: returns a translation for each of the different texts
pub fn translated(
    column: &ArrayRef,
    translate: impl FnOnce(&[&str]) -> Result<Vec<String>, FunctionError>,
) -> Result<ArrayRef, FunctionError> {
    match column.as_any_dictionary_opt() {
        Some(dictionary) => {
            let values = used_values(dictionary)?;
            let found = rows(dictionary.values(), values, translate)?;
            Ok(dictionary.with_values(found))
        }
        None => rows(column, texts(column)?, translate),
    }
}

/// Translates the rows of a column that is no dictionary.
fn rows(
    column: &ArrayRef,
    texts: Vec<Option<&str>>,
    translate: impl FnOnce(&[&str]) -> Result<Vec<String>, FunctionError>,
) -> Result<ArrayRef, FunctionError> {
    let mut indices = HashMap::new();
    let mut different = Vec::new();
    let mut index = |text| {
        *indices.entry(text).or_insert_with(|| {
            different.push(text);
            different.len() - 1
        })
    };
    let rows: Vec<Option<usize>> = texts.into_iter().map(|text| text.map(&mut index)).collect();
    let found = if different.is_empty() { Vec::new() } else { translate(&different)? };
    let rows: Vec<Option<&str>> = rows.into_iter().map(|row| row.map(|index| &*found[index])).collect();
    made(&rows, column.data_type())
}

/// The texts of a column, which [has strings](has_strings).
fn texts(column: &ArrayRef) -> Result<Vec<Option<&str>>, FunctionError> {
    match column.data_type() {
        DataType::Utf8 => Ok(column.as_string::<i32>().iter().collect()),
        DataType::LargeUtf8 => Ok(column.as_string::<i64>().iter().collect()),
        DataType::Utf8View => Ok(column.as_string_view().iter().collect()),
        kind => Err(FunctionError::NoString { argument: "text", kind: kind.clone() }),
    }
}

/// The values of a dictionary that its rows have: a batch can be a few rows of a large dictionary.
fn used_values(dictionary: &dyn AnyDictionaryArray) -> Result<Vec<Option<&str>>, FunctionError> {
    let mut values = texts(dictionary.values())?;
    if values.is_empty() {
        return Ok(values);
    }
    let mut used = vec![false; values.len()];
    for (row, key) in dictionary.normalized_keys().into_iter().enumerate() {
        used[key] |= dictionary.keys().is_valid(row);
    }
    for (value, used) in values.iter_mut().zip(used) {
        *value = value.filter(|_| used);
    }
    Ok(values)
}

/// A column of a type of strings.
fn made(rows: &[Option<&str>], kind: &DataType) -> Result<ArrayRef, FunctionError> {
    match kind {
        DataType::LargeUtf8 => Ok(Arc::new(strings::<i64>(rows))),
        DataType::Utf8View => {
            let mut builder = StringViewBuilder::with_capacity(rows.len());
            rows.iter().for_each(|row| builder.append_option(*row));
            Ok(Arc::new(builder.finish()))
        }
        _ => {
            let bytes: usize = rows.iter().flatten().map(|text| text.len()).sum();
            match i32::try_from(bytes) {
                Ok(_) => Ok(Arc::new(strings::<i32>(rows))),
                Err(_) => Err(FunctionError::TooLong),
            }
        }
    }
}

fn strings<O: OffsetSizeTrait>(rows: &[Option<&str>]) -> GenericStringArray<O> {
    rows.iter().copied().collect()
}
