//! A model's shape and switches, in terms that are the same for every family.

mod bart;
mod bert;
mod gpt2;
mod keys;
mod marian;
mod parameters;
mod positions;
mod t5;
mod vanilla;

pub use parameters::Parameters;
pub use positions::{Positions, RelativePositions};

use super::error::ModelError;
use super::files::ModelFiles;
use super::json::JsonObject;
use crate::activation::Activation;

/// The model families that can be read. A family decides how a configuration's keys and a checkpoint's tensors are
/// named; what is computed follows from [`ModelConfig`] alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Hugging Face's `MarianMTModel`: the OPUS-MT models.
    Marian,
    /// The paper's own model on `torch.nn.Transformer` layers, `model_type` "vanilla_transformer".
    Vanilla,
    /// `BartForConditionalGeneration`.  Lewis et al. 2019.
    Bart,
    /// `MBartForConditionalGeneration`: mBART and mBART-50.  Liu et al. 2020.
    MBart,
    /// `M2M100ForConditionalGeneration`: M2M-100 and NLLB.  Fan et al. 2020; NLLB Team 2022.
    M2m100,
    /// `PegasusForConditionalGeneration`.  Zhang et al. 2020.
    Pegasus,
    /// `T5ForConditionalGeneration`: T5, T5 1.1 and Flan-T5.  Raffel et al. 2020.
    T5,
    /// `BertForMaskedLM`.  Devlin et al. 2018.
    Bert,
    /// `GPT2LMHeadModel`.  Radford et al. 2019.
    Gpt2,
}

impl Family {
    /// Every family.
    pub const ALL: [Self; 9] = [
        Self::Marian,
        Self::Vanilla,
        Self::Bart,
        Self::MBart,
        Self::M2m100,
        Self::Pegasus,
        Self::T5,
        Self::Bert,
        Self::Gpt2,
    ];

    /// The `model_type` in `config.json`.
    pub fn model_type(self) -> &'static str {
        match self {
            Self::Marian => "marian",
            Self::Vanilla => "vanilla_transformer",
            Self::Bart => "bart",
            Self::MBart => "mbart",
            Self::M2m100 => "m2m_100",
            Self::Pegasus => "pegasus",
            Self::T5 => "t5",
            Self::Bert => "bert",
            Self::Gpt2 => "gpt2",
        }
    }

    /// The end token that the family's Hugging Face configuration forces at `max_length`, where neither
    /// `generation_config.json` nor `config.json` says otherwise.
    pub(super) fn default_forced_eos(self) -> Option<u32> {
        match self {
            Self::Marian => Some(0),
            Self::Bart | Self::MBart => Some(2),
            Self::Pegasus => Some(1),
            _ => None,
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

/// A Transformer: everything about it but the weights.  Vaswani et al. 2017, section 3.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    /// Names of keys and tensors.
    pub family: Family,
    /// Width of every hidden state.
    pub d_model: usize,
    /// The encoder's stack of layers; [`StackConfig::NONE`] in decoder-only models.
    pub encoder: StackConfig,
    /// The decoder's stack of layers; [`StackConfig::NONE`] in encoder-only models.
    pub decoder: StackConfig,
    /// Number of token ids that the encoder accepts.
    pub source_vocabulary: usize,
    /// Number of token ids that the decoder accepts and gives logits for.
    pub target_vocabulary: usize,
    /// Tables of the token embeddings.
    pub embeddings: EmbeddingSharing,
    /// Kinds of text in one input, each with an embedding that is added to its tokens' (BERT's segments); 0 where
    /// there are none.
    pub token_types: usize,
    /// Token embeddings are multiplied by this before positions are added: 1, or √d_model as in section 3.4.
    pub embedding_scale: f32,
    /// Whether embeddings are normalised before the first layer.
    pub embedding_norm: bool,
    /// How a token learns its place.
    pub positions: Positions,
    /// Factor of the attention scores.
    pub attention_scale: AttentionScale,
    /// Between the two linear maps of the feed-forward layers.
    pub activation: Activation,
    /// Whether the activation's result is multiplied by a second linear map of the same input.  Shazeer 2020, "GLU
    /// Variants Improve Transformer".
    pub gated: bool,
    /// Whether the linear maps inside of the layers have biases.
    pub biases: bool,
    /// Where normalisation stands around a sublayer.
    pub norm: NormPlacement,
    /// What normalisation computes.
    pub norm_kind: NormKind,
    /// Whether the encoder's and the decoder's output are normalised once more.
    pub final_norm: bool,
    /// Added to the variance in every normalisation.
    pub layer_norm_eps: f32,
    /// From the last state to logits.
    pub output: OutputProjection,
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
    /// Width of a head's queries and keys.
    pub d_k: usize,
    /// Width of a head's values.
    pub d_v: usize,
    /// Inner width of the feed-forward layer, d_ff in the paper.
    pub ffn_width: usize,
}

impl StackConfig {
    /// No layers at all.
    pub const NONE: Self = Self { layers: 0, heads: 0, d_k: 0, d_v: 0, ffn_width: 0 };

    /// Width of the keys of all heads side by side, and of the queries.
    pub fn key_width(&self) -> usize {
        self.heads * self.d_k
    }

    /// Width of the values of all heads side by side.
    pub fn value_width(&self) -> usize {
        self.heads * self.d_v
    }
}

/// Whether encoder and decoder look tokens up in the same table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingSharing {
    /// One table `[vocabulary, d_model]` for both.
    Shared,
    /// One table each: `[source_vocabulary, d_model]` and `[target_vocabulary, d_model]`.
    Separate,
}

/// The linear map from the last states to logits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutputProjection {
    /// Its weight is the target's embedding table (section 3.4) rather than a tensor of its own; both are
    /// `[target_vocabulary, d_model]`.
    pub tied: bool,
    /// A bias is added to the logits. BART's kin may go without theirs in a checkpoint; it is zero then.
    pub bias: bool,
    /// Factor of the products, before the bias: 1, or T5's `d_model^-0.5`.
    pub scale: f32,
    /// Whether a linear layer of `d_model`, the activation and a norm come first (BERT).
    pub transform: bool,
}

/// The factor of attention scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttentionScale {
    /// 1 / √d_k, section 3.2.1; else 1.
    pub by_width: bool,
    /// Also divided by the layer's number, counted from 1 (GPT-2's `scale_attn_by_inverse_layer_idx`).
    pub by_layer: bool,
}

impl AttentionScale {
    /// The paper's.
    pub const PAPER: Self = Self { by_width: true, by_layer: false };

    /// The factor in one layer, counted from 0.
    pub fn factor(self, d_k: usize, layer: usize) -> f32 {
        let width = if self.by_width { 1.0 / (d_k as f64).sqrt() } else { 1.0 };
        let layer = if self.by_layer { (layer + 1) as f64 } else { 1.0 };
        (width / layer) as f32
    }
}

/// Where normalisation stands around a sublayer `f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormPlacement {
    /// `norm(x + f(x))`, the paper's.
    Post,
    /// `x + f(norm(x))`.  Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture".
    Pre,
}

/// What normalisation computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormKind {
    /// `(x - mean) / √(variance + ε) · γ + β`.  Ba et al. 2016.
    Layer,
    /// `x / √(mean of x² + ε) · γ`.  Zhang & Sennrich 2019.
    Rms,
}

/// Token ids with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialTokens {
    /// Fills up the shorter sequences of a batch.
    pub pad: u32,
    /// Ends a sentence, in the families that have such a token.
    pub eos: Option<u32>,
    /// Begins a sentence, in the families that have such a token.
    pub bos: Option<u32>,
    /// What the decoder is given before the first token, where the model itself says so.
    pub decoder_start: Option<u32>,
}

impl ModelConfig {
    /// Reads `config.json`. A key that is absent or `null` has the default of the family's Hugging Face class.
    ///
    /// # Errors
    /// Those of [`JsonObject::read`]; [`ModelError::Unsupported`] when the family or one of its switches is not
    /// known; [`ModelError::MissingKey`], [`ModelError::InvalidValue`] and [`ModelError::TooManyParameters`] for
    /// values that no model can have.
    pub fn from_files(files: &ModelFiles) -> Result<Self, ModelError> {
        Self::from_json(&JsonObject::read(files, "config.json")?)
    }

    /// As [`from_files`](Self::from_files), from the object itself.
    ///
    /// # Errors
    /// As [`from_files`](Self::from_files).
    pub fn from_json(json: &JsonObject) -> Result<Self, ModelError> {
        let config = match family(json)? {
            Family::Marian => marian::config(json)?,
            Family::Vanilla => vanilla::config(json)?,
            family @ (Family::Bart | Family::MBart | Family::M2m100 | Family::Pegasus) => {
                bart::config(json, family)?
            }
            Family::T5 => t5::config(json)?,
            Family::Bert => bert::config(json)?,
            Family::Gpt2 => gpt2::config(json)?,
        };
        let parameters = config.parameter_count();
        if parameters > isize::MAX as u64 / size_of::<f32>() as u64 {
            return Err(ModelError::TooManyParameters { file: json.file().to_owned(), parameters });
        }
        Ok(config)
    }

    /// Which stacks it has.
    pub fn architecture(&self) -> Architecture {
        match (self.encoder.layers, self.decoder.layers) {
            (_, 0) => Architecture::EncoderOnly,
            (0, _) => Architecture::DecoderOnly,
            _ => Architecture::EncoderDecoder,
        }
    }

    /// Whether the last of a stack's hidden states is what comes after the final norm, as in Hugging Face's classes, or
    /// what comes before it, as between `torch.nn`'s layers.
    pub fn last_hidden_is_normed(&self) -> bool {
        self.family != Family::Vanilla
    }

    /// For each token of a sequence, the row of the position table that belongs to it.
    pub fn position_rows<'a>(&'a self, tokens: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        let mut before = 0;
        tokens.iter().map(move |&token| {
            let row = self.positions.row(before, token);
            before += usize::from(self.positions.counts(token));
            row
        })
    }
}

/// The family that `model_type` names.
fn family(json: &JsonObject) -> Result<Family, ModelError> {
    let model_type: String = json.require("model_type")?;
    Family::ALL.into_iter().find(|family| family.model_type() == model_type).ok_or_else(|| {
        let supported = Family::ALL.map(Family::model_type).join(", ");
        json.unsupported("model_type", &model_type.into(), supported)
    })
}
