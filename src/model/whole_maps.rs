//! Layers as whole matrices, with or without bands.

use std::borrow::Cow;

use super::bands::{Bands, SideColumns};
use super::maps::LayerAttention;

impl LayerAttention {
    /// Columns of the whole matrix: the keys, then the sums if the layer has any.
    pub fn columns(&self) -> usize {
        self.keys + self.bands.as_ref().map_or(0, |bands| bands.layout.sums())
    }

    /// Columns of the whole matrix that any query sees.
    pub(crate) fn seen_columns(&self) -> usize {
        match &self.bands {
            Some(Bands { layout, .. }) if layout.band.width() == 0 => layout.sides(),
            _ => self.columns(),
        }
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
            SideColumns::Sums { .. } | SideColumns::Projections(_) => column.checked_sub(self.keys),
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
            SideColumns::Sums { .. } | SideColumns::Projections(_) => &[],
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
