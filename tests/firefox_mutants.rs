//! Damaged files of Firefox's translation models: each is read, or refused with an error, within bounded memory.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use wordloom::Model;
use wordloom::model::checkpoint::Checkpoint;
use wordloom::model::files::ModelFiles;
use wordloom::model::{Shortlist, ShortlistVocabularies};

use mutants::mutants;

#[path = "common/mutants.rs"]
mod mutants;

#[global_allocator]
static ALLOCATOR: mutants::Peak = mutants::Peak;

const WEIGHTS: &str = "model.ende.intgemm.alphas.bin";
const LEX: &str = "lex.50.50.ende.s2t.bin";

fn read(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/firefox/joint");
    fs::read(folder.join(name)).unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Opens a student whose weights are `bytes`, and reads every tensor.
fn student(name: &str, bytes: Vec<u8>) -> bool {
    let files = ModelFiles::memory("mutant", [(name, bytes)]);
    let opened = Model::from_files(files.clone());
    let checkpoint = Checkpoint::open(&files);
    let Ok(checkpoint) = checkpoint else {
        assert!(opened.is_err(), "a model without a checkpoint");
        return false;
    };
    let names: Vec<String> = checkpoint.names().map(str::to_owned).collect();
    let mut all = true;
    for name in names {
        let info = checkpoint.info(&name).unwrap().clone();
        // what a binary may claim is bounded by its length
        let mut values = vec![0.0; info.element_count()];
        all &= match info.shape[..] {
            [_, columns] => checkpoint.read_columns(&name, 0..columns, &mut values).is_ok(),
            _ => checkpoint.read(&name, &mut values).is_ok(),
        };
    }
    all && opened.is_ok()
}

fn columns(bytes: &[u8]) -> bool {
    let vocabularies = ShortlistVocabularies { source: 504, target: 504, shared: true };
    let shortlist = Shortlist::from_bytes("lex", bytes, vocabularies);
    let Ok(shortlist) = shortlist else { return false };
    for ids in [vec![], vec![0], (0..600).collect(), vec![u32::MAX]] {
        let columns = shortlist.columns(&ids);
        assert!(columns.is_sorted_by(|one, next| one < next) && columns.iter().all(|&id| id < 504));
    }
    true
}

/// Writes the checksum that belongs to the content, so that a mutant is not refused for it.
fn repaired(mut shortlist: Vec<u8>) -> Vec<u8> {
    if shortlist.len() >= 16 {
        let words = shortlist[16..].chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
        let sum = words.fold(0u64, |seed, word| {
            seed ^ word.wrapping_add(0x9e37_79b9).wrapping_add(seed << 6).wrapping_add(seed >> 2)
        });
        shortlist[8..16].copy_from_slice(&sum.to_le_bytes());
    }
    shortlist
}

fn all_formats(count: u64, timed: bool) {
    let (weights, lex) = (read(WEIGHTS), read(LEX));
    let accepted = [
        mutants(&weights, 6000, count, timed, |bytes| student(WEIGHTS, bytes)),
        mutants(&lex, 5000, count, timed, |bytes| columns(&bytes)),
        mutants(&lex, lex.len(), count, timed, |bytes| columns(&repaired(bytes))),
        mutants(&gzip(&weights), 200, count, timed, |bytes| student(&format!("{WEIGHTS}.gz"), bytes)),
    ];
    println!("accepted of {count}: {accepted:?}");
    assert!(accepted[0] > 0, "no mutant gets far");
}

#[test]
fn hundreds_of_damaged_files_are_read_or_refused() {
    all_formats(150, false);
}

#[test]
#[ignore = "takes minutes, and judges time"]
fn thousands_of_damaged_files_are_read_or_refused() {
    all_formats(5000, true);
}
