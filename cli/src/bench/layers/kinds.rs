//! The kinds of layers. A new kind is an entry of [`KINDS`].

use wordloom::graph::{Columns, GraphError, Value};
use wordloom::ops::ScoreFunction;

use super::builder::{Builder, Size};
use super::depthwise::depthwise;
use super::gru::gru;
use super::path::Reads;
use super::unfold::{offsets, unfold};
use super::{project, sparse};

/// A kind of layer: how it is computed, and what the literature says of its cost.
pub struct Kind {
    /// Name in `--kinds`, tables and files.
    pub name: &'static str,
    pub about: &'static str,
    /// Complexity of a layer, sequential operations, maximal path length.
    pub orders: [&'static str; 3],
    /// Where the orders stand.
    pub source: &'static str,
    /// Adds the layer to a graph; returns its result.
    pub build: fn(&mut Builder) -> Result<Value, GraphError>,
    /// Positions that the result at a position (of so many) is computed from.
    pub reads: fn(usize, usize) -> Reads,
}

/// Tokens that a convolution reads.
pub const KERNEL: usize = 5;

const TABLE_1: &str = "Vaswani et al. 2017, Table 1";

pub static KINDS: [Kind; 14] = [
    Kind {
        name: "attention",
        about: "softmax(Q Kᵀ / √d_k) V alone, heads of 64",
        orders: ["n² · d", "1", "1"],
        source: TABLE_1,
        build: |builder| {
            let columns = builder.qkv();
            builder.attend(ScoreFunction::Product, columns, builder.size.length)
        },
        reads: |_, length| Reads::of(0..length),
    },
    Kind {
        name: "self-attention",
        about: "attention with its projections of queries, keys, values and output",
        orders: ["n² · d", "1", "1"],
        source: TABLE_1,
        build: |builder| {
            let Size { length, width } = builder.size;
            let x = builder.input("x", length, width);
            let qkv = builder.linear("qkv", x, 3 * width)?;
            let context = builder.attention(qkv)?;
            builder.linear("output", context, width)
        },
        reads: |_, length| Reads::of(0..length),
    },
    Kind {
        name: "recurrent",
        about: "a gated recurrent unit (GRU)",
        orders: ["n · d²", "n", "n"],
        source: TABLE_1,
        build: |builder| {
            let Size { length, width } = builder.size;
            let x = builder.input("x", length, width);
            gru(builder, x)
        },
        reads: |position, _| Reads { earlier: position.checked_sub(1), ..Reads::of(position..position + 1) },
    },
    Kind {
        name: "convolution",
        about: "a convolution of 5 tokens",
        orders: ["k · n · d²", "1", "n / k"],
        source: TABLE_1,
        build: |builder| {
            let Size { length, width } = builder.size;
            let x = builder.input("x", length, width);
            let neighbours = unfold(builder, x, KERNEL)?;
            builder.linear("convolution", neighbours, width)
        },
        reads: neighbours,
    },
    Kind {
        name: "separable",
        about: "a depthwise-separable convolution of 5 tokens",
        orders: ["k · n · d + n · d²", "1", "n / k"],
        source: "Vaswani et al. 2017, section 4",
        build: |builder| {
            let Size { length, width } = builder.size;
            let x = builder.input("x", length, width);
            let mixed = depthwise(builder, x, KERNEL)?;
            builder.linear("pointwise", mixed, width)
        },
        reads: neighbours,
    },
    Kind {
        name: "fully-connected",
        about: "a linear layer from all columns of all tokens to as many",
        orders: ["n² · d²", "1", "1"],
        source: "Lin et al. 2021, Table 2",
        build: |builder| {
            let all = builder.size.length * builder.size.width;
            let x = builder.input("x", 1, all);
            builder.linear("all", x, all)
        },
        reads: |_, length| Reads::of(0..length),
    },
    Kind {
        name: "window",
        about: "attention to 128 neighbours on each side",
        orders: ["r · n · d", "1", "n / r"],
        source: "Vaswani et al. 2017, Table 1, restricted",
        build: sparse::window,
        reads: |position, length| Reads::of(sparse::window_of(position, length)),
    },
    Kind {
        name: "window+global",
        about: "the same, and 16 tokens that see all and are seen by all",
        orders: ["(r + g) · n · d", "1", "1"],
        source: "Beltagy et al. 2020, section 3.1",
        build: sparse::global_window,
        reads: sparse::reads_with_globals,
    },
    Kind {
        name: "transient-global",
        about: "a window, and the sums of blocks of 16 tokens",
        orders: ["(r + n / 16) · n · d", "1", "1"],
        source: "Guo et al. 2022, section 3.1",
        build: sparse::transient_global,
        // a sum is made of all tokens of its block
        reads: |_, length| Reads::of(0..length),
    },
    Kind {
        name: "blocks",
        about: "attention to three blocks of 64 tokens, the first and the last one, whose tokens see all",
        orders: ["s · n · d", "1", "1"],
        source: "Zaheer et al. 2020, section 2",
        build: sparse::blocks,
        reads: sparse::reads_of_blocks,
    },
    Kind {
        name: "linformer",
        about: "attention to 128 sums of all keys and values, by learned projections along the length",
        orders: ["k · n · d", "1", "1"],
        source: "Wang et al. 2020, equation 7",
        build: project::linformer,
        reads: |_, length| Reads::of(0..length),
    },
    Kind {
        name: "additive",
        about: "attention with the scores v · tanh(q + k)",
        orders: ["n² · d", "1", "1"],
        source: "Bahdanau et al. 2015, appendix A.1.2",
        build: |builder| {
            let columns = builder.qkv();
            builder.attend(ScoreFunction::Additive, columns, builder.size.length)
        },
        reads: |_, length| Reads::of(0..length),
    },
    Kind {
        name: "shared-qk",
        about: "attention with the queries as keys",
        orders: ["n² · d", "1", "1"],
        source: "Kitaev et al. 2020, section 2",
        build: |builder| {
            let [queries, _, values] = builder.qkv();
            builder.attend(ScoreFunction::Product, [queries, queries, values], builder.size.length)
        },
        reads: |_, length| Reads::of(0..length),
    },
    Kind {
        name: "uniform",
        about: "attention with equal weights, computed as any other",
        orders: ["n² · d", "1", "1"],
        source: TABLE_1,
        build: |builder| {
            let [queries, keys, values] = builder.qkv();
            let zeros = builder.zeros("no queries", builder.size.length, builder.size.width);
            let queries = Columns { value: zeros, ..queries };
            builder.attend(ScoreFunction::Product, [queries, keys, values], builder.size.length)
        },
        reads: |_, length| Reads::of(0..length),
    },
];

/// What [`unfold`] and [`depthwise`] read.
fn neighbours(position: usize, length: usize) -> Reads {
    let offsets = offsets(KERNEL);
    let [first, last] =
        [*offsets.start(), *offsets.end()].map(|offset| position.saturating_add_signed(offset));
    Reads::of(first..(last + 1).min(length))
}

pub fn find(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

#[cfg(test)]
mod tests {
    use super::super::path::longest_path;
    use super::*;

    /// The longest way between any two positions, from the definition: distances by relaxation.
    fn by_all_pairs(length: usize, reads: impl Fn(usize) -> Reads) -> usize {
        let mut longest = 0;
        for source in 0..length {
            let mut distance = vec![usize::MAX; length];
            distance[source] = 0;
            for _ in 0..length {
                for position in 0..length {
                    let Reads { inputs, earlier } = reads(position);
                    let nearest =
                        inputs.into_iter().flatten().chain(earlier).map(|from| distance[from]).min();
                    let way = nearest.unwrap_or(usize::MAX).saturating_add(1);
                    distance[position] = distance[position].min(way);
                }
            }
            let reached = distance.into_iter().filter(|&distance| distance < usize::MAX);
            longest = longest.max(reached.max().unwrap_or(0));
        }
        longest
    }

    #[test]
    fn three_sources_find_the_longest_way() {
        for kind in &KINDS {
            for length in [2, 3, 7, 16, 33] {
                let found = longest_path(length, |position| (kind.reads)(position, length));
                let all = by_all_pairs(length, |position| (kind.reads)(position, length));
                assert_eq!(found, all, "{} of {length}", kind.name);
            }
        }
    }

    #[test]
    fn paths_are_those_of_table_1() {
        let path = |name: &str, length: usize| {
            let kind = find(name).unwrap();
            longest_path(length, |position| (kind.reads)(position, length))
        };
        assert_eq!([path("attention", 64), path("attention", 1024)], [1, 1]);
        assert_eq!([path("recurrent", 64), path("recurrent", 1024)], [63, 1023]);
        // two tokens to each side
        assert_eq!([path("convolution", 64), path("separable", 1024)], [32, 512]);
        // 128 tokens to each side; through a global token, or one of the outer blocks
        assert_eq!([path("window", 128), path("window", 1024)], [1, 8]);
        assert_eq!([path("window+global", 1024), path("blocks", 320), path("blocks", 1024)], [2, 1, 2]);
    }
}
