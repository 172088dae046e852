//! Writes the pieces of a paragraph in runs.

use std::collections::HashMap;

use super::super::super::escape::Escape;
use super::super::super::inline::{Inline, Style, has_words, unit};
use super::super::super::unit::{Finish, Markup, Part, append, copied, push};
use super::super::super::xml::name;
use super::{Item, Reader, is_same};

impl Reader<'_, '_> {
    /// Markup in a run of its own; without a format, it stands between runs.
    pub(super) fn in_run(&self, format: &str, markup: Markup) -> Markup {
        let run = self.own(self.names.run);
        let is_break = |raw: &str| self.names.breaks.iter().any(|&tag| name(raw) == self.own(tag));
        if self.names.breaks_between
            && format.is_empty()
            && matches!(&markup[..], [Part::Copied(raw)] if is_break(raw))
        {
            return markup;
        }
        let mut whole = copied(format!("<{run}>{format}"));
        markup.into_iter().for_each(|part| append(&mut whole, part));
        push(&mut whole, &format!("</{run}>"));
        whole
    }

    pub(super) fn text_tag(&self) -> String {
        format!("<{}{}>", self.own(self.names.text), self.names.text_attributes)
    }

    /// Pieces as they are, without units of their own text.
    pub(super) fn markup(&self, items: impl Iterator<Item = Item>) -> Markup {
        let mut whole = Markup::new();
        for item in items {
            let markup = match item {
                Item::Text(format, tokens) => {
                    let mut text = copied(self.text_tag());
                    tokens.into_iter().flat_map(Inline::into_markup).for_each(|part| append(&mut text, part));
                    push(&mut text, &format!("</{}>", self.own(self.names.text)));
                    self.in_run(&format, text)
                }
                Item::InRun(format, markup)
                | Item::Break(format, markup)
                | Item::Field(_, format, markup)
                | Item::Instruction { format, markup, .. } => self.in_run(&format, markup),
                Item::Between(markup)
                | Item::Kept { markup, .. }
                | Item::Open(markup, _)
                | Item::Close(markup, _) => markup,
            };
            markup.into_iter().for_each(|part| append(&mut whole, part));
        }
        whole
    }

    /// A part of a paragraph without breaks.
    pub(super) fn line(&mut self, items: Vec<Item>) -> Markup {
        if items.is_empty() {
            return Markup::new();
        }
        let [run, text] = [self.own(self.names.run), self.own(self.names.text)];
        let text_tag = self.text_tag();
        let base = base(&items);
        let start = |format: &str| format!("<{run}>{format}{text_tag}");
        let end = format!("</{text}></{run}>");
        let again = start(&base);
        let between = |markup: Markup| {
            let mut whole = copied(end.clone());
            markup.into_iter().for_each(|part| append(&mut whole, part));
            push(&mut whole, &again);
            whole
        };
        let mut tokens = vec![Inline::Alone(copied(again.clone()))];
        for item in items {
            match item {
                Item::Text(format, text) if is_same(&format, &base) => tokens.extend(text),
                Item::Text(format, text) => {
                    let name = "run".to_owned();
                    tokens.push(Inline::Open {
                        raw: copied(end.clone() + &start(&format)),
                        name: name.clone(),
                    });
                    tokens.extend(text);
                    tokens.push(Inline::Close { raw: copied(end.clone() + &again), name });
                }
                Item::InRun(format, markup)
                | Item::Break(format, markup)
                | Item::Field(_, format, markup)
                | Item::Instruction { format, markup, .. } => {
                    tokens.push(Inline::Alone(between(self.in_run(&format, markup))));
                }
                Item::Kept { markup, is_word } => {
                    tokens.push(Inline::Kept { raw: between(markup), is_word });
                }
                Item::Between(markup) => tokens.push(Inline::Alone(between(markup))),
                Item::Open(raw, name) => tokens.push(Inline::Open { raw: between(raw), name }),
                Item::Close(raw, name) => tokens.push(Inline::Close { raw: between(raw), name }),
            }
        }
        tokens.push(Inline::Alone(copied(end.clone())));
        let empty = Finish::Without(again + &end);
        let is_unit =
            tokens.iter().any(|token| matches!(token, Inline::Text { text, .. } if has_words(text)));
        let style = Style { finish: empty.clone(), ..Style::new(Escape::Markup) };
        let parts = unit(tokens, style, self.units);
        if is_unit {
            return parts;
        }
        let tidy = |part: Part| match part {
            Part::Copied(text) => Part::Copied(empty.apply(text)),
            unit => unit,
        };
        let mut joined = Markup::new();
        parts.into_iter().for_each(|part| append(&mut joined, part));
        joined.into_iter().map(tidy).collect()
    }
}

/// The format of most of the text.
fn base(items: &[Item]) -> String {
    let mut lengths: HashMap<&str, usize> = HashMap::new();
    let mut best = ("", 0);
    for item in items {
        if let Item::Text(format, tokens) = item {
            let letters = |token: &Inline| match token {
                Inline::Text { text, .. } => text.chars().filter(|c| c.is_alphanumeric()).count(),
                _ => 0,
            };
            let length = lengths.entry(format).or_default();
            *length += tokens.iter().map(letters).sum::<usize>();
            if *length > best.1 {
                best = (format, *length);
            }
        }
    }
    best.0.to_owned()
}
