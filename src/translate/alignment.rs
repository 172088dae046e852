//! Word alignment from cross-attention.
//!
//! Words are separated by white space, as in Pharaoh's format; in a script without spaces a sentence is one word.
//!
//! 1. The layer is the most confident one: the mean over heads has the largest mean, over the target's tokens, of the
//!    largest mass on one source token. Tokens without text do not count. (Many heads that are more confident alone
//!    look at the end token or at the next token.)
//! 2. A target word's mass on a source word is the sum over the source word's tokens, and the mean over its own tokens.
//!    Punctuation at a word's end does not count.
//! 3. A pair is linked if the source word is the target word's best. It is also linked if the target word is the source
//!    word's best, with at least half the mass of the target word's best. Equal masses are all best.

use crate::model::LayerAttention;
use crate::text::Token;

/// Relative difference below which masses are equal.
const EQUAL: f64 = 1e-6;
/// Share of its best word's mass that a target word needs on a source word that prefers it.
const OTHER_SIDE: f64 = 0.5;

/// Links between the words of a sentence and its translation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alignment {
    /// `(source word, target word)`, counted from 0, sorted.
    pub links: Vec<(usize, usize)>,
    /// Index of the layer; `None` without cross-attention.
    pub layer: Option<usize>,
}

impl Alignment {
    /// Links as `0-0 1-2`: source word, target word.
    pub fn pharaoh(&self) -> String {
        let links: Vec<String> =
            self.links.iter().map(|(source, target)| format!("{source}-{target}")).collect();
        links.join(" ")
    }

    /// Appends another sentence's links; its words begin at `source_words` and `target_words`.
    pub fn append(&mut self, other: &Self, source_words: usize, target_words: usize) {
        let moved =
            other.links.iter().map(|&(source, target)| (source + source_words, target + target_words));
        self.links.extend(moved);
        self.layer = self.layer.or(other.layer);
    }
}

/// Which tokens and words of a sentence were translated to which.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SentenceAlignment {
    /// Tokens that the encoder read.
    pub source_tokens: Vec<Token>,
    /// Tokens of the best translation, without the start token.
    pub target_tokens: Vec<Token>,
    /// `[target tokens, source tokens]`: cross-attention, the mean over the heads of the layer of [`words`](Self::words).
    /// Empty if there was no memory for any layer.
    pub masses: Vec<f32>,
    /// Links between words.
    pub words: Alignment,
}

impl SentenceAlignment {
    /// * `texts`, `tokens`: of the source and of the target; the target's tokens without the start token
    pub(super) fn new(texts: [&str; 2], tokens: [Vec<Token>; 2], layers: &[LayerAttention]) -> Self {
        let words = Alignment::of(texts, tokens.each_ref().map(|side| side.iter().collect()), layers.iter());
        let layer = layers.iter().find(|layer| Some(layer.layer) == words.layer);
        let [source_tokens, target_tokens] = tokens;
        Self {
            source_tokens,
            target_tokens,
            masses: layer.map(LayerAttention::mean).unwrap_or_default(),
            words,
        }
    }
}

impl Alignment {
    /// Which word of the source was translated to which word of the target.
    ///
    /// * `texts`: the source and the target
    /// * `tokens`: the keys and the queries of cross-attention; a query is named after the token that it produced
    /// * `layers`: cross-attention
    pub(crate) fn of<'a>(
        texts: [&str; 2],
        tokens: [Vec<&Token>; 2],
        layers: impl Iterator<Item = &'a LayerAttention>,
    ) -> Self {
        let [source, target] = texts.map(words);
        let [keys, queries] = &tokens;
        let of_key: Vec<Option<usize>> = keys.iter().map(|token| word_of(token, texts[0], &source)).collect();
        let of_query: Vec<Option<usize>> =
            queries.iter().map(|token| word_of(token, texts[1], &target)).collect();
        let layers = layers.map(|layer| {
            let mean = layer.mean();
            (confidence(layer, &mean, &of_query, &of_key), layer, mean)
        });
        // of equal layers the last, which is nearest to the result
        let Some((_, layer, mean)) = layers.max_by(|(a, ..), (b, ..)| a.total_cmp(b)) else {
            return Alignment::default();
        };
        let mut masses = vec![0.0; source.len() * target.len()];
        let mut tokens = vec![0; target.len()];
        for (row, &target_word) in mean.chunks_exact(layer.keys.max(1)).zip(&of_query) {
            let Some(target_word) = target_word else { continue };
            tokens[target_word] += 1;
            for (&weight, &source_word) in row.iter().zip(&of_key) {
                if let Some(source_word) = source_word {
                    masses[target_word * source.len() + source_word] += f64::from(weight);
                }
            }
        }
        for (row, &count) in masses.chunks_exact_mut(source.len().max(1)).zip(&tokens) {
            row.iter_mut().for_each(|mass| *mass /= f64::from(count.max(1)));
        }
        Alignment { links: link(&masses, source.len()), layer: Some(layer.layer) }
    }
}

/// Links words by step 3. `masses` are `[target words, source words]`.
pub fn link(masses: &[f64], sources: usize) -> Vec<(usize, usize)> {
    let rows: Vec<&[f64]> = masses.chunks_exact(sources.max(1)).collect();
    let best_of_row: Vec<f64> = rows.iter().map(|row| row.iter().copied().fold(0.0, f64::max)).collect();
    let best_of_column: Vec<f64> =
        (0..sources).map(|source| rows.iter().map(|row| row[source]).fold(0.0, f64::max)).collect();
    let is = |mass: f64, best: f64| mass > 0.0 && mass >= best * (1.0 - EQUAL);
    let mut links = Vec::new();
    for source in 0..sources {
        for (target, row) in rows.iter().enumerate() {
            let mass = row[source];
            let other_side = is(mass, best_of_column[source]) && mass >= OTHER_SIDE * best_of_row[target];
            if is(mass, best_of_row[target]) || other_side {
                links.push((source, target));
            }
        }
    }
    links
}

/// Byte range of each word.
pub fn words(text: &str) -> Vec<[usize; 2]> {
    let start = text.as_ptr() as usize;
    text.split_whitespace()
        .map(|word| {
            let first = word.as_ptr() as usize - start;
            [first, first + word.len()]
        })
        .collect()
}

/// Index of the word that the token begins in. `None` for punctuation at a word's end.
fn word_of(token: &Token, text: &str, words: &[[usize; 2]]) -> Option<usize> {
    let [first, _] = token.range.filter(|_| !token.special)?;
    let place = words.partition_point(|&[_, end]| end <= first);
    let &[begin, end] = words.get(place).filter(|&&[begin, _]| begin <= first)?;
    let beside = token.is_punctuation() && text.get(begin..end)?.contains(char::is_alphanumeric);
    (!beside).then_some(place)
}

fn confidence(
    layer: &LayerAttention,
    mean: &[f32],
    queries: &[Option<usize>],
    keys: &[Option<usize>],
) -> f64 {
    let rows = mean.chunks_exact(layer.keys.max(1)).zip(queries).filter(|(_, word)| word.is_some());
    let maxima = rows.map(|(row, _)| {
        let of_words = row.iter().zip(keys).filter(|(_, word)| word.is_some());
        f64::from(of_words.map(|(&weight, _)| weight).fold(0.0, f32::max))
    });
    let (sum, count) = maxima.fold((0.0, 0), |(sum, count), largest| (sum + largest, count + 1));
    sum / f64::from(count.max(1))
}
