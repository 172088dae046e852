//! The search of a batch of sentences.

use super::beam::BeamSearch;
use super::error::DecodeError;
use super::hypothesis::Hypothesis;
use super::options::DecodeOptions;
use super::paths::Paths;
use super::processors::Processors;
use super::sentence::SentenceSearch;
use super::step::{StepBuffers, StepRequest, StepScores};
use super::tree::SearchTree;
use crate::scores::{ScoreRules, ScoreSpace};

/// The searches of a batch of sentences, stepped together. The result of a sentence does not depend on the others. The
/// device and this type take turns:
///
/// ```
/// use wordloom::decode::{BatchSearch, DecodeOptions};
/// use wordloom::scores::{TopScores, process_row, top_scores};
///
/// // A "model" of four tokens that counts up: after token t it wants t + 1. Token 0 starts, token 3 ends.
/// let mut search = BatchSearch::new(vec![DecodeOptions::new(0, 3, 0)])?;
/// while !search.is_finished() {
///     let step = search.step();
///     let mut logits = [0.0; 4];
///     logits[step.tokens[0] as usize + 1] = 5.0;
///     process_row(&mut logits, search.rules(), step.edits_of(0));
///
///     let (mut values, mut tokens) = ([0.0], [0]);
///     top_scores(&logits, &mut values, &mut tokens);
///     search.advance(TopScores { candidates: search.candidates(), values: &values, tokens: &tokens })?;
/// }
/// assert_eq!(search.finish()[0][0].tokens, [0, 1, 2, 3]);
/// # Ok::<(), wordloom::decode::DecodeError>(())
/// ```
pub struct BatchSearch {
    sentences: Vec<SentenceSearch>,
    rows_per_sentence: usize,
    rules: ScoreRules,
    candidates: usize,
    whole_rows: bool,
    edits_wanted: bool,
    /// Room for wanted tokens of each row.
    wanted: usize,
    step: StepBuffers,
    paths: Option<Paths>,
}

impl BatchSearch {
    /// Starts one search for each of `options`. They must agree in `num_beams`, in `renormalize_logits` for beam
    /// search, in sampling or not, and for sampling in `num_return_sequences` and in whether `top_k` needs whole rows.
    /// Token ids are checked by [`DecodeOptions::validate`], which knows the vocabulary.
    pub fn new(options: Vec<DecodeOptions>) -> Result<Self, DecodeError> {
        for (sentence, other) in options.iter().enumerate() {
            other.validate_numbers()?;
            check_same("num_beams", sentence, other.num_beams, options[0].num_beams)?;
            let sampled = |options: &DecodeOptions| options.sampling;
            check_same("do_sample", sentence, sampled(other).is_some(), sampled(&options[0]).is_some())?;
            if let (Some(sampling), Some(first)) = (other.sampling, options[0].sampling) {
                check_same("num_return_sequences", sentence, other.rows(), options[0].rows())?;
                if sampling.wants_whole_rows() != first.wants_whole_rows() {
                    check_same("top_k", sentence, sampling.top_k, first.top_k)?;
                }
            }
            let has_terms = |options: &DecodeOptions| options.constraints.is_some();
            check_same("constraints", sentence, has_terms(other), has_terms(&options[0]))?;
            if other.num_beams > 1 {
                let (value, first) = (other.renormalize_logits, options[0].renormalize_logits);
                check_same("renormalize_logits", sentence, value, first)?;
            }
        }
        let num_beams = options.first().map_or(1, |first| first.num_beams);
        let rows_per_sentence = options.first().map_or(1, DecodeOptions::rows);
        let samplings = || options.iter().filter_map(|options| options.sampling);
        let whole_rows = samplings().any(|sampling| sampling.wants_whole_rows());
        let best_tokens = if whole_rows { None } else { samplings().map(|sampling| sampling.top_k).max() };
        let end_tokens = options.iter().map(|options| options.eos.len()).max().unwrap_or(0);
        let (space, renormalize, candidates) = match num_beams {
            1 => (ScoreSpace::Logits, true, best_tokens.unwrap_or(1)),
            _ => {
                let candidates = BeamSearch::candidates_per_row(num_beams, end_tokens);
                (ScoreSpace::LogProbabilities, options[0].renormalize_logits, candidates)
            }
        };
        let rules = ScoreRules { space, renormalize };
        let wanted = options.iter().map(DecodeOptions::wanted).max().unwrap_or(0);
        let sentences: Vec<_> = options.iter().map(SentenceSearch::new).collect();
        let mut search = Self {
            sentences,
            rows_per_sentence,
            rules,
            candidates,
            whole_rows,
            edits_wanted: true,
            wanted,
            step: StepBuffers::default(),
            paths: None,
        };
        search.prepare_step();
        Ok(search)
    }

    /// Replaces a finished sentence by another. Returns the hypotheses of the finished one.
    ///
    /// # Errors
    /// As [`new`](Self::new), if the options do not fit the batch; nothing is replaced.
    ///
    /// # Panics
    /// If the sentence does not exist or is not finished.
    pub fn replace(
        &mut self,
        sentence: usize,
        options: DecodeOptions,
    ) -> Result<Vec<Hypothesis>, DecodeError> {
        assert!(self.sentences[sentence].is_finished(), "sentence {sentence} still grows");
        // needs of a batch of this sentence alone
        let alone = Self::new(vec![options])?;
        let [rows, candidates] = [alone.rows_per_sentence, alone.candidates];
        check_same("num_beams", sentence, rows, self.rows_per_sentence)?;
        check_same("end tokens", sentence, candidates, self.candidates)?;
        check_same("renormalize_logits", sentence, alone.rules.renormalize, self.rules.renormalize)?;
        if alone.wanted > self.wanted {
            check_same("wanted tokens", sentence, alone.wanted, self.wanted)?;
        }
        let Some(new) = alone.sentences.into_iter().next() else { return Ok(Vec::new()) };
        let old = std::mem::replace(&mut self.sentences[sentence], new);
        self.prepare_step();
        Ok(old.finish())
    }

    /// Ends the search of a sentence, finished or not, and leaves its rows idle. Returns the hypotheses so far. `options` are
    /// those of a sentence of this batch.
    pub(crate) fn end(&mut self, sentence: usize, options: &DecodeOptions) -> Vec<Hypothesis> {
        let old = std::mem::replace(&mut self.sentences[sentence], SentenceSearch::idle(options));
        self.prepare_step();
        old.finish()
    }

    /// Number of rows of every step.
    pub fn rows(&self) -> usize {
        self.sentences.len() * self.rows_per_sentence
    }

    /// Number of beams or samples of each sentence.
    pub fn rows_per_sentence(&self) -> usize {
        self.rows_per_sentence
    }

    /// Rules for scores, the same in every step.
    pub fn rules(&self) -> ScoreRules {
        self.rules
    }

    /// Number of best scores per row for [`advance`](Self::advance), the same in every step.
    pub fn candidates(&self) -> usize {
        self.candidates
    }

    /// Whether [`advance`](Self::advance) needs all scores, the same in every step.
    pub fn wants_whole_rows(&self) -> bool {
        self.whole_rows
    }

    /// Number of tokens of a row of [`StepRequest::wanted`], the same in every step: 0 without terms.
    pub fn wanted(&self) -> usize {
        self.wanted
    }

    /// Upper bound of the number of edits in any step; 0: never any. It stays valid if a sentence
    /// [is replaced](Self::replace) by one that needs no more than another sentence.
    pub fn max_edits(&self) -> usize {
        let of_row = |sentence: &SentenceSearch| sentence.processors.max_edits_per_row();
        self.rows() * self.sentences.iter().map(of_row).max().unwrap_or(0)
    }

    /// Makes [`step`](Self::step) list no edits, for a device that edits scores itself.
    pub fn leave_edits_to_device(&mut self) {
        self.edits_wanted = false;
        self.step.edits.clear();
    }

    /// Minimal number of remaining steps, whatever the scores are; 0 if the batch is finished.
    pub fn certain_steps(&self) -> usize {
        let certain = |processors: &Processors| processors.first_end().min(processors.max_new_tokens());
        self.steps_left(certain).max(usize::from(!self.is_finished()))
    }

    /// Maximal number of remaining steps.
    pub fn possible_steps(&self) -> usize {
        self.steps_left(Processors::max_new_tokens)
    }

    fn steps_left(&self, of_all: impl Fn(&Processors) -> usize) -> usize {
        let growing = self.sentences.iter().filter(|sentence| !sentence.is_finished());
        let left = growing.map(|sentence| of_all(&sentence.processors).saturating_sub(sentence.generated));
        left.max().unwrap_or(0)
    }

    /// Sentences in the order of `options`.
    pub fn sentences(&self) -> &[SentenceSearch] {
        &self.sentences
    }

    /// Keeps the trees of the searches. Only before the first step, and without [replacing](Self::replace) sentences.
    pub(crate) fn keep_trees(&mut self) {
        self.sentences.iter_mut().for_each(SentenceSearch::keep_tree);
    }

    pub(crate) fn take_trees(&mut self) -> Vec<Option<SearchTree>> {
        self.sentences.iter_mut().map(SentenceSearch::take_tree).collect()
    }

    /// Keeps the rows of each token. Only before the first step, and without [replacing](Self::replace) sentences.
    pub(crate) fn keep_paths(&mut self) {
        self.paths = Some(Paths::default());
    }

    pub(crate) fn take_paths(&mut self) -> Option<Paths> {
        self.paths.take()
    }

    /// Whether every sentence is finished.
    pub fn is_finished(&self) -> bool {
        self.sentences.iter().all(SentenceSearch::is_finished)
    }

    /// The device's next step.
    pub fn step(&self) -> StepRequest<'_> {
        let StepBuffers { positions, tokens, parents, edits, wanted } = &self.step;
        StepRequest { positions, tokens, parents, edits, wanted }
    }

    /// Takes the device's answer to [`step`](Self::step): the best [`candidates`](Self::candidates) scores of each row
    /// after [`rules`](Self::rules) and edits, or [all](Self::wants_whole_rows). Rows of finished sentences may hold
    /// anything.
    ///
    /// # Errors
    /// [`DecodeError::Shape`], [`DecodeError::WholeRows`], [`DecodeError::NotANumber`]; the search stays as it was.
    pub fn advance<'a>(&mut self, scores: impl Into<StepScores<'a>>) -> Result<(), DecodeError> {
        let scores = scores.into();
        self.check_shape(scores)?;
        let of_sentence = |index: usize| scores.rows(index * self.rows_per_sentence, self.rows_per_sentence);
        for (index, sentence) in self.sentences.iter().enumerate() {
            if sentence.cannot_use(of_sentence(index)) {
                return Err(DecodeError::NotANumber { sentence: index, position: sentence.generated + 1 });
            }
        }
        if let Some(paths) = &mut self.paths {
            paths.add(&self.step.tokens, &self.step.parents);
        }
        for (index, sentence) in self.sentences.iter_mut().enumerate() {
            sentence.advance(of_sentence(index));
        }
        self.prepare_step();
        Ok(())
    }

    /// Returns the hypotheses of every sentence, best first: 1 to `num_return_sequences`. (HF fills up with ones that
    /// score about -1e9.) Before the end: the best so far.
    pub fn finish(self) -> Vec<Vec<Hypothesis>> {
        self.sentences.into_iter().map(SentenceSearch::finish).collect()
    }

    fn check_shape(&self, scores: StepScores<'_>) -> Result<(), DecodeError> {
        let (rows, candidates) = (self.rows(), self.candidates);
        let (values, tokens, per_row) = match scores {
            StepScores::Whole { vocabulary, values } if self.whole_rows => {
                let fits = vocabulary > 0 && values.len() == rows * vocabulary;
                return if fits {
                    Ok(())
                } else {
                    Err(DecodeError::WholeRows { rows, values: values.len() })
                };
            }
            StepScores::Best(_) | StepScores::WithTerms(..) if self.whole_rows => {
                return Err(DecodeError::WholeRows { rows, values: 0 });
            }
            StepScores::Whole { vocabulary, values } => (values.len(), 0, vocabulary),
            StepScores::Best(best) | StepScores::WithTerms(best, _) => {
                (best.values.len(), best.tokens.len(), best.candidates)
            }
        };
        if [values, tokens, rows * per_row] != [rows * candidates; 3] {
            return Err(DecodeError::Shape { rows, candidates, values, tokens, per_row });
        }
        Ok(())
    }

    fn prepare_step(&mut self) {
        self.step.positions.clear();
        self.step.tokens.clear();
        self.step.parents.clear();
        self.step.edits.clear();
        self.step.wanted.clear();
        for (index, sentence) in self.sentences.iter_mut().enumerate() {
            sentence.request(index * self.rows_per_sentence, self.edits_wanted, &mut self.step);
            if self.wanted > 0 {
                sentence.want(self.wanted, &mut self.step);
            }
        }
    }
}

fn check_same<T: PartialEq + ToString>(
    option: &'static str,
    sentence: usize,
    value: T,
    first: T,
) -> Result<(), DecodeError> {
    if value == first {
        return Ok(());
    }
    Err(DecodeError::MixedBatch { option, sentence, value: value.to_string(), first: first.to_string() })
}
