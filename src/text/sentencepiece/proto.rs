//! The messages of a `.spm` file: the fields of `sentencepiece_model.proto` that encoding and decoding need.

use super::wire::Fields;

/// `ModelProto`
#[derive(Debug)]
pub(super) struct ModelProto {
    pub(super) pieces: Vec<Piece>,
    pub(super) trainer: TrainerSpec,
    pub(super) normalizer: NormalizerSpec,
    pub(super) denormalizer: Option<NormalizerSpec>,
}

/// `ModelProto.SentencePiece`: one entry of the vocabulary; its index is its id.
#[derive(Clone, Debug, Default)]
pub(super) struct Piece {
    pub(super) text: String,
    /// Log probability (unigram) or minus the rank of the merge (BPE).
    pub(super) score: f32,
    pub(super) kind: PieceKind,
}

/// `ModelProto.SentencePiece.Type`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PieceKind {
    #[default]
    Normal,
    /// `<unk>`
    Unknown,
    /// `<s>`, `</s>`: never produced from text, invisible when decoded.
    Control,
    /// Always one token, and not normalized.
    UserDefined,
    /// Never produced from text.
    Unused,
    /// `<0x00>` to `<0xFF>`
    Byte,
}

/// `TrainerSpec.ModelType`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ModelKind {
    #[default]
    Unigram,
    Bpe,
    Word,
    Char,
}

/// `TrainerSpec`
#[derive(Debug)]
pub(super) struct TrainerSpec {
    pub(super) kind: ModelKind,
    pub(super) whitespace_as_suffix: bool,
    pub(super) byte_fallback: bool,
    /// The text of an unknown token.
    pub(super) unknown_surface: String,
}

/// `NormalizerSpec`
#[derive(Debug)]
pub(super) struct NormalizerSpec {
    /// Name of the rules, such as `nmt_nfkc`.
    pub(super) name: String,
    pub(super) precompiled_charsmap: Vec<u8>,
    pub(super) add_dummy_prefix: bool,
    pub(super) remove_extra_whitespaces: bool,
    pub(super) escape_whitespaces: bool,
}

impl ModelProto {
    pub(super) fn parse(message: &[u8]) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let (mut trainer, mut normalizer, mut denormalizer) = (None, None, None);
        for field in Fields::of(message) {
            let (number, value) = field?;
            match number {
                1 => pieces.push(Piece::parse(value.bytes()?)?),
                2 => trainer.get_or_insert_with(TrainerSpec::default).merge(value.bytes()?)?,
                3 => normalizer.get_or_insert_with(NormalizerSpec::default).merge(value.bytes()?)?,
                5 => denormalizer.get_or_insert_with(NormalizerSpec::default).merge(value.bytes()?)?,
                _ => {}
            }
        }
        // Both are optional in the schema, but every trainer writes them after the pieces. A file that is cut between two
        // pieces is a valid message and would silently tokenize differently, so both are required here.
        Ok(Self {
            pieces,
            trainer: trainer.ok_or("no trainer settings: not a SentencePiece model, or cut short")?,
            normalizer: normalizer
                .ok_or("no normalizer settings: not a SentencePiece model, or cut short")?,
            denormalizer,
        })
    }
}

impl Piece {
    fn parse(message: &[u8]) -> Result<Self, String> {
        let mut piece = Self::default();
        for field in Fields::of(message) {
            let (number, value) = field?;
            match number {
                1 => piece.text = value.text()?.to_owned(),
                2 => piece.score = value.float()?,
                3 => piece.kind = PieceKind::from_number(value.integer()?)?,
                _ => {}
            }
        }
        Ok(piece)
    }
}

impl PieceKind {
    fn from_number(number: u64) -> Result<Self, String> {
        Ok(match number {
            1 => Self::Normal,
            2 => Self::Unknown,
            3 => Self::Control,
            4 => Self::UserDefined,
            5 => Self::Unused,
            6 => Self::Byte,
            _ => return Err(format!("unknown type {number} of a piece")),
        })
    }
}

impl TrainerSpec {
    fn merge(&mut self, message: &[u8]) -> Result<(), String> {
        for field in Fields::of(message) {
            let (number, value) = field?;
            match number {
                3 => {
                    self.kind = match value.integer()? {
                        1 => ModelKind::Unigram,
                        2 => ModelKind::Bpe,
                        3 => ModelKind::Word,
                        4 => ModelKind::Char,
                        number => return Err(format!("unknown model type {number}")),
                    }
                }
                24 => self.whitespace_as_suffix = value.integer()? != 0,
                35 => self.byte_fallback = value.integer()? != 0,
                44 => self.unknown_surface = value.text()?.to_owned(),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Default for TrainerSpec {
    fn default() -> Self {
        Self {
            kind: ModelKind::Unigram,
            whitespace_as_suffix: false,
            byte_fallback: false,
            unknown_surface: " \u{2047} ".into(),
        }
    }
}

impl NormalizerSpec {
    fn merge(&mut self, message: &[u8]) -> Result<(), String> {
        for field in Fields::of(message) {
            let (number, value) = field?;
            match number {
                1 => self.name = value.text()?.to_owned(),
                2 => self.precompiled_charsmap = value.bytes()?.to_owned(),
                3 => self.add_dummy_prefix = value.integer()? != 0,
                4 => self.remove_extra_whitespaces = value.integer()? != 0,
                5 => self.escape_whitespaces = value.integer()? != 0,
                _ => {}
            }
        }
        Ok(())
    }
}

impl Default for NormalizerSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            precompiled_charsmap: Vec::new(),
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
            escape_whitespaces: true,
        }
    }
}
