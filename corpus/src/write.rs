//! Writes the rows of a part.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use arrow_array::{Array, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::convert::{for_parquet, parquet_schema, texts};
use super::error::CorpusError;
use super::format::Format;
use super::json;
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
        // rows with a tab or a line break were set aside
        Format::Tsv => {
            records(rows, header, from, |record| writeln!(writer, "{}", record.join("\t")).map_err(failed))?
        }
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
    let failed = |error: ParquetError| failed(io::Error::other(error));
    let mut open: Option<ArrowWriter<_>> = None;
    let mut writer = Some(writer);
    for rows in rows {
        let Rows::Table(batch) = rows else { return Err(refused(from, JSON_STAYS)) };
        let batch = for_parquet(&batch)
            .map_err(|error| refused(from, format!("cannot be written as Parquet: {error}")))?;
        if let Some(writer) = writer.take() {
            let schema = batch.schema();
            let options = parquet_schema(&schema).map(|columns| {
                let pairs = schema.metadata().iter();
                let pairs = pairs.map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
                let properties = WriterProperties::builder()
                    .set_compression(Compression::ZSTD(Default::default()))
                    .set_key_value_metadata(Some(pairs))
                    .build();
                ArrowWriterOptions::new().with_properties(properties).with_parquet_schema(columns)
            });
            let new = options.and_then(|options| ArrowWriter::try_new_with_options(writer, schema, options));
            open = Some(new.map_err(failed)?);
        }
        if let Some(open) = &mut open {
            open.write(&batch).map_err(failed)?;
        }
    }
    open.map_or(Ok(()), |open| open.close().map(drop).map_err(failed))
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
                json::write(writer, &batch)
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
        let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| {
            let problem = |error| {
                let way_out = "write parquet or jsonl with --format";
                refused(
                    from,
                    format!("column {:?} cannot be written as text: {error}; {way_out}", field.name()),
                )
            };
            texts(column).map_err(problem)
        });
        let columns = columns.collect::<Result<Vec<StringArray>, _>>()?;
        for row in 0..batch.num_rows() {
            let value = |column| text_of(column, row);
            write(&columns.iter().map(value).collect::<Vec<_>>())?;
        }
    }
    Ok(())
}

fn text_of(column: &StringArray, row: usize) -> &str {
    if column.is_valid(row) { column.value(row) } else { "" }
}
