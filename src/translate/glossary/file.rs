//! The lines of a glossary.

use std::collections::HashMap;

use super::error::GlossaryError;

/// Forms of a term: its target and inflections.
const MAX_FORMS: usize = 32;

/// When a term is found, by upper and lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseRule {
    /// In any case. Its target may also begin with an upper-case letter, as at the beginning of a sentence.
    Any,
    /// As it is written.
    Exact,
}

/// One term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlossaryEntry {
    /// As in the text to translate.
    pub source: String,
    /// Target forms, any of which will do; empty: the term is not translated.
    pub forms: Vec<String>,
    /// When it is found.
    pub case: CaseRule,
    /// Line of the file, from 1.
    pub line: usize,
}

/// A glossary as it was written.
///
/// A line is `SOURCE TAB TARGET [TAB INFLECTIONS [TAB RULE]]`. Inflections are separated by `|`. A target `=` says that the term stays
/// as it is. `SOURCE = TARGET` without a tab is a line, too. The rule is `exact`, `any`, or nothing: then a source with an upper-case
/// letter is found as it is written, any other in any case. Empty lines, and lines that begin with `#` and have no tab, say nothing.
///
/// ```
/// use wordloom::translate::{CaseRule, GlossaryFile};
///
/// let file = GlossaryFile::parse("terms.tsv", "ticket\tBillett\tBilletts|Billette\nWordloom\t=\n".as_bytes())?;
/// assert_eq!(file.entries[0].forms, ["Billett", "Billetts", "Billette"]);
/// assert_eq!((file.entries[1].forms.len(), file.entries[1].case), (0, CaseRule::Exact));
/// # Ok::<(), wordloom::translate::GlossaryError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlossaryFile {
    /// Its name, for messages.
    pub name: String,
    /// Terms, in the order of the lines.
    pub entries: Vec<GlossaryEntry>,
}

impl GlossaryFile {
    /// Bytes of the largest glossary: some hundred thousand terms.
    pub const MAX_BYTES: usize = 16 << 20;

    /// Reads the contents of a file.
    ///
    /// # Errors
    /// [`GlossaryError`] with the line.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, GlossaryError> {
        let file = || name.to_owned();
        if bytes.len() > Self::MAX_BYTES {
            return Err(GlossaryError::TooLarge { file: file(), bytes: bytes.len(), limit: Self::MAX_BYTES });
        }
        let mut entries: Vec<GlossaryEntry> = Vec::new();
        let mut by_source: HashMap<String, usize> = HashMap::new();
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        for (line, text) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
            let text =
                std::str::from_utf8(text).map_err(|_| GlossaryError::NotUtf8 { file: file(), line })?;
            let text = text.strip_suffix('\r').unwrap_or(text);
            if let Some(character) = text.chars().find(|&c| c.is_control() && c != '\t') {
                return Err(GlossaryError::Control { file: file(), line, character });
            }
            if text.trim().is_empty() || text.starts_with('#') && !text.contains('\t') {
                continue;
            }
            let entry = parse_line(name, line, text)?;
            match by_source.get(&entry.source) {
                None => {
                    by_source.insert(entry.source.clone(), entries.len());
                    entries.push(entry);
                }
                Some(&first) => {
                    let first = &entries[first];
                    if (&first.forms, first.case) != (&entry.forms, entry.case) {
                        let (source_term, first) = (entry.source, first.line);
                        return Err(GlossaryError::Conflict { file: file(), line, source_term, first });
                    }
                }
            }
        }
        if entries.is_empty() {
            return Err(GlossaryError::NoTerms { file: file() });
        }
        Ok(Self { name: file(), entries })
    }
}

fn parse_line(name: &str, line: usize, text: &str) -> Result<GlossaryEntry, GlossaryError> {
    let file = || name.to_owned();
    // as people type them, where a tab is hard to type
    let typed = || text.split_once('=').map(|(source, target)| vec![source, target]);
    let columns = if text.contains('\t') { None } else { typed() };
    let columns = columns.unwrap_or_else(|| text.split('\t').collect());
    let columns: Vec<&str> = columns.into_iter().map(str::trim).collect();
    let (source, target, inflections, rule) = match columns[..] {
        [source, target] => (source, target, "", ""),
        [source, target, inflections] => (source, target, inflections, ""),
        [source, target, inflections, rule] => (source, target, inflections, rule),
        _ => return Err(GlossaryError::Columns { file: file(), line, columns: columns.len() }),
    };
    let empty = |what| GlossaryError::Empty { file: file(), line, what };
    let source = source.split_whitespace().collect::<Vec<_>>().join(" ");
    if source.is_empty() {
        return Err(empty("source"));
    }
    if target.is_empty() {
        return Err(empty("target"));
    }
    let case = match rule {
        "exact" => CaseRule::Exact,
        "any" => CaseRule::Any,
        "" if source.contains(char::is_uppercase) => CaseRule::Exact,
        "" => CaseRule::Any,
        rule => return Err(GlossaryError::Rule { file: file(), line, rule: rule.to_owned() }),
    };
    let mut forms = Vec::new();
    if target != "=" {
        forms.push(target.to_owned());
    }
    if !inflections.is_empty() {
        if target == "=" {
            return Err(GlossaryError::Inflected { file: file(), line });
        }
        for form in inflections.split('|').map(str::trim) {
            if form.is_empty() {
                return Err(empty("inflection"));
            }
            if forms.iter().all(|other| other != form) {
                forms.push(form.to_owned());
            }
        }
    }
    if forms.len() > MAX_FORMS {
        return Err(GlossaryError::TooManyForms { file: file(), line, forms: forms.len(), limit: MAX_FORMS });
    }
    Ok(GlossaryEntry { source, forms, case, line })
}
