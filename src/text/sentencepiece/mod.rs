//! SentencePiece models, read from `.spm` files.  Kudo & Richardson 2018, "SentencePiece".
//!
//! Follows the C++ library (version 0.2.3); tests compare id by id. [`wire`] reads the file, [`normalizer`] prepares the
//! text, [`unigram`] or [`bpe`] cuts it into [`pieces`].

mod bpe;
mod charsmap;
mod normalization;
mod normalizer;
mod pieces;
mod proto;
mod trie;
mod unigram;
mod wire;
mod writer;

use std::ops::Range;

#[cfg(feature = "tokenizers")]
pub(super) use self::charsmap::CharsMap;
pub use self::normalization::Normalization;
use self::normalizer::Normalizer;
use self::pieces::Pieces;
pub(crate) use self::pieces::byte_of;
use self::proto::{ModelKind, ModelProto, PieceKind};
pub(super) use self::trie::Trie;
use self::unigram::Unigram;
pub use self::writer::UnigramFile;
use super::TextError;

/// U+2581, which stands for a space in a piece.
pub(super) const SPACE: &str = "\u{2581}";

/// A SentencePiece model: text to pieces and back.
///
/// Ids are the model's own. Translation models often add another table, such as
/// [`MarianTokenizer`](super::MarianTokenizer)'s `vocab.json`.
#[derive(Debug)]
pub struct SentencePiece {
    pieces: Pieces,
    algorithm: Algorithm,
    normalizer: Normalizer,
    denormalizer: Option<Normalizer>,
    unknown_surface: String,
}

#[derive(Debug)]
enum Algorithm {
    Unigram(Unigram),
    Bpe,
}

/// A part of the normalized text and its piece, if any.
struct Segment {
    range: Range<usize>,
    id: Option<u32>,
}

/// A token and its range in the normalized text. The range of a byte token is one byte of a character.
struct Token {
    id: u32,
    range: Range<usize>,
}

impl SentencePiece {
    /// Reads a model from the bytes of a `.spm` (or `.model`) file. `file` is its name, for error messages.
    ///
    /// # Errors
    /// [`TextError::Damaged`] for anything but a complete model, [`TextError::Unsupported`] for model types
    /// other than unigram and BPE.
    pub fn from_bytes(file: &str, bytes: &[u8]) -> Result<Self, TextError> {
        let malformed = |reason| TextError::Damaged { file: file.to_owned(), reason };
        let unsupported =
            |feature: &str| TextError::Unsupported { file: file.to_owned(), feature: feature.to_owned() };

        let proto = ModelProto::parse(bytes).map_err(malformed)?;
        let pieces = Pieces::new(proto.pieces, proto.trainer.byte_fallback).map_err(malformed)?;
        let algorithm = match proto.trainer.kind {
            ModelKind::Unigram => Algorithm::Unigram(Unigram::new(&pieces).map_err(malformed)?),
            ModelKind::Bpe => Algorithm::Bpe,
            ModelKind::Word => return Err(unsupported("a SentencePiece model of type WORD")),
            ModelKind::Char => return Err(unsupported("a SentencePiece model of type CHAR")),
        };
        let denormalizer = proto.denormalizer.filter(|spec| !spec.precompiled_charsmap.is_empty());
        Ok(Self {
            pieces,
            algorithm,
            normalizer: Normalizer::new(&proto.normalizer, proto.trainer.whitespace_as_suffix)
                .map_err(malformed)?,
            denormalizer: denormalizer
                .map(|spec| Normalizer::new(&spec, false))
                .transpose()
                .map_err(malformed)?,
            unknown_surface: proto.trainer.unknown_surface,
        })
    }

    /// The normalized text, with U+2581 for spaces.
    pub fn normalize(&self, text: &str) -> String {
        self.normalizer.normalize(text, &self.pieces.user_defined)
    }

    /// The token ids of a text, without begin or end tokens.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        self.tokens(&self.normalize(text)).into_iter().map(|token| token.id).collect()
    }

    /// The pieces of a text. For an unknown token, the piece is the run of characters that it stands for.
    pub fn encode_as_pieces(&self, text: &str) -> Vec<String> {
        let normalized = self.normalize(text);
        let tokens = self.tokens(&normalized).into_iter();
        let piece = |token: Token| match &self.pieces[token.id] {
            piece if piece.kind == PieceKind::Unknown => normalized[token.range].to_owned(),
            piece => piece.text.clone(),
        };
        tokens.map(piece).collect()
    }

    /// The pieces of a text that is normalized already; `<unk>` for unknown parts.
    #[cfg(feature = "training")]
    pub(crate) fn pieces_of_normalized(&self, normalized: &str) -> Vec<&str> {
        self.tokens(normalized).into_iter().map(|token| &*self.pieces[token.id].text).collect()
    }

    /// The text of a sequence of token ids. Control tokens are dropped; each byte token that is not UTF-8 becomes U+FFFD.
    ///
    /// # Errors
    /// [`TextError::UnknownId`]
    pub fn decode(&self, ids: &[u32]) -> Result<String, TextError> {
        if let Some(&id) = ids.iter().find(|&&id| self.pieces.get(id).is_none()) {
            return Err(TextError::UnknownId { id, size: self.pieces.len() });
        }
        Ok(self.detokenize(ids.iter().map(|&id| (Some(id), &*self.pieces[id].text))))
    }

    /// The text of a sequence of pieces. An unknown piece is copied.
    pub fn decode_pieces<'a>(&self, pieces: impl IntoIterator<Item = &'a str>) -> String {
        self.detokenize(pieces.into_iter().map(|piece| (self.pieces.id(piece), piece)))
    }

    /// The piece with this id.
    pub fn piece(&self, id: u32) -> Option<&str> {
        self.pieces.get(id).map(|piece| &*piece.text)
    }

    /// The id of a control piece with this text, such as `</s>`.
    pub fn control(&self, piece: &str) -> Option<u32> {
        let mut pieces = (0..).zip(self.pieces.iter());
        pieces.find(|(_, known)| known.kind == PieceKind::Control && known.text == piece).map(|(id, _)| id)
    }

    /// Whether an id is that of a control piece, which stands for no text.
    pub fn is_control(&self, id: u32) -> bool {
        self.pieces.get(id).is_some_and(|piece| piece.kind == PieceKind::Control)
    }

    /// Number of pieces; ids are smaller than this.
    pub fn vocabulary_size(&self) -> usize {
        self.pieces.len()
    }

    fn tokens(&self, normalized: &str) -> Vec<Token> {
        let segments = match &self.algorithm {
            Algorithm::Unigram(unigram) => unigram.segment(&self.pieces, normalized),
            Algorithm::Bpe => bpe::segment(&self.pieces, normalized),
        };
        let mut tokens: Vec<Token> = Vec::with_capacity(segments.len());
        let mut after_unknown = false;
        for Segment { range, id } in segments {
            match (id, self.pieces.byte_ids(), self.pieces.unknown) {
                (Some(id), ..) => tokens.push(Token { id, range: range.clone() }),
                (None, Some(byte_ids), _) => tokens.extend(range.clone().map(|place| Token {
                    id: byte_ids[usize::from(normalized.as_bytes()[place])],
                    range: place..place + 1,
                })),
                (None, None, Some(_)) if after_unknown => {
                    let run = tokens.last_mut().expect("the unknown token before this one");
                    run.range.end = range.end;
                }
                (None, None, Some(id)) => tokens.push(Token { id, range: range.clone() }),
                (None, None, None) => unreachable!("a model without byte pieces has an unknown piece"),
            }
            after_unknown = id.is_none();
        }
        tokens
    }

    fn detokenize<'a>(&self, tokens: impl Iterator<Item = (Option<u32>, &'a str)>) -> String {
        let mut text = String::new();
        let mut bytes = Vec::new();
        let mut at_start = true; // leading spaces may be the dummy prefix
        for (id, piece) in tokens {
            let known = id.map(|id| &self.pieces[id]);
            let kind = known.map_or(PieceKind::Unknown, |known| known.kind);
            if kind == PieceKind::Byte {
                bytes.extend(byte_of(piece));
                continue;
            }
            flush(&mut bytes, &mut text);
            at_start &= text.is_empty();
            match kind {
                PieceKind::Control => continue,
                PieceKind::Unknown if known.is_some_and(|known| known.text == piece) => {
                    text.push_str(&self.unknown_surface);
                }
                PieceKind::Unknown => text.push_str(piece),
                _ => {
                    let unspaced = piece
                        .strip_prefix(SPACE)
                        .filter(|_| at_start && self.normalizer.changes_leading_space());
                    text.push_str(&unspaced.unwrap_or(piece).replace(SPACE, " "));
                    // one space is the dummy prefix; encoding may also remove several
                    at_start &= unspaced.is_none() || self.normalizer.removes_extra_whitespaces();
                }
            }
        }
        flush(&mut bytes, &mut text);
        match &self.denormalizer {
            Some(denormalizer) => denormalizer.normalize(&text, &Trie::new([])),
            None => text,
        }
    }
}

/// Appends the bytes of byte tokens to the text; a byte outside any character becomes U+FFFD.
fn flush(bytes: &mut Vec<u8>, text: &mut String) {
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    bytes.clear();
}
