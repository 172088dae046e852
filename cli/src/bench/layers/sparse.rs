//! Attention to a part of the tokens, as the engine computes it for its kinds of self-attention.

use std::ops::Range;

use wordloom::graph::{Columns, GraphError, Value};
use wordloom::ops::{Band, BandedScores, BandedShape, ScoreFunction, SideKeys};

use super::builder::Builder;
use super::path::Reads;

/// Neighbours that a token sees on each side.
const RADIUS: usize = 128;
/// Tokens that see all, and are seen by all: the first ones.
const GLOBALS: usize = 16;
/// Tokens of a block.
const BLOCK: usize = 64;
/// Tokens of a sum.
const SUM: usize = 16;

/// The tokens of a window.
pub fn window_of(position: usize, length: usize) -> Range<usize> {
    Band::window(RADIUS).keys(position, length)
}

pub fn window(builder: &mut Builder) -> Result<Value, GraphError> {
    let columns = builder.qkv();
    banded(builder, columns, Band::window(RADIUS), Outer::default(), None)
}

pub fn global_window(builder: &mut Builder) -> Result<Value, GraphError> {
    let columns = builder.qkv();
    let globals = (0..GLOBALS.min(builder.size.length)).collect();
    with_globals(builder, columns, Band::window(RADIUS), globals)
}

pub fn reads_with_globals(position: usize, length: usize) -> Reads {
    match position {
        ..GLOBALS => Reads::of(0..length),
        _ => Reads { inputs: vec![0..GLOBALS.min(length), window_of(position, length)], earlier: None },
    }
}

/// Blocks, or full attention if each token would see every block.
pub fn blocks(builder: &mut Builder) -> Result<Value, GraphError> {
    let length = builder.size.length;
    let columns = builder.qkv();
    if length <= 5 * BLOCK {
        return builder.attend(ScoreFunction::Product, columns, length);
    }
    let last = last_block(length);
    let ends = (0..BLOCK).chain(last..length).collect();
    with_globals(builder, columns, Band { block: BLOCK, left: BLOCK, right: BLOCK }, ends)
}

/// First token of the last block.
fn last_block(length: usize) -> usize {
    (length - 1) / BLOCK * BLOCK
}

pub fn reads_of_blocks(position: usize, length: usize) -> Reads {
    let last = last_block(length);
    if length <= 5 * BLOCK || position < BLOCK || position >= last {
        return Reads::of(0..length);
    }
    let band = Band { block: BLOCK, left: BLOCK, right: BLOCK };
    Reads { inputs: vec![0..BLOCK, band.keys(position, length), last..length], earlier: None }
}

/// A window and the sums of keys and of values of neighbouring tokens.
pub fn transient_global(builder: &mut Builder) -> Result<Value, GraphError> {
    let length = builder.size.length;
    let columns = builder.qkv();
    let count = length / SUM;
    let mut side = None;
    if count > 0 {
        // the last sum has the tokens that are left over
        let end = |sum: usize| if sum + 1 == count { length } else { (sum + 1) * SUM };
        let ranges = (0..count).flat_map(|sum| [(sum * SUM) as u32, end(sum) as u32]).collect();
        let ranges = builder.words("ranges", count, ranges);
        let sums = builder.graph.sum_rows(columns[0].value, ranges)?;
        let rows = builder.words("sums", 1, [count as u32, 0].into_iter().chain(0..count as u32).collect());
        let [_, keys, values] = columns.map(|columns| Columns { value: sums, ..columns });
        side = Some(SideKeys { keys, values, rows });
    }
    banded(builder, columns, Band::window(RADIUS), Outer { hidden: Vec::new(), sides: count }, side)
}

/// Keys beside the band.
#[derive(Default)]
struct Outer {
    /// Tokens that are no keys of bands.
    hidden: Vec<usize>,
    /// Number of side keys.
    sides: usize,
}

/// A band, and tokens that see all and are seen by all.
fn with_globals(
    builder: &mut Builder,
    columns: [Columns; 3],
    band: Band,
    globals: Vec<usize>,
) -> Result<Value, GraphError> {
    let length = builder.size.length;
    let numbers: Vec<u32> = globals.iter().map(|&token| token as u32).collect();
    let rows = [numbers.len() as u32, 0].into_iter().chain(numbers.iter().copied()).collect();
    let rows = builder.words("rows of the globals", 1, rows);
    let mut merged: Vec<u32> = (0..length as u32).collect();
    for (index, &token) in globals.iter().enumerate() {
        merged[token] = (length + index) as u32;
    }
    let merged = builder.words("merged", length, merged);
    let numbers = builder.words("globals", numbers.len(), numbers);
    let [queries, keys, values] = columns;
    let (sides, side) = (globals.len(), SideKeys { keys, values, rows });
    let context = banded(builder, columns, band, Outer { hidden: globals, sides }, Some(side))?;
    let few = builder.graph.gather_rows([queries.value; 2], numbers)?;
    let queries = Columns { value: few, ..queries };
    let of_globals = builder.attend_from(sides, [queries, keys, values])?;
    builder.graph.gather_rows([context, of_globals], merged)
}

fn banded(
    builder: &mut Builder,
    [queries, keys, values]: [Columns; 3],
    band: Band,
    Outer { hidden, sides: most_sides }: Outer,
    sides: Option<SideKeys>,
) -> Result<Value, GraphError> {
    let length = builder.size.length;
    let all = builder.shape(length);
    let mut mask = vec![1; length];
    hidden.into_iter().for_each(|token| mask[token] = 0);
    let seen: usize = (0..length).map(|token| band.keys(token, length).len() + most_sides).sum();
    builder.count(2 * seen as u128 * builder.size.width as u128);
    let shape = BandedShape {
        batch: 1,
        heads: all.heads,
        length,
        d_head: all.d_head,
        d_value: all.d_value,
        scale: all.scale,
        band: Band { left: band.left.min(length), right: band.right.min(length), ..band },
        reach: None,
        most_sides,
        side_copies: 1,
        side_blocks: None,
    };
    let key_mask = builder.words("tokens of bands", 1, mask);
    let scores = BandedScores { shape, queries, keys, values, key_mask, distance_bias: None, sides };
    builder.graph.banded_attention(scores)
}
