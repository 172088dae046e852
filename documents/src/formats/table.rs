//! Tables: fields with commas, semicolons or tabs between. The first row has the columns' names and stays.

use std::ops::Range;

use super::super::error::DocumentError;
use super::super::escape::Escape;
use super::super::inline::{Style, unit};
use super::super::message::{quoted, tokens};
use super::super::unit::{Markup, Units, append, push};

/// A field.
struct Field {
    row: usize,
    column: usize,
    /// Place of its text, without quotes.
    place: Range<usize>,
    is_quoted: bool,
}

/// Cuts a table.
///
/// * `columns`: names of columns, or numbers from 1; if empty, all
pub fn read(table: &str, columns: &[String], units: &mut Units) -> Result<Markup, DocumentError> {
    let separator = separator(table);
    let fields = fields(table, separator)?;
    let header: Vec<&str> =
        fields.iter().take_while(|field| field.row == 0).map(|field| &table[field.place.clone()]).collect();
    let mut chosen = Vec::with_capacity(columns.len());
    for column in columns {
        let named = header.iter().position(|name| name.trim() == column);
        let numbered = column.parse().ok().filter(|number| (1..=header.len()).contains(number));
        let index = named.or(numbered.map(|number: usize| number - 1));
        chosen.push(
            index.ok_or_else(|| DocumentError::NoColumn {
                column: column.clone(),
                columns: header.join(", "),
            })?,
        );
    }
    let mut parts = Markup::new();
    let mut done = 0;
    for field in fields {
        if field.row == 0 || !(chosen.is_empty() || chosen.contains(&field.column)) {
            continue;
        }
        let raw = &table[field.place.clone()];
        push(&mut parts, &table[done..field.place.start]);
        let (text, style) = match field.is_quoted {
            true => (raw.replace("\"\"", "\""), Style::new(Escape::Doubled)),
            // with tabs, a quote is a letter as any other
            false if separator == '\t' => (raw.to_owned(), Style::new(Escape::None)),
            false => (raw.to_owned(), quoted(separator)),
        };
        // without a line break, which would be lost in a unit
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                push(&mut parts, "\n");
            }
            unit(tokens(line, style.escape), style.clone(), units)
                .into_iter()
                .for_each(|part| append(&mut parts, part));
        }
        done = field.place.end;
    }
    push(&mut parts, &table[done..]);
    Ok(parts)
}

/// The most frequent separator of the first line.
fn separator(table: &str) -> char {
    let line = table.lines().next().unwrap_or_default();
    let count = |separator: &char| line.matches(*separator).count();
    [';', '\t', ','].into_iter().max_by_key(count).unwrap_or(',')
}

fn fields(table: &str, separator: char) -> Result<Vec<Field>, DocumentError> {
    let mut fields = Vec::new();
    let (mut row, mut column, mut at) = (0, 0, 0);
    while at < table.len() {
        let is_quoted = table[at..].starts_with('"') && separator != '\t';
        let place = if is_quoted {
            let end = end_of_quotes(table, at + 1).ok_or_else(|| {
                DocumentError::invalid("table", format!("row {}: a quote without an end", row + 1))
            })?;
            at + 1..end
        } else {
            let end = table[at..].find([separator, '\n', '\r']).map_or(table.len(), |index| at + index);
            at..end
        };
        at = place.end + usize::from(is_quoted);
        fields.push(Field { row, column, place, is_quoted });
        let rest = &table[at..];
        if rest.starts_with(separator) {
            column += 1;
            at += 1;
            continue;
        }
        let end = if rest.starts_with("\r\n") { 2 } else { usize::from(!rest.is_empty()) };
        if !rest.is_empty() && !rest.starts_with(['\n', '\r']) {
            return Err(DocumentError::invalid("table", format!("row {}: text behind a quote", row + 1)));
        }
        (row, column, at) = (row + 1, 0, at + end);
    }
    Ok(fields)
}

/// The place of the quote that ends a field.
fn end_of_quotes(table: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let quote = at + table[at..].find('"')?;
        if !table[quote + 1..].starts_with('"') {
            return Some(quote);
        }
        at = quote + 2;
    }
}
