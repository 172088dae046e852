//! The files of every family: errors name missing, extra and misshapen tensors; known extra tensors of older files and other
//! heads are skipped.

use std::borrow::Cow;

use crate::common::{data, read};
use safetensors::{Dtype, SafeTensors, View};
use wordloom::model::files::ModelFiles;
use wordloom::transformer::{ForwardInput, Transformer};
use wordloom::{Device, Model, ModelError};

const FAMILIES: [&str; 16] = [
    "marian_tied",
    "vanilla_preln",
    "bart",
    "mbart",
    "m2m_100",
    "pegasus",
    "bigbird_pegasus",
    "t5_relu_tied",
    "t5_gated_untied_bf16",
    "mt5",
    "umt5",
    "bert",
    "roberta",
    "xlm_roberta",
    "distilbert",
    "gpt2",
];

/// A tensor to store: name, type, shape, bytes.
#[derive(Clone)]
struct Stored {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl View for &Stored {
    fn dtype(&self) -> Dtype {
        self.dtype
    }
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        (&self.bytes).into()
    }
    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

fn tensors(name: &str) -> Vec<Stored> {
    let bytes = read(&data("models").join(name).join("model.safetensors"));
    let file = SafeTensors::deserialize(&bytes).expect("sound");
    let stored = file.iter().map(|(name, tensor)| Stored {
        name: name.to_owned(),
        dtype: tensor.dtype(),
        shape: tensor.shape().to_vec(),
        bytes: tensor.data().to_vec(),
    });
    stored.collect()
}

/// The folder of a stored model with other weights.
fn open(name: &str, tensors: &[Stored]) -> Result<Model, ModelError> {
    let weights = safetensors::serialize(tensors.iter().map(|tensor| (tensor.name.clone(), tensor)), None);
    let config = read(&data("models").join(name).join("config.json"));
    Model::from_files(ModelFiles::memory(
        name,
        [("config.json", config), ("model.safetensors", weights.expect("serializes"))],
    ))
}

fn extra(name: &str) -> Stored {
    Stored { name: name.to_owned(), dtype: Dtype::F32, shape: vec![2], bytes: vec![0; 8] }
}

#[track_caller]
fn refusal(name: &str, tensors: &[Stored]) -> String {
    match open(name, tensors) {
        Ok(_) => panic!("{name}: accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_tensor_is_needed_by_its_name_and_shape() {
    for name in FAMILIES {
        let all = tensors(name);
        open(name, &all).unwrap_or_else(|error| panic!("{error}"));
        for index in 0..all.len() {
            let tensor = all[index].name.clone();
            let mut without = all.clone();
            without.remove(index);
            // if absent: zeros, computed, or tied, as in Hugging Face
            let optional = tensor == "final_logits_bias"
                || (name == "pegasus" && tensor.ends_with("embed_positions.weight"))
                // two tensors that may be tied: either replaces the other
                || (["t5_gated_untied_bf16", "mt5"].contains(&name)
                    && ["shared.weight", "lm_head.weight"].contains(&&*tensor));
            if !optional {
                let error = refusal(name, &without);
                assert!(error.contains(&format!("there is no tensor \"{tensor}\"")), "{name}: {error}");
            }
            let mut longer = all.clone();
            longer[index].shape.insert(0, 1);
            longer[index].shape.insert(0, 1);
            let error = refusal(name, &longer);
            assert!(error.contains(&tensor) && error.contains("calls for"), "{name}: {error}");
        }
        let error = refusal(name, &[all, vec![extra("decoder.layers.0.adapter.weight")]].concat());
        assert!(error.contains("\"decoder.layers.0.adapter.weight\" has no place"), "{name}: {error}");
    }
}

/// A model's logits for three tokens.
fn logits(name: &str, tensors: &[Stored]) -> Vec<f32> {
    let model = open(name, tensors).unwrap_or_else(|error| panic!("{error}"));
    let transformer = Transformer::load(&Device::Cpu, &model, &mut |_| {}).expect("loads");
    let target =
        if transformer.config().encoder.layers * transformer.config().decoder.layers > 0 { 2 } else { 0 };
    let input = ForwardInput {
        batch: 1,
        source_length: 3,
        target_length: target,
        input_ids: vec![5, 17, 2],
        attention_mask: vec![1; 3],
        token_type_ids: Vec::new(),
        decoder_input_ids: [2, 9][..target].to_vec(),
        global_attention_mask: Vec::new(),
    };
    pollster::block_on(transformer.forward(&input)).expect("runs").logits.data
}

fn renamed(name: &str, rename: impl Fn(&str) -> String) -> Vec<Stored> {
    tensors(name).into_iter().map(|tensor| Stored { name: rename(&tensor.name), ..tensor }).collect()
}

#[test]
fn files_of_a_model_without_its_head_leave_out_the_prefix() {
    for (name, prefix) in [
        ("bart", "model."),
        ("m2m_100", "model."),
        ("bert", "bert."),
        ("roberta", "roberta."),
        ("distilbert", "distilbert."),
        ("gpt2", "transformer."),
    ] {
        let short = renamed(name, |tensor| tensor.strip_prefix(prefix).unwrap_or(tensor).to_owned());
        assert_ne!(short[0].name, tensors(name)[0].name);
        assert_eq!(logits(name, &short), logits(name, &tensors(name)), "{name}");
    }
}

/// `safetensors.torch.save_model` keeps the first name of tied tensors.
#[test]
fn tied_embeddings_may_have_the_name_of_the_head() {
    for (name, embedding, head) in [
        ("bart", "model.shared.weight", "lm_head.weight"),
        ("gpt2", "transformer.wte.weight", "lm_head.weight"),
        ("roberta", "roberta.embeddings.word_embeddings.weight", "lm_head.decoder.weight"),
        ("xlm_roberta", "roberta.embeddings.word_embeddings.weight", "lm_head.decoder.weight"),
        ("bert", "bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"),
        ("distilbert", "distilbert.embeddings.word_embeddings.weight", "vocab_projector.weight"),
    ] {
        let saved = renamed(name, |tensor| if tensor == embedding { head } else { tensor }.to_owned());
        assert!(saved.iter().any(|tensor| tensor.name == head), "{name}");
        assert_eq!(logits(name, &saved), logits(name, &tensors(name)), "{name}");
    }
}

#[test]
fn the_norms_of_tensorflow_are_found() {
    let old = renamed("bert", |tensor| {
        tensor.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
    });
    assert!(old.iter().any(|tensor| tensor.name.ends_with("gamma")));
    assert_eq!(logits("bert", &old), logits("bert", &tensors("bert")));
}

#[test]
fn what_other_heads_and_older_versions_leave_behind_is_passed_over() {
    for (name, left) in [
        ("roberta", "roberta.pooler.dense.weight"),
        ("xlm_roberta", "roberta.embeddings.position_ids"),
        ("distilbert", "distilbert.embeddings.position_ids"),
        ("bert", "bert.pooler.dense.weight"),
        ("bert", "cls.seq_relationship.bias"),
        ("bert", "bert.embeddings.position_ids"),
        ("gpt2", "transformer.h.0.attn.bias"),
        ("gpt2", "h.1.attn.masked_bias"),
        ("m2m_100", "model.encoder.embed_positions.weights"),
        ("t5_relu_tied", "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"),
    ] {
        open(name, &[tensors(name), vec![extra(left)]].concat()).unwrap_or_else(|error| panic!("{error}"));
    }
    let error = refusal("gpt2", &[tensors("gpt2"), vec![extra("transformer.h.0.attn.c_attn.lora")]].concat());
    assert!(error.contains("c_attn.lora"), "{error}");
}
