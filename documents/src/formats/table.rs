//! Tables: fields with commas, semicolons or tabs between. The first row has the columns' names and stays. So do formulas.

use std::ops::Range;
use std::sync::LazyLock;

use regex_lite::Regex;

use super::super::error::DocumentError;
use super::super::escape::Escape;
use super::super::inline::{Style, unit};
use super::super::message::{quoted, tokens};
use super::super::placeholders::is_code;
use super::super::unit::{Markup, Units, append, push};

/// A formula of a spreadsheet: `=SUM(A1)`, `=A1+B1`, `="a"&B1`, `=-2`. Text may begin with `=`, too: `=> see below`.
static FORMULA: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^=[-+( ]*(?:[0-9.'"{\[@$]|[A-Za-z_\x{80}-\x{10FFFF}][0-9A-Za-z_.$\x{80}-\x{10FFFF}]*(?:$| ?[(!:*/^&=<>+-]))"#)
        .expect("a regular expression")
});
/// Excel's first line that names the separator.
const SEPARATOR: &str = "sep=";

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
/// * `known`: the separator, if the file's ending tells it
/// * `columns`: names of columns, or numbers from 1; if empty, all
pub fn read(
    table: &str,
    known: Option<char>,
    columns: &[String],
    units: &mut Units,
) -> Result<Markup, DocumentError> {
    let found = || (0, known.unwrap_or_else(|| separator(table)));
    let (start, separator) = named_separator(table).unwrap_or_else(found);
    let fields = fields(table, start, separator)?;
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
        if FORMULA.is_match(raw) || is_code(raw) {
            continue;
        }
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

/// The separator that Excel's first line names, with the length of that line.
fn named_separator(table: &str) -> Option<(usize, char)> {
    let line = table.lines().next()?;
    let (key, value) = line.split_at_checked(SEPARATOR.len())?;
    let mut value = value.chars();
    let separator =
        value.next().filter(|&separator| separator != '"' && key.eq_ignore_ascii_case(SEPARATOR))?;
    let end = table.find('\n').map_or(table.len(), |end| end + 1);
    value.next().is_none().then_some((end, separator))
}

/// The separator of the first row, by what is outside of quotes: tabs if there is one, because names in a table with tabs have
/// commas more often than names in a table with commas have tabs.
fn separator(table: &str) -> char {
    const SEPARATORS: [char; 3] = [';', ',', '\t'];
    let mut counts = [0; SEPARATORS.len()];
    let (mut at, mut is_start) = (0, true);
    while let Some(character) = table[at..].chars().next().filter(|c| !matches!(c, '\n' | '\r')) {
        let quoted = if is_start && character == '"' { end_of_quotes(table, at + 1) } else { None };
        // a quote in a table with tabs is a letter
        let ends_field = |c: char| matches!(c, '\n' | '\r') || SEPARATORS.contains(&c);
        let quoted = quoted.filter(|end| table[end + 1..].chars().next().is_none_or(ends_field));
        let found = SEPARATORS.iter().position(|&separator| separator == character);
        if let Some(index) = found {
            counts[index] += 1;
        }
        is_start = found.is_some();
        at = quoted.map_or(at + character.len_utf8(), |end| end + 1);
    }
    match counts {
        [_, _, tabs] if tabs > 0 => '\t',
        [semicolons, commas, _] if semicolons > commas => ';',
        _ => ',',
    }
}

/// * `at`: where the first row begins
fn fields(table: &str, mut at: usize, separator: char) -> Result<Vec<Field>, DocumentError> {
    let mut fields = Vec::new();
    let (mut row, mut column) = (0, 0);
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
            at += separator.len_utf8();
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
