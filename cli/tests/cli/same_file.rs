//! An output that is an input under another name is refused, before it is opened.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;

use super::{model, run, scratch, text};

#[test]
fn links_do_not_hide_that_a_file_is_read_and_written() {
    let folder = scratch("same_file");
    let [file, hard, soft] = ["in.txt", "hard.txt", "soft.txt"].map(|name| folder.join(name));
    fs::write(&file, "[1, 2]\n").unwrap();
    fs::hard_link(&file, &hard).unwrap();
    symlink(&file, &soft).unwrap();
    let bert = model("bert");
    for other in [&file, &hard, &soft] {
        let [file, other] = [text(&file), text(other)];
        let commands: [(&[&str], &str); 13] = [
            (&["translate", "-i", file, "-o", other], "--input and --output"),
            (&["translate", "-i", "x", "--glossary", file, "-o", other], "--glossary and --output"),
            (&["translate", "-i", "x", "--memory", file, "-o", other], "--memory and --output"),
            (&["translate", "-i", "x", "--reference", file, "-o", other], "--reference and --output"),
            (&["tokenize", "--plain", "-i", file, "-o", other], "--input and --output"),
            (&["generate", "-i", file, "-o", other], "--input and --output"),
            (&["forward", "--model", &bert, "-i", file, "-o", other], "--input and --output"),
            (&["score", "-i", file, "-o", other], "--input and --output"),
            (&["score", "--source", file, "--target", "x", "-o", other], "--source and --output"),
            (&["score", "--source", "x", "--target", file, "-o", other], "--target and --output"),
            (&["align", "-i", file, "-o", other], "--input and --output"),
            (&["align", "-i", file, "-o", "x", "--translations", other], "--input and --translations"),
            (&["attend", "--trace", file, "-o", other], "--trace and --output"),
        ];
        for (arguments, names) in commands {
            run(arguments, "").fails(2, &[names, "are the same file", file]);
            assert_eq!(fs::read_to_string(file).unwrap(), "[1, 2]\n", "{arguments:?}");
        }
    }
    // two outputs, the second of which does not exist yet
    let new = folder.join("new.txt");
    run(&["align", "-o", text(&new), "--translations", text(&new)], "")
        .fails(2, &["--output and --translations are the same file"]);
    assert!(!new.exists());
}

/// `-` is standard input as an input, and standard output as an output.
#[test]
fn a_dash_stands_for_standard_input_and_output() {
    let folder = scratch("dash");
    let in_folder = |arguments: &[&str], input: &[u8]| super::run_in(&folder, arguments, input);
    let bert = model("bert");
    let ids = in_folder(&["tokenize", "--plain", "-i", "-", "-o", "-"], b"hello\n");
    assert_eq!(ids.succeeds(), run(&["tokenize", "--plain"], "hello\n").succeeds());
    let request = b"{\"input_ids\": [5, 6, 0], \"max_length\": 4}\n";
    let tied = model("marian_tied");
    let generated =
        in_folder(&["generate", "--device", "cpu", "--model", &tied, "-i", "-", "-o", "-"], request);
    assert_eq!(generated.succeeds().lines().count(), 1);
    let translated =
        ["translate", "--device", "cpu", "--model", &tied, "--max-length", "4", "-i", "-", "-o", "-"];
    assert_eq!(in_folder(&translated, b"one\ntwo\n").succeeds().lines().count(), 2);
    let resumed = [&translated[..], &["--resume"]].concat();
    in_folder(&resumed, b"one\n").fails(2, &["--resume needs files"]);
    let forward = ["forward", "--model", &bert, "--device", "cpu", "-i", "-", "-o", "-"];
    in_folder(&forward, b"none").fails(1, &["standard input: not a sound safetensors file"]);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

/// Comparing an output with an input must not open a pipe: that waits for its other end.
#[test]
fn pipes_are_inputs_and_outputs() {
    let folder = scratch("pipes");
    let [input, pipe] = ["in.txt", "pipe"].map(|name| folder.join(name));
    fs::write(&input, "[1, 2]\n").unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    run(&["tokenize", "--plain", "-i", text(&input), "-o", text(&pipe)], "").succeeds();
    assert_eq!(reader.join().unwrap().lines().count(), 1);
}

/// Only a file that is not there is absent; a link without a target is an error.
#[test]
fn a_link_without_a_target_is_not_absent() {
    let folder = scratch("dangling_link");
    for entry in fs::read_dir(model("marian_tied")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    let translate = ["translate", "--device", "cpu", "--model", text(&folder), "--max-length", "4", "hello"];
    for file in ["generation_config.json", "tokenizer_config.json", "source.spm", "vocab.json", "config.json"]
    {
        let path = folder.join(file);
        let sound = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        symlink("../blobs/0123", &path).unwrap();
        run(&translate, "").fails(1, &[file, "is a link to \"../blobs/0123\", which does not exist"]);
        fs::remove_file(&path).unwrap();
        fs::write(&path, sound).unwrap();
    }
    run(&translate, "").succeeds();
}
