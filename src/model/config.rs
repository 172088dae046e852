//! A model's shape and switches, in terms that are the same for every family.

mod marian;
mod vanilla;

use super::error::ModelError;
use super::files::ModelFiles;
use super::json::JsonObject;
use super::positions::SinusoidalLayout;
use crate::activation::Activation;

/// The model families that can be read. A family decides how a configuration's keys and a checkpoint's tensors are
/// named; what is computed follows from [`ModelConfig`] alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Hugging Face's `MarianMTModel`: the OPUS-MT models.
    Marian,
    /// The paper's own model on `torch.nn.Transformer` layers, `model_type` "vanilla_transformer".
    Vanilla,
}

impl Family {
    /// Every family.
    pub const ALL: [Self; 2] = [Self::Marian, Self::Vanilla];

    /// The `model_type` in `config.json`.
    pub fn model_type(self) -> &'static str {
        match self {
            Self::Marian => "marian",
            Self::Vanilla => "vanilla_transformer",
        }
    }
}

/// Which of the paper's two stacks a model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// From a source to a target: the paper's own.
    EncoderDecoder,
    /// Reads a text and says something about each of its tokens; generates nothing.
    EncoderOnly,
    /// Continues a text.
    DecoderOnly,
}

/// An encoder-decoder Transformer: everything about it but the weights.  Vaswani et al. 2017, section 3.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    /// Names of keys and tensors.
    pub family: Family,
    /// Width of every hidden state.
    pub d_model: usize,
    /// The encoder's stack of layers.
    pub encoder: StackConfig,
    /// The decoder's stack of layers.
    pub decoder: StackConfig,
    /// Number of token ids that the encoder accepts.
    pub source_vocabulary: usize,
    /// Number of token ids that the decoder accepts and gives logits for.
    pub target_vocabulary: usize,
    /// Tables of the token embeddings.
    pub embeddings: EmbeddingSharing,
    /// From the decoder's last state to logits.
    pub output: OutputProjection,
    /// How a token learns its place.
    pub positions: Positions,
    /// Token embeddings are multiplied by this before positions are added: 1, or √d_model as in section 3.4.
    pub embedding_scale: f32,
    /// Between the two linear maps of the feed-forward layers.
    pub activation: Activation,
    /// Where layer normalisation stands around a sublayer.
    pub norm: NormPlacement,
    /// Whether the encoder's and the decoder's output are normalised once more.
    pub final_norm: bool,
    /// Added to the variance in every layer normalisation.
    pub layer_norm_eps: f32,
    /// Token ids with a meaning.
    pub tokens: SpecialTokens,
}

/// The shape of a stack of equal layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackConfig {
    /// Number of layers.
    pub layers: usize,
    /// Attention heads in each layer.
    pub heads: usize,
    /// Width of a head, d_k = d_v in the paper.
    pub head_width: usize,
    /// Inner width of the feed-forward layer, d_ff in the paper.
    pub ffn_width: usize,
}

/// Whether encoder and decoder look tokens up in the same table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingSharing {
    /// One table `[vocabulary, d_model]` for both.
    Shared,
    /// One table each: `[source_vocabulary, d_model]` and `[target_vocabulary, d_model]`.
    Separate,
}

/// The linear map from decoder states to logits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputProjection {
    /// Its weight is the decoder's embedding table (section 3.4) rather than a tensor of its own; both are
    /// `[target_vocabulary, d_model]`.
    pub tied: bool,
    /// A bias is added to the logits. Marian's `final_logits_bias` may be absent from a checkpoint; it is zero then.
    pub bias: bool,
}

/// How a token learns its place in the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positions {
    /// [`sinusoidal_positions`](super::positions::sinusoidal_positions), added to the token embeddings.
    Sinusoidal {
        /// Order of sines and cosines.
        layout: SinusoidalLayout,
        /// The most tokens a sequence can have.
        count: usize,
    },
}

impl Positions {
    /// The most tokens a sequence can have.
    pub fn count(&self) -> usize {
        match *self {
            Self::Sinusoidal { count, .. } => count,
        }
    }

    /// Order of sines and cosines.
    pub fn layout(&self) -> SinusoidalLayout {
        match *self {
            Self::Sinusoidal { layout, .. } => layout,
        }
    }
}

/// Where layer normalisation (LN) stands around a sublayer `f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormPlacement {
    /// `LN(x + f(x))`, the paper's.
    Post,
    /// `x + f(LN(x))`.  Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture".
    Pre,
}

/// Token ids with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialTokens {
    /// Fills up the shorter sequences of a batch.
    pub pad: u32,
    /// Ends a sentence.
    pub eos: u32,
    /// Begins a sentence, in the families that have such a token.
    pub bos: Option<u32>,
    /// What the decoder is given before the first token.
    pub decoder_start: u32,
}

impl ModelConfig {
    /// Reads `config.json`. A key that is absent or `null` has the default of the family's Hugging Face class.
    ///
    /// # Errors
    /// Those of [`JsonObject::read`]; [`ModelError::Unsupported`] when the family or one of its switches is not
    /// known; [`ModelError::MissingKey`], [`ModelError::InvalidValue`] and [`ModelError::TooManyParameters`] for
    /// values that no model can have.
    pub fn from_files(files: &ModelFiles) -> Result<Self, ModelError> {
        let json = JsonObject::read(files, "config.json")?;
        let config = match family(&json)? {
            Family::Marian => marian::config(&json)?,
            Family::Vanilla => vanilla::config(&json)?,
        };
        let parameters = config.parameter_count();
        if parameters > isize::MAX as u64 / size_of::<f32>() as u64 {
            return Err(ModelError::TooManyParameters { file: json.file().to_owned(), parameters });
        }
        Ok(config)
    }

    /// Which stacks it has.
    pub fn architecture(&self) -> Architecture {
        Architecture::EncoderDecoder
    }

    /// The number of trained values: tied tensors count once, computed positions not at all.
    pub fn parameter_count(&self) -> u64 {
        let d_model = self.d_model as u64;
        let linear = |inputs: u64, outputs: u64| inputs * outputs + outputs;
        let norm = 2 * d_model;
        let stack = |stack: &StackConfig, attentions: u64| {
            let (heads_width, ffn_width) = ((stack.heads * stack.head_width) as u64, stack.ffn_width as u64);
            let attention = 3 * linear(d_model, heads_width) + linear(heads_width, d_model) + norm;
            let feed_forward = linear(d_model, ffn_width) + linear(ffn_width, d_model) + norm;
            stack.layers as u64 * (attentions * attention + feed_forward) + u64::from(self.final_norm) * norm
        };
        let target_vocabulary = self.target_vocabulary as u64;
        let tables = match self.embeddings {
            EmbeddingSharing::Shared => target_vocabulary,
            EmbeddingSharing::Separate => self.source_vocabulary as u64 + target_vocabulary,
        } + u64::from(!self.output.tied) * target_vocabulary;
        let output_bias = u64::from(self.output.bias) * target_vocabulary;
        tables * d_model + stack(&self.encoder, 1) + stack(&self.decoder, 2) + output_bias
    }
}

/// Sizes beyond these are mistakes. They also keep every later product of sizes far from overflow.
mod limit {
    pub const D_MODEL: usize = 1 << 16;
    pub const LAYERS: usize = 1 << 10;
    pub const FFN_WIDTH: usize = 1 << 20;
    pub const VOCABULARY: usize = 1 << 24;
    /// Values in the position table, which no file backs: 128 MiB.
    pub const POSITION_VALUES: usize = 1 << 25;
}

/// The family that `model_type` names.
fn family(json: &JsonObject) -> Result<Family, ModelError> {
    let model_type: String = json.require("model_type")?;
    Family::ALL.into_iter().find(|family| family.model_type() == model_type).ok_or_else(|| {
        let supported = Family::ALL.map(Family::model_type).join(", ");
        json.unsupported("model_type", &model_type.into(), supported)
    })
}

/// A size between 1 and `limit`, or `default`. Without a default the key must be there.
fn size(
    json: &JsonObject,
    key: &'static str,
    default: Option<usize>,
    limit: usize,
) -> Result<usize, ModelError> {
    let size = match default {
        Some(default) => json.get_or(key, default)?,
        None => json.require(key)?,
    };
    if !(1..=limit).contains(&size) {
        return Err(json.invalid(key, &size.into(), format!("a whole number from 1 to {limit}")));
    }
    Ok(size)
}

/// The keys of one stack, with their defaults if the family has any.
struct StackKeys {
    layers: (&'static str, Option<usize>),
    heads: (&'static str, Option<usize>),
    ffn_width: (&'static str, Option<usize>),
}

impl StackKeys {
    fn read(self, json: &JsonObject, d_model: usize) -> Result<StackConfig, ModelError> {
        let heads = size(json, self.heads.0, self.heads.1, d_model)?;
        if !d_model.is_multiple_of(heads) {
            return Err(json.invalid(
                self.heads.0,
                &heads.into(),
                format!("a divisor of d_model, {d_model}"),
            ));
        }
        Ok(StackConfig {
            layers: size(json, self.layers.0, self.layers.1, limit::LAYERS)?,
            heads,
            head_width: d_model / heads,
            ffn_width: size(json, self.ffn_width.0, self.ffn_width.1, limit::FFN_WIDTH)?,
        })
    }
}

fn activation(json: &JsonObject, key: &'static str, default: &str) -> Result<Activation, ModelError> {
    let name: String = json.get_or(key, default.to_owned())?;
    Activation::from_hugging_face_name(&name).ok_or_else(|| {
        let supported = Activation::HUGGING_FACE_NAMES.map(|(name, _)| name).join(", ");
        json.unsupported(key, &name.into(), supported)
    })
}

/// The length of a position table.
fn position_count(json: &JsonObject, default: Option<usize>, d_model: usize) -> Result<usize, ModelError> {
    size(json, "max_position_embeddings", default, limit::POSITION_VALUES / d_model)
}

/// Checks that a token id is in a vocabulary.
fn token(json: &JsonObject, key: &'static str, id: u32, vocabulary: usize) -> Result<u32, ModelError> {
    if id as usize >= vocabulary {
        return Err(json.invalid(
            key,
            &id.into(),
            format!("a token id below the vocabulary's size, {vocabulary}"),
        ));
    }
    Ok(id)
}

/// 1, or √d_model.  Vaswani et al. 2017, section 3.4.
fn embedding_scale(scaled: bool, d_model: usize) -> f32 {
    if scaled { (d_model as f64).sqrt() as f32 } else { 1.0 }
}
