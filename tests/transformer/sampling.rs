//! Sampling: the candidates against transformers' own warpers, the frequencies, and the effect of a seed.

use std::fs;

use crate::common::{assert_close, data, device_test, devices, model};
use crate::toy_search::{EOS, Model, PAD, START, decode, toy_model};
use serde_json::Value;
use wordloom::decode::{BatchSearch, DecodeError, DecodeOptions, Sampling, StepScores};
use wordloom::scores::TopScores;
use wordloom::transformer::{ForwardInput, GenerateOptions, GenerateRequest, Generation, Transformer};

fn sampled(sampling: Sampling) -> DecodeOptions {
    DecodeOptions { sampling: Some(sampling), ..DecodeOptions::new(START, EOS, PAD) }
}

/// `tests/data/decode/sampling.json` has logits and the results of TemperatureLogitsWarper, TopKLogitsWarper and
/// TopPLogitsWarper.
#[test]
fn what_may_be_drawn_is_what_transformers_keeps() {
    let file = fs::read_to_string(data("decode/sampling.json")).unwrap();
    let file: Value = serde_json::from_str(&file).unwrap();
    let cases = file["cases"].as_array().unwrap();
    let mut fewer = 0;
    for case in cases {
        let number = |key: &str| case[key].as_f64().unwrap();
        let numbers = |key: &str| case[key].as_array().unwrap().iter().map(|value| value.as_f64().unwrap());
        let sampling = Sampling {
            temperature: number("temperature") as f32,
            top_k: number("top_k") as usize,
            top_p: number("top_p") as f32,
            seed: 0,
        };
        let mut pairs: Vec<(u32, f64)> = (0..).zip(numbers("logits")).collect();
        let all = pairs.len();
        sampling.probabilities(&mut pairs);
        fewer += usize::from(pairs.len() < all);
        pairs.sort_by_key(|&(token, _)| token);
        let tokens: Vec<f64> = pairs.iter().map(|&(token, _)| token.into()).collect();
        assert_eq!(tokens, numbers("tokens").collect::<Vec<_>>(), "{sampling:?}");
        for ((token, got), want) in pairs.into_iter().zip(numbers("probabilities")) {
            assert!((got - want).abs() <= 1e-6, "{sampling:?}: token {token} has {got}, not {want}");
        }
    }
    assert!(cases.len() > 100 && fewer > 80, "{fewer} of {} cases cut something", cases.len());
}

/// Logits of eight tokens, all of which are drawn often enough for the statistic.
const LOGITS: [f32; 8] = [0.3, -0.9, 1.4, 0.0, 0.9, -0.4, 1.1, 0.6];

/// Number of draws of each token, for each of 16 hypotheses of `length` tokens.
fn counts(sampling: Sampling, length: usize) -> Vec<Vec<u32>> {
    let options =
        DecodeOptions { num_return_sequences: 16, max_length: 1 + length, eos: vec![], ..sampled(sampling) };
    decode(vec![options], &[&|_| LOGITS.to_vec()])
        .remove(0)
        .into_iter()
        .map(|hypothesis| hypothesis.tokens[1..].to_vec())
        .collect()
}

/// Pearson's statistic of seen and expected frequencies.
fn chi_square(seen: &[f64], expected: &[f64]) -> f64 {
    seen.iter().zip(expected).map(|(seen, expected)| (seen - expected).powi(2) / expected).sum()
}

/// The seeds are fixed, so the result is always the same. By chance, one in ten thousand seeds exceeds a bound.
#[test]
fn tokens_are_drawn_as_often_as_their_probabilities_say() {
    const LENGTH: usize = 1500;
    let cases = [
        (Sampling { temperature: 1.0, top_k: 0, top_p: 1.0, seed: 1 }, 8, 29.88), // whole rows
        (Sampling { temperature: 1.6, top_k: 0, top_p: 0.8, seed: 2 }, 6, 25.74),
        (Sampling { temperature: 0.7, top_k: 6, top_p: 1.0, seed: 3 }, 6, 25.74), // the best few
        (Sampling { temperature: 2.0, top_k: 50, top_p: 0.9, seed: u64::MAX }, 7, 27.86),
    ];
    for (sampling, kept, bound) in cases {
        let mut pairs: Vec<(u32, f64)> = (0..).zip(LOGITS.map(f64::from)).collect();
        sampling.probabilities(&mut pairs);
        assert_eq!(pairs.len(), kept, "{sampling:?}");
        let rows = counts(sampling, LENGTH);
        let how_often = |token: u32| rows.iter().flatten().filter(|&&drawn| drawn == token).count() as f64;
        let seen: Vec<f64> = pairs.iter().map(|&(token, _)| how_often(token)).collect();
        let draws = (16 * LENGTH) as f64;
        assert_eq!(seen.iter().sum::<f64>(), draws, "{sampling:?} draws what is cut");
        let expected: Vec<f64> = pairs.iter().map(|&(_, probability)| draws * probability).collect();
        let statistic = chi_square(&seen, &expected);
        assert!(statistic < bound, "{sampling:?}: {statistic}; {seen:?}, expected {expected:?}");
    }

    // hypotheses are independent of each other, and so are steps
    let sampling = Sampling { top_k: 2, ..Sampling::default() };
    let mut pairs: Vec<(u32, f64)> = (0..).zip(LOGITS.map(f64::from)).collect();
    sampling.probabilities(&mut pairs);
    let rows = counts(sampling, LENGTH);
    let across = rows.chunks(2).flat_map(|rows| rows[0].iter().zip(&rows[1]));
    let along = rows.iter().flat_map(|row| row.chunks_exact(2).map(|pair| (&pair[0], &pair[1])));
    let kinds: [Vec<(&u32, &u32)>; 2] = [across.collect(), along.collect()];
    for pairs_seen in kinds {
        let both = pairs.iter().flat_map(|first| pairs.iter().map(move |second| (first, second)));
        let (seen, expected): (Vec<f64>, Vec<f64>) = both
            .map(|(&(first, p), &(second, q))| {
                let seen = pairs_seen.iter().filter(|&&pair| pair == (&first, &second)).count();
                (seen as f64, pairs_seen.len() as f64 * p * q)
            })
            .unzip();
        let statistic = chi_square(&seen, &expected);
        assert!(statistic < 21.11, "{statistic}; {seen:?}, expected {expected:?}");
    }
}

#[test]
fn a_seed_and_an_input_say_it_all() {
    let models: Vec<_> = (0..4).map(|seed| toy_model(seed, 40)).collect();
    let models: Vec<Model> = models.iter().map(|model| model as Model).collect();
    for top_k in [0, 20] {
        let options = |index: usize, seed| DecodeOptions {
            num_return_sequences: 3,
            max_length: 12 + index,
            no_repeat_ngram_size: index,
            prompt: vec![START; 1 + index],
            ..sampled(Sampling {
                seed,
                top_k: if index == 1 { top_k / 2 } else { top_k },
                ..Sampling::default()
            })
        };
        let all = |seed| (0..4).map(|index| options(index, seed)).collect::<Vec<_>>();
        let together = decode(all(7), &models);
        assert_eq!(together, decode(all(7), &models));
        for (index, hypotheses) in together.iter().enumerate() {
            assert_eq!(
                decode(vec![options(index, 7)], &[models[index]])[0],
                *hypotheses,
                "a neighbour counts"
            );
            assert_eq!(hypotheses.len(), 3);
            assert!(hypotheses[0] != hypotheses[1] && hypotheses[1] != hypotheses[2]);
            let fewer = DecodeOptions { num_return_sequences: 2, ..options(index, 7) };
            assert_eq!(decode(vec![fewer], &[models[index]])[0], hypotheses[..2]);
            assert!(decode(vec![options(index, 8)], &[models[index]])[0] != *hypotheses);
            for hypothesis in hypotheses {
                let generated = &hypothesis.tokens[1 + index..];
                assert_eq!(generated.len(), hypothesis.step_logprobs.len());
                let end = generated.iter().position(|&token| token == EOS);
                assert_eq!(end.map_or(12 + index, |end| end + 2 + index), hypothesis.tokens.len());
                let sum: f32 = hypothesis.step_logprobs.iter().sum();
                assert!((sum - hypothesis.score).abs() < 1e-4 && sum < 0.0);
            }
        }
    }
    // the best few or all scores from the device give the same draws from the same candidates
    let of =
        |top_k| decode(vec![sampled(Sampling { top_k, top_p: 0.9, ..Sampling::default() })], &models[..1]);
    assert_eq!(of(64)[0][0].tokens, of(65)[0][0].tokens);
}

#[test]
fn a_temperature_close_to_zero_is_greedy_search() {
    for seed in 0..50 {
        let model = toy_model(seed, 30);
        for (top_k, top_p) in [(0, 1.0), (0, 0.9), (50, 1.0), (3, 0.5)] {
            let cold = Sampling { temperature: 1e-30, top_k, top_p, seed };
            let greedy = DecodeOptions {
                repetition_penalty: 1.2,
                min_length: 4,
                ..DecodeOptions::new(START, EOS, PAD)
            };
            let got =
                decode(vec![DecodeOptions { sampling: Some(cold), ..greedy.clone() }], &[&model]).remove(0);
            assert_eq!(got[0].tokens, decode(vec![greedy], &[&model])[0][0].tokens);
            assert_eq!(got[0].score, 0.0, "what was drawn was certain");
        }
    }
}

/// A complete hypothesis waits for the others of its sentence: its scores are not edited, and the device's results for it are
/// ignored.
#[test]
fn complete_samples_wait() {
    let options = DecodeOptions {
        num_return_sequences: 2,
        max_length: 5,
        repetition_penalty: 2.0,
        forced_eos: Some(EOS),
        ..sampled(Sampling { top_k: 1, ..Sampling::default() })
    };
    let mut search = BatchSearch::new(vec![options]).unwrap();
    assert_eq!((search.rows(), search.rows_per_sentence(), search.candidates()), (2, 2, 1));
    assert_eq!(search.step().parents, [0, 1]);
    let mut advance = |tokens: [u32; 2], first| {
        search.advance(TopScores { candidates: 1, values: &[first, -1.0], tokens: &tokens }).unwrap();
        let step = search.step();
        (
            step.tokens.to_vec(),
            step.parents.to_vec(),
            step.edits.iter().map(|edit| edit.row).collect::<Vec<_>>(),
        )
    };
    assert_eq!(advance([EOS, 3], -1.0), (vec![EOS, 3], vec![0, 1], vec![1, 1]));
    assert_eq!(advance([9, 4], f32::NAN), (vec![EOS, 4], vec![0, 1], vec![1, 1, 1]));
    assert_eq!(advance([9, 5], f32::NAN), (vec![EOS, 5], vec![0, 1], vec![])); // the last one is forced
    advance([9, 9], f32::NAN);
    assert!(search.is_finished());
    let hypotheses = search.finish().remove(0);
    assert_eq!(hypotheses[0].tokens, [START, EOS]);
    assert_eq!(hypotheses[1].tokens, [START, 3, 4, 5, EOS]);
}

#[test]
fn sampling_that_cannot_be_is_named() {
    type Spoil = fn(&mut DecodeOptions, &mut Sampling);
    let cases: [(Spoil, &str); 8] = [
        (|_, s| s.temperature = 0.0, "temperature is 0; it must be a finite number above 0"),
        (|_, s| s.temperature = f32::NAN, "temperature is NaN"),
        (|_, s| s.temperature = f32::INFINITY, "temperature is inf"),
        (|_, s| s.top_p = 0.0, "top_p is 0; it must be above 0 and at most 1"),
        (|_, s| s.top_p = 1.5, "top_p is 1.5"),
        (|_, s| s.top_p = f32::NAN, "top_p is NaN"),
        (|o, _| o.num_beams = 4, "num_beams is 4; it must be 1 with do_sample: "),
        (|o, _| o.num_return_sequences = 17, "num_return_sequences is 17; it must be 1 to 16"),
    ];
    for (spoil, message) in cases {
        let (mut options, mut sampling) = (DecodeOptions::new(START, EOS, PAD), Sampling::default());
        spoil(&mut options, &mut sampling);
        options.sampling = Some(sampling);
        let error = options.validate(10, 30).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }

    let with = |top_k| sampled(Sampling { top_k, ..Sampling::default() });
    let refusal = |batch| BatchSearch::new(batch).err().unwrap().to_string();
    assert!(refusal(vec![with(5), with(0)]).contains("top_k = 0, the first sentence of its batch for 5"));
    assert!(refusal(vec![with(5), DecodeOptions::new(START, EOS, PAD)]).contains("do_sample = false"));
    let two = DecodeOptions { num_return_sequences: 2, ..with(5) };
    assert!(refusal(vec![with(5), two]).contains("num_return_sequences = 2"));

    let mut search = BatchSearch::new(vec![with(0), with(65)]).unwrap();
    assert!(search.wants_whole_rows());
    let whole = |values| StepScores::Whole { vocabulary: 3, values };
    let best = TopScores { candidates: 1, values: &[0.0; 2], tokens: &[1; 2] };
    assert_eq!(search.advance(best), Err(DecodeError::WholeRows { rows: 2, values: 0 }));
    assert_eq!(search.advance(whole(&[0.0; 5])), Err(DecodeError::WholeRows { rows: 2, values: 5 }));
    let not_a_number = Err(DecodeError::NotANumber { sentence: 1, position: 1 });
    assert_eq!(search.advance(whole(&[0.0, 1.0, 2.0, 0.0, f32::NAN, 0.0])), not_a_number);
    assert_eq!(search.advance(whole(&[0.0, 1.0, 2.0, 0.0, f32::INFINITY, 0.0])), not_a_number);
    let mut few = BatchSearch::new(vec![with(2)]).unwrap();
    assert!(matches!(few.advance(whole(&[0.0; 3])), Err(DecodeError::Shape { .. })));
}

/// Samples from the best few tokens and from whole rows. Their probabilities equal those of a forward pass, normalized over
/// the candidates.
#[device_test]
async fn samples_are_drawn_from_the_model() {
    let mut samples = Vec::new();
    for device in devices().await {
        let transformer =
            Transformer::load(&device, &model(&data("models/marian_tied")), &mut |_| {}).unwrap();
        let tokens = transformer.config().tokens;
        let (start, eos) = tokens.decoder_start.zip(tokens.eos).expect("Marian has both");
        let requests: Vec<GenerateRequest> = [0, 64, 0, 9]
            .into_iter()
            .enumerate()
            .map(|(index, top_k)| {
                let sampling = Sampling { top_k, temperature: 0.8, top_p: 0.95, seed: index as u64 };
                let options = DecodeOptions {
                    num_return_sequences: 2,
                    max_length: 14 + index,
                    sampling: Some(sampling),
                    bad_words: vec![vec![17]],
                    ..DecodeOptions::new(start, eos, tokens.pad)
                };
                GenerateRequest::new(vec![5 + index as u32, 91, 212, eos], options)
            })
            .collect();
        let results = transformer.generate(&requests, GenerateOptions::default()).await.unwrap();
        for (request, result) in requests.iter().zip(&results) {
            let hypotheses = &result.hypotheses;
            assert!(hypotheses.len() == 2 && hypotheses[0].tokens != hypotheses[1].tokens);
            for hypothesis in hypotheses {
                let fed = hypothesis.tokens.len() - 1;
                let input = ForwardInput {
                    batch: 1,
                    source_length: request.input_ids.len(),
                    target_length: fed,
                    input_ids: request.input_ids.clone(),
                    attention_mask: vec![1; request.input_ids.len()],
                    token_type_ids: Vec::new(),
                    decoder_input_ids: hypothesis.tokens[..fed].to_vec(),
                    global_attention_mask: Vec::new(),
                };
                let logits = transformer.forward(&input).await.unwrap().logits.data;
                let rows = logits.chunks(logits.len() / fed);
                let want: Vec<f32> = rows
                    .zip(&hypothesis.tokens[1..])
                    .map(|(row, &drawn)| {
                        let row = row.iter().map(|&logit| f64::from(logit));
                        let mut pairs: Vec<(u32, f64)> =
                            (0..).zip(row).filter(|&(token, _)| token != 17).collect();
                        request.options.sampling.unwrap().probabilities(&mut pairs);
                        let drawn = pairs.iter().find(|&&(token, _)| token == drawn);
                        drawn.expect("a token that may be drawn").1.ln() as f32
                    })
                    .collect();
                assert_close("step_logprobs", &hypothesis.step_logprobs, &want, (2e-4, 0.0));
            }
        }
        let of = |found: &Generation| found.hypotheses.iter().map(|h| h.tokens.clone()).collect::<Vec<_>>();
        samples.push(results.iter().map(of).collect::<Vec<_>>());
    }
    assert_eq!(samples[0], samples[1], "the CPU's and the GPU's");
}
