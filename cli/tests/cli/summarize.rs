//! `wordloom summarize`: whole documents, with the ids of transformers' tokenizers and of its `generate`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::common::data;
use super::{Run, run, scratch, text};

fn read(path: PathBuf) -> Value {
    serde_json::from_slice(&fs::read(&path).expect("it is stored")).expect("sound JSON")
}

fn cases() -> Vec<Value> {
    let Value::Array(cases) = read(data("summaries.json"))["cases"].take() else { panic!("a list") };
    cases
}

/// The case's model with a tokenizer of so many tokens; its options stand in `task`, or nowhere.
fn folder(test: &str, case: &Value, task: bool) -> PathBuf {
    let folder = scratch(test);
    let stored = data("models").join(case["model"].as_str().unwrap());
    for file in ["model.safetensors", "generation_config.json"] {
        fs::copy(stored.join(file), folder.join(file)).unwrap();
    }
    let mut config = read(stored.join("config.json"));
    if task {
        let mut summarization = case["options"].clone();
        summarization["prefix"] = case["prefix"].clone();
        config["task_specific_params"] = json!({ "summarization": summarization });
    }
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let name = format!("tokenizers/{}.tokenizer.json", case["tokenizer"].as_str().unwrap());
    let mut words = read(data(&name));
    let vocabulary = case["vocabulary"].as_u64().unwrap();
    let model = words["model"].as_object_mut().unwrap();
    match model["vocab"].take() {
        Value::Array(mut pieces) => {
            pieces.truncate(vocabulary as usize);
            model["vocab"] = pieces.into();
        }
        Value::Object(mut known) => {
            known.retain(|_, id| id.as_u64().unwrap() < vocabulary);
            let parts = |pair: &Value| match pair {
                Value::String(pair) => pair.split(' ').map(str::to_owned).collect::<Vec<_>>(),
                pair => serde_json::from_value(pair.clone()).unwrap(),
            };
            let whole = |pair: &Value| {
                let parts = parts(pair);
                parts.iter().chain([&parts.concat()]).all(|part| known.contains_key(part))
            };
            model["merges"].as_array_mut().unwrap().retain(whole);
            model["vocab"] = known.into();
        }
        other => panic!("{other}"),
    }
    fs::write(folder.join("tokenizer.json"), words.to_string()).unwrap();
    folder
}

fn summarize(folder: &Path, options: &[&str], stdin: &str) -> Run {
    run(&[&["summarize", "--device", "cpu", "--model", text(folder)], options].concat(), stdin)
}

fn parsed(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

#[test]
fn documents_and_summaries_have_transformers_ids() {
    for case in cases() {
        let name = case["model"].as_str().unwrap();
        let folder = folder(&format!("summarize-{name}"), &case, true);
        for document in case["documents"].as_array().unwrap() {
            let what = format!("{name}, {}", document["name"]);
            let (tokens, ids) = (document["tokens"].as_u64().unwrap(), document["ids"].as_array().unwrap());
            let input = document["text"].as_str().unwrap();
            let found = summarize(&folder, &["--json", "--truncate"], input);
            let line = parsed(found.succeeds());
            assert_eq!(line["source_ids"], document["ids"], "{what}");
            assert_eq!(line["tokens"], document["summary"], "{what}");
            let left_out = tokens - ids.len() as u64;
            assert_eq!(line["left_out"], left_out, "{what}");
            let said = format!("has {tokens} tokens; the last {left_out} are left out");
            assert_eq!(found.stderr().contains(&said), left_out > 0, "{what}: {}", found.stderr());
            if left_out > 0 {
                let said = format!("has {tokens} tokens, but the model takes {} at most", ids.len());
                summarize(&folder, &[], input).fails(1, &["standard input", &said, "--truncate"]);
            }
        }
    }
}

/// Without a task, the words and the options of the command line are the same.
#[test]
fn words_and_options_can_be_given() {
    let case = &cases()[1];
    let (folder, document) = (folder("summarize-options", case, false), &case["documents"][0]);
    let bare =
        r#"{"decoder_start_token_id": 0, "eos_token_id": 1, "pad_token_id": 0, "no_repeat_ngram_size": 3}"#;
    fs::write(folder.join("generation_config.json"), bare).unwrap();
    let input = folder.join("document.txt");
    // white space around a document does not count
    fs::write(&input, format!("\n {}\n\n", document["text"].as_str().unwrap())).unwrap();
    let options = ["--prefix", "summarize: ", "--beams", "2", "--max-length", "30", "--json"];
    let options = [&options[..], &["--input", text(&input)]].concat();
    let line = parsed(summarize(&folder, &options, "").succeeds());
    assert_eq!((&line["source_ids"], &line["tokens"]), (&document["ids"], &document["summary"]));
    assert_eq!(line["reached_max_length"], true);
    let found = summarize(&folder, &["--min-length", "31", "--max-length", "30"], "text");
    found.fails(2, &["at least 31 and at most 30", "--min-length"]);
    // without a limit of the model's own, a document has 50 tokens more than itself
    let line = parsed(summarize(&folder, &["--min-length", "60", "--json"], &"text ".repeat(30)).succeeds());
    assert!(line["tokens"].as_array().unwrap().len() >= 60, "{line}");
    let own = r#"{"decoder_start_token_id": 0, "eos_token_id": 1, "pad_token_id": 0, "min_length": 12, "max_length": 24}"#;
    fs::write(folder.join("generation_config.json"), own).unwrap();
    let found = summarize(&folder, &["--min-length", "31"], "text");
    found.fails(2, &["at least 31 and at most 24", "24 is the model's own; give --max-length"]);
    let found = summarize(&folder, &["--max-length", "9"], "text");
    found.fails(2, &["at least 12 and at most 9", "12 is the model's own; give --min-length"]);
}

/// As in `facebook/bart-large-cnn`, whose tokenizer has 50,265 tokens, and whose model has 50,264: there is no `<mask>`.
#[test]
fn a_special_token_beyond_the_vocabulary_is_no_fault() {
    let case = &cases()[0];
    let folder = folder("summarize-mask", case, true);
    let summary = || parsed(summarize(&folder, &["--json"], "the cat").succeeds())["tokens"].take();
    let alone = summary();
    let words = folder.join("tokenizer.json");
    let mut changed = read(words.clone());
    let mask = json!({ "id": case["vocabulary"], "content": "<last>", "single_word": false, "lstrip": false,
        "rstrip": false, "normalized": false, "special": true });
    changed["added_tokens"].as_array_mut().unwrap().push(mask);
    fs::write(&words, changed.to_string()).unwrap();
    assert_eq!(summary(), alone);
    summarize(&folder, &[], "the <last> cat").fails(1, &["500 is too large", "500 tokens"]);
    changed["added_tokens"].as_array_mut().unwrap().last_mut().unwrap()["special"] = false.into();
    fs::write(&words, changed.to_string()).unwrap();
    summarize(&folder, &[], "the cat").fails(1, &["\"<last>\" with id 500", "that of another model"]);
}

/// The fixture has 64 positions for sources, and 40 for summaries.
#[test]
fn led_takes_as_many_tokens_as_its_encoder_has_positions() {
    let case = json!({ "model": "led", "tokenizer": "bytelevel_bpe_bart", "vocabulary": 330, "prefix": "" });
    let folder = folder("summarize-led", &case, false);
    let line = parsed(summarize(&folder, &["--json"], &"the ".repeat(50)).succeeds());
    assert_eq!(line["source_ids"].as_array().unwrap().len(), 53);
    summarize(&folder, &[], &"the ".repeat(70)).fails(1, &["has 73 tokens", "takes 64 at most"]);
}

/// LED: a text's first token is global, in `summarize` and in `score --source`.
#[test]
fn a_summary_has_the_score_of_its_search() {
    let case = json!({ "model": "led", "tokenizer": "bytelevel_bpe_bart", "vocabulary": 330, "prefix": "" });
    let folder = folder("summarize-score", &case, false);
    let document = "the cat and the man ".repeat(5);
    let written = parsed(summarize(&folder, &["--json", "--beams", "2"], &document).succeeds());
    let score = |arguments: &[&str], input: &str| {
        let all = [&["score", "--model", text(&folder), "--device", "cpu"], arguments].concat();
        parsed(run(&all, input).succeeds().lines().next().unwrap())["log_probability"].as_f64().unwrap()
    };
    let ids = written["source_ids"].as_array().unwrap();
    let globals: Vec<u32> = (0..ids.len()).map(|token| (token == 0).into()).collect();
    let request = |labels: &[Value]| {
        json!({ "input_ids": ids, "labels": labels, "global_attention_mask": globals }).to_string()
    };
    let steps = written["step_logprobs"].as_array().unwrap();
    let sum: f64 = steps.iter().map(|step| step.as_f64().unwrap()).sum();
    let found = score(&[], &request(&written["tokens"].as_array().unwrap()[1..]));
    assert!((found - sum).abs() < 1e-4, "{found}, not {sum}");
    let (source, target) = (folder.join("source.txt"), folder.join("target.txt"));
    fs::write(&source, format!("{}\n", document.trim())).unwrap();
    fs::write(&target, "the cat\n").unwrap();
    let of_text = score(&["--source", text(&source), "--target", text(&target)], "");
    let labels = run(&["tokenize", "--plain", "--model", text(&folder)], "the cat\n");
    let labels: Vec<Value> = serde_json::from_str(labels.succeeds()).unwrap();
    let of_ids = score(&[], &request(&labels));
    assert!((of_text - of_ids).abs() < 1e-4, "{of_text}, not {of_ids}");
}

#[test]
fn models_of_one_stack_do_not_summarize() {
    let gpt2 = super::model("gpt2");
    run(&["summarize", "--model", &gpt2], "text")
        .fails(1, &["gpt2: a \"gpt2\" model does not summarize", "bart-large-cnn"]);
}

/// The message for translations names an option that this command does not have.
#[test]
fn models_of_many_languages_are_refused_with_another_way_out() {
    let case = json!({ "model": "bart", "tokenizer": "bytelevel_bpe_bart", "vocabulary": 480, "prefix": "" });
    let folder = folder("summarize-languages", &case, false);
    let languages =
        r#"{"tokenizer_class": "NllbTokenizer", "additional_special_tokens": ["eng_Latn", "deu_Latn"]}"#;
    fs::write(folder.join("tokenizer_config.json"), languages).unwrap();
    // the fixture's has a first token of every summary
    let bare = r#"{"decoder_start_token_id": 2, "eos_token_id": 2, "pad_token_id": 1}"#;
    fs::write(folder.join("generation_config.json"), bare).unwrap();
    let found = summarize(&folder, &[], "text");
    assert!(!found.stderr().contains("--target-lang"), "{}", found.stderr());
    found.fails(1, &["into 2 languages", "bart-large-cnn"]);
}

#[test]
fn each_line_can_be_a_document() {
    let case = &cases()[0];
    let (folder, documents) = (folder("summarize-lines", case, true), case["documents"].as_array().unwrap());
    let long = documents[1]["text"].as_str().unwrap().replace('\n', " ");
    let input = format!("{}\n{long}\n", documents[0]["text"].as_str().unwrap());
    let found = summarize(&folder, &["--lines", "--json", "--truncate"], &input);
    let lines: Vec<Value> = found.succeeds().lines().map(parsed).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["tokens"], documents[0]["summary"]);
    assert_eq!(lines[1]["source_ids"].as_array().unwrap().len(), 64);
    // line breaks are read alike, also those of Windows and those that are written as a mark
    let ids = |options: &[&str], text: &str| {
        parsed(summarize(&folder, options, text).succeeds())["source_ids"].take()
    };
    let broken = ids(&["--json"], "one\ntwo\n");
    assert_eq!(ids(&["--json"], "one\r\ntwo\r\n"), broken);
    assert_eq!(ids(&["--lines", "--json"], "one<n>two\r\n"), broken);
    // documents before one that is too long are written
    let found = summarize(&folder, &["--lines"], &input);
    assert_eq!(found.fails(1, &["standard input, line 2", "--truncate"]).lines().count(), 1);
    // a model would invent a text for an empty line
    let short = documents[0]["text"].as_str().unwrap();
    let found = summarize(&folder, &["--lines"], &format!("\n{short}\n  \n"));
    let lines: Vec<&str> = found.succeeds().lines().collect();
    assert!(
        lines.len() == 3 && lines[0].is_empty() && !lines[1].is_empty() && lines[2].is_empty(),
        "{lines:?}"
    );
    let found = summarize(&folder, &["--lines", "--json"], "\n");
    assert_eq!(parsed(found.succeeds())["tokens"], serde_json::json!([]));
    summarize(&folder, &[], " \n\n").fails(1, &["standard input", "no text to summarize"]);
}

#[test]
fn what_cannot_be_summarized_is_an_error() {
    let case = &cases()[0];
    let folder = folder("summarize-errors", case, false);
    run(&["summarize"], "a").fails(2, &["--model", "the built-in model translates"]);
    summarize(&folder, &["--task", "news"], "a").fails(2, &["no task \"news\""]);
    summarize(&folder, &["--beams", "17"], "a").fails(2, &["--beams is 17", "1 to 16"]);
    summarize(&folder, &["--input", "/none/such"], "").fails(1, &["/none/such"]);
    let encoder = super::model("bert");
    run(&["summarize", "--device", "cpu", "--model", &encoder], "a").fails(1, &["bert"]);
}
