//! Letters that a vocabulary knows by their bytes alone: emoji, and scripts that it was not made for. A small model can lose
//! some of the bytes that it copies. Then the letters of the source stand in the translation.

use std::ops::Range;

use crate::text::{TextError, Tokenizer, byte_of};

/// The text of a translation's tokens. Letters whose bytes came out broken are those of the source, in their order, as far as
/// there are some that did not come out whole.
///
/// An output layer can have more tokens than the tokenizer (T5's). They have no text, as in Hugging Face's library.
///
/// # Errors
/// [`TextError`] if the tokenizer's decoder fails.
pub(super) fn decode(tokenizer: &Tokenizer, source_ids: &[u32], ids: &[u32]) -> Result<String, TextError> {
    let known: Vec<u32> = ids.iter().copied().filter(|&id| tokenizer.target_token(id).is_some()).collect();
    let ids = &known[..];
    let text = tokenizer.decode(ids, true)?;
    if !text.contains(char::REPLACEMENT_CHARACTER) {
        return Ok(text);
    }
    Ok(mended(tokenizer, source_ids, ids).unwrap_or(text))
}

fn mended(tokenizer: &Tokenizer, source_ids: &[u32], ids: &[u32]) -> Option<String> {
    let source: Vec<Item> =
        source_ids.iter().map(|&id| Item::of(tokenizer.source_token(id).as_deref())).collect();
    let target: Vec<Item> = ids.iter().map(|&id| Item::of(tokenizer.target_token(id).as_deref())).collect();
    let mut letters: Vec<String> =
        runs(&source).into_iter().filter_map(|run| letters(&source[run])).collect();
    let (broken, whole) = broken_and_whole(&target);
    for found in whole {
        if let Some(at) = letters.iter().position(|letters| *letters == found) {
            letters.remove(at);
        }
    }
    let (mut text, mut done) = (String::new(), 0);
    for (place, letters) in broken.into_iter().zip(letters) {
        let through = tokenizer.decode(&ids[..place.end], true).ok()?;
        // without what the broken letters look like; `None` if a tokenizer writes a beginning otherwise than the whole
        let before = through.strip_suffix(&*tokenizer.decode(&ids[place], true).ok()?)?;
        text.push_str(before.get(done..)?);
        text.push_str(&letters);
        done = through.len();
    }
    text.push_str(tokenizer.decode(ids, true).ok()?.get(done..)?);
    Some(text)
}

/// What a token stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Item {
    Byte(u8),
    /// A piece that begins a word.
    Word,
    /// Any other.
    Other,
}

impl Item {
    fn of(piece: Option<&str>) -> Self {
        let piece = piece.unwrap_or_default();
        match byte_of(piece) {
            Some(byte) => Self::Byte(byte),
            None if piece.starts_with('▁') => Self::Word,
            None => Self::Other,
        }
    }
}

/// Stretches of bytes.
fn runs(items: &[Item]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (index, _) in items.iter().enumerate().filter(|(_, item)| matches!(item, Item::Byte(_))) {
        match runs.last_mut() {
            Some(run) if run.end == index => run.end += 1,
            _ => runs.push(index..index + 1),
        }
    }
    runs
}

/// The letters of a stretch of bytes, if all are whole.
fn letters(items: &[Item]) -> Option<String> {
    let bytes = items.iter().filter_map(|item| if let Item::Byte(byte) = item { Some(*byte) } else { None });
    String::from_utf8(bytes.collect()).ok()
}

/// The places of broken letters, one in a word at most, and letters that came out whole.
fn broken_and_whole(items: &[Item]) -> (Vec<Range<usize>>, Vec<String>) {
    let (mut broken, mut whole) = (Vec::<Range<usize>>::new(), Vec::new());
    for run in runs(items) {
        match letters(&items[run.clone()]) {
            Some(letters) => whole.push(letters),
            None => match broken.last_mut() {
                // what stands between broken bytes of a word is no better
                Some(last) if !items[last.end..run.start].contains(&Item::Word) => last.end = run.end,
                _ => broken.push(run),
            },
        }
    }
    (broken, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(pieces: &[&str]) -> Vec<Item> {
        pieces.iter().map(|piece| Item::of(Some(piece))).collect()
    }

    #[test]
    fn broken_letters_of_a_word_are_one_place() {
        let pieces = [
            "▁I", "▁", "<0xF0>", "<0x9F>", "ß", "<0x8D>", "▁and", "▁", "<0xC5>", "<0x81>", "▁", "<0xEB>", ".",
        ];
        let (broken, whole) = broken_and_whole(&items(&pieces));
        assert_eq!(broken, [2..6, 11..12]);
        assert_eq!(whole, ["Ł"]);
    }

    #[cfg(feature = "embedded-model")]
    #[test]
    fn the_letters_of_the_source_stand_for_broken_ones() {
        let tokenizer = crate::Model::embedded().expect("sound").tokenizer().expect("a tokenizer");
        let source = tokenizer.encode("민지 eats 🍕.").expect("a text");
        let id = |piece: &str| {
            (0..12_000).find(|&id| tokenizer.target_token(id).as_deref() == Some(piece)).expect("a token")
        };
        let pizza = ["▁", "<0xF0>", "<0x9F>", "<0x8D>"];
        let target = |pieces: &[&str]| -> Vec<u32> { pieces.iter().map(|piece| id(piece)).collect() };
        let name = ["▁", "<0xEB>", "<0xAF>"];
        let both = target(&[&name[..], &["▁und"], &pizza, &["."]].concat());
        assert_eq!(decode(&tokenizer, &source, &both).unwrap(), "민지 und 🍕.");
        // the name came out whole, so the pizza did not
        let whole = ["▁", "<0xEB>", "<0xAF>", "<0xBC>", "<0xEC>", "<0xA7>", "<0x80>"];
        let one = target(&[&pizza[..], &["▁und"], &whole, &["."]].concat());
        assert_eq!(decode(&tokenizer, &source, &one).unwrap(), "🍕 und 민지.");
        // nothing in the source says what it was
        let none = target(&["▁und", "<0xEB>", "."]);
        assert_eq!(decode(&tokenizer, &[], &none).unwrap(), "und\u{FFFD}.");
    }
}
