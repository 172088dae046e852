//! Lays out the weights, and checks each one against the file.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use super::source::{Piece, Source};
use super::{
    BlockSwitches, CrossAttention, DistanceBias, FeedForward, GlobalProjections, Norm, SelfAttention, Ssru,
    StackWeights,
};
use crate::graph::{Matrix, Rows, Vector, WeightTable};
use crate::model::checkpoint::Checkpoint;
use crate::model::config::{Family, ModelConfig, NormKind, Positions, StackConfig};
use crate::model::error::ModelError;
use crate::model::names::{AttentionNames, InputNames, Names, StackNames};
use crate::model::positions::SinusoidalLayout;
use crate::ops::{LengthProjections, Linear};

/// Names of the statistics of a batch norm: means and variances.
const RUNNING: [&str; 2] = ["running_mean", "running_var"];

/// One of the two stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stack {
    Encoder,
    Decoder,
}

/// Where the layers of a stack have their biases by distance.
#[derive(Clone, Copy, Debug)]
pub(super) enum LayerBias {
    /// The same for all layers, perhaps none.
    Shared(DistanceBias),
    /// Each layer of the stack has its own.
    OfEachLayer(Stack),
}

pub(super) struct Builder<'a> {
    config: &'a ModelConfig,
    names: &'static Names,
    checkpoint: &'a mut Checkpoint,
    table: WeightTable,
    sources: Vec<Source>,
    used: BTreeSet<String>,
    /// Table shared by all stacks with computed positions.
    sinusoids: Option<Rows>,
}

impl<'a> Builder<'a> {
    pub fn new(config: &'a ModelConfig, names: &'static Names, checkpoint: &'a mut Checkpoint) -> Self {
        Self {
            config,
            names,
            checkpoint,
            table: WeightTable::default(),
            sources: Vec::new(),
            used: BTreeSet::new(),
            sinusoids: None,
        }
    }

    pub fn finish(self) -> (WeightTable, Vec<Source>) {
        (self.table, self.sources)
    }

    /// The file's name of a tensor: the same, without the base model's prefix, or TensorFlow's name of a norm's part.
    fn stored(&self, name: &str) -> String {
        let short = name.strip_prefix(self.names.base).unwrap_or(name);
        let tensorflow = |name: &str| match name.strip_suffix("LayerNorm.weight") {
            Some(place) => Some(format!("{place}LayerNorm.gamma")),
            None => name.strip_suffix("LayerNorm.bias").map(|place| format!("{place}LayerNorm.beta")),
        };
        let candidates = [Some(name.to_owned()), Some(short.to_owned()), tensorflow(name), tensorflow(short)];
        let stored = candidates.into_iter().flatten().find(|name| self.checkpoint.contains(name));
        stored.unwrap_or_else(|| name.to_owned())
    }

    fn is_stored(&self, name: &str) -> bool {
        self.checkpoint.contains(&self.stored(name))
    }

    /// The first of the names that the file has; the first name if it has none.
    /// The stored name of the shared embedding, which may be the output projection's if they are one.
    pub fn shared_embedding(&self) -> &'static str {
        match self.first_stored(self.names.shared_embedding) {
            name if name == self.names.output && !self.config.output.tied => self.names.shared_embedding[0],
            name => name,
        }
    }

    fn first_stored(&self, names: &'static [&'static str]) -> &'static str {
        names.iter().find(|name| self.is_stored(name)).unwrap_or(&names[0])
    }

    fn piece(&mut self, tensor: &str, shape: &[usize], rows: Range<usize>) -> Result<Piece, ModelError> {
        let tensor = self.stored(tensor);
        self.checkpoint.claim(&tensor, shape)?;
        self.used.insert(tensor.clone());
        Ok(Piece { tensor, rows, transposed: false })
    }

    fn matrix(&mut self, tensor: &str, outputs: usize, inputs: usize) -> Result<Matrix, ModelError> {
        let piece = self.piece(tensor, &[outputs, inputs], 0..outputs)?;
        self.sources.push(Source::Tensors(vec![piece]));
        Ok(self.table.matrix(tensor, outputs, inputs))
    }

    pub fn embedding(&mut self, tensor: &str, vocabulary: usize) -> Result<Matrix, ModelError> {
        self.matrix(tensor, vocabulary, self.config.d_model)
    }

    /// A vector stored as `[length]` or, like Marian's `final_logits_bias`, as `[1, length]`.
    fn vector_piece(&mut self, tensor: &str, length: usize) -> Result<Piece, ModelError> {
        let info = self.checkpoint.info(&self.stored(tensor));
        let as_row = info.is_some_and(|info| info.shape == [1, length]);
        match as_row {
            true => self.piece(tensor, &[1, length], 0..1),
            false => self.piece(tensor, &[length], 0..length),
        }
    }

    /// The weights of a layer's output `[outputs, inputs]`, as the family stores them.
    fn matrix_piece(&mut self, tensor: &str, outputs: usize, inputs: usize) -> Result<Piece, ModelError> {
        let transposed = self.names.transposed;
        let shape = if transposed { [inputs, outputs] } else { [outputs, inputs] };
        Ok(Piece { transposed, ..self.piece(tensor, &shape, 0..outputs)? })
    }

    fn vector(&mut self, tensor: &str, length: usize) -> Result<Vector, ModelError> {
        let piece = self.vector_piece(tensor, length)?;
        self.sources.push(Source::Tensors(vec![piece]));
        Ok(self.table.vector(tensor, length))
    }

    fn norm(&mut self, place: &str) -> Result<Norm, ModelError> {
        let d_model = self.config.d_model;
        let [scale, shift] = self.names.style.norm(place);
        let gamma = self.vector(&scale, d_model)?;
        let beta = match self.config.norm_kind {
            NormKind::Layer | NormKind::Batch => Some(self.vector(&shift, d_model)?),
            NormKind::Rms => None,
        };
        let running = match self.config.norm_kind {
            NormKind::Batch => Some(self.running_statistics(place)?),
            NormKind::Layer | NormKind::Rms => None,
        };
        Ok(Norm { gamma, beta, running })
    }

    /// The buffers of `torch.nn.BatchNorm1d`, one after the other.
    fn running_statistics(&mut self, place: &str) -> Result<Vector, ModelError> {
        let d_model = self.config.d_model;
        let names = RUNNING.map(|name| format!("{place}.{name}"));
        let pieces = [self.vector_piece(&names[0], d_model)?, self.vector_piece(&names[1], d_model)?];
        self.sources.push(Source::Tensors(pieces.into()));
        Ok(self.table.vector(format!("{place}.running_statistics"), 2 * d_model))
    }

    fn linear(&mut self, place: &str, outputs: usize, inputs: usize) -> Result<Linear, ModelError> {
        self.linear_with(place, outputs, inputs, self.config.biases)
    }

    fn linear_with(
        &mut self,
        place: &str,
        outputs: usize,
        inputs: usize,
        has_bias: bool,
    ) -> Result<Linear, ModelError> {
        let style = self.names.style;
        let name = style.weight(place);
        let piece = self.matrix_piece(&name, outputs, inputs)?;
        self.sources.push(Source::Tensors(vec![piece]));
        let weight = self.table.matrix(&name, outputs, inputs);
        let bias = match has_bias {
            true => Some(self.vector(&style.bias(place), outputs)?),
            false => None,
        };
        Ok(Linear { weight, bias, scale: 1.0 })
    }

    /// Adds a matrix that is tied to `other`: `other` itself, unless the file has a different matrix. Older files store
    /// equal copies; if they differ, Hugging Face uses both.
    pub fn tied(&mut self, tensor: &str, other: Matrix) -> Result<Matrix, ModelError> {
        let stored = self.stored(tensor);
        let other_stored = self.stored(self.table.name(other));
        if stored == other_stored || !self.checkpoint.contains(&stored) {
            return Ok(other);
        }
        self.checkpoint.require(&stored, &[other.outputs, other.inputs])?;
        if self.checkpoint.are_equal(&stored, &other_stored)? {
            self.used.insert(stored);
            return Ok(other);
        }
        self.matrix(tensor, other.outputs, other.inputs)
    }

    /// Adds the weights of a stack outside its layers, and the biases by distance that its layers share or each have.
    pub fn stack(&mut self, stack: Stack) -> Result<(StackWeights, LayerBias), ModelError> {
        let config = self.config;
        let (names, layers, own) = match stack {
            Stack::Encoder => (&self.names.encoder, &config.encoder, config.source_positions()),
            Stack::Decoder => (&self.names.decoder, &config.decoder, &config.positions),
        };
        if layers.layers == 0 {
            let nothing = StackWeights { positions: None, embedding_norm: None, final_norm: None };
            return Ok((nothing, LayerBias::Shared(DistanceBias::default())));
        }
        let embedding_norm = config.embedding_norm.then(|| self.norm(names.embedding_norm)).transpose()?;
        let final_norm = config.final_norm.then(|| self.norm(names.final_norm)).transpose()?;
        let (positions, bias) = match *own {
            Positions::Relative(relative) if relative.of_each_layer => (None, LayerBias::OfEachLayer(stack)),
            Positions::Relative(_) => {
                let first = self.names.style.layer(names.layers, 0);
                (None, LayerBias::Shared(self.distance_bias(&first, names, layers, stack)?))
            }
            own => {
                let positions = self.positions(names.positions, own)?;
                (Some(positions), LayerBias::Shared(DistanceBias::default()))
            }
        };
        Ok((StackWeights { positions, embedding_norm, final_norm }, bias))
    }

    /// Adds a position table: the file's, else sinusoids.
    fn positions(&mut self, name: &'static str, positions: Positions) -> Result<Rows, ModelError> {
        let (rows, width) = (positions.table_rows(), self.config.d_model);
        let (layout, zero_row) = match positions {
            Positions::Sinusoidal { layout, .. } if !self.is_stored(name) => (layout, None),
            Positions::SinusoidalWithoutPadding { pad, .. } => {
                (SinusoidalLayout::Tensor2Tensor, Some(pad as usize))
            }
            _ => {
                let piece = self.piece(name, &[rows, width], 0..rows)?;
                self.sources.push(Source::Tensors(vec![piece]));
                return Ok(self.table.rows(name, rows, width));
            }
        };
        Ok(*self.sinusoids.get_or_insert_with(|| {
            self.sources.push(Source::Sinusoids { layout, zero_row });
            self.table.rows("positions", rows, width)
        }))
    }

    fn distance_bias(
        &mut self,
        layer: &str,
        names: &StackNames,
        config: &StackConfig,
        stack: Stack,
    ) -> Result<DistanceBias, ModelError> {
        let Positions::Relative(positions) = self.config.positions else {
            unreachable!("only relative positions have a bias")
        };
        let style = self.names.style;
        let name = style.weight(&style.place(layer, names.distance_bias));
        let shape = [positions.buckets, config.heads];
        let mut tensors = vec![self.piece(&name, &shape, 0..positions.buckets)?.tensor];
        let has_blocks = self.has_blocks(names);
        if has_blocks {
            let name = style.weight(&style.place(layer, names.block_bias));
            tensors.push(self.piece(&name, &shape, 0..positions.buckets)?.tensor);
        }
        let rows = 2 * positions.max_distance + 1;
        let all = tensors.len() * rows;
        let bidirectional = stack == Stack::Encoder;
        self.sources.push(Source::Distances { tensors, positions, bidirectional });
        let all = self.table.rows(name, all, config.heads);
        // the rows for sums of blocks follow in the same table
        Ok(DistanceBias { keys: Some(Rows { rows, ..all }), blocks: has_blocks.then_some(all) })
    }

    /// Adds the layers of a stack, bottom to top.
    pub fn layers<L>(
        &mut self,
        names: &StackNames,
        stack: &StackConfig,
        layer: impl Fn(&mut Self, &str, &StackNames, &StackConfig) -> Result<L, ModelError>,
    ) -> Result<Vec<L>, ModelError> {
        (0..stack.layers)
            .map(|index| layer(self, &self.names.style.layer(names.layers, index), names, stack))
            .collect()
    }

    /// Adds input projections of an attention block (0 = queries, 1 = keys, 2 = values), fused into one.
    fn projections(
        &mut self,
        place: &str,
        names: AttentionNames,
        stack: &StackConfig,
        which: Range<usize>,
    ) -> Result<Linear, ModelError> {
        let inputs = self.config.d_model;
        let widths = [stack.key_width(), stack.key_width(), stack.value_width()];
        let outputs = widths[which.clone()].iter().sum();
        let (mut weight, mut bias) = (Vec::new(), Vec::new());
        let style = self.names.style;
        let label = match names.inputs {
            InputNames::Separate(parts) => {
                for part in which.clone() {
                    let (projection, width) = (style.place(place, parts[part]), widths[part]);
                    weight.push(self.matrix_piece(&style.weight(&projection), width, inputs)?);
                    if self.config.attention_biases {
                        bias.push(self.vector_piece(&style.bias(&projection), width)?);
                    }
                }
                style.place(place, &parts[which.clone()].join("+"))
            }
            InputNames::Fused([weight_name, bias_name]) => {
                let (all, first) = (widths.iter().sum(), widths[..which.start].iter().sum());
                let rows = first..first + outputs;
                let transposed = self.names.transposed;
                let shape = if transposed { [inputs, all] } else { [all, inputs] };
                let name = format!("{place}.{weight_name}");
                weight.push(Piece { transposed, ..self.piece(&name, &shape, rows.clone())? });
                bias.push(self.piece(&format!("{place}.{bias_name}"), &[all], rows)?);
                format!("{place}.{weight_name}:{}", &"qkv"[which.clone()])
            }
        };
        self.sources.push(Source::Tensors(weight));
        let weight = self.table.matrix(style.weight(&label), outputs, inputs);
        let bias = self.config.attention_biases.then(|| {
            self.sources.push(Source::Tensors(bias));
            self.table.vector(style.bias(&label), outputs)
        });
        Ok(Linear { weight, bias, scale: 1.0 })
    }

    fn attention_output(
        &mut self,
        place: &str,
        names: AttentionNames,
        stack: &StackConfig,
    ) -> Result<Linear, ModelError> {
        let place = self.names.style.place(place, names.output);
        self.linear_with(&place, self.config.d_model, stack.value_width(), self.config.attention_biases)
    }

    pub fn self_attention(
        &mut self,
        place: &str,
        names: &StackNames,
        stack: &StackConfig,
        bias: LayerBias,
    ) -> Result<SelfAttention, ModelError> {
        Ok(SelfAttention {
            qkv: self.projections(place, names.self_attention, stack, 0..3)?,
            distance_bias: match bias {
                LayerBias::Shared(bias) => bias,
                LayerBias::OfEachLayer(which) => self.distance_bias(place, names, stack, which)?,
            },
            global: self.global_projections(place, names, stack)?,
            block_norm: match self.has_blocks(names) {
                true => Some(self.norm(&self.names.style.place(place, names.block_norm))?),
                false => None,
            },
            length_projections: None,
            output: self.attention_output(place, names.self_attention, stack)?,
            norm: self.norm(&self.names.style.place(place, names.self_norm))?,
            switches: BlockSwitches::default(),
        })
    }

    /// Adds the learned projections of an encoder layer, if its kind of attention has some.
    pub fn length_projections(&mut self, layer: usize) -> Result<Option<LengthProjections>, ModelError> {
        let Some(rank) = self.config.encoder_kind(layer).learned_rank() else { return Ok(None) };
        let positions = self.config.source_positions().count();
        let [keys, values] = self.names.length_projections(layer);
        let mut factors = |name: &str| -> Result<Rows, ModelError> {
            let piece = self.piece(name, &[rank, positions], 0..rank)?;
            self.sources.push(Source::Tensors(vec![piece]));
            Ok(self.table.rows(name, rank, positions))
        };
        Ok(Some(LengthProjections { keys: factors(&keys)?, values: factors(&values)? }))
    }

    /// Whether a stack has weights for sums of blocks.
    fn has_blocks(&self, names: &StackNames) -> bool {
        self.config.block_tokens.is_some() && !names.block_bias.is_empty()
    }

    fn global_projections(
        &mut self,
        place: &str,
        names: &StackNames,
        stack: &StackConfig,
    ) -> Result<Option<GlobalProjections>, ModelError> {
        let has_names =
            matches!(names.global_attention.inputs, InputNames::Separate([query, ..]) if !query.is_empty());
        if !(self.config.global_projections && has_names) {
            return Ok(None);
        }
        Ok(Some(GlobalProjections {
            query: self.projections(place, names.global_attention, stack, 0..1)?,
            key_value: self.projections(place, names.global_attention, stack, 1..3)?,
        }))
    }

    /// Adds an SSRU. Its two maps of the input become one; the first has no bias.
    pub fn ssru(&mut self, place: &str, names: &StackNames) -> Result<Ssru, ModelError> {
        let (style, d_model) = (self.names.style, self.config.d_model);
        let maps = names.ssru.map(|map| style.place(place, map));
        let [inner, forget] =
            [0, 1].map(|map| self.matrix_piece(&style.weight(&maps[map]), d_model, d_model));
        self.sources.push(Source::Tensors(vec![inner?, forget?]));
        let weight = self.table.matrix(style.weight(&maps.join("+")), 2 * d_model, d_model);
        let piece = self.vector_piece(&style.bias(&maps[1]), d_model)?;
        self.sources.push(Source::ZerosAnd { zeros: d_model, piece });
        let bias = self.table.vector(style.bias(&maps[1]), 2 * d_model);
        Ok(Ssru {
            input: Linear { weight, bias: Some(bias), scale: 1.0 },
            norm: self.norm(&style.place(place, names.ssru_norm))?,
            switches: BlockSwitches::default(),
        })
    }

    pub fn cross_attention(
        &mut self,
        place: &str,
        names: &StackNames,
        stack: &StackConfig,
    ) -> Result<CrossAttention, ModelError> {
        Ok(CrossAttention {
            query: self.projections(place, names.cross_attention, stack, 0..1)?,
            key_value: self.projections(place, names.cross_attention, stack, 1..3)?,
            output: self.attention_output(place, names.cross_attention, stack)?,
            norm: self.norm(&self.names.style.place(place, names.cross_norm))?,
            switches: BlockSwitches::default(),
        })
    }

    pub fn feed_forward(
        &mut self,
        place: &str,
        names: &StackNames,
        stack: &StackConfig,
    ) -> Result<FeedForward, ModelError> {
        let (d_model, width) = (self.config.d_model, stack.ffn_width);
        let [gate, up] = match self.config.gated {
            true => names.gated_up.map(Some),
            false => [None, Some(names.up)],
        };
        let style = self.names.style;
        let mut rise = |name: &str| self.linear(&style.place(place, name), width, d_model);
        Ok(FeedForward {
            gate: gate.map(&mut rise).transpose()?,
            up: rise(up.unwrap_or_default())?,
            down: self.linear(&style.place(place, names.down), d_model, width)?,
            norm: self.norm(&style.place(place, names.feed_forward_norm))?,
            switches: BlockSwitches::default(),
        })
    }

    pub fn output_transform(&mut self) -> Result<Option<(Linear, Norm)>, ModelError> {
        if self.config.output.transform.is_none() {
            return Ok(None);
        }
        let [linear, norm] = self.names.output_transform;
        let d_model = self.config.d_model;
        Ok(Some((self.linear(linear, d_model, d_model)?, self.norm(norm)?)))
    }

    /// Adds the output projection; `tied` is the table that it may share.
    pub fn output(&mut self, tied: Matrix) -> Result<Linear, ModelError> {
        let (names, output, vocabulary) = (self.names, self.config.output, self.config.target_vocabulary);
        let weight = match output.tied {
            true => self.tied(names.output, tied)?,
            false => self.matrix(names.output, vocabulary, self.config.d_model)?,
        };
        let bias = match output.bias {
            true => self.output_bias(vocabulary)?,
            false => None,
        };
        Ok(Linear { weight, bias, scale: output.scale })
    }

    fn output_bias(&mut self, vocabulary: usize) -> Result<Option<Vector>, ModelError> {
        let names = self.names.output_bias;
        let stored = names.iter().find(|name| self.is_stored(name));
        let Some(name) = stored.or(names.last()) else { return Ok(None) };
        // in BART's relatives a buffer, which Hugging Face fills with zeros if it is absent
        let optional = !matches!(self.config.family, Family::Vanilla | Family::Firefox)
            && self.config.decoder.layers > 0;
        if optional && !self.is_stored(name) {
            return Ok(None);
        }
        // BERT's files may contain both names
        self.used.extend(self.names.output_bias.iter().map(|name| (*name).to_owned()));
        Ok(Some(self.vector(name, vocabulary)?))
    }

    /// Rejects tensors that no block uses, except known leftovers: the file belongs to another model than the
    /// configuration.
    pub fn refuse_others(&self) -> Result<(), ModelError> {
        let Names { base, unused, .. } = self.names;
        let is_unused = |name: &str| {
            let full: Cow<'_, str> = match name.starts_with(base) {
                true => name.into(),
                false => format!("{base}{name}").into(),
            };
            unused.iter().any(|(start, end)| {
                [name, &full].iter().any(|name| name.starts_with(start) && name.ends_with(end))
            })
        };
        match self.checkpoint.names().find(|name| !self.used.contains(*name) && !is_unused(name)) {
            None => Ok(()),
            Some(name) => Err(ModelError::UnexpectedTensor {
                file: self.checkpoint.label().to_owned(),
                tensor: name.to_owned(),
                model_type: self.config.family.model_type(),
            }),
        }
    }
}
