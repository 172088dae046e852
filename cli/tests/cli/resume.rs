//! `wordloom translate --resume`

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Run, command, model, run, scratch, text};

/// An input, an output and the record between them.
struct Files {
    input: PathBuf,
    output: PathBuf,
    record: PathBuf,
}

impl Files {
    fn new(test: &str) -> Self {
        let folder = scratch(test);
        let [input, output, record] = ["in.txt", "out.txt", "out.txt.resume"].map(|name| folder.join(name));
        Self { input, output, record }
    }

    fn arguments(&self, options: &[&str]) -> Vec<String> {
        let model = model("marian_tied");
        let common = ["translate", "--device", "cpu", "--model", &model, "--max-length", "12"];
        let files = ["--input", text(&self.input), "--output", text(&self.output)];
        common.iter().chain(&files).chain(options).map(|&argument| argument.to_owned()).collect()
    }

    fn run(&self, options: &[&str]) -> Run {
        let arguments = self.arguments(options);
        run(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), "")
    }

    /// Number of finished lines in the record.
    fn recorded_lines(&self) -> usize {
        let Ok(record) = fs::read(&self.record) else { return 0 };
        let record: Value = serde_json::from_slice(&record).expect("a record is never half written");
        record["lines"].as_u64().expect("a number") as usize
    }

    /// The files of an earlier run that failed in the third line.
    fn stopped(test: &str) -> Self {
        let files = Self::new(test);
        fs::write(&files.input, b"one\ntwo\r\nthree \xff\nfour\n").unwrap();
        files.run(&["-b", "1"]).fails(1, &["in.txt, line 3: not UTF-8"]);
        assert_eq!(files.recorded_lines(), 2);
        files
    }
}

fn lines(count: usize) -> impl Iterator<Item = String> {
    // many lengths, so that the order of batches differs from the order of lines
    (0..count)
        .map(|number| format!("{} {number}{}\n", "word ".repeat(number * 7 % 11), ["", "\r"][number % 2]))
}

/// The run is killed twice; a partial line does not count.
#[test]
fn a_killed_run_goes_on_where_it_stopped() {
    for json in [false, true] {
        let files = Files::new(if json { "resume_killed_json" } else { "resume_killed" });
        fs::write(&files.input, lines(500_000).collect::<String>()).unwrap();
        let mut before = 0;
        for resume in [false, true] {
            let options = [&["-b", "1"][..], &["--json"][..json.into()], &["--resume"][..resume.into()]];
            let arguments = files.arguments(&options.concat());
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            // its warnings are not read, and it must not wait for a reader
            let mut child = command(&arguments).stderr(Stdio::null()).spawn().unwrap();
            let deadline = Instant::now() + Duration::from_secs(60);
            while files.recorded_lines() <= before && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
            }
            let ended = child.try_wait().unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(ended.is_none(), "it ended");
            assert!(files.recorded_lines() > before, "nothing was recorded");
            before = files.recorded_lines();
            fs::OpenOptions::new().append(true).open(&files.output).unwrap().write_all(b"half a l").unwrap();
        }
        // the input after the finished lines may change
        fs::write(&files.input, lines(before + 50).collect::<String>()).unwrap();
        let options = [&["-b", "1"][..], &["--json"][..json.into()]].concat();
        files.run(&[&options[..], &["--resume"]].concat()).succeeds();
        let resumed = fs::read_to_string(&files.output).unwrap();
        assert!(!files.record.exists(), "the record of a complete run is removed");
        files.run(&options).succeeds();
        let whole = fs::read_to_string(&files.output).unwrap();
        assert_eq!(resumed.lines().count(), before + 50);
        match json {
            false => assert!(resumed == whole, "another text"),
            true => resumed.lines().zip(whole.lines()).for_each(|(resumed, whole)| {
                // on the CPU, the last digits of scores depend on the batch
                assert_eq!(without_scores(resumed), without_scores(whole));
            }),
        }
    }
}

fn without_scores(line: &str) -> Value {
    let mut line: Value = serde_json::from_str(line).expect("JSON");
    let mut strip = |pointer: &str| {
        for hypothesis in line.pointer_mut(pointer).and_then(Value::as_array_mut).expect("hypotheses") {
            let hypothesis = hypothesis.as_object_mut().expect("an object");
            assert!(hypothesis.remove("score").is_some());
            hypothesis.remove("step_logprobs");
        }
    };
    strip("/hypotheses");
    strip("/sentences/0/hypotheses");
    line
}

#[test]
fn with_nothing_to_go_on_with_it_begins() {
    let files = Files::new("resume_nothing");
    fs::write(&files.input, "one\ntwo\n").unwrap();
    files.run(&["-b", "1", "--resume"]).succeeds();
    let first = fs::read_to_string(&files.output).unwrap();
    assert_eq!(first.lines().count(), 2);
    fs::write(&files.output, "").unwrap(); // killed before the first record
    files.run(&["-b", "1", "--resume"]).succeeds();
    assert_eq!(fs::read_to_string(&files.output).unwrap(), first);
    files.run(&["-b", "1"]).succeeds(); // overwritten, as without a record
    assert_eq!(fs::read_to_string(&files.output).unwrap(), first);
    assert!(!files.record.exists());
}

#[test]
fn a_run_that_failed_goes_on_once_its_input_is_right() {
    let files = Files::stopped("resume_failed");
    fs::write(&files.input, b"one\ntwo\r\nthree\nfour\n").unwrap();
    files.run(&["-b", "1", "--resume", "--weights", "f32"]).succeeds(); // as in the file, like auto
    let resumed = fs::read_to_string(&files.output).unwrap();
    files.run(&["-b", "1"]).succeeds();
    assert_eq!(resumed, fs::read_to_string(&files.output).unwrap());
    fs::write(&files.input, b"one\ntwo\r\nthree\nfour \xff\n").unwrap();
    files.run(&["-b", "1"]).fails(1, &[]);
    // lines keep their numbers
    files.run(&["-b", "1", "--resume"]).fails(1, &["in.txt, line 4: not UTF-8"]);
}

#[test]
fn what_does_not_belong_together_is_refused_and_left_alone() {
    let files = Files::stopped("resume_differs");
    let [input, output, record] = [&files.input, &files.output, &files.record];
    let (written, recorded) = (fs::read(output).unwrap(), fs::read(record).unwrap());
    let refused = |options: &[&str], parts: &[&str]| {
        let run = files.run(&[options, &["--resume"]].concat());
        run.fails(1, &[parts, &["out.txt.resume", "leave out --resume"]].concat());
    };
    refused(&["-b", "2"], &["--beams was 1, and is 2"]);
    refused(&[], &["--beams was 1, and is not given"]);
    refused(&["-b", "1", "--json"], &["--json was not given, and is given"]);
    refused(&["-b", "1", "--weights", "q8"], &["--weights was not given, and is q8 on the CPU"]);
    refused(&["-b", "1", "--weights", "f16"], &["--weights was not given, and is f16"]);
    refused(&["-b", "1", "--length-penalty", "2"], &["--length-penalty was not given, and is 2"]);
    refused(&["-b", "1", "-n", "1"], &["--n-best was not given, and is 1"]);

    let change = |path: &Path, content: &[u8], parts: &[&str]| {
        let before = fs::read(path).unwrap();
        fs::write(path, content).unwrap();
        refused(&["-b", "1"], parts);
        assert_eq!(fs::read(path).unwrap(), content);
        fs::write(path, before).unwrap();
    };
    change(input, b"one\ntoo\r\nthree\n", &["in.txt: its first 9 bytes"]);
    change(input, b"one\n", &["in.txt: its first 9 bytes"]);
    change(output, b"", &["out.txt: its first"]);
    change(output, &written.to_ascii_uppercase(), &["out.txt: its first"]);
    change(record, b"{\"format\": 1", &["is no record", "it ends in the middle of a value"]);
    let newer = String::from_utf8(recorded.clone()).unwrap().replace("\"format\":1", "\"format\":99");
    change(record, newer.as_bytes(), &["format 99"]);
    assert_eq!((fs::read(output).unwrap(), fs::read(record).unwrap()), (written, recorded));
    fs::remove_file(record).unwrap();
    refused(&["-b", "1"], &["out.txt is there, but no"]);
}

#[test]
fn another_model_is_refused() {
    let files = Files::stopped("resume_model");
    let folder = scratch("resume_model_folder");
    for entry in fs::read_dir(model("marian_tied")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    fs::write(&files.input, "one\ntwo\r\nthree\n").unwrap();
    let arguments: Vec<String> = files
        .arguments(&["-b", "1", "--resume"])
        .into_iter()
        .map(|argument| if argument == model("marian_tied") { text(&folder).to_owned() } else { argument })
        .collect();
    let resume = || run(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), "");
    let weights = folder.join("model.safetensors");
    let sound = fs::read(&weights).unwrap();
    let trained: Vec<u8> =
        sound.iter().enumerate().map(|(place, &byte)| byte ^ u8::from(place > sound.len() / 2)).collect();
    fs::write(&weights, trained).unwrap();
    resume().fails(1, &["--model was a folder with digest", "leave out --resume"]);
    fs::write(&weights, sound).unwrap();
    resume().succeeds(); // in another folder, with equal files
}

#[test]
fn only_files_can_be_gone_on_with() {
    let files = Files::new("resume_usage");
    fs::write(&files.input, "one\n").unwrap();
    let cases: [(&[&str], &[&str]); 4] = [
        (&["hi"], &["--input", "--output"]),
        (&["--input", text(&files.input)], &["--output"]),
        (&["--output", text(&files.output)], &["--input"]),
        (&["--input", text(&files.input), "--output", "/dev/null"], &["--resume needs files", "devices"]),
    ];
    for (options, parts) in cases {
        if cfg!(unix) || !options.contains(&"/dev/null") {
            run(&[&["translate", "--device", "cpu", "--resume"], options].concat(), "").fails(2, parts);
        }
    }
}
