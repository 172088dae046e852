use std::cell::RefCell;

use wordloom::gpu::Counters;
use wordloom::model::config::{Architecture, ModelConfig};
use wordloom::model::generation_config::GenerationConfig;
use wordloom::transformer::{Encoder, GenerateOptions, GenerateRequest};
use wordloom::{Device, Model, Transformer, resolve};

use super::Workload;
use super::timing::{Samples, Summary};
use crate::CliError;

pub struct Subject {
    pub transformer: Transformer,
    pub label: String,
    pub random: bool,
}

/// Size of a translation: sources of a batch, beams of each, tokens of each hypothesis.
#[derive(Clone, Copy, Debug)]
pub struct Translation {
    pub batch: usize,
    pub beams: usize,
    pub source: usize,
    pub tokens: usize,
}

impl Subject {
    pub fn new(model: &Model, transformer: Transformer) -> Self {
        Self { transformer, label: model.label().to_owned(), random: model.checkpoint().is_random() }
    }

    pub fn config(&self) -> &ModelConfig {
        self.transformer.config()
    }

    pub fn device(&self) -> Device {
        self.transformer.device()
    }

    pub fn encodes(&self) -> bool {
        self.config().architecture() != Architecture::DecoderOnly
    }

    pub fn generates(&self) -> bool {
        self.config().architecture() != Architecture::EncoderOnly
    }

    /// Refuses lengths beyond the model's positions before any measurement.
    pub fn check(&self, workload: &Workload) -> Result<(), CliError> {
        let limit = self.config().positions.count();
        // an encoder may have more positions than the decoder
        let source_limit =
            if self.encodes() { self.config().source_positions().longest_input() } else { limit };
        let refuse = |option: &str, length: usize, limit: usize| {
            let model = &self.label;
            Err(CliError::Usage(format!("{option} {length}: {model} has positions for {limit} at most")))
        };
        let longest = |lengths: &[usize]| lengths.iter().copied().max().unwrap_or(0);
        if self.encodes() && longest(&workload.encode) > source_limit {
            return refuse("--encode", longest(&workload.encode), source_limit);
        }
        if self.generates() {
            if workload.source > source_limit {
                return refuse("--source", workload.source, source_limit);
            }
            // a decoder alone continues its source; the last token is never read and needs no position
            let before = if self.encodes() { 1 } else { workload.source };
            let limit = limit.saturating_add(1) - before;
            if longest(&workload.tokens) > limit {
                return refuse("--tokens", longest(&workload.tokens), limit);
            }
        }
        Ok(())
    }

    pub fn counters(&self) -> Option<Counters> {
        self.device().gpu().map(|gpu| gpu.counters())
    }

    pub fn encoder(&self, length: usize) -> Result<impl Fn() -> Result<(), CliError>, CliError> {
        let encoder: RefCell<Encoder<'_>> = RefCell::new(self.transformer.encoder(1, length)?);
        let sources = source_ids(self.config(), length, 1);
        Ok(move || Ok(pollster::block_on(encoder.borrow_mut().run(&sources))?))
    }

    pub fn translation(
        &self,
        translation: Translation,
    ) -> Result<impl Fn() -> Result<(), CliError>, CliError> {
        let Translation { batch, source, .. } = translation;
        let requests: Vec<GenerateRequest> = source_ids(self.config(), source, batch)
            .into_iter()
            .map(|input_ids| self.request(translation, input_ids))
            .collect::<Result<_, _>>()?;
        Ok(move || {
            pollster::block_on(self.transformer.generate(&requests, GenerateOptions::default()))?;
            Ok(())
        })
    }

    /// A search for a given number of tokens, without the model's bans, forced tokens and penalties.
    pub fn request(
        &self,
        translation: Translation,
        input_ids: Vec<u32>,
    ) -> Result<GenerateRequest, CliError> {
        let wanted = plain_search(translation.beams, translation.tokens);
        let config = self.config();
        let resolved = resolve(&wanted, self.transformer.generation_config(), config, &input_ids);
        let mut options = resolved.map_err(wordloom::transformer::GenerateError::from)?;
        options.bad_words.clear();
        options.forced_bos = None;
        options.forced_eos = None;
        Ok(GenerateRequest::new(input_ids, options))
    }

    /// Times runs, and counts the device's work in the last one.
    pub fn time(
        &self,
        repeats: usize,
        mut run: impl FnMut() -> Result<(), CliError>,
    ) -> Result<(Summary, Option<Counters>), CliError> {
        let mut last = None;
        let samples = Samples::of(repeats, || {
            last = self.counters();
            run()
        })?;
        let counted = self.counters().zip(last).map(|(now, before)| now.since(before));
        Ok((samples.summary(), counted))
    }
}

fn plain_search(beams: usize, tokens: usize) -> GenerationConfig {
    GenerationConfig {
        num_beams: Some(beams),
        num_return_sequences: Some(1),
        max_new_tokens: Some(tokens),
        min_new_tokens: Some(tokens),
        do_sample: Some(false),
        length_penalty: Some(1.0),
        no_repeat_ngram_size: Some(0),
        repetition_penalty: Some(1.0),
        renormalize_logits: Some(false),
        early_stopping: Some(wordloom::decode::EarlyStopping::Heuristic),
        ..GenerationConfig::default()
    }
}

/// First search of a workload, to prepare loading for it.
pub fn first_search(workload: &Workload) -> GenerationConfig {
    let first = |numbers: &[usize]| numbers.first().copied().unwrap_or(1);
    plain_search(first(&workload.beams), first(&workload.tokens))
}

/// The same sources on every machine: numbers of a linear congruential generator, with the model's end token last.
pub fn source_ids(config: &ModelConfig, length: usize, batch: usize) -> Vec<Vec<u32>> {
    let vocabulary = config.source_vocabulary as u32;
    let mut state = 12_345u32;
    let mut next = || {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345) & 0x7FFF_FFFF;
        (2 + (state >> 8) % vocabulary.saturating_sub(3).max(1)).min(vocabulary.saturating_sub(1))
    };
    let mut source = || {
        let end = config.tokens.eos;
        let words = length - usize::from(end.is_some());
        let mut ids: Vec<u32> = (0..words).map(|_| next()).collect();
        ids.extend(end);
        ids
    };
    (0..batch).map(|_| source()).collect()
}

#[cfg(all(test, feature = "embedded-model"))]
mod tests {
    use super::*;

    /// Other programs make the same ids, so that results are comparable.
    #[test]
    fn sources_are_the_same_everywhere() {
        let model = Model::embedded().expect("the model is built in");
        let sources = source_ids(model.config(), 6, 2);
        assert_eq!(sources, [[1206, 1608, 11395, 7862, 2425, 0], [4646, 3168, 8181, 5618, 7652, 0]]);
    }
}
