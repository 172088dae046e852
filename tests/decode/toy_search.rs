//! A search without a device: models that are plain functions, all scores of a row on the CPU.

use wordloom::decode::{BatchSearch, DecodeOptions, Hypothesis, Offers, StepScores};
use wordloom::scores::{TopScores, process_row, top_scores};

/// A language model: the logits of the next token after a history.
pub type Model<'a> = &'a dyn Fn(&[u32]) -> Vec<f32>;

pub const START: u32 = 0;
pub const EOS: u32 = 1;
pub const PAD: u32 = 2;
/// Source tokens of a toy.
pub const SOURCE: usize = 16;

/// SplitMix64.
pub fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Logits that are a hash of the history, with a liking for the end token that grows with the length.
pub fn toy_model(seed: u64, vocabulary: usize) -> impl Fn(&[u32]) -> Vec<f32> {
    move |history| {
        let context = history.iter().fold(seed, |hash, &token| mix(hash ^ u64::from(token)));
        let uniform = |token: usize| (mix(context ^ mix(token as u64)) >> 40) as f32 / (1u64 << 24) as f32;
        let mut logits: Vec<f32> = (0..vocabulary).map(|token| 6.0 * uniform(token) - 2.0).collect();
        logits[EOS as usize] += 0.2 * history.len() as f32 - 0.5;
        logits
    }
}

/// Decodes one sentence per model as a device would, with full rows on the CPU.
pub fn decode(options: Vec<DecodeOptions>, models: &[Model]) -> Vec<Vec<Hypothesis>> {
    let begin = |options: &DecodeOptions| options.prompt.split_last().unwrap().1.to_vec(); // the last one is fed
    let mut histories: Vec<Vec<u32>> = options.iter().map(begin).collect();
    let prompts: Vec<usize> = options.iter().map(|options| options.prompt.len()).collect();
    let mut search = BatchSearch::new(options).unwrap();
    let beams = search.rows() / models.len();
    histories = (0..search.rows()).map(|row| histories[row / beams].clone()).collect();
    while !search.is_finished() {
        let step = search.step();
        assert!(step.edits.len() <= search.max_edits());
        histories = (0..step.tokens.len())
            .map(|row| {
                let parent = step.parents[row] as usize;
                assert_eq!(parent / beams, row / beams, "a row continues another sentence");
                let mut history = histories[parent].clone();
                history.push(step.tokens[row]);
                if !search.sentences()[row / beams].is_finished() {
                    assert_eq!(history.len(), step.positions[row] + prompts[row / beams]);
                }
                history
            })
            .collect();
        let rows: Vec<Vec<f32>> = histories
            .iter()
            .enumerate()
            .map(|(row, history)| {
                let mut scores = models[row / beams](history);
                if search.sentences()[row / beams].is_finished() {
                    scores.fill(f32::NAN); // rows of finished sentences may hold anything
                } else {
                    process_row(&mut scores, search.rules(), step.edits_of(row));
                }
                scores
            })
            .collect();
        if search.wants_whole_rows() {
            let whole = StepScores::Whole { vocabulary: rows[0].len(), values: &rows.concat() };
            search.advance(whole).unwrap();
        } else {
            let width = search.candidates();
            let (mut values, mut tokens) = (vec![0.0; rows.len() * width], vec![0; rows.len() * width]);
            let places = values.chunks_mut(width).zip(tokens.chunks_mut(width));
            rows.iter().zip(places).for_each(|(row, (values, tokens))| top_scores(row, values, tokens));
            let best = TopScores { candidates: width, values: &values, tokens: &tokens };
            let room = search.wanted();
            if room == 0 {
                search.advance(best).unwrap();
                continue;
            }
            let wanted = step.wanted.to_vec();
            let score = |(place, &token): (usize, &u32)| {
                rows[place / room].get(token as usize).copied().unwrap_or(f32::NEG_INFINITY)
            };
            let scores: Vec<f32> = wanted.iter().enumerate().map(score).collect();
            // a toy looks at the source token after the number of tokens that it has written
            let attention: Vec<f32> = histories
                .iter()
                .flat_map(|history| (0..SOURCE).map(|key| f32::from(u8::from(key + 1 == history.len()))))
                .collect();
            let wanted = TopScores { candidates: room, values: &scores, tokens: &wanted };
            let offers = Offers { wanted, source_tokens: SOURCE, attention: &attention };
            search.advance(StepScores::WithTerms(best, offers)).unwrap();
        }
    }
    search.finish()
}
