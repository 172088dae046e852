//! Numbers and a label for every head.
//!
//! The sources are: positional, rare-word and other heads (Voita et al. 2019, "Analyzing Multi-Head Self-Attention"),
//! heads on end tokens and punctuation (Clark et al. 2019, "What Does BERT Look At?"), entropy, components (Dong et al.
//! 2021, "Attention Is Not All You Need"; Wang et al. 2020, "Linformer").
//!
//! Every number is a mean over the queries that see two or more keys. In cross-attention a query's position is scaled
//! to the keys: query `i` of `Q` is at `i * (K - 1) / (Q - 1)` of `K` keys. In layers with bands a query sees the keys of its
//! band and the side keys, and uniform attention is over them.

use std::fmt;

#[cfg(not(target_arch = "wasm32"))]
use rayon::prelude::*;

use super::spectrum::Spectrum;
use super::{AttentionKind, LayerAttention, Map, Token, Trace, TracedSentence};

/// Mass that gives a head its label, if it also is [`TIMES_UNIFORM`] times that of uniform attention.
pub const MASS: f64 = 0.5;
/// See [`MASS`].
pub const TIMES_UNIFORM: f64 = 1.5;
/// Least relative entropy of a broad head.
pub const BROAD: f64 = 0.9;
/// Least mean of the rows' maxima of a focused head.
pub const FOCUSED: f64 = 0.7;

/// Numbers of one head. Masses are 0 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Numbers {
    /// Number of queries that see two or more keys. The other numbers are means over them.
    pub queries: usize,
    /// Entropy, nats.
    pub entropy: f64,
    /// Entropy divided by that of uniform attention: 0 is one key, 1 is all of them.
    pub relative_entropy: f64,
    /// Distance from the query to its keys, weighted by mass, in keys.
    pub distance: f64,
    /// Mass on the query's own position.
    pub diagonal: f64,
    /// Mass on the previous position, of the queries that have one.
    pub previous: f64,
    /// Mass on the next position, of the queries that see one.
    pub next: f64,
    /// Mass on tokens without text: ends, starts, languages.
    pub special: f64,
    /// Mass on punctuation.
    pub punctuation: f64,
    /// Mass on the rarest key without special tokens and punctuation: the largest id, because frequent tokens come
    /// first.
    pub rare: f64,
    /// Mass on the most attended key.
    pub confidence: f64,
    /// Fewest components that hold 90 % of the variance of the matrix; the sum over [`maps`](Self::maps).
    pub components: usize,
    /// Largest possible number of components, which is the shorter side; the sum over [`maps`](Self::maps). 0 if a map is too
    /// large for its singular values.
    pub full_rank: usize,
    /// Share of the variance that the first 1, 2, 3, … components hold; the mean over [`maps`](Self::maps).
    pub spectrum: Vec<f64>,
    /// Number of maps: sentences.
    pub maps: usize,
    /// Masses of uniform attention: `diagonal`, `previous`, `next`, `special`, `punctuation`, `rare`.
    pub uniform: [f64; 6],
}

/// Label of a head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Label {
    /// [`Numbers::previous`] is largest.
    PreviousToken,
    /// [`Numbers::diagonal`] is largest.
    Diagonal,
    /// [`Numbers::next`] is largest.
    NextToken,
    /// [`Numbers::special`] is largest, and the keys are a source: mostly its end token.
    EndSink,
    /// [`Numbers::special`] is largest, and the keys are a target: mostly its start token.
    StartSink,
    /// [`Numbers::punctuation`] is largest.
    PunctuationSink,
    /// [`Numbers::rare`] is largest.
    RareWord,
    /// [`Numbers::relative_entropy`] is at least [`BROAD`].
    Broad,
    /// [`Numbers::confidence`] is at least [`FOCUSED`], without one of the labels above.
    Focused,
    /// None of the others.
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

/// Numbers of one head.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadStatistics {
    /// Kind of attention.
    pub kind: AttentionKind,
    /// Index of the layer.
    pub layer: usize,
    /// Index of the head.
    pub head: usize,
    /// Numbers of the head.
    pub numbers: Numbers,
}

impl HeadStatistics {
    /// Label of the head.
    pub fn label(&self) -> Label {
        self.numbers.label(self.kind)
    }
}

impl Numbers {
    /// Measures one map. `keys` are the tokens of its columns.
    ///
    /// # Panics
    /// If the numbers of keys and columns differ.
    pub fn of(kind: AttentionKind, map: Map<'_>, keys: &[&Token]) -> Self {
        assert_eq!(map.keys, keys.len(), "each column has a token");
        let mut seen = Vec::new();
        let rows = map.rows().enumerate().map(|(query, row)| {
            // the decoder does not see later keys
            let visible = if kind == AttentionKind::Decoder { (query + 1).min(row.len()) } else { row.len() };
            (query, &row[..visible])
        });
        let mut sums = Sums::default();
        let measure = Measure::new(kind, [map.queries, map.keys], keys);
        for (query, row) in rows {
            seen.clear();
            seen.extend(row.iter().enumerate().map(|(key, &weight)| (key, f64::from(weight).max(0.0))));
            measure.add(&mut sums, query, &seen);
        }
        let spectrum =
            is_small([map.queries, map.keys]).then(|| (Spectrum::of(map), map.queries.min(map.keys)));
        sums.numbers(spectrum.unwrap_or_default())
    }

    /// Measures a head of a layer. `keys` are the tokens. Panics if there is no such head, or if the number of keys differs.
    pub fn of_head(layer: &LayerAttention, head: usize, keys: &[&Token]) -> Self {
        match layer.bands {
            None => Self::of(layer.kind, layer.head(head), keys),
            Some(_) => Self::of_bands(layer, head, keys),
        }
    }

    /// Measures a head with bands: a query sees its band and the side keys. `keys` are the tokens.
    fn of_bands(layer: &LayerAttention, head: usize, keys: &[&Token]) -> Self {
        let mut sums = Sums::default();
        let sizes = [layer.queries, layer.columns()];
        let measure = Measure::new(layer.kind, sizes, keys);
        let mut seen = Vec::new();
        for query in 0..layer.queries {
            seen.clear();
            layer.for_each_seen(head, query, |key, weight| seen.push((key, f64::from(weight).max(0.0))));
            measure.add(&mut sums, query, &seen);
        }
        let spectrum = is_small(sizes).then(|| {
            let whole = layer.only(head).whole();
            (Spectrum::of(whole.head(0)), layer.queries.min(layer.seen_columns()))
        });
        sums.numbers(spectrum.unwrap_or_default())
    }

    /// The label: the most prominent position or kind of token, or else the shape of the rows.
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

    /// Adds numbers of the same head in another sentence; means are weighted by queries, components are added.
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
        self.components += other.components;
        self.full_rank += other.full_rank;
        // a smaller map holds all of its variance beyond its last component
        let share = |spectrum: &[f64], at: usize| spectrum.get(at).copied().unwrap_or(1.0);
        let (a, b) = (self.maps as f64, other.maps as f64);
        let longest = self.spectrum.len().max(other.spectrum.len());
        let both = (0..longest)
            .map(|at| (a * share(&self.spectrum, at) + b * share(&other.spectrum, at)) / (a + b).max(1.0));
        self.spectrum = both.collect();
        self.maps += other.maps;
    }
}

/// What is measured of each query.
struct Measure {
    /// Columns that are tokens; sums stand to the right of them.
    tokens: usize,
    special: Vec<bool>,
    punctuation: Vec<bool>,
    rarest: Option<usize>,
    /// Keys from query to query.
    scale: f64,
}

impl Measure {
    /// `keys`: tokens of the first columns; those of others are unknown.
    fn new(kind: AttentionKind, [queries, columns]: [usize; 2], keys: &[&Token]) -> Self {
        let mut special: Vec<bool> = keys.iter().map(|key| key.special).collect();
        let mut punctuation: Vec<bool> = keys.iter().map(|key| key.is_punctuation()).collect();
        let words = (0..keys.len()).filter(|&key| !special[key] && !punctuation[key]);
        let rarest = words.max_by_key(|&key| keys[key].id);
        special.resize(columns, false);
        punctuation.resize(columns, false);
        let scale = match kind {
            AttentionKind::Cross if queries > 1 => (columns - 1) as f64 / (queries - 1) as f64,
            _ => 1.0,
        };
        Self { tokens: keys.len(), special, punctuation, rarest, scale }
    }

    /// Adds a query, with the keys that it sees and their weights.
    fn add(&self, sums: &mut Sums, query: usize, seen: &[(usize, f64)]) {
        if seen.len() < 2 {
            return;
        }
        let place = query as f64 * self.scale;
        let own = place.round() as usize;
        let entropy: f64 = seen.iter().filter(|&&(_, p)| p > 0.0).map(|(_, p)| -p * p.ln()).sum();
        sums.add(0, entropy, 0.0);
        sums.add(1, entropy / (seen.len() as f64).ln(), 0.0);
        let tokens = seen.iter().filter(|&&(key, _)| key < self.tokens);
        sums.add(2, tokens.map(|&(key, p)| p * (key as f64 - place).abs()).sum(), 0.0);
        sums.add(3, seen.iter().map(|&(_, p)| p).fold(0.0, f64::max), 0.0);
        let even = 1.0 / seen.len() as f64;
        let neighbours = [Some(own), own.checked_sub(1), own.checked_add(1)]
            .map(|key| key.filter(|&key| key < self.tokens));
        for (slot, key) in (4..).zip(neighbours) {
            let seen_there = key.and_then(|key| seen.iter().find(|&&(other, _)| other == key));
            if let Some(&(_, mass)) = seen_there {
                sums.add(slot, mass, even);
            }
        }
        let on = |chosen: &dyn Fn(usize) -> bool| {
            let chosen = seen.iter().filter(|&&(key, _)| chosen(key));
            chosen.fold((0.0, 0.0), |(mass, uniform), &(_, p)| (mass + p, uniform + even))
        };
        for (slot, (mass, uniform)) in (7..).zip([
            on(&|key| self.special[key]),
            on(&|key| self.punctuation[key]),
            on(&|key| self.rarest == Some(key)),
        ]) {
            sums.add(slot, mass, uniform);
        }
    }
}

/// Most multiplications for singular values: a larger map takes many seconds.
const MOST_SPECTRUM_WORK: usize = 1 << 31;

/// Whether singular values are quick to compute.
pub(super) fn is_small([rows, columns]: [usize; 2]) -> bool {
    let (short, long) = (rows.min(columns), rows.max(columns));
    short
        .checked_mul(short)
        .and_then(|square| square.checked_mul(long))
        .is_some_and(|work| work <= MOST_SPECTRUM_WORK)
}

/// For each number: its sum, the sum of uniform attention, and its count.
#[derive(Default)]
struct Sums([(f64, f64, usize); 10]);

impl Sums {
    fn numbers(&self, (spectrum, full_rank): (Spectrum, usize)) -> Numbers {
        let mean = |slot: usize| self.mean(slot).0;
        Numbers {
            queries: self.0[0].2,
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
            components: spectrum.components_for_most(),
            full_rank,
            spectrum: spectrum.cumulative(),
            maps: 1,
            uniform: [4, 5, 6, 7, 8, 9].map(|slot| self.mean(slot).1),
        }
    }

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

impl TracedSentence {
    /// Numbers of every kept head, by kind, layer and head.
    pub fn statistics(&self) -> Vec<HeadStatistics> {
        let of_layer = |attention: &LayerAttention| {
            let (kind, layer) = (attention.kind, attention.layer);
            let keys = self.key_tokens(kind);
            let of_head = |head| {
                let numbers = Numbers::of_head(attention, head, &keys);
                HeadStatistics { kind, layer, head, numbers }
            };
            // singular values of long texts are slow
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
    /// Numbers of every head over all sentences that have it.
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
