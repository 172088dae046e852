//! Learned projections of keys and values along the length: against torch, as full attention where nothing is projected, alone
//! and in a batch, through saving and loading, and refused where a model has no place for them.

use std::collections::BTreeMap;

use crate::common::{Tensors, assert_close_where, data, device_test, devices, portable_test, read};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::Value;
use wordloom::decode::DecodeOptions;
use wordloom::model::SelfAttentionChoice;
use wordloom::model::files::ModelFiles;
use wordloom::precision::PrecisionChoice;
use wordloom::trace::{AttentionKind, TraceOptions, TraceRequest, record};
use wordloom::train::new_projections::new_projections;
use wordloom::train::{Capacity, Pair, Recipe, Trainer};
use wordloom::transformer::{Cancel, ForwardInput, ForwardSelection, GenerateOptions, GenerateRequest, Keep};
use wordloom::{Device, Model, Transformer, WeightPrecision};

const FOLDER: &str = "models/marian_tied";
const RANK: usize = 4;
const HEADS: usize = 4;
const POSITIONS: usize = 64;
const PAD: u32 = 644;
const CAPACITY: Capacity = Capacity { source_rows: 37, target_rows: 33 };

/// The fixture's model with a key of its configuration, and more tensors: name, rank, values.
fn with(attention: &str, more: &[(String, usize, Vec<f32>)]) -> Model {
    let folder = data(FOLDER);
    let mut config: Value = serde_json::from_slice(&read(&folder.join("config.json"))).unwrap();
    config["wordloom_attention"] = attention.into();
    let weights = read(&folder.join("model.safetensors"));
    let old = safetensors::SafeTensors::deserialize(&weights).unwrap();
    let bytes: Vec<Vec<u8>> =
        more.iter().map(|(_, _, values)| bytemuck::cast_slice(values).to_vec()).collect();
    let new = more.iter().zip(&bytes).map(|((name, rank, values), bytes)| {
        let shape = vec![*rank, values.len() / rank];
        (name.clone(), TensorView::new(Dtype::F32, shape, bytes).unwrap())
    });
    let weights = safetensors::serialize(old.tensors().into_iter().chain(new), None).unwrap();
    open(config.to_string().into_bytes(), weights)
}

fn open(config: Vec<u8>, weights: Vec<u8>) -> Model {
    try_open(config, weights).unwrap_or_else(|error| panic!("{error}"))
}

fn try_open(config: Vec<u8>, weights: Vec<u8>) -> Result<Model, wordloom::ModelError> {
    let generation = read(&data(FOLDER).join("generation_config.json"));
    let files =
        [("config.json", config), ("generation_config.json", generation), ("model.safetensors", weights)];
    Model::from_files(ModelFiles::memory("learned", files))
}

/// Names of the factors of both layers.
fn names() -> impl Iterator<Item = String> {
    (0..2).flat_map(|layer| {
        ["keys", "values"].map(|part| format!("model.encoder.layers.{layer}.self_attn.linformer_{part}"))
    })
}

fn fixture() -> (Tensors, Model) {
    let stored = Tensors::open(&data("linformer.safetensors"));
    let factors: Vec<_> = names().map(|name| (name.clone(), RANK, stored.f32(&name))).collect();
    (stored, with("encoder.*=linformer:4", &factors))
}

/// Random factors of one rank.
fn random(rank: usize) -> Model {
    let values = |seed| wordloom::answers::random(seed, rank * POSITIONS);
    let factors: Vec<_> = names().zip(1..).map(|(name, seed)| (name, rank, values(seed))).collect();
    with(&format!("encoder.*=linformer:{rank}"), &factors)
}

fn batch(name: &str) -> (Tensors, String) {
    (Tensors::open(&data("training/marian_tied/expected.safetensors")), name.to_owned())
}

fn pairs(name: &str) -> Vec<Pair> {
    let (tensors, batch) = batch(name);
    let rows = |part: &str| -> Vec<Vec<u32>> {
        let name = format!("{batch}.{part}");
        tensors.u32(&name).chunks(tensors.shape(&name)[1]).map(<[u32]>::to_vec).collect()
    };
    let sources = rows("input_ids").into_iter().zip(rows("attention_mask"));
    let sources = sources.map(|(ids, mask)| {
        ids.into_iter().zip(mask).filter(|(_, mask)| *mask != 0).map(|(id, _)| id).collect()
    });
    let targets = rows("labels").into_iter().map(|ids| ids.into_iter().filter(|id| *id != PAD).collect());
    sources.zip(targets).map(|(source, target)| Pair { source, target }).collect()
}

#[device_test]
async fn states_and_logits_are_those_of_torch() {
    let (stored, model) = fixture();
    for device in devices().await {
        let transformer = Transformer::load(&device, &model, &mut |_| {}).unwrap();
        for name in ["padded", "full"] {
            let (tensors, batch) = batch(name);
            let part = |part: &str| tensors.u32(&format!("{batch}.{part}"));
            let [rows, length] = tensors.shape(&format!("{batch}.input_ids"))[..] else { panic!("a matrix") };
            let mask = part("attention_mask");
            let decoder_input_ids = part("decoder_input_ids");
            let input = ForwardInput {
                batch: rows,
                source_length: length,
                target_length: decoder_input_ids.len() / rows,
                input_ids: part("input_ids"),
                attention_mask: mask.clone(),
                decoder_input_ids,
                ..ForwardInput::default()
            };
            let selection = ForwardSelection {
                hidden: true,
                logits: true,
                encoder_attentions: vec![0, 1],
                ..ForwardSelection::default()
            };
            let output = transformer.forward_selected(&input, &selection).await.unwrap();
            let states = output.encoder_last_hidden_state.data;
            let width = states.len() / mask.len();
            let what = format!("{name} on {device:?}");
            let is_token = |i: usize| mask[i / width] != 0;
            assert_close_where(
                &what,
                &states,
                &stored.f32(&format!("{name}.states")),
                (3e-5, 3e-5),
                is_token,
            );
            let logits = output.logits.data;
            let want = stored.f32(&format!("{name}.logits"));
            assert_close_where(&what, &logits, &want, (2e-4, 2e-4), |_| true);
            // a sentence of more tokens than sums weighs RANK of them
            for (row, weights) in output.encoder_attentions[0].data.chunks(length).enumerate() {
                let sentence = row / (HEADS * length);
                let count = mask[sentence * length..][..length].iter().sum::<u32>() as usize;
                let (seen, others) = weights.split_at(count.min(RANK));
                assert!((seen.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{what}: row {row} {weights:?}");
                assert!(others.iter().all(|&weight| weight == 0.0), "{what}: row {row} {weights:?}");
            }
        }
    }
}

#[device_test]
async fn gradients_are_those_of_torch() {
    let (stored, model) = fixture();
    for device in devices().await {
        for name in ["padded", "full"] {
            let recipe = Recipe { dropout: 0.0, ..Recipe::default() };
            let mut trainer = Trainer::new(&device, model.clone(), recipe, CAPACITY).unwrap();
            trainer.add_gradients(&[&pairs(name)]).await.unwrap();
            let loss = trainer.losses().await.unwrap().mean_smoothed();
            let want = f64::from(stored.f32(&format!("{name}.loss"))[0]);
            assert!((loss - want).abs() <= 2e-5 * want, "{name} on {device:?}: {loss}, not {want}");
            let gradients = trainer.gradients().await.unwrap();
            let prefix = format!("{name}.grad.");
            let compared: Vec<String> =
                stored.names().into_iter().filter(|name| name.starts_with(&prefix)).collect();
            assert_eq!(compared.len(), 9);
            for tensor in compared {
                let want = stored.f32(&tensor);
                let most = want.iter().fold(0.0f32, |most, value| most.max(value.abs()));
                let got = &gradients[&tensor[prefix.len()..]].values;
                let what = format!("{tensor} on {device:?}");
                assert_close_where(&what, got, &want, (1e-4 * most + 1e-6, 0.0), |_| true);
            }
        }
    }
}

fn requests() -> Vec<GenerateRequest> {
    let request = |pair: Pair| GenerateRequest::new(pair.source, DecodeOptions::new(PAD, 0, PAD));
    pairs("padded").into_iter().map(request).collect()
}

async fn ids(transformer: &Transformer, requests: &[GenerateRequest]) -> Vec<Vec<u32>> {
    let found = transformer.generate(requests, GenerateOptions::default()).await.unwrap();
    found.into_iter().map(|found| found.hypotheses[0].tokens.clone()).collect()
}

#[device_test]
async fn a_rank_of_the_length_is_full_attention_and_neighbours_change_nothing() {
    for device in devices().await {
        let plain = Model::load(data(FOLDER)).unwrap();
        let want = ids(&Transformer::load(&device, &plain, &mut |_| {}).unwrap(), &requests()).await;
        let longest = requests().iter().map(|request| request.input_ids.len()).max().unwrap();
        for rank in [longest, POSITIONS] {
            let transformer = Transformer::load(&device, &random(rank), &mut |_| {}).unwrap();
            assert_eq!(ids(&transformer, &requests()).await, want, "rank {rank}");
        }
        let transformer = Transformer::load(&device, &random(3), &mut |_| {}).unwrap();
        let together = ids(&transformer, &requests()).await;
        assert_ne!(together, want, "projections that are random change something");
        for (request, together) in requests().iter().zip(&together) {
            assert_eq!(ids(&transformer, std::slice::from_ref(request)).await[0], *together);
        }
    }
}

#[device_test]
async fn a_layer_takes_other_kinds_and_its_own_again() {
    let choice = |text: &str| text.parse::<SelfAttentionChoice>().unwrap();
    let model = random(3);
    let mut transformer = Transformer::load(&Device::Cpu, &model, &mut |_| {}).unwrap();
    let own = ids(&transformer, &requests()).await;
    assert_eq!(transformer.config().approximations(), Vec::<String>::new());
    // another rank than the learned one is the nearest matrix
    transformer.set_attention(&choice("encoder.0=linformer:2")).unwrap();
    assert!(transformer.config().approximations()[0].contains("linformer:2 is an approximation"));
    transformer.set_attention(&choice("encoder.*=full")).unwrap();
    let plain = Transformer::load(&Device::Cpu, &Model::load(data(FOLDER)).unwrap(), &mut |_| {}).unwrap();
    assert_eq!(ids(&transformer, &requests()).await, ids(&plain, &requests()).await);
    transformer.set_attention(&choice("encoder.*=linformer:3")).unwrap();
    assert_eq!(transformer.config().approximations(), Vec::<String>::new());
    assert_eq!(ids(&transformer, &requests()).await, own);
    // weights in less precision: the factors stay in f32
    for precision in [WeightPrecision::F16, WeightPrecision::Q8].map(PrecisionChoice::Is) {
        let loaded = Transformer::load_with_weights(&Device::Cpu, &model, precision, &mut |_| {}).unwrap();
        assert_eq!(ids(&loaded, &requests()).await.len(), own.len());
    }
}

/// Maps have a column for each sum, in a pass and in a search, and say so. A text without sums has a matrix of its tokens.
#[device_test]
async fn maps_are_over_sums() {
    let (_, model) = fixture();
    for device in devices().await {
        let transformer = Transformer::load(&device, &model, &mut |_| {}).unwrap();
        for length in [RANK, 3 * RANK + 1] {
            let input_ids: Vec<u32> = (0..length as u32).map(|i| 5 + 11 * i).collect();
            let asked = GenerateRequest::new(input_ids.clone(), DecodeOptions::new(PAD, 0, PAD));
            let options = TraceOptions { scores: false, ..TraceOptions::default() };
            let keep = Keep { attention: Some(options.keep_attention()), ..Keep::default() };
            let found = transformer.generate(&[asked], GenerateOptions::default().keep(keep)).await.unwrap();
            let target_ids = found[0].hypotheses[0].tokens.clone();
            let of_search = found[0].attention.as_ref().unwrap().read().await.unwrap();
            let request = TraceRequest { input_ids, target_ids, prompt: 1 };
            let recorded = record(&transformer, &[request], &options, &Cancel::default()).await.unwrap();
            for (of_search, of_pass) in of_search.iter().zip(&recorded[0].attention) {
                let is_summed = of_pass.kind == AttentionKind::Encoder && length > RANK;
                let sums = if is_summed { RANK } else { 0 };
                assert_eq!(of_pass.columns(), of_pass.keys + sums);
                assert_eq!(of_search.columns(), of_pass.columns());
                for query in 0..of_pass.queries {
                    let [row, other] = [of_pass, of_search].map(|layer| layer.row(1, query));
                    let what = format!("{:?} {query} of {length} on {device:?}", of_pass.kind);
                    assert_close_where(&what, &other, &row, (1e-5, 1e-5), |_| true);
                    assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{what}: {row:?}");
                    if is_summed {
                        assert!(row[..length].iter().all(|&weight| weight == 0.0), "{what}: {row:?}");
                    }
                }
                if is_summed {
                    let layout = &of_pass.bands.as_ref().unwrap().layout;
                    assert_eq!(layout.sum_label(2, length), "Σ 2");
                }
            }
        }
    }
}

/// The model of a trainer, saved and opened.
async fn saved(trainer: &Trainer, config: Vec<u8>) -> Model {
    let tensors = trainer.tensors().await.unwrap();
    let bytes: BTreeMap<&String, Vec<u8>> =
        tensors.iter().map(|(name, tensor)| (name, bytemuck::cast_slice(&tensor.values).to_vec())).collect();
    let views = tensors.iter().map(|(name, tensor)| {
        (name.clone(), TensorView::new(Dtype::F32, tensor.shape.clone(), &bytes[name]).unwrap())
    });
    open(config, safetensors::serialize(views, None).unwrap())
}

#[device_test]
async fn new_projections_are_trained_alone_and_go_on_bit_for_bit() {
    let folder = ModelFiles::directory(data(FOLDER)).unwrap();
    let new = new_projections(&folder, &"encoder.1=linformer:4".parse().unwrap()).unwrap();
    assert_eq!(new.layers, 1);
    let model = open(new.config.clone(), new.weights);
    let plain = Model::load(data(FOLDER)).unwrap();
    assert_eq!(model.config().parameter_count(), plain.config().parameter_count() + 2 * 4 * POSITIONS as u64);
    for device in devices().await {
        let recipe =
            Recipe { train_only: vec!["linformer".to_owned()], weight_decay: 0.1, ..Recipe::default() };
        let start = || Trainer::new(&device, model.clone(), recipe.clone(), CAPACITY).unwrap();
        let (mut whole, mut first) = (start(), start());
        let before = whole.tensors().await.unwrap();
        for trainer in [&mut whole, &mut first] {
            trainer.take_step(&[&pairs("padded")], 1e-2).await.unwrap();
        }
        for (name, tensor) in first.tensors().await.unwrap() {
            assert_eq!(tensor != before[&name], name.contains("linformer"), "{name}");
        }
        let (moments, step, passes) =
            (first.moments().await.unwrap(), first.step_count(), first.pass_count());
        let folder = saved(&first, new.config.clone()).await;
        let mut resumed = Trainer::new(&device, folder, recipe.clone(), CAPACITY).unwrap();
        resumed.resume(&moments, step, passes).unwrap();
        for trainer in [&mut whole, &mut resumed] {
            for batch in ["full", "padded"] {
                trainer.take_step(&[&pairs(batch)], 1e-2).await.unwrap();
            }
        }
        assert_eq!(whole.tensors().await.unwrap(), resumed.tensors().await.unwrap(), "bit for bit");
        // packed sentences of a training have the loss of padded ones
        let opened = saved(&whole, new.config.clone()).await;
        let mut again = Trainer::new(&device, opened, recipe.clone(), CAPACITY).unwrap();
        let batch = pairs("padded");
        let losses = [&mut whole, &mut again]
            .map(|trainer| pollster::block_on(trainer.evaluate(&[&batch], &Cancel::default())));
        let [one, other] = losses.map(|losses| losses.unwrap().mean());
        assert_eq!(one, other);
    }
}

#[portable_test]
fn what_has_no_place_is_refused() {
    let new = |model: &str, choice: &str| {
        let files = ModelFiles::directory(data("models").join(model)).unwrap();
        new_projections(&files, &choice.parse().unwrap()).expect_err("refused").to_string()
    };
    for (model, choice, text) in [
        ("marian_tied", "encoder.*=window:2", "window:2: a training learns linformer:K only"),
        ("marian_tied", "encoder.9=linformer:2", "no layer encoder.9"),
        ("marian_tied", "encoder.*=linformer:65", "more rows than the model's 64 positions"),
        ("t5_relu_tied", "encoder.*=linformer:2", "bias for the distance"),
        ("bert", "encoder.*=linformer:2", "no place for learned projections"),
        ("gpt2", "encoder.*=linformer:2", "no encoder"),
    ] {
        let message = new(model, choice);
        assert!(message.contains(text), "{message}");
    }
    let folder = data(FOLDER);
    let weights = || read(&folder.join("model.safetensors"));
    let refused = |attention: &str| {
        let mut config: Value = serde_json::from_slice(&read(&folder.join("config.json"))).unwrap();
        config["wordloom_attention"] = attention.into();
        try_open(config.to_string().into_bytes(), weights()).err().expect("refused").to_string()
    };
    let message = refused("encoder.*=linformer:4");
    assert!(message.contains("model.encoder.layers.0.self_attn.linformer_keys"), "{message}");
    for (attention, text) in [
        ("encoder.*=linformer:0", "1 dimension or more"),
        ("encoder.*=linformer:65", "64 positions"),
        ("decoder.*=linformer:4", "only an encoder's"),
        ("encoder.2=linformer:4", "encoder.2"),
        ("linformer:4", "LAYER=KIND"),
    ] {
        let message = refused(attention);
        assert!(message.contains("wordloom_attention") && message.contains(text), "{message}");
    }
    // factors of another rank than the configuration says
    let factors: Vec<_> = names().map(|name| (name, 5, vec![0.0; 5 * POSITIONS])).collect();
    let wrong = std::panic::catch_unwind(|| with("encoder.*=linformer:4", &factors));
    assert!(wrong.is_err());
}
