//! Options of a translation.

use std::sync::Arc;

use super::document::Excess;
use super::glossary::Glossary;
use crate::model::AttentionKind;
use crate::model::generation_config::GenerationConfig;
#[cfg(doc)]
use crate::text::Tokenizer;
use crate::transformer::{Cancel, Keep, KeepAttention};

/// Options of a translation. The defaults are those of the model's `generation_config.json`.
#[derive(Clone, Debug, Default)]
pub struct TranslateOptions {
    /// Search options, which win over the model's own.
    pub generation: GenerationConfig,
    /// Language code of the text; see [`Tokenizer::direction`].
    pub source_language: Option<String>,
    /// Language code of the translation. A model with several needs it, unless its `generation_config.json` or
    /// [`generation`](Self::generation) names the first token of a translation.
    pub target_language: Option<String>,
    /// Name of one of the model's [tasks](Tokenizer::tasks), such as `translation_en_to_de`: its words are put before every
    /// sentence, and its search options go over the model's own.
    pub task: Option<String>,
    /// Whether each text is a document: one source, which is not cut into sentences, for models that summarize.
    pub document: Option<Excess>,
    /// Terms whose translation is prescribed.
    pub glossary: Option<Arc<Glossary>>,
    /// Kept results besides translations. If anything is kept, all sentences are searched and the cache is not used.
    pub keep: Keep,
    /// Whether every sentence brings its [alignment](super::SentenceAlignment): which tokens and words of the source were translated
    /// to which. It is computed from the cross-attention of the search, in the memory of [`KeepAttention`] at a time.
    pub alignments: bool,
    /// Stops the translation when asked to.
    pub cancel: Cancel,
}

impl TranslateOptions {
    /// Sets the language of the text.
    pub fn source_language(mut self, code: impl Into<String>) -> Self {
        self.source_language = Some(code.into());
        self
    }

    /// Sets the language of the translation.
    pub fn target_language(mut self, code: impl Into<String>) -> Self {
        self.target_language = Some(code.into());
        self
    }

    /// Sets the task.
    pub fn task(mut self, name: impl Into<String>) -> Self {
        self.task = Some(name.into());
        self
    }

    /// Makes each text one source.
    pub fn document(mut self, excess: Excess) -> Self {
        self.document = Some(excess);
        self
    }

    /// Sets the glossary, which was bound to the same model.
    pub fn glossary(mut self, glossary: Arc<Glossary>) -> Self {
        self.glossary = Some(glossary);
        self
    }

    /// Sets the number of beams; 1 is greedy search.
    pub fn beams(mut self, beams: usize) -> Self {
        self.generation.num_beams = Some(beams);
        self
    }

    /// Sets the number of returned translations; at most the number of beams.
    pub fn n_best(mut self, count: usize) -> Self {
        self.generation.num_return_sequences = Some(count);
        self
    }

    /// Sets the exponent of the length in scores.
    pub fn length_penalty(mut self, penalty: f32) -> Self {
        self.generation.length_penalty = Some(penalty);
        self
    }

    /// Sets the maximal number of tokens of a sentence, start token included.
    pub fn max_length(mut self, tokens: usize) -> Self {
        self.generation.max_length = Some(tokens);
        self.generation.max_new_tokens = None;
        self
    }

    /// Keeps the attention of the best translation of each sentence, on the device.
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

    /// Sets the flag that stops the translation.
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
