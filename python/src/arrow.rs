//! Arrow columns in, Arrow columns out.

use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, GenericStringArray, OffsetSizeTrait, RecordBatch, RecordBatchIterator, StructArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
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
        let nullable = !matches!(self.array.data_type(), DataType::Struct(_));
        Field::new("", self.array.data_type().clone(), nullable)
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
        let (chunks, kind, whole) = match import(data)? {
            Arrow::Array(array) => {
                let kind = array.data_type().clone();
                (vec![array], kind, true)
            }
            Arrow::Chunks(chunks, kind) => (chunks, kind, false),
        };
        let DataType::Struct(fields) = &kind else {
            if let Some(column) = column {
                return Err(wrong_value(format!(
                    "column is {column:?}, but the data is one column; leave it out"
                )));
            }
            let array = call.column(py, &chunks, &kind)?;
            return Ok(Bound::new(py, ArrowArray { array })?.into_any());
        };
        let schema = Arc::new(Schema::new(fields.clone()));
        let index = place(&schema, column, output)?;
        let columns: Vec<ArrayRef> =
            chunks.iter().map(|chunk| chunk.as_struct().column(index).clone()).collect();
        let read = schema.field(index).data_type();
        let translated = call.column(py, &columns, read)?;
        let schema = appended(&schema, output, read);
        let mut first = 0;
        let batches = chunks.iter().map(|chunk| {
            let part = translated.slice(first, chunk.len());
            first += chunk.len();
            let columns = chunk.as_struct().columns().iter().cloned().chain([part]).collect();
            RecordBatch::try_new(schema.clone(), columns).or_raise()
        });
        let mut batches = batches.collect::<PyResult<Vec<_>>>()?;
        Ok(match whole {
            true => {
                let array: ArrayRef = Arc::new(StructArray::from(batches.remove(0)));
                Bound::new(py, ArrowArray { array })?.into_any()
            }
            false => Bound::new(py, ArrowTable { schema, batches })?.into_any(),
        })
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
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
