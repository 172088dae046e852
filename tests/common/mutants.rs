//! Damaged copies of files, and what reading one may cost.
#![allow(unsafe_code, reason = "the trait of an allocator is unsafe")]
#![allow(dead_code, reason = "each test program uses a part")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::{Map, Value, json};

/// An allocator that counts the bytes in use, and the most since the last [`Peak::restart`].
pub struct Peak;

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

/// Bytes that a reader may use, besides twice the file.
const MEMORY: usize = 100 << 20;
/// Damages a file in one to four places; most of them in the first `head` bytes.
pub fn damage(bytes: &mut Vec<u8>, head: usize, random: &mut ChaCha8Rng) {
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

/// Damages JSON in one to three places, so that it stays JSON: other types, extreme numbers, missing and doubled entries, depth.
pub fn damage_json(value: &mut Value, random: &mut ChaCha8Rng) {
    for _ in 0..=(random.next_u32() % 3) {
        let places = count(value);
        let at = random.next_u64() as usize % places;
        change(value, &mut { at }, random);
    }
}

/// Number of values in a value.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(values) => values.iter().map(count).sum(),
        Value::Object(entries) => entries.values().map(count).sum(),
        _ => 0,
    }
}

/// Changes the value that is `at` many values further.
fn change(value: &mut Value, at: &mut usize, random: &mut ChaCha8Rng) {
    if *at == 0 {
        *value = other(value.take(), random);
        *at = usize::MAX;
        return;
    }
    *at -= 1;
    let inner: Vec<&mut Value> = match value {
        Value::Array(values) => values.iter_mut().collect(),
        Value::Object(entries) => entries.values_mut().collect(),
        _ => Vec::new(),
    };
    for value in inner {
        match count(value) {
            size if *at < size => return change(value, at, random),
            size => *at -= size,
        }
    }
}

fn other(value: Value, random: &mut ChaCha8Rng) -> Value {
    let mut below = |end: usize| random.next_u64() as usize % end.max(1);
    let numbers = [0.0, 1.0, -1.0, 2.0, 7.0, 1e9, 4294967296.0, 1.8446744073709552e19, 1e300, 0.5, -0.0];
    match (below(8), value) {
        (0, _) => Value::Null,
        (1, _) => json!(below(2) == 0),
        (2, _) => json!(numbers[below(numbers.len())]),
        (3, _) => json!([0, 1, 2, 3, 64, 255, 65_536, 1 << 31, u64::MAX][below(9)]),
        (4, _) => json!(["", "a", "\u{0}", "▁", "</s>", "long text ".repeat(500).as_str()][below(6)]),
        (5, value) => (0..[1, 2, 40, 500][below(4)]).fold(value, |inner, _| json!([inner])),
        (6, Value::Array(mut values)) if !values.is_empty() => {
            let at = below(values.len());
            match below(3) {
                0 => drop(values.remove(at)),
                1 => values.insert(at, values[at].clone()),
                _ => values.swap(0, at),
            }
            Value::Array(values)
        }
        (_, Value::Object(entries)) if !entries.is_empty() => {
            let at = below(entries.len());
            let mut left = Map::new();
            for (index, (key, value)) in entries.into_iter().enumerate() {
                match (index == at, below(3)) {
                    (false, _) => drop(left.insert(key, value)),
                    (true, 0) => {}
                    (true, 1) => drop(left.insert(format!("{key}{key}"), value)),
                    (true, _) => drop(left.insert(String::new(), value)),
                }
            }
            Value::Object(left)
        }
        (_, Value::Number(number)) => {
            json!(number.as_f64().unwrap_or_default() * [-1.0, 2.0, 1e6, 0.1][below(4)])
        }
        (_, Value::String(text)) => json!(text.chars().rev().collect::<String>()),
        (_, value) => json!({ "value": value }),
    }
}

/// Reads `count` damaged copies of a file, and checks memory and, if `timed`, time. Returns how many were accepted.
pub fn mutants(good: &[u8], head: usize, count: u64, timed: bool, read: impl Fn(Vec<u8>) -> bool) -> u64 {
    assert!(read(good.to_vec()), "the file itself");
    let damaged = |seed| {
        let mut bytes = good.to_vec();
        damage(&mut bytes, head, &mut ChaCha8Rng::seed_from_u64(seed));
        bytes
    };
    read_all(count, timed, damaged, read)
}

/// As [`mutants`], for JSON that stays JSON.
pub fn json_mutants(good: &[u8], count: u64, timed: bool, read: impl Fn(Vec<u8>) -> bool) -> u64 {
    assert!(read(good.to_vec()), "the file itself");
    let good: Value = serde_json::from_slice(good).expect("JSON");
    let damaged = |seed| {
        let mut value = good.clone();
        damage_json(&mut value, &mut ChaCha8Rng::seed_from_u64(seed));
        value.to_string().into_bytes()
    };
    read_all(count, timed, damaged, read)
}

fn read_all(
    count: u64,
    timed: bool,
    damaged: impl Fn(u64) -> Vec<u8>,
    read: impl Fn(Vec<u8>) -> bool,
) -> u64 {
    let mut accepted = 0;
    for seed in 0..count {
        let bytes = damaged(seed);
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
