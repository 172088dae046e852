//! Examples that every epoch makes anew from the same pairs: other names, two sentences at once, and the carelessness of people
//! who type.

use super::pairs::SentencePair;
use super::random::Stream;
use super::substitute::{Invented, Substitution};

/// The purpose of these random numbers; any number that no other use of a seed has.
const PURPOSE: u64 = 0x6175_676d_656e_7400;
/// The copy of the pairs that a vocabulary is learned from. No training has as many epochs.
const VOCABULARY_EPOCH: u64 = u64::MAX;
/// Largest number of characters of a joined source: a longer one would soon be too long for a model.
const LONGEST_JOINED: usize = 300;
/// Ends of sentences.
const FINAL: [char; 8] = ['.', '!', '?', '…', '。', '！', '？', '।'];

/// What changes in every epoch. Each example is a function of seed, epoch and index alone.
#[derive(Clone, Debug, Default)]
pub struct Augmentation {
    /// Other names, places, days and numbers.
    pub substitution: Option<Substitution>,
    /// Share of examples that are two pairs: this one and another one, with a space between.
    pub joined: f64,
    /// Share of examples whose source is in lower case.
    pub lower_cased: f64,
    /// Share of examples whose source has no punctuation at its end.
    pub unpunctuated: f64,
    /// Decides all draws.
    pub seed: u64,
}

impl Augmentation {
    /// Whether every epoch has the pairs as they are.
    pub fn is_none(&self) -> bool {
        let shares = [self.joined, self.lower_cased, self.unpunctuated];
        self.substitution.is_none() && shares == [0.0; 3]
    }

    /// An example of an epoch, made from the pair of this index.
    ///
    /// # Panics
    /// If there is no pair of this index.
    pub fn example(&self, pairs: &[SentencePair], epoch: u64, index: usize) -> SentencePair {
        self.made(pairs, (epoch, index), Invented::Allowed)
    }

    /// An example to learn a vocabulary from: as those of an epoch, but without invented names, whose letters are random.
    ///
    /// # Panics
    /// If there is no pair of this index.
    pub fn vocabulary_example(&self, pairs: &[SentencePair], index: usize) -> SentencePair {
        self.made(pairs, (VOCABULARY_EPOCH, index), Invented::Left)
    }

    fn made(&self, pairs: &[SentencePair], (epoch, index): (u64, usize), invented: Invented) -> SentencePair {
        let mut random = Stream::new(self.seed, PURPOSE, epoch, index);
        let [joins, lowers, strips] =
            [self.joined, self.lower_cased, self.unpunctuated].map(|share| random.happens(share));
        let mut example = self.substituted(&pairs[index], &mut random, invented);
        if joins {
            let other = &pairs[random.below(pairs.len())];
            let length = |pair: &SentencePair| pair.source.chars().count();
            if is_complete(&example) && length(&example) + length(other) < LONGEST_JOINED {
                let other = self.substituted(other, &mut random, invented);
                example.source = format!("{} {}", example.source, other.source);
                example.target = format!("{} {}", example.target, other.target);
            }
        }
        if lowers {
            example.source = example.source.to_lowercase();
        }
        if strips {
            let length = without_end(&example.source).len();
            example.source.truncate(length);
        }
        example
    }

    fn substituted(&self, pair: &SentencePair, random: &mut Stream, invented: Invented) -> SentencePair {
        match &self.substitution {
            Some(substitution) => substitution.apply(pair, random, invented),
            None => pair.clone(),
        }
    }
}

/// Whether another sentence can follow on both sides.
fn is_complete(pair: &SentencePair) -> bool {
    [&pair.source, &pair.target].iter().all(|text| {
        let text = text.trim_end_matches(['"', '\'', '“', '”', '»', '«', ')']);
        text.trim_end().ends_with(FINAL)
    })
}

/// A text without the punctuation at its end; all of it if there is nothing else.
fn without_end(text: &str) -> &str {
    match text.trim_end_matches(|character: char| FINAL.contains(&character) || character.is_whitespace()) {
        "" => text,
        rest => rest,
    }
}
