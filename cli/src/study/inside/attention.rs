//! Queries, keys and values of an attention, computed from the weights of a model and from its hidden states, in f64.

use nalgebra::{DMatrix, RowDVector};
use wordloom::Model;
use wordloom::model::config::{NormKind, NormPlacement};
use wordloom::model::{AttentionWeights, LinearWeights};
use wordloom::trace::AttentionKind;
use wordloom::transformer::{ForwardOutput, Tensor};

use crate::CliError;

/// A linear map `x · weight + bias`.
pub struct Linear {
    /// `[inputs, outputs]`
    pub weight: DMatrix<f64>,
    bias: RowDVector<f64>,
}

impl Linear {
    fn new(LinearWeights { outputs, inputs, weight, bias }: &LinearWeights) -> Self {
        let weight = weight.iter().map(|&value| f64::from(value));
        Self {
            // stored as `[outputs, inputs]` by rows, which is the transpose by columns
            weight: DMatrix::from_iterator(*inputs, *outputs, weight),
            bias: RowDVector::from_iterator(*outputs, bias.iter().map(|&value| f64::from(value))),
        }
    }

    pub fn of(&self, states: &DMatrix<f64>) -> DMatrix<f64> {
        let mut result = states * &self.weight;
        result.row_iter_mut().for_each(|mut row| row += &self.bias);
        result
    }
}

struct Norm {
    scale: Vec<f64>,
    shift: Vec<f64>,
    epsilon: f64,
    kind: NormKind,
}

impl Norm {
    fn of(&self, states: &DMatrix<f64>) -> DMatrix<f64> {
        let mut result = states.clone();
        for mut row in result.row_iter_mut() {
            let mean = if self.kind == NormKind::Layer { row.mean() } else { 0.0 };
            row.add_scalar_mut(-mean);
            let deviation = (row.norm_squared() / row.len() as f64 + self.epsilon).sqrt();
            for (value, (scale, shift)) in row.iter_mut().zip(self.scale.iter().zip(&self.shift)) {
                *value = *value / deviation * scale + shift;
            }
        }
        result
    }
}

/// One multi-head attention of a model.
pub struct Attention {
    pub kind: AttentionKind,
    pub layer: usize,
    pub heads: usize,
    pub d_k: usize,
    d_v: usize,
    /// Factor of q·k: 1/√d_k in the paper.
    pub factor: f64,
    pub queries: Linear,
    pub keys: Linear,
    values: Linear,
    output: Linear,
    norm: Norm,
    placement: NormPlacement,
}

/// The vectors of one head.
pub struct Head {
    /// `[queries, d_k]`
    pub queries: DMatrix<f64>,
    /// `[keys, d_k]`
    pub keys: DMatrix<f64>,
    /// `[keys, d_v]`
    pub values: DMatrix<f64>,
}

impl Attention {
    /// `None` if the model has no such attention.
    pub fn new(model: &Model, kind: AttentionKind, layer: usize) -> Result<Option<Self>, CliError> {
        let config = model.config();
        if config.norm_kind == NormKind::Batch {
            let problem = "has batch norms; studies of attention read models with layer norms or RMS norms";
            return Err(CliError::Input(format!("{} {problem}", model.label())));
        }
        let Some(weights) = model.attention_weights(kind, layer)? else { return Ok(None) };
        let AttentionWeights { heads, d_k, d_v, queries, keys, values, output, norm_scale, norm_shift } =
            &weights;
        let wide = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect();
        Ok(Some(Self {
            kind,
            layer,
            heads: *heads,
            d_k: *d_k,
            d_v: *d_v,
            factor: config.attention_scale.factor(*d_k, layer).into(),
            queries: Linear::new(queries),
            keys: Linear::new(keys),
            values: Linear::new(values),
            output: Linear::new(output),
            norm: Norm {
                scale: wide(norm_scale),
                shift: wide(norm_shift),
                epsilon: config.layer_norm_eps.into(),
                kind: config.norm_kind,
            },
            placement: config.norm,
        }))
    }

    /// The states that the projections read, from the states at the beginning of the block.
    pub fn input(&self, states: &DMatrix<f64>) -> DMatrix<f64> {
        match self.placement {
            NormPlacement::Post => states.clone(),
            NormPlacement::Pre => self.norm.of(states),
        }
    }

    /// The vectors of all heads.
    pub fn vectors(&self, queries_from: &DMatrix<f64>, keys_from: &DMatrix<f64>) -> Vec<Head> {
        let [keys, values] = [&self.keys, &self.values].map(|map| map.of(keys_from));
        self.cut([self.queries.of(queries_from), keys, values])
    }

    /// As [`Attention::vectors`], but for the biases.
    pub fn vectors_without_bias(&self, queries_from: &DMatrix<f64>, keys_from: &DMatrix<f64>) -> Vec<Head> {
        let [keys, values] = [&self.keys, &self.values].map(|map| keys_from * &map.weight);
        self.cut([queries_from * &self.queries.weight, keys, values])
    }

    /// W_V·W_O of a head, `[d_model, d_model]`.
    pub fn values_and_output(&self, head: usize) -> DMatrix<f64> {
        self.values.weight.columns(head * self.d_v, self.d_v)
            * self.output.weight.rows(head * self.d_v, self.d_v)
    }

    fn cut(&self, [queries, keys, values]: [DMatrix<f64>; 3]) -> Vec<Head> {
        let part =
            |all: &DMatrix<f64>, head: usize, width: usize| all.columns(head * width, width).into_owned();
        let of_head = |head| Head {
            queries: part(&queries, head, self.d_k),
            keys: part(&keys, head, self.d_k),
            values: part(&values, head, self.d_v),
        };
        (0..self.heads).map(of_head).collect()
    }

    /// The sum over heads of what they add to the residual stream: side by side, times W_O, without its bias.
    pub fn summed(&self, outputs: &[DMatrix<f64>]) -> DMatrix<f64> {
        let mut sum = DMatrix::zeros(outputs[0].nrows(), self.output.weight.ncols());
        for (head, output) in outputs.iter().enumerate() {
            sum += output * self.output.weight.rows(head * self.d_v, self.d_v);
        }
        sum
    }

    /// The states after the block: `states` and the heads' sum, W_O's bias, and the norm if it comes after.
    pub fn after(&self, states: &DMatrix<f64>, summed: &DMatrix<f64>) -> DMatrix<f64> {
        let mut sum = states + summed;
        sum.row_iter_mut().for_each(|mut row| row += &self.output.bias);
        match self.placement {
            NormPlacement::Post => self.norm.of(&sum),
            NormPlacement::Pre => sum,
        }
    }
}

/// The attention of a layer with its inputs in one pass.
pub struct Inside<'a> {
    pub attention: &'a Attention,
    /// States at the beginning of the block, `[queries, d_model]`.
    pub states: DMatrix<f64>,
    pub heads: Vec<Head>,
    /// Attention weights of each head, `[queries, keys]`.
    pub weights: Vec<DMatrix<f64>>,
}

/// All attentions of a model, bottom to top.
pub struct Attentions(Vec<Attention>);

impl Attentions {
    pub fn of(model: &Model, kinds: &[AttentionKind]) -> Result<Self, CliError> {
        let mut all = Vec::new();
        for kind in AttentionKind::ALL {
            // the queries of cross-attention come from the block before it
            let is_needed = kinds.contains(&kind)
                || kind == AttentionKind::Decoder && kinds.contains(&AttentionKind::Cross);
            for layer in 0..if is_needed { model.config().attention_layers(kind) } else { 0 } {
                all.extend(Attention::new(model, kind, layer)?);
            }
        }
        Ok(Self(all))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Attention> {
        self.0.iter()
    }

    fn find(&self, kind: AttentionKind, layer: usize) -> Option<&Attention> {
        self.0.iter().find(|attention| (attention.kind, attention.layer) == (kind, layer))
    }

    /// Opens the attentions of these kinds in the results of a pass over one sentence, with all hidden states and attention.
    pub fn open<'a>(&'a self, pass: &ForwardOutput, kinds: &[AttentionKind]) -> Vec<Inside<'a>> {
        let chosen = self.0.iter().filter(|attention| kinds.contains(&attention.kind));
        chosen.filter_map(|attention| self.inside(attention, pass)).collect()
    }

    fn inside<'a>(&'a self, attention: &'a Attention, pass: &ForwardOutput) -> Option<Inside<'a>> {
        let Attention { kind, layer, .. } = *attention;
        let (states, weights, memory) = match kind {
            AttentionKind::Encoder => {
                (matrix(pass.encoder_hidden_states.get(layer)?), pass.encoder_attentions.get(layer)?, None)
            }
            AttentionKind::Decoder => {
                (matrix(pass.decoder_hidden_states.get(layer)?), pass.decoder_attentions.get(layer)?, None)
            }
            AttentionKind::Cross => {
                let before = self.inside(self.find(AttentionKind::Decoder, layer)?, pass)?;
                let memory = matrix(&pass.encoder_last_hidden_state);
                (before.after(), pass.cross_attentions.get(layer)?, Some(memory))
            }
        };
        let queries_from = attention.input(&states);
        let heads = attention.vectors(&queries_from, memory.as_ref().unwrap_or(&queries_from));
        Some(Inside { attention, heads, weights: maps(weights), states })
    }
}

impl Inside<'_> {
    /// The weighted values of each head, `[queries, d_v]`.
    pub fn outputs(&self) -> Vec<DMatrix<f64>> {
        self.weights.iter().zip(&self.heads).map(|(weights, head)| weights * &head.values).collect()
    }

    /// States after the block.
    pub fn after(&self) -> DMatrix<f64> {
        self.attention.after(&self.states, &self.attention.summed(&self.outputs()))
    }

    /// Number of keys that a query sees.
    pub fn visible(&self, query: usize) -> usize {
        let keys = self.heads.first().map_or(0, |head| head.keys.nrows());
        if self.attention.kind == AttentionKind::Decoder { (query + 1).min(keys) } else { keys }
    }
}

/// `[1, rows, columns]` as a matrix.
pub fn matrix(tensor: &Tensor) -> DMatrix<f64> {
    let columns = tensor.shape.last().copied().unwrap_or(0).max(1);
    let rows = tensor.data.len() / columns;
    DMatrix::from_row_iterator(rows, columns, tensor.data.iter().map(|&value| f64::from(value)))
}

/// `[1, heads, queries, keys]` as a matrix for each head.
fn maps(tensor: &Tensor) -> Vec<DMatrix<f64>> {
    let [.., queries, keys] = tensor.shape[..] else { return Vec::new() };
    let of_head = |weights: &[f32]| {
        DMatrix::from_row_iterator(queries, keys, weights.iter().map(|&weight| f64::from(weight)))
    };
    tensor.data.chunks_exact((queries * keys).max(1)).map(of_head).collect()
}

#[cfg(test)]
mod tests {
    use wordloom::transformer::ForwardInput;
    use wordloom::{Device, Transformer};

    use super::super::numeric::softmax;
    use super::*;

    /// Norms after the sublayers, and before them.
    const FOLDERS: [&str; 4] = ["marian_tied", "mbart", "vanilla_postln", "vanilla_preln"];

    /// Every attention weight of the engine is the softmax of the scaled q·k of this file.
    fn weights_follow_from_queries_and_keys(folder: &str) {
        let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/models/");
        let model = Model::load(format!("{data}{folder}")).unwrap();
        let transformer = Transformer::load(&Device::Cpu, &model, &mut |_| {}).unwrap();
        let input = ForwardInput {
            batch: 1,
            source_length: 7,
            target_length: 6,
            input_ids: vec![5, 9, 17, 6, 11, 8, 2],
            attention_mask: vec![1; 7],
            decoder_input_ids: vec![2, 12, 7, 5, 14, 9],
            ..ForwardInput::default()
        };
        let pass = pollster::block_on(transformer.forward(&input)).unwrap();
        let attentions = Attentions::of(&model, &AttentionKind::ALL).unwrap();
        let opened = attentions.open(&pass, &AttentionKind::ALL);
        let config = model.config();
        assert_eq!(opened.len(), config.encoder.layers + 2 * config.decoder.layers, "{folder}");
        for inside in &opened {
            for (head, weights) in inside.heads.iter().zip(&inside.weights) {
                let scores = (&head.queries * head.keys.transpose()).scale(inside.attention.factor);
                for (query, row) in scores.row_iter().enumerate() {
                    let row: Vec<f64> = row.iter().take(inside.visible(query)).copied().collect();
                    for (key, weight) in softmax(&row).into_iter().enumerate() {
                        let apart = (weight - weights[(query, key)]).abs();
                        let (kind, layer) = (inside.attention.kind, inside.attention.layer);
                        assert!(apart < 1e-5, "{folder}, {kind}.{layer}: {apart}");
                    }
                }
            }
        }
    }

    #[test]
    fn attention_follows_from_queries_and_keys() {
        FOLDERS.iter().for_each(|folder| weights_follow_from_queries_and_keys(folder));
    }
}
