//! Attention of layers whose tokens see a band of keys, in memory that grows with the length, not with its square.

use std::borrow::Cow;

use super::maps::LayerAttention;
use crate::shape::Band;

/// Where the weights of a layer with bands stand in the whole matrix. A query's weights are those of the side keys, then
/// those of its band, whose first key is [`BandLayout::first_key`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BandLayout {
    /// Keys around each query.
    pub band: Band,
    /// Keys that every query sees.
    pub sides: SideColumns,
    /// Queries that see all keys, in order: global tokens, or the tokens of the first and of the last block.
    pub global_queries: Vec<usize>,
}

/// Keys that every query of a layer sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SideColumns {
    /// Tokens, in order. Bands have zeros for them.
    Tokens(Vec<usize>),
    /// Sums of blocks of tokens (LongT5), which stand to the right of the tokens. The last block has the tokens that are left
    /// over.
    Sums {
        /// Number of sums.
        count: usize,
        /// Tokens of a block.
        tokens: usize,
    },
}

/// Bands of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Bands {
    /// Places of the weights.
    pub layout: BandLayout,
    /// `[heads, global queries, keys]`; a row sums to 1. They replace the rows of these queries.
    pub global_weights: Vec<f32>,
}

impl BandLayout {
    /// Number of side keys.
    pub fn sides(&self) -> usize {
        match &self.sides {
            SideColumns::Tokens(tokens) => tokens.len(),
            SideColumns::Sums { count, .. } => *count,
        }
    }

    /// Number of sums of blocks.
    pub fn sums(&self) -> usize {
        match self.sides {
            SideColumns::Tokens(_) => 0,
            SideColumns::Sums { count, .. } => count,
        }
    }

    /// Number of stored weights of a query.
    pub fn columns(&self) -> usize {
        self.sides() + self.band.width()
    }

    /// Key of the first column of a query's band; negative before the text.
    pub fn first_key(&self, query: usize) -> isize {
        (query / self.band.block * self.band.block) as isize - self.band.left as isize
    }

    /// Number of weights of a layer: of all queries, and of those that see all.
    pub fn elements(&self, heads: usize, queries: usize, keys: usize) -> [usize; 2] {
        [heads * queries * self.columns(), heads * self.global_queries.len() * keys]
    }

    /// The columns of the whole matrix that the side keys stand in.
    pub fn side_columns(&self, keys: usize) -> Vec<usize> {
        match &self.sides {
            SideColumns::Tokens(tokens) => tokens.clone(),
            SideColumns::Sums { count, .. } => (keys..keys + count).collect(),
        }
    }

    /// Tokens of a sum of a text of `keys` tokens.
    pub fn tokens_of_sum(&self, sum: usize, keys: usize) -> std::ops::Range<usize> {
        match self.sides {
            SideColumns::Sums { count, tokens } if sum + 1 == count => sum * tokens..keys,
            SideColumns::Sums { tokens, .. } => sum * tokens..(sum + 1) * tokens,
            SideColumns::Tokens(_) => 0..0,
        }
    }
}

impl LayerAttention {
    /// Columns of the whole matrix: the keys, then the sums of blocks if the layer has any.
    pub fn columns(&self) -> usize {
        self.keys + self.bands.as_ref().map_or(0, |bands| bands.layout.sums())
    }

    /// Stored weights of a query: the keys, or the side keys and the band.
    pub(crate) fn stored_columns(&self) -> usize {
        self.bands.as_ref().map_or(self.keys, |bands| bands.layout.columns())
    }

    /// Weight of a cell of the whole matrix; 0 where the query does not see the key. Panics if the cell does not exist.
    pub fn weight(&self, head: usize, query: usize, column: usize) -> f32 {
        assert!(head < self.heads && query < self.queries && column < self.columns(), "a cell of the layer");
        let row = head * self.queries + query;
        let Some(Bands { layout, global_weights }) = &self.bands else {
            return self.weights[row * self.keys + column];
        };
        if let Ok(place) = layout.global_queries.binary_search(&query) {
            let row = head * layout.global_queries.len() + place;
            return if column < self.keys { global_weights[row * self.keys + column] } else { 0.0 };
        }
        let stored = &self.weights[row * layout.columns()..][..layout.columns()];
        let side = match &layout.sides {
            SideColumns::Tokens(tokens) => tokens.binary_search(&column).ok(),
            SideColumns::Sums { .. } => column.checked_sub(self.keys),
        };
        if let Some(side) = side {
            return stored[side];
        }
        let place = usize::try_from(column as isize - layout.first_key(query)).ok();
        place.and_then(|place| stored[layout.sides()..].get(place)).copied().unwrap_or(0.0)
    }

    /// Calls `use_weight` with the column and the weight of every cell that a query sees, in no particular order.
    pub fn for_each_seen(&self, head: usize, query: usize, mut use_weight: impl FnMut(usize, f32)) {
        let row = head * self.queries + query;
        let Some(Bands { layout, global_weights }) = &self.bands else {
            let row = &self.weights[row * self.keys..][..self.keys];
            return row.iter().enumerate().for_each(|(key, &weight)| use_weight(key, weight));
        };
        if let Ok(place) = layout.global_queries.binary_search(&query) {
            let row = head * layout.global_queries.len() + place;
            let row = &global_weights[row * self.keys..][..self.keys];
            return row.iter().enumerate().for_each(|(key, &weight)| use_weight(key, weight));
        }
        let (sides, band) =
            self.weights[row * layout.columns()..][..layout.columns()].split_at(layout.sides());
        let tokens: &[usize] = match &layout.sides {
            SideColumns::Tokens(tokens) => tokens,
            SideColumns::Sums { .. } => &[],
        };
        for (place, &weight) in sides.iter().enumerate() {
            use_weight(tokens.get(place).copied().unwrap_or(self.keys + place), weight);
        }
        let first = layout.first_key(query);
        let keys = first.max(0) as usize..((first + band.len() as isize).max(0) as usize).min(self.keys);
        let mut side = tokens.partition_point(|&token| token < keys.start);
        for key in keys {
            if tokens.get(side) == Some(&key) {
                side += 1;
                continue;
            }
            use_weight(key, band[(key as isize - first) as usize]);
        }
    }

    /// A row of the whole matrix.
    pub fn row(&self, head: usize, query: usize) -> Cow<'_, [f32]> {
        match &self.bands {
            None => Cow::Borrowed(&self.weights[(head * self.queries + query) * self.keys..][..self.keys]),
            Some(_) => {
                let mut row = vec![0.0; self.columns()];
                self.for_each_seen(head, query, |column, weight| row[column] = weight);
                Cow::Owned(row)
            }
        }
    }

    /// The same layer as a matrix, if that takes no more memory than its bands: for texts that a band covers.
    pub(crate) fn tightened(self) -> Self {
        match &self.bands {
            Some(Bands { layout, .. }) if layout.sums() == 0 && layout.columns() >= self.keys => self.whole(),
            _ => self,
        }
    }

    /// The same layer as a matrix `[heads, queries, columns]`, which takes memory for every cell.
    pub fn whole(self) -> Self {
        if self.bands.is_none() {
            return self;
        }
        let rows = (0..self.heads).flat_map(|head| (0..self.queries).map(move |query| (head, query)));
        let columns = self.columns();
        let mut weights = Vec::with_capacity(self.heads * self.queries * columns);
        rows.for_each(|(head, query)| weights.extend_from_slice(&self.row(head, query)));
        Self { keys: columns, weights, bands: None, ..self }
    }
}
