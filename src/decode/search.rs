use super::beam::{Beam, BeamSearch};
use super::greedy::GreedySearch;
use super::processors::Processors;
use super::{DecodeError, DecodeOptions, MAX_BEAMS};
use crate::scores::{ScoreEdit, ScoreRules, ScoreSpace, TopScores};

/// One translation.
#[derive(Debug, Clone, PartialEq)]
pub struct Hypothesis {
    /// From the prompt to the end token, if it ended with one; no padding.
    pub tokens: Vec<u32>,
    /// Beam search: HF's `sequences_scores`, the sum of `step_logprobs` divided by `length^length_penalty`.
    /// Greedy search: the plain sum.
    pub score: f32,
    /// The processed log-probability of every token after the prompt; 0 for a forced one.
    pub step_logprobs: Vec<f32>,
}

/// The search for one sentence's translation: `num_beams` rows of its batch.
pub struct SentenceSearch {
    strategy: Strategy,
    processors: Processors,
    num_beams: usize,
    pad: u32,
    finished: bool,
}

enum Strategy {
    Greedy(GreedySearch),
    Beam(BeamSearch),
}

impl Strategy {
    /// The hypotheses that are still growing, best first; never empty.
    fn beams(&self) -> &[Beam] {
        match self {
            Strategy::Greedy(greedy) => std::slice::from_ref(&greedy.beam),
            Strategy::Beam(beam) => beam.beams(),
        }
    }
}

impl SentenceSearch {
    fn new(options: &DecodeOptions) -> Self {
        let strategy = match options.num_beams {
            1 => Strategy::Greedy(GreedySearch::new(options)),
            _ => Strategy::Beam(BeamSearch::new(options)),
        };
        let processors = Processors::new(options);
        Self { strategy, processors, num_beams: options.num_beams, pad: options.pad, finished: false }
    }

    /// Whether the result is final.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// The tokens of the best hypothesis so far, from the prompt on: the best that still grows or, when the
    /// sentence is finished, the result.
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

    /// Appends this sentence's rows, which begin at `first_row` of the batch.
    fn request(&mut self, first_row: usize, step: &mut StepBuffers) {
        if self.finished {
            step.tokens.extend(std::iter::repeat_n(self.pad, self.num_beams));
            step.parents.extend((first_row..first_row + self.num_beams).map(|row| row as u32));
            return;
        }
        let Self { strategy, processors, num_beams, .. } = self;
        let beams = strategy.beams();
        // Rows without a live beam repeat the best one; nobody reads their scores.
        for beam in beams.iter().chain(std::iter::repeat(&beams[0])).take(*num_beams) {
            step.tokens.extend(beam.tokens.last());
            step.parents.push((first_row + beam.parent) as u32);
        }
        if processors.forced(beams[0].tokens.len()).is_none() {
            for (index, beam) in beams.iter().enumerate() {
                processors.edit((first_row + index) as u32, &beam.tokens, &mut step.edits);
            }
        }
    }

    /// The token that every live beam has to take in this step.
    fn forced(&self) -> Option<u32> {
        self.processors.forced(self.strategy.beams()[0].tokens.len())
    }

    /// Whether this step depends on scores of which one is not a number.
    fn cannot_use(&self, scores: TopScores<'_>) -> bool {
        !self.finished && self.forced().is_none() && scores.values.iter().any(|score| score.is_nan())
    }

    fn advance(&mut self, scores: TopScores<'_>) {
        if self.finished {
            return;
        }
        let forced = self.forced().map(|token| [token; MAX_BEAMS]);
        let scores = match &forced {
            Some(tokens) => TopScores { candidates: 1, values: &[0.0; MAX_BEAMS], tokens },
            None => scores,
        };
        self.finished = match &mut self.strategy {
            Strategy::Greedy(greedy) => greedy.advance(scores),
            Strategy::Beam(beam) => beam.advance(scores),
        };
    }

    fn finish(self) -> Vec<Hypothesis> {
        match self.strategy {
            Strategy::Greedy(greedy) => greedy.finish(),
            Strategy::Beam(beam) => beam.finish(),
        }
    }
}

/// What the device has to do in one step: run the decoder on one token a row, then score the next one. Before the first
/// step it has to have run it on the rest of the prompt.
///
/// Rows are sentence by sentence, `num_beams` each. Their number never changes: finished sentences keep their
/// rows.
#[derive(Debug, Clone, Copy)]
pub struct StepRequest<'a> {
    /// Tokens generated so far, the same number in every row; 0 in the first step, which takes the last token of the
    /// prompt. So the tokens' position is the prompt's length - 1 more.
    pub position: usize,
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

#[derive(Default)]
struct StepBuffers {
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
    num_beams: usize,
    rules: ScoreRules,
    candidates: usize,
    position: usize,
    step: StepBuffers,
}

impl BatchSearch {
    /// Starts one search for each of `options`. They must agree in `num_beams` and, for beam search, in
    /// `renormalize_logits`; everything else may differ. Token ids are not looked at:
    /// [`DecodeOptions::validate`] knows the vocabulary.
    ///
    /// # Errors
    /// [`DecodeError::Option`] as `validate`; [`DecodeError::MixedBatch`].
    pub fn new(options: Vec<DecodeOptions>) -> Result<Self, DecodeError> {
        for (sentence, other) in options.iter().enumerate() {
            other.validate_numbers()?;
            check_same("num_beams", sentence, other.num_beams, options[0].num_beams)?;
            if other.num_beams > 1 {
                let (value, first) = (other.renormalize_logits, options[0].renormalize_logits);
                check_same("renormalize_logits", sentence, value, first)?;
            }
        }
        let num_beams = options.first().map_or(1, |first| first.num_beams);
        let end_tokens = options.iter().map(|options| options.eos.len()).max().unwrap_or(0);
        let (space, renormalize, candidates) = match num_beams {
            1 => (ScoreSpace::Logits, true, 1),
            _ => {
                let candidates = BeamSearch::candidates_per_row(num_beams, end_tokens);
                (ScoreSpace::LogProbabilities, options[0].renormalize_logits, candidates)
            }
        };
        let rules = ScoreRules { space, renormalize };
        let sentences: Vec<_> = options.iter().map(SentenceSearch::new).collect();
        let mut search =
            Self { sentences, num_beams, rules, candidates, position: 0, step: StepBuffers::default() };
        search.prepare_step();
        // Before the first step no beam continues another.
        search.step.parents = (0..search.rows() as u32).collect();
        Ok(search)
    }

    /// Rows of every step: sentences times beams.
    pub fn rows(&self) -> usize {
        self.sentences.len() * self.num_beams
    }

    /// How the device turns logits into scores; the same in every step.
    pub fn rules(&self) -> ScoreRules {
        self.rules
    }

    /// How many of a row's best scores [`advance`](Self::advance) wants; the same in every step.
    pub fn candidates(&self) -> usize {
        self.candidates
    }

    /// An upper bound of the number of edits in any step, for a device that reserves their memory once. Zero
    /// means that there never are any.
    pub fn max_edits(&self) -> usize {
        self.sentences.iter().map(|sentence| self.num_beams * sentence.processors.max_edits_per_row()).sum()
    }

    /// The sentences in the order they were given.
    pub fn sentences(&self) -> &[SentenceSearch] {
        &self.sentences
    }

    /// Whether every sentence is.
    pub fn is_finished(&self) -> bool {
        self.sentences.iter().all(SentenceSearch::is_finished)
    }

    /// What the device has to do next.
    pub fn step(&self) -> StepRequest<'_> {
        let StepBuffers { tokens, parents, edits } = &self.step;
        StepRequest { position: self.position, tokens, parents, edits }
    }

    /// Takes the device's answer to [`step`](Self::step): the best [`candidates`](Self::candidates) scores of
    /// each row after [`rules`](Self::rules) and edits. Rows of finished sentences may hold anything.
    ///
    /// # Errors
    /// [`DecodeError::Shape`]; [`DecodeError::NotANumber`]. The search is then as it was before.
    pub fn advance(&mut self, best: TopScores<'_>) -> Result<(), DecodeError> {
        let expected = self.rows() * self.candidates;
        let sizes = [best.values.len(), best.tokens.len(), self.rows() * best.candidates];
        if sizes != [expected; 3] {
            return Err(DecodeError::Shape {
                rows: self.rows(),
                candidates: self.candidates,
                values: best.values.len(),
                tokens: best.tokens.len(),
                per_row: best.candidates,
            });
        }
        let of_sentence = |index: usize| best.rows(index * self.num_beams, self.num_beams);
        for (index, sentence) in self.sentences.iter().enumerate() {
            if sentence.cannot_use(of_sentence(index)) {
                return Err(DecodeError::NotANumber { sentence: index, position: self.position + 1 });
            }
        }
        for (index, sentence) in self.sentences.iter_mut().enumerate() {
            sentence.advance(of_sentence(index));
        }
        self.position += 1;
        self.prepare_step();
        Ok(())
    }

    /// The hypotheses of every sentence, best first: `num_return_sequences`, or fewer where fewer exist, and
    /// at least one. (HF fills up with arbitrary ones that score about -1e9.) Before the end: the best so
    /// far.
    pub fn finish(self) -> Vec<Vec<Hypothesis>> {
        self.sentences.into_iter().map(SentenceSearch::finish).collect()
    }

    fn prepare_step(&mut self) {
        self.step.tokens.clear();
        self.step.parents.clear();
        self.step.edits.clear();
        for (index, sentence) in self.sentences.iter_mut().enumerate() {
            sentence.request(index * self.num_beams, &mut self.step);
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
