//! From a text to its trace.

use super::record::Recording;
use super::tokens::tokens;
use super::{
    Alternative, Attended, AttentionKind, TargetToken, Trace, TraceError, TraceRequest, TracedSearch,
    TracedSentence,
};
use crate::model::generation_config::GenerationConfig;
use crate::text::{Direction, Tokenizer};
use crate::transformer::{GenerateRequest, Progress, resolve};
use crate::translate::{
    PartialTranslation, Sentence, TranslateOptions, Translation, Translator, resolve_languages,
};

/// What a trace keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// What the model is called in it.
    pub model: String,
    /// The kinds of attention that are looked at.
    pub kinds: Vec<AttentionKind>,
    /// Memory for the attention of all sentences, bytes.
    pub memory: u64,
    /// Whether it is asked how probable the target's tokens are.
    pub scores: bool,
    /// Whether all that the beam searches looked at is kept; for translations that are made with the trace.
    pub search: bool,
    /// Whether the residual stream is looked at after every layer.
    pub depth: bool,
    /// With [`scores`](Self::scores): how many of the most probable tokens are kept at each place.
    pub alternatives: usize,
}

impl Default for TraceOptions {
    fn default() -> Self {
        let kinds = AttentionKind::ALL.to_vec();
        Self {
            model: String::new(),
            kinds,
            memory: 256 << 20,
            scores: true,
            search: false,
            depth: false,
            alternatives: 5,
        }
    }
}

/// A sentence before its pass.
struct Pending {
    source: String,
    offset: usize,
    target: String,
    request: TraceRequest,
}

impl Translator {
    /// Translates a text and runs the best translation of each sentence once more, with every attention looked at.
    ///
    /// What [`TraceOptions::memory`] has no room for is listed in [`TracedSentence::left_out`].
    ///
    /// # Errors
    /// [`TraceError`]
    pub async fn trace(
        &self,
        text: &str,
        options: &TranslateOptions,
        trace: &TraceOptions,
    ) -> Result<Trace, TraceError> {
        if !trace.search {
            let translation = self.translate(text, options).await?;
            return self.trace_translation(text, translation, options, trace).await;
        }
        let (translation, trees) = self.explore(text, options).await?;
        let mut traced = self.trace_translation(text, translation, options, trace).await?;
        for (sentence, tree) in traced.sentences.iter_mut().zip(trees) {
            let pieces = tree.nodes.iter().map(|node| (node.token, piece(self.tokenizer(), node.token)));
            sentence.search = Some(TracedSearch { pieces: pieces.collect(), tree });
        }
        Ok(traced)
    }

    /// The same for a translation that this translator made of the text with these options.
    ///
    /// # Errors
    /// [`TraceError`]
    pub async fn trace_translation(
        &self,
        text: &str,
        translation: Translation,
        options: &TranslateOptions,
        trace: &TraceOptions,
    ) -> Result<Trace, TraceError> {
        let (pending, direction) = self.pending(text, translation, options)?;
        self.run(pending, &direction, options, trace).await
    }

    /// As [`trace_translation`](Self::trace_translation), but the attention of each sentence stays on the device, and the
    /// trace has none of it. Scores, searches and the residual stream are the host's, and cannot be had this way.
    ///
    /// # Errors
    /// [`TraceError`]; [`TraceError::StaysOnDevice`] where `trace` asks for more than attention.
    pub async fn attend_translation(
        &self,
        text: &str,
        translation: Translation,
        options: &TranslateOptions,
        trace: &TraceOptions,
    ) -> Result<(Trace, Vec<Attended>), TraceError> {
        check_attention_alone(trace)?;
        let (pending, direction) = self.pending(text, translation, options)?;
        let attended = self.transformer().attend_all(&requests(&pending), trace, &options.cancel).await?;
        Ok((self.together(pending, without_weights(&attended), &direction, trace), attended))
    }

    /// Translates as [`translate_streaming`](Self::translate_streaming) does, and has the attention of the best translation of each
    /// sentence kept on the device: what the search leaves is enough for it, so that this takes hardly longer. Of `trace`, kinds
    /// and memory count; [`trace_attended`](Self::trace_attended) makes the rest of the trace.
    ///
    /// # Errors
    /// [`TraceError`]
    pub async fn translate_attended(
        &self,
        text: &str,
        options: &TranslateOptions,
        trace: &TraceOptions,
        on_partial: &mut dyn FnMut(&PartialTranslation<'_>),
    ) -> Result<(Translation, Vec<Attended>), TraceError> {
        let (mut all, mut left, transformer) = (Vec::new(), trace.memory, self.transformer());
        let search = async |requests: &[GenerateRequest], watch: &mut dyn FnMut(Progress<'_>)| {
            let searched =
                transformer.generate_attended_within(&mut left, requests, trace, &options.cancel, watch);
            let (found, attended) = searched.await?;
            all.extend(attended);
            Ok::<_, TraceError>(found)
        };
        let translation = self.translate_by(text, options, on_partial, search).await?;
        Ok((translation, all))
    }

    /// The trace of a translation whose attention is there already, for each of its sentences. It has none of the weights
    /// ([`Trace::with_weights`]); tokens are as probable as the search found them, with whatever penalties it had.
    ///
    /// # Errors
    /// [`TraceError`]; [`TraceError::StaysOnDevice`] where `trace` asks for more than attention.
    pub fn trace_attended(
        &self,
        text: &str,
        translation: Translation,
        attended: &[Attended],
        options: &TranslateOptions,
        trace: &TraceOptions,
    ) -> Result<Trace, TraceError> {
        check_attention_alone(trace)?;
        let of_search = |sentence: &Sentence| {
            sentence.hypotheses.first().map(|best| best.search.step_logprobs.clone()).unwrap_or_default()
        };
        let of_search: Vec<Vec<f32>> = translation.sentences.iter().map(of_search).collect();
        let (pending, direction) = self.pending(text, translation, options)?;
        let mut traced = self.together(pending, without_weights(attended), &direction, trace);
        for (sentence, of_search) in traced.sentences.iter_mut().zip(of_search) {
            // of what came after the prompt
            let found = sentence.target_tokens.iter_mut().rev().zip(of_search.into_iter().rev());
            found.for_each(|(token, log_probability)| token.log_probability = Some(log_probability));
        }
        Ok(traced)
    }

    /// The sentences of a translation, before their passes.
    fn pending(
        &self,
        text: &str,
        translation: Translation,
        options: &TranslateOptions,
    ) -> Result<(Vec<Pending>, Direction), TraceError> {
        let (direction, generation) = self.languages(options)?;
        let mut pending = Vec::new();
        let mut at = text.len() - self.tokenizer().split_tag(text).1.len();
        for sentence in translation.sentences {
            // sentences are parts of the text, in order
            let offset = text[at..].find(&sentence.source).map_or(at, |place| at + place);
            at = (offset + sentence.source.len()).min(text.len());
            let Some(best) = sentence.hypotheses.into_iter().next() else { continue };
            let prompt = self.prompt(&direction, &generation, &sentence.source_ids)?;
            // what begins as the prompt does was given; a search can also begin otherwise
            let given = prompt.iter().zip(&best.search.tokens).take_while(|(a, b)| a == b).count().max(1);
            pending.push(Pending {
                source: sentence.source,
                offset,
                target: best.text,
                request: TraceRequest {
                    input_ids: sentence.source_ids,
                    prompt: given.min(best.search.tokens.len().saturating_sub(1)),
                    target_ids: best.search.tokens,
                },
            });
        }
        Ok((pending, direction))
    }

    /// The same for a translation that is given: both texts are one sentence, because nobody knows which parts belong
    /// together.
    ///
    /// # Errors
    /// [`TraceError`]; [`ForwardError::TooLong`](crate::transformer::ForwardError::TooLong) for a text with more tokens
    /// than the model has positions.
    pub async fn trace_pair(
        &self,
        source: &str,
        target: &str,
        options: &TranslateOptions,
        trace: &TraceOptions,
    ) -> Result<Trace, TraceError> {
        let (direction, generation) = self.languages(options)?;
        let (source_tag, untagged) = self.tokenizer().split_tag(source);
        let (own, target) = (untagged.trim(), target.trim());
        let offset = source.len() - untagged.trim_start().len();
        let encoded = match source_tag {
            Some(tag) => self.tokenizer().encode_source(&format!("{tag} {own}"), &direction)?,
            None => self.tokenizer().encode_source(own, &direction)?,
        };
        let prompt = self.prompt(&direction, &generation, &encoded)?;
        let target_ids = [&prompt[..], &self.tokenizer().encode_target(target, &direction)?].concat();
        let request = TraceRequest { input_ids: encoded, target_ids, prompt: prompt.len() };
        let pending = Pending { source: own.to_owned(), offset, target: target.to_owned(), request };
        self.run(vec![pending], &direction, options, trace).await
    }

    fn languages(&self, options: &TranslateOptions) -> Result<(Direction, GenerationConfig), TraceError> {
        Ok(resolve_languages(self.tokenizer(), options, self.transformer().generation_config())?)
    }

    /// What translations begin with: the start token, and their language where that is a token.
    fn prompt(
        &self,
        direction: &Direction,
        generation: &GenerationConfig,
        input_ids: &[u32],
    ) -> Result<Vec<u32>, TraceError> {
        let transformer = self.transformer();
        let defaults = transformer.generation_config();
        let options = resolve(generation, defaults, transformer.config(), input_ids)
            .map_err(crate::transformer::GenerateError::from)?;
        let language = direction.target.and(options.forced_bos);
        Ok(options.prompt.into_iter().chain(language).collect())
    }

    async fn run(
        &self,
        pending: Vec<Pending>,
        direction: &Direction,
        options: &TranslateOptions,
        trace: &TraceOptions,
    ) -> Result<Trace, TraceError> {
        let recordings = self.transformer().record(&requests(&pending), trace, &options.cancel).await?;
        Ok(self.together(pending, recordings, direction, trace))
    }

    fn together(
        &self,
        pending: Vec<Pending>,
        recordings: impl IntoIterator<Item = Recording>,
        direction: &Direction,
        trace: &TraceOptions,
    ) -> Trace {
        let sentences = pending.into_iter().zip(recordings);
        let sentences = sentences.map(|(pending, recording)| self.traced(pending, recording, direction));
        Trace { model: trace.model.clone(), sentences: sentences.collect() }
    }

    fn traced(&self, pending: Pending, recording: Recording, direction: &Direction) -> TracedSentence {
        let Pending { source, offset, target, request } = pending;
        let TraceRequest { input_ids, target_ids, prompt } = request;
        let tokenizer = self.tokenizer();
        let source_tokens = tokens(tokenizer, &input_ids, &source, direction.text_prefix(), false);
        let mut target_tokens: Vec<TargetToken> = tokens(tokenizer, &target_ids, &target, "", true)
            .into_iter()
            .map(|token| TargetToken { token, ..TargetToken::default() })
            .collect();
        let Recording { log_probabilities, alternatives, attention, left_out, depth } = recording;
        let numbers = log_probabilities.into_iter().zip(alternatives);
        for (token, (log_probability, alternatives)) in target_tokens[prompt..].iter_mut().zip(numbers) {
            token.log_probability = Some(log_probability);
            let alternative =
                |(id, log_probability)| Alternative { id, piece: piece(tokenizer, id), log_probability };
            token.alternatives = alternatives.into_iter().map(alternative).collect();
        }
        let search = None;
        TracedSentence {
            source,
            offset,
            target,
            source_tokens,
            target_tokens,
            prompt,
            attention,
            left_out,
            search,
            depth,
        }
    }
}

fn check_attention_alone(trace: &TraceOptions) -> Result<(), TraceError> {
    let TraceOptions { scores, search, depth, .. } = *trace;
    let of_host = [(scores, "scores"), (search, "the search"), (depth, "the residual stream")];
    match of_host.into_iter().find(|(wanted, _)| *wanted) {
        Some((_, what)) => Err(TraceError::StaysOnDevice { what }),
        None => Ok(()),
    }
}

/// What is recorded of sentences whose weights are on a device.
fn without_weights(attended: &[Attended]) -> impl Iterator<Item = Recording> {
    attended
        .iter()
        .map(|attended| Recording { left_out: attended.left_out().to_vec(), ..Recording::default() })
}

fn requests(pending: &[Pending]) -> Vec<TraceRequest> {
    pending.iter().map(|pending| pending.request.clone()).collect()
}

/// A token of the target as the tokenizer has it.
fn piece(tokenizer: &Tokenizer, id: u32) -> String {
    tokenizer.target_token(id).map_or_else(|| format!("#{id}"), |piece| piece.into_owned())
}
