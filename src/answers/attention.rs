//! Cases of attention: every mask, every width of a head, biases, caches, bands.

use super::cases::{Cases, Compared};
use super::sizes::{self, Mask};
use crate::graph::{Columns, Graph, State};
use crate::ops::{AttentionScores, BandedScores, Cache, ScoreFunction, ScoreStage, SideKeys};
use crate::shape::{AttentionShape, Band, BandedShape, SideBlocks};

const CONTEXT: Compared = Compared::Numbers(1e-5, 1e-5);

/// Queries, keys and values in matrices of their own, and the keys that are seen.
struct Inputs {
    shape: AttentionShape,
    q: State,
    k: State,
    v: State,
    mask: State,
    /// First column of the heads in q, k and v.
    first: usize,
}

impl Inputs {
    fn new(cases: &mut Cases, shape: AttentionShape, mask: Mask, first: usize) -> Self {
        let AttentionShape { batch, heads, queries, keys, d_head, d_value, .. } = shape;
        let seen = (0..batch * keys).map(|i| u32::from(mask(i / keys, i % keys))).collect();
        Self {
            shape,
            q: cases.random(batch * queries, first + heads * d_head),
            k: cases.random(batch * keys, first + heads * d_head),
            v: cases.random(batch * keys, first + heads * d_value),
            mask: cases.u32(batch, keys, seen),
            first,
        }
    }

    /// Adds the context and, with one function, the weights.
    fn add(&self, cases: &mut Cases, reach: Option<usize>, function: ScoreFunction, quick: bool) {
        let Self { shape, q, k, v, mask, first } = *self;
        let bias = reach.map(|reach| cases.rows(2 * reach + 1, shape.heads));
        let what = |of| format!("{of}, {function:?}, reach {reach:?}, columns from {first} on, {shape:?}");
        let scores = |g: &mut Graph| AttentionScores {
            shape,
            queries: Columns { value: g.state(q), first },
            keys: Columns { value: g.state(k), first },
            key_mask: g.state(mask),
            distance_bias: bias,
        };
        let context = match function {
            ScoreFunction::Product => CONTEXT,
            ScoreFunction::Additive => Compared::Numbers(1e-4, 1e-4), // tanh differs between devices
        };
        cases
            .add(what("attention"), context, |g| {
                let values = Columns { value: g.state(v), first };
                let scores = scores(g);
                g.attention_by(function, scores, values)
            })
            .quick(quick);
        let weights = match function {
            ScoreFunction::Product => Compared::Numbers(2e-6, 1e-5),
            ScoreFunction::Additive => Compared::Numbers(1e-5, 1e-4),
        };
        cases.add(what("weights"), weights, |g| {
            let scores = scores(g);
            g.attention_weights_by(function, scores)
        });
    }
}

fn shape(queries: usize, keys: usize, [d_head, d_value]: [usize; 2]) -> AttentionShape {
    AttentionShape { batch: 3, heads: 2, queries, keys, d_head, d_value, scale: 0.3, causal: false }
}

pub(super) fn attention(cases: &mut Cases) {
    for (queries, keys) in sizes::ATTENTION {
        for causal in [false, true] {
            for (mask, width) in sizes::MASKS.into_iter().flat_map(|mask| [(mask, 12), (mask, 24)]) {
                let shape = AttentionShape { causal, ..shape(queries, keys, [width, width]) };
                let quick = width == 12 && [(1, 70), (9, 65)].contains(&(queries, keys));
                Inputs::new(cases, shape, mask, 0).add(cases, None, ScoreFunction::Product, quick);
            }
        }
    }
    for (queries, keys) in sizes::MANY_QUERIES {
        for (causal, widths) in [(false, [64, 16]), (true, [33, 70])] {
            let shape = AttentionShape { batch: 2, causal, ..shape(queries, keys, widths) };
            Inputs::new(cases, shape, sizes::MASKS[1], 0).add(cases, None, ScoreFunction::Product, false);
        }
    }
    for (width, first) in sizes::HEADS {
        let shape = shape(5, 6, [width, width]);
        Inputs::new(cases, shape, sizes::MASKS[1], first).add(cases, None, ScoreFunction::Product, false);
    }
    for widths in sizes::KEYS_AND_VALUES {
        for (heads, queries, keys) in [(1, 7, 1), (3, 1, 65), (8, 9, 7)] {
            let shape = AttentionShape { heads, ..shape(queries, keys, widths.into()) };
            Inputs::new(cases, shape, sizes::MASKS[2], 0).add(cases, None, ScoreFunction::Product, false);
        }
    }
    let shape = AttentionShape { batch: 1, heads: 8, ..shape(64, 64, [64, 64]) };
    let inputs = Inputs::new(cases, shape, sizes::MASKS[0], 0);
    let case = cases.add(format!("attention, {shape:?}"), CONTEXT, |g| {
        let [q, k, v] =
            [inputs.q, inputs.k, inputs.v].map(|state| Columns { value: g.state(state), first: 0 });
        let key_mask = g.state(inputs.mask);
        g.attention(AttentionScores { shape, queries: q, keys: k, key_mask, distance_bias: None }, v)
    });
    case.timed();
}

pub(super) fn biased(cases: &mut Cases) {
    for (reach, heads) in sizes::REACHES {
        for (index, (queries, keys)) in sizes::BIASED.into_iter().enumerate() {
            let (causal, mask) = (index % 2 == 1, sizes::MASKS[index % 4]);
            let widths = if causal { [12, 12] } else { [5, 20] };
            let shape = AttentionShape { heads, causal, ..shape(queries, keys, widths) };
            Inputs::new(cases, shape, mask, 0).add(cases, Some(reach), ScoreFunction::Product, false);
        }
    }
}

/// v · tanh(q + k).
pub(super) fn additive(cases: &mut Cases) {
    for (index, (queries, keys)) in sizes::ATTENTION.into_iter().enumerate() {
        let causal = index % 2 == 1;
        let shape = AttentionShape { causal, ..shape(queries, keys, [12, 12]) };
        let inputs = Inputs::new(cases, shape, sizes::MASKS[index % 4], 0);
        inputs.add(cases, None, ScoreFunction::Additive, false);
    }
}

/// Scores before their softmax, as taps show them.
pub(super) fn scores(cases: &mut Cases) {
    for (queries, keys) in sizes::ATTENTION {
        for (reach, mask) in
            [None, Some(3)].into_iter().flat_map(|reach| sizes::MASKS.map(|mask| (reach, mask)))
        {
            let shape = shape(queries, keys, [17, 17]);
            let Inputs { q, k, mask, .. } = Inputs::new(cases, shape, mask, 0);
            let bias = reach.map(|reach: usize| cases.rows(2 * reach + 1, shape.heads));
            cases.add(format!("scores, reach {reach:?}, {shape:?}"), CONTEXT, |g| {
                let [queries, keys] = [q, k].map(|state| Columns { value: g.state(state), first: 0 });
                let key_mask = g.state(mask);
                let scores = AttentionScores { shape, queries, keys, key_mask, distance_bias: bias };
                g.attention_scores(scores, ScoreStage::Masked)
            });
        }
    }
}

/// Cache slots of each row's history, its length, and the slot that it writes; some rows are padding.
fn history(rows: usize, capacity: usize) -> [Vec<u32>; 3] {
    let counts: Vec<u32> = (0..rows).map(|row| 1 + (row * 23 % capacity) as u32).collect();
    // slots of other rows, in any order but for the first, which this run writes
    let earlier = |i| (i * 7 % rows * capacity + 1 + i * 3 % (capacity - 1)) as u32;
    let mut slots: Vec<u32> = (0..rows * capacity).map(earlier).collect();
    let mut own: Vec<u32> = (0..rows).map(|row| (row * capacity) as u32).collect();
    for row in 0..rows {
        slots[row * capacity + counts[row] as usize - 1] = own[row];
    }
    for (row, slot) in own.iter_mut().enumerate() {
        match row % 4 {
            2 => *slot = u32::MAX,
            3 => *slot = (rows * capacity) as u32,
            _ => {}
        }
    }
    [slots, counts, own]
}

pub(super) fn cached(cases: &mut Cases) {
    for [rows, heads, d_head, d_value, capacity] in sizes::CACHES {
        let (width, value_width) = (heads * d_head, heads * d_value);
        let [slots, counts, own] = history(rows, capacity);
        for reach in [None, Some(1), Some(40)] {
            let qkv = cases.random(rows, 2 * width + value_width);
            let cache = Cache {
                keys: cases.random(rows * capacity, width),
                values: cases.random(rows * capacity, value_width),
                cache_slots: cases.u32(rows, 1, own.clone()),
                slots: cases.u32(rows, capacity, slots.clone()),
                key_counts: cases.u32(rows, 1, counts.clone()),
            };
            let bias = reach.map(|reach: usize| cases.rows(2 * reach + 1, heads));
            let what =
                format!("cache of {rows} rows, {heads} heads of {d_head} and {d_value}, reach {reach:?}");
            cases
                .add(what, CONTEXT, |g| {
                    let qkv = g.state(qkv);
                    g.cached_attention(heads, 0.4, qkv, &cache, bias)
                })
                .also(cache.keys, Compared::Numbers(0.0, 0.0))
                .also(cache.values, Compared::Numbers(0.0, 0.0))
                .quick(reach.is_none() && (rows == 3 || rows == 9));
        }
    }
}

/// Bands, side keys and biases: windows, blocks.
pub(super) fn banded(cases: &mut Cases) {
    let window = |radius| Band::window(radius);
    let base = |length, band| BandedShape {
        batch: 3,
        heads: 2,
        length,
        d_head: 12,
        d_value: 12,
        scale: 0.7,
        band,
        reach: None,
        most_sides: 0,
        side_copies: 1,
        side_blocks: None,
    };
    for (length, radius) in [(1, 1), (15, 3), (16, 16), (17, 3), (63, 16), (65, 65), (100, 200)] {
        for most_sides in [0, 3] {
            add_banded(cases, BandedShape { most_sides, ..base(length, window(radius)) });
        }
    }
    for (length, block, left, right) in [(16, 4, 4, 4), (50, 7, 7, 7), (130, 16, 16, 0), (65, 64, 0, 3)] {
        add_banded(cases, BandedShape { most_sides: 2, ..base(length, Band { block, left, right }) });
    }
    for (reach, blocks) in [(0, None), (4, Some((3, 2))), (40, Some((7, 20)))] {
        let side_blocks = blocks.map(|(tokens, reach)| SideBlocks { tokens, reach });
        let most_sides = if side_blocks.is_some() { 11 } else { 0 };
        add_banded(
            cases,
            BandedShape { reach: Some(reach), most_sides, side_blocks, heads: 3, ..base(45, window(9)) },
        );
    }
    for (d_head, d_value) in [(1, 1), (3, 5), (17, 4), (64, 65), (130, 129)] {
        add_banded(cases, BandedShape { d_head, d_value, most_sides: 2, ..base(20, window(4)) });
    }
}

fn add_banded(cases: &mut Cases, shape: BandedShape) {
    let BandedShape { batch, heads, length, d_head, d_value, most_sides, .. } = shape;
    let (width, side_rows) = (heads * d_head, 2 * most_sides.max(1));
    let fused = cases.random(batch * length, 2 * width + heads * d_value);
    let sides = cases.random(side_rows, width + heads * d_value);
    let seen = (0..batch * length).map(|i| u32::from(!(i % length).is_multiple_of(5))).collect();
    let mask = cases.u32(batch, length, seen);
    let rows_of = |sentence: usize| {
        let count = most_sides.saturating_sub(sentence);
        let rows = (0..most_sides).map(move |side| ((7 * side + 3 * sentence) % side_rows) as u32);
        [count as u32, 0].into_iter().chain(rows)
    };
    let rows = cases.u32(batch, 2 + most_sides, (0..batch).flat_map(rows_of).collect());
    let bias = (shape.bias_rows() > 0).then(|| cases.rows(shape.bias_rows(), heads));
    let scores = |g: &mut Graph| {
        let [value, side] = [fused, sides].map(|state| g.state(state));
        let columns = |first| Columns { value, first };
        let sides = (most_sides > 0).then(|| SideKeys {
            keys: Columns { value: side, first: 0 },
            values: Columns { value: side, first: width },
            rows: g.state(rows),
        });
        let (queries, keys, values) = (columns(0), columns(width), columns(2 * width));
        BandedScores { shape, queries, keys, values, key_mask: g.state(mask), distance_bias: bias, sides }
    };
    cases.add(format!("bands, {shape:?}"), CONTEXT, |g| {
        let scores = scores(g);
        g.banded_attention(scores)
    });
    cases.add(format!("weights of bands, {shape:?}"), Compared::Numbers(2e-6, 1e-5), |g| {
        let scores = scores(g);
        g.banded_attention_weights(scores)
    });
}
