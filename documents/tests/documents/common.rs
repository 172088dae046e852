//! A translator whose translations are known: each word becomes another, and their order changes.

use wordloom_documents::{Document, Format, Options, Translated};

/// Whether a word is one that stands in for a placeholder.
fn is_stand_in(word: &str) -> bool {
    word.len() >= 2 && word.starts_with('X') && word.chars().all(|c| c.is_ascii_uppercase())
}

/// Letters 13 places on; stand-ins, with whatever is around them, stay.
pub fn word(word: &str) -> String {
    let turn = |letter: char| match letter {
        'a'..='z' => char::from((letter as u8 - b'a' + 13) % 26 + b'a'),
        'A'..='Z' => char::from((letter as u8 - b'A' + 13) % 26 + b'A'),
        other => other,
    };
    let letters = |c: char| c.is_ascii_alphabetic();
    let mut out = String::new();
    let mut rest = word;
    while !rest.is_empty() {
        let end = rest.find(|c| letters(c) != rest.starts_with(letters)).unwrap_or(rest.len());
        let (part, more) = rest.split_at(end);
        match is_stand_in(part) {
            true => out += part,
            false => out.extend(part.chars().map(turn)),
        }
        rest = more;
    }
    out
}

/// The words of a text in the order that a seed gives, and their links.
pub fn translate(text: &str, seed: u64) -> Translated {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut order: Vec<usize> = (0..words.len()).collect();
    let mut random = Random(seed);
    // neighbours change places, mostly: as in languages
    for _ in 0..words.len() {
        if let (Some(at), true) = (random.below(words.len()).checked_sub(1), seed > 0) {
            let other = if random.below(4) == 0 { random.below(words.len()) } else { at + 1 };
            order.swap(at, other);
        }
    }
    let translated: Vec<String> = order.iter().map(|&from| word(words[from])).collect();
    let links = order.iter().enumerate().map(|(to, &from)| (from, to)).collect();
    Translated { text: translated.join(" "), links }
}

/// A document whose texts went through [`translate`]. With seed 0, their order stays.
pub fn translated(source: &[u8], format: Format, seed: u64) -> Vec<u8> {
    let document = Document::read(source.to_vec(), format, &Options::default()).expect("a document");
    let translations: Vec<Translated> =
        document.units().iter().map(|unit| translate(unit.text(), seed)).collect();
    document.write(&translations).expect("a document")
}

/// As [`translated`], for text, with word-for-word translations.
pub fn turned(source: &str, format: Format) -> String {
    String::from_utf8(translated(source.as_bytes(), format, 0)).expect("text")
}

/// The document with its own texts.
pub fn same(source: &[u8], format: Format) -> Vec<u8> {
    let document = Document::read(source.to_vec(), format, &Options::default()).expect("a document");
    let own = |text: &str| {
        let count = text.split_whitespace().count();
        Translated { text: text.to_owned(), links: (0..count).map(|word| (word, word)).collect() }
    };
    let translations: Vec<Translated> = document.units().iter().map(|unit| own(unit.text())).collect();
    document.write(&translations).expect("a document")
}

/// Numbers that a seed gives (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub fn of<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}
