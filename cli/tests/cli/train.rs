//! `wordloom train` and `wordloom average`, with a tiny model on some of Tatoeba's pairs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use safetensors::SafeTensors;
use serde_json::{Value, json};

use super::common::data;
use super::{Run, command, run, scratch, text};

/// A training in a folder of its own: `pairs.tsv`, `config.json`, and the model in `out`.
struct Training {
    folder: PathBuf,
}

impl Training {
    fn new(test: &str) -> Self {
        let folder = scratch(test);
        let all = fs::read_to_string(data("tatoeba-test.tsv")).unwrap();
        let pairs: String = all.lines().take(160).map(|line| format!("{line}\n")).collect();
        fs::write(folder.join("pairs.tsv"), pairs).unwrap();
        let config = r#"{"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
            "decoder_attention_heads": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_position_embeddings": 128}"#;
        fs::write(folder.join("shape.json"), config).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> String {
        text(&self.folder.join(name)).to_owned()
    }

    /// The arguments of a training into a folder.
    fn arguments(&self, out: &str, options: &[&str]) -> Vec<String> {
        let (pairs, shape, out) = (self.path("pairs.tsv"), self.path("shape.json"), self.path(out));
        let model = match options.contains(&"--model") {
            true => vec![],
            false => vec!["--config", &shape, "--vocabulary", "400"],
        };
        let common = ["train", "--pairs", &pairs, "--out", &out, "--device", "cpu", "--batch-tokens", "256"];
        let warmup: &[&str] = if options.contains(&"--warmup") { &[] } else { &["--warmup", "10"] };
        let more = ["--cooldown", "0", "--bleu-pairs", "4"];
        let all = common.iter().chain(&model).chain(&more).chain(warmup).chain(options);
        all.map(|&argument| argument.to_owned()).collect()
    }

    fn run(&self, out: &str, options: &[&str]) -> Run {
        let arguments = self.arguments(out, options);
        run(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), "")
    }

    /// Trains, and checks that it ends well.
    #[track_caller]
    fn trains(&self, out: &str, options: &[&str]) -> Run {
        let run = self.run(out, options);
        assert_eq!(run.output.status.code(), Some(0), "{}: {}", run.what, run.stderr());
        assert_eq!(run.stdout(), "");
        run
    }

    /// Trains, and checks that it fails with all `parts` in its last line.
    #[track_caller]
    fn fails(&self, out: &str, options: &[&str], code: i32, parts: &[&str]) {
        let run = self.run(out, options);
        assert_eq!(run.output.status.code(), Some(code), "{}: {}", run.what, run.stderr());
        let line = run.stderr().lines().last().unwrap_or_default();
        assert!(line.starts_with("error: "), "{}: {line}", run.what);
        for part in parts {
            assert!(line.contains(part), "{}: {part:?} is not in: {line}", run.what);
        }
    }

    fn checkpoints(&self, out: &str) -> Vec<String> {
        let folder = self.folder.join(out).join("checkpoints");
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn log(&self, out: &str) -> Vec<Value> {
        let lines = fs::read_to_string(self.folder.join(out).join("train.jsonl")).unwrap_or_default();
        lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

/// The bytes of all tensors of a file.
fn tensors(file: &Path) -> BTreeMap<String, Vec<u8>> {
    let bytes = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let tensors = SafeTensors::deserialize(&bytes).expect("sound safetensors");
    tensors.iter().map(|(name, tensor)| (name.to_owned(), tensor.data().to_vec())).collect()
}

fn events<'a>(log: &'a [Value], event: &str) -> Vec<&'a Value> {
    log.iter().filter(|line| line["event"] == event).collect()
}

#[test]
fn a_resumed_training_is_the_same_bit_for_bit() {
    is_the_same_when_resumed(&Training::new("train-resume"), &["--accumulate", "2"]);
}

/// The names that the file of a test puts in.
const LISTS: &str = r#"{"languages": ["en", "de"], "numbers": 0.5, "groups":
    [{"name": "people", "share": 0.9, "find": ["Tom", ["Mary", ["Mary", "Maria"]]], "put": ["Ida", "Żo", "Kim"]}]}"#;

#[test]
fn a_resumed_training_draws_the_same_examples() {
    let training = Training::new("train-resume-examples");
    fs::write(training.folder.join("lists.json"), LISTS).unwrap();
    let lists = training.path("lists.json");
    let languages = ["--from", "en", "--to", "de", "--substitute", &lists];
    let shares = ["--accumulate", "4", "--joined", "0.3", "--lower-cased", "0.2", "--unpunctuated", "0.2"];
    is_the_same_when_resumed(&training, &[&languages[..], &shares].concat());
    // several passes, of which each has other examples
    let epochs = training.log("twice").iter().filter_map(|event| event["epoch"].as_f64()).fold(0.0, f64::max);
    assert!(epochs > 3.0, "{epochs}");
    let card = fs::read_to_string(training.folder.join("twice/MODEL_CARD.md")).unwrap();
    for part in ["two pairs joined: a share of 0.3", "lists.json", "lower case"] {
        assert!(card.contains(part), "{part}: {card}");
    }
    // only the names that were put in have this letter
    let vocabulary = fs::read_to_string(training.folder.join("twice/vocab.json")).unwrap();
    assert!(vocabulary.contains('Ż'), "the vocabulary counts the names that are put in");
    let again = |options: &[&str], parts: &[&str]| {
        let all = [&["--max-steps", "30", "--resume"], &languages[..], options].concat();
        training.fails("twice", &all, 1, &[&["training.json"], parts].concat());
    };
    again(&["--accumulate", "4", "--joined", "0.1"], &["--joined was 0.3, and is 0.1"]);
    fs::write(&lists, LISTS.replace("0.9", "0.8")).unwrap();
    again(&shares, &["--substitute was "]);
}

#[track_caller]
fn is_the_same_when_resumed(training: &Training, more: &[&str]) {
    let options = [&["--test-steps", "10", "--patience", "0"], more].concat();
    let with = |more: &[&'static str]| [&options[..], more].concat();
    training.trains("once", &with(&["--max-steps", "20"]));
    training.trains("twice", &with(&["--max-steps", "10"]));
    training.trains("twice", &with(&["--max-steps", "20", "--resume"]));
    assert_eq!(training.checkpoints("once"), ["step-00000020"]);
    assert_eq!(training.checkpoints("twice"), ["step-00000010", "step-00000020"]);
    for file in ["model.safetensors", "training.safetensors"] {
        let of = |out: &str| tensors(&training.folder.join(out).join("checkpoints/step-00000020").join(file));
        let (once, twice) = (of("once"), of("twice"));
        assert!(once.len() > 20, "{file}: {} tensors", once.len());
        assert_eq!(once.keys().collect::<Vec<_>>(), twice.keys().collect::<Vec<_>>());
        for (name, bytes) in &once {
            assert_eq!(bytes, &twice[name], "{file}: {name}");
        }
        let before = tensors(&training.folder.join("twice/checkpoints/step-00000010").join(file));
        assert_ne!(before, twice, "{file}: the last ten steps changed something");
    }
    // the curves, too: losses, gradients and tests
    let curve = |out: &str| -> Vec<Value> {
        let log = training.log(out);
        let keep = ["step", "loss", "smoothed_loss", "gradient_norm", "learning_rate", "bleu", "best"];
        let all = events(&log, "steps").into_iter().chain(events(&log, "test"));
        all.map(|event| keep.iter().map(|key| event[*key].clone()).collect()).collect()
    };
    assert_eq!(curve("once").len(), 4);
    assert_eq!(curve("once"), curve("twice"));
}

#[test]
fn a_trained_folder_is_a_model_for_every_command() {
    let training = Training::new("train-folder");
    let trained = training.trains("out", &["--max-steps", "12", "--from", "en", "--to", "de"]);
    for part in
        ["160 pairs", "8 of them held back as the dev set", "dev loss", "finished after 12 steps", "chrF2"]
    {
        assert!(trained.stderr().contains(part), "{part}: {}", trained.stderr());
    }
    let out = training.path("out");
    let checkpoint = training.path("out/checkpoints/step-00000012");
    for folder in [&out, &checkpoint] {
        let arguments = ["translate", "--model", folder, "--device", "cpu", "--max-length", "8", "Her name"];
        assert!(run(&arguments, "").succeeds().ends_with('\n'));
    }
    let card = fs::read_to_string(training.folder.join("out/MODEL_CARD.md")).unwrap();
    for part in ["wordloom train --pairs", "Seed 1", "BLEU of 4 dev pairs", "en to de", "dev loss"] {
        assert!(card.contains(part), "{part}: {card}");
    }
    let page = fs::read_to_string(training.folder.join("out/train.html")).unwrap();
    assert!(page.contains("finished after 12 steps") && page.contains("<polyline"), "{page}");
    assert!(!page.contains("http-equiv") && !page.contains("<script") && !page.contains("://"), "{page}");
    let log = training.log("out");
    assert_eq!(events(&log, "start")[0]["dev_pairs"], 8);
    assert_eq!(events(&log, "steps").last().unwrap()["step"], 12);
    assert_eq!(events(&log, "end").len(), 1);
    // a finished training is not tested twice
    training.trains("out", &["--max-steps", "12", "--from", "en", "--to", "de", "--resume"]);
    assert_eq!(events(&training.log("out"), "test").len(), 1);
    // a second training does not write over the first
    training.fails("out", &["--max-steps", "12"], 1, &["out", "there is a model already", "--resume"]);
}

#[test]
fn what_a_run_depends_on_must_be_the_same() {
    let training = Training::new("train-other");
    training.trains("out", &["--max-steps", "2"]);
    let resume = |options: &[&str], parts: &[&str]| {
        let options = [&["--max-steps", "4", "--resume"], options].concat();
        training.fails("out", &options, 1, &[&["training.json"], parts].concat());
    };
    resume(&["--dropout", "0.2"], &["--dropout was 0.1, and is 0.2"]);
    resume(&["--seed", "7"], &["--seed was 1, and is 7"]);
    resume(&["--freeze", "encoder"], &["--freeze was", "and is encoder"]);
    let pairs = training.folder.join("pairs.tsv");
    let more = fs::read_to_string(&pairs).unwrap() + "A new line.\tEine neue Zeile.\n";
    fs::write(&pairs, more).unwrap();
    resume(&[], &["data was 152 pairs", "and is 153 pairs"]);
    let record = training.folder.join("out/checkpoints/step-00000002/training.json");
    fs::write(&record, "{}").unwrap();
    resume(&[], &["no record of a training", "\"format\" is missing"]);
}

/// Whoever ends well has the best model in the folder.
#[test]
fn a_best_model_that_cannot_be_written_is_an_error_in_the_end() {
    let training = Training::new("train-unwritten");
    training.trains("out", &["--max-steps", "3"]);
    let weights = training.folder.join("out/model.safetensors");
    fs::remove_file(&weights).unwrap();
    fs::create_dir_all(weights.join("in the way")).unwrap();
    let options = ["--max-steps", "40", "--test-steps", "10", "--resume"];
    let run = training.run("out", &options);
    assert_eq!(run.output.status.code(), Some(1), "{}", run.stderr());
    assert!(run.stderr().contains("the training goes on, and tries again later"), "{}", run.stderr());
    assert!(run.stderr().lines().last().unwrap().starts_with("error: "), "{}", run.stderr());
}

/// Interrupted at a test or before or after it: the tests are at the same steps, and the best model is the same.
#[test]
#[cfg(unix)]
fn a_run_that_is_interrupted_at_a_test_tests_then() {
    let training = Training::new("train-at-a-test");
    let options = ["--max-steps", "40", "--test-steps", "10", "--learning-rate", "4e-3"];
    training.trains("whole", &options);
    let arguments = training.arguments("parts", &options);
    let child = command(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).spawn().unwrap();
    wait_for_steps(&training, "parts", 2);
    super::interrupt::interrupt(&child);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    training.trains("parts", &[&options[..], &["--resume"]].concat());
    let tests = |out: &str| {
        let log = training.log(out);
        events(&log, "test")
            .iter()
            .map(|test| (test["step"].clone(), test["best"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(tests("whole"), tests("parts"));
    let weights = |out: &str| tensors(&training.folder.join(out).join("model.safetensors"));
    assert_eq!(weights("whole"), weights("parts"));
}

#[test]
fn a_model_without_its_checkpoints_is_not_written_over() {
    let training = Training::new("train-lost");
    training.trains("out", &["--max-steps", "2"]);
    let weights = training.folder.join("out/model.safetensors");
    let before = tensors(&weights);
    fs::remove_dir_all(training.folder.join("out/checkpoints")).unwrap();
    training.fails("out", &["--max-steps", "4", "--resume"], 1, &["no checkpoint to go on from"]);
    training.fails("out", &["--max-steps", "4"], 1, &["there is a model already; choose another folder"]);
    assert_eq!(tensors(&weights), before);

    // a training that diverged before its first test leaves a log alone
    let log = fs::read(training.folder.join("out/train.jsonl")).unwrap();
    fs::create_dir_all(training.folder.join("none")).unwrap();
    fs::write(training.folder.join("none/train.jsonl"), log).unwrap();
    let run = training.trains("none", &["--max-steps", "2"]);
    assert!(run.stderr().contains("the training before wrote no model"), "{}", run.stderr());
    assert_eq!(events(&training.log("none"), "start").len(), 1);
}

/// The model that a fine-tuning begins with counts, too.
#[test]
fn a_fine_tuning_does_not_end_with_a_worse_model() {
    let training = Training::new("train-worse");
    training.trains("base", &["--max-steps", "30", "--learning-rate", "0.01"]);
    let weights = |out: &str| tensors(&training.folder.join(out).join("model.safetensors"));
    let base = training.path("base");
    let options = ["--model", &base, "--max-steps", "3", "--learning-rate", "1", "--warmup", "1"];
    let run = training.trains("worse", &options);
    assert!(run.stderr().contains("better than that of the model at the beginning"), "{}", run.stderr());
    assert!(run.stderr().contains("is worse than that of guesses, 6.0"), "{}", run.stderr());
    assert_eq!(events(&training.log("worse"), "test")[0]["step"], 0);
    assert_eq!(weights("worse"), weights("base"));
}

#[test]
fn what_a_folder_has_and_what_is_left_out_is_said() {
    let training = Training::new("train-said");
    let run = training.trains("short", &["--max-steps", "2", "--warmup", "5"]);
    assert!(
        run.stderr().contains("rises for 5 steps (--warmup), and the training takes 2"),
        "{}",
        run.stderr()
    );
    training.fails(
        "short",
        &["--max-steps", "4", "--warmup", "5", "--resume", "--swap"],
        1,
        &["--swap was not given"],
    );
    let other = training.folder.join("other");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("pytorch_model.bin"), "mine").unwrap();
    training.fails("other", &["--max-steps", "1"], 1, &["other: there is a model already"]);

    let pairs = training.path("pairs.tsv");
    let tagged = fs::read_to_string(&pairs).unwrap().replace('\n', "\tnews\n");
    fs::write(&pairs, tagged).unwrap();
    let dev = training.path("dev.tsv");
    fs::write(&dev, "A horse.\tEin Pferd.\tother\nA house.\tEin Haus.\tother\n").unwrap();
    let options = ["--max-steps", "1", "--tags", "news", "--dev", &dev];
    training.fails("out", &options, 1, &["dev.tsv: no pair of the dev set has one of the tags"]);

    let long = "one two three four five six seven eight nine ten ".repeat(20);
    fs::write(&dev, format!("A horse.\tEin Pferd.\tnews\n{long}\t{long}\tnews\n")).unwrap();
    let run = training.trains("left-out", &options);
    assert!(run.stderr().contains("1 dev pair"), "{}", run.stderr());
    let card = fs::read_to_string(training.folder.join("left-out/MODEL_CARD.md")).unwrap();
    assert!(card.contains("`MarianMTModel`"), "{card}");
}

/// A path need not be Unicode.
#[test]
#[cfg(target_os = "linux")]
fn pairs_can_have_any_name() {
    use std::os::unix::ffi::OsStrExt;
    let training = Training::new("train-name");
    let named = training.folder.join(std::ffi::OsStr::from_bytes(b"p\xff.tsv"));
    fs::copy(training.folder.join("pairs.tsv"), &named).unwrap();
    let arguments = training.arguments("out", &["--max-steps", "1"]);
    let arguments = arguments.iter().map(std::ffi::OsString::from);
    let arguments = arguments.map(|argument| match argument.as_bytes().ends_with(b"pairs.tsv") {
        true => named.clone().into_os_string(),
        false => argument,
    });
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_wordloom")).args(arguments).output().unwrap();
    let run = Run { what: "any name".into(), output };
    assert_eq!(run.output.status.code(), Some(0), "{}", run.stderr());
}

/// Waits until a training has written this number of lines with steps.
fn wait_for_steps(training: &Training, out: &str, count: usize) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while events(&training.log(out), "steps").len() < count {
        assert!(Instant::now() < deadline, "{:?}", training.log(out));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[cfg(unix)]
fn neither_ctrl_c_nor_kill_loses_the_work() {
    let training = Training::new("train-kill");
    let forever = ["--max-steps", "100000000", "--patience", "0"];
    let spawn = |options: &[&str]| {
        let arguments = training.arguments("out", &[&forever[..], options].concat());
        command(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).spawn().unwrap()
    };
    let child = spawn(&[]);
    wait_for_steps(&training, "out", 2);
    super::interrupt::interrupt(&child);
    let run = Run { what: "interrupted".into(), output: child.wait_with_output().unwrap() };
    assert_eq!(run.output.status.code(), Some(130), "{}", run.stderr());
    assert!(run.stderr().contains("--resume goes on"), "{}", run.stderr());
    let first = training.checkpoints("out");
    assert_eq!(first.len(), 1);

    // a checkpoint every ten steps; then the process ends without a word
    let before = events(&training.log("out"), "steps").len();
    let mut child = spawn(&["--resume", "--save-minutes", "0", "--keep", "2"]);
    wait_for_steps(&training, "out", before + 4);
    child.kill().unwrap();
    child.wait().unwrap();
    let complete = |name: &&String| name.starts_with("step-");
    let (names, logged) = (training.checkpoints("out"), training.log("out"));
    let last = names.iter().rfind(complete).unwrap();
    let step: u64 = last.strip_prefix("step-").unwrap().parse().unwrap();
    let reached = events(&logged, "steps").last().unwrap()["step"].as_u64().unwrap();
    assert!(reached - step <= 20, "step {reached}, checkpoint {step}");
    assert!(names.iter().filter(complete).count() <= 3, "{names:?}");

    let end = (step + 5).to_string();
    let resumed = training.trains("out", &["--resume", "--max-steps", &end, "--patience", "0"]);
    assert!(resumed.stderr().contains(&format!("{last}, step {step}")), "{}", resumed.stderr());
    let log = training.log("out");
    let steps: Vec<u64> = events(&log, "steps").iter().map(|event| event["step"].as_u64().unwrap()).collect();
    assert!(steps.is_sorted_by(|one, other| one < other), "no step is in the log twice: {steps:?}");
}

/// `nohup` lets a training go on after its terminal is closed.
#[test]
#[cfg(unix)]
fn a_hangup_that_is_ignored_stays_ignored() {
    let training = Training::new("train-nohup");
    let arguments = training.arguments("out", &["--max-steps", "100000000", "--patience", "0"]);
    for (script, ends) in [("exec \"$0\" \"$@\"", true), ("trap '' HUP; exec \"$0\" \"$@\"", false)] {
        let _ = fs::remove_dir_all(training.folder.join("out"));
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", script, env!("CARGO_BIN_EXE_wordloom")]).args(&arguments);
        let mut child = shell.stderr(std::process::Stdio::null()).spawn().unwrap();
        wait_for_steps(&training, "out", 1);
        let hangup =
            std::process::Command::new("sh").args(["-c", &format!("kill -HUP {}", child.id())]).status();
        assert!(hangup.is_ok_and(|status| status.success()));
        if ends {
            assert_eq!(child.wait().unwrap().code(), Some(130));
            continue;
        }
        let before = events(&training.log("out"), "steps").len();
        wait_for_steps(&training, "out", before + 5);
        assert!(child.try_wait().unwrap().is_none(), "it goes on");
        super::interrupt::interrupt(&child);
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }
}

#[test]
#[cfg(unix)]
fn a_full_disk_keeps_the_last_checkpoint() {
    let training = Training::new("train-full");
    training.trains("out", &["--max-steps", "3"]);
    let before = tensors(&training.folder.join("out/checkpoints/step-00000003/model.safetensors"));
    // no file may be longer than this: as if the disk were full in the middle of one
    let arguments = training.arguments("out", &["--max-steps", "6", "--resume"]);
    let script = "ulimit -f 100; exec \"$0\" \"$@\"";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_wordloom")]).args(&arguments);
    let run = Run { what: "full".into(), output: shell.output().unwrap() };
    assert_eq!(run.output.status.code(), Some(1), "{}", run.stderr());
    assert!(run.stderr().contains("the old file, if any, is kept"), "{}", run.stderr());
    assert_eq!(training.checkpoints("out"), ["step-00000003"]);
    assert_eq!(tensors(&training.folder.join("out/checkpoints/step-00000003/model.safetensors")), before);
    training.trains("out", &["--max-steps", "6", "--resume"]);
    assert_eq!(training.checkpoints("out"), ["step-00000003", "step-00000006"]);
}

#[test]
fn a_training_that_diverges_stops_and_keeps_the_good_checkpoint() {
    let training = Training::new("train-diverge");
    let words = ["is NaN", "training has diverged", "largest gradient was", "Lower the learning rate"];
    training.trains("out", &["--max-steps", "3"]);
    let moments = training.folder.join("out/checkpoints/step-00000003/training.safetensors");
    let mut bytes = fs::read(&moments).unwrap();
    let end = bytes.len();
    bytes[end - 64..].fill(0xff); // numbers that are none: the next step makes weights of them
    fs::write(&moments, bytes).unwrap();
    let options = ["--max-steps", "60", "--resume", "--save-minutes", "0"];
    training.fails("out", &options, 1, &[&["the loss of step 5 "], &words[..]].concat());
    assert_eq!(training.checkpoints("out"), ["step-00000003"]);
    let log = training.log("out");
    let reason = events(&log, "end").last().unwrap()["reason"].as_str().unwrap().to_owned();
    assert!(reason.starts_with("failed: the loss of step 5"), "{reason}");

    let options = ["--max-steps", "60", "--learning-rate", "1e30", "--warmup", "1", "--max-norm", "0"];
    training.fails("other", &options, 1, &words[1..]);
    assert_eq!(training.checkpoints("other").len(), 0);
}

#[test]
fn frozen_places_stay_as_they_are() {
    let training = Training::new("train-freeze");
    training.trains("base", &["--max-steps", "2"]);
    let base = training.path("base");
    let weights = |out: &str| tensors(&training.folder.join(out).join("model.safetensors"));
    let changed = |out: &str| -> Vec<String> {
        let (before, after) = (weights("base"), weights(out));
        assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
        before.keys().filter(|name| before[*name] != after[*name]).cloned().collect()
    };
    let options = ["--model", &base, "--max-steps", "2", "--freeze", "encoder.", "--freeze", "shared"];
    training.trains("frozen", &options);
    let names = changed("frozen");
    assert!(!names.is_empty() && names.iter().all(|name| name.starts_with("model.decoder.")), "{names:?}");
    training.trains("norms", &["--model", &base, "--max-steps", "2", "--train-only", "layer_norm"]);
    let names = changed("norms");
    assert!(!names.is_empty() && names.iter().all(|name| name.contains("layer_norm")), "{names:?}");
    let options = ["--model", &base, "--max-steps", "2", "--freeze", "nonesuch"];
    training.fails("none", &options, 1, &["--freeze nonesuch", "one of its names is model."]);
}

#[test]
fn the_mean_of_checkpoints_is_a_model() {
    let training = Training::new("train-average");
    training.trains("out", &["--max-steps", "2"]);
    training.trains("out", &["--max-steps", "4", "--resume"]);
    let [one, two] = ["2", "4"].map(|step| training.path(&format!("out/checkpoints/step-0000000{step}")));
    let mean = training.path("mean");
    let averaged = run(&["average", &one, &two, "--out", &mean], "");
    assert_eq!((averaged.output.status.code(), averaged.stdout()), (Some(0), ""), "{}", averaged.stderr());
    let of = |folder: &str| tensors(&Path::new(folder).join("model.safetensors"));
    let (first, second, got) = (of(&one), of(&two), of(&mean));
    let floats = |bytes: &[u8]| -> Vec<f32> {
        bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
    };
    for (name, bytes) in &got {
        let (one, two) = (floats(&first[name]), floats(&second[name]));
        let want: Vec<f32> = one
            .iter()
            .zip(&two)
            .map(|(&one, &two)| ((f64::from(one) + f64::from(two)) / 2.0) as f32)
            .collect();
        assert_eq!(floats(bytes), want, "{name}");
    }
    assert!(!Path::new(&mean).join("training.json").exists());
    let arguments = ["translate", "--model", &mean, "--device", "cpu", "--max-length", "8", "Her name"];
    assert!(run(&arguments, "").succeeds().ends_with('\n'));
    run(&["average", &one, &two, "--out", &mean], "").fails(1, &["mean", "there is a model already"]);
    run(&["average", &one, "/no/such", "--out", &training.path("other")], "").fails(1, &["/no/such"]);
}

#[test]
fn a_new_vocabulary_for_a_model_begins_with_what_the_model_knows() {
    let training = Training::new("train-new-vocabulary");
    let options = ["--model", "built-in", "--vocabulary", "600", "--from", "en", "--to", "de", "--max-steps"];
    let trained = training.trains("out", &[&options[..], &["1"]].concat());
    let stderr = trained.stderr();
    assert!(stderr.contains("learning a vocabulary of 600 tokens"), "{stderr}");
    assert!(stderr.contains("tokens as before"), "{stderr}");
    training.trains("out", &[&options[..], &["2", "--resume"]].concat());
    let config: Value =
        serde_json::from_slice(&fs::read(training.folder.join("out/config.json")).unwrap()).unwrap();
    assert_eq!((&config["vocab_size"], &config["pad_token_id"]), (&600.into(), &599.into()));
    let card = fs::read_to_string(training.folder.join("out/MODEL_CARD.md")).unwrap();
    assert!(card.contains("It got a new vocabulary of 600 tokens."), "{card}");
    let model = training.path("out");
    assert!(
        run(&["translate", "--model", &model, "--device", "cpu", "Hello!"], "").succeeds().ends_with('\n')
    );
}

/// The best model of a training is the last one here, so that its translations are those of the last checkpoint.
#[test]
fn learned_projections_are_trained_saved_and_used_by_every_command() {
    let training = Training::new("train-projections");
    let options = ["--attention", "encoder.*=linformer:3", "--learning-rate", "1e-2"];
    is_the_same_when_resumed(&training, &options);
    let config: Value =
        serde_json::from_slice(&fs::read(training.folder.join("once/config.json")).unwrap()).unwrap();
    assert_eq!(config["wordloom_attention"], "encoder.0=linformer:3");
    let card = fs::read_to_string(training.folder.join("once/MODEL_CARD.md")).unwrap();
    assert!(card.contains("projections of keys and values along the length"), "{card}");
    let names = ["keys", "values"].map(|part| format!("model.encoder.layers.0.self_attn.linformer_{part}"));
    let file = tensors(&training.folder.join("once/model.safetensors"));
    assert!(names.iter().all(|name| file[name].len() == 4 * 3 * 128), "{:?}", file.keys());

    let model = training.path("once/checkpoints/step-00000020");
    let translate = |more: &[&str]| {
        let all = ["translate", "--model", &model, "--device", "cpu", "Where is the old train station?"];
        run(&[&all[..], more].concat(), "")
    };
    let own = translate(&[]);
    assert!(!own.stderr().contains("approximation"), "{}", own.stderr());
    let own = own.succeeds().to_owned();
    assert_eq!(translate(&["--attention", "encoder.0=linformer:3"]).succeeds(), own);
    let other = translate(&["--attention", "encoder.0=linformer:2"]);
    assert!(other.stderr().contains("linformer:2 is an approximation"), "{}", other.stderr());
    let mean = training.path("mean");
    let average =
        run(&["average", &model, &training.path("twice/checkpoints/step-00000010"), "--out", &mean], "");
    assert!(average.output.status.success(), "{}", average.stderr());
    run(&["inspect", &mean], "").succeeds();
    let eight = training.path("eight");
    let quantize = run(&["quantize", &model, "--out", &eight], "");
    assert!(quantize.output.status.success(), "{}", quantize.stderr());
    run(&["translate", "--model", &eight, "--device", "cpu", "Hello!"], "").succeeds();

    // the same model further, only its projections; a model that has others, or a place for none
    training.trains("more", &["--model", &model, "--train-only", "linformer", "--max-steps", "2"]);
    let [before, after] = [&model, &training.path("more/checkpoints/step-00000002")]
        .map(|folder| tensors(&std::path::Path::new(folder).join("model.safetensors")));
    for (name, bytes) in &before {
        assert_eq!(bytes != &after[name], name.contains("linformer"), "{name}");
    }
    for (attention, code, part) in [
        ("encoder.*=linformer:2", 1, "encoder.0 has learned projections to 3 rows already"),
        ("encoder.*=linformer:200", 1, "more rows than the model's 128 positions"),
        ("encoder.*=window:2", 1, "a training learns linformer:K only"),
        ("encoder.3=linformer:3", 1, "no layer encoder.3"),
        ("encoder.*=linformer:0", 2, "1 dimension or more"),
        ("decoder.*=linformer:3", 2, "only an encoder's self-attention"),
    ] {
        let options = ["--model", &model, "--attention", attention, "--max-steps", "2"];
        let found = training.run(&format!("refused-{part}")[..12], &options);
        assert_eq!(found.output.status.code(), Some(code), "{attention}: {}", found.stderr());
        assert!(found.stderr().contains(part), "{attention}: {}", found.stderr());
    }
}

#[test]
fn bad_data_and_usage_are_said_in_one_line() {
    let training = Training::new("train-bad");
    let pairs = training.folder.join("pairs.tsv");
    let good = fs::read_to_string(&pairs).unwrap();
    let wrong = |line: &str, parts: &[&str]| {
        fs::write(&pairs, format!("{good}{line}\n")).unwrap();
        training.fails("out", &["--max-steps", "2"], 1, &[&["pairs.tsv, line 161"], parts].concat());
    };
    wrong("one column", &["one column"]);
    wrong("\tein Ziel", &["the source is empty"]);
    wrong("a\tb\tc", &["3 columns"]);
    wrong("a\0\tb", &["NUL"]);
    fs::write(&pairs, &good).unwrap();
    let usage = |options: &[&str], parts: &[&str]| training.fails("out", options, 2, parts);
    usage(&["--max-steps", "0"], &["--max-steps is 0"]);
    usage(&["--keep", "0"], &["--keep is 0"]);
    usage(&["--max-minutes", "-1"], &["-1 minutes"]);
    usage(&["--dropout", "1"], &["dropout is 1"]);
    usage(&["--learning-rate", "-1"], &["learning rate", "-1"]);
    usage(&["--goal", "best"], &["best", "bleu"]);
    assert!(!training.folder.join("out/model.safetensors").exists());

    // a dev set that the training data has, too
    let dev = training.folder.join("dev.tsv");
    fs::write(&dev, good.lines().take(5).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let trained = training.trains("overlap", &["--max-steps", "2", "--dev", text(&dev)]);
    assert!(trained.stderr().contains("5 pairs left out, because the source is also in the dev set"));
    // a vocabulary that the text does not support
    let arguments =
        ["train", "--pairs", text(&pairs), "--out", &training.path("large"), "--vocabulary", "90000"];
    let large = run(&arguments, "");
    assert_eq!(large.output.status.code(), Some(1));
    let line = large.stderr().lines().last().unwrap_or_default();
    assert!(line.starts_with("error: a vocabulary of 90000 tokens is too large"), "{line}");
    assert!(line.contains("which supports 1"), "{line}");
}

#[test]
fn pairs_come_from_several_files_with_tags_and_swapped_columns() {
    let training = Training::new("train-files");
    let all = fs::read_to_string(data("tatoeba-test.tsv")).unwrap();
    let rest: Vec<(&str, &str)> =
        all.lines().skip(200).take(60).map(|line| line.split_once('\t').unwrap()).collect();
    let write = |name: &str, lines: Vec<String>| {
        fs::write(training.folder.join(name), lines.join("\n")).unwrap();
        training.path(name)
    };
    let tag = |index: usize| ["news", "chat", "code"][index % 3];
    let lines = |rest: &[(&str, &str)]| -> Vec<String> {
        rest.iter().enumerate().map(|(index, (en, de))| format!("{en}\t{de}\t{}", tag(index))).collect()
    };
    let tagged = write("tagged.tsv", lines(&rest[..30]));
    let one = write("one.txt", rest[30..].iter().map(|(en, _)| (*en).to_owned()).collect());
    let other = write("other.txt", rest[30..].iter().map(|(_, de)| (*de).to_owned()).collect());
    let steps = ["--max-steps", "2"];
    let files = ["--pairs", &tagged, "--pairs", &one, &other];
    let trained = training.trains("out", &[&steps[..], &files, &["--tags", "news,chat"]].concat());
    for part in ["pairs.tsv: 160 pairs", "tagged.tsv: 20 pairs with these tags", "other.txt: 30 pairs"] {
        assert!(trained.stderr().contains(part), "{part}: {}", trained.stderr());
    }
    let fails = |options: &[&str], parts: &[&str]| {
        training.fails("bad", &[&steps[..], options].concat(), 1, parts);
    };
    fails(&files, &["tagged.tsv, line 1", "3 columns", "tags"]);
    fails(
        &[&files[..], &["--tags", "news,sport"]].concat(),
        &["no row has the tag \"sport\"", "chat, code, news"],
    );
    fails(&["--tags", "news"], &["no row has a third column"]);
    let lists = write("lists.json", vec![LISTS.to_owned()]);
    fails(&["--substitute", &lists], &["lists.json", "en and de", "--from"]);
    fails(&["--substitute", &training.path("none.json")], &["none.json"]);
    training.fails("bad", &["--joined", "1.5"], 2, &["--joined", "0 to 1"]);

    // swapped columns are the same as a file with the other order
    let turned: Vec<String> = fs::read_to_string(training.folder.join("pairs.tsv"))
        .unwrap()
        .lines()
        .map(|line| line.split_once('\t').unwrap())
        .map(|(en, de)| format!("{de}\t{en}"))
        .collect();
    let turned = write("turned.tsv", turned);
    training.trains("swapped", &["--max-steps", "2", "--swap"]);
    let mut arguments = training.arguments("by-hand", &steps);
    let place = arguments.iter().position(|argument| argument.ends_with("pairs.tsv")).unwrap();
    arguments[place] = turned;
    let by_hand = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), "");
    assert_eq!(by_hand.output.status.code(), Some(0), "{}", by_hand.stderr());
    let weights = |out: &str| tensors(&training.folder.join(out).join("model.safetensors"));
    assert_eq!(weights("swapped"), weights("by-hand"));
}

/// A configuration that a new model cannot follow is an error, not another model.
#[test]
fn keys_of_a_configuration_are_followed_or_refused() {
    let lab = Training::new("train_config_keys");
    let shape: Value =
        serde_json::from_str(&fs::read_to_string(lab.folder.join("shape.json")).unwrap()).unwrap();
    for (key, value, reason) in [
        (
            "activation_function",
            json!("swish"),
            "\"activation_function\" is \"swish\"; the new model has \"relu\"",
        ),
        ("scale_embedding", json!(false), "\"scale_embedding\" is false; the new model has true"),
        ("num_hidden_layers", json!(3), "\"num_hidden_layers\" is 3; the new model has 1"),
        ("d_modle", json!(32), "\"d_modle\" is no key of MarianConfig"),
        ("dropout", json!("much"), "\"dropout\" is \"much\"; it must be a number"),
    ] {
        let mut changed = shape.clone();
        changed[key] = value;
        fs::write(lab.folder.join("shape.json"), changed.to_string()).unwrap();
        lab.fails("out", &["--max-steps", "1"], 1, &["shape.json", reason]);
    }
    let mut much = shape.clone();
    much["dropout"] = json!(2.0);
    fs::write(lab.folder.join("shape.json"), much.to_string()).unwrap();
    lab.fails("out", &["--max-steps", "1"], 1, &["dropout is 2; it must be at least 0 and below 1"]);
    let with_dropout = |number: f64| {
        let mut changed = shape.clone();
        (changed["dropout"], changed["num_beams"]) = (json!(number), json!(3));
        fs::write(lab.folder.join("shape.json"), changed.to_string()).unwrap();
        let out = format!("dropout-{number}");
        lab.trains(&out, &["--max-steps", "2"]);
        let written = fs::read_to_string(lab.folder.join(&out).join("config.json")).unwrap();
        let written: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(written["dropout"], number);
        fs::read(lab.folder.join(&out).join("model.safetensors")).unwrap()
    };
    assert!(with_dropout(0.0) != with_dropout(0.5), "the training drops as many");
    lab.fails("out", &["--max-steps", "1", "--accumulate", "1000000000"], 2, &["--accumulate is 1000000000"]);
    // transformers reads the embeddings of an untied model under their own names
    let mut untied = shape;
    (untied["tie_word_embeddings"], untied["attention_dropout"]) = (json!(false), json!(0));
    fs::write(lab.folder.join("shape.json"), untied.to_string()).unwrap();
    lab.trains("untied", &["--max-steps", "2"]);
    let bytes = fs::read(lab.folder.join("untied/model.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let [shared, encoder, decoder] = ["shared", "encoder.embed_tokens", "decoder.embed_tokens"]
        .map(|name| file.tensor(&format!("model.{name}.weight")).unwrap().data().to_vec());
    assert!(shared == encoder && shared == decoder);
    lab.trains("untied", &["--max-steps", "3", "--resume"]);
}
