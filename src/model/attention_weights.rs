//! The projections of one attention as plain matrices, for programs that look into a model.

use super::blueprint::{CheckpointSource, Mixing, Norm};
use super::{AttentionKind, Model, ModelError};
use crate::graph::WeightSource;
use crate::ops::Linear;

/// A linear map `y = x · weightᵀ + bias` on the host.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearWeights {
    /// Width of the result.
    pub outputs: usize,
    /// Width of the input.
    pub inputs: usize,
    /// `[outputs, inputs]`, row-major.
    pub weight: Vec<f32>,
    /// `[outputs]`, zeros if the model has no bias.
    pub bias: Vec<f32>,
}

impl LinearWeights {
    /// Rows `first..first + outputs` as a map of their own. Panics if there are fewer.
    fn part(&self, first: usize, outputs: usize) -> Self {
        Self {
            outputs,
            inputs: self.inputs,
            weight: self.weight[first * self.inputs..][..outputs * self.inputs].to_vec(),
            bias: self.bias[first..][..outputs].to_vec(),
        }
    }
}

/// The weights of one multi-head attention. Vaswani et al. 2017, section 3.2.2.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionWeights {
    /// Number of heads.
    pub heads: usize,
    /// Width of a head's queries and keys.
    pub d_k: usize,
    /// Width of a head's values.
    pub d_v: usize,
    /// W_Q of all heads, one below the other: `[heads * d_k, d_model]`.
    pub queries: LinearWeights,
    /// W_K, as [`queries`](Self::queries).
    pub keys: LinearWeights,
    /// W_V: `[heads * d_v, d_model]`.
    pub values: LinearWeights,
    /// W_O: `[d_model, heads * d_v]`.
    pub output: LinearWeights,
    /// Scale of the norm before or after the attention, `[d_model]`.
    pub norm_scale: Vec<f32>,
    /// Shift of the norm, `[d_model]`; zeros if the norm has none.
    pub norm_shift: Vec<f32>,
}

impl Model {
    /// Reads the weights of an attention. `None` if the model has no such layer, or a recurrent unit in its place.
    ///
    /// # Errors
    /// Those of the file.
    pub fn attention_weights(
        &self,
        kind: AttentionKind,
        layer: usize,
    ) -> Result<Option<AttentionWeights>, ModelError> {
        let blueprint = self.blueprint();
        let stack = kind.stack(self.config());
        let [key_width, value_width] = [stack.key_width(), stack.value_width()];
        let own = |attention: &super::blueprint::SelfAttention| {
            (vec![attention.qkv], attention.output, attention.norm)
        };
        let found = match kind {
            AttentionKind::Encoder => blueprint.encoder.get(layer).map(|layer| own(&layer.self_attention)),
            AttentionKind::Decoder => blueprint.decoder.get(layer).and_then(|layer| match &layer.mixing {
                Mixing::Attention(attention) => Some(own(attention)),
                Mixing::Ssru(_) => None,
            }),
            AttentionKind::Cross => blueprint
                .decoder
                .get(layer)
                .and_then(|layer| layer.cross_attention)
                .map(|cross| (vec![cross.query, cross.key_value], cross.output, cross.norm)),
        };
        let Some((inputs, output, norm)) = found else { return Ok(None) };
        let inputs = inputs.into_iter().map(|linear| self.linear(linear)).collect::<Result<Vec<_>, _>>()?;
        let (queries, others, first) = match &inputs[..] {
            [query, key_value] => (query.clone(), key_value, 0),
            [all, ..] => (all.part(0, key_width), all, key_width),
            [] => return Ok(None),
        };
        let [norm_scale, norm_shift] = self.norm(norm)?;
        Ok(Some(AttentionWeights {
            heads: stack.heads,
            d_k: stack.d_k,
            d_v: stack.d_v,
            queries,
            keys: others.part(first, key_width),
            values: others.part(first + key_width, value_width),
            output: self.linear(output)?,
            norm_scale,
            norm_shift,
        }))
    }

    /// Reads the table of positions that a stack adds to its embeddings, `[positions, d_model]`, row-major. `None` if the
    /// model has no such table.
    ///
    /// # Errors
    /// Those of the file.
    pub fn position_table(&self, kind: AttentionKind) -> Result<Option<Vec<f32>>, ModelError> {
        let blueprint = self.blueprint();
        let stack =
            if kind == AttentionKind::Encoder { &blueprint.encoder_stack } else { &blueprint.decoder_stack };
        stack.positions.map(|table| self.read(table.index, table.rows * table.width)).transpose()
    }

    fn linear(&self, Linear { weight, bias, .. }: Linear) -> Result<LinearWeights, ModelError> {
        Ok(LinearWeights {
            outputs: weight.outputs,
            inputs: weight.inputs,
            weight: self.read(weight.index, weight.outputs * weight.inputs)?,
            bias: match bias {
                Some(bias) => self.read(bias.index, bias.length)?,
                None => vec![0.0; weight.outputs],
            },
        })
    }

    fn norm(&self, Norm { gamma, beta, .. }: Norm) -> Result<[Vec<f32>; 2], ModelError> {
        let shift = match beta {
            Some(beta) => self.read(beta.index, beta.length)?,
            None => vec![0.0; gamma.length],
        };
        Ok([self.read(gamma.index, gamma.length)?, shift])
    }

    fn read(&self, index: usize, elements: usize) -> Result<Vec<f32>, ModelError> {
        let blueprint = self.blueprint();
        let rows = blueprint.table.entries()[index].rows;
        let mut values = vec![0.0; elements];
        CheckpointSource { blueprint, checkpoint: self.checkpoint() }.read_rows(
            index,
            0..rows,
            &mut values,
        )?;
        Ok(values)
    }
}
