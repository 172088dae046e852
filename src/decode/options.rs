use std::sync::Arc;

use super::DecodeError;
use super::constraints::{Constraints, SearchLimits};

/// Maximal number of best tokens per row and step: one for each beam and one for each end token.
const MAX_CANDIDATES: usize = 64;

/// Room for wanted tokens of a row, at least.
const FEWEST_WANTED: usize = 32;

/// Maximal length of an output of a model without a limit of its own. It detects mistakes, and prevents overflow.
const LONGEST: usize = 1 << 24;
/// Maximal number of beams of a sentence.
pub const MAX_BEAMS: usize = 16;

/// The end of a beam search after `num_beams` finished hypotheses.  HF `early_stopping`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "serde_json::Value", into = "serde_json::Value")] // see `GenerationConfig`
pub enum EarlyStopping {
    /// `true`: at once.
    Always,
    /// `false`, HF's default: if the best running beam, scored as if it ended now, is no better than the worst finished
    /// hypothesis. With a positive length penalty it might still become better.
    #[default]
    Heuristic,
    /// `"never"`: if the best running beam cannot become better than the worst finished hypothesis at any length.
    Never,
}

/// Random choice of tokens.  HF `do_sample`.
///
/// The order is HF's: edits as in greedy search, division by `temperature`, cut to `top_k`, cut to `top_p`,
/// normalisation; see [`Sampling::probabilities`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Divisor of the logits, above 0; default 1. Close to 0 is greedy search.
    pub temperature: f32,
    /// Number of best tokens to draw from; 0: all. Default 50.
    pub top_k: usize,
    /// Probability of the smallest set of best tokens to draw from; above 0, default 1 (all). Holtzman et al. 2020,
    /// "The Curious Case of Neural Text Degeneration", section 3.1.
    pub top_p: f32,
    /// Seed of the random numbers; default 0. The same input and options give the same hypotheses in any batch.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 1.0, top_k: 50, top_p: 1.0, seed: 0 }
    }
}

impl Sampling {
    pub(super) fn wants_whole_rows(&self) -> bool {
        !(1..=MAX_CANDIDATES).contains(&self.top_k)
    }

    fn validate(&self) -> Result<(), DecodeError> {
        if !(self.temperature.is_finite() && self.temperature > 0.0) {
            let allowed = "a finite number above 0; without do_sample the best tokens are taken";
            return Err(refuse("temperature", self.temperature, allowed));
        }
        if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            return Err(refuse("top_p", self.top_p, "above 0 and at most 1 (1: all tokens)"));
        }
        Ok(())
    }
}

/// The tokens that the output layer computes; probabilities are shares among them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Columns {
    /// Those of the model's shortlist for the input; all tokens if the model has none.
    #[default]
    Auto,
    /// All tokens.
    All,
    /// These tokens, in ascending order.
    Only(Arc<[u32]>),
}

impl Columns {
    /// The listed tokens; `None`: all.
    pub fn listed(&self) -> Option<&Arc<[u32]>> {
        match self {
            Self::Only(tokens) => Some(tokens),
            Self::Auto | Self::All => None,
        }
    }
}

/// All options of one sentence's search.
///
/// Fields have the names and the meaning of HF's `GenerationConfig`; [`DecodeOptions::new`] sets its defaults. Lengths
/// count tokens **including the prompt**: `max_new_tokens` plus the prompt's length is `max_length`.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodeOptions {
    /// Number of beams; 1 (default) is greedy search or sampling; at most [`MAX_BEAMS`].
    pub num_beams: usize,
    /// Number of returned hypotheses; default 1; at most `num_beams`, or for sampling [`MAX_BEAMS`].
    pub num_return_sequences: usize,
    /// Random choice instead of the best token; default `None`. Not with beams.
    pub sampling: Option<Sampling>,
    /// Exponent of the length in the score of n generated tokens (with the end token, without the prompt):
    /// `sum of log-probabilities / n^length_penalty`; default 1. Larger values favour longer hypotheses. This is HF's
    /// form, not `((5 + n) / 6)^α` of Wu et al. 2016, eq. (14), as in "Attention Is All You Need", 6.1.
    pub length_penalty: f32,
    /// End of a beam search; default [`EarlyStopping::Heuristic`].
    pub early_stopping: EarlyStopping,
    /// Maximal length of a hypothesis, with or without an end token; default 20.
    pub max_length: usize,
    /// Length below which end tokens are banned; default 0. `max_length` wins.
    pub min_length: usize,
    /// Banned token sequences: the last token is banned after the others. A single end token is ignored, as in HF.
    pub bad_words: Vec<Vec<u32>>,
    /// First generated token, if the prompt is one token.
    pub forced_bos: Option<u32>,
    /// Last token of a hypothesis that reaches `max_length`.
    pub forced_eos: Option<u32>,
    /// End tokens; if empty, every hypothesis has `max_length` tokens.
    pub eos: Vec<u32>,
    /// Token for the rows of finished sentences; part of no hypothesis.
    pub pad: u32,
    /// First tokens of every hypothesis, at least one: an encoder-decoder's start token, or a decoder's whole input.
    pub prompt: Vec<u32>,
    /// Size of n-grams that may not occur twice, the prompt included; 0 (default): any may.
    pub no_repeat_ngram_size: usize,
    /// Divides positive and multiplies negative scores of tokens that already occur, the prompt included; 1 (default):
    /// no penalty. Keskar et al. 2019, section 4.1.
    pub repetition_penalty: f32,
    /// Normalise log-probabilities again after all edits; default false. Marian models set it.
    pub renormalize_logits: bool,
    /// Tokens that the output layer computes; default [`Columns::Auto`]. A forced token can be another one.
    pub columns: Columns,
    /// Terms that a beam search must write, or should; default `None`. Their search runs on the host.
    pub constraints: Option<Arc<Constraints>>,
}

impl DecodeOptions {
    /// HF's defaults for a model with these tokens: greedy search, at most 20 tokens, no bans, no penalties.
    pub fn new(decoder_start: u32, eos: u32, pad: u32) -> Self {
        Self {
            num_beams: 1,
            num_return_sequences: 1,
            sampling: None,
            length_penalty: 1.0,
            early_stopping: EarlyStopping::Heuristic,
            max_length: 20,
            min_length: 0,
            bad_words: Vec::new(),
            forced_bos: None,
            forced_eos: None,
            eos: vec![eos],
            pad,
            prompt: vec![decoder_start],
            no_repeat_ngram_size: 0,
            repetition_penalty: 1.0,
            renormalize_logits: false,
            columns: Columns::Auto,
            constraints: None,
        }
    }

    /// Tokens of the maximal length that a forced end takes.
    pub(super) fn reserved_for_end(&self) -> usize {
        usize::from(self.forced_eos.is_some())
    }

    /// Room for tokens of a row whose scores a step needs besides the best ones. Rounded up, so that sentences with more or fewer terms
    /// share a batch.
    pub(crate) fn wanted(&self) -> usize {
        let needed = |constraints: &Arc<Constraints>| constraints.wanted() + self.eos.len();
        self.constraints
            .as_ref()
            .map_or(0, |constraints| needed(constraints).next_power_of_two().max(FEWEST_WANTED))
    }

    /// The prompt without its last token, which the first step reads.
    pub(crate) fn before_last(&self) -> &[u32] {
        self.prompt.split_last().map_or(&[], |(_, before)| before)
    }

    /// Number of rows of the sentence in a batch.
    pub fn rows(&self) -> usize {
        if self.sampling.is_some() { self.num_return_sequences } else { self.num_beams }
    }

    /// Options that the sentences of a batch share.
    pub(crate) fn batch_key(&self) -> impl Ord + use<> {
        let whole_rows = self.sampling.map(|sampling| sampling.wants_whole_rows());
        let listed = self.columns.listed().is_some();
        (self.rows(), self.renormalize_logits, whole_rows, listed, self.constraints.is_some())
    }

    /// Checks the options against a model. `max_positions` counts target positions (`usize::MAX`: no limit).
    pub fn validate(&self, target_vocabulary: usize, max_positions: usize) -> Result<(), DecodeError> {
        self.validate_numbers()?;
        // the last token is never fed back, so it needs no position
        let longest = max_positions.saturating_add(1).min(LONGEST);
        if self.max_length > longest {
            let allowed = match longest {
                LONGEST => format!("at most {LONGEST}"),
                _ => format!("at most {longest}: the model's {max_positions} positions and one token more"),
            };
            return Err(refuse("max_length", self.max_length, allowed));
        }
        let begins = match self.prompt.len() {
            1 => "decoder_start_token_id",
            _ => "input_ids",
        };
        let prompt = self.prompt.iter().map(|&token| (begins, token));
        let listed = self.eos.iter().map(|&token| ("eos_token_id", token));
        let banned = self.bad_words.iter().flatten().map(|&token| ("bad_words_ids", token));
        let single = [
            ("pad_token_id", Some(self.pad)),
            ("forced_bos_token_id", self.forced_bos),
            ("forced_eos_token_id", self.forced_eos),
        ];
        let single = single.into_iter().filter_map(|(option, token)| Some((option, token?)));
        let columns = self.columns.listed().into_iter().flat_map(|columns| columns.last());
        let columns = columns.map(|&token| ("columns", token));
        let terms = self.constraints.iter().flat_map(|constraints| constraints.tokens());
        let terms = terms.map(|token| ("constraints", token));
        for (option, token) in prompt.chain(single).chain(columns).chain(listed).chain(banned).chain(terms) {
            if token as usize >= target_vocabulary {
                return Err(DecodeError::Token { option, token, vocabulary: target_vocabulary });
            }
        }
        Ok(())
    }

    /// Checks that no score becomes zero or infinite: all hypotheses would then be alike. Hugging Face's `generate` ends there with an
    /// overflow.
    fn validate_length_penalty(&self) -> Result<(), DecodeError> {
        /// Largest divisor or factor, which leaves f32 room for sums of log-probabilities.
        const LARGEST: f64 = 1e30;
        if !self.length_penalty.is_finite() {
            return Err(refuse("length_penalty", self.length_penalty, "a finite number"));
        }
        let tokens = (self.max_length - self.prompt.len()).clamp(2, LONGEST);
        let (mut most, mut divisor) = (0, tokens as f64);
        while divisor <= LARGEST {
            divisor *= tokens as f64;
            most += 1;
        }
        if self.length_penalty.abs() > most as f32 {
            let allowed = format!("-{most} to {most} for outputs of up to {tokens} tokens; 0 is no penalty");
            return Err(refuse("length_penalty", self.length_penalty, allowed));
        }
        Ok(())
    }

    /// Checks the options that do not depend on a model.
    pub(super) fn validate_numbers(&self) -> Result<(), DecodeError> {
        if !(1..=MAX_BEAMS).contains(&self.num_beams) {
            return Err(refuse("num_beams", self.num_beams, format!("1 to {MAX_BEAMS}")));
        }
        if let Some(sampling) = &self.sampling {
            if self.num_beams > 1 {
                let allowed =
                    "1 with do_sample: Wordloom draws no beams; set num_beams to 1, or do_sample to false";
                return Err(refuse("num_beams", self.num_beams, allowed));
            }
            if !(1..=MAX_BEAMS).contains(&self.num_return_sequences) {
                return Err(refuse(
                    "num_return_sequences",
                    self.num_return_sequences,
                    format!("1 to {MAX_BEAMS}"),
                ));
            }
            sampling.validate()?;
        } else if !(1..=self.num_beams).contains(&self.num_return_sequences) {
            let allowed = format!("1 to num_beams, which is {}", self.num_beams);
            return Err(refuse("num_return_sequences", self.num_return_sequences, allowed));
        }
        if !(self.repetition_penalty.is_finite() && self.repetition_penalty > 0.0) {
            return Err(refuse(
                "repetition_penalty",
                self.repetition_penalty,
                "a finite number above 0 (1: no penalty)",
            ));
        }
        if self.prompt.is_empty() {
            return Err(refuse("the prompt", "empty", "at least one token"));
        }
        if self.max_length <= self.prompt.len() {
            let begins = match self.prompt.len() {
                1 => "the start token".to_owned(),
                tokens => format!("the prompt's {tokens} tokens"),
            };
            let allowed = format!("at least {}: {begins} and one more", self.prompt.len() + 1);
            return Err(refuse("max_length", self.max_length, allowed));
        }
        self.validate_length_penalty()?;
        if self.num_beams + self.eos.len() > MAX_CANDIDATES {
            let allowed = format!("at most {} tokens with this many beams", MAX_CANDIDATES - self.num_beams);
            return Err(refuse("eos_token_id", format!("{} tokens", self.eos.len()), allowed));
        }
        if let Some(columns) = self.columns.listed()
            && (columns.is_empty() || !columns.is_sorted_by(|a, b| a < b))
        {
            let value = format!("a list of {} tokens", columns.len());
            return Err(refuse("columns", value, "at least one token, in ascending order, each once"));
        }
        if self.bad_words.iter().any(Vec::is_empty) {
            return Err(refuse("bad_words_ids", "[[]]", "lists of at least one token"));
        }
        let Some(constraints) = &self.constraints else { return Ok(()) };
        constraints.validate(&SearchLimits {
            num_beams: self.num_beams,
            samples: self.sampling.is_some(),
            bad_words: &self.bad_words,
            eos: &self.eos,
            max_length: self.max_length,
            prompt_length: self.prompt.len(),
            reserved: self.reserved_for_end(),
        })
    }
}

fn refuse(option: &'static str, value: impl ToString, allowed: impl Into<String>) -> DecodeError {
    DecodeError::Option { option, value: value.to_string(), allowed: allowed.into() }
}
