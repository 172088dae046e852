//! A folder of a Marian model, of which one file is the input: the first byte says which.

#![no_main]

use std::sync::LazyLock;

#[path = "../readers.rs"]
#[allow(dead_code)]
mod readers;

const NAMES: [&str; 7] = [
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "source.spm",
    "target.spm",
    "tokenizer_config.json",
    "vocab.json",
];

static SOUND: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/models/marian_tied/");
    let read = |name: &str| std::fs::read(format!("{folder}{name}")).expect("a file of the repository");
    NAMES.iter().map(|&name| (name.to_owned(), read(name))).collect()
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&which, content)) = bytes.split_first() else { return };
    let mut files = SOUND.clone();
    files[usize::from(which) % NAMES.len()].1 = content.to_vec();
    readers::folder(files);
});
