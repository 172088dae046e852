//! The examples of every epoch: the pairs, with other names and the other changes that were asked for.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rayon::prelude::*;
use wordloom::text::TextError;
use wordloom::train::augment::Augmentation;
use wordloom::train::batches::{Batches, Capacity, Epoch, TooLong};
use wordloom::train::pairs::SentencePair;
use wordloom::train::run::{EpochData, EpochSource};
use wordloom::train::substitute::Substitution;
use wordloom::train::{Pair, TrainError};

use super::arguments::Arguments;
use super::data::{Encoded, Encoder};
use crate::digest::Digest;
use crate::output::cannot_read;
use crate::{CliError, notice};

/// Limit on a file of substitutions, bytes.
const LIMIT: u64 = 64 << 20;

/// The changes that were asked for, and the hash of the file of substitutions.
pub fn augmentation(arguments: &Arguments) -> Result<(Augmentation, Option<String>), CliError> {
    let shares = &arguments.examples;
    let mut hash = None;
    let substitution = match &shares.substitute {
        None => None,
        Some(path) => {
            let failed = |error| cannot_read(path, error);
            let length = path.metadata().map_err(failed)?.len();
            if length > LIMIT {
                let problem = format!("{length} bytes; the limit for lists of names is {LIMIT}");
                return Err(CliError::Input(format!("{}: {problem}", path.display())));
            }
            let json = std::fs::read(path).map_err(failed)?;
            let mut digest = Digest::default();
            digest.update(&json);
            hash = Some(digest.summary().hash);
            let languages = [&arguments.from, &arguments.to].map(|code| code.as_deref().unwrap_or_default());
            let name = path.display().to_string();
            let substitution = Substitution::from_json(&name, &json, languages);
            Some(substitution.map_err(|error| CliError::Input(error.to_string()))?)
        }
    };
    let seed = arguments.numbers.seed;
    let (joined, lower_cased, unpunctuated) = (shares.joined, shares.lower_cased, shares.unpunctuated);
    Ok((Augmentation { substitution, joined, lower_cased, unpunctuated, seed }, hash))
}

/// Training pairs, and how an epoch's examples are made from them.
#[derive(Clone)]
pub struct Examples {
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
            return wordloom::train::run::same_pairs(first, batches);
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
            next = Some((following, thread::spawn(move || ahead.data(following, capacity, seed))));
            Ok(data)
        })
    }

    fn data(&self, number: u64, capacity: Capacity, seed: u64) -> Result<EpochData, TrainError> {
        let (pairs, _) = self.encode(number)?;
        let epoch: Epoch = Batches::new(&pairs, capacity, seed, TooLong::LeaveOut)?.epoch(number);
        Ok(EpochData { pairs: Arc::new(pairs), epoch })
    }
}

/// Says what the examples of an epoch are.
pub fn note(arguments: &Arguments, augmentation: &Augmentation) -> Vec<String> {
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
    if let Some(path) = &arguments.examples.substitute {
        notes.push(format!("other names and numbers in every epoch, by {}", path.display()));
    }
    notes.iter().for_each(|line| notice(line));
    notes
}
