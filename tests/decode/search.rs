//! The search against a slow, direct implementation on seeded toy models, and against cases worked out by hand.

use crate::reference_search::Model;
use crate::toy_search::{EOS, PAD, START, decode, mix, toy_model};
use wordloom::decode::{BatchSearch, DecodeOptions, EarlyStopping, Hypothesis};

// ---------------------------------------------------------------------------------------- random toy models

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = mix(self.0);
        (self.0 % end as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

fn random_options(
    random: &mut Random,
    num_beams: usize,
    renormalize: bool,
    vocabulary: usize,
) -> DecodeOptions {
    let token = |random: &mut Random| random.below(vocabulary) as u32;
    let prompt: Vec<u32> = match random.below(2) {
        0 => vec![START],
        _ => (0..1 + random.below(7)).map(|_| token(random)).collect(),
    };
    let max_length = prompt.len() + 1 + random.below(22);
    let bad_words = (0..random.pick(&[0, 0, 1, 3]))
        .map(|_| (0..random.pick(&[1, 1, 2, 3])).map(|_| token(random)).collect())
        .collect();
    DecodeOptions {
        num_beams,
        num_return_sequences: 1 + random.below(num_beams),
        length_penalty: random.pick(&[-1.0, 0.0, 0.6, 1.0, 2.0]),
        early_stopping: random.pick(&[EarlyStopping::Always, EarlyStopping::Heuristic, EarlyStopping::Never]),
        max_length,
        min_length: random.pick(&[0, 0, 4, max_length]),
        bad_words,
        forced_bos: (random.below(5) == 0).then(|| token(random)),
        forced_eos: (random.below(3) == 0).then_some(EOS),
        eos: random.pick(&[&[EOS][..], &[EOS], &[EOS], &[EOS, 3], &[]]).to_vec(),
        no_repeat_ngram_size: random.pick(&[0, 0, 0, 1, 2, 3]),
        repetition_penalty: random.pick(&[1.0, 1.0, 1.0, 1.3, 0.8]),
        renormalize_logits: renormalize,
        prompt,
        ..DecodeOptions::new(START, EOS, PAD)
    }
}

/// |a - b| <= 1e-4 + 1e-6 |b|, the rounding of a sum in f32; or both minus infinity.
fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-4 + 1e-6 * b.abs()
}

#[test]
fn random_searches_equal_the_slow_implementation_alone_and_in_batches() {
    const BATCHES: usize = 1000;
    const SENTENCES: usize = 3;
    let (mut compared, mut ended, mut cut) = (0, 0, 0);
    for case in 0..BATCHES {
        let mut random = Random(case as u64);
        let vocabulary = 5 + random.below(36);
        let (num_beams, renormalize) = (random.pick(&[1, 1, 2, 3, 4, 5, 8, 16]), random.below(2) == 1);
        let options: Vec<_> =
            (0..SENTENCES).map(|_| random_options(&mut random, num_beams, renormalize, vocabulary)).collect();
        let models: Vec<_> =
            (0..SENTENCES).map(|i| toy_model((case * SENTENCES + i) as u64, vocabulary)).collect();
        let models: Vec<Model> = models.iter().map(|model| model as Model).collect();

        let together = decode(options.clone(), &models);
        for ((options, &model), batched) in options.into_iter().zip(&models).zip(together) {
            let alone = decode(vec![options.clone()], &[model]).remove(0);
            assert_eq!(alone, batched, "case {case}: a neighbour changed the result of {options:?}");

            let expected = if num_beams == 1 {
                crate::reference_search::greedy(model, &options)
            } else {
                crate::reference_search::beam(model, &options)
            };
            if expected.margin < 1e-4 {
                continue; // f32 may decide otherwise
            }
            compared += 1;
            let ids =
                |hypotheses: &[Hypothesis]| hypotheses.iter().map(|h| h.tokens.clone()).collect::<Vec<_>>();
            let expected_ids: Vec<_> = expected.hypotheses.iter().map(|(tokens, _)| tokens.clone()).collect();
            assert_eq!(ids(&alone), expected_ids, "case {case}: {options:?}");
            for (got, (tokens, score)) in alone.iter().zip(&expected.hypotheses) {
                assert!(
                    close(got.score.into(), *score),
                    "case {case}: {} != {score}: {options:?}",
                    got.score
                );
                assert_eq!(got.step_logprobs.len() + options.prompt.len(), tokens.len());
                let penalty = if num_beams == 1 { 0.0 } else { options.length_penalty };
                let sum =
                    got.step_logprobs.iter().sum::<f32>() / (got.step_logprobs.len() as f32).powf(penalty);
                assert!(
                    got.step_logprobs.is_empty() || close(sum.into(), *score),
                    "case {case}: steps {sum} != {score}"
                );
                if options.eos.contains(tokens.last().unwrap()) { ended += 1 } else { cut += 1 }
            }
        }
    }
    // the test needs enough clear cases and enough of both outcomes
    assert!(compared > BATCHES * SENTENCES * 8 / 10, "only {compared} clear cases");
    assert!(ended > 500 && cut > 500, "{ended} ended by an end token, {cut} at the maximum length");
}

// -------------------------------------------------------------------------------------------------- by hand

/// The same distribution at every step: token 2 has 1/2, the end token 1/4, token 3 has 1/5, the start token
/// 1/20.
fn constant(_: &[u32]) -> Vec<f32> {
    [0.05f32, 0.25, 0.5, 0.2].map(f32::ln).to_vec()
}

/// Scores in units of 1e-4.
fn tokens_and_scores(hypotheses: &[Hypothesis]) -> Vec<(&[u32], i32)> {
    hypotheses.iter().map(|h| (h.tokens.as_slice(), (h.score * 1e4).round() as i32)).collect()
}

#[test]
fn early_stopping_by_hand() {
    let options = |early_stopping| DecodeOptions {
        num_beams: 2,
        num_return_sequences: 2,
        max_length: 5,
        early_stopping,
        ..DecodeOptions::new(0, 1, 0)
    };
    // Step 1 finishes [1] with ln 1/4, step 2 finishes [2, 1] with (ln 1/2 + ln 1/4) / 2: two, enough.
    let got = decode(vec![options(EarlyStopping::Always)], &[&constant]).remove(0);
    assert_eq!(tokens_and_scores(&got), [(&[0, 2, 1][..], -10397), (&[0, 1], -13863)]);
    // But [2, 2] scores ln 1/2 and still leads: continuing to the maximum length replaces both.
    for rule in [EarlyStopping::Heuristic, EarlyStopping::Never] {
        let got = decode(vec![options(rule)], &[&constant]).remove(0);
        assert_eq!(tokens_and_scores(&got), [(&[0, 2, 2, 2, 2][..], -6931), (&[0, 2, 2, 2, 1], -8664)]);
    }
}

/// A score is divided by the number of tokens after the prompt; `"never"` uses the largest possible number.
#[test]
fn a_prompt_counts_for_the_length_but_not_for_the_score() {
    let options = |early_stopping| DecodeOptions {
        num_beams: 2,
        num_return_sequences: 2,
        prompt: vec![3, 0, 3],
        max_length: 7,
        early_stopping,
        ..DecodeOptions::new(0, 1, 0)
    };
    let got = decode(vec![options(EarlyStopping::Always)], &[&constant]).remove(0);
    assert_eq!(tokens_and_scores(&got), [(&[3, 0, 3, 2, 1][..], -10397), (&[3, 0, 3, 1], -13863)]);
    let got = decode(vec![options(EarlyStopping::Never)], &[&constant]).remove(0);
    let expected = [(&[3, 0, 3, 2, 2, 2, 2][..], -6931), (&[3, 0, 3, 2, 2, 2, 1], -8664)];
    assert_eq!(tokens_and_scores(&got), expected);

    let one_more = DecodeOptions { max_length: 4, ..options(EarlyStopping::Heuristic) };
    let got = decode(vec![one_more], &[&constant]).remove(0);
    assert_eq!(tokens_and_scores(&got), [(&[3, 0, 3, 2][..], -6931), (&[3, 0, 3, 1], -13863)]);
}

#[test]
fn never_with_a_negative_length_penalty_assumes_the_current_length() {
    let model = |history: &[u32]| {
        let probabilities = match history {
            [0] => [0.001f32, 0.398, 0.6, 0.001],
            [0, 2] => [0.002, 0.006, 0.99, 0.002],
            [0, 2, 2] => [0.003, 0.99, 0.004, 0.003],
            _ => [0.25; 4],
        };
        probabilities.map(f32::ln).to_vec()
    };
    let options = DecodeOptions {
        num_beams: 2,
        num_return_sequences: 2,
        max_length: 30,
        length_penalty: -1.0,
        early_stopping: EarlyStopping::Never,
        ..DecodeOptions::new(0, 1, 0)
    };
    // Step 2 finishes [2, 1] with 2 ln 0.0036 = -11.25. The beam [2, 2], ln 0.594 = -0.52, would lose at length 29.
    let got = decode(vec![options], &[&model]).remove(0);
    assert_eq!(tokens_and_scores(&got), [(&[0, 1][..], -9213), (&[0, 2, 2, 1], -15928)]);
}

#[test]
fn an_end_token_beyond_the_first_beams_finishes_nothing_and_ties_go_to_the_first_beam() {
    let model = |_: &[u32]| [0.0625f32, 0.125, 0.5, 0.3125].map(f32::ln).to_vec();
    let options =
        DecodeOptions { num_beams: 2, num_return_sequences: 2, max_length: 3, ..DecodeOptions::new(0, 1, 0) };
    let got = decode(vec![options], &[&model]).remove(0);
    // [2, 3] and [3, 2] have the same score.
    assert_eq!(tokens_and_scores(&got), [(&[0, 2, 2][..], -6931), (&[0, 2, 3], -9281)]);
}

#[test]
fn forced_tokens_cost_nothing_and_leave_one_hypothesis() {
    for num_beams in [1, 3] {
        let options = DecodeOptions {
            num_beams,
            num_return_sequences: num_beams,
            max_length: 3,
            forced_bos: Some(3),
            forced_eos: Some(1),
            bad_words: vec![vec![3]],
            ..DecodeOptions::new(0, 1, 0)
        };
        assert!(BatchSearch::new(vec![options.clone()]).unwrap().step().edits.is_empty());
        let got = decode(vec![options], &[&constant]).remove(0);
        assert_eq!(got, [Hypothesis { tokens: vec![0, 3, 1], score: 0.0, step_logprobs: vec![0.0, 0.0] }]);
    }
}

#[test]
fn a_sentence_with_every_token_banned_still_ends() {
    let options = |num_beams| DecodeOptions {
        num_beams,
        max_length: 4,
        bad_words: (0..4).map(|token| vec![token]).collect(),
        min_length: 4,
        ..DecodeOptions::new(0, 1, 0)
    };
    let greedy = decode(vec![options(1)], &[&constant]).remove(0);
    assert_eq!((&greedy[0].tokens[..], greedy[0].score), (&[0, 0, 0, 0][..], f32::NEG_INFINITY)); // as HF's argmax
    let beam = decode(vec![options(2)], &[&constant]).remove(0);
    assert_eq!(beam, [Hypothesis { tokens: vec![0], score: 0.0, step_logprobs: vec![] }]);
}
