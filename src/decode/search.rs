use super::beam::{Beam, BeamSearch};
use super::paths::Paths;
use super::processors::Processors;
use super::sample::SampleSearch;
use super::tree::{Fate, Growing, SearchTree};
use super::{DecodeError, DecodeOptions, MAX_BEAMS};
use crate::scores::{BANNED, ScoreEdit, ScoreRules, ScoreSpace, TopScores};

/// One output of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Hypothesis {
    /// From the prompt to the end token, if it ended with one; no padding.
    pub tokens: Vec<u32>,
    /// Beam search: HF's `sequences_scores`, the sum of `step_logprobs` divided by `length^length_penalty`.
    /// Greedy search and sampling: the plain sum.
    pub score: f32,
    /// The processed log-probability of every token after the prompt; 0 for a forced one. Sampling: of the distribution
    /// that it was drawn from.
    pub step_logprobs: Vec<f32>,
}

/// The search for one sentence's output: some rows of its batch.
pub struct SentenceSearch {
    strategy: Strategy,
    processors: Processors,
    rows: usize,
    pad: u32,
    /// Tokens so far, the prompt's not counted.
    generated: usize,
    finished: bool,
    keeps_tree: bool,
}

enum Strategy {
    Sample(SampleSearch),
    Beam(BeamSearch),
}

impl Strategy {
    /// The hypotheses so far; never empty. In a beam search all are still growing, best first.
    fn beams(&self) -> &[Beam] {
        match self {
            Strategy::Sample(sample) => sample.beams(),
            Strategy::Beam(beam) => beam.beams(),
        }
    }

    /// Those of them that wait for a token, with their places. All have the same length.
    fn waiting(&self) -> impl Iterator<Item = (usize, &Beam)> {
        let waits = |beam: &Beam| match self {
            Strategy::Sample(sample) => !sample.is_complete(beam),
            Strategy::Beam(_) => true,
        };
        self.beams().iter().enumerate().filter(move |(_, beam)| waits(beam))
    }
}

impl SentenceSearch {
    fn new(options: &DecodeOptions) -> Self {
        let strategy = match options.num_beams {
            1 => Strategy::Sample(SampleSearch::new(options)),
            _ => Strategy::Beam(BeamSearch::new(options)),
        };
        let processors = Processors::new(options);
        Self {
            strategy,
            processors,
            rows: options.rows(),
            pad: options.pad,
            generated: 0,
            finished: false,
            keeps_tree: false,
        }
    }

    /// Whether the result is final.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// The tokens of the best hypothesis so far, from the prompt on: the best that still grows or, when the
    /// sentence is finished, the result. Of several samples the first.
    pub fn best_tokens(&self) -> &[u32] {
        match &self.strategy {
            Strategy::Beam(beam) if self.finished => beam.best_tokens(),
            strategy => &strategy.beams()[0].tokens,
        }
    }

    /// How many of [`best_tokens`](Self::best_tokens) no later step can change.
    pub fn settled_tokens(&self) -> usize {
        match &self.strategy {
            Strategy::Beam(beam) if !self.finished => beam.settled_tokens(),
            _ => self.best_tokens().len(),
        }
    }

    /// From now on, before the first step, keeps all that a beam search looks at.
    fn keep_tree(&mut self) {
        self.keeps_tree = true;
        if let Strategy::Beam(beam) = &mut self.strategy {
            beam.keep_tree();
        }
    }

    /// What was looked at, if that was to be kept. Of a search without beams, which looks at nothing else, what was chosen.
    fn take_tree(&mut self) -> Option<SearchTree> {
        if !std::mem::take(&mut self.keeps_tree) {
            return None;
        }
        match &mut self.strategy {
            Strategy::Beam(beam) => beam.take_tree(),
            Strategy::Sample(sample) => {
                let beam = &sample.beams()[0];
                let mut growing = Growing::new(1, 0.0);
                let (mut sum, count) = (0.0, beam.step_logprobs.len());
                let tokens = &beam.tokens[beam.tokens.len() - count..];
                for (index, (&token, &log_probability)) in tokens.iter().zip(&beam.step_logprobs).enumerate()
                {
                    sum += log_probability;
                    let fate = if index + 1 == count { Fate::Finished } else { Fate::Kept };
                    growing.add(0, token, [log_probability, sum], fate);
                    growing.end_step();
                }
                Some(growing.tree)
            }
        }
    }

    /// Appends this sentence's rows, which begin at `first_row` of the batch.
    fn request(&mut self, first_row: usize, edits_wanted: bool, step: &mut StepBuffers) {
        step.positions.extend(std::iter::repeat_n(self.generated, self.rows));
        if self.finished {
            step.tokens.extend(std::iter::repeat_n(self.pad, self.rows));
            step.parents.extend((first_row..first_row + self.rows).map(|row| row as u32));
            return;
        }
        let Self { strategy, processors, rows, generated, .. } = self;
        let beams = strategy.beams();
        // Rows without a live beam repeat the best one, those of complete samples their end; nobody reads their scores.
        for (row, beam) in beams.iter().chain(std::iter::repeat(&beams[0])).take(*rows).enumerate() {
            // before the first step no beam continues another
            let parent = if *generated == 0 { row } else { beam.parent };
            step.tokens.extend(beam.tokens.last());
            step.parents.push((first_row + parent) as u32);
        }
        for (index, beam) in strategy.waiting() {
            if edits_wanted && processors.forced(beam.tokens.len()).is_none() {
                processors.edit((first_row + index) as u32, &beam.tokens, &mut step.edits);
            }
        }
    }

    /// The token that every waiting hypothesis has to take in this step.
    fn forced(&self) -> Option<u32> {
        self.strategy.waiting().next().and_then(|(_, beam)| self.processors.forced(beam.tokens.len()))
    }

    /// Whether this step depends on scores of which one is not a number.
    fn cannot_use(&self, scores: StepScores<'_>) -> bool {
        !self.finished
            && self.forced().is_none()
            && self.strategy.waiting().any(|(index, _)| {
                scores.row(index).iter().any(|&score| score.is_nan() || score == f32::INFINITY)
            })
    }

    fn advance(&mut self, scores: StepScores<'_>) {
        if self.finished {
            return;
        }
        let forced = self.forced().map(|token| [token; MAX_BEAMS]);
        let scores = match &forced {
            Some(tokens) => TopScores { candidates: 1, values: &[0.0; MAX_BEAMS], tokens }.into(),
            None => scores,
        };
        self.finished = match (&mut self.strategy, scores) {
            (Strategy::Sample(sample), scores) => sample.advance(scores),
            (Strategy::Beam(beam), StepScores::Best(best)) => beam.advance(best),
            (Strategy::Beam(_), StepScores::Whole { .. }) => unreachable!("only sampling wants whole rows"),
        };
        self.generated += 1;
    }

    fn finish(self) -> Vec<Hypothesis> {
        match self.strategy {
            Strategy::Sample(sample) => sample.finish(),
            Strategy::Beam(beam) => beam.finish(),
        }
    }
}

/// What the device has to do in one step: run the decoder on one token a row, then score the next one. Before the first
/// step it has to have run it on the rest of the prompt.
///
/// Rows are sentence by sentence, [`BatchSearch::rows_per_sentence`] each. Their number never changes: finished sentences
/// keep their rows until others [take their place](BatchSearch::replace).
#[derive(Debug, Clone, Copy)]
pub struct StepRequest<'a> {
    /// `[rows]`: tokens generated so far, the same number in the rows of a sentence; 0 in its first step, which takes the
    /// last token of the prompt. So the tokens' position is the prompt's length - 1 more.
    pub positions: &'a [usize],
    /// `[rows]`
    pub tokens: &'a [u32],
    /// `[rows]`: the row of the step before whose history each row continues; of the same sentence.
    pub parents: &'a [u32],
    /// By ascending row.
    pub edits: &'a [ScoreEdit],
}

impl<'a> StepRequest<'a> {
    /// The edits of one row.
    pub fn edits_of(&self, row: usize) -> &'a [ScoreEdit] {
        let start = self.edits.partition_point(|edit| (edit.row as usize) < row);
        let end = self.edits.partition_point(|edit| edit.row as usize <= row);
        &self.edits[start..end]
    }
}

/// What the device answers.
#[derive(Debug, Clone, Copy)]
pub enum StepScores<'a> {
    /// The best [`BatchSearch::candidates`] of each row.
    Best(TopScores<'a>),
    /// Where [`BatchSearch::wants_whole_rows`]: `[rows, vocabulary]`, edited. Logits will do, for sampling normalises
    /// what it draws from.
    Whole {
        /// Scores in a row.
        vocabulary: usize,
        /// The scores, row by row.
        values: &'a [f32],
    },
}

impl<'a> From<TopScores<'a>> for StepScores<'a> {
    fn from(best: TopScores<'a>) -> Self {
        Self::Best(best)
    }
}

impl<'a> StepScores<'a> {
    /// The rows `first_row..first_row + rows` alone.
    fn rows(&self, first_row: usize, rows: usize) -> Self {
        match *self {
            Self::Best(best) => Self::Best(best.rows(first_row, rows)),
            Self::Whole { vocabulary, values } => {
                Self::Whole { vocabulary, values: &values[first_row * vocabulary..][..rows * vocabulary] }
            }
        }
    }

    fn row(&self, row: usize) -> &'a [f32] {
        match self.rows(row, 1) {
            Self::Best(best) => best.values,
            Self::Whole { values, .. } => values,
        }
    }

    /// Replaces `candidates` by the tokens of `row` that are not banned and their scores.
    pub(super) fn candidates(&self, row: usize, candidates: &mut Vec<(u32, f64)>) {
        let scores = self.row(row).iter().map(|&score| f64::from(score));
        candidates.clear();
        match self.rows(row, 1) {
            Self::Best(best) => candidates.extend(best.tokens.iter().copied().zip(scores)),
            Self::Whole { .. } => candidates.extend((0..).zip(scores)),
        }
        candidates.retain(|&(_, score)| score > f64::from(BANNED));
    }
}

#[derive(Default)]
struct StepBuffers {
    positions: Vec<usize>,
    tokens: Vec<u32>,
    parents: Vec<u32>,
    edits: Vec<ScoreEdit>,
}

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
    /// Where somebody is going to ask for them.
    paths: Option<Paths>,
}

impl BatchSearch {
    /// Starts one search for each of `options`. They must agree in `num_beams` and, for beam search, in
    /// `renormalize_logits`; in whether they sample and, where they do, in `num_return_sequences` and in whether `top_k`
    /// asks for whole rows. Everything else may differ. Token ids are not looked at:
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

    /// From now on, before the first step, keeps everything that the searches look at. No sentence may be
    /// [replaced](Self::replace) then.
    pub(crate) fn keep_trees(&mut self) {
        self.sentences.iter_mut().for_each(SentenceSearch::keep_tree);
    }

    /// For each sentence everything that its search looked at, if that was kept.
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
