//! `wordloom generate`

use std::fs;

use serde_json::{Value, json};

use super::common::{Tensors, assert_close, data};
use super::{Run, model, run, scratch, text};

fn generate(name: &str, input: &str) -> Run {
    run(&["generate", "--device", "cpu", "--model", &model(name)], input)
}

fn answers(run: &Run) -> Vec<Value> {
    run.succeeds().lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn ids(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).expect("ids")
}

/// All stored searches of a model as one input: greedy and beam search with all stored options of Hugging Face's
/// `generate`, mixed in one batch.
#[test]
fn every_stored_search_is_found_in_order() {
    for name in ["marian_tied", "vanilla_preln", "m2m_100", "t5_gated_untied_bf16", "gpt2"] {
        let folder = data("models").join(name);
        let expected: Value =
            serde_json::from_str(&fs::read_to_string(folder.join("expected.json")).unwrap()).unwrap();
        let tensors = Tensors::open(&folder.join("expected.safetensors"));
        let mut requests = String::new();
        let mut wanted = Vec::new();
        for case in expected["cases"].as_array().unwrap() {
            let input = case["input"].as_str().unwrap();
            let length = tensors.shape(&format!("{input}.input_ids"))[1];
            let (ids, mask) =
                (tensors.u32(&format!("{input}.input_ids")), tensors.u32(&format!("{input}.attention_mask")));
            let sequences = case["sequences"].as_array().unwrap();
            let per_sentence = sequences.len() / (ids.len() / length);
            for (sentence, (ids, mask)) in ids.chunks(length).zip(mask.chunks(length)).enumerate() {
                let mut request = case["generate_kwargs"].clone();
                request["input_ids"] = ids.into();
                request["attention_mask"] = mask.into();
                requests += &format!("{request}\n");
                // GPT-2's batches are padded on the left, and its sequences begin with the padding
                let padding = mask.iter().take_while(|&&seen| seen == 0).count();
                wanted.push((case, sentence * per_sentence..(sentence + 1) * per_sentence, padding));
            }
        }
        let answers = answers(&generate(name, &requests));
        assert_eq!(answers.len(), wanted.len());
        for (answer, (case, range, padding)) in answers.iter().zip(wanted) {
            let got = answer["sequences"].as_array().unwrap();
            assert_eq!(got.len(), range.len(), "{name}, {}", case["name"]);
            for (rank, index) in range.enumerate() {
                let (got, padded) = (ids(&got[rank]), ids(&case["sequences"][index]).split_off(padding));
                assert!(
                    got.len() <= padded.len() && got == padded[..got.len()],
                    "{name}, {}: {got:?}",
                    case["name"]
                );
                if let Some(score) = case["sequences_scores"][index].as_f64() {
                    let got = answer["sequences_scores"][rank].as_f64().unwrap();
                    assert!(
                        (got - score).abs() < 1e-4,
                        "{name}, {}: score {got}, want {score}",
                        case["name"]
                    );
                }
                if let Some(want) = case["step_logprobs"][index].as_array() {
                    let numbers = |values: &[Value]| {
                        values.iter().map(|v| v.as_f64().unwrap() as f32).collect::<Vec<_>>()
                    };
                    let got = numbers(answer["step_logprobs"][rank].as_array().unwrap());
                    assert_close(name, &got, &numbers(want)[..got.len()], (1e-4, 0.0));
                }
            }
        }
    }
}

#[test]
fn lengths_count_as_hugging_face_counts_them() {
    let request = |options: Value| {
        let mut request = json!({ "input_ids": [5, 6, 7, 0], "num_beams": 1 });
        request.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        request.to_string()
    };
    let lines = [
        request(json!({ "max_length": 5, "min_length": 5 })),
        request(json!({ "max_new_tokens": 5, "min_new_tokens": 5 })),
        request(json!({ "max_new_tokens": 3, "min_length": 4, "max_length": 30 })), // max_new_tokens wins
    ];
    let answers = answers(&generate("marian_tied", &lines.join("\n")));
    let lengths: Vec<usize> = answers.iter().map(|answer| ids(&answer["sequences"][0]).len()).collect();
    assert_eq!(lengths, [5, 6, 4], "start token included");
}

/// As in Hugging Face's `generate`; the ids are those of transformers 5.24.
#[test]
fn null_switches_off_what_the_model_s_own_file_sets() {
    let cases: [(&[&str], &[u32]); 7] = [
        (&[], &[2, 0, 234, 234, 128, 299, 2]),
        (&["forced_eos_token_id"], &[2, 0, 234, 234, 299, 299, 234]),
        (&["forced_bos_token_id"], &[2, 234, 128, 234, 299, 289, 2]),
        (&["forced_eos_token_id", "forced_bos_token_id"], &[2, 234, 128, 234, 299, 289, 234]),
        (&["eos_token_id", "forced_eos_token_id"], &[2, 0, 234, 234, 299, 299, 234]),
        (&["no_repeat_ngram_size"], &[2, 0, 234, 234, 128, 299, 2]),
        (&["decoder_start_token_id"], &[0, 0, 2]),
    ];
    let requests = cases.map(|(nulls, _)| {
        let mut request = json!({ "input_ids": [0, 17, 33, 91, 2], "max_new_tokens": 6 });
        for null in nulls {
            request[null] = Value::Null;
        }
        request.to_string()
    });
    let answers = answers(&generate("bart", &requests.join("\n")));
    assert_eq!(answers.len(), cases.len());
    for (answer, (nulls, expected)) in answers.iter().zip(cases) {
        assert_eq!(ids(&answer["sequences"][0]), expected, "{nulls:?}");
    }
}

#[test]
fn padding_behind_a_mask_changes_nothing() {
    let lines = [
        json!({ "input_ids": [5, 6, 7, 0], "max_length": 9 }),
        json!({ "input_ids": [5, 6, 7, 0], "max_length": 9, "attention_mask": [1, 1, 1, 1] }),
        json!({ "input_ids": [5, 6, 7, 0, 8, 644], "max_length": 9, "attention_mask": [1, 1, 1, 1, 0, 0] }),
        json!({ "input_ids": [5, 6, 7, 0], "max_length": 9, "attention_mask": null }),
    ];
    let answers = answers(&generate("marian_tied", &lines.map(|line| line.to_string()).join("\n")));
    assert!(answers.len() == 4 && answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
}

/// Samples on a device from the best few of a row and from whole rows, with edited scores.
#[test]
fn samples_follow_their_seed() {
    let request = |options: Value| {
        let mut request = json!({ "input_ids": [5, 6, 7, 0], "num_beams": 1, "do_sample": true, "max_length": 12,
            "num_return_sequences": 3, "min_length": 12 });
        request.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        request.to_string()
    };
    let lines = [
        request(json!({})),
        request(json!({ "seed": 1 })),
        request(json!({ "top_k": 0 })),
        request(json!({ "top_k": 0, "seed": 1 })),
        request(json!({ "top_k": 0, "temperature": 1e-6, "num_return_sequences": 1 })),
        request(json!({ "top_k": 5, "temperature": 1e-6, "num_return_sequences": 1 })),
        request(json!({ "do_sample": false, "num_return_sequences": 1 })),
    ];
    let answers = answers(&generate("marian_tied", &lines.join("\n")));
    for (line, together) in lines.iter().zip(&answers) {
        let alone: Value = serde_json::from_str(generate("marian_tied", line).succeeds()).unwrap();
        assert_eq!(alone["sequences"], together["sequences"]);
    }
    for answer in &answers[..4] {
        let samples: Vec<Vec<u32>> = answer["sequences"].as_array().unwrap().iter().map(ids).collect();
        assert!(samples.len() == 3 && samples[0] != samples[1] && samples[1] != samples[2], "{samples:?}");
        assert!(
            samples.iter().all(|sample| sample.len() == 12 && !sample[1..11].contains(&0)),
            "{samples:?}"
        );
    }
    assert_ne!(answers[0], answers[1]);
    assert_ne!(answers[2], answers[3]);
    assert_eq!(answers[4]["sequences"], answers[6]["sequences"]);
    assert_eq!(answers[5]["sequences"], answers[6]["sequences"]);
}

/// Beams without any allowed token have the probability 0; minus infinity is `null` in JSON.
#[test]
fn every_answer_is_json() {
    let everything: Vec<[u32; 1]> = (0..645).map(|token| [token]).collect();
    let request = json!({ "input_ids": [5, 0], "num_beams": 2, "num_return_sequences": 2, "max_length": 4,
        "bad_words_ids": everything, "forced_eos_token_id": null });
    let output = generate("marian_tied", &request.to_string());
    let answers = answers(&output);
    assert!(!answers[0]["sequences"].as_array().unwrap().is_empty());
    assert!(!output.stdout().contains("inf") && !output.stdout().contains("NaN"), "{}", output.stdout());
}

#[test]
fn requests_that_cannot_be_are_named_with_their_line() {
    let cases = [
        ("{\"input_ids\": [1, 2", "not a JSON object: it ends in the middle of a value at column 19"),
        ("[1, 2]", "not a JSON object"),
        ("{}", "\"input_ids\" is missing"),
        ("{\"input_ids\": null}", "\"input_ids\" is missing"),
        ("{\"input_ids\": 5}", "\"input_ids\" is 5; expected a list of token ids"),
        ("{\"input_ids\": [1, -2]}", "\"input_ids\" is [1,-2]; expected a list of token ids"),
        ("{\"input_ids\": [1.5]}", "expected a list of token ids"),
        ("{\"input_ids\": [4294967296]}", "expected a list of token ids"),
        ("{\"input_ids\": [[1, 0]]}", "expected a list of token ids"),
        ("{\"input_ids\": []}", "no input ids"),
        ("{\"input_ids\": [645, 0]}", "input id 645 is too large: the source vocabulary has 645 tokens"),
        ("{\"input_ids\": [1, 0], \"num_beams\": 0}", "num_beams is 0; it must be 1 to 16"),
        ("{\"input_ids\": [1, 0], \"num_beams\": 17}", "num_beams is 17"),
        ("{\"input_ids\": [1, 0], \"num_beams\": \"4\"}", "\"num_beams\" is \"4\"; expected a whole number"),
        (
            "{\"input_ids\": [1, 0], \"num_beams\": 2, \"num_return_sequences\": 3}",
            "num_return_sequences is 3",
        ),
        ("{\"input_ids\": [1, 0], \"early_stopping\": \"maybe\"}", "true, false or \"never\""),
        ("{\"input_ids\": [1, 0], \"max_length\": 66}", "max_length is 66; it must be at most 65"),
        ("{\"input_ids\": [1, 0], \"max_new_tokens\": 18446744073709551615}", "max_length is"),
        ("{\"input_ids\": [1, 0], \"max_length\": 1}", "max_length is 1; it must be at least 2"),
        ("{\"input_ids\": [1, 0], \"repetition_penalty\": 0}", "repetition_penalty is 0"),
        ("{\"input_ids\": [1, 0], \"bad_words_ids\": [[9999]]}", "bad_words_ids names token 9999"),
        ("{\"input_ids\": [1, 0], \"forced_bos_token_id\": 9999}", "forced_bos_token_id names token 9999"),
        ("{\"input_ids\": [1, 0], \"do_sample\": true}", "num_beams is 4; it must be 1 with do_sample"),
        (
            "{\"input_ids\": [1, 0], \"num_beams\": 1, \"do_sample\": true, \"temperature\": 0}",
            "temperature is 0; it must be",
        ),
        (
            "{\"input_ids\": [1, 0], \"num_beams\": 1, \"do_sample\": true, \"min_p\": 0.1}",
            "min_p is 0.1; it must be left out",
        ),
        (
            "{\"input_ids\": [1, 0], \"attention_mask\": [1]}",
            "\"attention_mask\" has 1 value for 2 input_ids",
        ),
        ("{\"input_ids\": [1, 0], \"attention_mask\": [1, 2]}", "\"attention_mask\" holds 2; expected 1"),
        ("{\"input_ids\": [1, 0], \"attention_mask\": [0, 0]}", "\"attention_mask\" hides every token"),
        ("{\"input_ids\": [1, 0], \"attention_mask\": [0, 1]}", "no padding, which is at the end only"),
        ("{\"input_ids\": [1, 2, 0], \"attention_mask\": [1, 0, 1]}", "no padding, which is at the end only"),
        ("{\"input_ids\": [1, 0], \"attention_mask\": \"11\"}", "expected a list of token ids"),
        (
            "{\"input_ids\": [1, 0], \"global_attention_mask\": [1]}",
            "\"global_attention_mask\" has 1 value for 2 input_ids",
        ),
        (
            "{\"input_ids\": [1, 0], \"global_attention_mask\": [7, 0]}",
            "\"global_attention_mask\" holds 7; expected 1",
        ),
        ("{\"input_ids\": [1, 0], \"max_new_tokens\": 0}", "max_new_tokens is 0; it must be at least 1"),
        (
            "{\"input_ids\": [1, 0], \"nun_beams\": 2}",
            "the key \"nun_beams\" is unknown; `wordloom generate --help`",
        ),
        (&json!({ "input_ids": vec![1; 65] }).to_string(), "65 input ids, but the model takes 64 at most"),
        (&"[".repeat(100_000), "not a JSON object"),
    ];
    let good = "{\"input_ids\": [5, 6, 0], \"max_length\": 4}";
    let answer = generate("marian_tied", good).stdout().to_owned();
    for (line, part) in cases {
        let output = generate("marian_tied", &format!("{good}\n\n{line}\n{good}\n"));
        assert_eq!(output.fails(1, &["standard input, line 3: ", part]), answer, "{line}");
    }
    generate("marian_tied", "{\"input_ids\": [1, 0], \"\u{1b}[2J\n\": 1}").fails(1, &["line 1"]);
}

/// transformers warns of them, or ignores them.
#[test]
fn options_without_effect_are_refused() {
    let refused = |name: &str, options: &str, parts: &[&str]| {
        let line = format!("{{\"input_ids\": [5, 6, 0], \"num_beams\": 1, {options}}}");
        generate(name, &line).fails(1, &[&["standard input, line 1: "], parts].concat());
    };
    let tied = |options: &str, parts: &[&str]| refused("marian_tied", options, parts);
    tied("\"seed\": 0", &["seed is given; it must be left out, or used with do_sample"]);
    tied("\"temperature\": 0.7", &["temperature is given", "do_sample"]);
    tied("\"top_k\": 5, \"do_sample\": false", &["top_k is given", "do_sample"]);
    tied("\"top_p\": 0.5", &["top_p is given", "do_sample"]);
    tied(
        "\"min_length\": 9, \"max_length\": 8",
        &["min_length is 9; it must be at most max_length, which is 8"],
    );
    tied("\"length_penalty\": 1e30", &["length_penalty is", "for outputs of up to"]);
    refused(
        "gpt2",
        "\"decoder_start_token_id\": 3",
        &["decoder_start_token_id is given; it must be left out"],
    );
    refused("gpt2", "\"forced_bos_token_id\": 3", &["forced_bos_token_id is given; it must be left out"]);
    let padded = "\"attention_mask\": [0, 0, 1], \"max_length\": 2";
    refused("gpt2", padded, &["max_length is 2; it must be at least 2", "2 of padding come on top"]);
    // those that are off pass, as in transformers
    let off =
        "{\"input_ids\": [5, 0], \"max_length\": 4, \"temperature\": 1.0, \"top_k\": 50, \"top_p\": 1.0}";
    generate("marian_tied", off).succeeds();
    let alone = "{\"input_ids\": [5], \"max_length\": 4, \"forced_bos_token_id\": 3}";
    assert_eq!(ids(&answers(&generate("gpt2", alone))[0]["sequences"][0])[..2], [5, 3]);
}

#[test]
fn options_of_the_model_s_own_file_are_checked() {
    let folder = scratch("generate_own_options");
    for file in ["config.json", "model.safetensors"] {
        fs::copy(data("models/marian_tied").join(file), folder.join(file)).unwrap();
    }
    fs::write(folder.join("generation_config.json"), "{\"num_beams\": 99}").unwrap();
    let arguments = ["generate", "--device", "cpu", "--model", text(&folder)];
    run(&arguments, "{\"input_ids\": [1, 0]}").fails(1, &["num_beams is 99"]);
    run(&arguments, "{\"input_ids\": [1, 0], \"num_beams\": 2, \"max_length\": 3}").succeeds();
}

/// Weights of any precision give translations; the error for an unknown precision lists the valid ones.
#[test]
fn weights_are_kept_as_asked_for() {
    for precision in ["auto", "f32", "f16", "q8"] {
        let arguments =
            ["generate", "--device", "cpu", "--weights", precision, "--model", &model("marian_tied")];
        let answers = answers(&run(&arguments, "{\"input_ids\": [5, 17, 0]}\n"));
        assert_eq!(answers.len(), 1, "{precision}");
    }
    let arguments = ["generate", "--weights", "int8", "--model", &model("marian_tied")];
    run(&arguments, "").fails(2, &["--weights", "int8", "`q8`"]);
}

/// A message blames the file or the line that is wrong, and says what to do.
#[test]
fn the_right_place_is_blamed() {
    let bert = ["generate", "--device", "cpu", "--model", &model("bert")];
    run(&bert, "{\"input_ids\": [1, 2]}\n")
        .fails(1, &["bert: a \"bert\" model has no decoder", "`forward` runs it"]);
    let folder = scratch("generate_bad_defaults");
    for entry in std::fs::read_dir(model("marian_tied")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    std::fs::write(folder.join("generation_config.json"), r#"{"forced_bos_token_id": 9999}"#).unwrap();
    let bad = ["generate", "--device", "cpu", "--model", text(&folder)];
    run(&bad, "{\"input_ids\": [1, 0]}\n")
        .fails(1, &["generate_bad_defaults/generation_config.json: forced_bos_token_id names token 9999"]);
    run(&bad, "{\"input_ids\": [1, 0], \"forced_bos_token_id\": 9998}\n")
        .fails(1, &["standard input, line 1: forced_bos_token_id names token 9998"]);
    run(&bad, "{\"input_ids\": [1, 0], \"input_ids\": [1]}\n")
        .fails(1, &["standard input, line 1: the key \"input_ids\" occurs twice"]);
    let long = format!("{{\"input_ids\": [1, 0], \"{}\": 1}}\n", "x".repeat(100_000));
    run(&bad, long).fails(1, &["xxx…\" is unknown", "--help"]);
}
