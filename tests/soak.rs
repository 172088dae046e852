//! Many translations with options at random: the same ids as alone, and memory that does not grow.
//!
//! Beams, batches, kept attention, trees and alignments, muted heads, cancelled calls, and another model now and then.
#![cfg(all(feature = "embedded-model", not(target_arch = "wasm32")))]

mod common;

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use wordloom::trace::HeadName;
use wordloom::transformer::{Cancel, GenerateError, KeepAttention};
use wordloom::{Device, Model, TranslateError, TranslateOptions, Translation, Translator};

/// Different texts.
const TEXTS: usize = 60;
/// Calls between two changes of the model.
const CALLS_OF_A_MODEL: u64 = 150;
/// Growth that is no leak: of the allocator's free lists, and of what a larger batch needs.
const ROOM: u64 = 12 << 20;

/// What decides the ids of a translation: the text, the number of beams, whether heads are muted.
type Case = (usize, usize, bool);

struct Soak {
    device: Device,
    random: ChaCha8Rng,
    texts: Vec<String>,
    model: Model,
    translator: Translator,
    muted: bool,
    /// Ids of each case, translated alone by a translator of its own.
    alone: HashMap<Case, Vec<Vec<u32>>>,
    cancelled: u64,
}

impl Soak {
    fn new(device: &Device) -> Self {
        let pairs = std::fs::read_to_string(common::data("tatoeba-test.tsv")).expect("the test set");
        let sources =
            pairs.lines().filter_map(|line| line.split_once('\t')).map(|(source, _)| source.to_owned());
        let mut texts: Vec<String> = sources.step_by(1000 / TEXTS).take(TEXTS).collect();
        texts[0] = format!("{} {}\n\n{}", texts[1], texts[2], texts[3]);
        texts[1] = String::new();
        let model = Model::embedded().expect("sound");
        Self {
            device: device.clone(),
            random: ChaCha8Rng::seed_from_u64(1),
            texts,
            translator: Translator::new(device, &model).expect("loads"),
            model,
            muted: false,
            alone: HashMap::new(),
            cancelled: 0,
        }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random.next_u64() % end
    }

    /// Translates at least `count` texts.
    fn run(&mut self, count: u64) {
        let (mut done, mut calls) = (0, 0);
        while done < count {
            done += self.call();
            calls += 1;
            if calls % CALLS_OF_A_MODEL == 0 {
                self.other_model();
            }
            if self.below(20) == 0 {
                self.mute();
            }
        }
    }

    /// Translates a few texts in one call.
    fn call(&mut self) -> u64 {
        let which: Vec<usize> = (0..=self.below(5)).map(|_| self.below(TEXTS as u64) as usize).collect();
        let beams = [1, 4][self.below(2) as usize];
        let cancel = Cancel::default();
        let options = TranslateOptions::default().beams(beams).cancel(&cancel);
        let options = match self.below(6) {
            0 => options.keep_attention(KeepAttention::default()),
            1 => options.keep_trees(),
            2 => options.keep_alignments(),
            _ => options,
        };
        let wait = (self.below(12) == 0).then(|| Duration::from_micros(self.below(30_000)));
        let texts: Vec<&str> = which.iter().map(|&text| &*self.texts[text]).collect();
        let result = thread::scope(|scope| {
            if let Some(wait) = wait {
                scope.spawn(move || {
                    thread::sleep(wait);
                    cancel.cancel();
                });
            }
            pollster::block_on(self.translator.translate(&texts[..], &options))
        });
        match result {
            Ok(translations) => {
                let muted = self.muted;
                for (&text, translation) in which.iter().zip(&translations) {
                    let got = ids(translation);
                    assert_eq!(
                        &got,
                        self.alone((text, beams, muted)),
                        "text {text}, {beams} beams, muted: {muted}"
                    );
                }
            }
            Err(TranslateError::Generate(GenerateError::Cancelled)) if wait.is_some() => self.cancelled += 1,
            Err(error) => panic!("{error}"),
        }
        which.len() as u64
    }

    /// What the text is translated to alone.
    fn alone(&mut self, case: Case) -> &Vec<Vec<u32>> {
        let (text, beams, muted) = case;
        if !self.alone.contains_key(&case) {
            let mut translator = Translator::new(&self.device, &self.model).expect("loads");
            if muted {
                translator.mute(&self.model, &head()).expect("has the head");
            }
            let options = TranslateOptions::default().beams(beams);
            let alone = pollster::block_on(translator.translate(&[&*self.texts[text]][..], &options));
            self.alone.insert(case, ids(&alone.expect("translates")[0]));
        }
        &self.alone[&case]
    }

    fn mute(&mut self) {
        self.muted = !self.muted;
        let heads = if self.muted { head() } else { Vec::new() };
        self.translator.mute(&self.model, &heads).expect("has the head");
    }

    /// Loads another model, uses it, and comes back.
    fn other_model(&mut self) {
        let other = common::model(&common::data("models/marian_tied"));
        let translator = Translator::new(&self.device, &other).expect("loads");
        let options = TranslateOptions::default().beams(2).max_length(8);
        pollster::block_on(translator.translate(&["abc"][..], &options)).expect("translates");
        drop(translator);
        self.translator = Translator::new(&self.device, &self.model).expect("loads");
        self.muted = false;
    }
}

fn head() -> Vec<HeadName> {
    vec!["cross.1.3".parse().expect("a head")]
}

fn ids(translation: &Translation) -> Vec<Vec<u32>> {
    translation.sentences.iter().map(|sentence| sentence.hypotheses[0].search.tokens.clone()).collect()
}

/// Bytes of this process in memory, where the system says so.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// Translates `first` texts and `rest` more. Memory is judged in long runs only: short ones have not met every size of a batch.
fn soak(device: &Device, first: u64, rest: u64) {
    let mut soak = Soak::new(device);
    soak.run(first);
    let early = (resident(), device.gpu().map(|gpu| gpu.bytes_in_use()));
    soak.run(rest);
    let late = (resident(), device.gpu().map(|gpu| gpu.bytes_in_use()));
    println!("on {device}: memory {early:?}, then {late:?}; {} calls cancelled", soak.cancelled);
    for (early, late) in [(early.0, late.0), (early.1, late.1)].into_iter() {
        if let (Some(early), Some(late), true) = (early, late, first >= 1000) {
            assert!(
                late <= early + early / 50 + ROOM,
                "{late} bytes after {rest} more texts, {early} before"
            );
        }
    }
}

#[test]
fn hundreds_of_texts_on_the_cpu() {
    soak(&Device::Cpu, 150, 250);
}

#[test]
fn dozens_of_texts_on_a_gpu() {
    soak(&Device::Gpu(pollster::block_on(common::gpu())), 20, 30);
}

#[test]
#[ignore = "takes an hour"]
fn a_hundred_thousand_texts_on_the_cpu() {
    soak(&Device::Cpu, 1000, 99_000);
}

#[test]
#[ignore = "takes minutes"]
fn ten_thousand_texts_on_a_gpu() {
    soak(&Device::Gpu(pollster::block_on(common::gpu())), 1000, 9000);
}
