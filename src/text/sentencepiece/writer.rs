//! A unigram model as a `.spm` file, which SentencePiece itself reads.

use super::normalization::Normalization;

/// Piece types, `ModelProto.SentencePiece.Type`.
const UNKNOWN: u64 = 2;
const CONTROL: u64 = 3;
const BYTE: u64 = 6;
/// `TrainerSpec.ModelType`
const UNIGRAM: u64 = 1;
/// The id of a special piece that the model does not have: -1 as a varint.
const NO_ID: u64 = u64::MAX;

/// A unigram model to be written. Its first ids are Marian's: `</s>` 0, `<unk>` 1; then the bytes, if it has them, then its
/// pieces.
#[derive(Debug)]
pub struct UnigramFile<'a> {
    /// Texts with their log probabilities. Each text occurs once.
    pub pieces: &'a [(String, f32)],
    /// Whether characters outside the pieces become bytes. Else they become `<unk>`.
    pub byte_fallback: bool,
    /// Share of the training text's characters that are pieces, 0 to 1, for the record.
    pub character_coverage: f32,
    /// Rules for the text.
    pub normalization: &'a Normalization,
}

impl UnigramFile<'_> {
    /// Special pieces before the bytes.
    const SPECIAL: [(&'static str, u64); 2] = [("</s>", CONTROL), ("<unk>", UNKNOWN)];

    /// All pieces in the order of their ids.
    pub fn tokens(&self) -> Vec<String> {
        let special = Self::SPECIAL.iter().map(|(text, _)| (*text).to_owned());
        special.chain(self.bytes()).chain(self.pieces.iter().map(|(text, _)| text.clone())).collect()
    }

    fn bytes(&self) -> impl Iterator<Item = String> + use<> {
        let all = self.byte_fallback.then_some(0..=0xff_u8);
        all.into_iter().flatten().map(|byte| format!("<0x{byte:02X}>"))
    }

    /// The content of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut model = Message::default();
        for (text, kind) in Self::SPECIAL {
            model.message(1, &piece(text, 0.0, Some(kind)));
        }
        for text in self.bytes() {
            model.message(1, &piece(&text, 0.0, Some(BYTE)));
        }
        for (text, score) in self.pieces {
            model.message(1, &piece(text, *score, None));
        }
        model.message(2, &self.trainer());
        model.message(3, &self.normalizer());
        model.0
    }

    fn trainer(&self) -> Message {
        let mut spec = Message::default();
        spec.integer(3, UNIGRAM);
        spec.integer(4, self.tokens().len() as u64); // vocab_size
        spec.float(10, self.character_coverage);
        spec.integer(35, u64::from(self.byte_fallback));
        for (field, id) in [(40, 1), (41, NO_ID), (42, 0), (43, NO_ID)] {
            spec.integer(field, id); // unk_id, bos_id, eos_id, pad_id
        }
        spec
    }

    fn normalizer(&self) -> Message {
        let rules = &self.normalization.spec;
        let mut spec = Message::default();
        spec.bytes(1, rules.name.as_bytes());
        spec.bytes(2, &rules.precompiled_charsmap);
        // add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces
        for (field, value) in
            [(3, rules.add_dummy_prefix), (4, rules.remove_extra_whitespaces), (5, rules.escape_whitespaces)]
        {
            spec.integer(field, u64::from(value));
        }
        spec
    }
}

fn piece(text: &str, score: f32, kind: Option<u64>) -> Message {
    let mut piece = Message::default();
    piece.bytes(1, text.as_bytes());
    piece.float(2, score);
    if let Some(kind) = kind {
        piece.integer(3, kind);
    }
    piece
}

/// A message in the wire format of Protocol Buffers; `wire.rs` reads it.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut integer: u64) {
        while integer >= 0x80 {
            self.0.push(integer as u8 | 0x80);
            integer >>= 7;
        }
        self.0.push(integer as u8);
    }

    fn integer(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    fn float(&mut self, field: u64, value: f32) {
        self.varint(field << 3 | 5);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn message(&mut self, field: u64, message: &Message) {
        self.bytes(field, &message.0);
    }
}
