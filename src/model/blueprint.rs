//! From a configuration and a file's table of tensors to the blocks of the model: which weights each has, and where
//! they come from. Shapes are checked here, before anything is read.

use std::collections::BTreeSet;
use std::ops::Range;

use super::checkpoint::Checkpoint;
use super::config::{EmbeddingSharing, Family, ModelConfig, StackConfig};
use super::error::ModelError;
use super::names::{AttentionNames, Names, StackNames};
use super::positions::sinusoidal_positions;
use crate::graph::{Linear, Matrix, Rows, Vector, WeightKind, WeightSource, WeightTable};

/// Scale and shift of a layer norm, `[d_model]` each.
#[derive(Clone, Copy, Debug)]
pub struct LayerNorm {
    /// Scale.
    pub gamma: Vector,
    /// Shift.
    pub beta: Vector,
}

/// Self-attention: one projection for queries, keys and values together.
#[derive(Clone, Copy, Debug)]
pub struct SelfAttention {
    /// `[3 * d_model, d_model]`
    pub qkv: Linear,
    /// `[d_model, d_model]`
    pub output: Linear,
    /// Before or after the block.
    pub norm: LayerNorm,
}

/// Attention of the decoder to the encoder's output.
#[derive(Clone, Copy, Debug)]
pub struct CrossAttention {
    /// `[d_model, d_model]`
    pub query: Linear,
    /// `[2 * d_model, d_model]`, applied to the memory once per sentence.
    pub key_value: Linear,
    /// `[d_model, d_model]`
    pub output: Linear,
    /// Before or after the block.
    pub norm: LayerNorm,
}

/// Position-wise feed-forward network. Vaswani et al. 2017, section 3.3.
#[derive(Clone, Copy, Debug)]
pub struct FeedForward {
    /// `[ffn_width, d_model]`, followed by the activation.
    pub up: Linear,
    /// `[d_model, ffn_width]`
    pub down: Linear,
    /// Before or after the block.
    pub norm: LayerNorm,
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
    pub self_attention: SelfAttention,
    /// Second block.
    pub cross_attention: CrossAttention,
    /// Third block.
    pub feed_forward: FeedForward,
}

/// All weights of an encoder–decoder, block by block.
#[derive(Clone, Debug)]
pub struct Blueprint {
    /// `[source_vocabulary, d_model]`
    pub source_embedding: Matrix,
    /// `[target_vocabulary, d_model]`
    pub target_embedding: Matrix,
    /// `[positions, d_model]`
    pub encoder_positions: Rows,
    /// `[positions, d_model]`, perhaps the same
    pub decoder_positions: Rows,
    /// The encoder, bottom to top.
    pub encoder: Vec<EncoderLayer>,
    /// After the encoder's last layer.
    pub encoder_norm: Option<LayerNorm>,
    /// The decoder, bottom to top.
    pub decoder: Vec<DecoderLayer>,
    /// After the decoder's last layer.
    pub decoder_norm: Option<LayerNorm>,
    /// `[target_vocabulary, d_model]`, perhaps the target embedding itself.
    pub output: Linear,
    /// Shapes of all of them.
    pub table: WeightTable,
    pub(super) sources: Vec<Source>,
}

/// Where one weight comes from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// Rows of tensors in the file, one below the other.
    Tensors(Vec<Piece>),
    /// The sinusoids of the configuration.
    Sinusoids,
}

#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub tensor: String,
    pub rows: Range<usize>,
}

impl Blueprint {
    /// Lays out the weights of a model and checks that the file has them all, in the right shapes, and no others.
    ///
    /// # Errors
    /// [`ModelError`] naming the tensor that is missing, of another shape or type, or not part of the model.
    pub fn new(config: &ModelConfig, checkpoint: &Checkpoint) -> Result<Self, ModelError> {
        let names = Names::of(config.family);
        let mut b = Builder {
            checkpoint,
            d_model: config.d_model,
            table: WeightTable::default(),
            sources: Vec::new(),
            used: BTreeSet::new(),
        };
        // `tied` is what an output projection without a tensor of its own shares
        let (source_embedding, target_embedding, tied) = match config.embeddings {
            EmbeddingSharing::Shared => {
                let stored = names.shared_embedding.iter().find(|name| checkpoint.contains(name));
                let name = stored.unwrap_or(&names.shared_embedding[0]);
                let shared = b.embedding(name, config.source_vocabulary)?;
                (b.tied(names.source_embedding, shared)?, b.tied(names.target_embedding, shared)?, shared)
            }
            EmbeddingSharing::Separate => {
                let source = b.embedding(names.source_embedding, config.source_vocabulary)?;
                let target = b.embedding(names.target_embedding, config.target_vocabulary)?;
                (source, target, target)
            }
        };
        let (encoder_positions, decoder_positions) = b.positions(names, config.positions.count())?;
        let encoder = (0..config.encoder.layers)
            .map(|index| {
                let place = format!("{}.{index}", names.encoder.layers);
                Ok(EncoderLayer {
                    self_attention: b.self_attention(&place, &names.encoder)?,
                    feed_forward: b.feed_forward(&place, &names.encoder, &config.encoder)?,
                })
            })
            .collect::<Result<_, ModelError>>()?;
        let decoder = (0..config.decoder.layers)
            .map(|index| {
                let place = format!("{}.{index}", names.decoder.layers);
                Ok(DecoderLayer {
                    self_attention: b.self_attention(&place, &names.decoder)?,
                    cross_attention: b.cross_attention(&place, &names.decoder)?,
                    feed_forward: b.feed_forward(&place, &names.decoder, &config.decoder)?,
                })
            })
            .collect::<Result<_, ModelError>>()?;
        let (encoder_norm, decoder_norm) = match config.final_norm {
            true => (Some(b.norm(names.encoder.final_norm)?), Some(b.norm(names.decoder.final_norm)?)),
            false => (None, None),
        };
        let weight = match config.output.tied {
            true => b.tied(names.output, tied)?,
            false => b.matrix(names.output, config.target_vocabulary, config.d_model)?,
        };
        // Marian's bias may be absent; Hugging Face then adds zeros
        let zeros = config.family == Family::Marian && !checkpoint.contains(names.output_bias);
        let bias = match config.output.bias && !zeros {
            true => Some(b.vector(names.output_bias, config.target_vocabulary)?),
            false => None,
        };
        b.refuse_others(config, names)?;
        Ok(Self {
            source_embedding,
            target_embedding,
            encoder_positions,
            decoder_positions,
            encoder,
            encoder_norm,
            decoder,
            decoder_norm,
            output: Linear { weight, bias, scale: 1.0 },
            table: b.table,
            sources: b.sources,
        })
    }

    /// The weights in the order in which their last byte comes when the files are downloaded.
    pub(crate) fn file_order(&self, checkpoint: &Checkpoint) -> Vec<usize> {
        let end = |index: usize| match &self.sources[index] {
            Source::Tensors(pieces) => pieces.iter().filter_map(|piece| checkpoint.end(&piece.tensor)).max(),
            Source::Sinusoids => None,
        };
        let mut order: Vec<usize> = (0..self.sources.len()).collect();
        order.sort_by_key(|&index| end(index));
        order
    }
}

struct Builder<'a> {
    checkpoint: &'a Checkpoint,
    d_model: usize,
    table: WeightTable,
    sources: Vec<Source>,
    used: BTreeSet<String>,
}

impl Builder<'_> {
    fn piece(&mut self, tensor: String, shape: &[usize], rows: Range<usize>) -> Result<Piece, ModelError> {
        self.checkpoint.require(&tensor, shape)?;
        self.used.insert(tensor.clone());
        Ok(Piece { tensor, rows })
    }

    fn matrix(&mut self, tensor: &str, outputs: usize, inputs: usize) -> Result<Matrix, ModelError> {
        let piece = self.piece(tensor.to_owned(), &[outputs, inputs], 0..outputs)?;
        self.sources.push(Source::Tensors(vec![piece]));
        Ok(self.table.matrix(tensor, outputs, inputs))
    }

    fn embedding(&mut self, tensor: &str, vocabulary: usize) -> Result<Matrix, ModelError> {
        self.matrix(tensor, vocabulary, self.d_model)
    }

    /// A vector stored as `[length]` or, like Marian's `final_logits_bias`, as `[1, length]`.
    fn vector(&mut self, tensor: &str, length: usize) -> Result<Vector, ModelError> {
        let as_row = self.checkpoint.info(tensor).is_some_and(|info| info.shape == [1, length]);
        let piece = match as_row {
            true => self.piece(tensor.to_owned(), &[1, length], 0..1)?,
            false => self.piece(tensor.to_owned(), &[length], 0..length)?,
        };
        self.sources.push(Source::Tensors(vec![piece]));
        Ok(self.table.vector(tensor, length))
    }

    fn norm(&mut self, place: &str) -> Result<LayerNorm, ModelError> {
        Ok(LayerNorm {
            gamma: self.vector(&format!("{place}.weight"), self.d_model)?,
            beta: self.vector(&format!("{place}.bias"), self.d_model)?,
        })
    }

    fn linear(&mut self, place: &str, outputs: usize, inputs: usize) -> Result<Linear, ModelError> {
        Ok(Linear {
            weight: self.matrix(&format!("{place}.weight"), outputs, inputs)?,
            bias: Some(self.vector(&format!("{place}.bias"), outputs)?),
            scale: 1.0,
        })
    }

    /// A matrix that is tied to another: that one, unless the file has one of its own that is different. Older files
    /// store equal copies; where they differ, Hugging Face takes each as it is.
    fn tied(&mut self, tensor: &str, other: Matrix) -> Result<Matrix, ModelError> {
        let other_tensor = self.table.name(other);
        if tensor == other_tensor || !self.checkpoint.contains(tensor) {
            return Ok(other);
        }
        self.checkpoint.require(tensor, &[other.outputs, other.inputs])?;
        match self.checkpoint.are_equal(tensor, other_tensor)? {
            true => Ok(other),
            false => self.matrix(tensor, other.outputs, other.inputs),
        }
    }

    /// The position tables of encoder and decoder: those that the file stores, else the configuration's sinusoids.
    fn positions(&mut self, names: &Names, count: usize) -> Result<(Rows, Rows), ModelError> {
        let mut sinusoids = None;
        let mut table = |name: &'static str| {
            if self.checkpoint.contains(name) {
                let piece = self.piece(name.to_owned(), &[count, self.d_model], 0..count)?;
                self.sources.push(Source::Tensors(vec![piece]));
                return Ok::<_, ModelError>(self.table.rows(name, count, self.d_model));
            }
            Ok(*sinusoids.get_or_insert_with(|| {
                self.sources.push(Source::Sinusoids);
                self.table.rows("positions", count, self.d_model)
            }))
        };
        Ok((table(names.encoder_positions)?, table(names.decoder_positions)?))
    }

    /// Some of an attention block's input projections (0 = queries, 1 = keys, 2 = values), fused into one.
    fn projections(
        &mut self,
        place: &str,
        names: AttentionNames,
        which: Range<usize>,
    ) -> Result<Linear, ModelError> {
        let d = self.d_model;
        let mut weight = Vec::new();
        let mut bias = Vec::new();
        let label = match names {
            AttentionNames::Separate(prefix) => {
                for letter in &["q", "k", "v"][which.clone()] {
                    let projection = format!("{place}.{prefix}.{letter}_proj");
                    weight.push(self.piece(format!("{projection}.weight"), &[d, d], 0..d)?);
                    bias.push(self.piece(format!("{projection}.bias"), &[d], 0..d)?);
                }
                format!("{place}.{prefix}.{}_proj", &"qkv"[which.clone()])
            }
            AttentionNames::Fused(prefix) => {
                let rows = which.start * d..which.end * d;
                let projection = format!("{place}.{prefix}.in_proj");
                weight.push(self.piece(format!("{projection}_weight"), &[3 * d, d], rows.clone())?);
                bias.push(self.piece(format!("{projection}_bias"), &[3 * d], rows)?);
                format!("{projection}.{}", &"qkv"[which.clone()])
            }
        };
        let outputs = which.len() * d;
        self.sources.push(Source::Tensors(weight));
        let weight = self.table.matrix(format!("{label}.weight"), outputs, d);
        self.sources.push(Source::Tensors(bias));
        let bias = self.table.vector(format!("{label}.bias"), outputs);
        Ok(Linear { weight, bias: Some(bias), scale: 1.0 })
    }

    fn attention_output(&mut self, place: &str, names: AttentionNames) -> Result<Linear, ModelError> {
        let (AttentionNames::Separate(prefix) | AttentionNames::Fused(prefix)) = names;
        self.linear(&format!("{place}.{prefix}.out_proj"), self.d_model, self.d_model)
    }

    fn self_attention(&mut self, place: &str, names: &StackNames) -> Result<SelfAttention, ModelError> {
        Ok(SelfAttention {
            qkv: self.projections(place, names.self_attention, 0..3)?,
            output: self.attention_output(place, names.self_attention)?,
            norm: self.norm(&format!("{place}.{}", names.self_norm))?,
        })
    }

    fn cross_attention(&mut self, place: &str, names: &StackNames) -> Result<CrossAttention, ModelError> {
        Ok(CrossAttention {
            query: self.projections(place, names.cross_attention, 0..1)?,
            key_value: self.projections(place, names.cross_attention, 1..3)?,
            output: self.attention_output(place, names.cross_attention)?,
            norm: self.norm(&format!("{place}.{}", names.cross_norm))?,
        })
    }

    fn feed_forward(
        &mut self,
        place: &str,
        names: &StackNames,
        stack: &StackConfig,
    ) -> Result<FeedForward, ModelError> {
        Ok(FeedForward {
            up: self.linear(&format!("{place}.{}", names.up), stack.ffn_width, self.d_model)?,
            down: self.linear(&format!("{place}.{}", names.down), self.d_model, stack.ffn_width)?,
            norm: self.norm(&format!("{place}.{}", names.feed_forward_norm))?,
        })
    }

    /// A tensor that no block uses means that this is another model than its configuration says. Equal copies of tied
    /// tensors, which older files have, are known.
    fn refuse_others(&self, config: &ModelConfig, names: &Names) -> Result<(), ModelError> {
        let tied: &[&str] = match (config.embeddings, config.output.tied) {
            (EmbeddingSharing::Shared, true) => names.shared_embedding,
            (EmbeddingSharing::Shared, false) => &names.shared_embedding[..names.shared_embedding.len() - 1],
            (EmbeddingSharing::Separate, true) => &[names.output],
            (EmbeddingSharing::Separate, false) => &[],
        };
        let known = |name: &str| self.used.contains(name) || tied.contains(&name);
        match self.checkpoint.names().find(|name| !known(name)) {
            None => Ok(()),
            Some(name) => Err(ModelError::UnexpectedTensor {
                file: self.checkpoint.label().to_owned(),
                tensor: name.to_owned(),
                model_type: config.family.model_type(),
            }),
        }
    }
}

/// The weights of a blueprint, read from its file.
pub(crate) struct CheckpointSource<'a> {
    pub blueprint: &'a Blueprint,
    pub config: &'a ModelConfig,
    pub checkpoint: &'a Checkpoint,
}

impl WeightSource for CheckpointSource<'_> {
    type Error = ModelError;

    fn read_rows(&mut self, index: usize, rows: Range<usize>, mut out: &mut [f32]) -> Result<(), ModelError> {
        let entry = &self.blueprint.table.entries()[index];
        let pieces = match &self.blueprint.sources[index] {
            Source::Tensors(pieces) => pieces,
            Source::Sinusoids => {
                out.copy_from_slice(&sinusoidal_positions(self.config.positions.layout(), rows, entry.width));
                return Ok(());
            }
        };
        // Rows of a vector's pieces are single elements, all of them wanted at once.
        let vector = entry.kind == WeightKind::Vector;
        let wanted = if vector { 0..entry.width } else { rows };
        let mut first = 0;
        for piece in pieces {
            let shape = self.checkpoint.info(&piece.tensor).map_or(&[][..], |info| &info.shape);
            let row_elements: usize = shape.iter().skip(1).product();
            let here = first..first + piece.rows.len() * if vector { row_elements } else { 1 };
            let overlap = wanted.start.max(here.start)..wanted.end.min(here.end);
            if !overlap.is_empty() {
                let units = if vector { row_elements } else { 1 };
                let start = piece.rows.start + (overlap.start - here.start) / units;
                let end = start + overlap.len() / units;
                let (now, rest) = out.split_at_mut((end - start) * row_elements);
                self.checkpoint.read_rows(&piece.tensor, start..end, now)?;
                out = rest;
            }
            first = here.end;
        }
        Ok(())
    }
}
