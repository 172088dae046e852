//! A document as one source, which is not cut into sentences: what a model that summarizes reads.

use super::error::TranslateError;
use super::languages::resolve_languages;
use super::options::TranslateOptions;
use super::translator::Translator;
use crate::model::config::Family;

/// What becomes of the end of a document that is longer than the model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// The document is refused, with [`TranslateError::TooLong`].
    Refuse,
    /// The end is left out.
    LeaveOut,
}

/// A document in tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Token ids, with the words of a task before the text and the special tokens around it.
    pub input_ids: Vec<u32>,
    /// Tokens that the model takes at most.
    pub limit: usize,
    /// Special tokens at the end.
    end: usize,
}

impl Document {
    /// Number of tokens beyond the model's limit.
    pub fn excess(&self) -> usize {
        self.input_ids.len().saturating_sub(self.limit)
    }

    /// Leaves out tokens at the end of the text, so that the rest fits the model. Special tokens stay, as with `truncation=True` in
    /// transformers.
    pub fn truncate(&mut self) {
        let last = self.input_ids.len().saturating_sub(self.end);
        self.input_ids.drain(last.saturating_sub(self.excess())..last);
    }
}

impl Translator {
    /// Whether the model is one that summarizes, by its configuration: published models of its family do, or it has this task and no
    /// languages.
    pub fn summarizes(&self) -> bool {
        use Family::{BigBirdPegasus, Led, LongT5, Pegasus};
        let family = self.transformer().config().family;
        matches!(family, BigBirdPegasus | Led | LongT5 | Pegasus)
            || (self.tokenizer().summarization().is_some() && self.tokenizer().languages().is_empty())
    }

    /// Makes each text a document, with the model's task `summarization` if it has one and `options` name no other.
    pub fn summary_options(&self, options: TranslateOptions, excess: Excess) -> TranslateOptions {
        let own = || self.tokenizer().summarization().map(str::to_owned);
        TranslateOptions { task: options.task.or_else(own), document: Some(excess), ..options }
    }

    /// Makes token ids of a whole document, of the languages and the task in `options`. [`Translator::request`] makes a request of
    /// them.
    ///
    /// # Errors
    /// [`TranslateError`] if languages or task do not fit the model, or the text cannot be encoded.
    pub fn document(&self, text: &str, options: &TranslateOptions) -> Result<Document, TranslateError> {
        let (direction, _) =
            resolve_languages(self.tokenizer(), options, self.transformer().generation_config())?;
        let input_ids = self.tokenizer().encode_source(text, &direction)?;
        let of_nothing = self.tokenizer().encode_source("", &direction)?;
        let same = input_ids.iter().rev().zip(of_nothing.iter().rev());
        let end = same.take_while(|(id, other)| id == other && self.tokenizer().is_special(**id)).count();
        let limit = self.transformer().config().source_positions().longest_input();
        Ok(Document { input_ids, limit, end })
    }
}
