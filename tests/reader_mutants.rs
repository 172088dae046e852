//! Damaged files of models, tokenizers, traces and glossaries: each is read, or refused with an error, within bounded memory.
//! Firefox's formats have `firefox_mutants`, documents `document_mutants`, PyTorch's pickles `model pickle`.
#![cfg(feature = "tokenizers")]

use wordloom::model::files::ModelFiles;

use mutants::{json_mutants, mutants};

#[path = "common/files.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod files;
#[path = "common/mutants.rs"]
mod mutants;
#[path = "../fuzz/readers.rs"]
#[allow(dead_code, reason = "fuzz targets use the rest")]
mod readers;

#[global_allocator]
static ALLOCATOR: mutants::Peak = mutants::Peak;

/// Folders whose files are damaged one by one.
const FOLDERS: [&str; 3] = ["marian_tied", "t5_relu_tied", "m2m_100"];

/// The files of a stored model, without its results.
fn folder(name: &str) -> Vec<(String, Vec<u8>)> {
    let files = ModelFiles::directory(files::data("models").join(name)).unwrap();
    let names = files.names().unwrap().into_iter();
    let wanted = names.filter(|name| !name.starts_with("expected") && !name.starts_with("model_legacy"));
    wanted.map(|name| (name.clone(), files.read(&name, 1 << 30).unwrap().into_owned())).collect()
}

/// A folder with other content in one file.
fn with(folder: &[(String, Vec<u8>)], file: &str, content: Vec<u8>) -> Vec<(String, Vec<u8>)> {
    let mut folder = folder.to_vec();
    folder.iter_mut().filter(|(name, _)| name == file).for_each(|(_, old)| old.clone_from(&content));
    folder
}

/// Damages every file of every folder; returns how many copies were read, and accepted.
fn folders(count: u64, timed: bool) -> [u64; 2] {
    let (mut read, mut accepted) = (0, 0);
    for name in FOLDERS {
        let sound = folder(name);
        for (file, content) in &sound {
            let open = |bytes| readers::folder(with(&sound, file, bytes));
            let head = if file.ends_with(".safetensors") { 20_000 } else { content.len() };
            accepted += mutants(content, head, count, timed, open);
            read += count;
            if file.ends_with(".json") {
                accepted += json_mutants(content, count, timed, open);
                read += count;
            }
        }
    }
    [read, accepted]
}

fn others(count: u64, timed: bool) {
    let spm = files::read(&files::data("sentencepiece/unigram_nmt_nfkc.spm"));
    let tokenizer = files::read(&files::data("tokenizers/bytelevel_bpe_bart.tokenizer.json"));
    let merges = files::read(&files::data("tokenizers/older.bart-merges.txt"));
    let pieces = files::read(&files::data("tokenizers/older.bert-vocab.txt"));
    let trace = files::read(&files::data("../../fuzz/seeds/trace/small.json"));
    let tensors = files::read(&files::data("../../fuzz/seeds/trace/small.safetensors"));
    let terms = b"# terms\nticket\tBillett\tBilletts\nstation = Bahnhof\n  \ncat\tKater\n";
    let accepted = [
        mutants(&spm, spm.len(), count, timed, |bytes| readers::sentencepiece(&bytes)),
        mutants(&tokenizer, tokenizer.len(), count, timed, |bytes| readers::tokenizer_json(&bytes)),
        json_mutants(&tokenizer, count, timed, |bytes| readers::tokenizer_json(&bytes)),
        mutants(&merges, merges.len(), count, timed, |bytes| readers::merges(&bytes)),
        mutants(&pieces, pieces.len(), count, timed, |bytes| readers::word_pieces(&bytes)),
        json_mutants(&trace, count, timed, |bytes| readers::trace(&bytes)),
        mutants(&tensors, 4000, count, timed, |bytes| readers::trace(&bytes)),
        mutants(terms, terms.len(), count, timed, |bytes| readers::glossary(&bytes)),
    ];
    println!("accepted of {count}: {accepted:?}");
    assert!(accepted.iter().all(|&accepted| accepted > 0), "no mutant gets far: {accepted:?}");
}

#[test]
fn hundreds_of_damaged_folders_are_opened_or_refused() {
    let [read, accepted] = folders(25, false);
    println!("{accepted} of {read} accepted");
    assert!(accepted > read / 20 && accepted < read, "{accepted} of {read}");
}

#[test]
fn hundreds_of_damaged_files_are_read_or_refused() {
    others(100, false);
}

#[test]
#[ignore = "takes minutes, and judges time"]
fn thousands_of_damaged_folders_and_files_are_read_or_refused() {
    let [read, accepted] = folders(500, true);
    println!("folders: {accepted} of {read} accepted");
    others(5000, true);
}
