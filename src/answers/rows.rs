//! Cases without weights of their own: norms, selections, sums and copies of rows, the recurrent unit, projected keys.

use super::cases::{Cases, Compared, random};
use super::sizes;
use crate::graph::{Columns, State};
use crate::ops::{CellCache, LengthProjections, Normalization, TermInputs};
use crate::scores::{
    EditKind, NO_TOKEN, ScoreEdit, ScoreRules, ScoreSpace, TermScoresShape, TopKShape, encode_edits,
};
use crate::shape::{LowRankShape, ProjectedShape};

const EXACT: Compared = Compared::Numbers(0.0, 0.0);
const CLOSE: Compared = Compared::Numbers(1e-5, 1e-5);

pub(super) fn norm(cases: &mut Cases) {
    for (rows, width) in sizes::NORM {
        let (x, residual) = (cases.random(rows, width), cases.random(rows, width));
        let (gamma, beta) = (cases.vector(width), cases.vector(width));
        for (with_residual, centered) in [(false, true), (true, true), (false, false), (true, false)] {
            let norm = Normalization { gamma, beta: centered.then_some(beta), running: None, epsilon: 1e-5 };
            let kind = if centered { "layer norm" } else { "RMS norm" };
            let what = format!("{kind} of {rows} rows of {width}, residual {with_residual}");
            cases
                .add(what, CLOSE, |g| {
                    let (x, residual) = (g.state(x), with_residual.then(|| g.state(residual)));
                    g.layer_norm(x, residual, norm)
                })
                .quick((rows, width) == (17, 256));
        }
    }
    let (x, gamma, beta) = (cases.random(64, 512), cases.vector(512), cases.vector(512));
    let norm = Normalization { gamma, beta: Some(beta), running: None, epsilon: 1e-5 };
    let case = cases.add("layer norm of 64 rows of 512".into(), CLOSE, |g| {
        let x = g.state(x);
        g.layer_norm(x, None, norm)
    });
    case.timed();
}

/// The best tokens of each row, with and without edits, and log-probabilities of given tokens.
pub(super) fn selection(cases: &mut Cases) {
    let rules = [
        ScoreRules { space: ScoreSpace::Logits, renormalize: true },
        ScoreRules { space: ScoreSpace::LogProbabilities, renormalize: false },
        ScoreRules { space: ScoreSpace::LogProbabilities, renormalize: true },
    ];
    for (rows, vocabulary, candidates) in sizes::BEST {
        // coarse, for ties
        let logits: Vec<f32> =
            random(7, rows * vocabulary).iter().map(|value| (value * 200.0).round() / 16.0).collect();
        let mut edits = Vec::new();
        encode_edits(&edits_of(&logits, vocabulary), &mut edits);
        for rules in rules {
            let shape = TopKShape { rows, vocabulary, candidates, rules };
            for edited in [false, true] {
                let logits = cases.f32(rows, vocabulary, logits.clone());
                let list = cases.u32(edits.len(), 4, edits.as_flattened().to_vec());
                let what = format!("best tokens, edits {edited}, {shape:?}");
                cases
                    .add(what, Compared::Best { candidates, others: 0 }, |g| {
                        let logits = g.state(logits);
                        g.log_softmax_top_k(shape, logits, edited.then_some(list), None)
                    })
                    .quick((rows, vocabulary, edited) == (9, 1003, false));
            }
        }
    }
    terms(cases);
    for (rows, vocabulary) in sizes::LOG_PROBABILITIES {
        let logits = random(5, rows * vocabulary).iter().map(|value| 20.0 * value).collect();
        let logits = cases.f32(rows, vocabulary, logits);
        let targets = (0..rows).map(|row| match row % 5 {
            1 => vocabulary as u32,
            3 => u32::MAX,
            _ => (row * 37 % vocabulary) as u32,
        });
        let targets = cases.u32(rows, 1, targets.collect());
        cases.add(format!("log-probabilities of {rows} of {vocabulary} tokens"), CLOSE, |g| {
            let (logits, targets) = (g.state(logits), g.state(targets));
            g.log_probability(logits, targets)
        });
    }
}

/// The answer to a step of a search with terms.
fn terms(cases: &mut Cases) {
    let (sentences, beams, heads, candidates) = (2, 3, 4, 3);
    for (source, wanted, vocabulary) in [(9, 16, 1003), (33, 7, 64)] {
        let rows = sentences * beams;
        let rules = ScoreRules { space: ScoreSpace::LogProbabilities, renormalize: true };
        let shape = TopKShape { rows, vocabulary, candidates, rules };
        let (logits, attention) = (cases.random(rows, vocabulary), cases.random(rows * heads, source));
        let asked = (0..rows * wanted)
            .map(|place| if place % 5 == 4 { NO_TOKEN } else { (place * 37 % vocabulary) as u32 });
        let asked = cases.u32(rows, wanted, asked.collect());
        let terms = TermScoresShape { wanted, source, heads, beams };
        let compared = Compared::Best { candidates, others: wanted + source };
        cases.add(format!("best tokens and terms, {shape:?}, {terms:?}"), compared, |g| {
            let (logits, attention) = (g.state(logits), Some(g.state(attention)));
            g.log_softmax_top_k(
                shape,
                logits,
                None,
                Some(TermInputs { shape: terms, wanted: asked, attention }),
            )
        });
    }
}

/// For each row: a ban or a penalty of its best token, a penalty of the next, and a ban of no token at all.
fn edits_of(logits: &[f32], vocabulary: usize) -> Vec<ScoreEdit> {
    let rows = logits.chunks_exact(vocabulary).enumerate();
    rows.flat_map(|(row, logits)| {
        let edit = move |token: usize, kind| ScoreEdit { row: row as u32, token: token as u32, kind };
        let best = (0..vocabulary).max_by(|&a, &b| f32::total_cmp(&logits[a], &logits[b])).unwrap_or(0);
        [
            edit(best, if row % 2 == 0 { EditKind::Ban } else { EditKind::Penalize(1.25) }),
            edit((best + 1) % vocabulary.max(2), EditKind::Penalize(0.5)),
            edit(vocabulary + 3, EditKind::Ban),
        ]
    })
    .collect()
}

pub(super) fn copies(cases: &mut Cases) {
    for width in [1, 4, 7] {
        let of = [cases.random(5, width), cases.random(3, width)];
        let numbers = cases.u32(6, 1, vec![4, 0, 7, 5, 5, 2]);
        cases.add(format!("gathered rows of {width}"), EXACT, |g| {
            let (of, numbers) = (of.map(|state| g.state(state)), g.state(numbers));
            g.gather_rows(of, numbers)
        });
        let ranges = cases.u32(3, 2, vec![0, 5, 2, 2, 1, 4]);
        cases.add(format!("sums of rows of {width}"), CLOSE, |g| {
            let (x, ranges) = (g.state(of[0]), g.state(ranges));
            g.sum_rows(x, ranges)
        });
    }
    for (rows, width, value_width, capacity) in [(1, 4, 4, 3), (9, 33, 12, 8)] {
        let qkv = cases.random(rows, 2 * width + value_width);
        let slots = cases.u32(rows, 1, slots(rows, rows * capacity));
        let (keys, values) =
            (cases.random(rows * capacity, width), cases.random(rows * capacity, value_width));
        let results = vec![(keys, EXACT), (values, EXACT)];
        cases.add_in_place(format!("keys and values of {rows} rows"), results, |g| {
            let qkv = g.state(qkv);
            g.append_kv(qkv, slots, keys, values)
        });
    }
    for (rows, width, widths, cache_rows) in
        [(1, 8, &[8][..], 4), (5, 7, &[7, 20, 9], 11), (67, 5, &[6, 5, 11, 8, 5, 13], 90)]
    {
        let parts: Vec<State> = widths.iter().map(|&width| cases.random(rows, width)).collect();
        let slots = cases.u32(rows, 1, slots(rows, cache_rows));
        let cache = cases.random(cache_rows, parts.len() * width);
        cases.add_in_place(format!("{rows} rows into a cache"), vec![(cache, EXACT)], |g| {
            let parts: Vec<_> = parts.iter().map(|&part| g.state(part)).collect();
            g.append_rows(&parts, slots, cache)
        });
    }
}

/// Different slots; two of them are no slot.
fn slots(rows: usize, cache_rows: usize) -> Vec<u32> {
    let mut slots: Vec<u32> = (0..rows).map(|row| ((row * 7 + 3) % cache_rows) as u32).collect();
    if rows > 2 {
        (slots[0], slots[2]) = (u32::MAX, cache_rows as u32);
    }
    slots
}

pub(super) fn recurrent(cases: &mut Cases) {
    for (sequences, length, width) in sizes::RECURRENT {
        let projected = cases.random(sequences * length, 2 * width);
        cases.add(format!("SSRU, {sequences} sequences of {length}, {width} wide"), CLOSE, |g| {
            let projected = g.state(projected);
            g.ssru(projected, sequences, None)
        });
        let (rows, capacity) = (sequences, 5);
        let projected = cases.random(rows, 2 * width);
        let cache = CellCache {
            cells: cases.random(rows * capacity, width),
            cache_slots: cases.u32(rows, 1, (0..rows).map(|row| (row * capacity + 1) as u32).collect()),
            slots: cases.u32(
                rows,
                capacity,
                (0..rows * capacity).map(|i| (i / capacity * capacity + i % 2) as u32).collect(),
            ),
            key_counts: cases.u32(rows, 1, vec![2; rows]),
        };
        cases
            .add(format!("SSRU, a step of {rows} rows, {width} wide"), CLOSE, |g| {
                let projected = g.state(projected);
                g.cached_ssru(projected, &cache)
            })
            .also(cache.cells, CLOSE);
    }
}

pub(super) fn low_rank(cases: &mut Cases) {
    for (length, width, rank) in [(1, 4, 1), (7, 5, 2), (17, 64, 4), (33, 20, 6)] {
        let shape = LowRankShape { batch: 2, length, width, rank };
        // clear singular values, so that the subspace is certain
        let mut x = random(1, 2 * length * width);
        for (row, x) in x.chunks_exact_mut(width).enumerate() {
            let size = 0.8_f32.powi((row % length * 7 % length) as i32);
            x.iter_mut().for_each(|x| *x *= size);
        }
        let x = cases.f32(2 * length, width, x);
        let seen = (0..2 * length).map(|i| u32::from(i < length || i + 1 < 2 * length)).collect();
        let mask = cases.u32(2, length, seen);
        cases.add(format!("projected keys, {shape:?}"), Compared::Numbers(4e-5, 2e-4), |g| {
            let (x, mask) = (Columns { value: g.state(x), first: 0 }, g.state(mask));
            g.low_rank(x, mask, shape)
        });
    }
    for (length, rank, keys, values) in [(3, 5, 4, 4), (7, 2, 5, 8), (33, 4, 64, 64), (65, 16, 20, 6)] {
        let shape = ProjectedShape { batch: 2, length, room: rank, keys, values };
        let x = cases.random(2 * length, 3 + keys + values);
        let seen = (0..2 * length).map(|i| u32::from(i < length || i + 2 < 2 * length)).collect();
        let mask = cases.u32(2, length, seen);
        let [keys, values] = [(); 2].map(|()| cases.rows(rank, length + 1));
        cases.add(format!("keys and values as {rank} sums, {shape:?}"), CLOSE, |g| {
            let (x, mask) = (Columns { value: g.state(x), first: 3 }, g.state(mask));
            let [sums, _] = g.project_length(x, mask, LengthProjections { keys, values }, shape)?;
            Ok(sums)
        });
    }
}
