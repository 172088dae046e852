//! The model that is studied, with the sentences that it reads; measurements that are kept.

use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wordloom::model::config::Architecture;
use wordloom::model::{SelfAttentionKind, Switches};
use wordloom::text::Token;
use wordloom::trace::{AttentionKind, Trace, TraceError, TraceOptions, TracedSentence};
use wordloom::train::pairs::{PairsOptions, SentencePair, load_rows};
use wordloom::transformer::{
    Cancel, ForwardError, ForwardInput, ForwardOutput, ForwardSelection, GenerateOptions, ScoreRequest,
};
use wordloom::{Model, TranslateOptions, Translator};

use super::log::Log;
use crate::{CliError, notice};

/// Fewest sentences that a study takes.
pub const FEWEST: usize = 20;

/// Most tokens of a test translation for each token of its source, and a few more: a model without some of its heads may repeat
/// itself to the end.
const LONGEST_RATIO: usize = 2;
const LONGEST_MORE: usize = 10;

/// A sentence that the model reads, with its reference translation.
pub struct Sentence {
    /// Index of the pair.
    pub index: usize,
    pub source: Vec<u32>,
    /// From the start token to the end token; empty in models of one stack.
    pub target: Vec<u32>,
    /// Tokens and attention; only ids of the source in models of one stack.
    pub traced: TracedSentence,
}

pub struct Subject {
    pub model: Model,
    pub translator: Translator,
    pub options: TranslateOptions,
    pub pairs: Vec<SentencePair>,
    /// Name of the file of pairs, in messages.
    pub file: String,
    /// Number of sentences of most measurements.
    pub wanted: usize,
    pub cancel: Cancel,
    sentences: Vec<Sentence>,
    /// Pairs that were looked at; some may be too long for the model.
    looked_at: usize,
    log: Log,
    bar: ProgressBar,
}

/// Reads the pairs of a study.
pub fn read_pairs(path: &Path) -> Result<Vec<SentencePair>, CliError> {
    let options = PairsOptions { ignore_columns: true, ..PairsOptions::default() };
    Ok(load_rows(path, &options)?.pairs)
}

impl Subject {
    pub fn new(
        (model, translator): (Model, Translator),
        options: TranslateOptions,
        (file, pairs): (String, Vec<SentencePair>),
        wanted: usize,
        log: Log,
    ) -> Self {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("[{bar:16}] {msg} {pos}/{len}, {eta} left") {
            bar.set_style(style.progress_chars("━━─"));
        }
        let cancel = options.cancel.clone();
        Self {
            model,
            translator,
            options,
            pairs,
            file,
            wanted,
            cancel,
            sentences: Vec::new(),
            looked_at: 0,
            log,
            bar,
        }
    }

    /// Kinds of attention that see whole texts.
    pub fn kinds(&self) -> Vec<AttentionKind> {
        let config = self.model.config();
        let is_whole = |kind: &AttentionKind| {
            *kind != AttentionKind::Encoder
                || (0..config.encoder.layers)
                    .all(|layer| *config.encoder_kind(layer) == SelfAttentionKind::Full)
        };
        AttentionKind::ALL
            .into_iter()
            .filter(|kind| config.attention_layers(*kind) > 0)
            .filter(is_whole)
            .collect()
    }

    pub fn translates(&self) -> bool {
        self.model.config().architecture() == Architecture::EncoderDecoder
    }

    /// Announces the next measurements.
    pub fn begin(&self, what: &str, count: usize) {
        self.bar.reset();
        self.bar.set_length(count as u64);
        self.bar.set_message(what.to_owned());
    }

    /// Takes a measurement, or finds it in the log. Returns [`CliError::Interrupted`] after Ctrl-C.
    pub fn measure<T: Serialize + DeserializeOwned>(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Self) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        if let Some(found) = self.log.find(name) {
            self.bar.inc(1);
            return Ok(found);
        }
        if self.cancel.is_cancelled() {
            return Err(CliError::Interrupted);
        }
        let value = work(self)?;
        self.log.add(name, &value)?;
        self.bar.inc(1);
        Ok(value)
    }

    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    /// Traces the chosen pairs. Those that are too long for the model are left out.
    pub fn load(&mut self) -> Result<(), CliError> {
        let count = self.wanted.min(self.pairs.len());
        if self.looked_at >= count {
            return Ok(());
        }
        self.begin("reading sentences", count);
        for place in self.looked_at..count {
            if self.cancel.is_cancelled() {
                return Err(CliError::Interrupted);
            }
            let sentence = self.sentence(place * self.pairs.len() / count)?;
            self.sentences.extend(sentence);
            self.looked_at += 1;
            self.bar.inc(1);
        }
        let (left, limit) = (self.sentences.len(), self.limit());
        if left < FEWEST {
            let problem = format!(
                "{left} of {count} pairs fit into the model's {limit} positions; a study needs {FEWEST}"
            );
            return Err(CliError::Input(format!("{}: {problem}", self.file)));
        }
        if left < count {
            notice(&format!(
                "{} of {count} pairs are longer than the model's {limit} positions, and are not read",
                count - left
            ));
        }
        Ok(())
    }

    /// Most tokens of a text.
    pub fn limit(&self) -> usize {
        self.model.config().positions.longest_input()
    }

    /// The loaded sentences.
    pub fn sentences(&self) -> &[Sentence] {
        &self.sentences
    }

    /// `None` if it is too long.
    fn sentence(&self, index: usize) -> Result<Option<Sentence>, CliError> {
        let SentencePair { source, target } = &self.pairs[index];
        if self.translates() {
            let sentence = self.pair_if_short(source, target)?;
            return Ok(sentence.map(|sentence| Sentence { index, ..sentence }));
        }
        let ids = self.translator.tokenizer().encode(source)?;
        if ids.len() > self.limit() {
            return Ok(None);
        }
        let tokens = ids.iter().map(|&id| Token { id, ..Token::default() }).collect();
        let traced =
            TracedSentence { source: source.clone(), source_tokens: tokens, ..TracedSentence::default() };
        Ok(Some(Sentence { index, source: ids, target: Vec::new(), traced }))
    }

    /// Traces any source and target.
    pub fn pair(&self, source: &str, target: &str) -> Result<Sentence, CliError> {
        Ok(self.traced(source, target)?)
    }

    /// As [`pair`](Self::pair); `None` if one of both is too long for the model.
    pub fn pair_if_short(&self, source: &str, target: &str) -> Result<Option<Sentence>, CliError> {
        match self.traced(source, target) {
            Err(TraceError::Forward(ForwardError::TooLong { .. })) => Ok(None),
            result => Ok(Some(result?)),
        }
    }

    fn traced(&self, source: &str, target: &str) -> Result<Sentence, TraceError> {
        let options = TraceOptions { scores: false, ..TraceOptions::default() };
        let trace =
            pollster::block_on(Trace::of_pair(&self.translator, source, target, &self.options, &options))?;
        let traced = trace.sentences.into_iter().next().unwrap_or_default();
        Ok(Sentence {
            index: 0,
            source: traced.source_tokens.iter().map(|token| token.id).collect(),
            target: traced.target_tokens.iter().map(|target| target.token.id).collect(),
            traced,
        })
    }

    /// A pass with all hidden states and attention, without logits.
    pub fn pass(&self, source: &[u32], target: &[u32]) -> Result<ForwardOutput, CliError> {
        let config = self.model.config();
        let selection =
            ForwardSelection { logits: false, hidden_states: true, ..ForwardSelection::all(config) };
        let read = &target[..target.len().saturating_sub(1)];
        let input = ForwardInput {
            batch: 1,
            source_length: source.len(),
            target_length: read.len(),
            input_ids: source.to_vec(),
            attention_mask: vec![1; source.len()],
            global_attention_mask: config.usual_global_mask(source.len()),
            token_type_ids: Vec::new(),
            decoder_input_ids: read.to_vec(),
        };
        Ok(pollster::block_on(self.translator.transformer().forward_selected(&input, &selection))?)
    }

    /// Loss of each loaded sentence's reference, nats per token.
    pub fn losses(&self, sentences: &[Sentence]) -> Result<Vec<f64>, CliError> {
        self.losses_of(&sentences.iter().map(|sentence| self.scored(sentence)).collect::<Vec<_>>())
    }

    /// The request that scores a sentence's reference.
    pub fn scored(&self, sentence: &Sentence) -> ScoreRequest {
        let (context, target) = sentence.target.split_at(sentence.traced.prompt);
        ScoreRequest {
            input_ids: sentence.source.clone(),
            context_ids: context.to_vec(),
            target_ids: target.to_vec(),
            global_tokens: self.model.config().usual_globals(),
        }
    }

    /// Works with a model with these switches, and restores it. `None` if the model has no such part.
    pub fn switched<T>(
        &mut self,
        switches: &str,
        work: impl FnOnce(&Self) -> Result<T, CliError>,
    ) -> Result<Option<T>, CliError> {
        let switches = switches.parse::<Switches>().map_err(|error| CliError::Input(error.to_string()))?;
        if self.translator.set_switches(&self.model, &switches).is_err() {
            return Ok(None);
        }
        let result = work(self);
        let restored = self.translator.set_switches(&self.model, &Switches::default());
        restored.map_err(|error| CliError::Input(error.to_string()))?;
        result.map(Some)
    }

    /// Rise of the loss of each loaded sentence with these switches. `None` if the model has no such part, or has no loss.
    pub fn rise(&mut self, switches: &str) -> Result<Option<Vec<f64>>, CliError> {
        if !self.translates() {
            return Ok(None);
        }
        let whole: Vec<f64> = self.measure("whole", |subject| subject.losses(subject.sentences()))?;
        let losses: Option<Vec<f64>> = self.measure(&format!("with {switches}"), |subject| {
            subject.switched(switches, |subject| subject.losses(subject.sentences()))
        })?;
        Ok(losses.map(|losses| losses.iter().zip(&whole).map(|(with, without)| with - without).collect()))
    }

    /// Loss of each request, nats per token.
    pub fn losses_of(&self, requests: &[ScoreRequest]) -> Result<Vec<f64>, CliError> {
        let transformer = self.translator.transformer();
        let scores = pollster::block_on(transformer.score(requests, &self.cancel, &mut |_| {}))?;
        let mean = |score: wordloom::transformer::Score| {
            -score.log_probability() / score.token_log_probabilities.len().max(1) as f64
        };
        Ok(scores.into_iter().map(mean).collect())
    }

    /// Greedy translations of sentences.
    pub fn translations(&self, sentences: &[Sentence]) -> Result<Vec<String>, CliError> {
        let limit = self.model.config().positions.longest_input();
        let requests = sentences.iter().map(|sentence| {
            let longest = (LONGEST_RATIO * sentence.source.len() + LONGEST_MORE).min(limit);
            self.translator.request(&sentence.source, &[], &self.options.clone().beams(1).max_length(longest))
        });
        let requests = requests.collect::<Result<Vec<_>, _>>()?;
        let generate = GenerateOptions::default().cancel(&self.cancel);
        let found = pollster::block_on(self.translator.transformer().generate(&requests, generate))?;
        let texts = found.iter().map(|found| {
            let tokens = found.hypotheses.first().map_or(&[][..], |best| &best.tokens);
            self.translator.tokenizer().decode(tokens, true)
        });
        Ok(texts.collect::<Result<_, _>>()?)
    }
}
