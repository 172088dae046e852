//! The searches of a batch of sentences.

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

/// The searches for a batch of sentences, stepped together. No sentence's result depends on the others.
///
/// A device and this type take turns:
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
    step: StepBuffers,
    /// The rows of every step, where they are kept.
    paths: Option<Paths>,
}

impl BatchSearch {
    /// Starts one search for each of `options`. They must agree in `num_beams` and, for beam search, in
    /// `renormalize_logits`; in whether they sample and, where they do, in `num_return_sequences` and in whether `top_k`
    /// asks for whole rows. Everything else may differ. Token ids are not checked here:
    /// [`DecodeOptions::validate`] knows the vocabulary.
    ///
    /// # Errors
    /// [`DecodeError::Option`] as `validate`; [`DecodeError::MixedBatch`].
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
        let sentences: Vec<_> = options.iter().map(SentenceSearch::new).collect();
        let mut search = Self {
            sentences,
            rows_per_sentence,
            rules,
            candidates,
            whole_rows,
            edits_wanted: true,
            step: StepBuffers::default(),
            paths: None,
        };
        search.prepare_step();
        Ok(search)
    }

    /// Has another sentence take the place of one that is finished, and gives the hypotheses of that. The others go on as
    /// if nothing had happened.
    ///
    /// # Errors
    /// As [`new`](Self::new), where the options do not agree with those of the batch; nothing is replaced then.
    ///
    /// # Panics
    /// When there is no such sentence, or it is not finished.
    pub fn replace(
        &mut self,
        sentence: usize,
        options: DecodeOptions,
    ) -> Result<Vec<Hypothesis>, DecodeError> {
        assert!(self.sentences[sentence].is_finished(), "sentence {sentence} still grows");
        // what a batch of this sentence alone would ask of a device
        let alone = Self::new(vec![options])?;
        let [rows, candidates] = [alone.rows_per_sentence, alone.candidates];
        check_same("num_beams", sentence, rows, self.rows_per_sentence)?;
        check_same("end tokens", sentence, candidates, self.candidates)?;
        check_same("renormalize_logits", sentence, alone.rules.renormalize, self.rules.renormalize)?;
        let Some(new) = alone.sentences.into_iter().next() else { return Ok(Vec::new()) };
        let old = std::mem::replace(&mut self.sentences[sentence], new);
        self.prepare_step();
        Ok(old.finish())
    }

    /// Rows of every step.
    pub fn rows(&self) -> usize {
        self.sentences.len() * self.rows_per_sentence
    }

    /// Beams, or samples, of each sentence.
    pub fn rows_per_sentence(&self) -> usize {
        self.rows_per_sentence
    }

    /// How the device turns logits into scores; the same in every step.
    pub fn rules(&self) -> ScoreRules {
        self.rules
    }

    /// How many of a row's best scores [`advance`](Self::advance) wants; the same in every step.
    pub fn candidates(&self) -> usize {
        self.candidates
    }

    /// Whether [`advance`](Self::advance) wants all scores instead; the same in every step.
    pub fn wants_whole_rows(&self) -> bool {
        self.whole_rows
    }

    /// An upper bound of the number of edits in any step, for a device that reserves their memory once. Zero
    /// means that there never are any. It holds after a sentence [is replaced](Self::replace), too, by one that needs no
    /// more than some other does.
    pub fn max_edits(&self) -> usize {
        let of_row = |sentence: &SentenceSearch| sentence.processors.max_edits_per_row();
        self.rows() * self.sentences.iter().map(of_row).max().unwrap_or(0)
    }

    /// For a device that edits scores itself: from now on [`step`](Self::step) lists no edits.
    pub fn leave_edits_to_device(&mut self) {
        self.edits_wanted = false;
        self.step.edits.clear();
    }

    /// How many steps there will be at least, this one included, whatever the scores are. 0 when it is finished.
    pub fn certain_steps(&self) -> usize {
        let certain = |processors: &Processors| processors.first_end().min(processors.max_new_tokens());
        self.steps_left(certain).max(usize::from(!self.is_finished()))
    }

    /// How many steps there will be at most, this one included.
    pub fn possible_steps(&self) -> usize {
        self.steps_left(Processors::max_new_tokens)
    }

    fn steps_left(&self, of_all: impl Fn(&Processors) -> usize) -> usize {
        let growing = self.sentences.iter().filter(|sentence| !sentence.is_finished());
        let left = growing.map(|sentence| of_all(&sentence.processors).saturating_sub(sentence.generated));
        left.max().unwrap_or(0)
    }

    /// The sentences in the order they were given.
    pub fn sentences(&self) -> &[SentenceSearch] {
        &self.sentences
    }

    /// From now on, before the first step, keeps the trees of the searches. No sentence may be
    /// [replaced](Self::replace) then.
    pub(crate) fn keep_trees(&mut self) {
        self.sentences.iter_mut().for_each(SentenceSearch::keep_tree);
    }

    /// The tree of each sentence, if it was kept.
    pub(crate) fn take_trees(&mut self) -> Vec<Option<SearchTree>> {
        self.sentences.iter_mut().map(SentenceSearch::take_tree).collect()
    }

    /// From now on, before the first step, remembers which rows run which tokens. No sentence may be
    /// [replaced](Self::replace) then.
    pub(crate) fn keep_paths(&mut self) {
        self.paths = Some(Paths::default());
    }

    /// What was remembered, if that was to be.
    pub(crate) fn take_paths(&mut self) -> Option<Paths> {
        self.paths.take()
    }

    /// Whether every sentence is.
    pub fn is_finished(&self) -> bool {
        self.sentences.iter().all(SentenceSearch::is_finished)
    }

    /// What the device has to do next.
    pub fn step(&self) -> StepRequest<'_> {
        let StepBuffers { positions, tokens, parents, edits } = &self.step;
        StepRequest { positions, tokens, parents, edits }
    }

    /// Takes the device's answer to [`step`](Self::step): the best [`candidates`](Self::candidates) scores of
    /// each row after [`rules`](Self::rules) and edits, or [all](Self::wants_whole_rows). Rows of finished sentences may
    /// hold anything.
    ///
    /// # Errors
    /// [`DecodeError::Shape`], [`DecodeError::WholeRows`]; [`DecodeError::NotANumber`]. The search is then as it was
    /// before.
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

    /// The hypotheses of every sentence, best first: `num_return_sequences`, or fewer where fewer exist, and
    /// at least one. (HF fills up with arbitrary ones that score about -1e9.) Before the end: the best so
    /// far.
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
            StepScores::Best(_) if self.whole_rows => return Err(DecodeError::WholeRows { rows, values: 0 }),
            StepScores::Whole { vocabulary, values } => (values.len(), 0, vocabulary),
            StepScores::Best(best) => (best.values.len(), best.tokens.len(), best.candidates),
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
        for (index, sentence) in self.sentences.iter_mut().enumerate() {
            sentence.request(index * self.rows_per_sentence, self.edits_wanted, &mut self.step);
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
