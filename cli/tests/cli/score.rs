//! `wordloom score`

use std::fs;

use serde_json::{Value, json};

use super::{model, run, scratch, text};

fn lines(output: &str) -> Vec<Value> {
    output.lines().map(|line| serde_json::from_str(line).expect("sound JSON")).collect()
}

#[test]
fn score_reads_json_lines() {
    let stored = fs::read(super::common::data("score.json")).unwrap();
    let stored: Value = serde_json::from_slice(&stored).unwrap();
    for model_name in ["bart", "mbart"] {
        let expected = stored.as_array().unwrap().iter().find(|model| model["model"] == model_name).unwrap();
        let cases = expected["cases"].as_array().unwrap();
        let requests: String = cases
            .iter()
            .map(|case| {
                format!("{{\"input_ids\": {}, \"labels\": {}}}\n\n", case["input_ids"], case["labels"])
            })
            .collect();
        let output = run(&["score", "--model", &model(model_name), "--device", "cpu"], &requests);
        let scores = lines(output.succeeds());
        assert_eq!(scores.len(), cases.len());
        for (score, case) in scores.iter().zip(cases) {
            let loss = case["loss"].as_f64().unwrap();
            assert!((score["perplexity"].as_f64().unwrap().ln() - loss).abs() < 1e-4, "{score}: {case}");
            let count = case["labels"].as_array().unwrap().len();
            assert_eq!(score["token_log_probabilities"].as_array().unwrap().len(), count);
        }
    }
}

#[test]
fn labels_may_be_filled_up_and_a_decoder_needs_none() {
    let bart = ["score", "--model", &model("bart"), "--device", "cpu"];
    let output = run(
        &bart,
        r#"{"input_ids": [5, 6, 2], "labels": [7, 2, -100, -100]}
{"input_ids": [5, 6, 2], "target_ids": [7, 2], "decoder_start_token_id": 2}
"#,
    );
    let scores = lines(output.succeeds());
    assert_eq!(scores[0], scores[1]);
    let gpt2 = ["score", "--model", &model("gpt2"), "--device", "cpu"];
    let output = run(&gpt2, "{\"input_ids\": [5, 6, 7]}\n{\"input_ids\": [5], \"labels\": [6, 7]}\n");
    let scores = lines(output.succeeds());
    assert_eq!(scores[0], scores[1]);
}

/// LED: no token is global unless a request says so, as in transformers; `generate` and `score` agree.
#[test]
fn a_score_is_that_of_the_search() {
    let led = ["--model", &model("led"), "--device", "cpu"];
    let ids: Vec<u32> = (0..30).map(|token| 5 + 7 * token % 300).collect();
    let mut first = vec![0; ids.len()];
    first[0] = 1;
    let mut sums = Vec::new();
    for mask in [json!(null), json!(first)] {
        let plain = json!({ "input_ids": ids, "global_attention_mask": mask });
        let mut request = plain.clone();
        request["num_beams"] = 1.into();
        request["no_repeat_ngram_size"] = json!(null);
        let found = lines(run(&[&["generate"], &led[..]].concat(), request.to_string()).succeeds());
        let (tokens, steps) = (&found[0]["sequences"][0], &found[0]["step_logprobs"][0]);
        let mut request = plain;
        request["labels"] = tokens.as_array().unwrap()[1..].into();
        let scored = lines(run(&[&["score"], &led[..]].concat(), request.to_string()).succeeds());
        let sum: f64 = steps.as_array().unwrap().iter().map(|step| step.as_f64().unwrap()).sum();
        let score = scored[0]["log_probability"].as_f64().unwrap();
        assert!((score - sum).abs() < 1e-4, "{score}, not {sum}");
        sums.push(score);
    }
    assert!((sums[0] - sums[1]).abs() > 1e-2, "the masks make a difference: {sums:?}");
    let wrong = r#"{"input_ids": [5, 6], "labels": [7], "global_attention_mask": [1]}"#;
    run(&[&["score"], &led[..]].concat(), wrong)
        .fails(1, &["line 1: \"global_attention_mask\" has 1 value for 2"]);
    let bart = ["score", "--model", &model("bart"), "--device", "cpu"];
    let global = r#"{"input_ids": [5, 6], "labels": [7], "global_attention_mask": [1, 0]}"#;
    run(&bart, global).fails(1, &["line 1", "global"]);
}

#[cfg(feature = "embedded-model")]
#[test]
fn translations_are_more_probable_than_other_text() {
    let folder = scratch("score");
    let (source, target) = (folder.join("source.txt"), folder.join("target.txt"));
    fs::write(&source, "Where is the train station?\nWhere is the train station?\n").unwrap();
    fs::write(&target, "Wo ist der Bahnhof?\r\nIch habe meinen Pass verloren.\n").unwrap();
    let output = run(&["score", "--source", text(&source), "--target", text(&target), "--device", "cpu"], "");
    let scores = lines(output.succeeds());
    let [good, bad, total] = &scores[..] else { panic!("two pairs and the total: {scores:?}") };
    let number = |value: &Value, key: &str| value[key].as_f64().unwrap();
    assert!(number(good, "perplexity") < 3.0 && number(bad, "perplexity") > 50.0, "{scores:?}");
    let sum = number(good, "log_probability") + number(bad, "log_probability");
    assert!((number(total, "log_probability") - sum).abs() < 1e-9);
    let tokens = |value: &Value| value["token_log_probabilities"].as_array().unwrap().len() as u64;
    assert_eq!(total["tokens"], tokens(good) + tokens(bad));
    assert_eq!(total["pairs"], 2);
}

#[test]
fn score_says_what_is_wrong() {
    let bart = ["score", "--model", &model("bart"), "--device", "cpu"];
    let cases: [(&str, &[&str]); 10] = [
        ("[1]", &["standard input, line 1", "object"]),
        ("{\"labels\": [1]}", &["line 1", "input_ids"]),
        ("{\"input_ids\": [5]}", &["line 1", "the key \"labels\" is missing"]),
        ("{\"input_ids\": [5], \"labels\": [-100]}", &["line 1", "labels has no token to score"]),
        ("{\"input_ids\": [5], \"labels\": null}", &["line 1", "the key \"labels\" is missing"]),
        ("{\"input_ids\": [5], \"labels\": [3], \"target_ids\": [3]}", &["line 1", "give one"]),
        ("{\"input_ids\": [5], \"labels\": [], \"target_ids\": [3]}", &["line 1", "labels has no token"]),
        ("{\"input_ids\": [5], \"labels\": [-100, 3]}", &["line 1", "labels has -100"]),
        ("{\"input_ids\": [5], \"labels\": [3], \"beams\": 1}", &["line 1", "\"beams\" is not known"]),
        ("{\"input_ids\": [5], \"labels\": [99999]}", &["line 1", "id 99999 is too large"]),
    ];
    for (request, parts) in cases {
        assert_eq!(run(&bart, request).fails(1, parts), "");
    }
    // labels that are all padding are not the same as none
    let gpt2 = ["score", "--model", &model("gpt2"), "--device", "cpu"];
    run(&gpt2, "{\"input_ids\": [5, 6], \"labels\": [-100]}").fails(1, &["labels has no token to score"]);
    let start = "{\"input_ids\": [5, 6], \"decoder_start_token_id\": 3}";
    run(&gpt2, start).fails(1, &["line 1: decoder_start_token_id is for models with an encoder"]);
    let folder = scratch("score-errors");
    let (one, two) = (folder.join("one.txt"), folder.join("two.txt"));
    fs::write(&one, "a\n").unwrap();
    fs::write(&two, "a\nb\n").unwrap();
    let (one, two, tied) = (text(&one), text(&two), model("marian_tied"));
    let marian = ["score", "--model", &tied, "--device", "cpu"];
    let parts: &[&str] = &["one.txt has 1 line,", "two.txt has 2"];
    run(&[&marian[..], &["--source", one, "--target", two]].concat(), "").fails(1, parts);
    run(&[&marian[..], &["--target", one]].concat(), "").fails(2, &["--source"]);
    run(&[&marian[..], &["--source", one]].concat(), "").fails(2, &["--target"]);
    let language = ["--source", one, "--target", one, "--target-lang", "xx"];
    run(&[&marian[..], &language].concat(), "").fails(2, &["this model has no language \"xx\""]);
    let long = folder.join("long.txt");
    fs::write(&long, "a b ".repeat(1000) + "\n").unwrap();
    let source = ["--source", text(&long), "--target", one];
    run(&[&marian[..], &source].concat(), "").fails(1, &["long.txt, line 1: input_ids has ", "split it"]);
    let target = ["--source", one, "--target", text(&long)];
    run(&[&marian[..], &target].concat(), "").fails(1, &["long.txt, line 1: the target has ", "split it"]);
    run(&[&marian[..], &["--target", one, "--stride", "0"]].concat(), "").fails(2, &["--stride"]);
    let windows = ["--source", one, "--target", one, "--stride", "3"];
    run(&[&marian[..], &windows].concat(), "").fails(2, &["--stride", "--source"]);
}
