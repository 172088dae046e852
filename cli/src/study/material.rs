//! What all runs of a study share: sentence pairs, one vocabulary, and the pairs as ids.

use serde_json::{Value, json};
use wordloom::Model;
use wordloom::model::files::ModelFiles;
use wordloom::readable::counted;
use wordloom::text::Normalization;
use wordloom::train::Pair;
use wordloom::train::batches::Capacity;
use wordloom::train::session::{Corpus, Dev, Encoder};
use wordloom::train::vocabulary::{EOS, PAD, TrainedVocabulary, UNKNOWN, VocabularyOptions, learn};

use crate::{CliError, notice};

/// Positions of a miniature.
const POSITIONS: usize = 256;

pub struct Material {
    vocabulary: TrainedVocabulary,
    pub train: Vec<Pair>,
    pub dev: Dev,
    pub capacity: Capacity,
}

impl Material {
    /// Learns the vocabulary and turns the pairs into ids.
    pub fn new(corpus: &Corpus, vocabulary: usize, batch_tokens: usize) -> Result<Self, CliError> {
        notice(&format!("learning a vocabulary of {}, which all runs share", counted(vocabulary, "token")));
        let texts = corpus.train.iter().flat_map(|pair| [&*pair.source, &*pair.target]);
        let options = VocabularyOptions::new(vocabulary);
        let vocabulary = learn(texts, &options, &Normalization::standard(), &mut |_| {})?;
        // any model: only its positions and its tokenizer count here
        let config = json!({
            "d_model": 2, "nhead": 1, "num_encoder_layers": 1, "num_decoder_layers": 1, "dim_feedforward": 1,
            "norm_first": false, "final_norm": false,
        });
        let model = Model::random(files(&vocabulary, config), 1)?;
        let encoder = Encoder::new(&model, model.tokenizer()?, [None; 2])?;
        let (train, _) = encoder.encode(&corpus.train)?;
        let dev = encoder.encode(&corpus.dev)?;
        let capacity = Capacity::propose(&train, batch_tokens)?;
        let translated = dev.0.len();
        let dev = Dev::new(dev, &corpus.dev, capacity, translated)?;
        Ok(Self { vocabulary, train, dev, capacity })
    }

    /// A folder in memory: the tokenizer, and a configuration to which the tokens and the positions are added.
    pub fn files(&self, config: Value) -> ModelFiles {
        files(&self.vocabulary, config)
    }

    /// As [`Material::files`], with weights.
    pub fn files_with(&self, config: Value, weights: (&'static str, Vec<u8>)) -> ModelFiles {
        let files = folder(&self.vocabulary, config).into_iter().chain([weights]);
        ModelFiles::memory("a miniature", files)
    }
}

fn files(vocabulary: &TrainedVocabulary, config: Value) -> ModelFiles {
    ModelFiles::memory("a miniature", folder(vocabulary, config))
}

fn folder(vocabulary: &TrainedVocabulary, mut config: Value) -> Vec<(&'static str, Vec<u8>)> {
    let pad = vocabulary.size - 1;
    let common = json!({
        "model_type": "vanilla_transformer",
        "vocab_size": vocabulary.size,
        "max_position_embeddings": POSITIONS,
        "pad_token_id": pad,
        "eos_token_id": 0,
        "decoder_start_token_id": pad,
    });
    if let (Value::Object(config), Value::Object(common)) = (&mut config, common) {
        config.extend(common);
    }
    let tokenizer = json!({
        "tokenizer_class": "MarianTokenizer",
        "eos_token": EOS,
        "unk_token": UNKNOWN,
        "pad_token": PAD,
        "separate_vocabs": false,
    });
    let text = |value: Value| format!("{value:#}\n").into_bytes();
    vec![
        ("config.json", text(config)),
        ("tokenizer_config.json", text(tokenizer)),
        ("source.spm", vocabulary.spm.clone()),
        ("target.spm", vocabulary.spm.clone()),
        ("vocab.json", vocabulary.vocab.clone()),
    ]
}
