//! The answer to a step of a search with terms.

use crate::scores::{NO_TOKEN, TermScoresShape, TopKShape};

/// Joins the best tokens, the scores of wanted tokens, and the mean of attention over heads.
///
/// * `scores`: `[rows, vocabulary]`, after edits; `top`: `[rows, 2 * candidates]`; `wanted`: `[rows, wanted]`
/// * `attention`: `[sentences * heads * beams, source]`; `answer`: `[rows, width]`
pub fn term_scores(
    (shape, terms): (&TopKShape, &TermScoresShape),
    scores: &[f32],
    (top, wanted): (&[u32], &[u32]),
    attention: &[f32],
    answer: &mut [u32],
) {
    let &TermScoresShape { wanted: room, source, heads, beams } = terms;
    let (best, width) = (2 * shape.candidates, terms.width(shape.candidates));
    for (row, answer) in answer.chunks_exact_mut(width).enumerate() {
        let (best_words, rest) = answer.split_at_mut(best);
        best_words.copy_from_slice(&top[row * best..(row + 1) * best]);
        let (wanted_words, attention_words) = rest.split_at_mut(room);
        let scores = &scores[row * shape.vocabulary..(row + 1) * shape.vocabulary];
        for (word, &token) in wanted_words.iter_mut().zip(&wanted[row * room..]) {
            let score = if token == NO_TOKEN { None } else { scores.get(token as usize) };
            *word = score.copied().unwrap_or(f32::NEG_INFINITY).to_bits();
        }
        let first = row / beams * heads * beams + row % beams;
        for (key, word) in attention_words.iter_mut().enumerate() {
            let sum: f32 = (0..heads).map(|head| attention[(first + head * beams) * source + key]).sum();
            *word = (sum / heads as f32).to_bits();
        }
    }
}
