//! Whole models against stored results of Hugging Face transformers (and, for the paper's layout, of `torch.nn`), on the CPU
//! runner and on the GPU: encoder states, logits, all three kinds of attention; greedy and beam search by id and score.
//! The tolerances are those of the fixtures' README, because f32 differs from float64 by up to 3e-5 there.

mod common;

use common::pickles::complete;
use common::{
    Tensors, assert_close, assert_close_where, data, device_test, devices, gpu_as, gpu_with_buffers_of,
    model, one_in_browsers, read, rounded,
};
use safetensors::SafeTensors;
use serde_json::Value;
use wordloom::kernels::AdapterClass;
use wordloom::model::config::{Architecture, Family, ModelConfig};
use wordloom::model::files::ModelFiles;
use wordloom::model::generation_config::{GenerationConfig, JsonObject, UnknownKeys};
use wordloom::model::{SelfAttentionChoice, SelfAttentionKind, TokenBlocks};
use wordloom::precision::{PrecisionChoice, WeightPrecision};
use wordloom::transformer::{
    ForwardInput, ForwardOutput, GenerateOptions, GenerateRequest, Tensor, Transformer, resolve,
};
use wordloom::{Device, Model};

const MODELS: [&str; 24] = [
    "marian_tied",
    "marian_untied_swish",
    "marian_separate_head",
    "marian_f16",
    "vanilla_postln",
    "vanilla_preln",
    "bart",
    "mbart",
    "m2m_100",
    "pegasus",
    "bigbird_pegasus",
    "led",
    "t5_relu_tied",
    "t5_gated_untied_bf16",
    "longt5_local",
    "longt5_tglobal",
    "mt5",
    "umt5",
    "bert",
    "roberta",
    "xlm_roberta",
    "distilbert",
    "gpt2",
    "firefox",
];
/// Inputs of the fixtures; no model has all of them.
const INPUTS: [&str; 20] = [
    "main",
    "main_left",
    "src1",
    "srcmax",
    "main_gfirst",
    "main_gthree",
    "short",
    "short_gfirst",
    "exact",
    "win5",
    "win5_gfirst",
    "win5_gthree",
    "odd",
    "long",
    "just_full",
    "just_sparse",
    "alone0",
    "alone1",
    "alone2",
    "alone3",
];
const TOLERANCE: (f32, f32) = (1e-4, 1e-4);
const SCORE_TOLERANCE: (f32, f32) = (1e-4, 0.0);

fn load(device: &Device, name: &str) -> Transformer {
    let model = model(&data("models").join(name));
    Transformer::load(device, &model, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn expected(name: &str) -> (Tensors, Value) {
    let folder = data("models").join(name);
    let json = serde_json::from_slice(&read(&folder.join("expected.json"))).expect("sound JSON");
    (Tensors::open(&folder.join("expected.safetensors")), json)
}

#[device_test]
async fn forward_equals_the_reference() {
    for device in devices().await {
        for name in MODELS {
            let transformer = load(&device, name);
            let (tensors, _) = expected(name);
            let inputs: Vec<&str> =
                INPUTS.into_iter().filter(|input| tensors.has(&format!("{input}.input_ids"))).collect();
            assert!(inputs.len() >= 3, "{name}: {inputs:?}");
            for input in inputs {
                check_forward(&transformer, &tensors, input, &format!("{name} {input} on {device}")).await;
            }
        }
    }
}

async fn check_forward(transformer: &Transformer, tensors: &Tensors, input: &str, place: &str) {
    let config = transformer.config();
    let shape = tensors.shape(&format!("{input}.input_ids"));
    let (batch, source_length) = (shape[0], shape[1]);
    let optional = |name: &str| {
        let name = format!("{input}.{name}");
        if tensors.has(&name) { tensors.u32(&name) } else { Vec::new() }
    };
    let mask = tensors.u32(&format!("{input}.attention_mask"));
    let decoder_input_ids = optional("decoder_input_ids");
    let target_length = decoder_input_ids.len() / batch;
    let output = transformer
        .forward(&ForwardInput {
            batch,
            source_length,
            target_length,
            input_ids: tensors.u32(&format!("{input}.input_ids")),
            attention_mask: mask.clone(),
            token_type_ids: optional("token_type_ids"),
            decoder_input_ids,
            global_attention_mask: optional("global_attention_mask"),
        })
        .await
        .unwrap_or_else(|error| panic!("{place}: {error}"));

    let check = Check { tensors, input, place, mask: &mask, source_length };
    let one = config.architecture() != Architecture::EncoderDecoder;
    check.tensor("logits", &output.logits, one.then_some(1));
    if !output.encoder_last_hidden_state.data.is_empty() && !one {
        check.tensor("encoder_last_hidden_state", &output.encoder_last_hidden_state, Some(1));
    }
    let names = |encoder: &'static str, decoder: &'static str, name: &'static str| match config.architecture()
    {
        Architecture::EncoderDecoder => [encoder, decoder],
        _ => [name, name],
    };
    let [encoder, decoder] = names("encoder_hidden_states", "decoder_hidden_states", "hidden_states");
    check.layers(encoder, &output.encoder_hidden_states, config.encoder.layers, Some(1));
    check.layers(decoder, &output.decoder_hidden_states, config.decoder.layers, one.then_some(1));
    let [encoder, decoder] = names("encoder_attentions", "decoder_attentions", "attentions");
    match config.encoder_kind(0).for_length(source_length) {
        &SelfAttentionKind::Blocks(blocks) => check.ends(blocks, &output),
        SelfAttentionKind::Window { .. } if config.family == Family::Led => {
            check.bands(config, &output, &optional("global_attention_mask"));
        }
        SelfAttentionKind::Window { .. } | SelfAttentionKind::TransientGlobal { .. } => {
            check.blocks(config, &output.encoder_attentions);
        }
        _ => check.layers(encoder, &output.encoder_attentions, config.encoder.layers, Some(2)),
    }
    check.layers(decoder, &output.decoder_attentions, config.decoder.layers, one.then_some(2));
    check.layers("cross_attentions", &output.cross_attentions, config.decoder.layers, None);
    for (layer, got) in output.cross_attentions.iter().enumerate() {
        let heads = got.shape[1];
        for (i, &weight) in got.data.iter().enumerate() {
            let sentence = i / (heads * target_length * source_length);
            if mask[sentence * source_length + i % source_length] == 0 {
                assert_eq!(weight, 0.0, "{place}: cross attention {layer} sees a masked key");
            }
        }
    }
}

/// Comparing the tensors of one input.
struct Check<'a> {
    tensors: &'a Tensors,
    input: &'a str,
    place: &'a str,
    mask: &'a [u32],
    source_length: usize,
}

impl Check<'_> {
    /// Compares every stored tensor of `layers` layers. Hidden states have one more, for the embeddings.
    fn layers(&self, name: &str, got: &[Tensor], layers: usize, masked_axis: Option<usize>) {
        if layers > 0 && self.tensors.has(&format!("{}.{name}.0", self.input)) {
            let states = usize::from(name.ends_with("hidden_states"));
            assert_eq!(got.len(), layers + states, "{}: {name}", self.place);
            for (layer, got) in got.iter().enumerate() {
                self.tensor(&format!("{name}.{layer}"), got, masked_axis);
            }
        }
    }

    /// Compares attention in windows with LED's: the weights of global tokens, then those of the window. Rows of global
    /// tokens are in a tensor of their own.
    fn bands(&self, config: &ModelConfig, output: &ForwardOutput, global_mask: &[u32]) {
        let is_global = |row: usize| global_mask.get(row).is_some_and(|&global| global == 1);
        for (layer, got) in output.encoder_attentions.iter().enumerate() {
            let SelfAttentionKind::Window { radius, .. } = *config.encoder_kind(layer) else {
                panic!("{}: windows in every layer", self.place)
            };
            let stored = format!("{}.encoder_attentions.{layer}", self.input);
            let (want, shape) = (self.tensors.f32(&stored), self.tensors.shape(&stored));
            let [heads, length] = [shape[1], shape[2]];
            let reach = radius.min(length);
            let globals = shape[3] - 2 * radius - 1;
            assert_eq!(got.shape, [shape[0], heads, length, globals + 2 * reach + 1], "{}", self.place);
            // the columns of a window within reach of the text
            let columns = (0..globals).chain(globals + radius - reach..globals + radius + reach + 1);
            let columns: Vec<usize> = columns.collect();
            let want: Vec<f32> = want
                .chunks_exact(shape[3])
                .flat_map(|row| columns.iter().map(|&column| row[column]))
                .collect();
            let (sentence, width) = (heads * length * columns.len(), columns.len());
            let is_compared = |i: usize| {
                let row = i / sentence * length + i / width % length;
                self.mask[row] == 1 && !is_global(row)
            };
            let place = format!("{}: {stored}", self.place);
            assert_close_where(&place, &got.data, &want, TOLERANCE, is_compared);
        }
        for (layer, got) in output.encoder_global_attentions.iter().enumerate() {
            let stored = format!("{}.encoder_global_attentions.{layer}", self.input);
            let (want, shape) = (self.tensors.f32(&stored), self.tensors.shape(&stored));
            let [heads, padded, globals] = [shape[1], shape[2], shape[3]];
            let length = self.source_length;
            assert_eq!(got.shape, [shape[0], heads, globals, length], "{}", self.place);
            let want: Vec<f32> = (0..got.data.len())
                .map(|i| {
                    let (matrix, global, key) = (i / length / globals, i / length % globals, i % length);
                    want[(matrix * padded + key) * globals + global]
                })
                .collect();
            let exists = |i: usize| {
                let sentence = i / length / globals / heads;
                let of_sentence = (0..length).filter(|token| is_global(sentence * length + token));
                i / length % globals < of_sentence.count()
            };
            assert_close_where(&format!("{}: {stored}", self.place), &got.data, &want, TOLERANCE, exists);
        }
        let has_globals = global_mask.contains(&1);
        assert_eq!(
            output.encoder_global_attentions.len(),
            if has_globals { config.encoder.layers } else { 0 }
        );
    }

    /// Compares attention in windows with LongT5's: three blocks of keys for each block of queries, then sums of blocks.
    fn blocks(&self, config: &ModelConfig, got: &[Tensor]) {
        for (layer, got) in got.iter().enumerate() {
            let radius = config.encoder_kind(layer).radius().expect("windows in every layer");
            let stored = format!("{}.encoder_attentions.{layer}", self.input);
            let (want, shape) = (self.tensors.f32(&stored), self.tensors.shape(&stored));
            let [batch, blocks, heads, block, columns] = shape[..] else { panic!("five dimensions") };
            let (length, sides) = (self.source_length, columns - 3 * block);
            let reach = radius.min(length);
            assert_eq!(block, radius + 1, "{}: {stored}", self.place);
            assert_eq!(got.shape, [batch, heads, length, sides + 2 * reach + 1], "{}: {stored}", self.place);
            let width = sides + 2 * reach + 1;
            let want: Vec<f32> = (0..got.data.len())
                .map(|i| {
                    let (sentence, head, query) =
                        (i / width / length / heads, i / width / length % heads, i / width % length);
                    let row = ((sentence * blocks + query / block) * heads + head) * block + query % block;
                    let column = match (i % width).checked_sub(sides) {
                        None => 3 * block + i % width,
                        // key - first key of the block before the query's
                        Some(column) => query % block + block + column - reach,
                    };
                    want[row * columns + column]
                })
                .collect();
            let is_compared =
                |i: usize| self.mask[i / width / length / heads * length + i / width % length] == 1;
            assert_close_where(
                &format!("{}: {stored}", self.place),
                &got.data,
                &want,
                TOLERANCE,
                is_compared,
            );
        }
    }

    /// Compares attention in blocks with BigBird's matrices, which show a key once that counts several times.
    fn ends(&self, blocks: TokenBlocks, output: &ForwardOutput) {
        if !self.tensors.has(&format!("{}.encoder_attentions.0", self.input)) {
            return;
        }
        let length = self.source_length;
        let last = (length - 1) / blocks.size * blocks.size;
        let layers = output.encoder_attentions.iter().zip(&output.encoder_global_attentions);
        for (layer, (got, from_ends)) in layers.enumerate() {
            let stored = format!("{}.encoder_attentions.{layer}", self.input);
            let (want, padded) = (self.tensors.f32(&stored), self.tensors.shape(&stored)[3]);
            let [batch, heads] = [got.shape[0], got.shape[1]];
            let columns = 5 * blocks.size;
            assert_eq!(got.shape, [batch, heads, length, columns], "{}: {stored}", self.place);
            assert_eq!(from_ends.shape, [batch, heads, 2 * blocks.size, length], "{}: {stored}", self.place);
            let rows = (0..batch * heads * length).map(|i| (i / length / heads, i / length, i % length));
            for (sentence, map, query) in rows {
                let mask = &self.mask[sentence * length..][..length];
                if mask[query] == 0 {
                    continue;
                }
                let ends: Vec<usize> = (0..length)
                    .filter(|&token| mask[token] == 1 && (token < blocks.size || token >= last))
                    .collect();
                let want = &want[(map * padded + query) * padded..][..length];
                let mut row = vec![0.0; length];
                match ends.iter().position(|&token| token == query) {
                    Some(end) => row
                        .copy_from_slice(&from_ends.data[(map * 2 * blocks.size + end) * length..][..length]),
                    None => {
                        let weights = &got.data[(map * length + query) * columns..][..columns];
                        assert_close("sum", &[weights.iter().sum()], &[1.0], TOLERANCE);
                        for (&token, weight) in ends.iter().zip(weights) {
                            let copies = if token < blocks.size { 1 + blocks.random } else { 1 };
                            row[token] += weight / copies as f32;
                        }
                        let first = (query / blocks.size - 1) * blocks.size;
                        let band = &weights[2 * blocks.size..];
                        for (row, weight) in row[first..].iter_mut().zip(band) {
                            *row += weight;
                        }
                    }
                }
                let place = format!("{}: {stored}, map {map}, query {query}", self.place);
                assert_close(&place, &row, want, TOLERANCE);
            }
        }
        assert_eq!(output.encoder_attentions.len(), output.encoder_global_attentions.len());
    }

    /// Compares one tensor. `masked_axis` is the axis of source tokens, whose padding is not compared.
    fn tensor(&self, name: &str, got: &Tensor, masked_axis: Option<usize>) {
        let stored = format!("{}.{name}", self.input);
        let place = format!("{}: {stored}", self.place);
        assert_eq!(got.shape, self.tensors.shape(&stored), "{place}");
        let sentence: usize = got.shape[1..].iter().product();
        let is_real = |i: usize| {
            masked_axis.is_none_or(|axis| {
                let inner: usize = got.shape[axis + 1..].iter().product();
                self.mask[i / sentence * self.source_length + i / inner % self.source_length] == 1
            })
        };
        assert_close_where(&place, &got.data, &self.tensors.f32(&stored), TOLERANCE, is_real);
    }
}

/// Tables beyond a buffer's limit are split, and the kernels for the other class of adapter are correct, too.
#[device_test]
async fn small_buffers_and_other_kernels_change_nothing() {
    // the embedding of `marian_tied` in panels takes 176 KiB
    let devices = [
        gpu_with_buffers_of(128 << 10).await,
        gpu_as(AdapterClass::Hardware).await,
        gpu_as(AdapterClass::Software).await,
    ];
    for (index, device) in devices.iter().enumerate() {
        let transformer = load(device, "marian_tied");
        let (tensors, expected) = expected("marian_tied");
        check_forward(&transformer, &tensors, "main", &format!("device {index}")).await;
        let groups = expected["cases"].as_array().expect("cases").chunks(devices.len());
        for case in groups.flat_map(|group| one_in_browsers(index, group)) {
            check_case(&transformer, &tensors, case, &format!("device {index}")).await;
        }
    }
}

#[device_test]
async fn what_no_buffer_can_hold_is_a_typed_error() {
    let device = gpu_with_buffers_of(16 << 10).await;
    let model = model(&data("models/marian_tied"));
    let error =
        Transformer::load(&device, &model, &mut |_| {}).err().expect("a panel alone takes 16 KiB and more");
    assert!(error.to_string().contains("--device cpu"), "{error}");
}

/// `marian_tied` in the form of older uploads, with tied tensors and sinusoids, and with one tensor changed.
fn legacy(tensor: &str, change: impl Fn(f32) -> f32) -> Transformer {
    let folder = data("models/marian_tied");
    let mut weights = read(&folder.join("model_legacy_keys.safetensors"));
    let (header, metadata) = safetensors::SafeTensors::read_metadata(&weights).expect("sound");
    let (from, to) = metadata.info(tensor).expect("is stored").data_offsets;
    for value in weights[8 + header + from..8 + header + to].as_chunks_mut().0 {
        *value = change(f32::from_le_bytes(*value)).to_le_bytes();
    }
    let file = |name: &str| (name.to_owned(), read(&folder.join(name)));
    let [config, generation] = ["config.json", "generation_config.json"].map(file);
    let files = ModelFiles::memory("legacy", [config, generation, ("model.safetensors".into(), weights)]);
    let model = Model::from_files(files).expect("sound");
    Transformer::load(&Device::Cpu, &model, &mut |_| {}).expect("loads")
}

/// If stored copies of tied tensors differ, each is used in its own place, as in transformers 5.
#[device_test]
async fn copies_that_differ_are_used_where_they_are_stored() {
    let input = ForwardInput {
        batch: 1,
        source_length: 3,
        target_length: 2,
        input_ids: vec![5, 17, 0],
        attention_mask: vec![1; 3],
        token_type_ids: Vec::new(),
        decoder_input_ids: vec![644, 9],
        global_attention_mask: Vec::new(),
    };
    let run = async |transformer: &Transformer| transformer.forward(&input).await.expect("runs");
    let plain = run(&legacy("lm_head.weight", |value| value)).await;

    // twice the projection gives twice the logits, except for the bias
    let doubled = run(&legacy("lm_head.weight", |value| 2.0 * value)).await;
    let bias = Tensors::open(&data("models/marian_tied/model.safetensors")).f32("final_logits_bias");
    let want: Vec<f32> =
        plain.logits.data.iter().zip(bias.iter().cycle()).map(|(logit, bias)| 2.0 * logit - bias).collect();
    assert_close("logits", &doubled.logits.data, &want, TOLERANCE);
    assert_eq!(doubled.encoder_last_hidden_state, plain.encoder_last_hidden_state);

    for (tensor, encoder_changes) in [
        ("model.encoder.embed_tokens.weight", true),
        ("model.decoder.embed_tokens.weight", false),
        ("model.encoder.embed_positions.weight", true),
        ("model.decoder.embed_positions.weight", false),
    ] {
        let changed = run(&legacy(tensor, |value| value + 0.25)).await;
        let same = changed.encoder_last_hidden_state == plain.encoder_last_hidden_state;
        assert_eq!(!same, encoder_changes, "{tensor}");
        assert_ne!(changed.logits, plain.logits, "{tensor}");
    }
}

/// Older uploads store tied tensors and sinusoids as well.
#[device_test]
async fn legacy_files_give_the_same() {
    let transformer = legacy("lm_head.weight", |value| value);
    let (tensors, expected) = expected("marian_tied");
    check_forward(&transformer, &tensors, "main", "legacy").await;
    check_case(&transformer, &tensors, &expected["cases"][0], "legacy").await;
}

/// PyTorch's files of both forms, also with the names of older uploads, search as transformers does.
#[device_test]
async fn pytorch_files_give_the_same() {
    let (tensors, expected) = expected("marian_tied");
    for name in ["marian_zip", "marian_legacy", "marian_zip_older_names", "marian_legacy_older_names"] {
        let folder = data("models/marian_tied");
        let file = |name: &str| (name.to_owned(), read(&folder.join(name)));
        let [config, generation] = ["config.json", "generation_config.json"].map(file);
        let weights = ("pytorch_model.bin".to_owned(), complete(name));
        let model =
            Model::from_files(ModelFiles::memory(name, [config, generation, weights])).expect("sound");
        let transformer = Transformer::load(&Device::Cpu, &model, &mut |_| {}).expect("loads");
        check_forward(&transformer, &tensors, "main", name).await;
        check_case(&transformer, &tensors, &expected["cases"][0], name).await;
    }
}

#[device_test]
async fn search_equals_the_reference() {
    for device in devices().await {
        for name in MODELS {
            let transformer = load(&device, name);
            let (tensors, expected) = expected(name);
            let cases = expected["cases"].as_array().expect("cases");
            assert_eq!(cases.is_empty(), transformer.config().architecture() == Architecture::EncoderOnly);
            for case in cases {
                check_case(&transformer, &tensors, case, &format!("{name} on {device}")).await;
            }
        }
    }
}

/// Layers with windows as long as the text search as transformers does with full attention; other kinds have the weights of
/// their formulas; an empty choice gives each layer its own kind back.
#[device_test]
async fn layers_take_other_kinds_of_attention() {
    let choice = |text: &str| text.parse::<SelfAttentionChoice>().expect("sound");
    for device in devices().await {
        for (name, others) in [("marian_tied", "blocks:64"), ("t5_relu_tied", "window:64")] {
            let mut transformer = load(&device, name);
            let (tensors, expected) = expected(name);
            let cases = &expected["cases"].as_array().expect("cases")[..3];
            let wide = choice(&format!("encoder.0=window:4096,encoder.*={others}"));
            for kinds in [wide, SelfAttentionChoice::default()] {
                // what the other choice made is not used again
                transformer.set_attention(&choice("encoder.*=uniform")).expect("has an encoder");
                forward_of(&transformer).await;
                transformer.set_attention(&kinds).expect("has an encoder");
                for case in cases {
                    check_case(&transformer, &tensors, case, &format!("{name} with {kinds} on {device}"))
                        .await;
                }
            }
            transformer
                .set_attention(&choice("encoder.0=uniform,encoder.1=window:1+global:2"))
                .expect("sound");
            let output = transformer.forward(&short_input()).await.expect("runs");
            let [uniform, window] = &output.encoder_attentions[..2] else { panic!("two layers") };
            let length = short_input().source_length;
            assert_close("uniform", &uniform.data, &vec![1.0 / length as f32; uniform.data.len()], TOLERANCE);
            let heads = transformer.config().encoder.heads;
            assert_eq!(window.shape, [1, heads, length, 1 + 3], "a global token, and a window of three");
            for row in window.data.chunks_exact(4) {
                assert_close("a row of the window", &[row.iter().sum()], &[1.0], TOLERANCE);
            }
            let from_global = &output.encoder_global_attentions[0];
            assert_eq!(from_global.shape, [1, heads, 1, length]);
            assert!(from_global.data.iter().all(|&weight| weight > 0.0));
        }
    }
}

/// Projected keys and values, and additive scores, as NumPy has them. A rank as large as the text is long changes nothing.
#[device_test]
async fn projections_and_additive_scores_are_those_of_numpy() {
    let tensors = Tensors::open(&data("attention_kinds.safetensors"));
    let ids = tensors.u32("input_ids");
    let [batch, length] = tensors.shape("input_ids")[..] else { panic!("two dimensions") };
    let mask = tensors.u32("attention_mask");
    let rows = |data: &[f32], width: usize| -> Vec<f32> {
        let rows = data.chunks_exact(width).zip(&mask).filter(|(_, visible)| **visible == 1);
        rows.flat_map(|(row, _)| row.iter().copied()).collect()
    };
    for device in devices().await {
        let mut transformer = load(&device, "marian_tied");
        let (heads, width) = (transformer.config().encoder.heads, transformer.config().d_model);
        for kind in ["linformer:2", "linformer:5", "additive"] {
            let place = format!("{kind} on {device}");
            transformer.set_attention(&format!("encoder.*={kind}").parse().expect("sound")).expect("fits");
            let input = ForwardInput {
                batch,
                source_length: length,
                target_length: 1,
                input_ids: ids.clone(),
                attention_mask: mask.clone(),
                decoder_input_ids: vec![5; batch],
                ..ForwardInput::default()
            };
            let output = transformer.forward(&input).await.expect("runs");
            let want = tensors.f32(&format!("{kind}.encoder_last_hidden_state"));
            let got = &output.encoder_last_hidden_state.data;
            assert_close(&place, &rows(got, width), &rows(&want, width), TOLERANCE);
            let want = tensors.f32(&format!("{kind}.encoder_attentions.1"));
            let got = &output.encoder_attentions[1].data;
            for ((got, want), mask) in got
                .chunks_exact(heads * length * length)
                .zip(want.chunks_exact(heads * length * length))
                .zip(mask.chunks_exact(length))
            {
                let seen = |map: &[f32]| -> Vec<f32> {
                    let rows = map.chunks_exact(length).zip(mask.iter().cycle());
                    rows.filter(|(_, visible)| **visible == 1).flat_map(|(row, _)| row.to_vec()).collect()
                };
                assert_close(&format!("{place}, weights"), &seen(got), &seen(want), TOLERANCE);
            }
        }
        // texts of 16 tokens at most, in a batch that is longer than some of them
        let (tensors, expected) = expected("marian_tied");
        for rank in [64, 512] {
            transformer
                .set_attention(&format!("encoder.*=linformer:{rank}").parse().expect("sound"))
                .expect("fits");
            for case in &expected["cases"].as_array().expect("cases")[..3] {
                check_case(&transformer, &tensors, case, &format!("linformer:{rank} on {device}")).await;
            }
        }
    }
}

/// A source finds the same in a batch with longer and shorter ones, whether its tokens see blocks or all others.
#[device_test]
async fn sources_of_few_and_of_many_blocks_share_a_batch() {
    const INPUTS: [&str; 8] =
        ["alone0", "alone1", "alone2", "alone3", "odd", "long", "just_full", "just_sparse"];
    for device in devices().await {
        let transformer = load(&device, "bigbird_pegasus");
        let (tensors, expected) = expected("bigbird_pegasus");
        let sources: Vec<Vec<u32>> =
            INPUTS.iter().map(|input| tensors.u32(&format!("{input}.input_ids"))).collect();
        let requests: Vec<GenerateRequest> = sources
            .iter()
            .map(|source| {
                let kwargs = JsonObject::parse("options", br#"{"num_beams": 1}"#).expect("an object");
                let kwargs = GenerationConfig::from_json(&kwargs, UnknownKeys::Reject).expect("sound");
                let defaults = transformer.generation_config();
                let options = resolve(&kwargs, defaults, transformer.config(), source).expect("sound");
                GenerateRequest { input_ids: source.clone(), options, global_tokens: Vec::new() }
            })
            .collect();
        let results = transformer.generate(&requests, GenerateOptions::default()).await.expect("runs");
        for (input, result) in INPUTS.iter().zip(&results) {
            let name = format!("greedy_{input}");
            let cases = expected["cases"].as_array().expect("cases");
            let case = cases.iter().find(|case| case["name"] == name).expect("is stored");
            let want: Vec<u32> = serde_json::from_value(case["sequences"][0].clone()).expect("ids");
            assert_eq!(result.hypotheses[0].tokens, want, "{input} on {device}");
        }

        let mut encoder = transformer.encoder(sources.len(), 64).expect("fits");
        encoder.run(&sources).await.expect("runs");
        let memory = encoder.read().await.expect("is there");
        let width = memory.shape[2];
        for (got, input) in memory.data.chunks_exact(64 * width).zip(INPUTS) {
            let want = tensors.f32(&format!("{input}.encoder_last_hidden_state"));
            assert_close(&format!("{input} on {device}"), &got[..want.len()], &want, TOLERANCE);
        }
    }
}

/// With k = q the scores are symmetric, so that the products of weights around any three tokens are equal both ways.
#[device_test]
async fn shared_queries_and_keys_are_symmetric() {
    for device in devices().await {
        let mut transformer = load(&device, "marian_tied");
        transformer.set_attention(&"encoder.*=shared-qk".parse().expect("sound")).expect("has an encoder");
        let output = transformer.forward(&short_input()).await.expect("runs");
        let length = short_input().source_length;
        let mut compared = 0;
        for map in output.encoder_attentions.iter().flat_map(|layer| layer.data.chunks_exact(length * length))
        {
            for (a, b, c) in (2..length).map(|c| (c - 2, c - 1, c)) {
                let around = [(a, b), (b, c), (c, a)].map(|(query, key)| map[query * length + key]);
                let back = [(b, a), (c, b), (a, c)].map(|(query, key)| map[query * length + key]);
                // weights near zero have lost their places
                if around.iter().chain(&back).all(|&weight| weight > 1e-30) {
                    let [around, back] = [around, back].map(|weights| weights.iter().map(|w| w.ln()).sum());
                    // sums of three scores of up to 70
                    assert_close("both ways", &[around], &[back], (1e-4, 1e-5));
                    compared += 1;
                }
            }
        }
        assert!(compared > 10, "{compared} compared");
    }
}

#[device_test]
async fn impossible_attention_is_refused() {
    let mut transformer = load(&Device::Cpu, "marian_tied");
    for (choice, message) in [
        (
            "encoder.2=window:8",
            "no layer encoder.2 to choose the attention of: the model has encoder layers 0 to 1",
        ),
        ("encoder.0=transient-global:3", "needs weights that this \"marian\" model does not have"),
        ("encoder.0=window:1+global:0,encoder.1=window:1+global:2", "one has 0 and another 2"),
        ("encoder.0=blocks:4,encoder.1=blocks:8+random:1", "one has blocks:4 and another blocks:8+random:1"),
    ] {
        let choice: SelfAttentionChoice = choice.parse().expect("sound");
        let error = transformer.set_attention(&choice).expect_err(message).to_string();
        assert!(error.contains(message), "{error}");
    }
    transformer.set_attention(&"encoder.*=window:2+global:0+16".parse().expect("sound")).expect("sound");
    let error = transformer.forward(&short_input()).await.expect_err("beyond").to_string();
    assert!(error.contains("global token 16 is beyond the text of 16 tokens"), "{error}");
    let mut relative = load(&Device::Cpu, "t5_relu_tied");
    relative.set_attention(&"encoder.*=linformer:8".parse().expect("sound")).expect("sound");
    let long = vec![3; 600];
    let input =
        ForwardInput { source_length: 600, attention_mask: vec![1; 600], input_ids: long, ..short_input() };
    let error = relative.forward(&input).await.expect_err("too long").to_string();
    assert!(
        error.contains("linformer:8 projects texts of 512 tokens at most, but this one has 600"),
        "{error}"
    );
    let blocks: SelfAttentionChoice = "encoder.*=blocks:4".parse().expect("sound");
    let error = relative.set_attention(&blocks).expect_err("distances").to_string();
    assert!(error.contains("this \"t5\" model adds a bias for the distance of two tokens"), "{error}");
    let input = ForwardInput { global_attention_mask: vec![1; 16], ..short_input() };
    let error = load(&Device::Cpu, "bart").forward(&input).await.expect_err("takes none").to_string();
    assert!(error.contains("takes no global tokens"), "{error}");
}

async fn check_case(transformer: &Transformer, tensors: &Tensors, case: &Value, place: &str) {
    let place = format!("{place}, case {}", case["name"]);
    let input = case["input"].as_str().expect("input");
    let length = tensors.shape(&format!("{input}.input_ids"))[1];
    let ids = tensors.u32(&format!("{input}.input_ids"));
    let mask = tensors.u32(&format!("{input}.attention_mask"));
    let json =
        JsonObject::parse("the case", case["generate_kwargs"].to_string().as_bytes()).expect("an object");
    let kwargs = GenerationConfig::from_json(&json, UnknownKeys::Reject)
        .unwrap_or_else(|error| panic!("{place}: {error}"));
    // a decoder-only batch is padded on the left, and lengths count the padding
    let padding = |mask: &[u32]| mask.iter().take_while(|&&seen| seen == 0).count();
    let global_mask = format!("{input}.global_attention_mask");
    let global_mask = tensors.has(&global_mask).then(|| tensors.u32(&global_mask));
    let globals =
        |row: usize, token: usize| global_mask.as_ref().is_some_and(|mask| mask[row * length + token] == 1);
    let requests: Vec<GenerateRequest> = ids
        .chunks(length)
        .zip(mask.chunks(length))
        .enumerate()
        .map(|(row, (ids, mask))| {
            let input_ids: Vec<u32> =
                ids.iter().zip(mask).filter(|&(_, &seen)| seen == 1).map(|(&id, _)| id).collect();
            let defaults = transformer.generation_config();
            let mut options = resolve(&kwargs, defaults, transformer.config(), &input_ids)
                .unwrap_or_else(|error| panic!("{place}: {error}"));
            options.max_length -= padding(mask);
            options.min_length = options.min_length.saturating_sub(padding(mask));
            let global_tokens = (0..input_ids.len()).filter(|token| globals(row, *token)).collect();
            GenerateRequest { input_ids, options, global_tokens }
        })
        .collect();
    let results = transformer
        .generate(&requests, GenerateOptions::default())
        .await
        .unwrap_or_else(|error| panic!("{place}: {error}"));

    let pad = requests[0].options.pad;
    let eos = &requests[0].options.eos;
    let hypotheses: Vec<_> = results.iter().flat_map(|result| &result.hypotheses).collect();
    let sequences = case["sequences"].as_array().expect("sequences");
    assert_eq!(hypotheses.len(), sequences.len(), "{place}: number of sequences");
    for (index, (hypothesis, sequence)) in hypotheses.iter().zip(sequences).enumerate() {
        let sentence = index * requests.len() / sequences.len();
        let padded: Vec<u32> = serde_json::from_value(sequence.clone()).expect("ids");
        let padded = &padded[padding(&mask[sentence * length..])..];
        let prompt = requests[sentence].options.prompt.len();
        let end = padded.iter().skip(prompt).position(|id| eos.contains(id));
        let end = end.map_or(padded.len(), |at| at + prompt + 1);
        let want = &padded[..end];
        assert!(padded[end..].iter().all(|id| *id == pad || eos.contains(id)));
        assert_eq!(hypothesis.tokens, want, "{place}: sequence {index}");
        if let Some(score) = case["sequences_scores"][index].as_f64() {
            assert_close(
                &format!("{place}: score {index}"),
                &[hypothesis.score],
                &[score as f32],
                SCORE_TOLERANCE,
            );
        }
        if let Some(logprobs) = case["step_logprobs"][index].as_array() {
            let want: Vec<f32> =
                logprobs.iter().map(|value| value.as_f64().expect("a number") as f32).collect();
            let want = &want[..want.len().min(hypothesis.step_logprobs.len())];
            assert_close(
                &format!("{place}: step_logprobs {index}"),
                &hypothesis.step_logprobs,
                want,
                SCORE_TOLERANCE,
            );
        }
        if let Some(sum) = case["sum_logprob"][index].as_f64() {
            // a sum of up to 63 scores, -155 in one case, so the rounding of f32 logits adds up
            let place = format!("{place}: sum {index}");
            assert_close(&place, &[hypothesis.score], &[sum as f32], (1e-4, 1e-6));
        }
    }
}

/// On every device, weights of every precision give the result of their rounded values in f32 on the CPU.
#[device_test]
async fn stored_precisions_are_those_of_the_rounded_weights() {
    let mut devices = devices().await;
    devices.push(gpu_as(AdapterClass::Hardware).await);
    for name in ["marian_tied", "bart", "t5_relu_tied", "vanilla_preln"] {
        let model = model(&data("models").join(name));
        for precision in [WeightPrecision::F16, WeightPrecision::Q8] {
            let want =
                forward_of(&load_as(&Device::Cpu, &rounded(name, precision), WeightPrecision::F32)).await;
            let exact = forward_of(&load_as(&Device::Cpu, &model, WeightPrecision::F32)).await;
            assert!(want != exact, "{name}: {precision} rounds nothing");
            for device in &devices {
                let transformer = load_as(device, &model, precision);
                assert_eq!(transformer.precision(), precision);
                let got = forward_of(&transformer).await;
                let what = format!("{name} in {precision} on {device}");
                if precision == WeightPrecision::Q8 && device.gpu().is_none() {
                    // x is rounded to 15 bits, weights to 7: the error from x should be about 2⁻⁸ of the error from
                    // the weights, or four times as much, because activations have larger outliers
                    let (lost, of) = (distance(&got, &want), distance(&want, &exact));
                    assert!(lost <= of / 64.0, "{what}: {lost} is lost, by weights {of}");
                } else {
                    assert_close(&what, &got, &want, TOLERANCE);
                }
            }
        }
    }
}

/// Root mean square of the differences.
fn distance(a: &[f32], b: &[f32]) -> f32 {
    let squares: f32 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
    (squares / a.len() as f32).sqrt()
}

fn load_as(device: &Device, model: &Model, precision: WeightPrecision) -> Transformer {
    let choice = PrecisionChoice::Is(precision);
    Transformer::load_with_weights(device, model, choice, &mut |_| {})
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The logits of a short text.
async fn forward_of(transformer: &Transformer) -> Vec<f32> {
    transformer.forward(&short_input()).await.expect("runs").logits.data
}

fn short_input() -> ForwardInput {
    let ids: Vec<u32> = (3..19).collect();
    ForwardInput {
        batch: 1,
        source_length: ids.len(),
        target_length: ids.len(),
        input_ids: ids.clone(),
        attention_mask: vec![1; ids.len()],
        decoder_input_ids: ids,
        ..ForwardInput::default()
    }
}

/// `auto` halves memory if a file is f16, without changing a bit, and changes nothing for other files.
#[device_test]
async fn automatic_precision_is_exact() {
    let device = gpu_as(AdapterClass::Hardware).await;
    let model_f16 = model(&data("models/marian_f16"));
    let auto = Transformer::load(&device, &model_f16, &mut |_| {}).expect("loads");
    let wide = load_as(&device, &model_f16, WeightPrecision::F32);
    assert_eq!((auto.precision(), wide.precision()), (WeightPrecision::F16, WeightPrecision::F32));
    assert!(auto.weight_bytes() < wide.weight_bytes() * 3 / 4, "{} bytes", auto.weight_bytes());
    assert_eq!(forward_of(&auto).await, forward_of(&wide).await);
    // devices where it would be slower
    for device in [Device::Cpu, gpu_as(AdapterClass::Software).await] {
        let wide = Transformer::load(&device, &model_f16, &mut |_| {}).expect("loads");
        assert_eq!(wide.precision(), WeightPrecision::F32, "{device}");
    }
    for other in ["marian_tied", "t5_gated_untied_bf16"] {
        assert_eq!(load(&device, other).precision(), WeightPrecision::F32, "{other}");
    }
}

/// A value beyond f16 does not become infinity: it is an error that names the weight and the way out.
#[device_test]
async fn a_weight_beyond_half_precision_is_refused() {
    let folder = data("models/marian_tied");
    let mut bytes = read(&folder.join("model.safetensors"));
    let (header, tensors) = SafeTensors::read_metadata(&bytes).expect("a sound fixture");
    let place = tensors.info("model.encoder.layers.0.fc1.weight").expect("a matrix").data_offsets.0;
    bytes[8 + header + place..][..4].copy_from_slice(&70_000f32.to_le_bytes());
    let files = [("config.json", read(&folder.join("config.json"))), ("model.safetensors", bytes)];
    let model = Model::from_files(ModelFiles::memory("large", files)).expect("sound");
    for device in devices().await {
        let choice = PrecisionChoice::Is(WeightPrecision::F16);
        let error =
            Transformer::load_with_weights(&device, &model, choice, &mut |_| {}).err().expect("too large");
        let message = error.to_string();
        let parts = ["layers.0.fc1", "70000", "f16", "--weights f32"];
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        load_as(&device, &model, WeightPrecision::Q8);
    }
}
