//! How to translate.

use crate::model::AttentionKind;
use crate::model::generation_config::GenerationConfig;
#[cfg(doc)]
use crate::text::Tokenizer;
use crate::transformer::{Cancel, Keep, KeepAttention};

/// How to translate. The default is what the model's `generation_config.json` asks for.
#[derive(Clone, Debug, Default)]
pub struct TranslateOptions {
    /// Search options that win over the model's own.
    pub generation: GenerationConfig,
    /// The language of the text, by the model's own code; see [`Tokenizer::direction`].
    pub source_language: Option<String>,
    /// The language to translate into, by the model's own code. A model that has several needs it, unless its
    /// `generation_config.json` or [`generation`](Self::generation) says with which token a translation begins.
    pub target_language: Option<String>,
    /// What every sentence brings besides its translations. Sentences of which something is kept are all searched, and found
    /// in no cache.
    pub keep: Keep,
    /// Whether every sentence brings its [alignment](super::SentenceAlignment): which tokens and words of the source were translated
    /// to which. It is computed from the cross-attention of the search, in the memory of [`KeepAttention`] at a time.
    pub alignments: bool,
    /// Stops the translation when asked to.
    pub cancel: Cancel,
}

impl TranslateOptions {
    /// The text is in this language.
    pub fn source_language(mut self, code: impl Into<String>) -> Self {
        self.source_language = Some(code.into());
        self
    }

    /// Translate into this language.
    pub fn target_language(mut self, code: impl Into<String>) -> Self {
        self.target_language = Some(code.into());
        self
    }

    /// Search with this many beams; 1 is greedy.
    pub fn beams(mut self, beams: usize) -> Self {
        self.generation.num_beams = Some(beams);
        self
    }

    /// Return this many translations, best first; at most the number of beams.
    pub fn n_best(mut self, count: usize) -> Self {
        self.generation.num_return_sequences = Some(count);
        self
    }

    /// Divide scores by length to this power.
    pub fn length_penalty(mut self, penalty: f32) -> Self {
        self.generation.length_penalty = Some(penalty);
        self
    }

    /// Make no sentence longer than this many tokens, start token included.
    pub fn max_length(mut self, tokens: usize) -> Self {
        self.generation.max_length = Some(tokens);
        self.generation.max_new_tokens = None;
        self
    }

    /// Keep the attention of the best translation of each sentence, on the device.
    pub fn keep_attention(mut self, attention: KeepAttention) -> Self {
        self.keep.attention = Some(attention);
        self
    }

    /// Keep which tokens and words were translated to which.
    pub fn keep_alignments(mut self) -> Self {
        self.alignments = true;
        self
    }

    /// Keep the trees of the searches.
    pub fn keep_trees(mut self) -> Self {
        self.keep.tree = true;
        self
    }

    /// Stop when this asks to.
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// What the searches keep: alignments need cross-attention.
    pub(super) fn kept_by_search(&self) -> Keep {
        let mut keep = self.keep.clone();
        if self.alignments {
            let nothing = || KeepAttention { kinds: Vec::new(), ..KeepAttention::default() };
            let kinds = &mut keep.attention.get_or_insert_with(nothing).kinds;
            if !kinds.contains(&AttentionKind::Cross) {
                kinds.push(AttentionKind::Cross);
            }
        }
        keep
    }
}
