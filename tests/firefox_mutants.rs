//! Damaged files of Firefox's translation models: each is read, or refused with an error, within bounded memory.
#![allow(unsafe_code, reason = "the trait of an allocator is unsafe")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use wordloom::Model;
use wordloom::model::checkpoint::Checkpoint;
use wordloom::model::files::ModelFiles;
use wordloom::model::{Shortlist, ShortlistVocabularies};

/// Counts the bytes in use, and the most since the last [`Peak::restart`].
struct Peak;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

impl Peak {
    fn restart() -> usize {
        let now = IN_USE.load(Ordering::Relaxed);
        MOST.store(now, Ordering::Relaxed);
        now
    }
}

// SAFETY: every call is forwarded to the system's allocator.
unsafe impl GlobalAlloc for Peak {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = IN_USE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Peak = Peak;

/// Bytes that a reader may use, besides twice the file.
const MEMORY: usize = 100 << 20;
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

/// Damages a file in one to four places; most of them in the first `head` bytes.
fn damage(bytes: &mut Vec<u8>, head: usize, random: &mut ChaCha8Rng) {
    for _ in 0..[1, 1, 2, 4][random.next_u32() as usize % 4] {
        if bytes.is_empty() {
            return;
        }
        let mut below = |end: usize| random.next_u64() as usize % end.max(1);
        let reach = if below(4) == 0 { bytes.len() } else { head.min(bytes.len()) };
        let at = below(reach);
        match below(8) {
            0 | 1 => bytes[at] ^= 1 << below(8),
            2 => bytes[at] = below(256) as u8,
            3 | 4 => {
                let (at, len) = (at & !7, bytes.len() as u64);
                let extremes =
                    [0, 1, u64::MAX, 1 << 31, 1 << 63, len, len - 1, len + 1, 1 << 32, below(1 << 20) as u64];
                let word = extremes[below(extremes.len())].to_le_bytes();
                let end = bytes.len().min(at + 8);
                bytes[at..end].copy_from_slice(&word[..end - at]);
            }
            5 => bytes.truncate(at),
            6 => {
                let more = vec![below(256) as u8; below(600)];
                bytes.splice(at..at, more);
            }
            _ => {
                let end = bytes.len().min(at + below(300));
                bytes.drain(at..end);
            }
        }
    }
}

/// Reads `count` damaged copies of a file, and checks memory and, if `timed`, time. Returns how many were accepted.
fn mutants(good: &[u8], head: usize, count: u64, timed: bool, read: impl Fn(Vec<u8>) -> bool) -> u64 {
    assert!(read(good.to_vec()), "the file itself");
    let mut accepted = 0;
    for seed in 0..count {
        let mut bytes = good.to_vec();
        damage(&mut bytes, head, &mut ChaCha8Rng::seed_from_u64(seed));
        let limit = Peak::restart() + MEMORY + 2 * bytes.len();
        let started = Instant::now();
        let read = catch_unwind(AssertUnwindSafe(|| read(bytes)));
        accepted += u64::from(read.unwrap_or_else(|_| panic!("mutant {seed} panics")));
        let most = MOST.load(Ordering::Relaxed);
        assert!(most <= limit, "mutant {seed} uses {most} bytes; at most {limit} are allowed");
        assert!(!timed || started.elapsed() < Duration::from_secs(5), "mutant {seed} takes longer than 5 s");
    }
    accepted
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
