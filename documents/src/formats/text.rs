//! Plain text: a text in each line.

use super::super::escape::Escape;
use super::super::inline::{Style, text_unit};
use super::super::unit::{Markup, Units, push};

/// Cuts a text at its line ends, which stay.
pub fn read(text: &str, units: &mut Units) -> Markup {
    let mut parts = Markup::new();
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches(['\r', '\n']);
        for part in text_unit(content, content, Style::new(Escape::None), units) {
            parts.push(part);
        }
        push(&mut parts, &line[content.len()..]);
    }
    parts
}
