//! Beam search with terms, on toy models: what hypotheses must have, where and how often they have it, and against all sequences.

use std::sync::Arc;

use crate::toy_search::{EOS, PAD, START, decode, mix, toy_model};
use wordloom::decode::{BatchSearch, ConstraintMode, Constraints, DecodeOptions, Hypothesis, Term};
use wordloom::scores::process_row;

fn term(forms: &[&[u32]]) -> Term {
    Term { forms: forms.iter().map(|form| form.to_vec()).collect(), source: 0..0 }
}

fn constraints(terms: Vec<Term>, mode: ConstraintMode) -> Constraints {
    Constraints { terms, mode, text: 0..crate::toy_search::SOURCE, once: false, inside_words: Arc::new([]) }
}

fn options(beams: usize, new_tokens: usize, constraints: Constraints) -> DecodeOptions {
    DecodeOptions {
        num_beams: beams,
        num_return_sequences: beams,
        max_length: 1 + new_tokens,
        constraints: Some(Arc::new(constraints)),
        ..DecodeOptions::new(START, EOS, PAD)
    }
}

/// Whether tokens have a form of each term, and no token is part of two.
fn has(terms: &[Term], tokens: &[u32]) -> bool {
    let Some((first, rest)) = terms.split_first() else { return true };
    first.forms.iter().any(|form| {
        (0..tokens.len()).any(|at| {
            tokens[at..].starts_with(form) && {
                // what is used belongs to no other term
                let mut left = tokens.to_vec();
                left[at..at + form.len()].fill(u32::MAX);
                has(rest, &left)
            }
        })
    })
}

fn random_terms(seed: u64, vocabulary: usize) -> Vec<Term> {
    let mut state = seed;
    let mut below = |end: usize| {
        state = mix(state);
        (state % end as u64) as usize
    };
    (0..1 + below(3))
        .map(|_| {
            let forms = (0..1 + below(2))
                .map(|_| (0..1 + below(3)).map(|_| 3 + below(vocabulary - 3) as u32).collect())
                .collect();
            Term { forms, source: 0..0 }
        })
        .collect()
}

#[test]
fn every_hypothesis_has_every_term_whenever_there_is_room() {
    let mut ended = 0;
    for case in 0..400u64 {
        let vocabulary = 6 + (case % 30) as usize;
        let terms = random_terms(case, vocabulary);
        let needed: usize = terms.iter().map(|term| term.forms.iter().map(Vec::len).min().unwrap()).sum();
        // from just enough room to plenty
        let room = needed + (case % 12) as usize;
        let beams = [2, 3, 4, 8][(case % 4) as usize];
        let options = options(beams, room, constraints(terms.clone(), ConstraintMode::Hard));
        let model = toy_model(case, vocabulary);
        let other = toy_model(case + 1000, vocabulary);
        let alone = decode(vec![options.clone()], &[&model]).remove(0);
        for Hypothesis { tokens, .. } in &alone {
            assert!(has(&terms, &tokens[1..]), "case {case}: {tokens:?} lacks one of {terms:?}");
            ended += usize::from(tokens.ends_with(&[EOS]));
        }
        let together = decode(vec![options.clone(), options], &[&model, &other]);
        assert_eq!(together[0], alone, "case {case}: the neighbour matters");
    }
    assert!(ended > 400, "many end by themselves: {ended}");
}

/// The best sequence of at most `left` more tokens that has the terms, by trying all.
fn best(
    model: &dyn Fn(&[u32]) -> Vec<f32>,
    rules: wordloom::scores::ScoreRules,
    terms: &[Term],
    (tokens, sum): (Vec<u32>, f32),
    left: usize,
) -> f32 {
    let written = tokens.len() - 1;
    let ended = tokens.last() == Some(&EOS);
    if ended || left == 0 {
        return if has(terms, &tokens[1..]) { sum / written as f32 } else { f32::NEG_INFINITY };
    }
    let mut scores = model(&tokens);
    process_row(&mut scores, rules, &[]);
    let next = (0..scores.len()).map(|token| {
        let longer = [&tokens[..], &[token as u32]].concat();
        best(model, rules, terms, (longer, sum + scores[token]), left - 1)
    });
    next.fold(f32::NEG_INFINITY, f32::max)
}

#[test]
fn the_best_of_all_sequences_is_found_in_nine_of_ten_cases() {
    let (mut equal, cases) = (0, 60);
    for case in 0..cases {
        let vocabulary = 6;
        let terms = random_terms(case, vocabulary);
        let needed: usize = terms.iter().map(|term| term.forms.iter().map(Vec::len).min().unwrap()).sum();
        if needed > 4 {
            equal += 1;
            continue;
        }
        let model = toy_model(case, vocabulary);
        let options = options(16, 5, constraints(terms.clone(), ConstraintMode::Hard));
        let rules = BatchSearch::new(vec![options.clone()]).unwrap().rules();
        let found = decode(vec![options], &[&model]).remove(0);
        let want = best(&model, rules, &terms, (vec![START], 0.0), 5);
        assert!(
            found[0].score <= want + 1e-4,
            "case {case}: better than the best, {} {want}",
            found[0].score
        );
        equal += u64::from((found[0].score - want).abs() <= 1e-4);
    }
    assert!(equal * 10 >= cases * 9, "{equal} of {cases}");
}

/// A model that writes `text`, and gives each other token a small part.
fn writes(text: &'static [u32], vocabulary: usize) -> impl Fn(&[u32]) -> Vec<f32> {
    move |history| {
        let wanted = text.get(history.len() - 1).copied().unwrap_or(EOS);
        (0..vocabulary).map(|token| if token as u32 == wanted { 6.0 } else { 0.0 }).collect()
    }
}

fn search(terms: Constraints, text: &'static [u32]) -> Vec<u32> {
    decode(vec![options(4, 12, terms)], &[&writes(text, 40)]).remove(0).remove(0).tokens
}

#[test]
fn a_term_stands_where_attention_rests_on_its_source() {
    for place in 0..5 {
        let placed = Term { forms: vec![vec![30, 31]], source: place..place + 1 };
        let tokens = search(constraints(vec![placed], ConstraintMode::Hard), &[10, 11, 12, 13, 14, 15, 16]);
        let at = tokens.windows(2).position(|pair| pair == [30, 31]).expect("it is there");
        assert_eq!(at, place + 1, "{tokens:?}");
    }
}

#[test]
fn a_begun_term_that_breaks_off_is_begun_again() {
    // the model writes the beginning of the term, and something else after it
    let tokens = search(constraints(vec![term(&[&[10, 30, 31]])], ConstraintMode::Hard), &[10, 11, 12]);
    assert!(has(&[term(&[&[10, 30, 31]])], &tokens), "{tokens:?}");
    // a part of the term's own beginning: 10 10 11 has 10 11
    let tokens = search(constraints(vec![term(&[&[10, 11]])], ConstraintMode::Hard), &[10, 10, 11, 12]);
    assert_eq!(tokens, [START, 10, 10, 11, 12, EOS], "nothing is added to what is there");
}

#[test]
fn a_form_within_a_longer_word_does_not_count() {
    // tokens 11 and 12 continue a word
    let inside: Arc<[u64]> = Arc::new([1 << 11 | 1 << 12]);
    let own = |forms: &[&[u32]]| Constraints {
        inside_words: inside.clone(),
        ..constraints(vec![term(forms)], ConstraintMode::Hard)
    };
    let tokens = search(own(&[&[10]]), &[10, 11, 13]);
    let whole = tokens.windows(2).any(|pair| pair[0] == 10 && ![11, 12].contains(&pair[1]));
    assert!(whole, "{tokens:?} has 10 only before 11");
    assert_eq!(search(own(&[&[10, 11]]), &[10, 11, 13]), [START, 10, 11, 13, EOS]);
}

#[test]
fn a_term_is_written_once_and_one_of_two_sources_twice() {
    let once = |terms| Constraints { once: true, ..constraints(terms, ConstraintMode::Hard) };
    let count = |tokens: &[u32]| tokens.iter().filter(|&&token| token == 10).count();
    let twice = &[10, 11, 10, 12];
    assert_eq!(count(&search(once(vec![term(&[&[10]])]), twice)), 1);
    assert_eq!(search(once(vec![term(&[&[10]]), term(&[&[10]])]), twice), [START, 10, 11, 10, 12, EOS]);
}

#[test]
fn a_weight_decides_whether_a_soft_term_comes() {
    let soft = |weight| constraints(vec![term(&[&[30, 31]])], ConstraintMode::Soft(weight));
    let text = &[10, 11, 12];
    assert_eq!(search(soft(0.01), text), [START, 10, 11, 12, EOS], "a small weight changes nothing");
    assert!(has(&[term(&[&[30, 31]])], &search(soft(20.0), text)));
}

#[test]
fn an_inflection_that_the_model_prefers_is_taken() {
    let tokens = search(constraints(vec![term(&[&[30], &[11]])], ConstraintMode::Hard), &[10, 11, 12]);
    assert_eq!(tokens, [START, 10, 11, 12, EOS]);
}

#[test]
fn what_no_search_can_meet_is_refused() {
    let hard = |terms| constraints(terms, ConstraintMode::Hard);
    let message = |options: DecodeOptions| options.validate(40, 64).unwrap_err().to_string();
    let long = [5u32; 9];
    assert_eq!(
        message(options(4, 8, hard(vec![term(&[&long])]))),
        "constraints is 1 terms of 9 tokens, a forced end included; it must be at most 8 tokens, by max_length 9: raise it, or weight the terms instead"
    );
    assert!(message(options(4, 9, hard(vec![]))).contains("1 to 64 terms"));
    assert!(message(options(4, 9, hard(vec![term(&[&[]])]))).contains("at least one token"));
    assert!(message(options(4, 9, hard(vec![term(&[&[40]])]))).contains("names token 40"));
    assert!(message(options(4, 9, hard(vec![term(&[&[7, EOS]])]))).contains("no hypothesis can have"));
    assert!(message(options(1, 9, hard(vec![term(&[&[7]])]))).contains("set num_beams to 2 or more"));
    let banned = DecodeOptions { bad_words: vec![vec![7]], ..options(4, 9, hard(vec![term(&[&[7]])])) };
    assert!(message(banned).contains("bad_words_ids"));
    let soft = constraints(vec![term(&[&long])], ConstraintMode::Soft(f32::NAN));
    assert!(message(options(4, 9, soft)).contains("a finite number above 0"));
}
