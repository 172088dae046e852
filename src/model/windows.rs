//! Self-attention in windows or blocks, with a few global tokens: Beltagy et al. 2020, "Longformer", section 3.1; Zaheer et
//! al. 2020, "Big Bird", section 2. Time and memory grow with length × window, not with length².

use super::attention::{AttentionLayer, GlobalTokens, Sequences, attend, tap};
use super::blueprint::{GlobalProjections, SelfAttention, qkv_columns};
use crate::activation::Activation;
use crate::graph::{Columns, Graph, GraphError, Value};
use crate::ops::{Band, BandedScores, BandedShape, SideBlocks, SideKeys};
use crate::shape::AttentionShape;

/// A layer whose tokens see a band of tokens.
#[derive(Clone, Copy)]
pub(super) struct Windows<'a> {
    pub attention: AttentionLayer<'a>,
    /// Tokens around each.
    pub band: Band,
    /// How often the repeated ones of the global tokens count.
    pub copies: usize,
    pub sequences: &'a Sequences,
    /// Tokens that see all and are seen by all, if the layer has any.
    pub globals: Option<GlobalTokens>,
}

impl Windows<'_> {
    /// Adds the attention; returns the contexts of all tokens. `x`: the block's input.
    pub fn attend(
        self,
        g: &mut Graph,
        weights: &SelfAttention,
        x: Value,
        columns: [Columns; 3],
    ) -> Result<Value, GraphError> {
        let scores = self.scores(g, columns)?;
        let context = self.attend_bands(g, scores)?;
        let Some(globals) = self.globals else { return Ok(context) };
        let of_globals = self.attend_from_globals(g, weights.global, (x, columns), globals)?;
        g.gather_rows([context, of_globals], globals.merged)
    }

    /// Adds the attention to blocks; returns the contexts of all tokens. Global tokens are those of the first and of the
    /// last block, with the layer's own projections.
    pub fn attend_blocks(self, g: &mut Graph, columns: [Columns; 3]) -> Result<Value, GraphError> {
        let scores = self.scores(g, columns)?;
        let context = self.attend_bands(g, scores)?;
        let Some(ends) = self.globals else { return Ok(context) };
        let of_ends = self.attend_from_globals(g, None, (context, columns), ends)?;
        g.gather_rows([context, of_ends], ends.merged)
    }

    /// Adds the attention to windows and to the sums of blocks, which each layer computes from its input. Guo et al. 2022,
    /// "LongT5", section 3.1.
    pub fn attend_with_blocks(
        self,
        g: &mut Graph,
        weights: &SelfAttention,
        x: Value,
        columns: [Columns; 3],
    ) -> Result<Value, GraphError> {
        let mut scores = self.scores(g, columns)?;
        if let (Some(blocks), Some(norm), Some(bias)) =
            (self.sequences.blocks, weights.block_norm, self.attention.distance_bias.blocks)
        {
            let sums = g.sum_rows(x, blocks.ranges)?;
            let sums = g.layer_norm(sums, None, norm.of(self.attention.config))?;
            let of_blocks = g.linear(sums, weights.qkv, Activation::Identity, None)?;
            let [_, keys, values] =
                qkv_columns(self.attention.stack).map(|first| Columns { value: of_blocks, first });
            scores.sides = Some(SideKeys { keys, values, rows: blocks.rows });
            scores.distance_bias = Some(bias);
            scores.shape.most_sides = blocks.most;
            scores.shape.side_blocks =
                Some(SideBlocks { tokens: blocks.tokens, reach: (bias.rows / 2 - 1) / 2 });
        }
        self.attend_bands(g, scores)
    }

    /// Adds the attention, and its weights if they have a tap.
    fn attend_bands(&self, g: &mut Graph, scores: BandedScores) -> Result<Value, GraphError> {
        if let Some(state) = tap(self.attention.taps.attentions, self.attention.layer).0 {
            let weights = g.banded_attention_weights(scores)?;
            g.keep(weights, state)?;
        }
        g.banded_attention(scores)
    }

    /// The inputs of the banded attention.
    fn scores(&self, g: &Graph, [queries, keys, values]: [Columns; 3]) -> Result<BandedScores, GraphError> {
        let Self { attention, band, copies, sequences, globals } = *self;
        let Sequences { batch, length, visible, .. } = *sequences;
        let mask = visible.mask().ok_or_else(|| g.no_gradient("banded_attention"))?;
        let AttentionShape { heads, d_head, d_value, scale, .. } =
            attention.shape(batch, length, length, false);
        let shape = BandedShape {
            batch,
            heads,
            length,
            d_head,
            d_value,
            scale,
            band,
            reach: attention.distance_bias.keys.map(|table| (table.rows - 1) / 2),
            most_sides: globals.map_or(0, |globals| globals.most_sides),
            side_copies: copies,
            side_blocks: None,
        };
        Ok(BandedScores {
            shape,
            queries,
            keys,
            values,
            // global tokens are seen once, as side keys
            key_mask: globals.map_or(mask, |globals| globals.others),
            distance_bias: attention.distance_bias.keys,
            sides: globals.map(|globals| SideKeys { keys, values, rows: globals.rows }),
        })
    }

    /// Adds the attention of the global tokens to all tokens; returns `[batch * most, heads * d_v]`.
    fn attend_from_globals(
        &self,
        g: &mut Graph,
        own: Option<GlobalProjections>,
        (x, columns): (Value, [Columns; 3]),
        globals: GlobalTokens,
    ) -> Result<Value, GraphError> {
        let Sequences { batch, length, visible, .. } = *self.sequences;
        let shape = self.attention.shape(batch, globals.most, length, false);
        let columns = match own {
            Some(own) => {
                let few = g.gather_rows([x, x], globals.numbers)?;
                let queries = g.linear(few, own.query, Activation::Identity, None)?;
                let all = g.linear(x, own.key_value, Activation::Identity, None)?;
                let [keys, values] = [0, self.attention.stack.key_width()];
                [(queries, 0), (all, keys), (all, values)].map(|(value, first)| Columns { value, first })
            }
            None => {
                let [queries, keys, values] = columns;
                let few = g.gather_rows([queries.value; 2], globals.numbers)?;
                [Columns { value: few, ..queries }, keys, values]
            }
        };
        let tap = tap(self.attention.taps.global_attentions, self.attention.layer);
        attend(g, shape, visible, (columns, None), tap)
    }
}
