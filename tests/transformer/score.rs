//! Log-probabilities of given targets against Hugging Face's models, on the CPU and on the GPU.

use crate::common::{assert_close, data, devices, model, read};
use serde_json::Value;
use wordloom::decode::DecodeOptions;
use wordloom::model::generation_config::GenerationConfig;
use wordloom::transformer::{
    Cancel, GenerateOptions, GenerateRequest, ScoreError, ScoreRequest, Transformer,
};
use wordloom::{Device, Model};

const TOLERANCE: (f32, f32) = (1e-4, 0.0);

fn json(path: &str) -> Value {
    serde_json::from_slice(&read(&data(path))).expect("sound JSON")
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().expect("a list").iter().map(|id| id.as_u64().expect("an id") as u32).collect()
}

fn numbers(value: &Value) -> Vec<f32> {
    value.as_array().expect("a list").iter().map(|number| number.as_f64().expect("a number") as f32).collect()
}

fn load(device: &Device, name: &str) -> Transformer {
    let model = model(&data("models").join(name));
    Transformer::load(device, &model, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

async fn score(transformer: &Transformer, requests: &[ScoreRequest]) -> Vec<wordloom::transformer::Score> {
    transformer.score(requests, &Cancel::default(), &mut |_| {}).await.expect("scores")
}

/// The cases of a model run as one batch, so all except the longest are padded.
#[pollster::test]
async fn labels_have_hugging_face_s_log_probabilities() {
    let expected = json("score.json");
    for device in devices().await {
        for model in expected.as_array().expect("models") {
            let name = model["model"].as_str().expect("a name");
            let transformer = load(&device, name);
            let cases = model["cases"].as_array().expect("cases");
            let mut groups: Vec<Vec<ScoreRequest>> = Vec::new();
            for case in cases {
                groups.push(match case["stride"].as_u64() {
                    Some(stride) => transformer.score_windows(&ids(&case["input_ids"]), stride as usize),
                    None => {
                        let options = GenerationConfig::default();
                        let (source, labels) = (ids(&case["input_ids"]), ids(&case["labels"]));
                        vec![transformer.score_request(source, labels, &options).expect("fits the model")]
                    }
                });
            }
            let scores = score(&transformer, &groups.concat()).await;
            let mut rest = scores.as_slice();
            for (case, group) in cases.iter().zip(&groups) {
                let (here, after) = rest.split_at(group.len());
                rest = after;
                let values: Vec<f32> =
                    here.iter().flat_map(|score| score.token_log_probabilities.clone()).collect();
                assert_close(name, &values, &numbers(&case["token_log_probabilities"]), TOLERANCE);
                if let Some(loss) = case["loss"].as_f64() {
                    assert!((here[0].perplexity().ln() - loss).abs() < 1e-4, "{name}: loss {loss}");
                }
            }
        }
    }
}

/// The log-probabilities of greedy search equal those of the same sequences as given targets.
#[pollster::test]
async fn greedy_outputs_have_the_log_probabilities_of_their_steps() {
    for device in devices().await {
        for name in
            ["marian_tied", "bart", "m2m_100", "pegasus", "t5_relu_tied", "vanilla_postln", "vanilla_preln"]
        {
            let transformer = load(&device, name);
            let expected = json(&format!("models/{name}/expected.json"));
            let tensors =
                crate::common::Tensors::open(&data("models").join(name).join("expected.safetensors"));
            let case =
                expected["cases"].as_array().expect("cases").iter().find(|case| case["name"] == "greedy");
            let case = case.expect("a greedy search");
            let input = case["input"].as_str().expect("a name");
            let [sources, mask] =
                ["input_ids", "attention_mask"].map(|tensor| tensors.u32(&format!("{input}.{tensor}")));
            let length = tensors.shape(&format!("{input}.input_ids"))[1];
            let end = transformer.config().tokens.eos;
            for (row, sequence) in case["sequences"].as_array().expect("sequences").iter().enumerate() {
                let here = row * length..(row + 1) * length;
                let source: Vec<u32> =
                    here.clone().filter(|&at| mask[at] == 1).map(|at| sources[at]).collect();
                let sequence = ids(sequence);
                let steps = sequence[1..]
                    .iter()
                    .position(|&id| Some(id) == end)
                    .map_or(sequence.len() - 1, |at| at + 1);
                let request = ScoreRequest {
                    input_ids: source,
                    context_ids: sequence[..1].to_vec(),
                    target_ids: sequence[1..=steps].to_vec(),
                    global_tokens: Vec::new(),
                };
                let score = &score(&transformer, &[request]).await[0];
                match case["step_logprobs_raw"][row].as_array() {
                    Some(_) => {
                        let expected = numbers(&case["step_logprobs_raw"][row]);
                        assert_close(name, &score.token_log_probabilities, &expected[..steps], TOLERANCE);
                    }
                    None => {
                        let sum = case["sum_logprob"][row].as_f64().expect("a sum");
                        assert!((score.log_probability() - sum).abs() < 1e-4 * steps as f64, "{name}: {sum}");
                    }
                }
            }
        }
    }
}

/// LED: a request's global tokens are those that it names, in a search and in a score.
#[pollster::test]
async fn global_tokens_are_those_of_the_search() {
    for device in devices().await {
        let transformer = load(&device, "led");
        let input_ids: Vec<u32> = (0..30).map(|token| 5 + 7 * token % 300).collect();
        let options = DecodeOptions { max_length: 9, ..DecodeOptions::new(2, 2, 1) };
        let mut sums = Vec::new();
        for global_tokens in [vec![], vec![0], vec![0, 17]] {
            let request =
                GenerateRequest { input_ids: input_ids.clone(), options: options.clone(), global_tokens };
            let requests = std::slice::from_ref(&request);
            let found = transformer.generate(requests, GenerateOptions::default()).await.expect("a search");
            let best = &found[0].hypotheses[0];
            let scored = transformer
                .score_request(input_ids.clone(), best.tokens[1..].to_vec(), &GenerationConfig::default())
                .expect("fits the model");
            assert!(scored.global_tokens.is_empty(), "as in transformers");
            let scored = ScoreRequest { global_tokens: request.global_tokens, ..scored };
            let found = &score(&transformer, &[scored]).await[0];
            assert_close("led", &found.token_log_probabilities, &best.step_logprobs, TOLERANCE);
            sums.push(found.log_probability());
        }
        assert!(sums[0] != sums[1] && sums[1] != sums[2], "{sums:?}");
        let beyond = ScoreRequest {
            input_ids: vec![5, 6],
            context_ids: vec![2],
            target_ids: vec![7],
            global_tokens: vec![2],
        };
        let error = transformer.check_score_request(&beyond).unwrap_err().to_string();
        assert!(error.contains("global token 2 is beyond the text of 2 tokens"), "{error}");
    }
}

#[pollster::test]
async fn what_cannot_be_scored_is_an_error() {
    let [bart, gpt2, bert] = ["bart", "gpt2", "bert"].map(|name| load(&Device::Cpu, name));
    let request = |transformer: &Transformer, input: &[u32], target: &[u32]| {
        transformer.score_request(input.to_vec(), target.to_vec(), &GenerationConfig::default()).unwrap_err()
    };
    let is = |error: ScoreError, part: &str| assert!(error.to_string().contains(part), "{error}");
    is(request(&bart, &[], &[3]), "input_ids is empty");
    is(request(&bart, &[3], &[]), "target_ids is empty");
    is(request(&bart, &[3], &[9999]), "target_ids: id 9999 is too large");
    is(request(&bart, &[3], &[3; 99]), "positions; split it");
    is(request(&gpt2, &[3], &[]), "target_ids is empty");
    is(request(&gpt2, &[3; 40], &[3; 30]), "positions; split it");
    is(request(&bert, &[3], &[3]), "has no decoder");
    let cancel = Cancel::default();
    cancel.cancel();
    let fine = gpt2.score_request(vec![3, 4], Vec::new(), &GenerationConfig::default()).expect("fits");
    assert!(matches!(gpt2.score(&[fine], &cancel, &mut |_| {}).await, Err(ScoreError::Cancelled)));
}

#[test]
fn windows_score_every_token_but_the_first_once() {
    let model: Model = model(&data("models/gpt2"));
    let transformer = Transformer::load(&Device::Cpu, &model, &mut |_| {}).expect("loads");
    let size = model.config().positions.count();
    for (length, stride) in
        [(0, 1), (1, 5), (2, 5), (size, 7), (size + 1, 7), (5 * size, 1), (5 * size, size), (300, 9999)]
    {
        let text: Vec<u32> = (0..length as u32).collect();
        let windows = transformer.score_windows(&text, stride);
        let scored: Vec<u32> = windows.iter().flat_map(|window| window.target_ids.clone()).collect();
        assert_eq!(scored, text.get(1..).unwrap_or_default(), "{length} by {stride}");
        for window in &windows {
            let all = [&window.context_ids[..], &window.target_ids].concat();
            assert!(all.len() <= size && !window.context_ids.is_empty() && !window.target_ids.is_empty());
            assert!(all.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{all:?}");
        }
    }
}
