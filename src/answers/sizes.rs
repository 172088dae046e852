//! The sizes that kernels are compared at: just below, at and above their tiles. Tests and [checks](super) of a device use
//! the same.

/// Rows, inputs and outputs of linear layers, on both sides of every tile.
pub const LINEAR: [[usize; 3]; 24] = [
    [1, 1, 1],
    [1, 4, 4],
    [1, 37, 1003],
    [1, 256, 64],
    [2, 5, 3],
    [3, 64, 65],
    [4, 65, 63],
    [5, 3, 64],
    [6, 16, 127],
    [7, 17, 128],
    [8, 15, 129],
    [9, 33, 31],
    [15, 63, 5],
    [16, 64, 64],
    [17, 300, 32],
    [33, 12, 17],
    [63, 31, 61],
    [64, 128, 192],
    [65, 20, 68],
    [127, 129, 65],
    [131, 7, 130],
    [200, 512, 257],
    // tiles for matrix units, of the two smaller sizes
    [70, 132, 1028],
    [129, 68, 2052],
];

/// Rows, inputs and outputs of a linear layer with enough tiles for a large GPU, also of the largest size.
pub const MANY_ROWS: [usize; 3] = [770, 68, 1988];

/// Rows, inputs and outputs of gradients: of few tiles, and of enough for matrix units, whose summands are shared out. Whole panels and quads.
pub const GRADIENTS: [[usize; 3]; 2] = [[70, 68, 192], [1100, 68, 1536]];

/// Elements of a row, tokens of a vocabulary, and rows of an embedding.
pub const EMBEDDING: [(usize, usize, usize); 4] = [(1, 1, 1), (6, 130, 5), (64, 200, 33), (129, 64, 3)];

/// Rows and elements of a row of a norm.
pub const NORM: [(usize, usize); 8] =
    [(1, 1), (1, 3), (7, 33), (8, 64), (9, 255), (17, 256), (70, 257), (3, 1024)];

/// Which keys a sentence sees: `(sentence, key)`.
pub type Mask = fn(usize, usize) -> bool;

/// All keys; a sentence's beginning; its end; all but those of the second sentence.
pub const MASKS: [Mask; 4] = [
    |_, _| true,
    |sentence, key| key < 3 + sentence,
    |sentence, key| key > sentence,
    |sentence, _| sentence != 1,
];

/// Queries and keys of an attention.
pub const ATTENTION: [(usize, usize); 7] = [(1, 1), (1, 70), (7, 9), (8, 64), (9, 65), (17, 5), (33, 70)];

/// The same for tiles of queries, which take many of them only.
pub const MANY_QUERIES: [(usize, usize); 2] = [(257, 70), (270, 270)];

/// Width of a head, and first column of the heads in their matrix.
pub const HEADS: [(usize, usize); 10] =
    [(1, 0), (3, 5), (15, 0), (16, 8), (17, 1), (33, 0), (63, 2), (64, 64), (65, 0), (130, 3)];

/// Widths of a head's keys and values. The paper's table 3, row (B), has 16 and 64.
pub const KEYS_AND_VALUES: [(usize, usize); 6] = [(5, 12), (16, 64), (64, 16), (65, 7), (80, 80), (8, 40)];

/// Reach of a bias by distance, and heads.
pub const REACHES: [(usize, usize); 6] = [(0, 3), (1, 1), (1, 8), (40, 1), (40, 3), (200, 8)];

/// Queries and keys of an attention with a bias by distance.
pub const BIASED: [(usize, usize); 6] = [(1, 1), (7, 7), (65, 65), (130, 130), (7, 65), (65, 7)];

/// Rows, heads, widths of a head's keys and values, and capacity of a cache.
pub const CACHES: [[usize; 5]; 9] = [
    [1, 1, 5, 5, 3],
    [9, 3, 33, 33, 8],
    [5, 3, 5, 12, 7],
    [3, 8, 16, 64, 65],
    [6, 5, 4, 20, 3],
    [2, 2, 68, 132, 6],
    [2, 2, 65, 7, 130],
    [2, 3, 80, 80, 9],
    [5, 2, 8, 24, 7],
];

/// Rows, vocabulary and candidates of a selection.
pub const BEST: [(usize, usize, usize); 8] = [
    (1, 1, 1),
    (3, 5, 8),
    (2, 64, 64),
    (5, 37, 2),
    (9, 1003, 8),
    (4, 8000, 4),
    (1, 60_001, 32),
    (33, 100, 1),
];

/// Rows and vocabulary of log-probabilities of given tokens.
pub const LOG_PROBABILITIES: [(usize, usize); 6] =
    [(1, 1), (3, 5), (2, 64), (9, 1003), (130, 37), (4, 60_001)];

/// Sentences, beams, inputs, outputs and columns of a layer over a shortlist.
pub const SHORTLISTS: [[usize; 5]; 5] =
    [[1, 1, 4, 64, 1], [1, 1, 33, 130, 64], [3, 4, 64, 200, 66], [2, 3, 256, 321, 200], [70, 1, 8, 70, 9]];

/// Sequences, tokens of each, and width of a recurrent unit.
pub const RECURRENT: [(usize, usize, usize); 6] =
    [(1, 1, 1), (1, 7, 4), (3, 5, 6), (2, 33, 64), (5, 3, 65), (70, 1, 256)];
