//! Attention of layers whose tokens see a band of keys, in memory that grows with the length, not with its square.

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
    /// So many sums of all tokens, by a learned projection (Linformer), which stand to the right of the tokens.
    Projections(usize),
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
            SideColumns::Sums { count, .. } | SideColumns::Projections(count) => *count,
        }
    }

    /// Number of sums.
    pub fn sums(&self) -> usize {
        match self.sides {
            SideColumns::Tokens(_) => 0,
            SideColumns::Sums { count, .. } | SideColumns::Projections(count) => count,
        }
    }

    /// Number of stored weights of a query.
    pub fn columns(&self) -> usize {
        self.sides() + self.band.width()
    }

    /// Key of the first column of a query's band; negative before the text.
    pub fn first_key(&self, query: usize) -> isize {
        let block = query.checked_div(self.band.block).unwrap_or(0);
        (block * self.band.block) as isize - self.band.left as isize
    }

    /// Number of weights of a layer: of all queries, and of those that see all.
    pub fn elements(&self, heads: usize, queries: usize, keys: usize) -> [usize; 2] {
        [heads * queries * self.columns(), heads * self.global_queries.len() * keys]
    }

    /// The columns of the whole matrix that the side keys stand in.
    pub fn side_columns(&self, keys: usize) -> Vec<usize> {
        match &self.sides {
            SideColumns::Tokens(tokens) => tokens.clone(),
            SideColumns::Sums { count, .. } | SideColumns::Projections(count) => {
                (keys..keys + count).collect()
            }
        }
    }

    /// What a reader sees of a sum of a text of `keys` tokens: `Σ 0–15` for the tokens of a block, `Σ 3` for one of all tokens.
    pub fn sum_label(&self, sum: usize, keys: usize) -> String {
        match self.sides {
            SideColumns::Sums { count, tokens } => {
                let end = if sum + 1 == count { keys } else { (sum + 1) * tokens };
                format!("Σ {}–{}", sum * tokens, end.saturating_sub(1))
            }
            SideColumns::Projections(_) | SideColumns::Tokens(_) => format!("Σ {sum}"),
        }
    }
}
