use super::error::TraceError;
use super::options::TraceOptions;
use super::record::{Recording, TraceRequest, attend, record};
use super::{Alternative, Anatomy, TargetToken, Trace, TracedSearch, TracedSentence};
use crate::decode::SearchTree;
use crate::gpu::GpuError;
use crate::model::generation_config::GenerationConfig;
use crate::sorting;
use crate::text::{Direction, Tokenizer, tokens};
use crate::transformer::{GenerateError, KeptAttention, resolve};
use crate::translate::{TranslateOptions, Translation, Translator, resolve_languages};

impl Trace {
    /// Makes the trace of a translation by this translator, from the same text and options: one teacher-forced pass for
    /// the best translation of each sentence. [`TracedSentence::left_out`] lists layers beyond
    /// [`TraceOptions::memory`].
    pub async fn of(
        translator: &Translator,
        text: &str,
        translation: &Translation,
        options: &TranslateOptions,
        trace: &TraceOptions,
    ) -> Result<Self, TraceError> {
        let tracer = Tracer::new(translator, options, trace)?;
        let mut traced = tracer.run(tracer.sentences(text, translation)?).await?;
        if trace.search {
            for (sentence, translated) in traced.sentences.iter_mut().zip(&translation.sentences) {
                sentence.search = translated.tree.as_ref().map(|tree| tracer.search(tree));
            }
        }
        Ok(traced)
    }

    /// As [`of`](Self::of), for any translation. Both texts are one sentence: the pairs of sentences are unknown.
    ///
    /// # Errors
    /// [`TraceError`]; [`ForwardError::TooLong`](crate::transformer::ForwardError::TooLong) if a text has more tokens
    /// than the model has positions.
    pub async fn of_pair(
        translator: &Translator,
        source: &str,
        target: &str,
        options: &TranslateOptions,
        trace: &TraceOptions,
    ) -> Result<Self, TraceError> {
        let tracer = Tracer::new(translator, options, trace)?;
        tracer.run(vec![tracer.pair(source, target)?]).await
    }

    /// As [`of`](Self::of), but attention stays on the device, outside the trace ([`with_weights`](Self::with_weights)
    /// adds it). Scores, searches and the residual stream are not available.
    ///
    /// # Errors
    /// [`TraceError`]; [`TraceError::StaysOnDevice`] if `trace` asks for more than attention.
    pub async fn on_device(
        translator: &Translator,
        text: &str,
        translation: &Translation,
        options: &TranslateOptions,
        trace: &TraceOptions,
    ) -> Result<(Self, Vec<KeptAttention>), TraceError> {
        check_attention_alone(trace)?;
        let tracer = Tracer::new(translator, options, trace)?;
        let pending = tracer.sentences(text, translation)?;
        let kept = attend(translator.transformer(), &requests(&pending), trace, &options.cancel).await?;
        Ok((tracer.together(pending, without_weights(&kept)), kept))
    }

    /// Makes the trace of a translation that [kept](crate::transformer::Keep::attention) its attention, without a pass.
    /// The weights stay on the device ([`with_weights`](Self::with_weights) adds them). Log-probabilities are the
    /// search's, with its penalties.
    ///
    /// # Errors
    /// [`TraceError`]; [`TraceError::StaysOnDevice`] if `trace` asks for more than attention.
    pub fn of_search(
        translator: &Translator,
        text: &str,
        translation: &Translation,
        options: &TranslateOptions,
        trace: &TraceOptions,
    ) -> Result<Self, TraceError> {
        check_attention_alone(trace)?;
        let tracer = Tracer::new(translator, options, trace)?;
        let pending = tracer.sentences(text, translation)?;
        let kept = translation.sentences.iter().filter_map(|sentence| sentence.attention.as_ref());
        let mut traced = tracer.together(pending, without_weights(kept));
        for (sentence, translated) in traced.sentences.iter_mut().zip(&translation.sentences) {
            let Some(best) = translated.hypotheses.first() else { continue };
            // the search's log-probabilities begin after the prompt
            let found = sentence.target_tokens.iter_mut().rev().zip(best.search.step_logprobs.iter().rev());
            found.for_each(|(token, &log_probability)| token.log_probability = Some(log_probability));
        }
        Ok(traced)
    }

    /// Reads the attention of the sentences, in order, into the trace.
    pub async fn with_weights(mut self, attention: &[KeptAttention]) -> Result<Self, GpuError> {
        for (sentence, attention) in self.sentences.iter_mut().zip(attention) {
            sentence.attention = attention.read().await?;
        }
        Ok(self)
    }
}

struct Pending {
    source: String,
    offset: usize,
    target: String,
    request: TraceRequest,
}

struct Tracer<'a> {
    translator: &'a Translator,
    options: &'a TranslateOptions,
    trace: &'a TraceOptions,
    direction: Direction,
    generation: GenerationConfig,
}

impl<'a> Tracer<'a> {
    fn new(
        translator: &'a Translator,
        options: &'a TranslateOptions,
        trace: &'a TraceOptions,
    ) -> Result<Self, TraceError> {
        let defaults = translator.transformer().generation_config();
        let (direction, generation) = resolve_languages(translator.tokenizer(), options, defaults)?;
        Ok(Self { translator, options, trace, direction, generation })
    }

    fn tokenizer(&self) -> &'a Tokenizer {
        self.translator.tokenizer()
    }

    fn sentences(&self, text: &str, translation: &Translation) -> Result<Vec<Pending>, TraceError> {
        let mut pending = Vec::new();
        let mut at = text.len() - self.tokenizer().split_tag(text).1.len();
        for sentence in &translation.sentences {
            // sentences are parts of the text, in order
            let offset = text[at..].find(&sentence.source).map_or(at, |place| at + place);
            at = (offset + sentence.source.len()).min(text.len());
            let Some(best) = sentence.hypotheses.first() else { continue };
            let prompt = self.prompt(&sentence.source_ids)?;
            let target_ids = best.search.tokens.clone();
            // the given tokens are those that agree with the prompt; a search can begin otherwise
            let given = prompt.iter().zip(&target_ids).take_while(|(a, b)| a == b).count().max(1);
            pending.push(Pending {
                source: sentence.source.clone(),
                offset,
                target: best.text.clone(),
                request: TraceRequest {
                    input_ids: sentence.source_ids.clone(),
                    prompt: given.min(target_ids.len().saturating_sub(1)),
                    target_ids,
                },
            });
        }
        Ok(pending)
    }

    fn pair(&self, source: &str, target: &str) -> Result<Pending, TraceError> {
        let tokenizer = self.tokenizer();
        let (source_tag, untagged) = tokenizer.split_tag(source);
        let (own, target) = (untagged.trim(), target.trim());
        let offset = source.len() - untagged.trim_start().len();
        let input_ids = match source_tag {
            Some(tag) => tokenizer.encode_source(&format!("{tag} {own}"), &self.direction)?,
            None => tokenizer.encode_source(own, &self.direction)?,
        };
        let prompt = self.prompt(&input_ids)?;
        let target_ids = [&prompt[..], &tokenizer.encode_target(target, &self.direction)?].concat();
        let request = TraceRequest { input_ids, target_ids, prompt: prompt.len() };
        Ok(Pending { source: own.to_owned(), offset, target: target.to_owned(), request })
    }

    /// The prompt of translations: the start token, and the language token if there is one.
    fn prompt(&self, input_ids: &[u32]) -> Result<Vec<u32>, TraceError> {
        let transformer = self.translator.transformer();
        let defaults = transformer.generation_config();
        let options = resolve(&self.generation, defaults, transformer.config(), input_ids)
            .map_err(GenerateError::from)?;
        let language = self.direction.target.and(options.forced_bos);
        Ok(options.prompt.into_iter().chain(language).collect())
    }

    async fn run(&self, pending: Vec<Pending>) -> Result<Trace, TraceError> {
        let (transformer, cancel) = (self.translator.transformer(), &self.options.cancel);
        let recordings = record(transformer, &requests(&pending), self.trace, cancel).await?;
        Ok(self.together(pending, recordings))
    }

    fn together(&self, pending: Vec<Pending>, recordings: impl IntoIterator<Item = Recording>) -> Trace {
        let sentences = pending.into_iter().zip(recordings);
        let sentences = sentences.map(|(pending, recording)| self.traced(pending, recording));
        let config = self.translator.transformer().config();
        Trace {
            model: self.trace.model.clone(),
            sentences: sentences.collect(),
            anatomy: (!self.trace.taps.is_empty()).then(|| Anatomy::of(config)),
        }
    }

    fn traced(&self, pending: Pending, recording: Recording) -> TracedSentence {
        let Pending { source, offset, target, request } = pending;
        let TraceRequest { input_ids, target_ids, prompt } = request;
        let tokenizer = self.tokenizer();
        let source_tokens = tokens(tokenizer, &input_ids, &source, self.direction.text_prefix(), false);
        let mut target_tokens: Vec<TargetToken> = tokens(tokenizer, &target_ids, &target, "", true)
            .into_iter()
            .map(|token| TargetToken { token, ..TargetToken::default() })
            .collect();
        let Recording { log_probabilities, alternatives, attention, left_out, depth, taps } = recording;
        let numbers = log_probabilities.into_iter().zip(alternatives);
        for (token, (log_probability, alternatives)) in target_tokens[prompt..].iter_mut().zip(numbers) {
            token.log_probability = Some(log_probability);
            let alternative =
                |(id, log_probability)| Alternative { id, piece: piece(tokenizer, id), log_probability };
            token.alternatives = alternatives.into_iter().map(alternative).collect();
        }
        TracedSentence {
            source,
            offset,
            target,
            source_tokens,
            target_tokens,
            prompt,
            attention,
            left_out,
            search: None,
            depth,
            taps,
        }
    }

    /// Adds the pieces of its tokens to a search's tree.
    fn search(&self, tree: &SearchTree) -> TracedSearch {
        let pieces = tree.nodes.iter().map(|node| (node.token, piece(self.tokenizer(), node.token)));
        TracedSearch { pieces: sorting::map_of(pieces), tree: tree.clone() }
    }
}

fn check_attention_alone(trace: &TraceOptions) -> Result<(), TraceError> {
    let &TraceOptions { scores, search, depth, ref taps, .. } = trace;
    let of_host = [
        (scores, "scores"),
        (search, "the search"),
        (depth, "the residual stream"),
        (!taps.is_empty(), "taps"),
    ];
    match of_host.into_iter().find(|(wanted, _)| *wanted) {
        Some((_, what)) => Err(TraceError::StaysOnDevice { what }),
        None => Ok(()),
    }
}

/// Recordings of sentences whose weights are on a device.
fn without_weights<'a>(kept: impl IntoIterator<Item = &'a KeptAttention>) -> impl Iterator<Item = Recording> {
    kept.into_iter().map(|kept| Recording { left_out: kept.left_out().to_vec(), ..Recording::default() })
}

fn requests(pending: &[Pending]) -> Vec<TraceRequest> {
    pending.iter().map(|pending| pending.request.clone()).collect()
}

fn piece(tokenizer: &Tokenizer, id: u32) -> String {
    tokenizer.target_token(id).map_or_else(|| format!("#{id}"), |piece| piece.into_owned())
}
