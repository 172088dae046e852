//! A table of translations: a line is `SOURCE TAB TARGET`.

use super::super::error::DocumentError;
use super::variants::Variants;

/// Reads the lines. Empty lines, and those that begin with `#` and have no tab, say nothing; further columns are ignored.
pub fn read(text: &str) -> Result<Vec<Variants>, DocumentError> {
    let mut units = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() || line.starts_with('#') && !line.contains('\t') {
            continue;
        }
        let Some((source, rest)) = line.split_once('\t') else {
            let problem = format!("line {number}: it has no tab between source and target");
            return Err(DocumentError::invalid("table of translations", problem));
        };
        let target = rest.split('\t').next().unwrap_or_default();
        units.push(vec![(None, source.to_owned()), (None, target.to_owned())]);
    }
    Ok(units)
}
