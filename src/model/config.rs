//! A model's shape and switches, in the same terms for every family.

mod bart;
mod bert;
mod bigbird;
mod distilbert;
mod firefox;
mod gpt2;
mod keys;
mod led;
mod marian;
mod parameters;
mod positions;
mod roberta;
mod t5;
mod vanilla;

use serde::{Deserialize, Serialize};

pub use parameters::Parameters;
pub use positions::{Positions, RelativePositions};

use super::error::ModelError;
use super::files::ModelFiles;
use super::generation_config::MAY_BE_NONE;
use super::head::AttentionKind;
use super::json::JsonObject;
use super::self_attention::{
    Globals, SelfAttentionChoice, SelfAttentionError, SelfAttentionKind, TokenBlocks,
};
use super::student_options::configuration;
use crate::activation::Activation;

/// The key of `config.json` with the kinds of attention that Wordloom trained a model with, as `--attention` takes them.
pub(crate) const ATTENTION: &str = "wordloom_attention";

/// The supported model families. A family decides the names of configuration keys and tensors; only [`ModelConfig`]
/// decides the computation.
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
    /// `BigBirdPegasusForConditionalGeneration`: Pegasus for long sources.  Zaheer et al. 2020, section 4.2.
    BigBirdPegasus,
    /// `LEDForConditionalGeneration`: Longformer as an encoder, BART's decoder.  Beltagy et al. 2020, section 7.
    Led,
    /// `T5ForConditionalGeneration`: T5, T5 1.1 and Flan-T5.  Raffel et al. 2020.
    T5,
    /// `LongT5ForConditionalGeneration`: T5 for long sources.  Guo et al. 2022.
    LongT5,
    /// `MT5ForConditionalGeneration`: T5 1.1 for 101 languages.  Xue et al. 2021.
    MT5,
    /// `UMT5ForConditionalGeneration`: mT5 with a bias by distance in each layer.  Chung et al. 2023.
    UMT5,
    /// `BertForMaskedLM`.  Devlin et al. 2018.
    Bert,
    /// `RobertaForMaskedLM`.  Liu et al. 2019.
    Roberta,
    /// `XLMRobertaForMaskedLM`.  Conneau et al. 2020.
    XlmRoberta,
    /// `DistilBertForMaskedLM`.  Sanh et al. 2019.
    DistilBert,
    /// `GPT2LMHeadModel`.  Radford et al. 2019.
    Gpt2,
    /// Firefox's translation models: Marian students, in Marian's own format.
    Firefox,
}

impl Family {
    /// Every family.
    pub const ALL: [Self; 18] = [
        Self::Marian,
        Self::Vanilla,
        Self::Bart,
        Self::MBart,
        Self::M2m100,
        Self::Pegasus,
        Self::BigBirdPegasus,
        Self::Led,
        Self::T5,
        Self::LongT5,
        Self::MT5,
        Self::UMT5,
        Self::Bert,
        Self::Roberta,
        Self::XlmRoberta,
        Self::DistilBert,
        Self::Gpt2,
        Self::Firefox,
    ];

    /// `model_type` in `config.json`.
    pub fn model_type(self) -> &'static str {
        match self {
            Self::Marian => "marian",
            Self::Vanilla => "vanilla_transformer",
            Self::Bart => "bart",
            Self::MBart => "mbart",
            Self::M2m100 => "m2m_100",
            Self::Pegasus => "pegasus",
            Self::BigBirdPegasus => "bigbird_pegasus",
            Self::Led => "led",
            Self::T5 => "t5",
            Self::LongT5 => "longt5",
            Self::MT5 => "mt5",
            Self::UMT5 => "umt5",
            Self::Bert => "bert",
            Self::Roberta => "roberta",
            Self::XlmRoberta => "xlm-roberta",
            Self::DistilBert => "distilbert",
            Self::Gpt2 => "gpt2",
            Self::Firefox => "firefox",
        }
    }

    /// Whether the encoder's layers have names for learned projections of keys and values: families that can be trained, without
    /// sparse layers of their own.
    pub(crate) fn has_length_projections(self) -> bool {
        use Family::{Bart, M2m100, MBart, Marian, Pegasus, Vanilla};
        matches!(self, Marian | Vanilla | Bart | MBart | M2m100 | Pegasus)
    }

    /// Other names of keys, and the keys: `attribute_map` of Hugging Face's classes. There, a value under another name wins.
    fn aliases(self) -> &'static [(&'static str, &'static str)] {
        use Family::{
            BigBirdPegasus, DistilBert, Gpt2, Led, LongT5, M2m100, MBart, MT5, Marian, Pegasus, T5, UMT5,
        };
        match self {
            Marian | Self::Bart | MBart | M2m100 | Pegasus | BigBirdPegasus | Led => &[
                ("hidden_size", "d_model"),
                ("num_attention_heads", "encoder_attention_heads"),
                ("num_hidden_layers", "encoder_layers"),
            ],
            T5 | LongT5 | MT5 | UMT5 => &[
                ("hidden_size", "d_model"),
                ("num_attention_heads", "num_heads"),
                ("num_hidden_layers", "num_layers"),
                ("head_dim", "d_kv"),
            ],
            Gpt2 => &[
                ("hidden_size", "n_embd"),
                ("num_attention_heads", "n_head"),
                ("num_hidden_layers", "n_layer"),
                ("max_position_embeddings", "n_positions"),
            ],
            DistilBert => &[
                ("hidden_size", "dim"),
                ("num_attention_heads", "n_heads"),
                ("num_hidden_layers", "n_layers"),
            ],
            _ => &[],
        }
    }
}

/// Whether a model has an encoder, a decoder, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// Both, as in the paper: from a source to a target.
    EncoderDecoder,
    /// Encoder only: states or logits of a text's tokens; generates nothing.
    EncoderOnly,
    /// Decoder only: continues a text.
    DecoderOnly,
}

/// A Transformer without its weights.  Vaswani et al. 2017, section 3.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    /// Family, which decides the names of keys and tensors.
    pub family: Family,
    /// Width of every hidden state.
    pub d_model: usize,
    /// Encoder; [`StackConfig::NONE`] in decoder-only models.
    pub encoder: StackConfig,
    /// Decoder; [`StackConfig::NONE`] in encoder-only models.
    pub decoder: StackConfig,
    /// First block of a decoder layer.
    pub decoder_mixer: Mixer,
    /// Token ids that the encoder accepts.
    pub source_vocabulary: usize,
    /// Token ids that the decoder accepts and gives logits for.
    pub target_vocabulary: usize,
    /// Whether encoder and decoder share the token embeddings.
    pub embeddings: EmbeddingSharing,
    /// Number of token types (BERT's segments), whose embeddings are added to the tokens'; 0 for none.
    pub token_types: usize,
    /// Factor of the token embeddings before positions are added: 1, or √d_model (section 3.4).
    pub embedding_scale: f32,
    /// Whether embeddings are normalized before the first layer.
    pub embedding_norm: bool,
    /// Whether the first target position has no token embedding: Marian's own decoders have no start token.
    pub zero_start: bool,
    /// The kind of each encoder layer's self-attention; empty: full attention in all of them.
    pub encoder_kinds: Vec<SelfAttentionKind>,
    /// Whether global tokens have projections of their own (Longformer).
    pub global_projections: bool,
    /// Tokens of the blocks whose sums a layer's tokens see, if the encoder has weights for them (LongT5).
    pub block_tokens: Option<usize>,
    /// The kind of positions.
    pub positions: Positions,
    /// Positions of the encoder, if they are not those of the decoder (LED).
    pub encoder_positions: Option<Positions>,
    /// Factor of the attention scores.
    pub attention_scale: AttentionScale,
    /// Activation between the linear maps of the feed-forward layers.
    pub activation: Activation,
    /// Whether a second linear map of the input multiplies the activation's result. Shazeer 2020, "GLU Variants Improve
    /// Transformer".
    pub gated: bool,
    /// Whether the linear maps inside layers have biases.
    pub biases: bool,
    /// Whether those of attention have biases, too.
    pub attention_biases: bool,
    /// Position of the norm around a sublayer.
    pub norm: NormPlacement,
    /// Kind of the norm.
    pub norm_kind: NormKind,
    /// Whether a norm follows the last layer of a stack.
    pub final_norm: bool,
    /// Number added to the variance in every norm.
    pub layer_norm_eps: f32,
    /// Projection from the last state to logits.
    pub output: OutputProjection,
    /// Token ids with a meaning.
    pub tokens: SpecialTokens,
}

/// The shape of a stack of equal layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackConfig {
    /// Number of layers.
    pub layers: usize,
    /// Attention heads in each layer.
    pub heads: usize,
    /// Width of a head's queries and keys.
    pub d_k: usize,
    /// Width of a head's values.
    pub d_v: usize,
    /// Inner width of the feed-forward layer; d_ff in the paper.
    pub ffn_width: usize,
}

impl StackConfig {
    /// No layers.
    pub const NONE: Self = Self { layers: 0, heads: 0, d_k: 0, d_v: 0, ffn_width: 0 };

    /// Width of the keys (or queries) of all heads.
    pub fn key_width(&self) -> usize {
        self.heads * self.d_k
    }

    /// Width of the values of all heads.
    pub fn value_width(&self) -> usize {
        self.heads * self.d_v
    }
}

/// The way in which a decoder layer reads the target so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mixer {
    /// Masked self-attention.
    #[default]
    Attention,
    /// A simpler simple recurrent unit: a running state of `d_model` values.  Kim et al. 2019, "From Research to
    /// Production and Back: Ludicrously Fast Neural Machine Translation".
    Ssru,
}

/// Whether encoder and decoder share one embedding table.
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
    /// Whether its weight is the target embedding (section 3.4); both are `[target_vocabulary, d_model]`.
    pub tied: bool,
    /// Whether a bias is added to the logits. Checkpoints of BART's relatives may omit it if it is zero.
    pub bias: bool,
    /// Factor of the products before the bias: 1, or T5's `d_model^-0.5`.
    pub scale: f32,
    /// The activation between a linear layer of `d_model` and a norm that come first (BERT).
    pub transform: Option<Activation>,
}

/// The factor of attention scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttentionScale {
    /// Whether it is 1 / √d_k (section 3.2.1), not 1.
    pub by_width: bool,
    /// Whether it is also divided by the layer's number from 1 (GPT-2's `scale_attn_by_inverse_layer_idx`).
    pub by_layer: bool,
}

impl AttentionScale {
    /// The paper's factor.
    pub const PAPER: Self = Self { by_width: true, by_layer: false };

    /// The factor of a layer, counted from 0.
    pub fn factor(self, d_k: usize, layer: usize) -> f32 {
        let width = if self.by_width { 1.0 / (d_k as f64).sqrt() } else { 1.0 };
        let layer = if self.by_layer { (layer + 1) as f64 } else { 1.0 };
        (width / layer) as f32
    }
}

/// Position of the norm around a sublayer `f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormPlacement {
    /// `norm(x + f(x))`, as in the paper.
    Post,
    /// `x + f(norm(x))`.  Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture".
    Pre,
}

/// Kind of a norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NormKind {
    /// `(x - mean) / √(variance + ε) · γ + β`.  Ba et al. 2016.
    Layer,
    /// `x / √(mean of x² + ε) · γ`.  Zhang & Sennrich 2019.
    Rms,
    /// As `Layer`, with mean and variance of each column over the tokens of training.  Ioffe & Szegedy 2015.
    Batch,
}

/// Token ids with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialTokens {
    /// The padding token.
    pub pad: u32,
    /// The end token, if the family has one.
    pub eos: Option<u32>,
    /// The begin token, if the family has one.
    pub bos: Option<u32>,
    /// The decoder's start token, if the configuration has one.
    pub decoder_start: Option<u32>,
}

impl ModelConfig {
    /// Reads `config.json`. Absent or `null` keys have the default of the family's Hugging Face class.
    ///
    /// Errors: those of [`JsonObject::read`]; [`ModelError::Unsupported`] for an unknown family or switch;
    /// [`ModelError::MissingKey`], [`ModelError::InvalidValue`] and [`ModelError::TooManyParameters`] for invalid
    /// sizes.
    pub fn from_files(files: &ModelFiles) -> Result<Self, ModelError> {
        Self::from_json(&configuration(files)?)
    }

    /// As [`from_files`](Self::from_files), from the JSON object.
    pub fn from_json(json: &JsonObject) -> Result<Self, ModelError> {
        let family = family(json)?;
        let json = &json.clone().renamed(family.aliases()).without_negative(&MAY_BE_NONE);
        let config = match family {
            Family::Marian => marian::config(json)?,
            Family::Vanilla => vanilla::config(json)?,
            family @ (Family::Bart | Family::MBart | Family::M2m100 | Family::Pegasus) => {
                bart::config(json, family)?
            }
            Family::BigBirdPegasus => bigbird::config(json)?,
            Family::Led => led::config(json)?,
            family @ (Family::T5 | Family::MT5 | Family::UMT5) => t5::config(json, family)?,
            Family::LongT5 => t5::long_config(json)?,
            Family::Bert => bert::config(json)?,
            family @ (Family::Roberta | Family::XlmRoberta) => roberta::config(json, family)?,
            Family::DistilBert => distilbert::config(json)?,
            Family::Gpt2 => gpt2::config(json)?,
            Family::Firefox => firefox::config(json)?,
        };
        let config = match json.get::<String>(ATTENTION)? {
            Some(stored) => config.with_stored_attention(&stored).map_err(|error| {
                json.invalid(ATTENTION, &stored.into(), format!("kinds that the model can have ({error})"))
            })?,
            None => config,
        };
        let parameters = config.parameter_count();
        if parameters > isize::MAX as u64 / size_of::<f32>() as u64 {
            return Err(ModelError::TooManyParameters { file: json.file().to_owned(), parameters });
        }
        Ok(config)
    }

    /// The stacks that the model has.
    pub fn architecture(&self) -> Architecture {
        match (self.encoder.layers, self.decoder.layers) {
            (_, 0) => Architecture::EncoderOnly,
            (0, _) => Architecture::DecoderOnly,
            _ => Architecture::EncoderDecoder,
        }
    }

    /// Number of layers with a kind of attention.
    pub fn attention_layers(&self, kind: AttentionKind) -> usize {
        match (kind, self.decoder_mixer) {
            (AttentionKind::Encoder, _) => self.encoder.layers,
            (AttentionKind::Decoder, Mixer::Attention) => self.decoder.layers,
            (AttentionKind::Decoder, Mixer::Ssru) => 0,
            (AttentionKind::Cross, _) if self.encoder.layers > 0 => self.decoder.layers,
            (AttentionKind::Cross, _) => 0,
        }
    }

    /// The positions of sources.
    pub fn source_positions(&self) -> &Positions {
        self.encoder_positions.as_ref().unwrap_or(&self.positions)
    }

    /// The kind of an encoder layer's self-attention.
    pub fn encoder_kind(&self, layer: usize) -> &SelfAttentionKind {
        const FULL: &SelfAttentionKind = &SelfAttentionKind::Full;
        self.encoder_kinds.get(layer).unwrap_or(FULL)
    }

    /// The blocks of tokens that layers of the encoder see.
    pub fn encoder_blocks(&self) -> Option<TokenBlocks> {
        self.encoder_kinds.iter().find_map(SelfAttentionKind::blocks)
    }

    /// The tokens of a source that see all tokens, and are seen by all.
    pub fn encoder_globals(&self) -> &Globals {
        const NONE: &Globals = &Globals::None;
        let globals = self.encoder_kinds.iter().map(SelfAttentionKind::globals);
        globals.into_iter().find(|globals| **globals != Globals::None).unwrap_or(NONE)
    }

    /// The global tokens of a source as the family is used: the first token, if requests name them.
    pub fn usual_globals(&self) -> Vec<usize> {
        match self.encoder_globals() {
            Globals::Requested => vec![0],
            _ => Vec::new(),
        }
    }

    /// The usual global tokens of a source of `length` tokens as a mask; empty if there are none.
    pub fn usual_global_mask(&self, length: usize) -> Vec<u32> {
        match &self.usual_globals()[..] {
            [] => Vec::new(),
            globals => (0..length).map(|token| globals.contains(&token).into()).collect(),
        }
    }

    /// The same model with other kinds of self-attention in some layers of the encoder.
    pub fn with_attention(&self, choice: &SelfAttentionChoice) -> Result<Self, SelfAttentionError> {
        let own: Vec<_> = (0..self.encoder.layers).map(|layer| self.encoder_kind(layer).clone()).collect();
        let encoder_kinds = choice.over(&own)?;
        let model_type = self.family.model_type();
        for kind in &encoder_kinds {
            let kind_name = || kind.to_string();
            match kind {
                SelfAttentionKind::TransientGlobal { .. } if self.block_tokens.is_none() => {
                    return Err(SelfAttentionError::NoWeights { kind: kind_name(), model_type });
                }
                SelfAttentionKind::Blocks(_) if matches!(self.source_positions(), Positions::Relative(_)) => {
                    return Err(SelfAttentionError::Distances { kind: kind_name(), model_type });
                }
                _ => {}
            }
        }
        Ok(Self { encoder_kinds, ..self.clone() })
    }

    /// As [`with_attention`](Self::with_attention), for the kinds that the model was trained with: projections are learned.
    pub(crate) fn with_learned_attention(
        &self,
        choice: &SelfAttentionChoice,
    ) -> Result<Self, SelfAttentionError> {
        let mut config = self.with_attention(choice)?;
        let positions = self.source_positions().count();
        for kind in &mut config.encoder_kinds {
            let name = kind.to_string();
            let SelfAttentionKind::Linformer { rank, is_learned } = kind else { continue };
            *is_learned = true;
            let model_type = self.family.model_type();
            if matches!(self.source_positions(), Positions::Relative(_)) {
                return Err(SelfAttentionError::Distances { kind: name, model_type });
            }
            if !self.family.has_length_projections() {
                return Err(SelfAttentionError::NoPlace { kind: name, model_type });
            }
            if *rank > positions {
                return Err(SelfAttentionError::RankBeyond { kind: name, positions });
            }
        }
        Ok(config)
    }

    fn with_stored_attention(&self, stored: &str) -> Result<Self, SelfAttentionError> {
        self.with_learned_attention(&stored.parse()?)
    }

    /// A sentence for each kind of attention that stands for learned weights which the model does not have.
    pub fn approximations(&self) -> Vec<String> {
        SelfAttentionKind::approximations(&self.encoder_kinds)
    }

    /// Values per token and decoder layer that a search keeps of the target so far: keys and values, or cells.
    pub(crate) fn cached_width(&self) -> usize {
        match self.decoder_mixer {
            Mixer::Attention => self.decoder.key_width() + self.decoder.value_width(),
            Mixer::Ssru => self.d_model,
        }
    }

    /// Maximum source tokens of a sentence, if the family's own engine cuts longer ones: students learn from sentences,
    /// not paragraphs.
    pub fn sentence_limit(&self) -> Option<usize> {
        /// The limit of Firefox's engine, with the end token.
        const FIREFOX: usize = 128;
        (self.family == Family::Firefox).then_some(FIREFOX)
    }

    /// Whether the last hidden state comes after the final norm (Hugging Face's classes), not before it (`torch.nn`).
    pub fn last_hidden_is_normed(&self) -> bool {
        self.family != Family::Vanilla
    }

    /// Row of the position table for each token of a sequence.
    pub fn position_rows<'a>(&'a self, tokens: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        self.positions.rows(tokens)
    }
}

fn family(json: &JsonObject) -> Result<Family, ModelError> {
    let model_type: String = json.require("model_type")?;
    Family::ALL.into_iter().find(|family| family.model_type() == model_type).ok_or_else(|| {
        let supported = Family::ALL.map(Family::model_type).join(", ");
        json.unsupported("model_type", &model_type.into(), supported)
    })
}
