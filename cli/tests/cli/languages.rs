//! `--from` and `--to`: the choice of a model, pivots, and the language of a text. The models are those of the built-in pair
//! and small ones with random weights, in a cache of the hub's layout. No network is asked.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::common::data;
use super::{Run, run_with, scratch, text};

/// A cache with models of these pairs.
struct Cache {
    home: PathBuf,
}

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

impl Cache {
    fn new(test: &str, pairs: &[&str]) -> Self {
        let cache = Self { home: scratch(test).join("home") };
        fs::create_dir_all(cache.home.join("hub")).unwrap();
        for pair in pairs {
            let folder = cache.folder(pair);
            fs::create_dir_all(&folder).unwrap();
            let refs = cache.repository(pair).join("refs");
            fs::create_dir_all(&refs).unwrap();
            fs::write(refs.join("main"), COMMIT).unwrap();
            for file in [
                "config.json",
                "generation_config.json",
                "model.safetensors",
                "source.spm",
                "target.spm",
                "vocab.json",
            ] {
                fs::copy(data("models/marian_tied").join(file), folder.join(file)).unwrap();
            }
            let (from, to) = pair.split_once('-').unwrap();
            let config = fs::read_to_string(data("models/marian_tied/tokenizer_config.json")).unwrap();
            let mut config: Value = serde_json::from_str(&config).unwrap();
            (config["source_lang"], config["target_lang"]) = (from.into(), to.into());
            fs::write(folder.join("tokenizer_config.json"), config.to_string()).unwrap();
            // the language of its tag is the one that it writes
            let vocabulary = fs::read_to_string(folder.join("vocab.json")).unwrap();
            let tag = format!(">>{}<<", if to == "ko" { "kor" } else { to });
            fs::write(folder.join("vocab.json"), vocabulary.replace(">>kor<<", &tag)).unwrap();
        }
        cache
    }

    fn repository(&self, pair: &str) -> PathBuf {
        self.home.join(format!("hub/models--tests--opus-mt-{pair}"))
    }

    fn folder(&self, pair: &str) -> PathBuf {
        self.repository(pair).join("snapshots").join(COMMIT)
    }

    fn run(&self, arguments: &[&str], stdin: &str) -> Run {
        let own = self.home.join("own");
        let environment = [
            ("HF_HOME", text(&self.home)),
            ("HF_HUB_CACHE", ""),
            ("WORDLOOM_MODELS", text(&own)),
            ("HF_HUB_OFFLINE", "1"),
        ];
        let all = [&arguments[..1], &["--device", "cpu"], &arguments[1..]].concat();
        run_with(&all, stdin, &environment)
    }

    /// As [`run`](Self::run), for a short translation.
    fn translate(&self, arguments: &[&str], stdin: &str) -> Run {
        self.run(&[&["translate", "--max-length", "12"], arguments].concat(), stdin)
    }
}

/// The one line of a run's notices that begins so.
#[track_caller]
fn told(run: &Run, beginning: &str) -> String {
    let lines: Vec<&str> = run.stderr().lines().filter(|line| line.starts_with(beginning)).collect();
    let [line] = lines[..] else { panic!("{beginning}: {}", run.stderr()) };
    line.to_owned()
}

#[test]
fn the_model_of_the_pair_is_chosen() {
    let cache = Cache::new("languages_pair", &["de-ko", "fr-ko"]);
    let chosen = cache.translate(&["--from", "deu", "--to", "ko-KR", "Guten Tag!"], "");
    let folder = cache.folder("de-ko");
    let named = cache.translate(&["--model", text(&folder), "--target-lang", "kor", "Guten Tag!"], "");
    assert_eq!(chosen.succeeds(), named.succeeds());
    assert_eq!(told(&chosen, "model: "), "model: tests/opus-mt-de-ko (de → ko-KR)");
    let built_in = cache.run(&["translate", "--from", "en", "--to", "de", "Good morning!"], "");
    assert_eq!(built_in.succeeds(), "Guten Morgen!\n");
    assert_eq!(told(&built_in, "model: "), "model: built-in:en-de (en → de)");
}

/// In a cache without models, and without a network.
#[cfg(feature = "embedded-models")]
#[test]
fn the_models_of_the_program_translate_both_ways() {
    let cache = Cache::new("languages_built_in", &[]);
    let station = "Wo ist der Bahnhof?";
    for from in [&["--from", "de"][..], &["--from", "auto"], &[]] {
        let english = cache.run(&[&["translate", "--to", "en", station], from].concat(), "");
        assert_eq!(english.succeeds(), "Where is the railway station?\n");
        assert_eq!(told(&english, "model: "), "model: built-in:de-en (de → en)");
    }
    let named = cache.run(&["translate", "--model", "built-in:de-en", station], "");
    assert_eq!(named.succeeds(), "Where is the railway station?\n");
    let there = cache.run(&["translate", "--model", "built-in", "Where is the train station?"], "");
    assert_eq!(there.succeeds(), "Wo ist der Bahnhof?\n");
    cache.run(&["inspect", "built-in:de-en", "--run"], "").succeeds();
    let wrong = ["translate", "--model", "built-in:de-en", "--from", "en", "--to", "de", "Hello"];
    cache.run(&wrong, "").fails(2, &["built-in:de-en reads deu, not English"]);
    cache
        .run(&["translate", "--model", "built-in:de-xx", station], "")
        .fails(2, &["built-in:de-xx is not part of this program; there are built-in:en-de, built-in:de-en, built-in:en-fr, built-in:fr-en"]);
}

#[test]
fn two_models_translate_what_no_single_one_does() {
    let cache = Cache::new("languages_pivot", &["de-ko"]);
    let source = "Good morning! How are you?\n\nThanks.\r\n";
    let pair = ["--from", "en", "--to", "ko"];
    let first = cache.run(&["translate", "--from", "en", "--to", "de"], source);
    let second = cache.translate(&["--from", "de", "--to", "ko"], first.succeeds());
    let both = cache.run(&["translate", "--from", "en", "--to", "ko"], source);
    let whole = cache.run(&["translate", "--from", "de", "--to", "ko"], first.stdout());
    assert_eq!(both.succeeds(), whole.succeeds(), "as two calls");
    assert!(second.succeeds().lines().count() == 3);
    assert_eq!(
        told(&both, "no direct model: "),
        "no direct model: en → de → ko through built-in:en-de and tests/opus-mt-de-ko"
    );

    let json = cache.run(&[&["translate", "--json", "-n", "2", "-b", "2"], &pair[..]].concat(), source);
    let lines: Vec<Value> = json.succeeds().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["source"], "Good morning! How are you?");
    assert_eq!(lines[0]["intermediate"], first.stdout().lines().next().unwrap());
    assert_eq!(lines[0]["hypotheses"].as_array().unwrap().len(), 2);
    assert_eq!(lines[1]["intermediate"], "");

    let folder = scratch("languages_pivot_files");
    let (input, output) = (folder.join("in.txt"), folder.join("out.txt"));
    fs::write(&input, source).unwrap();
    let files = ["--input", text(&input), "--output", text(&output)];
    cache.run(&[&["translate"], &pair[..], &files].concat(), "").succeeds();
    assert_eq!(fs::read_to_string(&output).unwrap(), both.stdout());
}

#[test]
fn an_interrupted_pivot_goes_on_with_the_same_models_only() {
    let cache = Cache::new("languages_resume", &["de-ko", "de-nl"]);
    let folder = scratch("languages_resume_files");
    let (input, output, record) =
        (folder.join("in.txt"), folder.join("out.txt"), folder.join("out.txt.resume"));
    fs::write(&input, "Thanks.\n").unwrap();
    // a record of a run that stopped before its first line
    let before = |to: &str| {
        let model = "built-in:en-de of wordloom ".to_owned() + env!("CARGO_PKG_VERSION");
        let hash = "d41d8cd98f00b204e9800998ecf8427e";
        format!(
            r#"{{"format": 1, "settings": {{"--from": "en", "--to": "{to}", "--model": "{model}"}}, "lines": 0,
                "window": 128, "input": {{"bytes": 0, "hash": "{hash}"}}, "output": {{"bytes": 0, "hash": "{hash}"}}}}"#
        )
    };
    fs::write(&record, before("nl")).unwrap();
    let files =
        ["--input", text(&input), "--output", text(&output), "--resume", "--from", "en", "--to", "ko"];
    let other = cache.translate(&files, "");
    assert_eq!(other.output.status.code(), Some(1), "{}", other.stderr());
    let _ = fs::remove_file(&record);
    cache.translate(&files, "").succeeds();
    assert_eq!(fs::read_to_string(&output).unwrap().lines().count(), 1);
}

#[test]
fn the_language_of_the_text_is_detected() {
    let cache = Cache::new("languages_auto", &["fr-ko"]);
    for options in [&["--to", "de"][..], &["--to", "de", "--from", "auto"]] {
        let found = cache.run(&[&["translate"], options, &["Where is the train station?"]].concat(), "");
        assert_eq!(found.succeeds(), "Wo ist der Bahnhof?\n");
        assert_eq!(told(&found, "detected: "), "detected: English");
    }
    let lines = "Where is the train station?\nThanks.\n";
    let typed = cache.run(&["translate", "--to", "de"], lines);
    assert_eq!(typed.succeeds(), "Wo ist der Bahnhof?\nDanke.\n", "no line is lost");
    // seems Swedish, which no model here reads
    let few = cache.run(&["translate", "--to", "de", "Log in"], "");
    few.succeeds();
    assert!(told(&few, "detected: ").starts_with("detected: probably English"), "{}", few.stderr());
    assert_eq!(told(&few, "model: "), "model: built-in:en-de (en → de)");
    let french = cache.translate(&["--to", "ko", "Où se trouve la gare la plus proche ?"], "");
    french.succeeds();
    assert_eq!(told(&french, "model: "), "model: tests/opus-mt-fr-ko (fr → ko)");
    let cases: [(&str, i32, &[&str]); 5] = [
        ("", 2, &["there is no text that tells its language", "--from"]),
        ("Taxi", 2, &["too short to tell its language", "--from"]),
        ("12:30", 2, &["does not tell its language", "--from"]),
        ("Das ist ein schöner Tag, nicht wahr?", 2, &["is in German already"]),
        ("¿Dónde está la estación de tren más cercana?", 1, &["Spanish to German", "wordloom models get"]),
    ];
    for (text, code, parts) in cases {
        assert_eq!(cache.run(&["translate", "--to", "de", text], "").fails(code, parts), "");
    }
}

#[test]
fn one_language_twice_is_an_error() {
    let same = Cache::new("languages_same", &[]).run(&["translate", "--from", "en", "--to", "en", "Hi"], "");
    same.fails(2, &["--from and --to are both English"]);
}

#[test]
fn what_is_not_there_can_be_had_with_one_command() {
    let cache = Cache::new("languages_offer", &["ko-en"]);
    let cases: [(&str, &str, &[&str]); 4] = [
        (
            "en",
            "pt",
            &[
                "English to Portuguese",
                "`wordloom models get firefox:en-pt` gets one",
                "about 26 MB, MPL-2.0",
            ],
        ),
        ("ko", "pt", &["`wordloom models get firefox:en-pt` gets one"]), // the other half is there
        ("uk", "pt", &["`wordloom models get firefox:uk-en firefox:en-pt` gets two through English"]),
        ("en", "ia", &["English to Interlingua", "none is known", "--model"]),
    ];
    for (from, to, parts) in cases {
        cache.run(&["translate", "--from", from, "--to", to, "x"], "").fails(1, parts);
    }
}

#[test]
fn languages_of_a_named_model_are_in_any_code() {
    let cache = Cache::new("languages_named", &["de-ko"]);
    let folder = cache.folder("de-ko");
    let with = |options: &[&str]| {
        cache.translate(&[&["--model", text(&folder), "Guten Tag!"], options].concat(), "")
    };
    let own = with(&["--target-lang", "kor"]);
    assert_eq!(with(&["--from", "de", "--to", "ko_KR"]).succeeds(), own.succeeds());
    assert_eq!(with(&["--to", "kor_Hang"]).succeeds(), own.stdout());
    let auto = cache.translate(
        &["--model", text(&folder), "--from", "auto", "--to", "ko", "Wo ist hier der Bahnhof, bitte?"],
        "",
    );
    auto.succeeds();
    with(&["--from", "en", "--to", "ko"]).fails(2, &["reads de, not English"]);
    with(&["--to", "fr"]).fails(2, &["writes kor, not French"]);
    with(&["--to", "ko", "--target-lang", "kor"]).fails(2, &["--to", "--target-lang"]);
}

#[test]
fn codes_that_are_none_and_halves_of_a_pair_are_refused() {
    let cache = Cache::new("languages_codes", &["de-ko"]);
    let cases: [(&[&str], &[&str]); 3] = [
        (&["--from", "English", "--to", "de"], &["--from", "\"English\" is no language code", "en"]),
        (&["--from", "en", "--to", "qq"], &["--to", "\"qq\" is no language code"]),
        (&["--from", "en"], &["--from", "together with --to"]),
    ];
    for (options, parts) in cases {
        cache.run(&[&["translate", "x"], options].concat(), "").fails(2, parts);
    }
}

#[test]
fn commands_that_look_into_a_model_choose_one() {
    let cache = Cache::new("languages_attend", &["de-ko"]);
    let text = "Where is the train station?";
    let chosen = cache.run(&["attend", "--statistics", "--to", "de", text], "");
    assert_eq!(chosen.succeeds(), cache.run(&["attend", "--statistics", text], "").succeeds());
    let two = cache.run(&["attend", "--from", "en", "--to", "ko", text], "");
    two.fails(1, &["English to Korean", "looks into one model", "tests/opus-mt-de-ko"]);
    let links = cache.run(&["align", "--from", "en", "--to", "de"], "Where is the train station?\n");
    assert_eq!(links.succeeds(), "0-0 1-1 2-2 3-3\n");
    cache.run(&["align", "--to", "de"], "Where is it?\n").fails(2, &["--from"]);
}
