//! Fuzzing of every reader with libFuzzer, one target after the other. Needs rustup's nightly compiler and cargo-fuzz.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::process::{line, probe, run_shown};
use crate::terminal::heading;

/// The longest input, bytes.
const MOST_BYTES: usize = 1 << 16;
/// Memory of a target, MiB. Sizes that a file claims are checked before memory is taken.
const MEMORY: usize = 1024;

/// Seconds of each target, by default: all targets in about an hour.
pub const SECONDS: u64 = 330;

/// Files that a target begins with, besides what earlier runs have found.
fn seeds(target: &str) -> &'static [&'static str] {
    match target {
        "configuration" => &["configs/table-3"],
        "glossary" | "document" => &[],
        "pickle" => &["tests/data/pickles"],
        "sentencepiece" => &["tests/data/sentencepiece"],
        "merges" | "tokenizer_json" | "word_pieces" => &["tests/data/tokenizers"],
        "trace" => &["fuzz/seeds/trace"],
        "marian_binary" | "shortlist" => &["tests/data/firefox/joint"],
        _ => &["tests/data/models/marian_tied"],
    }
}

/// Runs one target, or all.
///
/// # Errors
/// What is missing, or the first target that found something.
pub fn run(target: Option<&str>, seconds: u64) -> Result<(), String> {
    let targets = targets()?;
    let wanted: Vec<&String> =
        targets.iter().filter(|name| target.is_none_or(|wanted| wanted == *name)).collect();
    if wanted.is_empty() {
        return Err(format!(
            "there is no target {:?}; there are {}",
            target.unwrap_or_default(),
            targets.join(", ")
        ));
    }
    let mut help = Command::new("cargo");
    if probe(help.args(["+nightly", "fuzz", "--help"])).is_none() {
        return Err(
            "fuzzing needs `rustup toolchain install nightly` and `cargo install cargo-fuzz`".to_owned()
        );
    }
    for name in wanted {
        heading(&format!("fuzz {name}"));
        let corpus = format!("fuzz/corpus/{name}");
        fs::create_dir_all(&corpus).map_err(|error| format!("{corpus}: {error}"))?;
        let mut command = Command::new("cargo");
        command.args(["+nightly", "fuzz", "run", name, &corpus]).args(seeds(name)).args([
            "--".to_owned(),
            format!("-max_total_time={seconds}"),
            format!("-max_len={MOST_BYTES}"),
            format!("-rss_limit_mb={MEMORY}"),
            "-timeout=20".to_owned(),
            "-print_final_stats=1".to_owned(),
        ]);
        run_shown(&mut command).map_err(|failure| format!("{}: {failure}", line(&command)))?;
    }
    Ok(())
}

/// The names of the targets: the files of `fuzz/targets`.
fn targets() -> Result<Vec<String>, String> {
    let folder = Path::new("fuzz/targets");
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| Some(entry.path().file_stem()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    Ok(names)
}
