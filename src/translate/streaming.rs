//! A translation while it is being made.

use super::{Batch, Piece, TranslateError, TranslateOptions, Translation, Translator};
use crate::decode::{BatchSearch, Hypothesis};
use crate::transformer::{GenerateRequest, Progress};

/// Sentences that are translated together while somebody reads along: enough to keep a device busy, few enough that
/// the beginning of a long text does not wait for its end.
const WINDOW: usize = 16;

/// How far a translation is.
pub struct PartialTranslation<'a> {
    translator: &'a Translator,
    layout: &'a [Piece<'a>],
    /// Translations of the first sentences.
    finished: &'a [Option<String>],
    /// The first sentence of those that are being searched now.
    first: usize,
    running: &'a [usize],
    search: &'a BatchSearch,
}

impl Translator {
    /// Translates one text of any length, sentence by sentence, and shows it to `on_partial` before every step.
    ///
    /// # Errors
    /// [`TranslateError`]
    pub async fn translate_streaming(
        &self,
        text: &str,
        options: &TranslateOptions,
        on_partial: &mut dyn FnMut(&PartialTranslation<'_>),
    ) -> Result<Translation, TranslateError> {
        let search = async |requests: &[GenerateRequest], watch: &mut dyn FnMut(Progress<'_>)| {
            Ok(self.transformer.generate_watched(requests, &options.cancel, watch).await?)
        };
        self.translate_by(text, options, on_partial, search).await
    }

    /// The same with a search of the caller's, which is given some sentences at a time.
    pub(crate) async fn translate_by<E: From<TranslateError>>(
        &self,
        text: &str,
        options: &TranslateOptions,
        on_partial: &mut dyn FnMut(&PartialTranslation<'_>),
        mut search: impl AsyncFnMut(
            &[GenerateRequest],
            &mut dyn FnMut(Progress<'_>),
        ) -> Result<Vec<Vec<Hypothesis>>, E>,
    ) -> Result<Translation, E> {
        let mut batch = Batch::default();
        let layout = self.take_apart(text, options, &mut batch)?;
        let mut results = Vec::with_capacity(batch.requests.len());
        let mut finished = vec![None; batch.requests.len()];
        for window in batch.requests.chunks(WINDOW) {
            let first = results.len();
            let mut watch = |progress: Progress<'_>| match progress {
                Progress::Step { requests, search } => on_partial(&PartialTranslation {
                    translator: self,
                    layout: &layout,
                    finished: &finished,
                    first,
                    running: requests,
                    search,
                }),
                Progress::Finished { requests, hypotheses } => {
                    for (&index, hypotheses) in requests.iter().zip(hypotheses) {
                        finished[first + index] = Some(self.decode(&hypotheses[0].tokens));
                    }
                }
            };
            results.extend(search(window, &mut watch).await?);
        }
        Ok(self.assemble(&layout, batch, results)?)
    }

    /// The text of tokens that a search has made.
    fn decode(&self, tokens: &[u32]) -> String {
        // a search makes no tokens that its vocabulary lacks
        self.tokenizer.decode(tokens, true).unwrap_or_default()
    }
}

impl PartialTranslation<'_> {
    /// The text so far, in two parts: what stays as it is, and what may still change. The first part only grows, and
    /// the result begins with it.
    pub fn text(&self) -> (String, String) {
        let (mut stable, mut provisional) = (String::new(), String::new());
        let mut settled = true;
        let mut sentences = 0..;
        for piece in self.layout {
            let (text, settled_length) = match piece {
                Piece::Between(space) => ((*space).to_owned(), space.len()),
                // before its first word nothing of a sentence is shown, and nothing of what follows it
                Piece::Sentence => match sentences.next().and_then(|index| self.sentence(index)) {
                    Some(sentence) => sentence,
                    None => break,
                },
            };
            if settled {
                stable += &text[..settled_length];
                provisional += &text[settled_length..];
                settled = settled_length == text.len();
            } else {
                provisional += &text;
            }
        }
        (stable, provisional)
    }

    /// The translation of a sentence as far as it has come, and the length of what is settled in it.
    fn sentence(&self, index: usize) -> Option<(String, usize)> {
        if let Some(text) = self.finished.get(index)? {
            return Some((text.clone(), text.len()));
        }
        let place = self.running.iter().position(|&running| self.first + running == index)?;
        let search = &self.search.sentences()[place];
        let text = self.translator.decode(search.best_tokens());
        if search.is_finished() {
            let length = text.len();
            return Some((text, length));
        }
        let settled = self.translator.decode(&search.best_tokens()[..search.settled_tokens()]);
        let common = text.bytes().zip(settled.bytes()).take_while(|(a, b)| a == b).count();
        // the next token may change the end: complete a character, or move a full stop closer
        let kept =
            settled[..settled.floor_char_boundary(common)].trim_end_matches(char::REPLACEMENT_CHARACTER);
        let settled_length = kept.floor_char_boundary(kept.len().saturating_sub(LOOSE_END));
        Some((text, settled_length)).filter(|(text, _)| !text.is_empty())
    }
}

/// Bytes at the end of a translation that later tokens can still touch (`clean_up_tokenization_spaces` removes a space
/// in front of `n't`).
const LOOSE_END: usize = 4;
