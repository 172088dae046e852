//! The vocabulary of a small task: symbols with ids, and the same as a SentencePiece model, so that every tokenizer
//! reads the trained folder.

use std::collections::BTreeMap;

/// The piece that begins a word: SentencePiece's space.
const SPACE: char = '▁';

/// `<pad>`, the start token, too; as in T5.
pub(super) const PAD: u32 = 0;
/// `</s>`
pub(super) const END: u32 = 1;
/// Names of the first ids, with SentencePiece's types of pieces.
const SPECIAL: [(&str, u64); 3] = [("<pad>", CONTROL), ("</s>", CONTROL), ("<unk>", UNKNOWN)];

const NORMAL: u64 = 1;
const UNKNOWN: u64 = 2;
const CONTROL: u64 = 3;

/// Symbols and their ids. A symbol is a character, or a word with SentencePiece's space before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbols {
    pieces: Vec<String>,
    ids: BTreeMap<String, u32>,
}

impl Symbols {
    /// Symbols after the special tokens, in this order. Repeated ones count once.
    pub(super) fn new(symbols: impl IntoIterator<Item = String>) -> Self {
        let mut made = Self { pieces: Vec::new(), ids: BTreeMap::new() };
        for piece in SPECIAL.into_iter().map(|(name, _)| name.to_owned()).chain(symbols) {
            if !made.ids.contains_key(&piece) {
                made.ids.insert(piece.clone(), made.pieces.len() as u32);
                made.pieces.push(piece);
            }
        }
        made
    }

    /// Number of ids.
    pub fn count(&self) -> usize {
        self.pieces.len()
    }

    /// The symbol of an id; a space stands for SentencePiece's.
    pub fn name(&self, id: u32) -> String {
        self.pieces.get(id as usize).map_or_else(String::new, |piece| piece.replace(SPACE, " "))
    }

    /// The text of ids up to the end token. Special tokens have none.
    pub fn text(&self, ids: &[u32]) -> String {
        let said = ids.iter().take_while(|id| **id != END).filter(|id| **id as usize >= SPECIAL.len());
        let text: String = said.map(|id| self.name(*id)).collect();
        text.trim_start().to_owned()
    }

    /// The ids of a text of characters, with the end token; or a character that is no symbol.
    pub fn ids(&self, text: &str) -> Result<Vec<u32>, char> {
        let mut ids = Vec::new();
        for character in tidy(text).chars() {
            let piece = if character == ' ' { SPACE } else { character };
            ids.push(*self.ids.get(&piece.to_string()).ok_or(character)?);
        }
        ids.push(END);
        Ok(ids)
    }

    /// The ids of words, with the end token. All words are symbols.
    pub(super) fn ids_of_words(&self, words: &[&str]) -> Vec<u32> {
        let id = |word: &&str| self.ids[&word_piece(word)];
        words.iter().map(id).chain([END]).collect()
    }

    /// The symbols as a SentencePiece unigram model. The normalizer only trims spaces.
    pub fn sentencepiece(&self) -> Vec<u8> {
        let mut model = Vec::new();
        for (id, piece) in self.pieces.iter().enumerate() {
            let kind = SPECIAL.get(id).map_or(NORMAL, |(_, kind)| *kind);
            let mut message = Vec::new();
            bytes(&mut message, 1, piece.as_bytes());
            // any score does: no symbol is made of others, except words, which win by the smaller sum
            message.extend([2 << 3 | 5]);
            message.extend(if kind == NORMAL { -1.0f32 } else { 0.0 }.to_le_bytes());
            integer(&mut message, 3, kind);
            bytes(&mut model, 1, &message);
        }
        let mut trainer = Vec::new();
        for (field, value) in [(3, 1), (4, self.pieces.len() as u64), (40, 2), (42, 1), (43, 0)] {
            integer(&mut trainer, field, value);
        }
        // bos_id: none. A negative number of protobuf has ten bytes.
        integer(&mut trainer, 41, u64::MAX);
        bytes(&mut model, 2, &trainer);
        let mut normalizer = Vec::new();
        bytes(&mut normalizer, 1, b"identity");
        for (field, value) in [(3, 0), (4, 1), (5, 1)] {
            integer(&mut normalizer, field, value);
        }
        bytes(&mut model, 3, &normalizer);
        model
    }
}

/// The symbol of a character.
pub(super) fn character_piece(character: char) -> String {
    if character == ' ' { SPACE } else { character }.to_string()
}

/// The symbol of a word.
pub(super) fn word_piece(word: &str) -> String {
    format!("{SPACE}{word}")
}

/// A text without spaces at its ends, and with single ones inside.
pub(super) fn tidy(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

fn integer(message: &mut Vec<u8>, field: u64, value: u64) {
    varint(message, field << 3);
    varint(message, value);
}

fn bytes(message: &mut Vec<u8>, field: u64, value: &[u8]) {
    varint(message, field << 3 | 2);
    varint(message, value.len() as u64);
    message.extend(value);
}
