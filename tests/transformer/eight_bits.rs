//! Files with matrices in 8 bits: what is written, what is read again, and what is refused.

use crate::common::{data, device_test, model, repository, rounded};
use safetensors::SafeTensors;
use serde_json::{Value, json};
use wordloom::model::checkpoint::Checkpoint;
use wordloom::model::files::ModelFiles;
use wordloom::model::{ModelError, QuantizeError};
use wordloom::precision::{PrecisionChoice, WeightPrecision, quantize, row_scale};
use wordloom::transformer::{ForwardInput, Transformer};
use wordloom::{Device, Model};

/// Of every layout: shared and separate tables, an own projection, transposed matrices, distances, an encoder alone.
const MODELS: [&str; 8] = [
    "marian_tied",
    "marian_untied_swish",
    "marian_separate_head",
    "vanilla_preln",
    "bart",
    "t5_relu_tied",
    "bert",
    "gpt2",
];

fn written(model: &Model) -> Vec<u8> {
    let mut bytes = Vec::new();
    model.write_quantized(&mut bytes).expect("can be written");
    bytes
}

fn in_8_bits(name: &str) -> Model {
    let folder = data("models").join(name);
    let files = [
        ("config.json", std::fs::read(folder.join("config.json")).expect("a configuration")),
        ("model.safetensors", written(&model(&folder))),
    ];
    Model::from_files(ModelFiles::memory(name, files)).expect("can be read again")
}

/// The logits, or the encoder's states, of some ids.
async fn run(model: &Model, precision: WeightPrecision) -> Vec<f32> {
    run_with(model, PrecisionChoice::Is(precision)).await
}

async fn run_with(model: &Model, choice: PrecisionChoice) -> Vec<f32> {
    let transformer =
        Transformer::load_with_weights(&Device::Cpu, model, choice, &mut |_| {}).expect("loads");
    let ids = vec![5, 9, 17, 4, 11, 6];
    let targets = if model.config().decoder.layers > 0 && model.config().encoder.layers > 0 { 6 } else { 0 };
    let input = ForwardInput {
        batch: 1,
        source_length: ids.len(),
        attention_mask: vec![1; ids.len()],
        target_length: targets,
        decoder_input_ids: ids[..targets].to_vec(),
        input_ids: ids,
        ..ForwardInput::default()
    };
    transformer.forward(&input).await.expect("runs").logits.data
}

#[device_test]
async fn the_numbers_are_those_of_q8_and_their_products_those_of_rounded_weights() {
    for name in MODELS {
        let (original, small) = (model(&data("models").join(name)), in_8_bits(name));
        assert_eq!(small.stored_precision(), WeightPrecision::Q8, "{name}");
        let q8 = run(&small, WeightPrecision::Q8).await;
        assert_eq!(q8, run(&original, WeightPrecision::Q8).await, "{name}: numbers as they are");
        assert!(q8.iter().all(|value| value.is_finite()), "{name}");
    }
    // a scale for each row of the file, which in GPT-2's is not a row of the matrix
    for name in MODELS.into_iter().filter(|name| *name != "gpt2") {
        let (rounded, small) = (rounded(name, WeightPrecision::Q8), in_8_bits(name));
        let f32 = run(&small, WeightPrecision::F32).await;
        assert_eq!(f32, run(&rounded, WeightPrecision::F32).await, "{name}: products");
    }
}

/// The mean difference of numbers, as a share of their mean magnitude.
fn difference(got: &[f32], want: &[f32]) -> f32 {
    let sum: f32 = got.iter().zip(want).map(|(got, want)| (got - want).abs()).sum();
    sum / want.iter().map(|want| want.abs()).sum::<f32>()
}

#[device_test]
async fn inputs_of_8_bits_cost_a_little_of_the_numbers() {
    for name in MODELS {
        let model = in_8_bits(name);
        let q8 = run(&model, WeightPrecision::Q8).await;
        let w8a8 = run_with(&model, PrecisionChoice::W8A8).await;
        let difference = difference(&w8a8, &q8);
        assert!((1e-5..0.05).contains(&difference), "{name}: {difference}");
    }
}

#[device_test]
async fn a_gpu_refuses_inputs_of_8_bits() {
    let (device, model) = (Device::Gpu(crate::common::gpu().await), in_8_bits("marian_tied"));
    let loaded = Transformer::load_with_weights(&device, &model, PrecisionChoice::W8A8, &mut |_| {});
    let Err(refused @ ModelError::EightBitInputs { .. }) = loaded else { panic!("loaded on {device}") };
    assert!(refused.to_string().contains("choose the CPU"), "{refused}");
}

#[test]
fn the_default_model_is_its_source_in_8_bits() {
    let source = Model::load(repository("models/tatoeba-en-de")).expect("sound");
    let shipped = std::fs::read(repository("models/tatoeba-en-de-q8/model.safetensors")).expect("is there");
    assert!(written(&source) == shipped, "run `wordloom quantize models/tatoeba-en-de`");
    for name in ["config.json", "generation_config.json", "source.spm", "target.spm", "vocab.json"] {
        let read = |folder: &str| std::fs::read(repository(folder).join(name)).expect("is there");
        assert!(read("models/tatoeba-en-de") == read("models/tatoeba-en-de-q8"), "{name}");
    }
}

#[test]
fn a_file_is_what_docs_weights_md_says() {
    let original = model(&data("models/gpt2"));
    let bytes = written(&original);
    let (_, metadata) = SafeTensors::read_metadata(&bytes).expect("any reader can read it");
    let said = metadata.metadata().as_ref().expect("metadata");
    assert_eq!((&said["format"][..], &said["version"][..]), ("wordloom-q8", "1"));
    let file = SafeTensors::deserialize(&bytes).expect("sound");
    let checkpoint = original.checkpoint();
    let matrix = "transformer.h.0.attn.c_attn.weight";
    let name = if checkpoint.contains(matrix) { matrix } else { &matrix["transformer.".len()..] };
    let (values, scales) = (file.tensor(name).unwrap(), file.tensor(&format!("{name}.scale")).unwrap());
    let &[rows, columns] = values.shape() else { panic!("a matrix") };
    assert_eq!(scales.shape(), [1, columns], "an output is a column here");
    let mut column = vec![0.0; rows];
    for at in [0, columns / 2, columns - 1] {
        checkpoint.read_columns(name, at..at + 1, &mut column).unwrap();
        let scale = f32::from_le_bytes(scales.data()[4 * at..][..4].try_into().unwrap());
        assert_eq!(scale, row_scale(&column));
        for (row, &value) in column.iter().enumerate() {
            assert_eq!(values.data()[row * columns + at].cast_signed(), quantize(value, scale));
        }
    }
}

/// A file with the matrix `m`, 2 rows of 3, and whatever stands for its scales.
fn file(metadata: Value, scale: Value, values: [i8; 6], scales: [f32; 3]) -> Vec<u8> {
    let mut header = json!({
        "__metadata__": metadata,
        "other": { "dtype": "F32", "shape": [3], "data_offsets": [0, 12] },
        "m": { "dtype": "I8", "shape": [2, 3], "data_offsets": [12, 18] },
    });
    if !scale.is_null() {
        let (name, other) = ("m.scale".to_owned(), header.as_object_mut().unwrap());
        other.insert(name, scale);
        other.remove("other");
    }
    let header = header.to_string();
    let scales = scales.map(f32::to_le_bytes).concat();
    let values = values.map(i8::cast_unsigned);
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &scales, &values].concat()
}

fn sound() -> Value {
    json!({ "format": "wordloom-q8", "version": "1" })
}

fn by_column() -> Value {
    json!({ "dtype": "F32", "shape": [1, 3], "data_offsets": [0, 12] })
}

fn read(file: Vec<u8>) -> Result<Checkpoint, ModelError> {
    Checkpoint::open(&ModelFiles::memory("test", [("model.safetensors", file)]))
}

#[test]
fn any_range_is_multiplied_by_its_scales() {
    let checkpoint = read(file(sound(), by_column(), [1, 2, 3, -4, 5, 127], [1.0, 10.0, 0.5])).unwrap();
    let whole = [1.0, 20.0, 1.5, -4.0, 50.0, 63.5];
    let mut values = [0.0; 6];
    checkpoint.read("m", &mut values).unwrap();
    assert_eq!(values, whole);
    checkpoint.read_rows("m", 1..2, &mut values[..3]).unwrap();
    assert_eq!(values[..3], whole[3..]);
    checkpoint.read_columns("m", 1..3, &mut values[..4]).unwrap();
    assert_eq!(values[..4], [20.0, 50.0, 1.5, 63.5]);
    assert_eq!(checkpoint.names().collect::<Vec<_>>(), ["m"], "scales are no tensors of their own");
}

#[test]
fn what_is_wrong_is_named() {
    let values = [1; 6];
    let scales = [1.0; 3];
    let of_rows = json!({ "dtype": "F32", "shape": [3, 1], "data_offsets": [0, 12] });
    let of_halves = json!({ "dtype": "F16", "shape": [6], "data_offsets": [0, 12] });
    for (metadata, scale, message) in [
        (sound(), Value::Null, "\"m\" is in 8 bits, but has no scales"),
        (sound(), of_rows, "the scales of \"m\", [2, 3], are F32 [3, 1]"),
        (sound(), of_halves, "the scales of \"m\", [2, 3], are F16 [6]"),
        (
            json!({ "format": "wordloom-q8", "version": "2" }),
            by_column(),
            "has the version \"2\"; \"1\" is known",
        ),
        (json!({ "format": "wordloom-q8" }), by_column(), "has no version; \"1\" is known"),
    ] {
        let error = read(file(metadata, scale, values, scales)).expect_err(message).to_string();
        assert!(error.contains(message) && error.contains("test/model.safetensors"), "{error}");
    }
    let smallest = read(file(sound(), by_column(), [1, 1, 1, 1, 1, -128], scales)).unwrap();
    let error = smallest.read("m", &mut [0.0; 6]).expect_err("-128 has no counterpart").to_string();
    assert!(error.contains("\"m\" has the value -128"), "{error}");
    let plain = read(file(json!({ "format": "pt" }), by_column(), values, scales)).unwrap();
    let error = plain.require("m", &[2, 3]).expect_err("of another format").to_string();
    assert!(error.contains("\"m\" is stored as I8; weights can be F32"), "{error}");
}

#[test]
fn rounding_twice_and_what_is_no_number_are_refused() {
    let error = in_8_bits("marian_tied").write_quantized(&mut Vec::new()).expect_err("is in 8 bits");
    assert!(matches!(error, QuantizeError::AlreadyQuantized { .. }), "{error}");
    let broken = crate::common::edited("marian_tied", |name, _, values| {
        if name.ends_with("fc1.weight") {
            values[7] = f32::NAN;
        }
    });
    let error = broken.write_quantized(&mut Vec::new()).expect_err("has no scale").to_string();
    assert!(error.contains("fc1.weight") && error.contains("q8 cannot hold"), "{error}");
}
