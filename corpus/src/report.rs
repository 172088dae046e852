//! What a run has done.

use serde::{Deserialize, Serialize};

use super::job::Translated;

/// Counts of rows, texts and tokens, of a part or of a whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Rows that were read, bad ones included.
    pub rows: u64,
    /// Rows that could not be read; they are in files of their own, with the reasons.
    pub bad_rows: u64,
    /// Rows without a text.
    pub nulls: u64,
    /// Texts that had been translated before, so that they cost nothing.
    pub duplicates: u64,
    /// Translations that the maximal length ended.
    pub cut: u64,
    /// Tokens of different texts, the end tokens included.
    pub source_tokens: u64,
    /// Tokens of their translations.
    pub tokens: u64,
    /// Time of work, in seconds: of a part with one translator, of a run with all.
    pub seconds: f64,
    /// Texts by the number of their tokens: at most 8, 16, 32, 64, 128, and more.
    pub lengths: [u64; 6],
    /// Texts by the trust in their translation, in tenths: 0 to 0.1, … 0.9 to 1. Texts without one are left out.
    pub trust: [u64; 10],
}

impl Report {
    /// Largest numbers of tokens of [`Report::lengths`].
    pub const LENGTHS: [u32; 5] = [8, 16, 32, 64, 128];

    /// Counts a row's translation.
    pub(crate) fn count(&mut self, translated: &Translated, is_duplicate: bool) {
        self.cut += u64::from(translated.cut);
        let place = Self::LENGTHS.iter().position(|most| translated.source_tokens <= *most);
        self.lengths[place.unwrap_or(Self::LENGTHS.len())] += 1;
        if let Some(trust) = translated.trust {
            self.trust[((trust * 10.0) as usize).min(9)] += 1;
        }
        if is_duplicate {
            self.duplicates += 1;
        } else {
            self.source_tokens += u64::from(translated.source_tokens);
            self.tokens += u64::from(translated.tokens);
        }
    }

    /// Adds another part's counts.
    pub(crate) fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.bad_rows += other.bad_rows;
        self.nulls += other.nulls;
        self.duplicates += other.duplicates;
        self.cut += other.cut;
        self.source_tokens += other.source_tokens;
        self.tokens += other.tokens;
        self.seconds += other.seconds;
        self.lengths.iter_mut().zip(other.lengths).for_each(|(sum, count)| *sum += count);
        self.trust.iter_mut().zip(other.trust).for_each(|(sum, count)| *sum += count);
    }

    /// Rows with a text.
    #[must_use]
    pub fn texts(&self) -> u64 {
        self.rows - self.bad_rows - self.nulls
    }
}
