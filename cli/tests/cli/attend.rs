//! `wordloom attend`

use std::fs;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Run, command, model, run, scratch, text};

const HOSTILE: &str = "</script><img src=x onerror=alert(1)> \"<&'";

/// The command on a model with random weights.
fn attend(arguments: &[&str]) -> Run {
    let tied = model("marian_tied");
    let known = ["attend", "--model", &tied, "--device", "cpu", "--max-length", "12"];
    run(&[&known[..], arguments].concat(), "")
}

#[cfg(feature = "embedded-model")]
#[test]
fn the_terminal_has_a_map_with_labels() {
    let question = ["attend", "--device", "cpu", "Where is the train station?"];
    let plain = run(&question, "");
    let plain = plain.succeeds();
    let lines: Vec<&str> = plain.lines().collect();
    assert_eq!(lines[0], "cross-attention, layer 2, mean of 8 heads");
    assert!(lines[1].contains("Where") && lines[1].contains("station"), "{plain}");
    assert!(lines[2].trim_start().starts_with("Wo "), "{plain}");
    assert!(plain.contains('@') && !plain.contains('\u{1b}'), "{plain}");

    let mut coloured = command(&question);
    coloured.env("CLICOLOR_FORCE", "1").env_remove("NO_COLOR");
    let coloured = coloured.output().unwrap().stdout;
    let coloured = String::from_utf8(coloured).unwrap();
    assert!(coloured.contains("\u{1b}[48;2;") && coloured.contains("Bahnhof"), "{coloured}");
    let mut forbidden = command(&question);
    forbidden.env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1");
    assert!(!forbidden.output().unwrap().stdout.contains(&0x1b));

    // labels stand upright, and a narrow terminal has stripes
    let mut narrow = command(&question);
    narrow.env("COLUMNS", "24");
    let narrow = String::from_utf8(narrow.output().unwrap().stdout).unwrap();
    assert!(narrow.lines().all(|line| line.chars().count() <= 42), "{narrow}");
    assert!(narrow.lines().count() > plain.lines().count() + 5, "{narrow}");
}

#[cfg(feature = "embedded-model")]
#[test]
fn the_search_is_what_translate_s_is() {
    let source = "What are you going to do tomorrow morning?";
    let mut seen = Vec::new();
    for penalty in ["1", "8"] {
        let options = ["--device", "cpu", "-b", "4", "--length-penalty", penalty, source];
        let translated = run(&[&["translate"], &options[..]].concat(), "");
        let trace = run(&[&["attend", "--json"], &options[..]].concat(), "");
        let trace: Value = serde_json::from_str(trace.succeeds()).unwrap();
        let target = trace["sentences"][0]["target"].as_str().unwrap().to_owned();
        assert_eq!(translated.succeeds().trim_end(), target);
        seen.push(target);
    }
    assert_ne!(seen[0], seen[1], "the penalty changes nothing");
}

#[test]
fn a_saved_trace_is_the_same_without_the_model() {
    let folder = scratch("attend");
    let files = ["trace.json", "trace.safetensors"].map(|name| folder.join(name));
    for file in &files {
        assert_eq!(attend(&["hello there. And you?", "-o", text(file)]).succeeds(), "");
    }
    let fresh = attend(&["hello there. And you?", "--json"]);
    for file in &files {
        let again = run(&["attend", "--trace", text(file), "--json"], "");
        assert_eq!(again.succeeds(), fresh.succeeds());
    }
    let json: Value = serde_json::from_str(fresh.succeeds()).unwrap();
    assert_eq!((&json["format"], &json["version"]), (&"wordloom.trace".into(), &1.into()));
    assert_eq!(json["sentences"].as_array().unwrap().len(), 2);

    let statistics = run(&["attend", "--trace", text(&files[0]), "--statistics", "--json"], "");
    let statistics: Value = serde_json::from_str(statistics.succeeds()).unwrap();
    let heads = statistics["heads"].as_array().unwrap();
    let table = run(&["attend", "--trace", text(&files[0]), "--statistics"], "");
    let (table, rest) = table.succeeds().split_once("\n\n").unwrap();
    assert_eq!(table.lines().count(), heads.len() + 1);
    // statistics of whole sentences; a saved trace has no residual stream
    assert_eq!(rest.matches("heads combined of sentence").count(), 2);
    assert!(!rest.contains("residual stream"));
    let fresh = attend(&["hello there. And you?", "--statistics"]);
    assert_eq!(fresh.succeeds().matches("residual stream of sentence").count(), 2);
    assert!(heads.iter().all(|head| head["components"].as_u64().unwrap() > 0 && head["label"].is_string()));

    // every cut of a file is one line of error
    let bytes = fs::read(&files[1]).unwrap();
    for length in [0, 7, 100, bytes.len() - 1] {
        let cut = folder.join("cut.safetensors");
        fs::write(&cut, &bytes[..length]).unwrap();
        run(&["attend", "--trace", text(&cut)], "").fails(1, &["cut.safetensors", "is not a trace"]);
    }
}

#[test]
fn a_trace_keeps_taps_and_lists_them() {
    let folder = scratch("attend-taps");
    let [json, tensors, fewer] = ["a.json", "a.safetensors", "b.json"].map(|name| folder.join(name));
    let tapped = ["--tap", "encoder.*.self.scores", "--tap", "decoder.1.self.masked_scores"];
    attend(&[&tapped[..], &["-o", text(&json), "The cat sleeps."]].concat()).succeeds();
    let trace: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    assert_eq!(trace["version"], 3);
    let taps = trace["sentences"][0]["taps"].as_array().unwrap();
    let names: Vec<&str> = taps.iter().map(|tap| tap["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(taps.iter().any(|tap| tap["values"].as_array().unwrap().contains(&Value::Null)), "hidden keys");
    // without the model: listed, chosen, and in the other format
    let open = |rest: &[&str]| run(&[&["attend", "--trace", text(&json)], rest].concat(), "");
    let listed = open(&["--tap", "*"]);
    assert_eq!(listed.succeeds().lines().count(), 3, "{}", listed.succeeds());
    assert!(listed.succeeds().contains("encoder.0.self.scores"));
    open(&["-o", text(&tensors)]).succeeds();
    let bytes = fs::read(&tensors).unwrap();
    assert!(bytes.windows(27).any(|window| window == b"0.tap.encoder.0.self.scores"));
    open(&["--tap", "decoder.*", "-o", text(&fewer)]).succeeds();
    let chosen: Value = serde_json::from_slice(&fs::read(&fewer).unwrap()).unwrap();
    assert_eq!(chosen["sentences"][0]["taps"].as_array().unwrap().len(), 1);
    open(&["--tap", "cross.*"]).fails(1, &["a.json has no tap \"cross.*\"", "encoder.0.self.scores"]);
    attend(&["--tap", "encoder.0.self.score", "a"]).fails(2, &["encoder.0.self.scores"]);
    attend(&["--tap", "*", "--memory", "0", "a"]).fails(1, &["the tapped tensors have", "more memory"]);
}

#[test]
fn pictures_have_their_format() {
    let folder = scratch("attend-pictures");
    for (name, more) in
        [("a.svg", &[][..]), ("b.svg", &["--grid"]), ("c.svg", &["--kind", "decoder", "--head", "1"])]
    {
        let path = folder.join(name);
        attend(&[&["hello there", "-o", text(&path)], more].concat()).succeeds();
        let svg = fs::read_to_string(&path).unwrap();
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>") && !svg.contains("<script"));
    }
    for (name, more) in [("a.png", &[][..]), ("b.png", &["--grid", "--kind", "encoder"])] {
        let path = folder.join(name);
        attend(&[&["hello there", "-o", text(&path)], more].concat()).succeeds();
        let decoder = png::Decoder::new(std::io::Cursor::new(fs::read(&path).unwrap()));
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut pixels).unwrap();
        assert!(frame.width > 50 && frame.height > 50, "{name}");
        assert!(
            pixels.as_chunks::<3>().0.iter().any(|pixel| *pixel == [68, 1, 84] || *pixel == [253, 231, 37]),
            "viridis"
        );
    }
}

/// Texts are never markup: in the page they are data without a `<`; in a picture they are escaped.
#[test]
fn hostile_text_stays_text() {
    let folder = scratch("attend-hostile");
    let (page, picture) = (folder.join("page.html"), folder.join("picture.svg"));
    let tied = model("marian_tied");
    let common = [
        "attend",
        "--model",
        &tied,
        "--device",
        "cpu",
        HOSTILE,
        "--target",
        "</script><script>alert(2)</script>",
    ];
    run(&[&common[..], &["-o", text(&page)]].concat(), "").succeeds();
    run(&[&common[..], &["-o", text(&picture)]].concat(), "").succeeds();
    let html = fs::read_to_string(&page).unwrap();
    assert_eq!(html.matches("</script>").count(), 2);
    assert_eq!(html.matches("<script").count(), 2);
    assert!(
        !html.contains("<img") && !html.contains("innerHTML") && !html.contains("://"),
        "no markup, no network"
    );
    let (_, data) = html.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    let (data, rest) = data.split_once("</script>").unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["sentences"][0]["source"], HOSTILE);
    // the policy runs this script and no other
    let (_, script) = rest.split_once("<script>").unwrap();
    let (script, _) = script.split_once("</script>").unwrap();
    let hash = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, Sha256::digest(script));
    assert!(html.contains(&format!("script-src 'sha256-{hash}'")), "viewer.html needs sha256-{hash}");
    let svg = fs::read_to_string(&picture).unwrap();
    assert!(!svg.contains("<img") && !svg.contains("<script") && svg.contains("&lt;"), "{svg}");
    // control characters of a terminal
    let escaped = run(
        &["attend", "--model", &tied, "--device", "cpu", "a\u{1b}[2Jb \u{202e}c", "--target", "x\u{7}"],
        "",
    );
    assert!(!escaped.succeeds().contains(['\u{1b}', '\u{7}', '\u{202e}']));
}

/// A page has the tree of each sentence's search, if there was a search.
#[cfg(feature = "embedded-model")]
#[test]
fn a_page_shows_how_its_translation_was_found() {
    let page = scratch("attend-search").join("page.html");
    let data = |arguments: &[&str]| -> Value {
        let common = ["attend", "--device", "cpu", "-o", text(&page), "Where is the train station?"];
        run(&[&common[..], arguments].concat(), "").succeeds();
        let html = fs::read_to_string(&page).unwrap();
        let (_, data) = html.split_once("id=\"data\">").unwrap();
        serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
    };
    let found = data(&[]);
    let (sentence, search) = (&found["sentences"][0], &found["sentences"][0]["search"]);
    let [winner, score, best] = &search["listed"][0].as_array().unwrap()[..] else { panic!("{search}") };
    assert_eq!(best, &sentence["target"], "the best hypothesis is the translation");
    let node = search["nodes"][winner.as_u64().unwrap() as usize].as_array().unwrap();
    assert_eq!(node[5], "finished");
    let [step, sum, penalty] = [&node[1], &node[4], &search["penalty"]].map(|value| value.as_f64().unwrap());
    assert!((sum / step.powf(penalty) - score.as_f64().unwrap()).abs() < 2e-4);
    let given = data(&["--target", "Wo ist der Bahnhof?"]);
    assert!(given["sentences"][0]["search"].is_null(), "nobody searched for what was given");
}

#[test]
fn memory_that_is_too_small_is_said() {
    let run = attend(&["hello there", "--memory", "0", "--json"]);
    let json: Value = serde_json::from_str(run.succeeds()).unwrap();
    assert_eq!(json["sentences"][0]["attention"].as_array().unwrap().len(), 0);
    assert!(!json["sentences"][0]["left_out"].as_array().unwrap().is_empty());
    assert!(run.stderr().contains("warning: sentence 1 is without encoder 0, "), "{}", run.stderr());
    assert!(run.stderr().contains("--memory"));
    attend(&["hello there", "--memory", "0"])
        .fails(1, &["the cross attention does not fit in --memory 0 (MiB); give more"]);
}

#[test]
fn attend_says_what_is_wrong() {
    attend(&["hello", "-o", "map.gif"]).fails(2, &["map.gif", ".svg"]);
    attend(&["hello", "--beams", "0"]).fails(2, &["--beams is 0; it must be 1 to 16"]);
    run(&["align", "--device", "cpu", "--beams", "17"], "hello").fails(2, &["--beams is 17"]);
    run(&["explain", "--device", "cpu", "--token", "1", "--beams", "0", "hello"], "")
        .fails(2, &["--beams is 0"]);
    attend(&["hello", "--layer", "99"]).fails(2, &["--layer is 0 to "]);
    attend(&["hello", "--head", "99"]).fails(2, &["--head 0 to "]);
    attend(&["hello", "--kind", "both"]).fails(2, &["--kind", "encoder, decoder or cross"]);
    attend(&["hello", "--mute", "cross.9.9"]).fails(2, &["cross.9.9", "layers 0 to "]);
    attend(&["hello", "--mute", "cross"]).fails(2, &["--mute", "KIND.LAYER.HEAD"]);
    attend(&["hello", "--grid"]).fails(2, &["--grid", ".svg"]);
    attend(&["hello", "--tap", "logits", "-o", "map.png"]).fails(2, &["--tap", ".safetensors"]);
    run(&["attend", "--trace", "a.json", "--model", "built-in"], "").fails(2, &["--trace", "--model"]);
    for option in
        [["--beams", "3"], ["--memory", "5"], ["--weights", "q8"], ["--to", "de"], ["--device", "cpu"]]
    {
        run(&[&["attend", "--trace", "a.json"], &option[..]].concat(), "").fails(2, &["--trace", option[0]]);
        if option[0] != "--memory" {
            run(&[&["explain", "--trace", "a.json"], &option[..]].concat(), "")
                .fails(2, &["--trace", option[0]]);
        }
    }
    attend(&[" "]).fails(1, &["nothing to look at"]);
    run(&["attend", "--trace", "nowhere.json"], "").fails(1, &["cannot read nowhere.json"]);
    let gpt2 = model("gpt2");
    run(&["attend", "--model", &gpt2, "--device", "cpu", "hi"], "").fails(1, &["gpt2"]);
}
