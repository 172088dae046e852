use super::DecodeError;

/// A step looks at this many of a row's best tokens at most: one for each beam, and one more for each end token.
const MAX_CANDIDATES: usize = 64;

/// The widest beam: 16 rows a sentence.
pub const MAX_BEAMS: usize = 16;

/// When a beam search stops, once it has `num_beams` finished hypotheses.  HF `early_stopping`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "serde_json::Value", into = "serde_json::Value")] // see `GenerationConfig`
pub enum EarlyStopping {
    /// `true`: at once.
    Always,
    /// `false`, HF's default: when the best running beam, scored as if it ended now, is no better than the
    /// worst finished hypothesis. With a positive length penalty it might still have overtaken it.
    #[default]
    Heuristic,
    /// `"never"`: when the best running beam could not be better than the worst finished hypothesis at any
    /// length.
    Never,
}

/// How tokens are drawn at random instead of the best one being taken.  HF `do_sample`.
///
/// In this order, as in HF: the logits are edited as in greedy search, divided by `temperature`, cut to the best
/// `top_k`, cut to `top_p`, and normalised; see [`Sampling::probabilities`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Above 0, where close to 0 is greedy search; default 1, the model's own distribution.
    pub temperature: f32,
    /// How many of the best tokens are drawn from; 0: from all. Default 50.
    pub top_k: usize,
    /// Only the best tokens that together reach this probability are drawn from; above 0, default 1, all. Holtzman et
    /// al. 2020, "The Curious Case of Neural Text Degeneration", section 3.1.
    pub top_p: f32,
    /// Chooses the random numbers; default 0. A sentence's hypotheses differ, and are the same ones whenever the same
    /// input is sampled from with the same options, whatever its batch.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 1.0, top_k: 50, top_p: 1.0, seed: 0 }
    }
}

impl Sampling {
    /// Whether a row's best few tokens are not enough.
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

/// What to decode for one sentence, fully resolved: no option is left to a default.
///
/// Fields have the names and the meaning of HF's `GenerationConfig`; [`DecodeOptions::new`] sets its
/// defaults. All lengths count tokens **including the prompt**, as HF does, so `max_new_tokens` and
/// `min_new_tokens` become `max_length` and `min_length` by adding the prompt's length.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodeOptions {
    /// 1 (default) is greedy search, or sampling; at most [`MAX_BEAMS`].
    pub num_beams: usize,
    /// How many hypotheses to return; default 1. The best of a beam search, at most `num_beams`; as many samples,
    /// in no order, at most [`MAX_BEAMS`].
    pub num_return_sequences: usize,
    /// Draw tokens instead of taking the best; default `None`. Not with beams.
    pub sampling: Option<Sampling>,
    /// Beam search scores a hypothesis of n generated tokens (end token included, prompt not) as
    /// `sum of log-probabilities / n^length_penalty`; default 1. Larger values favour longer hypotheses. This
    /// is HF's form, not `((5 + n) / 6)^α` of Wu et al. 2016, eq. (14), which "Attention Is All You Need",
    /// 6.1, uses.
    pub length_penalty: f32,
    /// When a beam search has found enough hypotheses; default [`EarlyStopping::Heuristic`].
    pub early_stopping: EarlyStopping,
    /// Default 20. At this length every hypothesis is complete, with or without an end token.
    pub max_length: usize,
    /// Below this length the end tokens are banned; default 0. `max_length` wins over it.
    pub min_length: usize,
    /// Token sequences that must not be generated: their last token is banned where it would complete one. A
    /// single end token in this list is ignored, as HF does.
    pub bad_words: Vec<Vec<u32>>,
    /// The token to generate after a single one: the first, where the prompt is a start token. Nothing is forced
    /// after a longer prompt.
    pub forced_bos: Option<u32>,
    /// The token to generate last where a hypothesis reaches `max_length`.
    pub forced_eos: Option<u32>,
    /// The tokens that end a hypothesis; may be empty, then every hypothesis has `max_length` tokens.
    pub eos: Vec<u32>,
    /// What the rows of finished sentences are fed; part of no hypothesis.
    pub pad: u32,
    /// What every hypothesis begins with, at least one token: the start token of an encoder-decoder's target, the
    /// whole input of a decoder.
    pub prompt: Vec<u32>,
    /// No sequence of this many tokens may be completed a second time, the prompt included; 0 (default) switches
    /// this off.
    pub no_repeat_ngram_size: usize,
    /// Divides positive and multiplies negative scores of tokens that already occur, the prompt included; 1
    /// (default) switches this off. Keskar et al. 2019, section 4.1.
    pub repetition_penalty: f32,
    /// Normalise log-probabilities once more after all edits; default false. Marian models set it.
    pub renormalize_logits: bool,
}

impl DecodeOptions {
    /// HF's defaults around a model's own three tokens: greedy, at most 20 tokens, nothing banned, forced or
    /// penalised.
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
        }
    }

    /// The prompt but its last token, which the first step reads: what a decoder reads before that.
    pub(crate) fn before_last(&self) -> &[u32] {
        self.prompt.split_last().map_or(&[], |(_, before)| before)
    }

    /// Rows of a batch that the search takes.
    pub fn rows(&self) -> usize {
        if self.sampling.is_some() { self.num_return_sequences } else { self.num_beams }
    }

    /// What the sentences of a batch have to agree in.
    pub(crate) fn batch_key(&self) -> impl Ord + use<> {
        let whole_rows = self.sampling.map(|sampling| sampling.wants_whole_rows());
        (self.rows(), self.renormalize_logits, whole_rows)
    }

    /// Checks the options against a model with `target_vocabulary` tokens and `max_positions` target
    /// positions (`usize::MAX` where relative positions set no limit).
    ///
    /// # Errors
    /// [`DecodeError::Option`] and [`DecodeError::Token`], naming the option, its value and what is allowed.
    pub fn validate(&self, target_vocabulary: usize, max_positions: usize) -> Result<(), DecodeError> {
        self.validate_numbers()?;
        // the last token is never fed back, so it needs no position
        let longest = max_positions.saturating_add(1);
        if self.max_length > longest {
            let allowed =
                format!("at most {longest}: the model's {max_positions} positions and one token more");
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
        for (option, token) in prompt.chain(single).chain(listed).chain(banned) {
            if token as usize >= target_vocabulary {
                return Err(DecodeError::Token { option, token, vocabulary: target_vocabulary });
            }
        }
        Ok(())
    }

    /// The part of [`validate`](Self::validate) that needs no model: what the search itself relies on.
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
        if !self.length_penalty.is_finite() {
            return Err(refuse("length_penalty", self.length_penalty, "a finite number"));
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
        if self.num_beams + self.eos.len() > MAX_CANDIDATES {
            let allowed = format!("at most {} tokens with this many beams", MAX_CANDIDATES - self.num_beams);
            return Err(refuse("eos_token_id", format!("{} tokens", self.eos.len()), allowed));
        }
        if self.bad_words.iter().any(Vec::is_empty) {
            return Err(refuse("bad_words_ids", "[[]]", "lists of at least one token"));
        }
        Ok(())
    }
}

fn refuse(option: &'static str, value: impl ToString, allowed: impl Into<String>) -> DecodeError {
    DecodeError::Option { option, value: value.to_string(), allowed: allowed.into() }
}
