//! Firefox's students: searches over shortlists against a reference in float64, whole passes against steps, batches
//! against single sentences, the device's search against the host's, and the absent kind of attention.

use crate::common::{Tensors, assert_close, data, device_test, devices, gpu_as, model, read};
use serde_json::Value;
use wordloom::Device;
use wordloom::decode::{Columns, DecodeOptions, Hypothesis, Sampling};
use wordloom::kernels::AdapterClass;
use wordloom::model::generation_config::{GenerationConfig, JsonObject, UnknownKeys};
use wordloom::precision::{PrecisionChoice, WeightPrecision};
use wordloom::trace::AttentionKind;
use wordloom::transformer::{
    Cancel, ForwardInput, GenerateOptions, GenerateRequest, Keep, KeepAttention, ScoreRequest, Transformer,
    resolve,
};

const NAME: &str = "models/firefox";
const TOLERANCE: (f32, f32) = (1e-4, 1e-4);

fn load(device: &Device) -> Transformer {
    Transformer::load(device, &model(&data(NAME)), &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

async fn all_devices() -> Vec<Device> {
    let mut devices = devices().await;
    devices.push(gpu_as(AdapterClass::Hardware).await);
    devices
}

async fn generate(transformer: &Transformer, requests: &[GenerateRequest]) -> Vec<Vec<Hypothesis>> {
    let found = transformer.generate(requests, GenerateOptions::default()).await;
    found.unwrap_or_else(|error| panic!("{error}")).into_iter().map(|found| found.hypotheses).collect()
}

/// The four sources of the reference, without padding.
fn sources() -> Vec<Vec<u32>> {
    let tensors = Tensors::open(&data(NAME).join("expected.safetensors"));
    let (ids, mask) = (tensors.u32("main.input_ids"), tensors.u32("main.attention_mask"));
    let length = tensors.shape("main.input_ids")[1];
    let real = |(ids, mask): (&[u32], &[u32])| -> Vec<u32> {
        ids.iter().zip(mask).filter(|(_, seen)| **seen == 1).map(|(id, _)| *id).collect()
    };
    ids.chunks(length).zip(mask.chunks(length)).map(real).collect()
}

/// The reference's searches over lists of columns.
fn shortlist_cases(transformer: &Transformer) -> Vec<(String, Vec<GenerateRequest>, Value)> {
    let expected: Value = serde_json::from_slice(&read(&data(NAME).join("expected.json"))).expect("JSON");
    let cases = expected["shortlists"].as_array().expect("cases").iter();
    cases
        .map(|case| {
            let kwargs =
                JsonObject::parse("case", case["generate_kwargs"].to_string().as_bytes()).expect("an object");
            let kwargs = GenerationConfig::from_json(&kwargs, UnknownKeys::Reject).expect("options");
            let columns: Vec<Vec<u32>> = serde_json::from_value(case["columns"].clone()).expect("columns");
            let requests = sources().into_iter().zip(columns).map(|(input_ids, columns)| {
                let defaults = transformer.generation_config();
                let options = resolve(&kwargs, defaults, transformer.config(), &input_ids).expect("options");
                GenerateRequest {
                    input_ids,
                    options: DecodeOptions { columns: Columns::Only(columns.into()), ..options },
                    global_tokens: Vec::new(),
                }
            });
            (case["name"].to_string(), requests.collect(), case.clone())
        })
        .collect()
}

#[device_test]
async fn searches_over_shortlists_equal_the_reference() {
    for device in all_devices().await {
        let transformer = load(&device);
        for (name, requests, case) in shortlist_cases(&transformer) {
            let found = generate(&transformer, &requests).await;
            let mut alone = Vec::new();
            for request in &requests {
                alone.extend(generate(&transformer, std::slice::from_ref(request)).await);
            }
            let sequences: Vec<Vec<u32>> = serde_json::from_value(case["sequences"].clone()).expect("ids");
            let key = if case["sequences_scores"].is_array() { "sequences_scores" } else { "sum_logprob" };
            let scores: Vec<f32> = serde_json::from_value(case[key].clone()).expect("scores");
            for found in [&found, &alone] {
                let found: Vec<&Hypothesis> = found.iter().flatten().collect();
                assert_eq!(found.len(), sequences.len(), "{name} on {device}");
                for ((found, sequence), &score) in found.iter().zip(&sequences).zip(&scores) {
                    assert_eq!(found.tokens, *sequence, "{name} on {device}");
                    assert_close(&format!("{name} on {device}"), &[found.score], &[score], TOLERANCE);
                }
            }
        }
    }
}

/// A list of all tokens is no list.
#[device_test]
async fn a_complete_shortlist_changes_nothing() {
    for device in all_devices().await {
        let transformer = load(&device);
        for (name, requests, _) in shortlist_cases(&transformer) {
            let vocabulary = transformer.config().target_vocabulary as u32;
            let with = |columns: Columns| -> Vec<GenerateRequest> {
                let mut requests = requests.clone();
                requests.iter_mut().for_each(|request| request.options.columns = columns.clone());
                requests
            };
            let all = generate(&transformer, &with(Columns::All)).await;
            let listed = generate(&transformer, &with(Columns::Only((0..vocabulary).collect()))).await;
            for (all, listed) in all.iter().flatten().zip(listed.iter().flatten()) {
                assert_eq!(all.tokens, listed.tokens, "{name} on {device}");
                assert_close(&format!("{name} on {device}"), &[listed.score], &[all.score], TOLERANCE);
            }
        }
    }
}

/// More sentences than rows, with lists of many lengths and without, greedy and with beams; each is what it is alone.
#[device_test]
async fn rows_are_taken_over_with_their_columns() {
    let host = load(&Device::Cpu);
    let vocabulary = host.config().target_vocabulary as u32;
    for num_beams in [1, 4] {
        let request = |index: u32| {
            let columns: Vec<u32> =
                (0..vocabulary).filter(|id| *id < 2 || (id + index).is_multiple_of(3 + index % 4)).collect();
            GenerateRequest {
                input_ids: (0..9 + index % 7).map(|token| (index * 31 + token * 17) % vocabulary).collect(),
                options: DecodeOptions {
                    num_beams,
                    max_length: 16,
                    min_length: 3,
                    bad_words: vec![vec![1], vec![5, 6]],
                    no_repeat_ngram_size: 3,
                    columns: if index % 4 == 3 { Columns::All } else { Columns::Only(columns.into()) },
                    ..DecodeOptions::new(0, 0, 0)
                },
                global_tokens: Vec::new(),
            }
        };
        let requests: Vec<GenerateRequest> =
            (0..if num_beams == 1 { 150 } else { 40 }).map(request).collect();
        let mut alone = Vec::new();
        for request in &requests {
            alone.extend(generate(&host, std::slice::from_ref(request)).await);
        }
        for device in all_devices().await {
            let together = generate(&load(&device), &requests).await;
            for (index, (together, alone)) in together.iter().zip(&alone).enumerate() {
                let place = format!("request {index} with {num_beams} beams on {device}");
                assert_eq!(together[0].tokens, alone[0].tokens, "{place}");
                assert_close(&place, &[together[0].score], &[alone[0].score], TOLERANCE);
                if let Columns::Only(columns) = &requests[index].options.columns {
                    assert!(together[0].tokens.iter().all(|token| columns.contains(token)), "{place}");
                }
            }
        }
    }
}

#[device_test]
async fn samples_are_of_the_list() {
    let columns: Vec<u32> = (0..40).map(|id| 5 * id).collect();
    for device in all_devices().await {
        let transformer = load(&device);
        for top_k in [0, 10] {
            let options = DecodeOptions {
                sampling: Some(Sampling { top_k, temperature: 5.0, ..Sampling::default() }),
                num_return_sequences: 8,
                max_length: 12,
                repetition_penalty: 1.2,
                columns: Columns::Only(columns.clone().into()),
                ..DecodeOptions::new(0, 0, 0)
            };
            let requests =
                sources().into_iter().map(|input_ids| GenerateRequest::new(input_ids, options.clone()));
            let found = generate(&transformer, &requests.collect::<Vec<_>>()).await;
            let tokens: Vec<u32> = found.iter().flatten().flat_map(|one| one.tokens.clone()).collect();
            assert!(
                tokens.iter().all(|token| columns.contains(token)),
                "top_k {top_k} on {device}: {tokens:?}"
            );
            assert!(tokens.iter().collect::<std::collections::BTreeSet<_>>().len() > 10, "{tokens:?}");
        }
    }
}

#[device_test]
async fn wrong_columns_are_refused() {
    let transformer = load(&Device::Cpu);
    for (columns, part) in [
        (vec![], "at least one"),
        (vec![3, 3], "ascending"),
        (vec![4, 2], "ascending"),
        (vec![0, 200], "200"),
    ] {
        let options = DecodeOptions { columns: Columns::Only(columns.into()), ..DecodeOptions::new(0, 0, 0) };
        let request = GenerateRequest::new(vec![5, 0], options);
        let error = transformer.check_request(&request).expect_err("wrong").to_string();
        assert!(error.contains("columns") && error.contains(part), "{error}");
    }
}

/// Steps over the cache, prompts of several tokens, and a whole pass give a target the same probability.
#[device_test]
async fn steps_prompts_and_whole_passes_agree() {
    for device in all_devices().await {
        let transformer = load(&device);
        for num_beams in [1, 3] {
            let plain = DecodeOptions { num_beams, max_length: 14, ..DecodeOptions::new(0, 0, 0) };
            let requests: Vec<GenerateRequest> = sources()
                .into_iter()
                .map(|input_ids| GenerateRequest::new(input_ids, plain.clone()))
                .collect();
            let found = generate(&transformer, &requests).await;
            let scored: Vec<ScoreRequest> = requests
                .iter()
                .zip(&found)
                .map(|(request, found)| ScoreRequest {
                    input_ids: request.input_ids.clone(),
                    context_ids: vec![0],
                    target_ids: found[0].tokens[1..].to_vec(),
                    global_tokens: Vec::new(),
                })
                .collect();
            let scores = transformer.score(&scored, &Cancel::default(), &mut |_| {}).await.expect("scores");
            for (found, score) in found.iter().zip(&scores) {
                let place = format!("{num_beams} beams on {device}");
                assert_close(&place, &found[0].step_logprobs, &score.token_log_probabilities, TOLERANCE);
            }
            // prompts of different lengths in one batch
            let continued: Vec<GenerateRequest> = requests
                .iter()
                .zip(&found)
                .enumerate()
                .map(|(index, (request, found))| {
                    let prompt = found[0].tokens[..1 + 2 * index].to_vec();
                    GenerateRequest {
                        input_ids: request.input_ids.clone(),
                        options: DecodeOptions { prompt, num_beams: 1, ..plain.clone() },
                        global_tokens: Vec::new(),
                    }
                })
                .collect();
            if num_beams == 1 {
                let again = generate(&transformer, &continued).await;
                for (again, found) in again.iter().zip(&found) {
                    assert_eq!(again[0].tokens, found[0].tokens, "a prompt on {device}");
                }
            }
        }
    }
}

/// The decoder has no self-attention: nothing is kept of it, asking for it is a typed error, the rest is there.
#[device_test]
async fn the_decoder_has_no_maps_of_its_own() {
    for device in devices().await {
        let transformer = load(&device);
        let options = DecodeOptions { num_beams: 2, max_length: 9, ..DecodeOptions::new(0, 0, 0) };
        let request = GenerateRequest::new(sources().remove(0), options);
        let keep = Keep { attention: Some(KeepAttention::default()), tree: true };
        let found = transformer
            .generate(std::slice::from_ref(&request), GenerateOptions::default().keep(keep))
            .await
            .expect("generates")
            .remove(0);
        assert!(found.tree.is_some());
        let tokens = found.hypotheses[0].tokens.clone();
        let kept = found.attention.expect("kept");
        assert_eq!((kept.shape(AttentionKind::Decoder), kept.left_out().len()), (None, 0));
        let input = ForwardInput {
            batch: 1,
            source_length: request.input_ids.len(),
            target_length: tokens.len() - 1,
            attention_mask: vec![1; request.input_ids.len()],
            input_ids: request.input_ids,
            decoder_input_ids: tokens[..tokens.len() - 1].to_vec(),
            ..ForwardInput::default()
        };
        let whole = transformer.forward(&input).await.expect("runs");
        assert!(whole.decoder_attentions.is_empty());
        assert_eq!((whole.encoder_attentions.len(), whole.cross_attentions.len()), (2, 2));
        for (kind, tensors) in [
            (AttentionKind::Encoder, &whole.encoder_attentions),
            (AttentionKind::Cross, &whole.cross_attentions),
        ] {
            for (layer, tensor) in tensors.iter().enumerate() {
                let got = kept.read_layer(kind, layer).await.expect("reads").expect("kept");
                assert_close(&format!("{kind} {layer} on {device}"), &got.weights, &tensor.data, TOLERANCE);
            }
        }
    }
}

/// A head of the decoder cannot be muted; others can.
#[device_test]
async fn heads_that_exist_can_be_muted() {
    let source = model(&data(NAME));
    let mut transformer = load(&Device::Cpu);
    let head = |name: &str| name.parse().expect("a head");
    let error = transformer.mute(&source, &[head("decoder.0.0")]).expect_err("there is none").to_string();
    assert!(error.contains("no such attention"), "{error}");
    transformer.mute(&source, &[head("cross.1.3"), head("encoder.0.1")]).expect("exist");
}

/// In 8 bits, a GPU computes with the rounded weights.
#[device_test]
async fn eight_bits_on_a_gpu_are_the_rounded_weights() {
    // layers are stored transposed: an output, which has a scale, is a column
    let host = crate::common::edited("firefox", |tensor, shape, values| {
        let &[rows, width] = shape else { return };
        let mut round = |first: usize, count: usize, step: usize| {
            let mut one: Vec<f32> = values.iter().skip(first).step_by(step).take(count).copied().collect();
            WeightPrecision::Q8.round_row(&mut one);
            values
                .iter_mut()
                .skip(first)
                .step_by(step)
                .take(count)
                .zip(one)
                .for_each(|(value, one)| *value = one);
        };
        match tensor {
            "Wemb" => (0..rows).for_each(|row| round(row * width, width, 1)),
            _ if rows > 1 => (0..width).for_each(|column| round(column, rows, width)),
            _ => {}
        }
    });
    let host = Transformer::load(&Device::Cpu, &host, &mut |_| {}).expect("loads");
    let source = model(&data(NAME));
    for device in all_devices().await.into_iter().skip(1) {
        let choice = PrecisionChoice::Is(WeightPrecision::Q8);
        let transformer =
            Transformer::load_with_weights(&device, &source, choice, &mut |_| {}).expect("loads");
        for (name, requests, _) in shortlist_cases(&transformer) {
            let (got, want) = (generate(&transformer, &requests).await, generate(&host, &requests).await);
            for (got, want) in got.iter().flatten().zip(want.iter().flatten()) {
                assert_eq!(got.tokens, want.tokens, "{name} on {device}");
            }
        }
    }
}
