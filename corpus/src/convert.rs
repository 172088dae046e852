//! Tables in formats that have fewer types than Arrow. What a format cannot hold is refused before anything is translated.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, new_null_array};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, TimeUnit};
use parquet::arrow::ArrowSchemaConverter;
use parquet::schema::types::SchemaDescriptor;

use super::error::CorpusError;
use super::format::Format;
use super::json;

/// A value that does not fit is an error, and never null.
const STRICT: CastOptions<'static> = CastOptions { safe: false, format_options: FormatOptions::new() };

/// Refuses a column whose type or name the format cannot hold.
///
/// * `added`: names of the columns that the file does not have yet
pub fn check(file: &str, schema: &Schema, added: &[String], format: Format) -> Result<(), CorpusError> {
    let names = schema.fields().iter().map(|field| field.name()).chain(added);
    if let Some(name) = names.filter(|_| format == Format::Tsv).find(|name| name.contains(['\t', '\n'])) {
        let problem = format!(
            "the name of column {name:?} has a tab or a line break, which TSV cannot hold; write another format with --format"
        );
        return Err(CorpusError::Convert { file: file.to_owned(), problem });
    }
    for field in schema.fields() {
        if holds(field, format) {
            continue;
        }
        let others = [Format::Parquet, Format::JsonLines, Format::Csv].into_iter();
        return Err(CorpusError::Column {
            file: file.to_owned(),
            column: field.name().clone(),
            kind: field.data_type().to_string(),
            format,
            others: others.filter(|other| schema.fields().iter().all(|field| holds(field, *other))).collect(),
        });
    }
    Ok(())
}

/// Whether a format can hold a column of this type: a row of null shows it. Values that it cannot hold, as years
/// of more than six digits, make bad rows.
fn holds(field: &Field, format: Format) -> bool {
    let row = || {
        let field = field.clone().with_nullable(true);
        let null = new_null_array(field.data_type(), 1);
        RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![null])
    };
    row().is_ok_and(|row| match format {
        Format::Parquet => parquet_schema(&row.schema()).is_ok(),
        Format::JsonLines | Format::Lines => json::write(&mut std::io::sink(), &row).is_ok(),
        Format::Csv | Format::Tsv => texts(row.column(0)).is_ok(),
    })
}

/// Values as texts, for formats that have no other type. Null stays null.
///
/// # Errors
/// The type or a value has no text.
pub fn texts(column: &ArrayRef) -> Result<StringArray, ArrowError> {
    let kind = column.data_type();
    if kind.is_temporal() {
        return times(column);
    }
    if kind.is_nested() || has_bytes(kind) {
        return Err(ArrowError::CastError(format!("{kind} is no text")));
    }
    cast_with_options(column, &DataType::Utf8, &STRICT).map(|texts| texts.as_string::<i32>().clone())
}

/// Whether values are bytes, which need not be text.
fn has_bytes(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => has_bytes(values),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            true
        }
        _ => false,
    }
}

/// Times as texts. Those of a zone with a name are written in UTC, because the rules of zones are not known here; it is the same instant.
///
/// # Errors
/// A time is out of the calendar's range.
pub fn times(array: &dyn Array) -> Result<StringArray, ArrowError> {
    let utc;
    let array = match array.data_type() {
        DataType::Timestamp(unit, Some(zone)) if !zone.starts_with(['+', '-']) => {
            utc = cast_with_options(array, &DataType::Timestamp(*unit, Some("+00:00".into())), &STRICT)?;
            &*utc
        }
        _ => array,
    };
    let options = FormatOptions::new().with_display_error(false);
    let formatter = ArrayFormatter::try_new(array, &options)?;
    let mut texts = StringBuilder::new();
    for row in 0..array.len() {
        let text = array.is_valid(row).then(|| formatter.value(row).try_to_string());
        texts.append_option(text.transpose()?);
    }
    Ok(texts.finish())
}

/// A table that Parquet holds without a loss: it has no seconds, so they become milliseconds.
///
/// # Errors
/// A time is out of range.
pub fn for_parquet(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let schema = with_types(&batch.schema(), &without_seconds);
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| {
        if column.data_type() == field.data_type() {
            return Ok(Arc::clone(column));
        }
        cast_with_options(column, field.data_type(), &STRICT)
    });
    RecordBatch::try_new(Arc::new(schema.clone()), columns.collect::<Result<_, _>>()?)
}

/// The Parquet schema of a table. Dates in milliseconds are dates; by default, they would be plain numbers.
///
/// # Errors
/// Parquet has no such type.
pub fn parquet_schema(schema: &Schema) -> parquet::errors::Result<SchemaDescriptor> {
    ArrowSchemaConverter::new().convert(&with_types(schema, &|kind| match kind {
        DataType::Date64 => DataType::Date32,
        kind => kind,
    }))
}

fn without_seconds(kind: DataType) -> DataType {
    match kind {
        DataType::Timestamp(TimeUnit::Second, zone) => DataType::Timestamp(TimeUnit::Millisecond, zone),
        DataType::Time32(TimeUnit::Second) => DataType::Time32(TimeUnit::Millisecond),
        kind => kind,
    }
}

/// A schema with other types of values, also of those in lists and structures.
fn with_types(schema: &Schema, change: &dyn Fn(DataType) -> DataType) -> Schema {
    let fields = schema.fields().iter().map(|field| with_type(field, change));
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}

fn with_type(field: &FieldRef, change: &dyn Fn(DataType) -> DataType) -> FieldRef {
    let inner = |field| with_type(field, change);
    let kind = match field.data_type().clone() {
        DataType::List(item) => DataType::List(inner(&item)),
        DataType::LargeList(item) => DataType::LargeList(inner(&item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(inner(&item), length),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        DataType::Map(entries, is_sorted) => DataType::Map(inner(&entries), is_sorted),
        DataType::Dictionary(keys, values) => DataType::Dictionary(keys, Box::new(change(*values))),
        kind => change(kind),
    };
    Arc::new(field.as_ref().clone().with_data_type(kind))
}
