//! Raised and lowered numbers, as in HTML: a reference to a note is no part of the sentence, and a formula (`H2O`) is one word that stays.

use super::super::super::formats::indices::{formula, is_prose};
use super::super::super::inline::Inline;
use super::super::super::unit::{Markup, append, copied, push};
use super::{Item, Reader};

impl Reader<'_, '_> {
    /// Joins the items of each formula.
    pub fn with_indices(&self, items: Vec<Item>) -> Vec<Item> {
        if !items.iter().any(is_index) {
            return items;
        }
        let mut joined: Vec<Item> = Vec::with_capacity(items.len());
        // whether the last item is a formula
        let mut is_open = false;
        for item in items {
            let was_open = std::mem::take(&mut is_open);
            let is_index = is_index(&item);
            match item {
                Item::Text(format, tokens) if is_index => {
                    let index = self.text_run(&format, &text(&tokens).0);
                    if was_open && let Some(Item::Kept { markup, .. }) = joined.last_mut() {
                        index.into_iter().for_each(|part| append(markup, part));
                        is_open = true;
                        continue;
                    }
                    let before = joined.last().map(text_of).unwrap_or_default();
                    let base = &before[formula(&before)..];
                    match is_prose(base) {
                        true if before.is_empty() || format.contains(LOWERED) => {
                            joined.push(Item::Text(format, tokens))
                        }
                        true => joined.push(Item::Between(index)),
                        false => {
                            let base = base.to_owned();
                            let mut markup = self.taken(&mut joined, &base);
                            index.into_iter().for_each(|part| append(&mut markup, part));
                            joined.push(Item::Kept { markup, is_word: true });
                            is_open = true;
                        }
                    }
                }
                Item::Text(format, mut tokens) if was_open => {
                    // what is written behind without a space
                    if let Some(Inline::Text { raw, text }) = tokens.first_mut() {
                        let length = text.len() - text.trim_start_matches(char::is_alphanumeric).len();
                        if raw.starts_with(&text[..length])
                            && length > 0
                            && let Some(Item::Kept { markup, .. }) = joined.last_mut()
                        {
                            let behind = self.text_run(&format, &raw[..length]);
                            behind.into_iter().for_each(|part| append(markup, part));
                            raw.drain(..length);
                            text.drain(..length);
                            is_open = text.is_empty() && tokens.len() == 1;
                        }
                    }
                    if !is_open {
                        joined.push(Item::Text(format, tokens));
                    }
                }
                other => joined.push(other),
            }
        }
        joined
    }

    /// A run of text, as the document writes it.
    fn text_run(&self, format: &str, raw: &str) -> Markup {
        let mut text = copied(self.text_tag());
        push(&mut text, raw);
        push(&mut text, &format!("</{}>", self.own(self.names.text)));
        self.in_run(format, text)
    }

    /// Takes the end of the last item, which is text.
    fn taken(&self, items: &mut Vec<Item>, base: &str) -> Markup {
        let Some(Item::Text(format, tokens)) = items.last_mut() else { return Markup::new() };
        let run = self.text_run(format, base);
        if let Some(Inline::Text { raw, text }) = tokens.last_mut() {
            raw.truncate(raw.len() - base.len());
            text.truncate(text.len() - base.len());
        }
        if text(tokens).1.is_empty() && tokens.len() == 1 {
            items.pop();
        }
        run
    }
}

/// A part of the format of text below its line.
const LOWERED: &str = "\"subscript\"";

/// Whether an item is a raised or lowered number.
fn is_index(item: &Item) -> bool {
    let Item::Text(format, tokens) = item else { return false };
    let is_raised = format.contains("\"superscript\"") || format.contains(LOWERED);
    let baseline = format.split_once(" baseline=\"").map_or("0", |(_, value)| value);
    let text = text(tokens).1;
    (is_raised || !baseline.starts_with("0"))
        && !text.is_empty()
        && !text.contains(|c: char| c.is_alphabetic() || c.is_whitespace())
        && tokens.iter().all(|token| matches!(token, Inline::Text { .. }))
}

/// Text as the document writes it, and as it is.
fn text(tokens: &[Inline]) -> (String, String) {
    let mut found = (String::new(), String::new());
    for token in tokens {
        if let Inline::Text { raw, text } = token {
            found.0 += raw;
            found.1 += text;
        }
    }
    found
}

/// The text at the end of an item that is written without escapes; empty if there is none.
fn text_of(item: &Item) -> String {
    match item {
        Item::Text(_, tokens) => match tokens.last() {
            Some(Inline::Text { raw, text }) if raw.ends_with(&text[formula(text)..]) => text.clone(),
            _ => String::new(),
        },
        _ => String::new(),
    }
}
