//! The pieces of a unigram model, learned by Hugging Face's library. Kudo 2018, "Subword Regularization", section 3.2.

use std::collections::HashSet;

use tokenizers::models::unigram::{Unigram, UnigramTrainer};

use super::words::{SPACE, Words};
use super::{EOS, PAD, UNKNOWN, VocabularyError};
use crate::text::guard::guarded;

/// Candidates for each piece of the vocabulary. SentencePiece takes a million for any size; these are enough, in less time.
const CANDIDATES: usize = 16;
/// Mean number of copies of a word, at most, besides the first one.
const COPIES: u64 = 2;
/// One piece more for so many is learned, as pieces across two words are dropped.
const SPARE: usize = 50;
/// The library's distance between the scores of characters that no best segmentation uses.
const SCORE_STEP: f64 = 0.0001;

/// Learns at most `count` pieces with their log probabilities, the best first. Every character is one of them.
pub(super) fn learn(words: &Words, count: usize) -> Result<Vec<(String, f32)>, VocabularyError> {
    let library = |error: String| VocabularyError::Library(error);
    let trainer = UnigramTrainer::builder()
        .show_progress(false)
        .vocab_size(u32::try_from(count + count / SPARE).expect("a checked size"))
        .seed_size(count * CANDIDATES + words.characters.len())
        .build()
        .map_err(|error| library(error.to_string()))?;
    let mut model = Unigram::default();
    let train = || trainer.do_train(corpus(&words.counts), &mut model);
    guarded(|| in_fixed_order(train)).map_err(library)?.map_err(|error| library(error.to_string()))?;

    let reserved = HashSet::from([EOS, UNKNOWN, PAD]);
    let mut pieces: Vec<(String, f64)> = model
        .iter()
        .filter(|(piece, score)| !reserved.contains(piece.as_str()) && score.is_finite())
        .filter(|(piece, _)| is_within_a_word(piece))
        .cloned()
        .collect();
    rank_unused_characters(&mut pieces, words);
    // characters first, as each of them has to stay
    pieces.sort_by(|(a, a_score), (b, b_score)| {
        let is_longer = |piece: &str| character(piece).is_none();
        is_longer(a).cmp(&is_longer(b)).then(b_score.total_cmp(a_score)).then_with(|| a.cmp(b))
    });
    pieces.truncate(count);
    pieces.sort_by(|(a, a_score), (b, b_score)| b_score.total_cmp(a_score).then_with(|| a.cmp(b)));
    Ok(pieces.into_iter().map(|(piece, score)| (piece, score as f32)).collect())
}

/// The list that the library takes both candidates and counts from: the words, and chains of two words.
///
/// The library's candidates are strings with two different continuations, counted in this list, whatever the counts are. In
/// a list of different words, a word like "this" has one continuation, its end, so it would never become a piece. SentencePiece
/// takes candidates from the text itself. Therefore:
///
/// * words come several times if they are frequent, with their counts shared among the copies;
/// * each word that occurs twice comes once more, before another word. Pieces across the border are too rare to last, and
///   [`learn`] drops them.
fn corpus(counts: &[(String, u32)]) -> Vec<(String, u32)> {
    let text: u64 = counts.iter().map(|&(_, count)| u64::from(count)).sum();
    let per_copy = u32::try_from(text / (COPIES * counts.len() as u64)).unwrap_or(u32::MAX).max(1);
    let shares = |count: u32| {
        let copies = count.div_ceil(per_copy);
        (0..copies).map(move |copy| count / copies + u32::from(copy < count % copies))
    };
    let copies = counts.iter().flat_map(|(word, count)| shares(*count).map(|share| (word.clone(), share)));
    let repeated: Vec<&str> =
        counts.iter().filter(|(_, count)| *count > 1).map(|(word, _)| word.as_str()).collect();
    let followers = repeated.iter().cycle().skip(repeated.len() / 2);
    let chains = repeated.iter().zip(followers).map(|(word, next)| (format!("{word}{next}"), 1));
    copies.chain(chains).collect()
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

/// The character of a piece of one.
fn character(piece: &str) -> Option<char> {
    let mut characters = piece.chars();
    characters.next().filter(|_| characters.next().is_none())
}

/// Whether a piece has U+2581 at most at its start.
fn is_within_a_word(piece: &str) -> bool {
    piece.chars().skip(1).all(|character| character != SPACE)
}
