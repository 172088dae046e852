//! The best tokens of each row, with and without score edits; the log-probability of given tokens.

use wordloom::answers::sizes;
use wordloom::cpu;
use wordloom::gpu::Gpu;
use wordloom::kernels::edits::Edits;
use wordloom::kernels::log_probability;
use wordloom::kernels::log_softmax_top_k::{ScoreBuffers, TopKShape};
use wordloom::kernels::term_scores;
use wordloom::kernels::{AdapterClass, stride};
use wordloom::scores::{
    EditKind, NO_TOKEN, ScoreEdit, ScoreRules, ScoreSpace, TermScoresShape, encode_edits,
};

use crate::common::{assert_close, device_test, gpu, split_top};
use crate::{fixture, pad, random, read, run, unpad, untouched, upload, upload_u32};

/// Adapter classes with different selections.
const CLASSES: [AdapterClass; 2] = [AdapterClass::Software, AdapterClass::Hardware];

/// Values and tokens of each row's selection.
async fn top_on_gpu(
    gpu: &Gpu,
    shape: &TopKShape,
    logits: &[f32],
    edits: Option<&[ScoreEdit]>,
    class: AdapterClass,
) -> (Vec<f32>, Vec<u32>) {
    let logits = upload(gpu, &pad(logits, shape.vocabulary, 1e6));
    let mut words = Vec::new();
    encode_edits(edits.unwrap_or(&[]), &mut words);
    words.push([0, 0, 0, 0]); // room for one more
    let edit_buffer = upload_u32(gpu, words.as_flattened());
    let chunks = untouched(gpu, shape.chunk_elements());
    let nothing = untouched(gpu, 4);
    let top = untouched(gpu, shape.rows * 2 * shape.candidates);
    let edits = match edits {
        Some(_) => Edits::Listed { capacity: words.len() - 1, list: &edit_buffer },
        None => Edits::None,
    };
    let buffers = ScoreBuffers { logits: &logits, chunks: &chunks, nothing: &nothing };
    let mut launches = shape.chunk_launches(&edits, buffers, class);
    launches.extend(shape.best_launches(&edits, buffers, &top, class));
    run(gpu, &launches);
    let words: Vec<u32> = read(gpu, &top).await;
    split_top(&words[..shape.rows * 2 * shape.candidates], shape.candidates)
}

fn top_on_cpu(shape: &TopKShape, logits: &[f32], edits: &[ScoreEdit]) -> (Vec<f32>, Vec<u32>) {
    let mut words = vec![0; shape.rows * 2 * shape.candidates];
    cpu::log_softmax_top_k(shape, &mut logits.to_vec(), edits, &mut words);
    split_top(&words, shape.candidates)
}

#[track_caller]
fn assert_same_top(what: &str, got: (Vec<f32>, Vec<u32>), want: (Vec<f32>, Vec<u32>)) {
    assert_eq!(got.1, want.1, "{what}: tokens");
    // any small enough number stands for minus infinity
    let clamp = |values: Vec<f32>| values.into_iter().map(|value| value.max(-1e30)).collect::<Vec<_>>();
    assert_close(what, &clamp(got.0), &clamp(want.0), (1e-5, 1e-6));
}

#[device_test]
async fn the_best_tokens_agree() {
    let gpu = gpu().await;
    let rules = [
        ScoreRules { space: ScoreSpace::Logits, renormalize: true },
        ScoreRules { space: ScoreSpace::LogProbabilities, renormalize: false },
        ScoreRules { space: ScoreSpace::LogProbabilities, renormalize: true },
    ];
    for (rows, vocabulary, candidates) in sizes::BEST {
        // coarse, for ties
        let logits: Vec<f32> =
            random(7, rows * vocabulary).iter().map(|value| (value * 200.0).round() / 16.0).collect();
        let edits: Vec<ScoreEdit> = (0..rows)
            .flat_map(|row| {
                let edit = move |token: usize, kind| ScoreEdit { row: row as u32, token: token as u32, kind };
                let best = (0..vocabulary).max_by(|&a, &b| {
                    f32::total_cmp(&logits[row * vocabulary + a], &logits[row * vocabulary + b])
                });
                let best = best.unwrap();
                [
                    edit(best, if row % 2 == 0 { EditKind::Ban } else { EditKind::Penalize(1.25) }),
                    edit((best + 1) % vocabulary.max(2), EditKind::Penalize(0.5)),
                    edit(vocabulary + 3, EditKind::Ban), // no such token: ignored
                ]
            })
            .collect();
        for rules in rules {
            let shape = TopKShape { rows, vocabulary, candidates, rules };
            let want = top_on_cpu(&shape, &logits, &[]);
            let want_edited = top_on_cpu(&shape, &logits, &edits);
            for class in CLASSES {
                let what = format!("{shape:?}, {class:?}");
                let plain = top_on_gpu(&gpu, &shape, &logits, None, class).await;
                assert_same_top(&what, plain, want.clone());
                let none = top_on_gpu(&gpu, &shape, &logits, Some(&[]), class).await;
                assert_same_top(&format!("{what}, an empty list of edits"), none, want.clone());
                let edited = top_on_gpu(&gpu, &shape, &logits, Some(&edits), class).await;
                assert_same_top(&format!("{what} with edits"), edited, want_edited.clone());
            }
        }
    }
}

#[device_test]
async fn the_best_tokens_are_those_of_the_reference() {
    let gpu = gpu().await;
    let tensors = fixture("topk");
    for case in ["topk.0", "topk.1"] {
        let logits = tensors.f32(&format!("{case}.x"));
        let dims = tensors.shape(&format!("{case}.x"));
        let (rows, vocabulary) = (dims[0], dims[1]);
        let candidates = tensors.shape(&format!("{case}.indices"))[1];
        let rules = ScoreRules { space: ScoreSpace::LogProbabilities, renormalize: false };
        let shape = TopKShape { rows, vocabulary, candidates, rules };
        let want = tensors.u32(&format!("{case}.indices"));
        let log_softmax = tensors.f32(&format!("{case}.log_softmax"));
        let of = |(i, &token): (usize, &u32)| log_softmax[i / candidates * vocabulary + token as usize];
        let want_values: Vec<f32> = want.iter().enumerate().map(of).collect();
        for class in CLASSES {
            let (values, tokens) = top_on_gpu(&gpu, &shape, &logits, None, class).await;
            assert_eq!(tokens, want, "{case}, {class:?}");
            assert_close(case, &values, &want_values, (1e-5, 0.0));
        }
    }
}

async fn log_probability_on_gpu(gpu: &Gpu, vocabulary: usize, logits: &[f32], targets: &[u32]) -> Vec<f32> {
    let rows = targets.len();
    let logits = upload(gpu, &pad(logits, vocabulary, 1e6));
    let targets = upload_u32(gpu, targets);
    let chunks = untouched(gpu, log_probability::chunk_elements(rows, vocabulary));
    let result = untouched(gpu, rows * stride(1));
    let nothing = untouched(gpu, 4);
    let launches = [
        (log_probability::chunk_dispatch(rows, vocabulary), vec![&logits, &nothing, &nothing, &chunks]),
        (log_probability::dispatch(rows, vocabulary), vec![&logits, &targets, &chunks, &result]),
    ];
    run(gpu, &launches);
    unpad("log-probabilities", &read(gpu, &result).await, rows, 1)
}

#[device_test]
async fn the_log_probabilities_of_given_tokens_agree() {
    let gpu = gpu().await;
    for (rows, vocabulary) in sizes::LOG_PROBABILITIES {
        let logits: Vec<f32> = random(5, rows * vocabulary).iter().map(|value| 20.0 * value).collect();
        let targets: Vec<u32> = (0..rows)
            .map(|row| match row % 5 {
                1 => vocabulary as u32,
                3 => u32::MAX,
                _ => (row * 37 % vocabulary) as u32,
            })
            .collect();
        let mut want = vec![f32::NAN; rows];
        cpu::log_probability(&logits, &targets, &mut want);
        let got = log_probability_on_gpu(&gpu, vocabulary, &logits, &targets).await;
        assert_close(&format!("{rows} rows of {vocabulary}"), &got, &want, (1e-5, 1e-6));
    }
}

#[device_test]
async fn the_log_probabilities_of_given_tokens_are_those_of_the_reference() {
    let gpu = gpu().await;
    let tensors = fixture("topk");
    for case in ["topk.0", "topk.1"] {
        let dims = tensors.shape(&format!("{case}.x"));
        let (rows, vocabulary) = (dims[0], dims[1]);
        let targets: Vec<u32> = (0..rows).map(|row| ((row * 61 + 5) % vocabulary) as u32).collect();
        let log_softmax = tensors.f32(&format!("{case}.log_softmax"));
        let want =
            targets.iter().enumerate().map(|(row, &token)| log_softmax[row * vocabulary + token as usize]);
        let got =
            log_probability_on_gpu(&gpu, vocabulary, &tensors.f32(&format!("{case}.x")), &targets).await;
        assert_close(case, &got, &want.collect::<Vec<_>>(), (1e-5, 0.0));
    }
}

#[device_test]
async fn the_answer_about_terms_agrees() {
    let gpu = gpu().await;
    let rules = ScoreRules { space: ScoreSpace::LogProbabilities, renormalize: true };
    for (sentences, beams, heads, source, wanted, vocabulary) in
        [(1, 1, 1, 0, 1, 5), (3, 4, 8, 9, 16, 1003), (2, 3, 2, 8, 7, 64), (1, 16, 4, 33, 64, 8000)]
    {
        let rows = sentences * beams;
        let shape = TopKShape { rows, vocabulary, candidates: 3, rules };
        let terms = TermScoresShape { wanted, source, heads, beams };
        let width = terms.width(shape.candidates);
        let logits = random(11, rows * vocabulary);
        let weights = random(12, rows * heads * source);
        let asked: Vec<u32> = (0..rows * wanted)
            .map(|place| if place % 5 == 4 { NO_TOKEN } else { (place * 37 % vocabulary) as u32 })
            .collect();
        let mut scores = logits.clone();
        let mut top = vec![0; rows * 2 * shape.candidates];
        cpu::log_softmax_top_k(&shape, &mut scores, &[], &mut top);
        let mut want = vec![0; rows * width];
        cpu::term_scores((&shape, &terms), &scores, (&top, &asked), &weights, &mut want);
        for class in CLASSES {
            let logits = upload(&gpu, &pad(&logits, vocabulary, 1e6));
            let weights = match source {
                0 => untouched(&gpu, 4),
                _ => upload(&gpu, &pad(&weights, source, 1e6)),
            };
            let [chunks, nothing] = [shape.chunk_elements(), 4].map(|elements| untouched(&gpu, elements));
            let [best, answer] = [2 * shape.candidates, width].map(|width| untouched(&gpu, rows * width));
            let asked = upload_u32(&gpu, &asked);
            let buffers = ScoreBuffers { logits: &logits, chunks: &chunks, nothing: &nothing };
            let mut launches = shape.chunk_launches(&Edits::None, buffers, class);
            launches.extend(shape.best_launches(&Edits::None, buffers, &best, class));
            let bound = vec![&logits, &chunks, &best, &asked, &weights, &answer];
            launches.push((term_scores::dispatch(&shape, &terms, class), bound));
            run(&gpu, &launches);
            let got: Vec<u32> = read(&gpu, &answer).await;
            for (got, want) in got.chunks_exact(width).zip(want.chunks_exact(width)) {
                let tokens = shape.candidates..2 * shape.candidates;
                assert_eq!(got[tokens.clone()], want[tokens.clone()], "{terms:?}, {class:?}");
                let values = |words: &[u32]| -> Vec<f32> {
                    let places = (0..width).filter(|place| !tokens.contains(place));
                    places.map(|place| f32::from_bits(words[place]).max(-1e30)).collect()
                };
                assert_close(&format!("{terms:?}, {class:?}"), &values(got), &values(want), (1e-5, 1e-6));
            }
        }
    }
}
