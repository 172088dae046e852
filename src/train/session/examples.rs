//! The examples of every epoch: the pairs, with other names and the other changes that were asked for.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use super::super::augment::Augmentation;
use super::super::batches::{Batches, Capacity, Epoch, TooLong};
use super::super::pairs::SentencePair;
use super::super::run::{EpochData, EpochSource, same_pairs};
use super::super::substitute::Substitution;
use super::super::{Pair, TrainError};
use super::encoder::{Encoded, Encoder};
use super::error::SessionError;
use super::hash::hash;
use super::options::Options;
use crate::text::TextError;

/// Limit on a file of substitutions, bytes.
const LIMIT: u64 = 64 << 20;

/// The changes that were asked for, and the hash of the file of substitutions.
pub(super) fn augmentation(options: &Options) -> Result<(Augmentation, Option<String>), SessionError> {
    let shares = &options.examples;
    let mut hashed = None;
    let substitution = match &shares.substitute {
        None => None,
        Some(path) => {
            let failed = |error| SessionError::cannot_read(path, error);
            let length = path.metadata().map_err(failed)?.len();
            if length > LIMIT {
                let problem = format!("{length} bytes; the limit for lists of names is {LIMIT}");
                return Err(SessionError::Input(format!("{}: {problem}", path.display())));
            }
            let json = std::fs::read(path).map_err(failed)?;
            hashed = Some(hash([&json[..]]));
            let languages = [&options.from, &options.to].map(|code| code.as_deref().unwrap_or_default());
            let name = path.display().to_string();
            let substitution = Substitution::from_json(&name, &json, languages);
            Some(substitution.map_err(|error| SessionError::Input(error.to_string()))?)
        }
    };
    let seed = options.numbers.seed;
    let (joined, lower_cased, unpunctuated) = (shares.joined, shares.lower_cased, shares.unpunctuated);
    Ok((Augmentation { substitution, joined, lower_cased, unpunctuated, seed }, hashed))
}

/// Training pairs, and how an epoch's examples are made from them.
#[derive(Clone)]
pub(super) struct Examples {
    pub augmentation: Arc<Augmentation>,
    pub pairs: Arc<Vec<SentencePair>>,
    pub encoder: Arc<Encoder>,
}

impl Examples {
    /// The examples of an epoch as ids, without those that are longer than the model's positions.
    pub fn encode(&self, epoch: u64) -> Result<Encoded, TextError> {
        if self.augmentation.is_none() {
            return self.encoder.encode(&self.pairs);
        }
        let example = |index| self.augmentation.example(&self.pairs, epoch, index);
        let examples: Vec<SentencePair> = (0..self.pairs.len()).into_par_iter().map(example).collect();
        self.encoder.encode(&examples)
    }

    /// The data of every epoch. `first`: the examples of epoch 0.
    pub fn source(self, first: Vec<Pair>, batches: Batches) -> EpochSource {
        if self.augmentation.is_none() {
            return same_pairs(first, batches);
        }
        let (capacity, seed) = (batches.capacity(), self.augmentation.seed);
        let mut first = Some(EpochData { epoch: batches.epoch(0), pairs: Arc::new(first) });
        let mut next: Option<(u64, JoinHandle<Result<EpochData, TrainError>>)> = None;
        Box::new(move |number| {
            let data = match (first.take(), next.take()) {
                (Some(first), _) if number == 0 => first,
                (_, Some((ready, thread))) if ready == number => {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?
                }
                _ => self.data(number, capacity, seed)?,
            };
            // text takes long to become tokens; meanwhile the device trains
            let ahead = self.clone();
            let following = number + 1;
            // in threads of its own: the caller's pool may be busy, and a process that was forked has no global one
            let threads = rayon::current_num_threads();
            let thread = thread::spawn(move || match ThreadPoolBuilder::new().num_threads(threads).build() {
                Ok(pool) => pool.install(|| ahead.data(following, capacity, seed)),
                Err(_) => ahead.data(following, capacity, seed),
            });
            next = Some((following, thread));
            Ok(data)
        })
    }

    fn data(&self, number: u64, capacity: Capacity, seed: u64) -> Result<EpochData, TrainError> {
        let (pairs, _) = self.encode(number)?;
        let epoch: Epoch = Batches::new(&pairs, capacity, seed, TooLong::LeaveOut)?.epoch(number);
        Ok(EpochData { pairs: Arc::new(pairs), epoch })
    }
}

/// What the examples of an epoch are, one entry a line.
pub(super) fn notes(options: &Options, augmentation: &Augmentation) -> Vec<String> {
    let shares = [
        (augmentation.joined, "two pairs joined"),
        (augmentation.lower_cased, "a source in lower case"),
        (augmentation.unpunctuated, "a source without final punctuation"),
    ];
    let mut notes: Vec<String> = shares
        .iter()
        .filter(|(share, _)| *share > 0.0)
        .map(|(share, what)| format!("{what}: a share of {share} of the examples"))
        .collect();
    if let Some(path) = &options.examples.substitute {
        notes.push(format!("other names and numbers in every epoch, by {}", path.display()));
    }
    notes
}
