//! Segmentation by a unigram language model.  Kudo 2018, "Subword Regularization", section 3.

use super::Segment;
use super::pieces::Pieces;
use super::proto::PieceKind;

/// Distance of an unknown character's score to the least likely piece, in nats.
const UNKNOWN_PENALTY: f32 = 10.0;

/// Limit at which sums of log probabilities restart from zero, so that `f32` still distinguishes pieces in long texts.
const SCORE_RESET: f32 = 100_000.0;

/// The score of an unknown character.
#[derive(Debug)]
pub(super) struct Unigram {
    unknown_score: f32,
}

/// The best segmentation of the text up to a position.
#[derive(Clone, Copy)]
struct Best {
    score: f32,
    /// Start of the last segment, or `UNREACHED`.
    start: usize,
    id: Option<u32>,
}

const UNREACHED: usize = usize::MAX;

impl Unigram {
    pub(super) fn new(pieces: &Pieces) -> Result<Self, String> {
        if pieces.iter().any(|piece| !piece.score.is_finite()) {
            return Err("a piece's score is not a finite number".into());
        }
        let normal = pieces.iter().filter(|piece| piece.kind == PieceKind::Normal);
        let min_score = normal.map(|piece| piece.score).fold(f32::MAX, f32::min);
        Ok(Self { unknown_score: min_score - UNKNOWN_PENALTY })
    }

    /// The most likely segmentation (Viterbi), as `unigram::Model::EncodeOptimized` finds it: the same `f32` sums in the same
    /// order. Of equal sums, the first wins.
    pub(super) fn segment(&self, pieces: &Pieces, text: &str) -> Vec<Segment> {
        let mut best = vec![Best { score: 0.0, start: UNREACHED, id: None }; text.len() + 1];
        let mut frontier = 0; // the last reached position
        let mut start = 0;
        for char_bytes in text.chars().map(char::len_utf8) {
            let offset = best[start].score;
            if offset.abs() > SCORE_RESET {
                for place in &mut best[start..=frontier] {
                    place.score -= offset;
                }
            }
            let score_here = best[start].score;
            let mut reach = |length: usize, score: f32, id: Option<u32>| {
                frontier = frontier.max(start + length);
                let place = &mut best[start + length];
                let score = score + score_here;
                if place.start == UNREACHED || score > place.score {
                    *place = Best { score, start, id };
                }
            };

            let mut char_is_known = false;
            for (length, id) in pieces.trie.prefixes(&text[start..]) {
                let score = match pieces[id].kind {
                    PieceKind::Unused => continue,
                    // above every segmentation into other pieces, whose log probabilities are negative
                    PieceKind::UserDefined => (0.1 * (length as f64 - 1.0)) as f32,
                    _ => pieces[id].score,
                };
                reach(length, score, Some(id));
                char_is_known |= length == char_bytes;
            }
            if !char_is_known {
                reach(char_bytes, self.unknown_score, None);
            }
            start += char_bytes;
        }

        let mut segments = Vec::with_capacity(text.len() / 4 + 1);
        let mut end = text.len();
        while end > 0 {
            let Best { start, id, .. } = best[end];
            segments.push(Segment { range: start..end, id });
            end = start;
        }
        segments.reverse();
        segments
    }
}
