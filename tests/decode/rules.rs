//! The search's requests to a device at each step, the arithmetic it expects, and invalid options.

use wordloom::decode::{BatchSearch, DecodeError, DecodeOptions};
use wordloom::scores::{
    EditKind, NO_TOKEN, ScoreEdit, ScoreRules, ScoreSpace, TopScores, process_row, top_scores,
};

#[test]
fn edits_follow_the_history() {
    let options = DecodeOptions {
        bad_words: vec![vec![5], vec![1], vec![2, 3], vec![0, 6]],
        min_length: 3,
        no_repeat_ngram_size: 2,
        repetition_penalty: 1.5,
        ..DecodeOptions::new(0, 1, 0)
    };
    let mut search = BatchSearch::new(vec![options]).unwrap();
    let steps: [(u32, &[u32], &[u32]); 4] = [
        (2, &[1, 5, 6], &[0]), // the minimum length bans 1; 0 6 is a bad phrase, and the start token counts
        (4, &[1, 3, 5], &[0, 2]), // 2 3 is a bad phrase
        (2, &[5], &[0, 2, 4]), // long enough; the end token is no bad word
        (7, &[3, 4, 5], &[0, 2]), // 2 4 was there before; a ban replaces a penalty
    ];
    for (next, banned, penalized) in steps {
        let edit = |kind| move |&token: &u32| ScoreEdit { row: 0, token, kind };
        let bans = banned.iter().map(edit(EditKind::Ban));
        let expected: Vec<_> = bans.chain(penalized.iter().map(edit(EditKind::Penalize(1.5)))).collect();
        assert_eq!(search.step().edits, expected);
        search.advance(TopScores { candidates: 1, values: &[-1.0], tokens: &[next] }).unwrap();
    }
    assert_eq!(search.sentences()[0].best_tokens(), [0, 2, 4, 2, 7]);
}

/// The whole prompt is history and counts in lengths; its last token is the first input.
#[test]
fn edits_follow_the_prompt() {
    let options = DecodeOptions {
        prompt: vec![7, 2, 7],
        bad_words: vec![vec![2, 7, 3]],
        min_length: 5,
        max_length: 6,
        no_repeat_ngram_size: 2,
        repetition_penalty: 2.0,
        forced_bos: Some(9), // only ever after a single token
        forced_eos: Some(1),
        ..DecodeOptions::new(0, 1, 0)
    };
    let mut search = BatchSearch::new(vec![options]).unwrap();
    let steps: [(u32, u32, &[u32], &[u32]); 3] = [
        (7, 4, &[1, 2, 3], &[7]), // 7 2 was there before, 2 7 3 is a bad phrase
        (4, 7, &[1], &[2, 4, 7]), // four tokens: the minimum length still bans 1
        (7, 1, &[], &[]),         // one token is missing to the maximal length
    ];
    for (position, (token, next, banned, penalized)) in steps.into_iter().enumerate() {
        let step = search.step();
        assert_eq!((step.positions, step.tokens, step.parents), (&[position][..], &[token][..], &[0][..]));
        let edit = |kind| move |&token: &u32| ScoreEdit { row: 0, token, kind };
        let bans = banned.iter().map(edit(EditKind::Ban));
        let expected: Vec<_> = bans.chain(penalized.iter().map(edit(EditKind::Penalize(2.0)))).collect();
        assert_eq!(step.edits, expected);
        search.advance(TopScores { candidates: 1, values: &[-1.0], tokens: &[next] }).unwrap();
    }
    let hypothesis = search.finish().remove(0).remove(0);
    assert_eq!(hypothesis.tokens, [7, 2, 7, 4, 7, 1]);
    assert_eq!((hypothesis.step_logprobs.as_slice(), hypothesis.score), (&[-1.0, -1.0, 0.0][..], -2.0));
}

#[test]
fn rows_of_scores_by_hand() {
    let edit = |token, kind| ScoreEdit { row: 0, token, kind };
    let mut row = [1.0, -2.0, 4.0, 0.5];
    let edits = [edit(3, EditKind::Ban), edit(1, EditKind::Penalize(2.0)), edit(2, EditKind::Penalize(2.0))];
    process_row(&mut row, ScoreRules { space: ScoreSpace::Logits, renormalize: false }, &edits);
    assert_eq!(row, [1.0, -4.0, 2.0, f32::NEG_INFINITY]);

    let mut row = [0.25f32, 0.25, 0.5].map(f32::ln);
    process_row(
        &mut row,
        ScoreRules { space: ScoreSpace::LogProbabilities, renormalize: true },
        &edits[1..2],
    );
    let total = 0.25 + 0.0625 + 0.5; // probabilities: the penalty squared one
    for (got, want) in row.iter().zip([0.25 / total, 0.0625 / total, 0.5 / total]) {
        assert!((got.exp() - want).abs() < 1e-6, "{row:?}");
    }

    let (mut values, mut tokens) = ([0.0; 4], [0; 4]);
    top_scores(&[-3.0, -1.0, f32::NEG_INFINITY, -1.0, -0.5, -1.0], &mut values, &mut tokens);
    assert_eq!((values, tokens), ([-0.5, -1.0, -1.0, -1.0], [4, 1, 3, 5]));
    top_scores(&[f32::NEG_INFINITY, -7.0], &mut values, &mut tokens);
    assert_eq!((values[0], tokens), (-7.0, [1, NO_TOKEN, NO_TOKEN, NO_TOKEN]));
    top_scores(&[1.0, f32::NAN, 2.0], &mut values, &mut tokens);
    assert!(values[0].is_nan());
}

#[test]
fn options_out_of_range_are_named() {
    let good = DecodeOptions { num_beams: 4, ..DecodeOptions::new(0, 1, 2) };
    assert_eq!(good.validate(10, 20), Ok(()));
    type Spoil = fn(&mut DecodeOptions);
    let numbers: [(Spoil, &str); 13] = [
        (|o| o.num_beams = 0, "num_beams is 0; it must be 1 to 16"),
        (|o| o.num_beams = 17, "num_beams is 17; it must be 1 to 16"),
        (|o| o.num_return_sequences = 5, "num_return_sequences is 5; it must be 1 to num_beams, which is 4"),
        (|o| o.num_return_sequences = 0, "num_return_sequences is 0; it must be 1 to num_beams, which is 4"),
        (|o| o.length_penalty = f32::NAN, "length_penalty is NaN; it must be a finite number"),
        (
            |o| o.length_penalty = -40.5,
            "length_penalty is -40.5; it must be -23 to 23 for outputs of up to 19 tokens; 0 is no penalty",
        ),
        (
            |o| o.repetition_penalty = 0.0,
            "repetition_penalty is 0; it must be a finite number above 0 (1: no penalty)",
        ),
        (|o| o.max_length = 1, "max_length is 1; it must be at least 2: the start token and one more"),
        (
            |o| o.prompt = vec![3; 20],
            "max_length is 20; it must be at least 21: the prompt's 20 tokens and one more",
        ),
        (|o| o.prompt = vec![], "the prompt is empty; it must be at least one token"),
        (
            |o| o.max_length = 22,
            "max_length is 22; it must be at most 21: the model's 20 positions and one token more",
        ),
        (|o| o.bad_words = vec![vec![]], "bad_words_ids is [[]]; it must be lists of at least one token"),
        (
            |o| o.repetition_penalty = f32::INFINITY,
            "repetition_penalty is inf; it must be a finite number above 0 (1: no penalty)",
        ),
    ];
    for (spoil, message) in numbers {
        let mut options = good.clone();
        spoil(&mut options);
        assert_eq!(options.validate(10, 20).unwrap_err().to_string(), message);
    }
    let ids: [(Spoil, &str); 7] = [
        (|o| o.prompt = vec![10], "decoder_start_token_id"),
        (|o| o.prompt = vec![3, 10], "input_ids"),
        (|o| o.pad = 10, "pad_token_id"),
        (|o| o.forced_bos = Some(10), "forced_bos_token_id"),
        (|o| o.forced_eos = Some(10), "forced_eos_token_id"),
        (|o| o.eos.push(10), "eos_token_id"),
        (|o| o.bad_words = vec![vec![3], vec![4, 10]], "bad_words_ids"),
    ];
    for (spoil, option) in ids {
        let mut options = good.clone();
        spoil(&mut options);
        assert_eq!(options.validate(10, 20), Err(DecodeError::Token { option, token: 10, vocabulary: 10 }));
    }
}

#[test]
fn batches_and_answers_that_do_not_fit_are_refused() {
    let options = |num_beams| DecodeOptions { num_beams, ..DecodeOptions::new(0, 1, 2) };
    let refusal = |batch| BatchSearch::new(batch).err().unwrap().to_string();
    assert!(refusal(vec![options(2), options(3)]).starts_with("sentence 1 asks for num_beams = 3"));
    let renormalized = DecodeOptions { renormalize_logits: true, ..options(2) };
    assert!(refusal(vec![options(2), renormalized]).contains("renormalize_logits = true"));
    assert!(matches!(
        BatchSearch::new(vec![options(0)]),
        Err(DecodeError::Option { option: "num_beams", .. })
    ));
    assert!(BatchSearch::new(Vec::new()).unwrap().is_finished());

    let mut search = BatchSearch::new(vec![options(1), options(1)]).unwrap();
    let short = TopScores { candidates: 1, values: &[0.0], tokens: &[1] };
    assert!(matches!(search.advance(short), Err(DecodeError::Shape { rows: 2, candidates: 1, .. })));
    let broken = TopScores { candidates: 1, values: &[-1.0, f32::NAN], tokens: &[3, 3] };
    assert_eq!(search.advance(broken), Err(DecodeError::NotANumber { sentence: 1, position: 1 }));
    assert_eq!(search.step().tokens, [0, 0]);
}
