//! Numbers for every head, and a plain name that they give it.
//!
//! After the analyses of the literature: positional, rare-word and other heads (Voita et al. 2019, "Analyzing Multi-Head
//! Self-Attention"), heads that rest on end tokens and punctuation (Clark et al. 2019, "What Does BERT Look At?"),
//! entropy and rank (Dong et al. 2021, "Attention Is Not All You Need").
//!
//! Every number is a mean over the queries that have a choice: a decoder's first token can only attend to itself, and says
//! nothing about a head. In cross-attention, whose sides differ in length, a query's place is carried over to the keys in
//! proportion: query `i` of `Q` lies at `i * (K - 1) / (Q - 1)` of `K` keys.

use std::fmt;

#[cfg(not(target_arch = "wasm32"))]
use rayon::prelude::*;

use super::{AttentionKind, LayerAttention, Map, Token, Trace, TracedSentence};

/// Mass that names a head; it must be [`TIMES_UNIFORM`] times what a head without preferences would give, too, which
/// matters in short sentences.
pub const MASS: f64 = 0.5;
/// See [`MASS`].
pub const TIMES_UNIFORM: f64 = 1.5;
/// Relative entropy from which on a head is broad.
pub const BROAD: f64 = 0.9;
/// Mean of the rows' maxima from which on a head is focused on one key at a time.
pub const FOCUSED: f64 = 0.7;

/// What a head's attention looks like. All masses are 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Numbers {
    /// Queries that have a choice. The other numbers are means over them.
    pub queries: usize,
    /// Entropy, nats.
    pub entropy: f64,
    /// Entropy over that of a head that attends to all keys alike: 0 is one key, 1 is all of them.
    pub relative_entropy: f64,
    /// How far away the keys are that are attended to, in keys.
    pub distance: f64,
    /// Mass on the query's own place.
    pub diagonal: f64,
    /// Mass on the place before it, of the queries that have one.
    pub previous: f64,
    /// Mass on the place after it, of the queries that see one.
    pub next: f64,
    /// Mass on tokens that stand for no text: ends, starts, languages.
    pub special: f64,
    /// Mass on punctuation.
    pub punctuation: f64,
    /// Mass on the rarest key: of those that are neither special nor punctuation the one with the largest id, because
    /// vocabularies begin with what is frequent.
    pub rare: f64,
    /// Mass on the most attended key.
    pub confidence: f64,
    /// Numerical rank of the matrix: singular values above the largest times its longer side times f32's epsilon, as NumPy's
    /// `matrix_rank`.
    pub rank: usize,
    /// What the rank could be: the shorter side.
    pub full_rank: usize,
    /// What a head without preferences would have, in the order `diagonal`, `previous`, `next`, `special`, `punctuation`,
    /// `rare`.
    pub uniform: [f64; 6],
}

/// A head's plain name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Label {
    /// [`Numbers::previous`] stands out.
    PreviousToken,
    /// [`Numbers::diagonal`] stands out.
    Diagonal,
    /// [`Numbers::next`] stands out.
    NextToken,
    /// [`Numbers::special`] stands out where the keys are a source: its end token, mostly.
    EndSink,
    /// [`Numbers::special`] stands out where the keys are a target: its start token, mostly.
    StartSink,
    /// [`Numbers::punctuation`] stands out.
    PunctuationSink,
    /// [`Numbers::rare`] stands out.
    RareWord,
    /// [`Numbers::relative_entropy`] is at least [`BROAD`].
    Broad,
    /// [`Numbers::confidence`] is at least [`FOCUSED`], on no place or kind of token that has a name.
    Focused,
    /// Nothing stands out.
    #[default]
    Mixed,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::PreviousToken => "positional: previous token",
            Self::Diagonal => "positional: diagonal",
            Self::NextToken => "positional: next token",
            Self::EndSink => "sink: end token",
            Self::StartSink => "sink: start token",
            Self::PunctuationSink => "sink: punctuation",
            Self::RareWord => "rare word",
            Self::Broad => "broad",
            Self::Focused => "focused",
            Self::Mixed => "mixed",
        })
    }
}

/// One head and its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadStatistics {
    /// Whose attention, to what.
    pub kind: AttentionKind,
    /// Counted from 0.
    pub layer: usize,
    /// Counted from 0.
    pub head: usize,
    /// What it looks like.
    pub numbers: Numbers,
}

impl HeadStatistics {
    /// Its name.
    pub fn label(&self) -> Label {
        self.numbers.label(self.kind)
    }
}

impl Numbers {
    /// The numbers of one map. `keys` are the tokens of its columns.
    ///
    /// # Panics
    /// Where there are not as many keys as columns.
    pub fn of(kind: AttentionKind, map: Map<'_>, keys: &[&Token]) -> Self {
        assert_eq!(map.keys, keys.len(), "each column has a token");
        let special: Vec<bool> = keys.iter().map(|key| key.special).collect();
        let punctuation: Vec<bool> = keys.iter().map(|key| key.is_punctuation()).collect();
        let words = (0..keys.len()).filter(|&key| !special[key] && !punctuation[key]);
        let rarest = words.max_by_key(|&key| keys[key].id);
        let scale = match kind {
            AttentionKind::Cross if map.queries > 1 => (map.keys - 1) as f64 / (map.queries - 1) as f64,
            _ => 1.0,
        };
        let mut sums = Sums::default();
        for (query, row) in map.rows().enumerate() {
            // the decoder does not see what comes later
            let visible = if kind == AttentionKind::Decoder { (query + 1).min(row.len()) } else { row.len() };
            if visible < 2 {
                continue;
            }
            let row: Vec<f64> = row[..visible].iter().map(|&weight| f64::from(weight).max(0.0)).collect();
            let place = query as f64 * scale;
            let own = place.round() as usize;
            let entropy: f64 = row.iter().filter(|&&p| p > 0.0).map(|p| -p * p.ln()).sum();
            sums.add(0, entropy, 0.0);
            sums.add(1, entropy / (visible as f64).ln(), 0.0);
            let distance = |(key, p): (usize, &f64)| p * (key as f64 - place).abs();
            sums.add(2, row.iter().enumerate().map(distance).sum(), 0.0);
            sums.add(3, row.iter().copied().fold(0.0, f64::max), 0.0);
            let even = 1.0 / visible as f64;
            let neighbours = [Some(own), own.checked_sub(1), own.checked_add(1)];
            for (slot, key) in (4..).zip(neighbours) {
                if let Some(&mass) = key.and_then(|key| row.get(key)) {
                    sums.add(slot, mass, even);
                }
            }
            let on = |chosen: &dyn Fn(usize) -> bool| {
                let chosen = (0..visible).filter(|&key| chosen(key));
                chosen.fold((0.0, 0.0), |(mass, uniform), key| (mass + row[key], uniform + even))
            };
            for (slot, (mass, uniform)) in (7..).zip([
                on(&|key| special[key]),
                on(&|key| punctuation[key]),
                on(&|key| rarest == Some(key)),
            ]) {
                sums.add(slot, mass, uniform);
            }
        }
        let mean = |slot: usize| sums.mean(slot).0;
        Self {
            queries: sums.0[0].2,
            entropy: mean(0),
            relative_entropy: mean(1),
            distance: mean(2),
            confidence: mean(3),
            diagonal: mean(4),
            previous: mean(5),
            next: mean(6),
            special: mean(7),
            punctuation: mean(8),
            rare: mean(9),
            rank: rank(map),
            full_rank: map.queries.min(map.keys),
            uniform: [4, 5, 6, 7, 8, 9].map(|slot| sums.mean(slot).1),
        }
    }

    /// The name that the numbers give: the place or kind of token that stands out most, else what the rows look like.
    pub fn label(&self, kind: AttentionKind) -> Label {
        let sink = if kind.keys_target() { Label::StartSink } else { Label::EndSink };
        if self.queries == 0 {
            return Label::Mixed;
        }
        let named = [
            (self.diagonal, Label::Diagonal),
            (self.previous, Label::PreviousToken),
            (self.next, Label::NextToken),
            (self.special, sink),
            (self.punctuation, Label::PunctuationSink),
            (self.rare, Label::RareWord),
        ];
        let standing_out = named
            .into_iter()
            .zip(self.uniform)
            .filter(|&((mass, _), uniform)| mass >= MASS && mass >= TIMES_UNIFORM * uniform)
            .map(|(named, _)| named);
        match standing_out.max_by(|(a, _), (b, _)| a.total_cmp(b)) {
            Some((_, label)) => label,
            None if self.relative_entropy >= BROAD => Label::Broad,
            None if self.confidence >= FOCUSED => Label::Focused,
            None => Label::Mixed,
        }
    }

    /// Adds another sentence's numbers of the same head; means are weighted by queries, ranks are added.
    fn add(&mut self, other: &Self) {
        let (a, b) = (self.queries as f64, other.queries as f64);
        let all = (a + b).max(1.0);
        let mean = |own: &mut f64, other: f64| *own = (a * *own + b * other) / all;
        mean(&mut self.entropy, other.entropy);
        mean(&mut self.relative_entropy, other.relative_entropy);
        mean(&mut self.distance, other.distance);
        mean(&mut self.diagonal, other.diagonal);
        mean(&mut self.previous, other.previous);
        mean(&mut self.next, other.next);
        mean(&mut self.special, other.special);
        mean(&mut self.punctuation, other.punctuation);
        mean(&mut self.rare, other.rare);
        mean(&mut self.confidence, other.confidence);
        self.uniform.iter_mut().zip(other.uniform).for_each(|(own, other)| mean(own, other));
        self.queries += other.queries;
        self.rank += other.rank;
        self.full_rank += other.full_rank;
    }
}

/// Sums of each number, of what it would be without preferences, and how often it was there.
#[derive(Default)]
struct Sums([(f64, f64, usize); 10]);

impl Sums {
    fn add(&mut self, slot: usize, value: f64, uniform: f64) {
        let (sum, uniform_sum, count) = &mut self.0[slot];
        *sum += value;
        *uniform_sum += uniform;
        *count += 1;
    }

    fn mean(&self, slot: usize) -> (f64, f64) {
        let (sum, uniform, count) = self.0[slot];
        let count = count.max(1) as f64;
        (sum / count, uniform / count)
    }
}

/// Numerical rank; see [`Numbers::rank`].
pub fn rank(map: Map<'_>) -> usize {
    if map.weights.is_empty() {
        return 0;
    }
    let matrix = nalgebra::DMatrix::from_row_iterator(
        map.queries,
        map.keys,
        map.weights.iter().map(|&weight| f64::from(weight)),
    );
    let values = matrix.singular_values();
    let tolerance = values.max() * map.queries.max(map.keys) as f64 * f64::from(f32::EPSILON);
    values.iter().filter(|&&value| value > tolerance).count()
}

impl TracedSentence {
    /// The numbers of every kept head, in the order of kinds, layers and heads.
    pub fn statistics(&self) -> Vec<HeadStatistics> {
        let of_layer = |attention: &LayerAttention| {
            let (kind, layer) = (attention.kind, attention.layer);
            let keys = self.key_tokens(kind);
            let of_head = |head| {
                let numbers = Numbers::of(kind, attention.head(head), &keys);
                HeadStatistics { kind, layer, head, numbers }
            };
            // ranks of long texts take a while
            #[cfg(not(target_arch = "wasm32"))]
            return (0..attention.heads).into_par_iter().map(of_head).collect();
            #[cfg(target_arch = "wasm32")]
            return (0..attention.heads).map(of_head).collect();
        };
        let layers: Vec<Vec<HeadStatistics>> = self.attention.iter().map(of_layer).collect();
        layers.concat()
    }
}

impl Trace {
    /// The numbers of every head over all sentences that it was kept of.
    pub fn statistics(&self) -> Vec<HeadStatistics> {
        let mut all: Vec<HeadStatistics> = Vec::new();
        for of_sentence in self.sentences.iter().flat_map(TracedSentence::statistics) {
            let key = |head: &HeadStatistics| (head.kind, head.layer, head.head);
            match all.binary_search_by_key(&key(&of_sentence), key) {
                Ok(place) => all[place].numbers.add(&of_sentence.numbers),
                Err(place) => all.insert(place, of_sentence),
            }
        }
        all
    }
}
