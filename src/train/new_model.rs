//! The shape of a new Marian model, and its configuration.

use serde_json::{Value, json};

/// Largest numbers, as [`ModelConfig`](crate::model::config::ModelConfig) reads them or beyond any use.
const MAX_WIDTH: usize = 1 << 16;
const MAX_LAYERS: usize = 256;
const MAX_POSITIONS: usize = 1 << 20;
const MAX_VOCABULARY: usize = 1 << 24;
/// Limit on the parameters, which are made in memory.
const MAX_PARAMETERS: u128 = 4 << 30;
/// Tokens of the smallest vocabulary: three special ones, and one of text.
const MIN_VOCABULARY: usize = 4;

/// The shape of a new model: the encoder–decoder of the paper (post-norm, ReLU, sinusoidal positions) as Hugging Face's
/// `MarianMTModel`. Source and target share the vocabulary and its embeddings.
#[derive(Clone, Debug, PartialEq)]
pub struct NewModel {
    /// Width of embeddings and layers.
    pub d_model: usize,
    /// Attention heads of each block.
    pub heads: usize,
    /// Layers of the encoder.
    pub encoder_layers: usize,
    /// Layers of the decoder.
    pub decoder_layers: usize,
    /// Width between the two maps of a feed-forward block.
    pub ffn: usize,
    /// Largest number of tokens of a sentence.
    pub max_positions: usize,
    /// Number of tokens; the last one is `<pad>`.
    pub vocabulary_size: usize,
    /// Share of values that training drops, 0 to below 1.
    pub dropout: f64,
    /// Whether the output projection is the embedding table. Else it is a matrix of its own.
    pub tied: bool,
}

/// A shape that makes no model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum NewModelError {
    #[error("{name} is {value}; it must be {least} to {most}")]
    Range { name: &'static str, value: usize, least: usize, most: usize },
    #[error("d_model is {d_model}, which {heads} heads do not divide; take a multiple of the heads")]
    Heads { d_model: usize, heads: usize },
    #[error("d_model is {0}; sines and cosines need an even number")]
    Odd(usize),
    #[error("dropout is {0}; it must be at least 0 and below 1")]
    Dropout(f64),
    #[error("the model has {parameters} parameters; the limit is {limit}; make it smaller")]
    Parameters { parameters: u128, limit: u128 },
}

impl NewModel {
    /// The base model of the paper, with the size of a vocabulary.
    pub fn base(vocabulary_size: usize) -> Self {
        Self {
            d_model: 512,
            heads: 8,
            encoder_layers: 6,
            decoder_layers: 6,
            ffn: 2048,
            max_positions: 512,
            vocabulary_size,
            dropout: 0.1,
            tied: true,
        }
    }

    /// A model that trains on a CPU within hours, with the size of a vocabulary: the shape of the default model.
    pub fn small(vocabulary_size: usize) -> Self {
        Self {
            d_model: 256,
            encoder_layers: 4,
            decoder_layers: 3,
            ffn: 1024,
            max_positions: 256,
            ..Self::base(vocabulary_size)
        }
    }

    /// Checks the shape.
    ///
    /// # Errors
    /// [`NewModelError`]
    pub fn check(&self) -> Result<(), NewModelError> {
        let ranges = [
            ("d_model", self.d_model, 2, MAX_WIDTH),
            ("heads", self.heads, 1, MAX_WIDTH),
            ("encoder_layers", self.encoder_layers, 1, MAX_LAYERS),
            ("decoder_layers", self.decoder_layers, 1, MAX_LAYERS),
            ("ffn", self.ffn, 1, MAX_WIDTH),
            ("max_positions", self.max_positions, 2, MAX_POSITIONS),
            ("vocabulary_size", self.vocabulary_size, MIN_VOCABULARY, MAX_VOCABULARY),
        ];
        for (name, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return Err(NewModelError::Range { name, value, least, most });
            }
        }
        let (d_model, heads) = (self.d_model, self.heads);
        if !d_model.is_multiple_of(heads) {
            return Err(NewModelError::Heads { d_model, heads });
        }
        if !d_model.is_multiple_of(2) {
            return Err(NewModelError::Odd(d_model));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(NewModelError::Dropout(self.dropout));
        }
        match self.parameters() {
            parameters if parameters > MAX_PARAMETERS => {
                Err(NewModelError::Parameters { parameters, limit: MAX_PARAMETERS })
            }
            _ => Ok(()),
        }
    }

    /// Number of trained values.
    pub fn parameters(&self) -> u128 {
        let [d_model, ffn, vocabulary] =
            [self.d_model, self.ffn, self.vocabulary_size].map(|size| size as u128);
        let attention = 4 * (d_model * d_model + d_model);
        let norm = 2 * d_model;
        let feed_forward = 2 * d_model * ffn + ffn + d_model;
        let encoder = attention + feed_forward + 2 * norm;
        let decoder = 2 * attention + feed_forward + 3 * norm;
        let tables = if self.tied { 1 } else { 2 };
        tables * vocabulary * d_model
            + self.encoder_layers as u128 * encoder
            + self.decoder_layers as u128 * decoder
    }

    /// Id of `<pad>`, with which a translation begins.
    pub fn pad_id(&self) -> usize {
        self.vocabulary_size.saturating_sub(1)
    }

    /// `config.json`, with the keys of transformers' `MarianConfig`. `dtype`: the type of the stored weights, `float32` or
    /// `float16`.
    pub fn config(&self, dtype: &str) -> Value {
        let pad = self.pad_id();
        json!({
            "activation_dropout": 0.0,
            "activation_function": "relu",
            "architectures": ["MarianMTModel"],
            "attention_dropout": 0.0,
            "bos_token_id": null,
            "d_model": self.d_model,
            "decoder_attention_heads": self.heads,
            "decoder_ffn_dim": self.ffn,
            "decoder_layerdrop": 0.0,
            "decoder_layers": self.decoder_layers,
            "decoder_start_token_id": pad,
            "decoder_vocab_size": self.vocabulary_size,
            "dropout": self.dropout,
            "dtype": dtype,
            "encoder_attention_heads": self.heads,
            "encoder_ffn_dim": self.ffn,
            "encoder_layerdrop": 0.0,
            "encoder_layers": self.encoder_layers,
            "eos_token_id": 0,
            "forced_eos_token_id": 0,
            "init_std": 0.02,
            "is_decoder": false,
            "is_encoder_decoder": true,
            "max_position_embeddings": self.max_positions,
            "model_type": "marian",
            "pad_token_id": pad,
            "scale_embedding": true,
            "share_encoder_decoder_embeddings": true,
            "static_position_embeddings": true,
            "tie_word_embeddings": self.tied,
            "use_cache": true,
            "vocab_size": self.vocabulary_size,
        })
    }

    /// `generation_config.json`: four beams, and at most half of the positions.
    pub fn generation_config(&self) -> Value {
        let pad = self.pad_id();
        json!({
            "bad_words_ids": [[pad]],
            "decoder_start_token_id": pad,
            "early_stopping": true,
            "eos_token_id": 0,
            "forced_eos_token_id": 0,
            "length_penalty": 1.0,
            "max_length": (self.max_positions / 2).max(2),
            "num_beams": 4,
            "pad_token_id": pad,
        })
    }
}
