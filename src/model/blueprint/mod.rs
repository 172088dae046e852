//! From a configuration and a file's tensors to the model's blocks: the weights of each, and their sources. Shapes are
//! checked here, before any tensor is read.

mod builder;
#[cfg(feature = "training")]
mod file_tensors;
mod source;

#[cfg(feature = "training")]
pub(crate) use file_tensors::BucketRows;
#[cfg(feature = "training")]
pub use file_tensors::FileTensor;
pub(crate) use source::CheckpointSource;

use super::checkpoint::Checkpoint;
use super::config::{Architecture, EmbeddingSharing, Mixer, ModelConfig, StackConfig};
use super::error::ModelError;
use super::names::Names;
use crate::graph::{Matrix, Rows, Vector, WeightKind, WeightTable};
use crate::ops::{LengthProjections, Linear, Normalization};
use crate::precision::WeightPrecision;
use crate::sorting;
use builder::{Builder, Stack};
use source::Source;

/// Scale and shift of a norm, `[d_model]` each.
#[derive(Clone, Copy, Debug)]
pub struct Norm {
    /// Scale.
    pub gamma: Vector,
    /// Shift; `None` for RMS norms.
    pub beta: Option<Vector>,
    /// Running means and variances, `[2 * d_model]`, of batch norms.
    pub running: Option<Vector>,
}

impl Norm {
    pub(super) fn of(self, config: &ModelConfig) -> Normalization {
        let Self { gamma, beta, running } = self;
        Normalization { gamma, beta, running, epsilon: config.layer_norm_eps }
    }
}

/// What a block leaves out or does in another way, by [`Switches`](crate::model::Switches). By default nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlockSwitches {
    /// Whether the block's function is left out: a feed-forward network that adds nothing.
    pub off: bool,
    /// Whether the block's input is not added to its result.
    pub no_residual: bool,
    /// Whether the block's norm is left out.
    pub no_norm: bool,
    /// Factor of attention scores, in place of the model's.
    pub scale: Option<f32>,
}

/// Biases of attention scores by distance, in place of positions of tokens.
#[derive(Clone, Copy, Debug, Default)]
pub struct DistanceBias {
    /// `[2 * max_distance + 1, heads]`: by the key's distance from the query.
    pub keys: Option<Rows>,
    /// The same rows, then those for sums of blocks, by their distance from the query's block.
    pub blocks: Option<Rows>,
}

/// Self-attention with a fused projection for queries, keys and values.
#[derive(Clone, Copy, Debug)]
pub struct SelfAttention {
    /// `[heads * (2 * d_k + d_v), d_model]`
    pub qkv: Linear,
    /// Biases of the scores: those of the layer, or the same in all layers of a stack.
    pub distance_bias: DistanceBias,
    /// Projections of global tokens, if they have their own.
    pub global: Option<GlobalProjections>,
    /// Norm of sums of blocks, if the layer has them.
    pub block_norm: Option<Norm>,
    /// Projections of keys and values along the length, if the layer has learned some.
    pub length_projections: Option<LengthProjections>,
    /// `[d_model, heads * d_v]`
    pub output: Linear,
    /// Norm before or after the block.
    pub norm: Norm,
    /// Switches of the block.
    pub switches: BlockSwitches,
}

/// The projections by which global tokens see a text. Beltagy et al. 2020, "Longformer", section 3.1.
#[derive(Clone, Copy, Debug)]
pub struct GlobalProjections {
    /// `[heads * d_k, d_model]`, of global tokens.
    pub query: Linear,
    /// `[heads * (d_k + d_v), d_model]`, of all tokens.
    pub key_value: Linear,
}

/// Simpler simple recurrent unit, instead of the decoder's self-attention.
#[derive(Clone, Copy, Debug)]
pub struct Ssru {
    /// `[2 * d_model, d_model]`: the new content, then the gate.
    pub input: Linear,
    /// Norm after the block.
    pub norm: Norm,
    /// Switches of the block.
    pub switches: BlockSwitches,
}

/// First block of a decoder layer.
#[derive(Clone, Copy, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a model has a few dozen, and they stay `Copy`; narrow pointers do not see it"
)]
pub enum Mixing {
    /// Masked self-attention.
    Attention(SelfAttention),
    /// Recurrent unit.
    Ssru(Ssru),
}

impl Mixing {
    /// Linear layers of the block.
    pub fn linears(&self) -> impl Iterator<Item = Linear> + use<> {
        let (first, second) = match *self {
            Self::Attention(attention) => (attention.qkv, Some(attention.output)),
            Self::Ssru(ssru) => (ssru.input, None),
        };
        [first].into_iter().chain(second)
    }

    /// Biases of the scores by distance.
    pub fn distance_bias(&self) -> DistanceBias {
        match self {
            Self::Attention(attention) => attention.distance_bias,
            Self::Ssru(_) => DistanceBias::default(),
        }
    }

    /// Norm before or after the block.
    pub fn norm(&self) -> Norm {
        match self {
            Self::Attention(attention) => attention.norm,
            Self::Ssru(ssru) => ssru.norm,
        }
    }

    /// Switches of the block.
    pub fn switches(&self) -> BlockSwitches {
        match self {
            Self::Attention(attention) => attention.switches,
            Self::Ssru(ssru) => ssru.switches,
        }
    }

    pub(super) fn switches_mut(&mut self) -> &mut BlockSwitches {
        match self {
            Self::Attention(attention) => &mut attention.switches,
            Self::Ssru(ssru) => &mut ssru.switches,
        }
    }
}

/// Cross-attention.
#[derive(Clone, Copy, Debug)]
pub struct CrossAttention {
    /// `[heads * d_k, d_model]`
    pub query: Linear,
    /// `[heads * (d_k + d_v), d_model]`, applied to the memory once per sentence.
    pub key_value: Linear,
    /// `[d_model, heads * d_v]`
    pub output: Linear,
    /// Norm before or after the block.
    pub norm: Norm,
    /// Switches of the block.
    pub switches: BlockSwitches,
}

/// Position-wise feed-forward network. Vaswani et al. 2017, section 3.3.
#[derive(Clone, Copy, Debug)]
pub struct FeedForward {
    /// `[ffn_width, d_model]`, followed by the activation unless there is a gate.
    pub up: Linear,
    /// `[ffn_width, d_model]`, followed by the activation; multiplies the result of `up`.
    pub gate: Option<Linear>,
    /// `[d_model, ffn_width]`
    pub down: Linear,
    /// Norm before or after the block.
    pub norm: Norm,
    /// Switches of the block.
    pub switches: BlockSwitches,
}

/// One layer of the encoder.
#[derive(Clone, Copy, Debug)]
pub struct EncoderLayer {
    /// First block.
    pub self_attention: SelfAttention,
    /// Second block.
    pub feed_forward: FeedForward,
}

/// One layer of the decoder.
#[derive(Clone, Copy, Debug)]
pub struct DecoderLayer {
    /// First block.
    pub mixing: Mixing,
    /// Second block, if there is an encoder.
    pub cross_attention: Option<CrossAttention>,
    /// Third block.
    pub feed_forward: FeedForward,
}

/// The weights of a stack outside its layers.
#[derive(Clone, Copy, Debug)]
pub struct StackWeights {
    /// `[positions, d_model]`
    pub positions: Option<Rows>,
    /// Norm after the embeddings.
    pub embedding_norm: Option<Norm>,
    /// Norm after the last layer.
    pub final_norm: Option<Norm>,
}

/// The weights of a model, by block.
#[derive(Clone, Debug)]
pub struct Blueprint {
    /// `[source_vocabulary, d_model]`
    pub source_embedding: Matrix,
    /// `[target_vocabulary, d_model]`
    pub target_embedding: Matrix,
    /// `[token_types, d_model]`
    pub token_types: Option<Matrix>,
    /// Encoder's weights outside its layers.
    pub encoder_stack: StackWeights,
    /// Encoder layers, bottom to top.
    pub encoder: Vec<EncoderLayer>,
    /// Decoder's weights outside its layers.
    pub decoder_stack: StackWeights,
    /// Decoder layers, bottom to top.
    pub decoder: Vec<DecoderLayer>,
    /// Linear layer, followed by the activation, and norm before the output projection.
    pub output_transform: Option<(Linear, Norm)>,
    /// `[target_vocabulary, d_model]`, perhaps the target embedding.
    pub output: Linear,
    /// Table of all weights.
    pub table: WeightTable,
    sources: Vec<Source>,
}

impl Blueprint {
    /// The biases of scores by distance in the encoder and in the decoder, each table once.
    pub(crate) fn distance_biases(&self) -> [Vec<Rows>; 2] {
        let encoder = self.encoder.iter().filter_map(|layer| layer.self_attention.distance_bias.keys);
        let decoder = self.decoder.iter().filter_map(|layer| layer.mixing.distance_bias().keys);
        [encoder.collect(), decoder.collect()].map(|mut biases: Vec<Rows>| {
            biases.dedup_by_key(|rows| rows.index); // layers that share one stand side by side
            biases
        })
    }

    /// Lays out the weights; checks that the file has all of them in the right shapes, and no others.
    /// Returns a [`ModelError`] with the tensor that is missing, wrong or unknown.
    pub fn new(config: &ModelConfig, checkpoint: &mut Checkpoint) -> Result<Self, ModelError> {
        let names = Names::of(config);
        let mut b = Builder::new(config, names, checkpoint);
        // `tied`: the table that the output projection shares if it has no tensor of its own
        let (source_embedding, target_embedding, tied) = match config.embeddings {
            EmbeddingSharing::Shared => {
                let shared = b.embedding(b.shared_embedding(), config.source_vocabulary)?;
                (b.tied(names.source_embedding, shared)?, b.tied(names.target_embedding, shared)?, shared)
            }
            EmbeddingSharing::Separate => {
                let source = b.embedding(names.source_embedding, config.source_vocabulary)?;
                let target = b.embedding(names.target_embedding, config.target_vocabulary)?;
                (source, target, target)
            }
        };
        let token_types = match config.token_types {
            0 => None,
            count => Some(b.embedding(names.token_types, count)?),
        };
        let (encoder_stack, encoder_bias) = b.stack(Stack::Encoder)?;
        let (decoder_stack, decoder_bias) = b.stack(Stack::Decoder)?;
        let mut encoder = b.layers(&names.encoder, &config.encoder, |b, place, names, stack| {
            Ok(EncoderLayer {
                self_attention: b.self_attention(place, names, stack, encoder_bias)?,
                feed_forward: b.feed_forward(place, names, stack)?,
            })
        })?;
        for (layer, weights) in encoder.iter_mut().enumerate() {
            weights.self_attention.length_projections = b.length_projections(layer)?;
        }
        let crosses = config.architecture() == Architecture::EncoderDecoder;
        let decoder = b.layers(&names.decoder, &config.decoder, |b, place, names, stack| {
            Ok(DecoderLayer {
                mixing: match config.decoder_mixer {
                    Mixer::Attention => {
                        Mixing::Attention(b.self_attention(place, names, stack, decoder_bias)?)
                    }
                    Mixer::Ssru => Mixing::Ssru(b.ssru(place, names)?),
                },
                cross_attention: crosses.then(|| b.cross_attention(place, names, stack)).transpose()?,
                feed_forward: b.feed_forward(place, names, stack)?,
            })
        })?;
        let output_transform = b.output_transform()?;
        let output = b.output(tied)?;
        b.refuse_others()?;
        let (table, sources) = b.finish();
        Ok(Self {
            source_embedding,
            target_embedding,
            token_types,
            encoder_stack,
            encoder,
            decoder_stack,
            decoder,
            output_transform,
            output,
            table,
            sources,
        })
    }

    /// f16 or 8 bits if the file stores every matrix so, else f32: bf16 has exponents beyond f16.
    pub(super) fn stored_precision(&self, checkpoint: &Checkpoint) -> WeightPrecision {
        let matrices = self.weights().filter(|(kind, _)| *kind == WeightKind::Matrix);
        let mut precisions = matrices.map(|(_, source)| source.precision(checkpoint));
        let first = precisions.next().unwrap_or_default();
        if precisions.all(|other| other == first) { first } else { WeightPrecision::F32 }
    }

    pub(super) fn weights(&self) -> impl Iterator<Item = (WeightKind, &Source)> {
        self.table.entries().iter().map(|entry| entry.kind).zip(&self.sources)
    }

    /// The weights in the order in which their last byte is downloaded.
    pub(crate) fn file_order(&self, checkpoint: &Checkpoint) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.sources.len()).collect();
        sorting::sort_by_key(&mut order, |&index| self.sources[index].end(checkpoint));
        order
    }
}

/// First columns of the queries, keys and values in a stack's fused projection.
pub(crate) fn qkv_columns(stack: &StackConfig) -> [usize; 3] {
    [0, stack.key_width(), 2 * stack.key_width()]
}
