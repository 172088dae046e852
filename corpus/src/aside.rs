//! Rows with a value that the output's format cannot hold: they go among the bad rows, and the run goes on.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray, UInt64Array};
use arrow_schema::ArrowError;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::{take, take_record_batch};

use super::convert::texts;
use super::error::CorpusError;
use super::format::Format;
use super::json;
use super::rows::{BadRow, Rows};

/// Where rows come from, and where they go.
#[derive(Clone, Copy)]
pub struct Way<'a> {
    pub file: &'a str,
    /// Rows of the file before the part.
    pub first_row: u64,
    pub format: Format,
    /// Whether the rows have all their columns.
    pub is_complete: bool,
}

/// Moves the rows that cannot be written from `chunks` to `bad`, which has those that could not be read.
pub fn set_aside(way: Way<'_>, chunks: Vec<Rows>, bad: &mut Vec<BadRow>) -> Result<Vec<Rows>, CorpusError> {
    if way.format == Format::Parquet {
        return Ok(chunks);
    }
    let gaps: BTreeSet<u64> = bad.iter().map(|row| row.row).collect();
    let mut numbers = (way.first_row + 1..).filter(|number| !gaps.contains(number));
    let kept = chunks.into_iter().map(|rows| match rows {
        Rows::Table(batch) => {
            let numbers: Vec<u64> = numbers.by_ref().take(batch.num_rows()).collect();
            Ok(Rows::Table(without_faults(way, batch, &numbers, bad)?))
        }
        rows @ Rows::Json(_) => Ok(rows),
    });
    let kept = kept.collect::<Result<_, _>>()?;
    bad.sort_by_key(|row| row.row);
    Ok(kept)
}

fn without_faults(
    way: Way<'_>,
    batch: RecordBatch,
    numbers: &[u64],
    bad: &mut Vec<BadRow>,
) -> Result<RecordBatch, CorpusError> {
    let mut reasons: Vec<Option<String>> = vec![None; batch.num_rows()];
    let schema = batch.schema();
    let last = way.is_complete.then(|| batch.num_columns() - 1);
    for (index, (column, field)) in batch.columns().iter().zip(schema.fields()).enumerate() {
        for (row, problem) in faults(column, way.format, Some(index) == last) {
            reasons[row].get_or_insert_with(|| format!("column {:?} {problem}", field.name()));
        }
    }
    if reasons.iter().all(Option::is_none) {
        return Ok(batch);
    }
    let failed = |error: ArrowError| CorpusError::Convert {
        file: way.file.to_owned(),
        problem: format!("rows cannot be left out: {error}"),
    };
    for (row, reason) in reasons.iter().enumerate() {
        let Some(reason) = reason else { continue };
        let content =
            content(&take_record_batch(&batch, &UInt64Array::from(vec![row as u64])).map_err(failed)?);
        bad.push(BadRow { file: way.file.to_owned(), row: numbers[row], reason: reason.clone(), content });
    }
    let fits: BooleanArray = reasons.iter().map(|reason| Some(reason.is_none())).collect();
    filter_record_batch(&batch, &fits).map_err(failed)
}

/// Rows of a column with a value that the format cannot hold. A type that it cannot hold was refused before the run.
fn faults(column: &ArrayRef, format: Format, is_last: bool) -> Vec<(usize, String)> {
    let kind = column.data_type();
    if (kind.is_temporal() || kind.is_nested()) && fits(column, format).is_err() {
        let problem = |row| {
            let one = take(column, &UInt64Array::from(vec![row as u64]), None);
            let error = one.and_then(|one| fits(&one, format)).err()?;
            Some((row, format!("has a value that {} cannot hold: {error}", format.ending())))
        };
        return (0..column.len()).filter_map(problem).collect();
    }
    let texts = (format == Format::Tsv).then(|| texts(column));
    match texts {
        Some(Ok(found)) => (0..found.len())
            .filter(|&row| breaks_line(&found, row, is_last))
            .map(|row| (row, "has a tab or a line break, which TSV cannot hold".into()))
            .collect(),
        _ => Vec::new(),
    }
}

/// Whether a format can hold all values of a column.
fn fits(column: &ArrayRef, format: Format) -> Result<(), ArrowError> {
    match format {
        Format::Csv | Format::Tsv => texts(column).map(drop),
        _ => {
            let column = RecordBatch::try_from_iter_with_nullable([("x", Arc::clone(column), true)])?;
            json::write(&mut std::io::sink(), &column)
        }
    }
}

/// Whether a value ends the value or the line. A carriage return does so only before the line's end.
fn breaks_line(column: &StringArray, row: usize, is_last: bool) -> bool {
    let value = if column.is_valid(row) { column.value(row) } else { "" };
    value.contains(['\t', '\n']) || is_last && value.ends_with('\r')
}

/// A row as a line of JSON, or as far as it has texts.
fn content(row: &RecordBatch) -> String {
    let mut line = Vec::new();
    if json::write(&mut line, row).is_ok() {
        return String::from_utf8_lossy(&line).trim_end().to_owned();
    }
    let value = |column| {
        let texts = texts(column).ok()?;
        texts.is_valid(0).then(|| texts.value(0).to_owned())
    };
    row.columns().iter().map(|column| value(column).unwrap_or_default()).collect::<Vec<_>>().join("\t")
}
