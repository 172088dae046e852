//! The mean of checkpoints, and the errors of those that do not belong together.

use half::f16;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use wordloom::WeightPrecision::{F16, F32, Q8};
use wordloom::model::files::ModelFiles;
use wordloom::train::average::{AverageError, average_folders};

/// Name, shape, values.
type Tensor<'a> = (&'a str, &'a [usize], &'a [f32]);

fn folder(label: &str, tensors: &[Tensor], dtype: Dtype) -> ModelFiles {
    let bytes: Vec<Vec<u8>> = tensors
        .iter()
        .map(|(_, _, values)| match dtype {
            Dtype::F16 => values.iter().flat_map(|&value| f16::from_f32(value).to_le_bytes()).collect(),
            _ => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        })
        .collect();
    let views = tensors
        .iter()
        .zip(&bytes)
        .map(|((name, shape, _), bytes)| (*name, TensorView::new(dtype, shape.to_vec(), bytes).unwrap()));
    let weights = safetensors::serialize(views, None).unwrap();
    let config =
        format!(r#"{{"model_type": "marian", "torch_dtype": "bfloat16", "_name_or_path": "{label}"}}"#);
    let files = [
        ("config.json", config.into_bytes()),
        ("vocab.json", format!(r#"{{"</s>": 0,{}"a": 1}}"#, " ".repeat(label.len())).into_bytes()),
        ("model.safetensors.index.json", b"{}".to_vec()),
        ("optimizer.safetensors", b"state".to_vec()),
        ("model.safetensors", weights),
    ];
    ModelFiles::memory(label.to_owned(), files)
}

fn values(files: &[(String, Vec<u8>)], tensor: &str) -> (Dtype, Vec<usize>, Vec<f32>) {
    let (_, bytes) = files.iter().find(|(name, _)| name == "model.safetensors").expect("weights");
    let file = SafeTensors::deserialize(bytes).unwrap();
    let view = file.tensor(tensor).unwrap();
    let values = match view.dtype() {
        Dtype::F16 => view.data().as_chunks().0.iter().map(|&b| f16::from_le_bytes(b).to_f32()).collect(),
        _ => view.data().as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect(),
    };
    (view.dtype(), view.shape().to_vec(), values)
}

#[test]
fn sums_are_in_f64_and_rounded_once() {
    // in f32, 1 + 2⁻²⁴ is 1, and the mean of the first would lose both small values
    let small = f32::EPSILON / 2.0;
    let a = folder("a", &[("w", &[2, 1], &[1.0, 3.0]), ("b", &[1], &[0.5])], Dtype::F32);
    let b = folder("b", &[("w", &[2, 1], &[small, -1.0]), ("b", &[1], &[-0.5])], Dtype::F32);
    let c = folder("c", &[("w", &[2, 1], &[small, 1.0]), ("b", &[1], &[3.0])], Dtype::F32);
    let files = average_folders(&[a, b, c], F32).unwrap();
    let exact = ((1.0 + f64::from(f32::EPSILON)) / 3.0) as f32;
    assert_ne!(exact, 1.0_f32 / 3.0, "the case can tell");
    assert_eq!(values(&files, "w"), (Dtype::F32, vec![2, 1], vec![exact, 1.0]));
    assert_eq!(values(&files, "b"), (Dtype::F32, vec![1], vec![1.0]));

    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["config.json", "vocab.json", "model.safetensors"], "no optimizer, no index");
    let config: serde_json::Value = serde_json::from_slice(&files[0].1).unwrap();
    assert_eq!(
        config,
        serde_json::json!({"model_type": "marian", "dtype": "float32", "_name_or_path": "a"}),
        "the first folder's"
    );
}

#[test]
fn half_precision_in_and_out() {
    let a = folder("a", &[("w", &[3], &[1.0, 0.1, -2.0])], Dtype::F16);
    let b = folder("b", &[("w", &[3], &[2.0, 0.2, 2.0])], Dtype::F32);
    let (dtype, _, got) = values(&average_folders(&[a, b], F16).unwrap(), "w");
    let mean = (f16::from_f32(0.1).to_f64() + f64::from(0.2_f32)) / 2.0;
    assert_eq!((dtype, got), (Dtype::F16, vec![1.5, f16::from_f32(mean as f32).to_f32(), 0.0]));

    let large = folder("a", &[("w", &[1], &[1e6])], Dtype::F32);
    let error = average_folders(&[large], F16).unwrap_err().to_string();
    assert!(
        error.contains("tensor \"w\"") && error.contains("1000000") && error.contains("take f32"),
        "{error}"
    );
}

#[test]
fn checkpoints_of_other_models_are_named() {
    let tensors = |tensors: &[Tensor], label: &str| folder(label, tensors, Dtype::F32);
    let first = || tensors(&[("w", &[2], &[1.0, 2.0]), ("b", &[1], &[0.0])], "first");
    for (other, parts) in [
        (
            tensors(&[("w", &[2], &[1.0, 2.0])], "other"),
            ["other/model.safetensors has no tensor \"b\"", "first/"],
        ),
        (
            tensors(&[("w", &[1], &[1.0]), ("b", &[1], &[0.0])], "other"),
            ["other/model.safetensors: the tensor \"w\" has the shape [1]", "[2]"],
        ),
        (
            tensors(&[("w", &[2], &[1.0, 2.0]), ("b", &[1], &[0.0]), ("x", &[1], &[0.0])], "other"),
            ["other/model.safetensors has a tensor \"x\"", "lacks"],
        ),
    ] {
        let error = average_folders(&[first(), other], F32).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    assert!(matches!(average_folders(&[], F32), Err(AverageError::None)));
    assert!(matches!(average_folders(&[first()], Q8), Err(AverageError::Precision { precision: "q8" })));
    let empty = ModelFiles::memory("empty", [("config.json", &b"{}"[..])]);
    assert!(matches!(average_folders(&[first(), empty], F32), Err(AverageError::Model(_))));
}

/// Their ids are other words, though the shapes are equal.
#[test]
fn models_of_other_vocabularies_have_no_mean() {
    let with = |label: &str, spm: &[u8], vocabulary: &[u8]| {
        let whole = folder(label, &[("w", &[1], &[1.0])], Dtype::F32);
        let weights = whole.read("model.safetensors", 1 << 20).unwrap().into_owned();
        let files: [(&str, &[u8]); 4] = [
            ("config.json", b"{}"),
            ("source.spm", spm),
            ("vocab.json", vocabulary),
            ("model.safetensors", &weights),
        ];
        ModelFiles::memory(label.to_owned(), files.map(|(name, bytes)| (name, bytes.to_vec())))
    };
    let first = || with("one", b"pieces", br#"{"a": 0, "b": 1}"#);
    assert!(average_folders(&[first(), with("other", b"pieces", br#"{"b":1,"a":0}"#)], F32).is_ok());
    for other in
        [with("other", b"Pieces", br#"{"a": 0, "b": 1}"#), with("other", b"pieces", br#"{"a": 1, "b": 0}"#)]
    {
        let error = average_folders(&[first(), other], F32).unwrap_err();
        assert!(matches!(&error, AverageError::Vocabulary { .. }), "{error}");
        assert!(error.to_string().starts_with("other/"), "{error}");
    }
}
