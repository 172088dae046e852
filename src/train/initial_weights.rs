//! The first weights of a new model.

use std::f64::consts::TAU;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use safetensors::tensor::{Dtype, TensorView};

use super::new_model::{NewModel, NewModelError};

/// The first values of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Start {
    Zeros,
    Ones,
    /// Normal with the standard deviation `d_model^-0.5`, except for the row of `<pad>`, which is zero.
    Embeddings,
    /// Uniform in ±√(6 / (rows + columns)). Glorot & Bengio 2010.
    Glorot,
}

/// A tensor of the model.
#[derive(Clone, Debug, PartialEq)]
struct NewTensor {
    name: String,
    shape: Vec<usize>,
    start: Start,
}

impl NewModel {
    /// The first weights as a safetensors file in f32, with the names of `MarianMTModel`. Each tensor depends on the seed and
    /// its name alone; the values are the same on every machine.
    ///
    /// Embeddings are normal with a standard deviation of `d_model^-0.5`, other matrices as Glorot & Bengio 2010, biases 0, scales
    /// of norms 1: as Marian and fairseq do. Positions are computed, not stored.
    ///
    /// # Errors
    /// [`NewModelError`]
    pub fn initial_weights(&self, seed: u64) -> Result<Vec<u8>, NewModelError> {
        self.check()?;
        let tensors = self.tensors();
        let bytes: Vec<Vec<u8>> = tensors.iter().map(|tensor| self.first_values(tensor, seed)).collect();
        let views = tensors.iter().zip(&bytes).map(|(tensor, bytes)| {
            let view = TensorView::new(Dtype::F32, tensor.shape.clone(), bytes);
            (tensor.name.as_str(), view.expect("as many bytes as the shape needs"))
        });
        let metadata = [("format".to_owned(), "pt".to_owned())].into_iter().collect();
        Ok(safetensors::serialize(views, Some(metadata)).expect("sound tensors with different names"))
    }

    fn tensors(&self) -> Vec<NewTensor> {
        let (d_model, vocabulary) = (self.d_model, self.vocabulary_size);
        let mut tensors = vec![
            tensor("model.shared.weight", &[vocabulary, d_model], Start::Embeddings),
            tensor("final_logits_bias", &[1, vocabulary], Start::Zeros),
        ];
        if !self.tied {
            tensors.push(tensor("lm_head.weight", &[vocabulary, d_model], Start::Glorot));
        }
        let stacks = [
            ("encoder", self.encoder_layers, &["self_attn"][..]),
            ("decoder", self.decoder_layers, &["self_attn", "encoder_attn"]),
        ];
        for (stack, layers, attentions) in stacks {
            for layer in 0..layers {
                self.layer(&format!("model.{stack}.layers.{layer}"), attentions, &mut tensors);
            }
        }
        tensors
    }

    fn layer(&self, place: &str, attentions: &[&str], tensors: &mut Vec<NewTensor>) {
        let (d_model, ffn) = (self.d_model, self.ffn);
        let mut linear = |name: String, [outputs, inputs]: [usize; 2]| {
            tensors.push(tensor(format!("{place}.{name}.weight"), &[outputs, inputs], Start::Glorot));
            tensors.push(tensor(format!("{place}.{name}.bias"), &[outputs], Start::Zeros));
        };
        for attention in attentions {
            for part in ["q_proj", "k_proj", "v_proj", "out_proj"] {
                linear(format!("{attention}.{part}"), [d_model, d_model]);
            }
        }
        linear("fc1".to_owned(), [ffn, d_model]);
        linear("fc2".to_owned(), [d_model, ffn]);
        for norm in attentions.iter().copied().chain(["final"]) {
            tensors.push(tensor(format!("{place}.{norm}_layer_norm.weight"), &[d_model], Start::Ones));
            tensors.push(tensor(format!("{place}.{norm}_layer_norm.bias"), &[d_model], Start::Zeros));
        }
    }

    fn first_values(&self, tensor: &NewTensor, seed: u64) -> Vec<u8> {
        let count: usize = tensor.shape.iter().product();
        let mut random = Random::new(seed, &tensor.name);
        let values: Vec<f32> = match (tensor.start, &tensor.shape[..]) {
            (Start::Zeros, _) => vec![0.0; count],
            (Start::Ones, _) => vec![1.0; count],
            (Start::Embeddings, _) => embeddings(&tensor.name, [self.vocabulary_size, self.d_model], seed),
            (Start::Glorot, shape) => {
                let bound = (6.0 / shape.iter().sum::<usize>() as f64).sqrt();
                (0..count).map(|_| (bound * (2.0 * random.unit() - 1.0)) as f32).collect()
            }
        };
        bytemuck::cast_slice::<f32, u8>(&values).to_vec()
    }
}

/// First embeddings, with the last row, `<pad>`, at zero.
pub(super) fn embeddings(name: &str, [tokens, d_model]: [usize; 2], seed: u64) -> Vec<f32> {
    let mut random = Random::new(seed, name);
    let deviation = libm::pow(d_model as f64, -0.5);
    let mut values: Vec<f32> = (0..tokens * d_model).map(|_| (deviation * random.normal()) as f32).collect();
    values[(tokens - 1) * d_model..].fill(0.0);
    values
}

fn tensor(name: impl Into<String>, shape: &[usize], start: Start) -> NewTensor {
    NewTensor { name: name.into(), shape: shape.to_vec(), start }
}

/// Random numbers of one tensor.
struct Random {
    source: ChaCha8Rng,
    /// The second normal number of a pair.
    kept: Option<f64>,
}

impl Random {
    fn new(seed: u64, name: &str) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut source = ChaCha8Rng::from_seed(key);
        // FNV-1a of the name: a stream for each tensor
        let stream = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        source.set_stream(stream);
        Self { source, kept: None }
    }

    /// Uniform in 0 to 1, without 1.
    fn unit(&mut self) -> f64 {
        (self.source.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Standard normal. Box & Muller 1958; `libm` gives the same bits on every machine.
    fn normal(&mut self) -> f64 {
        if let Some(kept) = self.kept.take() {
            return kept;
        }
        let radius = (-2.0 * libm::log(1.0 - self.unit())).sqrt();
        let (sine, cosine) = libm::sincos(TAU * self.unit());
        self.kept = Some(radius * sine);
        radius * cosine
    }
}
