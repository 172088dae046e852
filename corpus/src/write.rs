//! Writes the rows of a part.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_json::writer::{LineDelimited, WriterBuilder};
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::error::CorpusError;
use super::format::Format;
use super::rows::Rows;

/// Writes rows, and syncs them to disk.
///
/// * `header`: whether the first line of a CSV or TSV file has the names of the columns
/// * `from`: the rows' file, for errors
pub fn write(
    path: &Path,
    format: Format,
    rows: Vec<Rows>,
    header: bool,
    from: &str,
) -> Result<(), CorpusError> {
    let failed = |source| CorpusError::io(format!("cannot write {}", path.display()), source);
    let file = File::create(path).map_err(failed)?;
    let mut writer = BufWriter::with_capacity(1 << 18, file);
    match format {
        Format::Parquet => parquet(&mut writer, rows, from, &failed)?,
        Format::JsonLines | Format::Lines => json_lines(&mut writer, rows, from, &failed)?,
        Format::Csv => {
            let mut csv = csv::Writer::from_writer(&mut writer);
            let refused = |error: csv::Error| failed(io::Error::other(error));
            records(rows, header, from, |record| csv.write_record(record).map_err(refused))?;
            csv.flush().map_err(failed)?;
        }
        Format::Tsv => records(rows, header, from, |record| {
            let problem = "a value has a tab or a line break, which TSV cannot hold; write another format with --format";
            if record.iter().any(|value| value.contains(['\t', '\n', '\r'])) {
                return Err(CorpusError::Convert { file: from.to_owned(), problem: problem.into() });
            }
            writeln!(writer, "{}", record.join("\t")).map_err(failed)
        })?,
    }
    let file = writer.into_inner().map_err(|error| failed(error.into_error()))?;
    file.sync_all().map_err(failed)
}

/// The error of rows whose format cannot be changed.
fn refused(from: &str, problem: impl Into<String>) -> CorpusError {
    CorpusError::Convert { file: from.to_owned(), problem: problem.into() }
}

const JSON_STAYS: &str =
    "JSON Lines have no columns of one type, so they are written as JSON Lines; leave --format out";

fn parquet(
    writer: &mut (impl Write + Send),
    rows: Vec<Rows>,
    from: &str,
    failed: &dyn Fn(io::Error) -> CorpusError,
) -> Result<(), CorpusError> {
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(Default::default())).build();
    let mut open: Option<ArrowWriter<_>> = None;
    let mut writer = Some(writer);
    for rows in rows {
        let Rows::Table(batch) = rows else { return Err(refused(from, JSON_STAYS)) };
        if let Some(writer) = writer.take() {
            let new = ArrowWriter::try_new(writer, batch.schema(), Some(properties.clone()));
            open = Some(new.map_err(|error| failed(io::Error::other(error)))?);
        }
        if let Some(open) = &mut open {
            open.write(&batch).map_err(|error| failed(io::Error::other(error)))?;
        }
    }
    match open {
        None => Ok(()),
        Some(open) => open.close().map(drop).map_err(|error| failed(io::Error::other(error))),
    }
}

fn json_lines(
    writer: &mut impl Write,
    rows: Vec<Rows>,
    from: &str,
    failed: &dyn Fn(io::Error) -> CorpusError,
) -> Result<(), CorpusError> {
    for rows in rows {
        match rows {
            Rows::Json(rows) => {
                for row in rows {
                    writeln!(writer, "{}", row.object).map_err(failed)?;
                }
            }
            Rows::Table(batch) => {
                let mut json =
                    WriterBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(&mut *writer);
                json.write(&batch)
                    .and_then(|()| json.finish())
                    .map_err(|error| refused(from, format!("cannot be written as JSON Lines: {error}")))?;
            }
        }
    }
    Ok(())
}

/// Hands on the names, if there is a `header`, and the rows of tables as texts. Null is the empty text.
fn records(
    rows: Vec<Rows>,
    header: bool,
    from: &str,
    mut write: impl FnMut(&[&str]) -> Result<(), CorpusError>,
) -> Result<(), CorpusError> {
    for (index, rows) in rows.into_iter().enumerate() {
        let Rows::Table(batch) = rows else { return Err(refused(from, JSON_STAYS)) };
        let schema = batch.schema();
        if index == 0 && header {
            write(&schema.fields().iter().map(|field| &**field.name()).collect::<Vec<_>>())?;
        }
        let columns = texts(&batch, from)?;
        for row in 0..batch.num_rows() {
            let value =
                |column: &StringArray| if column.is_null(row) { "" } else { column.value(row) }.to_owned();
            let values: Vec<String> = columns.iter().map(value).collect();
            write(&values.iter().map(|value| &**value).collect::<Vec<_>>())?;
        }
    }
    Ok(())
}

/// The columns of a table as texts.
fn texts(batch: &RecordBatch, from: &str) -> Result<Vec<StringArray>, CorpusError> {
    let schema = batch.schema();
    let columns = batch.columns().iter().zip(schema.fields());
    let text = columns.map(|(column, field)| {
        let problem = || {
            let (name, kind) = (field.name(), column.data_type());
            refused(
                from,
                format!("column {name:?} of type {kind} is no text; write parquet or jsonl with --format"),
            )
        };
        match column.data_type().is_nested() {
            true => Err(problem()),
            false => cast(column, &DataType::Utf8).map_err(|_| problem()),
        }
    });
    text.map(|column| column.map(|column| column.as_string::<i32>().clone())).collect()
}
