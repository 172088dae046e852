//! Arrow columns in, Arrow columns out.

use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, GenericStringArray, OffsetSizeTrait, RecordBatch, RecordBatchIterator, StructArray,
    make_array,
};
use arrow_schema::{DataType, Field, FieldRef, Metadata, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::capsules::{ArrayCapsules, Arrow, export, export_schema, export_stream, import};
use crate::engine::Engine;
use crate::errors::{ArrowError, OrRaise, wrong_value};
use crate::run::{Cancel, Watch, run};
use crate::translate::{Options, translate_all};

/// A column, or a batch of columns, for any library that reads Arrow's C data interface.
#[pyclass(frozen, module = "wordloom")]
pub struct ArrowArray {
    array: ArrayRef,
    /// Name of the column; empty for a batch.
    name: String,
    /// Metadata of the schema.
    metadata: Metadata,
}

#[pymethods]
impl ArrowArray {
    /// Schema and array as capsules.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<ArrayCapsules<'py>> {
        drop(requested_schema); // "if the object cannot be converted, it may be exported as it is"
        export(py, &self.array, &self.field())
    }

    /// The schema as a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, &self.field())
    }

    fn __len__(&self) -> usize {
        self.array.len()
    }

    fn __repr__(&self) -> String {
        format!("<wordloom.ArrowArray: {} rows of {}>", self.array.len(), self.array.data_type())
    }

    /// The strings of a column; `None` for nulls.
    fn to_pylist(&self) -> PyResult<Vec<Option<String>>> {
        let rows = Rows::of(&self.array)?;
        Ok(rows.texts.into_iter().map(|text| text.map(str::to_owned)).collect())
    }
}

impl ArrowArray {
    fn field(&self) -> Field {
        // a batch is a struct without nulls
        let nullable = !matches!(self.array.data_type(), DataType::Struct(_)) || self.array.null_count() > 0;
        Field::new(&self.name, self.array.data_type().clone(), nullable).with_metadata(self.metadata.clone())
    }
}

/// Batches of columns, for any library that reads Arrow's C stream interface.
#[pyclass(frozen, module = "wordloom")]
pub struct ArrowTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl ArrowTable {
    /// The batches as a capsule.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        export_stream(py, Box::new(RecordBatchIterator::new(batches, self.schema.clone())))
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __repr__(&self) -> String {
        format!("<wordloom.ArrowTable: {} rows, {} columns>", self.__len__(), self.schema.fields().len())
    }
}

#[pymethods]
impl Engine {
    /// Translates a column. Of a batch or a table, `column` is translated and `output` is appended.
    #[pyo3(signature = (data, column, output, options, cancel=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "they are Python's")]
    fn translate_arrow<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        column: Option<&str>,
        output: &str,
        options: Options,
        cancel: Option<&Cancel>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let watch = Watch::new(cancel, progress);
        let call = Call { engine: self, watch: &watch, options: options.of(self, &watch)? };
        let (chunks, field, whole) = match import(data)? {
            Arrow::Array(array, field) => (vec![array], field, true),
            Arrow::Chunks(chunks, field) => (chunks, field, false),
        };
        let kind = field.data_type();
        let DataType::Struct(fields) = kind else {
            if let Some(column) = column {
                return Err(wrong_value(format!(
                    "column is {column:?}, but the data is one column; leave it out"
                )));
            }
            let array = call.column(py, &chunks, kind)?;
            let (name, metadata) = (field.name().clone(), Metadata::default());
            return Ok(Bound::new(py, ArrowArray { array, name, metadata })?.into_any());
        };
        let schema = Schema::new(fields.clone()).with_metadata(field.metadata().clone());
        let index = place(&schema, column, output)?;
        let structs: Vec<&StructArray> = chunks.iter().map(AsArray::as_struct).collect();
        // a row of a null struct has no text, whatever lies below
        let columns = structs.iter().map(|chunk| masked(chunk.column(index), chunk));
        let read = schema.field(index).data_type();
        let translated = call.column(py, &columns.collect::<PyResult<Vec<_>>>()?, read)?;
        let schema = appended(&schema, output, read);
        let mut first = 0;
        let parts = structs.iter().map(|chunk| {
            first += chunk.len();
            translated.slice(first - chunk.len(), chunk.len())
        });
        Ok(match whole {
            true => {
                let columns = structs[0].columns().iter().cloned().chain(parts).collect();
                let nulls = structs[0].nulls().cloned();
                let array = StructArray::try_new(schema.fields().clone(), columns, nulls).or_raise()?;
                let metadata = schema.metadata().clone();
                let name = String::new();
                Bound::new(py, ArrowArray { array: Arc::new(array), name, metadata })?.into_any()
            }
            false => Bound::new(py, table(&structs, parts, &schema)?)?.into_any(),
        })
    }
}

/// The batches of a stream's structs with a column more. A batch has no null rows: all columns of a null struct become null.
fn table(
    structs: &[&StructArray],
    parts: impl Iterator<Item = ArrayRef>,
    schema: &SchemaRef,
) -> PyResult<ArrowTable> {
    let schema = match structs.iter().any(|chunk| chunk.null_count() > 0) {
        true => {
            let nullable = |field: &FieldRef| field.as_ref().clone().with_nullable(true);
            let fields = schema.fields().iter().map(nullable).collect::<Vec<_>>();
            Arc::new(Schema::new(fields).with_metadata(schema.metadata().clone()))
        }
        false => schema.clone(),
    };
    let batches = structs.iter().zip(parts).map(|(chunk, part)| {
        let columns = chunk.columns().iter().map(|column| masked(column, chunk)).chain([Ok(part)]);
        RecordBatch::try_new(schema.clone(), columns.collect::<PyResult<_>>()?).or_raise()
    });
    Ok(ArrowTable { batches: batches.collect::<PyResult<_>>()?, schema })
}

/// A column of structs, with null where the struct is null.
fn masked(column: &ArrayRef, chunk: &StructArray) -> PyResult<ArrayRef> {
    if chunk.null_count() == 0 {
        return Ok(column.clone());
    }
    match column.data_type() {
        DataType::Null => Ok(column.clone()),
        kind @ (DataType::Union(..) | DataType::RunEndEncoded(..)) => Err(ArrowError::new_err(format!(
            "a row is null, which a column of {kind} cannot say; drop such rows, or pass an array instead of a stream"
        ))),
        _ => {
            let nulls = (0..column.len()).map(|row| chunk.is_valid(row) && column.is_valid(row));
            let data = column
                .to_data()
                .into_builder()
                .nulls(Some(nulls.collect::<Vec<_>>().into()))
                .build()
                .or_raise()?;
            Ok(make_array(data))
        }
    }
}

/// A call for a column.
struct Call<'a> {
    engine: &'a Engine,
    watch: &'a Watch,
    options: wordloom::TranslateOptions,
}

impl Call<'_> {
    /// Translates the chunks of a column together. The result has their type, and their nulls.
    fn column(&self, py: Python<'_>, chunks: &[ArrayRef], kind: &DataType) -> PyResult<ArrayRef> {
        let translator = self.engine.translator()?;
        let rows = chunks.iter().map(Rows::of).collect::<PyResult<Vec<_>>>()?;
        let rows: Vec<Option<&str>> = rows.into_iter().flat_map(|rows| rows.texts).collect();
        let texts: Vec<&str> = rows.iter().copied().flatten().collect();
        let translated =
            run(py, self.watch, |done| translate_all(translator, &texts, &self.options, done))?.or_raise()?;
        let mut translated = translated.iter();
        let text = |row: &Option<&str>| row.and_then(|_| translated.next()).map(|found| found.text.as_str());
        let found: Vec<Option<&str>> = rows.iter().map(text).collect();
        made(&found, kind)
    }
}

/// Rows of a column of strings.
struct Rows<'a> {
    texts: Vec<Option<&'a str>>,
}

impl<'a> Rows<'a> {
    fn of(array: &'a ArrayRef) -> PyResult<Self> {
        let texts = match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().iter().collect(),
            DataType::LargeUtf8 => array.as_string::<i64>().iter().collect(),
            DataType::Utf8View => array.as_string_view().iter().collect(),
            DataType::Null => vec![None; array.len()],
            kind => return Err(no_strings(kind)),
        };
        Ok(Self { texts })
    }
}

fn no_strings(kind: &DataType) -> PyErr {
    ArrowError::new_err(format!(
        "the column is {kind}; cast it to string, large_string or string_view (of a batch, name the column)"
    ))
}

/// A column of a type of strings.
fn made(texts: &[Option<&str>], kind: &DataType) -> PyResult<ArrayRef> {
    let bytes: usize = texts.iter().flatten().map(|text| text.len()).sum();
    match kind {
        DataType::Utf8 | DataType::Null if i32::try_from(bytes).is_err() => Err(ArrowError::new_err(
            "the translations have more than 2 GiB, which a column of string cannot hold; pass large_string, or batches",
        )),
        DataType::Utf8 | DataType::Null => Ok(Arc::new(strings::<i32>(texts))),
        DataType::LargeUtf8 => Ok(Arc::new(strings::<i64>(texts))),
        DataType::Utf8View => {
            let mut builder = StringViewBuilder::new();
            texts.iter().for_each(|text| builder.append_option(*text));
            Ok(Arc::new(builder.finish()))
        }
        kind => Err(no_strings(kind)),
    }
}

fn strings<O: OffsetSizeTrait>(texts: &[Option<&str>]) -> GenericStringArray<O> {
    texts.iter().copied().collect()
}

/// Index of the translated column, if `output` can be appended.
fn place(schema: &Schema, column: Option<&str>, output: &str) -> PyResult<usize> {
    let names = || schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", ");
    let Some(column) = column else {
        return Err(wrong_value(format!("which column is translated? Give column=, one of: {}", names())));
    };
    if schema.index_of(output).is_ok() {
        return Err(wrong_value(format!(
            "there is a column {output:?} already; give another name as output="
        )));
    }
    schema
        .index_of(column)
        .map_err(|_| wrong_value(format!("there is no column {column:?}; there are: {}", names())))
}

fn appended(schema: &Schema, output: &str, kind: &DataType) -> SchemaRef {
    let kind = if *kind == DataType::Null { DataType::Utf8 } else { kind.clone() };
    let fields = schema.fields().iter().cloned().chain([Arc::new(Field::new(output, kind, true))]);
    Arc::new(Schema::new(fields.collect::<Vec<_>>()).with_metadata(schema.metadata().clone()))
}
