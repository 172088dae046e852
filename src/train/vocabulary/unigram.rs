//! The pieces of a unigram model, learned by Hugging Face's library. Kudo 2018, "Subword Regularization", section 3.2.

use std::collections::HashSet;

use tokenizers::models::unigram::{Unigram, UnigramTrainer};

use super::words::Words;
use super::{EOS, PAD, UNKNOWN, VocabularyError};
use crate::text::guard::guarded;

/// Candidates for each piece of the vocabulary. SentencePiece takes a million for any size; these are enough, in less time.
const CANDIDATES: usize = 16;
/// The library's distance between the scores of characters that no best segmentation uses.
const SCORE_STEP: f64 = 0.0001;

/// Learns at most `count` pieces with their log probabilities, the best first. Every character is one of them.
pub(super) fn learn(words: &Words, count: usize) -> Result<Vec<(String, f32)>, VocabularyError> {
    let library = |error: String| VocabularyError::Library(error);
    let trainer = UnigramTrainer::builder()
        .show_progress(false)
        .vocab_size(u32::try_from(count).expect("a checked size"))
        .seed_size(count * CANDIDATES + words.characters.len())
        .build()
        .map_err(|error| library(error.to_string()))?;
    let mut model = Unigram::default();
    let train = || trainer.do_train(words.counts.clone(), &mut model);
    guarded(|| in_fixed_order(train)).map_err(library)?.map_err(|error| library(error.to_string()))?;

    let reserved = HashSet::from([EOS, UNKNOWN, PAD]);
    let mut pieces: Vec<(String, f64)> = model
        .iter()
        .filter(|(piece, score)| !reserved.contains(piece.as_str()) && score.is_finite())
        .take(count)
        .cloned()
        .collect();
    rank_unused_characters(&mut pieces, words);
    pieces.sort_by(|(a, a_score), (b, b_score)| b_score.total_cmp(a_score).then_with(|| a.cmp(b)));
    Ok(pieces.into_iter().map(|(piece, score)| (piece, score as f32)).collect())
}

/// Calls the library on one thread. On several, its sums depend on their timing, so every run gives another vocabulary.
#[cfg(not(target_arch = "wasm32"))]
fn in_fixed_order<T: Send>(call: impl FnOnce() -> tokenizers::Result<T> + Send) -> tokenizers::Result<T> {
    rayon::ThreadPoolBuilder::new().num_threads(1).build()?.install(call)
}

/// A browser has one thread.
#[cfg(target_arch = "wasm32")]
fn in_fixed_order<T>(call: impl FnOnce() -> tokenizers::Result<T>) -> tokenizers::Result<T> {
    call()
}

/// Gives characters that no best segmentation uses their scores by frequency. The library counts these scores up from the
/// lowest one, in the random order of a hash table.
fn rank_unused_characters(pieces: &mut [(String, f64)], words: &Words) {
    let lowest = pieces.iter().map(|&(_, score)| score).fold(f64::MAX, f64::min);
    let highest = lowest + SCORE_STEP * words.characters.len() as f64;
    let character = |piece: &str| {
        let mut characters = piece.chars();
        characters.next().filter(|_| characters.next().is_none())
    };
    let mut unused: Vec<(u64, char, usize)> = pieces
        .iter()
        .enumerate()
        .filter(|(_, (_, score))| *score <= highest)
        .filter_map(|(place, (piece, _))| {
            let character = character(piece)?;
            Some((*words.characters.get(&character)?, character, place))
        })
        .collect();
    let mut scores: Vec<f64> = unused.iter().map(|&(_, _, place)| pieces[place].1).collect();
    scores.sort_by(f64::total_cmp);
    unused.sort_unstable();
    for ((_, _, place), score) in unused.into_iter().zip(scores) {
        pieces[place].1 = score;
    }
}
