//! The normalization of a new model, taken from another one.

use super::normalizer::Normalizer;
use super::proto::{ModelProto, NormalizerSpec};
use super::trie::Trie;
use crate::text::TextError;

/// Rules that a text goes through before it is cut into pieces. A new model can take those of another model.
#[derive(Debug)]
pub struct Normalization {
    pub(super) spec: NormalizerSpec,
    normalizer: Normalizer,
}

impl Normalization {
    /// No rules but those of white space: runs of spaces become one, and none stays at the ends.
    pub fn identity() -> Self {
        let spec = NormalizerSpec { name: "identity".to_owned(), ..NormalizerSpec::default() };
        Self::new(spec).expect("no rules, so none is damaged")
    }

    /// The rules of a SentencePiece model. `file` is its name, for error messages.
    ///
    /// # Errors
    /// [`TextError::Damaged`]; [`TextError::Unsupported`] for a model that treats white space in another way.
    pub fn of_model(file: &str, bytes: &[u8]) -> Result<Self, TextError> {
        let damaged = |reason| TextError::Damaged { file: file.to_owned(), reason };
        let ModelProto { trainer, normalizer: spec, .. } = ModelProto::parse(bytes).map_err(damaged)?;
        let usual = spec.add_dummy_prefix && spec.remove_extra_whitespaces && spec.escape_whitespaces;
        if !usual || trainer.whitespace_as_suffix {
            let feature =
                "normalization rules for a new model with other white space than U+2581 before a word";
            return Err(TextError::Unsupported { file: file.to_owned(), feature: feature.to_owned() });
        }
        Self::new(spec).map_err(damaged)
    }

    /// The rules of the default model's target, `nmt_nfkc`, if it is part of the library (feature `embedded-model`); else
    /// [`identity`](Self::identity). [`name`](Self::name) tells which.
    pub fn standard() -> Self {
        #[cfg(feature = "embedded-model")]
        if let Some((_, bytes)) = wordloom_model_en_de::FILES.iter().find(|(name, _)| *name == "target.spm") {
            return Self::of_model("target.spm", bytes).expect("the embedded model is sound");
        }
        Self::identity()
    }

    fn new(spec: NormalizerSpec) -> Result<Self, String> {
        let normalizer = Normalizer::new(&spec, false)?;
        Ok(Self { spec, normalizer })
    }

    /// Name of the rules, such as `nmt_nfkc` or `identity`.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// The normalized text, with U+2581 before each word.
    pub fn normalize(&self, text: &str) -> String {
        self.normalizer.normalize(text, &Trie::new([]))
    }
}
