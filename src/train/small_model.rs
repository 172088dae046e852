//! The model of a small task, with random weights.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::TaskError;
use super::symbols::{END, PAD, Symbols};
use crate::model::files::ModelFiles;
use crate::model::{Model, ModelError};

/// Name of the tensors' file.
pub(super) const WEIGHTS: &str = "model.safetensors";
/// Name of the folder in messages.
pub(super) const LABEL: &str = "the model in training";
/// Positions beyond the longest sentence, for longer inputs later.
const MORE_POSITIONS: usize = 64;

/// Sizes of the paper's model. Vaswani et al. 2017, section 3; table 3 calls them N, d_model, d_ff and h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SmallModel {
    /// Layers of the encoder, and of the decoder.
    pub layers: usize,
    /// Width of all layers.
    pub d_model: usize,
    /// Heads of each attention.
    pub heads: usize,
    /// Width between the two products of the feed-forward network.
    pub ffn: usize,
    /// Whether norms stand before the sublayers (Xiong et al. 2020), not after the residual sums as in the paper.
    pub pre_norm: bool,
}

impl Default for SmallModel {
    fn default() -> Self {
        Self { layers: 2, d_model: 64, heads: 4, ffn: 256, pre_norm: false }
    }
}

impl SmallModel {
    /// Checks the sizes.
    ///
    /// # Errors
    /// [`TaskError::Size`], [`TaskError::Heads`]
    pub fn check(&self) -> Result<(), TaskError> {
        let Self { layers, d_model, heads, ffn, .. } = *self;
        for (option, value, least, most) in [
            ("the number of layers", layers, 1, 6),
            ("d_model", d_model, 8, 512),
            ("the number of heads", heads, 1, 16),
            ("the feed-forward width", ffn, 8, 2048),
        ] {
            if !(least..=most).contains(&value) {
                return Err(TaskError::Size { option, value, least, most });
            }
        }
        match d_model.is_multiple_of(heads) && d_model.is_multiple_of(2) {
            true => Ok(()),
            false => Err(TaskError::Heads { d_model, heads }),
        }
    }

    /// The files of a folder, without weights. `longest`: tokens of the longest sentence.
    pub(super) fn files(&self, symbols: &Symbols, longest: usize) -> Vec<(&'static str, Vec<u8>)> {
        let Self { layers, d_model, heads, ffn, pre_norm } = *self;
        let config = json!({
            "model_type": "vanilla_transformer",
            "architectures": ["VanillaTransformer"],
            "d_model": d_model,
            "nhead": heads,
            "num_encoder_layers": layers,
            "num_decoder_layers": layers,
            "dim_feedforward": ffn,
            "activation": "relu",
            "norm_first": pre_norm,
            "final_norm": pre_norm,
            "layer_norm_eps": 1e-5,
            "scale_embedding": true,
            "attention_bias": true,
            "position_embedding_type": "sinusoidal_interleaved",
            "max_position_embeddings": longest + MORE_POSITIONS,
            "vocab_size": symbols.count(),
            "tie_word_embeddings": true,
            "pad_token_id": PAD,
            "eos_token_id": END,
            "decoder_start_token_id": PAD,
            "torch_dtype": "float32",
        });
        let generation = json!({
            "decoder_start_token_id": PAD,
            "eos_token_id": END,
            "pad_token_id": PAD,
            "num_beams": 1,
            "max_length": longest + 8,
        });
        // the class whose ids are SentencePiece's own, without more tokens
        let tokenizer = json!({
            "tokenizer_class": "T5Tokenizer",
            "extra_ids": 0,
            "pad_token": "<pad>",
            "eos_token": "</s>",
            "unk_token": "<unk>",
        });
        let text = |value: serde_json::Value| format!("{value:#}\n").into_bytes();
        vec![
            ("config.json", text(config)),
            ("generation_config.json", text(generation)),
            ("tokenizer_config.json", text(tokenizer)),
            ("spiece.model", symbols.sentencepiece()),
        ]
    }

    /// A model with random weights: Glorot's for matrices, as the paper's own code has them.
    pub(super) fn random(&self, symbols: &Symbols, longest: usize, seed: u64) -> Result<Model, ModelError> {
        Model::random(ModelFiles::memory(LABEL, self.files(symbols, longest)), seed)
    }
}
