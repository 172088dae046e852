//! `wordloom translate`

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
#[cfg(target_os = "linux")]
use std::process::Stdio;

use serde_json::Value;

use super::common::data;
use super::{Run, command, model, run, scratch, text};

/// A small model with random weights, which is fast and translates to nonsense.
fn translate(arguments: &[&str], stdin: impl AsRef<[u8]> + Send) -> Run {
    let folder = model("marian_tied");
    let mut all = vec!["translate", "--device", "cpu", "--model", &folder, "--beams", "1"];
    all.extend(arguments);
    run(&all, stdin)
}

#[test]
fn the_built_in_model_translates_an_argument() {
    let arguments = ["translate", "--device", "cpu", "Where can I buy", "a ticket to Berlin?"];
    assert_eq!(run(&arguments, "").succeeds(), "Wo kann ich eine Fahrkarte nach Berlin kaufen?\n");
}

#[test]
fn translations_are_compared_with_a_reference() {
    let reference = scratch("reference").join("reference.txt");
    let lines = "Where is the train station?\nI have lost my passport.\n";
    fs::write(&reference, "Wo ist der Bahnhof?\nIch habe meinen Pass verloren.\n").expect("written");
    let file = reference.to_str().expect("UTF-8");
    let call = ["translate", "--device", "cpu", "--reference", file];
    let same = run(&call, lines);
    assert_eq!(same.succeeds(), "Wo ist der Bahnhof?\nIch habe meinen Pass verloren.\n");
    let told = format!("compared with {file}: BLEU 100.00, chrF2 100.00\n");
    assert!(same.stderr().contains(&told), "{}", same.stderr());
    let swapped = run(&[&call[..], &["--attention", "encoder.*=uniform"]].concat(), lines);
    swapped.succeeds();
    assert!(
        !swapped.stderr().contains("BLEU 100.00") && swapped.stderr().contains("BLEU"),
        "{}",
        swapped.stderr()
    );
    run(&call, "Thank you.\n").fails(1, &["has 2 lines, but 1 were translated"]);
    run(&[&call[..], &["--input", "letter.md"]].concat(), "").fails(2, &["--reference is for lines"]);
}

#[test]
fn layers_take_another_kind_of_attention() {
    let sentence = "Where can I buy a ticket to Berlin?";
    let swapped = |kinds: &str| run(&["translate", "--device", "cpu", "--attention", kinds, sentence], "");
    let own = "Wo kann ich eine Fahrkarte nach Berlin kaufen?\n";
    for wide in ["encoder.*=full", "encoder.*=window:512", "encoder.*=linformer:512", "encoder.0=blocks:64"] {
        let run = swapped(wide);
        assert_eq!(run.succeeds(), own, "{wide}");
        let told = format!("attention: {wide}: 1 sentence in ");
        assert!(
            run.stderr().contains(&told) && run.stderr().contains(" s, log-probability -"),
            "{}",
            run.stderr()
        );
    }
    let run = swapped("encoder.*=linformer:1");
    assert_ne!(run.succeeds(), own);
    let note = "note: linformer:1 is an approximation: the model has no learned projections, so keys and values are the \
                nearest matrices of rank 1\n";
    assert!(run.stderr().contains(note), "{}", run.stderr());
    let run = swapped("encoder.*=additive");
    assert!(
        run.succeeds() != own && run.stderr().contains("note: additive is an approximation"),
        "{}",
        run.stderr()
    );
    for (kinds, message) in [
        ("encoder.0=wide", "there is no kind of attention"),
        ("encoder.0=window:0", "a window has 1 neighbour on each side or more"),
        ("encoder.0=blocks:0", "a block has 1 to 4096 tokens"),
        ("encoder.0=linformer:0", "projected to 1 dimension or more"),
        (
            "encoder.9=full",
            "there is no layer encoder.9 to choose the attention of: the model has encoder layers 0 to 3",
        ),
        ("decoder.0=full", "only an encoder's self-attention can have another kind"),
        ("encoder.0=transient-global:2", "needs weights that this \"marian\" model does not have"),
    ] {
        swapped(kinds).fails(2, &["--attention", message]);
    }
    swapped("encoder.0=window:2+global:40").fails(1, &["global token 40 is beyond the text of"]);
}

/// Other commands take the kinds, too, and change their results.
#[test]
fn every_command_with_an_encoder_takes_kinds() {
    let folder = scratch("kinds_of_attention");
    let model = model("marian_tied");
    let (source, target) = (folder.join("source.txt"), folder.join("target.txt"));
    fs::write(&source, "one two three four five six\n").unwrap();
    fs::write(&target, "six five\n").unwrap();
    let long: String = (3..30).map(|id| format!("{id}, ")).collect();
    let request = format!("{{\"input_ids\": [{long}0], \"num_beams\": 1}}\n");
    let score = ["score", "--source", text(&source), "--target", text(&target)];
    let summarize = ["summarize", "--json", "--beams", "1", "--input", text(&source)];
    let commands: [(&[&str], &str); 4] = [
        (&score, ""),
        (&summarize, ""),
        (&["generate"], &request),
        (&["attend", "--kind", "encoder", "--json", "one two three four five six"], ""),
    ];
    for (command, stdin) in commands {
        let with = |kinds: &str| {
            let model = ["--device", "cpu", "--model", &model, "--attention", kinds];
            run(&[command, &model].concat(), stdin).succeeds().to_owned()
        };
        let own = with("encoder.*=full");
        assert_eq!(with("encoder.*=linformer:64"), own, "{command:?}");
        assert_ne!(with("encoder.*=linformer:1"), own, "{command:?}");
        assert_ne!(with("encoder.*=additive"), own, "{command:?}");
    }
    let trace = ["attend", "--trace", "trace.json", "--attention", "encoder.*=full"];
    run(&trace, "").fails(2, &["--attention"]);
}

#[test]
fn a_line_comes_out_per_line_in() {
    let together = translate(&[], "one two\n\n  \nthree\r\n four. five.");
    let lines: Vec<&str> = together.stdout().split('\n').collect();
    assert_eq!(lines.len(), 6, "{lines:?}"); // five lines, and the text after the last line feed
    assert_eq!([lines[1], lines[2], lines[5]], ["", "  ", ""]);
    assert!(lines[3].ends_with('\r') && lines[4].starts_with(' '), "{lines:?}");
    for (line, alone) in [(lines[0], "one two"), (lines[4], " four. five.")] {
        assert_eq!(translate(&[], alone).stdout(), format!("{line}\n"), "independent of its neighbours");
    }
}

#[test]
fn no_text_gives_no_lines_and_an_empty_argument_an_empty_one() {
    assert_eq!(translate(&[], "").succeeds(), "");
    assert_eq!(translate(&[], "\n").succeeds(), "\n");
    assert_eq!(translate(&[""], "").succeeds(), "\n");
    assert_eq!(translate(&["  "], "").succeeds(), "  \n");
}

#[test]
fn files_are_read_and_written() {
    let folder = scratch("translate_files");
    let (source, target) = (folder.join("source.txt"), folder.join("target.txt"));
    let lines: String = (0..300).map(|number| format!("{number}\n")).collect(); // more than one round
    fs::write(&source, &lines).unwrap();
    let arguments = ["--max-length", "4", "--input", text(&source), "--output", text(&target)];
    assert_eq!(translate(&arguments, "").succeeds(), "");
    let written = fs::read_to_string(&target).unwrap();
    assert_eq!(written.lines().count(), 300);
    assert_eq!(written, translate(&["--max-length", "4"], &lines).stdout());
    assert!(!folder.join("target.txt.resume").exists(), "nothing else is left");
}

/// Lines are sorted by length into batches, in windows of growing size.
#[test]
fn lines_come_out_in_the_order_they_went_in() {
    let lines: Vec<String> =
        (0..700).map(|number| format!("{}{number}.", "a word ".repeat(number * 13 % 17))).collect();
    let reversed: Vec<&str> = lines.iter().rev().map(String::as_str).collect();
    let [forwards, backwards] = [lines.join("\n"), reversed.join("\n")]
        .map(|text| translate(&["--max-length", "20"], text).succeeds().to_owned());
    let (forwards, backwards): (Vec<&str>, Vec<&str>) =
        (forwards.lines().collect(), backwards.lines().rev().collect());
    assert_eq!(forwards, backwards);
    let different: std::collections::HashSet<_> = forwards.iter().collect();
    assert!(different.len() > 100, "{}", different.len());
}

/// Repeated lines are translated once: a hundred thousand lines are fast, and the text is the same.
#[test]
fn repeated_lines_are_right() {
    let lines = ["one two three.", "", "four. one two three.", "five six seven eight."];
    let alone = lines.map(|line| translate(&[], line.to_owned() + "\n").succeeds().to_owned()).concat();
    let many = translate(&[], (lines.join("\n") + "\n").repeat(25_000));
    assert!(many.succeeds() == alone.repeat(25_000), "another text");
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_bounded_whatever_the_length_of_the_input() {
    const LINE: usize = 30_000;
    let peak_kilobytes = |lines: usize| {
        let folder = model("marian_tied");
        let arguments = ["translate", "--device", "cpu", "--model", &folder, "-b", "1", "-o", "/dev/null"];
        // its warnings are not read, and it must not wait for a reader
        let mut child = command(&arguments).stderr(Stdio::null()).spawn().unwrap();
        let mut typed = child.stdin.take().unwrap();
        let line = format!("one two.{}three four.\n", " ".repeat(LINE));
        for _ in 0..lines {
            typed.write_all(line.as_bytes()).unwrap();
        }
        // it is still running and waits for more, after all lines except those in a pipe's and a thread's buffers
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        drop(typed);
        assert!(child.wait().unwrap().success());
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().trim_end_matches(" kB").parse::<usize>().unwrap()
    };
    let (few, many) = (peak_kilobytes(200), peak_kilobytes(3000));
    println!("{few} kB, {many} kB");
    assert!(many < few + 30_000, "{few} kB for 6 MB of text, {many} kB for 90 MB");
}

#[test]
fn n_best_gives_rank_score_and_text() {
    let best = translate(&["--beams", "3", "--n-best", "3"], "");
    best.fails(2, &["--beams", "multiple times"]);
    let folder = model("marian_tied");
    let arguments = ["translate", "--device", "cpu", "--model", &folder, "-b", "3", "-n", "3", "a house"];
    let best = run(&arguments, "");
    let rows: Vec<Vec<&str>> = best.stdout().lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), ["1", "2", "3"]);
    let scores: Vec<f32> = rows.iter().map(|row| row[1].parse().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert!(rows.iter().all(|row| row.len() == 3), "{rows:?}");
}

#[test]
fn json_has_everything() {
    let arguments = ["translate", "--device", "cpu", "--json", "--n-best", "2"];
    let lines = run(&arguments, "It is cold today! Thanks.\r\n\n");
    let lines: Vec<Value> =
        lines.succeeds().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [line, blank] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(line["source"], "It is cold today! Thanks.");
    assert_eq!(line["text"], line["hypotheses"][0]["text"]);
    assert_eq!(line["hypotheses"].as_array().unwrap().len(), 2);
    let sentence = &line["sentences"][0];
    assert_eq!(sentence["source"], "It is cold today!");
    assert_eq!(sentence["source_ids"].as_array().unwrap().last().unwrap(), 0);
    let best = &sentence["hypotheses"][0];
    assert_eq!(best["reached_max_length"], false);
    let (tokens, logprobs) = (best["tokens"].as_array().unwrap(), best["step_logprobs"].as_array().unwrap());
    assert_eq!(tokens.len(), logprobs.len() + 1, "the start token has no log-probability");
    let mean = logprobs.iter().map(|value| value.as_f64().unwrap()).sum::<f64>() / logprobs.len() as f64;
    assert!((best["score"].as_f64().unwrap() - mean).abs() < 1e-4);
    assert_eq!(
        (&blank["source"], &blank["text"], blank["sentences"].as_array().unwrap().len()),
        (&"".into(), &"".into(), 0)
    );
}

#[test]
fn a_typed_line_is_answered_at_once() {
    let folder = model("marian_tied");
    let mut child =
        command(&["translate", "--device", "cpu", "--model", &folder, "--max-length", "4"]).spawn().unwrap();
    let (mut typed, mut shown) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for _ in 0..3 {
        typed.write_all(b"a line\n").unwrap();
        let mut answer = String::new();
        shown.read_line(&mut answer).unwrap();
        assert!(answer.ends_with('\n'));
    }
    drop(typed);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let folder = model("marian_tied");
    let arguments = ["translate", "--device", "cpu", "--model", &folder, "--max-length", "4", "--beams", "1"];
    let mut child = command(&arguments).spawn().unwrap();
    let mut typed = child.stdin.take().unwrap();
    let writer =
        std::thread::spawn(move || typed.write_all("some text\n".repeat(200_000).as_bytes()).is_ok());
    let mut shown = BufReader::new(child.stdout.take().unwrap());
    shown.read_line(&mut String::new()).unwrap();
    drop(shown);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(child.wait().unwrap().success(), "{stderr}");
    assert!(!stderr.contains("error") && !stderr.contains("panicked"), "{stderr}");
    assert!(!writer.join().unwrap(), "it read on although nobody listened");
}

#[test]
fn impossible_options_are_named_as_they_were_given() {
    let folder = model("marian_tied");
    let cases: [(&[&str], &[&str]); 7] = [
        (&["--beams", "0"], &["--beams is 0", "1 to 16"]),
        (&["--beams", "17"], &["--beams is 17", "1 to 16"]),
        (&["--n-best", "5"], &["--n-best is 5", "1 to --beams, which is 4"]),
        (&["--n-best", "0"], &["--n-best is 0", "1 to --beams"]),
        (&["--max-length", "1"], &["--max-length is 1", "at least 2"]),
        (&["--max-length", "100000"], &["--max-length is 100000", "64", "positions"]),
        (&["--length-penalty", "nan"], &["--length-penalty is NaN", "finite"]),
    ];
    for (options, parts) in cases {
        let arguments = [&["translate", "--device", "cpu", "--model", &folder, "hi"], options].concat();
        assert_eq!(run(&arguments, "").fails(2, parts), "");
    }
}

#[test]
fn a_target_language_is_what_the_tag_says() {
    let tagged = translate(&["--max-length", "8"], ">>kor<<one. two.\n>>kor<< three\n");
    let chosen = translate(&["--max-length", "8", "--target-lang", "kor"], "one. two.\n>>kor<< three\n");
    assert_eq!(chosen.succeeds(), tagged.succeeds());
    assert_ne!(translate(&["--max-length", "8"], "one. two.\nthree\n").succeeds(), tagged.succeeds());
}

#[test]
fn languages_that_the_model_does_not_have_are_refused() {
    let own = &model("marian_tied");
    let cases: [(&[&str], &[&str]); 4] = [
        (
            &["--model", own, "--target-lang", "fra"],
            &["this model has no language \"fra\"", "1 in all", "kor", "inspect"],
        ),
        (&["--model", own, "--source-lang", "kor"], &["no source languages to choose from"]),
        (&["--target-lang", "fr"], &["target language is \"deu\", not \"fr\""]),
        (&["--source-lang", "German"], &["source language is \"eng\", not \"German\""]),
    ];
    for (options, parts) in cases {
        run(&[&["translate", "--device", "cpu", "hi"], options].concat(), "").fails(2, parts);
    }
}

#[test]
fn what_is_wrong_with_a_line_is_said_after_the_lines_before_it() {
    let cases: [(&[u8], &[&str]); 2] = [
        (b"good\nbad \xff\n", &["standard input, line 2: not UTF-8 at byte 5", "iconv"]),
        (b"good\n>>fra<< bad\nmore", &["standard input, line 2: unknown language tag `>>fra<<`"]),
    ];
    for (input, parts) in cases {
        let output = translate(&[], input);
        assert_eq!(output.fails(1, parts), translate(&[], "good\n").succeeds());
    }
}

#[test]
fn files_that_cannot_be() {
    let folder = scratch("translate_bad_files");
    let file = folder.join("text.txt");
    fs::write(&file, "text\n").unwrap();
    let missing = folder.join("missing/text.txt");
    let zip = folder.join("letter.docx");
    fs::write(&zip, b"PK\x03\x04\x14\x00\xff\n").unwrap();
    let cases: [(&[&str], i32, &[&str]); 7] = [
        (&["--input", text(&zip), "--format", "lines"], 1, &["letter.docx: a zip file", ".docx .pptx"]),
        (&["--input", text(&missing)], 1, &["cannot read", "missing/text.txt"]),
        (&["--input", text(&folder)], 1, &["cannot read", "is a folder"]),
        (&["--output", text(&missing), "hi"], 1, &["cannot write", "missing/text.txt"]),
        (&["--output", text(&folder), "hi"], 1, &["cannot write", "translate_bad_files"]),
        (&["--input", text(&file), "--output", text(&file)], 2, &["the same file", "text.txt"]),
        (&["--input", ""], 2, &["--input"]),
    ];
    for (options, code, parts) in cases {
        assert_eq!(translate(options, "").fails(code, parts), "");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "text\n");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    translate(&["--output", "/dev/full", "hi"], "").fails(1, &["cannot write /dev/full"]);
}

#[test]
fn folders_that_are_no_models() {
    let folder = scratch("translate_no_model");
    let file = data("README.md");
    let cases = [
        (folder.join("missing"), ["missing", "there is no such folder"]),
        (file, ["README.md", "is a file; give the folder"]),
        (folder, ["\"config.json\"", "Hugging Face"]),
        (data("models/marian_f16"), ["marian_f16", "\"source.spm\""]),
    ];
    for (folder, parts) in cases {
        run(&["translate", "--device", "cpu", "--model", text(&folder), "hi"], "").fails(1, &parts);
    }
}

/// Garbage as text: work and memory are bounded by the length of the text.
#[test]
fn odd_text_is_translated() {
    let folder = model("marian_tied");
    let arguments = ["translate", "--device", "cpu", "--model", &folder, "--beams", "1", "--max-length", "3"];
    let spaces = " ".repeat(1 << 20);
    let cases = [
        spaces.clone(),                                           // 1 MB without a word
        "x".repeat(20_000),                                       // a word longer than the model's positions
        "\u{1F9F6}\u{200D}\u{0301}".repeat(500),                  // graphemes that the vocabulary lacks
        "a\0b\u{FEFF}\u{202E}\u{85}c\u{2028}d".to_owned(),        // control characters, other line breaks
        format!("One sentence. {spaces}Another one. (\"No?\") "), // a very long gap
    ];
    for line in cases {
        let output = run(&arguments, &line);
        assert_eq!(output.succeeds().matches('\n').count(), 1);
    }
}

/// A T5 folder with tasks in its configuration, and the number of a vocabulary that its tokenizer needs.
fn t5_with_tasks(test: &str) -> std::path::PathBuf {
    let folder = scratch(test);
    let stored = data("models/t5_relu_tied");
    std::fs::copy(stored.join("model.safetensors"), folder.join("model.safetensors")).unwrap();
    // room for the words, which are many tokens of a tiny vocabulary
    let generation =
        r#"{"decoder_start_token_id": 0, "eos_token_id": 1, "pad_token_id": 0, "max_length": 400}"#;
    std::fs::write(folder.join("generation_config.json"), generation).unwrap();
    let config = std::fs::read(stored.join("config.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_slice(&config).unwrap();
    config["task_specific_params"] = serde_json::json!({
        "summarization": { "prefix": "summarize: ", "num_beams": 2, "max_length": 9, "no_repeat_ngram_size": 3 },
        "translation_en_to_de": { "prefix": "translate English to German: ", "max_length": 7 },
        "translation_en_to_fr": { "prefix": "translate English to French: ", "max_length": "long" },
    });
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    std::fs::copy(data("tokenizers/pad_first.spm"), folder.join("spiece.model")).unwrap();
    let tokenizer = r#"{"tokenizer_class": "T5Tokenizer", "extra_ids": 112}"#;
    std::fs::write(folder.join("tokenizer_config.json"), tokenizer).unwrap();
    folder
}

/// A model that writes short texts by itself gets long sentences whole, if longer translations are asked for.
#[test]
fn a_longer_translation_can_have_a_longer_source() {
    let folder = t5_with_tasks("translate_longer");
    let generation =
        r#"{"decoder_start_token_id": 0, "eos_token_id": 1, "pad_token_id": 0, "max_length": 12}"#;
    std::fs::write(folder.join("generation_config.json"), generation).unwrap();
    let sentences = |options: &[&str]| {
        let common =
            ["translate", "--device", "cpu", "--json", "--model", text(&folder), "one two three four five"];
        let output = run(&[&common[..], options].concat(), "");
        let line: serde_json::Value = serde_json::from_str(output.succeeds()).unwrap();
        line["sentences"].as_array().unwrap().len()
    };
    assert!(sentences(&[]) > 1);
    assert_eq!(sentences(&["--max-length", "100"]), 1);
    assert!(sentences(&["--max-length", "5"]) > 1);
}

/// As a pipeline of transformers does: the task's words before the text, its options over the model's own.
#[test]
fn a_task_puts_its_words_before_every_sentence_and_brings_its_options() {
    let folder = t5_with_tasks("translate_tasks");
    let t5 = |options: &[&str]| {
        let common = ["translate", "--device", "cpu", "--json", "--model", text(&folder)];
        run(&[&common[..], options].concat(), "")
    };
    let ids = |run: &super::Run| -> Vec<serde_json::Value> {
        let line: serde_json::Value = serde_json::from_str(run.succeeds()).unwrap();
        let sentences = line["sentences"].as_array().unwrap().iter();
        // on the CPU, the last digits of scores depend on the batch
        let tokens = |hypothesis: &serde_json::Value| hypothesis["tokens"].clone();
        let all = |sentence: &serde_json::Value| {
            let hypotheses = sentence["hypotheses"].as_array().unwrap().iter().map(tokens).collect();
            [sentence["source_ids"].clone(), hypotheses]
        };
        sentences.flat_map(all).collect()
    };
    let task = t5(&["--task", "translation_en_to_de", "One. Two."]);
    assert_eq!(ids(&task).len(), 4, "two sentences");
    let typed = ["translate English to German: One.", "translate English to German: Two."]
        .map(|text| ids(&t5(&["--max-length", "7", text])));
    assert_eq!(ids(&task), typed.concat());
    // words that a text begins with are before each of its sentences, too
    let typed_once = t5(&["--max-length", "7", "translate English to German: One. Two."]);
    assert_eq!(ids(&typed_once), typed.concat());
    // options of the command win
    let longer = t5(&["--task", "translation_en_to_de", "--max-length", "5", "One."]);
    assert_eq!(ids(&longer), ids(&t5(&["--max-length", "5", "translate English to German: One."])));
    // beams of the task count for --n-best
    let both = t5(&["--task", "summarization", "-n", "2", "One."]);
    assert_eq!(ids(&both)[1].as_array().unwrap().len(), 2);
    t5(&["-n", "2", "One."]).fails(2, &["--n-best is 2"]);

    t5(&["--task", "translation_en_to_ro", "x"])
        .fails(2, &["no task \"translation_en_to_ro\"; it has summarization, translation_en_to_de"]);
    t5(&["--task", "translation_en_to_fr", "x"])
        .fails(2, &["translation_en_to_fr", "\"max_length\" is \"long\""]);
    t5(&["--task", "summarization", "--target-lang", "German", "x"])
        .fails(2, &["\"summarization\" and the languages differ", "translate English to German"]);
    run(&["translate", "--device", "cpu", "--task", "x", "x"], "")
        .fails(2, &["no task \"x\"", "task_specific_params"]);
    let shown = run(&["inspect", text(&folder)], "");
    let wanted =
        "tasks: summarization \"summarize: \", translation_en_to_de \"translate English to German: \"";
    assert!(shown.succeeds().contains(wanted), "{}", shown.stdout());
}

#[test]
fn languages_go_by_their_names() {
    let folder = scratch("translate_language_names");
    for entry in std::fs::read_dir(model("marian_tied")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    let korean = |language: &str| {
        let arguments = ["translate", "--device", "cpu", "--max-length", "8", "--target-lang", language];
        run(&[&arguments[..], &["--model", text(&folder), "one"]].concat(), "").succeeds().to_owned()
    };
    assert_eq!(korean("Korean"), korean("kor"));
    assert_eq!(korean("한국어"), korean("kor"));
    // the built-in model has one pair
    for options in [["--target-lang", "deu"], ["--target-lang", "German"], ["--source-lang", "en"]] {
        let arguments = ["translate", "--device", "cpu", options[0], options[1], "Good morning."];
        assert_eq!(
            run(&arguments, "").succeeds(),
            run(&["translate", "--device", "cpu", "Good morning."], "").stdout()
        );
    }
}

#[test]
fn values_in_messages_are_short() {
    let long = "x".repeat(100_000);
    let cases: [(&[&str], &[&str]); 4] = [
        (&["--target-lang", &long], &["xxx…", "leave the target language out"]),
        (&["--beams", &long], &["xxx…", "a whole number from 0 is needed"]),
        (&["--length-penalty", "much"], &["a number is needed"]),
        (&["--task", &long], &["xxx…", "task_specific_params"]),
    ];
    for (options, parts) in cases {
        let run = run(&[&["translate", "--device", "cpu", "hi"], options].concat(), "");
        run.fails(2, parts);
        assert!(run.stderr().len() < 500, "{}", run.stderr());
    }
    let tag = run(&["translate", "--device", "cpu"], format!(">>{long}<< hi\n"));
    tag.fails(1, &["xxx…", "it translates to one language"]);
}

/// The limit on the size of files is an error of the write, not a silent end.
#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_the_size_of_files_is_reported() {
    let folder = scratch("translate_file_size");
    let output = folder.join("out.txt");
    let shell = format!(
        "ulimit -f 0; printf 'a\\nb\\n' | {} tokenize --plain -o {}",
        env!("CARGO_BIN_EXE_wordloom"),
        text(&output)
    );
    let ended = std::process::Command::new("sh").args(["-c", &shell]).output().unwrap();
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("error: cannot write") && stderr.contains("out.txt"), "{stderr}");
}

#[test]
fn a_memory_comes_before_the_model() {
    let file = scratch("memory").join("corrections.tsv");
    fs::write(&file, "Good morning\tMoin\nWhere is the train station?\tWo geht's zum Bahnhof?\n")
        .expect("written");
    let file = file.to_str().expect("UTF-8");
    let call = ["translate", "--device", "cpu", "--json", "--memory", file];
    let lines =
        "Good  morning\nI have lost my passport.\nWhere is the train station?\nWhere is the bus station?\n";
    let parsed = |arguments: &[&str]| -> Vec<Value> {
        let output = run(arguments, lines);
        output.succeeds().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let found = parsed(&call);
    let texts: Vec<&Value> = found.iter().map(|line| &line["text"]).collect();
    assert_eq!(texts[..3], ["Moin", "Ich habe meinen Pass verloren.", "Wo geht's zum Bahnhof?"]);
    assert_eq!(found[0]["memory"], serde_json::json!({"score": 1.0, "source": "Good morning"}));
    assert!(found[1].get("memory").is_none() && found[3].get("memory").is_none());
    // one of five words differs
    let similar = parsed(&[&call[..], &["--memory-match", "0.8", "--quality"]].concat());
    assert_eq!(similar[3]["text"], "Wo geht's zum Bahnhof?");
    assert_eq!(similar[3]["memory"]["score"].as_f64().map(|score| (10.0 * score).round()), Some(8.0));
    let quality = &similar[1]["sentences"][0]["quality"];
    assert!(quality["trust"].as_f64().is_some_and(|trust| (0.0..=1.0).contains(&trust)), "{quality}");
    assert!(quality["coverage"].is_number() && quality["copies"] == false, "{quality}");

    let document = scratch("memory-document").join("letter.md");
    fs::write(&document, "# Good morning\n\nI have lost my passport.\n\nGood *morning*\n").expect("written");
    let document = document.to_str().expect("UTF-8");
    let written = run(&["translate", "--device", "cpu", "--memory", file, "--input", document], "");
    let written = written.succeeds();
    assert!(written.starts_with("# Moin\n\nIch habe meinen Pass verloren.\n\n"), "{written}");
    assert!(written.ends_with("*\n") && !written["# Moin".len()..].contains("Moin"), "tags: {written}");
}
