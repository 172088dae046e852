//! Model folders and safetensors files: valid and invalid ones.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};
use wordloom::model::ModelError;
use wordloom::model::checkpoint::Checkpoint;
use wordloom::model::files::ModelFiles;

use crate::assert_refused;
use crate::common::data;

const MODELS: [&str; 6] = [
    "marian_tied",
    "marian_untied_swish",
    "marian_separate_head",
    "marian_f16",
    "vanilla_postln",
    "vanilla_preln",
];

/// A folder in memory with one checkpoint file.
fn single(bytes: impl Into<Cow<'static, [u8]>>) -> ModelFiles {
    ModelFiles::memory("test", [("model.safetensors", bytes)])
}

fn open(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Checkpoint, ModelError> {
    Checkpoint::open(&single(bytes))
}

/// A safetensors file with any header, valid or not.
fn file(header: impl ToString, data: &[u8]) -> Vec<u8> {
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

fn entry(dtype: &str, shape: &[u64], from: u64, to: u64) -> Value {
    json!({ "dtype": dtype, "shape": shape, "data_offsets": [from, to] })
}

fn read(checkpoint: &Checkpoint, name: &str) -> Vec<f32> {
    let mut values = vec![f32::NAN; checkpoint.info(name).expect(name).element_count()];
    checkpoint.read(name, &mut values).expect(name);
    values
}

#[test]
fn every_tensor_of_every_model_is_read_as_the_safetensors_crate_reads_it() {
    for model in MODELS {
        let bytes = fs::read(data(&format!("models/{model}/model.safetensors"))).unwrap();
        let reference = SafeTensors::deserialize(&bytes).unwrap();
        let checkpoint =
            Checkpoint::open(&ModelFiles::directory(data(&format!("models/{model}"))).unwrap()).unwrap();
        assert_eq!(checkpoint.byte_len(), bytes.len() as u64);
        let mut names = reference.names();
        names.sort_unstable();
        assert!(checkpoint.names().eq(names), "{model}");
        for (name, tensor) in reference.iter() {
            let info = checkpoint.require(name, tensor.shape()).unwrap();
            assert_eq!(info.dtype, tensor.dtype());
            let expected: Vec<f32> = match tensor.dtype() {
                Dtype::F32 => {
                    tensor.data().as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
                }
                Dtype::F16 => {
                    let halves = tensor.data().as_chunks().0.iter();
                    halves.map(|&bytes| half::f16::from_le_bytes(bytes).to_f32()).collect()
                }
                other => panic!("{model}: {name} is {other}"),
            };
            assert_eq!(read(&checkpoint, name), expected, "{model}: {name}");
        }
    }
}

#[test]
fn an_older_file_has_the_same_tensors_and_copies_of_them() {
    let checkpoint =
        open(fs::read(data("models/marian_tied/model_legacy_keys.safetensors")).unwrap()).unwrap();
    assert_eq!(read(&checkpoint, "lm_head.weight"), read(&checkpoint, "model.shared.weight"));
    checkpoint.require("model.encoder.embed_positions.weight", &[64, 64]).unwrap();
}

#[test]
fn half_precision_is_widened_exactly() {
    let checkpoint = open(fs::read(data("kernels/halfprec.safetensors")).unwrap()).unwrap();
    for dtype in ["f16", "bf16"] {
        let (values, expected) = (read(&checkpoint, dtype), read(&checkpoint, &format!("{dtype}_as_f32")));
        assert_eq!(values.len(), expected.len());
        for (value, expected) in values.into_iter().zip(expected) {
            let same = value.to_bits() == expected.to_bits() || value.is_nan() && expected.is_nan();
            assert!(same, "{dtype}: {value} is not {expected}");
        }
    }
}

#[test]
fn rows_are_slices_of_the_whole_in_every_type() {
    // Large enough to be read in several chunks, with rows across their borders.
    let (rows, width) = (301, 1003);
    let values: Vec<f32> = (0..rows * width).map(|i| (i % 2039) as f32 - 1000.0).collect();
    let encode = |dtype: &str| -> Vec<u8> {
        match dtype {
            "F16" => values.iter().flat_map(|&value| half::f16::from_f32(value).to_le_bytes()).collect(),
            "BF16" => values.iter().flat_map(|&value| half::bf16::from_f32(value).to_le_bytes()).collect(),
            "F32" => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            _ => values.iter().flat_map(|&value| f64::from(value).to_le_bytes()).collect(),
        }
    };
    for dtype in ["F16", "BF16", "F32", "F64"] {
        let bytes = encode(dtype);
        let header = json!({ "x": entry(dtype, &[301, 17, 59], 0, bytes.len() as u64) });
        let checkpoint = open(file(header, &bytes)).unwrap();
        let whole = read(&checkpoint, "x");
        if dtype != "BF16" {
            assert_eq!(whole, values, "{dtype}");
        }
        for range in [0..1, 0..301, 7..130, 300..301, 5..5, 301..301] {
            let mut part = vec![f32::NAN; range.len() * width];
            checkpoint.read_rows("x", range.clone(), &mut part).unwrap();
            assert_eq!(part, whole[range.start * width..range.end * width], "{dtype}: {range:?}");
        }
    }
}

#[test]
fn scalars_and_empty_tensors_are_read() {
    let header = json!({ "one": entry("F32", &[], 0, 4), "none": entry("F32", &[3, 0], 4, 4) });
    let checkpoint = open(file(header, &2.5f32.to_le_bytes())).unwrap();
    assert_eq!(read(&checkpoint, "one"), [2.5]);
    assert_eq!(read(&checkpoint, "none"), [0.0; 0]);
    checkpoint.read_rows("none", 0..3, &mut []).unwrap();
}

#[test]
fn a_file_that_breaks_the_format_is_refused_by_name() {
    let header = |value: Value| file(value, &[0; 16]);
    let prefix = |length: u64| [&length.to_le_bytes()[..], b"{}"].concat();
    for (bytes, message) in [
        (vec![], "too short"),
        (vec![0; 7], "too short"),
        (vec![0; 8], "header cannot be read"),
        (prefix(3), "claims 3 bytes, in a file of 10"),
        (prefix(u64::MAX), "claims 18446744073709551615 bytes"),
        (prefix(1 << 62), "claims 4611686018427387904 bytes"),
        (file("{", &[]), "header cannot be read: it ends in the middle of a value"),
        (file("[]", &[]), "header cannot be read"),
        (file("null", &[]), "header cannot be read"),
        ([&4u64.to_le_bytes()[..], b"{\"\xff\""].concat(), "header cannot be read"),
        (header(json!({ "x": 3 })), "header cannot be read"),
        (header(json!({ "x": { "dtype": "F32", "shape": [4] } })), "data_offsets"),
        (header(json!({ "x": entry("F33", &[4], 0, 16) })), "F33"),
        (
            header(json!({ "x": { "dtype": "F32", "shape": [-4], "data_offsets": [0, 16] } })),
            "cannot be read",
        ),
        (
            header(json!({ "x": { "dtype": "F32", "shape": [4.5], "data_offsets": [0, 16] } })),
            "cannot be read",
        ),
        (header(json!({ "__metadata__": { "format": 3 } })), "cannot be read"),
        (header(json!({ "x": entry("F32", &[5], 0, 20) })), "\"x\" ends at byte 20 of 16"),
        (
            header(json!({ "x": entry("F32", &[5], 0, 16) })),
            "\"x\" is at bytes 0 to 16, which is not the size of F32 [5]",
        ),
        (header(json!({ "x": entry("F32", &[1 << 62, 4], 0, 16) })), "not the size of F32"),
        (header(json!({ "x": entry("F32", &[u64::MAX], 0, 16) })), "not the size of F32"),
        (header(json!({ "x": entry("F4", &[31], 0, 16) })), "not the size of F4"),
        (header(json!({ "x": entry("F32", &[4], 16, 0) })), "gap"),
        (
            header(json!({ "x": entry("F32", &[4], 0, 16), "y": entry("F32", &[2], 16, 8) })),
            "not the size of F32",
        ),
        (header(json!({ "x": entry("F32", &[2], 8, 16) })), "gap"),
        (header(json!({ "x": entry("F32", &[3], 0, 12), "y": entry("F32", &[2], 8, 16) })), "overlap"),
        (header(json!({ "x": entry("F32", &[2], 0, 8), "y": entry("F32", &[1], 12, 16) })), "gap"),
        (header(json!({ "x": entry("F32", &[3], 0, 12) })), "4 bytes follow its last tensor"),
        (header(json!({})), "16 bytes follow"),
        // Names from the file cannot break the message's line.
        (header(json!({ "x\ny": entry("F32", &[3], 0, 16) })), "\"x\\ny\""),
    ] {
        assert_refused(open(bytes), message);
    }
}

#[test]
fn a_truncated_file_is_refused_wherever_it_ends() {
    let bytes = fs::read(data("models/marian_f16/model.safetensors")).unwrap();
    let header = 8 + u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    for length in (0..64).chain((64..bytes.len()).step_by(997)).chain(header - 9..header + 9) {
        assert_refused(open(bytes[..length].to_vec()), "not a valid checkpoint");
    }
    assert!(open(bytes).is_ok());
}

#[test]
fn damaged_headers_never_panic_and_never_leave_the_file() {
    let bytes = fs::read(data("models/vanilla_preln/model.safetensors")).unwrap();
    let header = 8 + u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    let mut random = 1u64;
    for _ in 0..1000 {
        let mut damaged = bytes.clone();
        for _ in 0..2 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            damaged[(random >> 33) as usize % header] = (random >> 24) as u8;
        }
        if let Ok(checkpoint) = open(damaged) {
            for name in checkpoint.names().filter(|name| checkpoint.info(name).unwrap().dtype == Dtype::F32) {
                read(&checkpoint, name);
            }
        }
    }
}

/// Two shards and an index: `a` and `b` in the first file, `c` in the second.
fn shards(weight_map: Value) -> ModelFiles {
    let first = file(
        json!({ "a": entry("F32", &[1], 0, 4), "b": entry("F32", &[1], 4, 8) }),
        &[0, 0, 128, 63, 0, 0, 0, 64],
    );
    let second = file(json!({ "c": entry("F32", &[1], 0, 4) }), &[0, 0, 64, 64]);
    let index = json!({ "metadata": { "total_size": 12 }, "weight_map": weight_map });
    let files = [
        ("model-00001-of-00002.safetensors", first),
        ("model-00002-of-00002.safetensors", second),
        ("model.safetensors.index.json", index.to_string().into_bytes()),
    ];
    ModelFiles::memory("test", files)
}

#[test]
fn shards_are_read_through_their_index() {
    let (first, second) = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors");
    let checkpoint = Checkpoint::open(&shards(json!({ "a": first, "b": first, "c": second }))).unwrap();
    assert_eq!(checkpoint.names().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(["a", "b", "c"].map(|name| read(&checkpoint, name)[0]), [1.0, 2.0, 3.0]);
    assert!(checkpoint.label().ends_with("model.safetensors.index.json"));

    for (weight_map, message) in [
        (json!({ "a": first, "c": second }), "\"b\" of \"model-00001-of-00002.safetensors\" is not listed"),
        (json!({ "a": first, "b": second, "c": second }), "\"b\" is in"),
        (json!({ "a": first, "b": first, "c": second, "d": second }), "\"d\" is not in"),
        (
            json!({ "a": first, "b": first, "c": "model-3.safetensors" }),
            "the file \"model-3.safetensors\", which it lists, is not there (1 of 2 are missing)",
        ),
        (json!({ "a": first, "b": first, "c": "../other.safetensors" }), "leads out of the folder"),
        (json!({ "a": first, "b": first, "c": "/etc/passwd" }), "leads out of the folder"),
        (json!({ "a": first, "b": first, "c": 3 }), "\"weight_map\" is"),
        (json!([]), "\"weight_map\" is []"),
        (Value::Null, "\"weight_map\" is missing"),
    ] {
        assert_refused(Checkpoint::open(&shards(weight_map)), message);
    }
}

#[test]
fn a_tensor_that_does_not_fit_is_named() {
    let files = ModelFiles::directory(data("models/marian_tied")).unwrap();
    let checkpoint = Checkpoint::open(&files).unwrap();
    let missing = checkpoint.require("model.encoder.layers.2.fc1.weight", &[128, 64]);
    assert_refused(missing, "there is no tensor \"model.encoder.layers.2.fc1.weight\"; the nearest is");
    let missing = checkpoint.require("encoder.layers.1.fc1.weight", &[128, 64]);
    assert_refused(missing, "the nearest is \"model.encoder.layers.1.fc1.weight\"");
    let unlike = checkpoint.require("completely.different", &[1]).unwrap_err().to_string();
    assert!(unlike.ends_with("there is no tensor \"completely.different\""), "{unlike}");
    let transposed = checkpoint.require("model.encoder.layers.1.fc1.weight", &[64, 128]);
    assert_refused(transposed, "is [128, 64], but the configuration calls for [64, 128]");

    let checkpoint = open(file(json!({ "x": entry("I8", &[4], 0, 4) }), &[0; 4])).unwrap();
    for refused in [
        checkpoint.require("x", &[4]).map(drop),
        checkpoint.read("x", &mut [0.0; 4]),
        checkpoint.read_rows("x", 1..2, &mut [0.0]),
    ] {
        assert_refused(refused, "\"x\" is stored as I8; weights can be F32, F16, BF16 or F64");
    }
}

#[test]
fn folders_without_readable_weights_say_what_to_do() {
    let memory = |name: &'static str| ModelFiles::memory("test", [(name, b"")]);
    assert_refused(Checkpoint::open(&memory("config.json")), "test: there is no \"model.safetensors\"");

    assert_refused(ModelFiles::directory(data("models/no_such_model")), "there is no such folder");
    assert_refused(
        ModelFiles::directory(data("models/marian_tied/config.json")),
        "is a file; give the folder",
    );
    let files = ModelFiles::directory(data("models")).unwrap();
    assert_refused(files.open("marian_tied"), "is not a regular file");
}

#[test]
fn names_stay_inside_the_folder() {
    let files = ModelFiles::directory(data("models/marian_tied")).unwrap();
    let hostile = [
        "../vanilla_postln/config.json",
        "/etc/passwd",
        "..",
        ".",
        "",
        "a/../b",
        "a//b",
        "c:\\x",
        "..\\x",
        "a\0b",
    ];
    for name in hostile {
        assert!(!files.has(name), "{name:?}");
        assert_refused(files.read(name, 1 << 20), "leads out of the folder");
    }
    let files = ModelFiles::directory(data("models")).unwrap();
    assert!(files.has("marian_tied/config.json"));
}

#[test]
fn the_files_of_a_folder_are_listed() {
    let names = |folder: &str| ModelFiles::directory(data(folder)).unwrap().names().unwrap();
    let found = names("models/bert");
    assert!(found.is_sorted() && found.iter().any(|name| name == "config.json"), "{found:?}");
    assert_eq!(names("models"), Vec::<String>::new()); // only folders
    let memory = ModelFiles::memory("test", [("b", b""), ("a", b"")]);
    assert_eq!(memory.names().unwrap(), ["a", "b"]);
}

#[test]
fn a_large_file_is_not_read_where_a_small_one_is_expected() {
    let files = ModelFiles::directory(data("models/marian_tied")).unwrap();
    assert_refused(files.read("model.safetensors", 1000), "is 846676 bytes long; at most 1000");
    assert_eq!(files.read("model.safetensors", 846_676).unwrap().len(), 846_676);
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_an_error() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shrinking");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("model.safetensors");
    fs::write(&path, file(json!({ "x": entry("F32", &[4], 0, 16) }), &[0; 16])).unwrap();
    let checkpoint = Checkpoint::open(&ModelFiles::directory(&folder).unwrap()).unwrap();
    let length = fs::metadata(&path).unwrap().len();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length - 1).unwrap();
    assert_refused(checkpoint.read("x", &mut [0.0; 4]), "is it still being written?");
}

#[test]
fn errors_can_cross_threads() {
    fn assert_send_sync<T: Send + Sync + 'static>() {}
    assert_send_sync::<ModelError>();
    assert_send_sync::<Checkpoint>();
}
