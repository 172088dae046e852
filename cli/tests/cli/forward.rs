//! `wordloom forward`

use std::fs;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;

use super::common::{Tensors, assert_close, data};
use super::{Run, model, run, scratch, text};

/// Integers to store: name, type, shape, values.
type Stored<'a> = (&'a str, Dtype, &'a [usize], &'a [i64]);

fn store(path: &Path, tensors: &[Stored]) {
    let bytes: Vec<Vec<u8>> = tensors
        .iter()
        .map(|(_, dtype, _, values)| match dtype {
            Dtype::I64 => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Dtype::I32 => values.iter().flat_map(|&value| (value as i32).to_le_bytes()).collect(),
            Dtype::F32 => values.iter().flat_map(|&value| (value as f32).to_le_bytes()).collect(),
            other => unreachable!("no test stores {other}"),
        })
        .collect();
    let views = tensors.iter().zip(&bytes).map(|(&(name, dtype, shape, _), bytes)| {
        (name, TensorView::new(dtype, shape.to_vec(), bytes).expect("a sound tensor"))
    });
    fs::write(path, safetensors::serialize(views, None).unwrap()).unwrap();
}

fn forward(name: &str, input: &Path, output: &Path) -> Run {
    run(&["forward", "--device", "cpu", "--model", &model(name), "-i", text(input), "-o", text(output)], "")
}

#[test]
fn models_of_one_stack_go_without_a_target() {
    let folder = scratch("forward_one_stack");
    let (input, output) = (folder.join("input.safetensors"), folder.join("output.safetensors"));
    for (name, keys) in [
        ("bert", &["input_ids", "attention_mask", "token_type_ids"][..]),
        ("gpt2", &["input_ids", "attention_mask"]),
    ] {
        let expected = Tensors::open(&data("models").join(name).join("expected.safetensors"));
        let stored: Vec<(&str, Vec<usize>, Vec<i64>)> = keys
            .iter()
            .map(|&key| {
                let stored = format!("main.{key}");
                let values = expected.u32(&stored).into_iter().map(i64::from).collect();
                (key, expected.shape(&stored), values)
            })
            .collect();
        let tensors: Vec<Stored> = stored
            .iter()
            .map(|(key, shape, values)| (*key, Dtype::I64, shape.as_slice(), values.as_slice()))
            .collect();
        store(&input, &tensors);
        assert_eq!(forward(name, &input, &output).succeeds(), "");
        let output = Tensors::open(&output);
        let names: Vec<String> = expected
            .names()
            .into_iter()
            .filter_map(|name| name.strip_prefix("main.").map(str::to_owned))
            .filter(|name| !keys.contains(&name.as_str()))
            .collect();
        assert!(names.iter().any(|name| name == "hidden_states.2"));
        for key in names {
            assert_eq!(output.shape(&key), expected.shape(&format!("main.{key}")), "{name}: {key}");
        }

        // a target is one input too many
        let target = ("decoder_input_ids", Dtype::I64, tensors[0].2, tensors[0].3);
        store(&input, &[tensors, vec![target]].concat());
        forward(name, &input, &folder.join("none")).fails(1, &[name, "takes no decoder_input_ids"]);
    }
}

#[test]
fn results_equal_the_stored_ones_for_both_integer_types() {
    let folder = scratch("forward_results");
    for (name, dtype) in [("marian_tied", Dtype::I32), ("vanilla_preln", Dtype::I64)] {
        let expected = Tensors::open(&data("models").join(name).join("expected.safetensors"));
        let names = ["input_ids", "attention_mask", "decoder_input_ids"];
        let stored = names.map(|key| {
            let key = format!("main.{key}");
            let values: Vec<i64> = expected.u32(&key).into_iter().map(i64::from).collect();
            (expected.shape(&key), values)
        });
        let (input, output) = (folder.join("input.safetensors"), folder.join("output.safetensors"));
        let tensors: Vec<Stored> = names
            .into_iter()
            .zip(&stored)
            .map(|(key, (shape, values))| (key, dtype, shape.as_slice(), values.as_slice()))
            .collect();
        store(&input, &tensors);
        assert_eq!(forward(name, &input, &output).succeeds(), "");
        let output = Tensors::open(&output);
        assert_eq!(output.shape("logits"), expected.shape("main.logits"));
        assert_close(name, &output.f32("logits"), &expected.f32("main.logits"), (1e-4, 1e-4));
        for kind in ["encoder_attentions", "decoder_attentions", "cross_attentions"] {
            let key = format!("{kind}.0");
            assert_eq!(output.shape(&key), expected.shape(&format!("main.{key}")), "{name}: {key}");
        }
        let [batch, length] = stored[0].0[..] else { panic!("two sizes") };
        let hidden = output.shape("encoder_last_hidden_state");
        assert_eq!(hidden[..2], [batch, length]);
    }
}

#[test]
fn without_a_mask_every_token_is_seen() {
    let folder = scratch("forward_mask");
    let (input, output) = (folder.join("input"), folder.join("output"));
    let ids: Stored = ("input_ids", Dtype::I32, &[1, 3], &[5, 6, 0]);
    let target: Stored = ("decoder_input_ids", Dtype::I64, &[1, 1], &[644]);
    store(&input, &[ids, target]);
    forward("marian_tied", &input, &output).succeeds();
    let without = Tensors::open(&output).f32("logits");
    store(&input, &[ids, target, ("attention_mask", Dtype::I64, &[1, 3], &[1, 1, 1])]);
    forward("marian_tied", &input, &output).succeeds();
    assert_eq!(Tensors::open(&output).f32("logits"), without);
}

#[test]
fn inputs_that_cannot_be_are_named_with_their_shapes() {
    let folder = scratch("forward_bad_input");
    let (input, output) = (folder.join("input.safetensors"), folder.join("output.safetensors"));
    let ids: Stored = ("input_ids", Dtype::I32, &[1, 2], &[5, 0]);
    let mask: Stored = ("attention_mask", Dtype::I32, &[1, 2], &[1, 1]);
    let target: Stored = ("decoder_input_ids", Dtype::I32, &[1, 2], &[644, 5]);
    let long = [5; 65];
    let cases: [(&[Stored], &str); 14] = [
        (&[mask, target], "there is no tensor input_ids"),
        (&[ids, mask], "there is no tensor decoder_input_ids"),
        (
            &[("input_ids", Dtype::F32, &[1, 2], &[5, 0]), mask, target],
            "input_ids is F32, but I32 or I64 is needed",
        ),
        (
            &[("input_ids", Dtype::I32, &[2], &[5, 0]), mask, target],
            "input_ids is [2], but [batch, length] is needed",
        ),
        (
            &[ids, ("attention_mask", Dtype::I32, &[1, 1], &[1]), target],
            "attention_mask is [1, 1], but input_ids is [1, 2]",
        ),
        (
            &[ids, ("attention_mask", Dtype::I32, &[1, 2], &[1, 7]), target],
            "attention_mask has the value 7 at [0, 1]",
        ),
        (
            &[ids, mask, ("decoder_input_ids", Dtype::I32, &[2, 1], &[5, 5])],
            "decoder_input_ids is [2, 1], but input_ids is [1, 2]",
        ),
        (
            &[ids, mask, ("decoder_input_ids", Dtype::I64, &[1, 2], &[644, -1])],
            "decoder_input_ids has the value -1",
        ),
        (&[ids, mask, ("decoder_input_ids", Dtype::I32, &[1, 2], &[644, 645])], "token id 645 at [0, 1]"),
        (
            &[("input_ids", Dtype::I64, &[1, 2], &[1 << 40, 0]), mask, target],
            "input_ids has the value 1099511627776",
        ),
        (
            &[("input_ids", Dtype::I32, &[1, 65], &long), target],
            "input_ids has 65 tokens a sentence, but the model has 64",
        ),
        (&[("input_ids", Dtype::I32, &[1, 0], &[]), target], "input_ids is empty"),
        (
            &[ids, mask, target, ("position_ids", Dtype::I32, &[1, 2], &[1, 0])],
            "\"position_ids\" is no input of forward; there are input_ids, attention_mask,",
        ),
        (
            &[
                ("input_ids", Dtype::I32, &[1 << 40, 0], &[]),
                ("decoder_input_ids", Dtype::I32, &[1 << 40, 0], &[]),
            ],
            "input_ids is empty",
        ),
    ];
    for (tensors, part) in cases {
        store(&input, tensors);
        forward("marian_tied", &input, &output).fails(1, &["input.safetensors: ", part]);
        assert!(!output.exists());
    }
    for bytes in
        [&b""[..], b"\xff\xff\xff\xff\xff\xff\xff\x7f{}", b"\x02\0\0\0\0\0\0\0[]", b"not safetensors at all"]
    {
        fs::write(&input, bytes).unwrap();
        forward("marian_tied", &input, &output)
            .fails(1, &["input.safetensors: not a sound safetensors file"]);
    }
}

#[test]
fn files_that_cannot_be() {
    let folder = scratch("forward_bad_files");
    let (input, missing) = (folder.join("input.safetensors"), folder.join("missing/file"));
    store(
        &input,
        &[("input_ids", Dtype::I32, &[1, 2], &[5, 0]), ("decoder_input_ids", Dtype::I32, &[1, 1], &[644])],
    );
    forward("marian_tied", &missing, &folder.join("output")).fails(1, &["cannot read", "missing/file"]);
    forward("marian_tied", &folder, &folder.join("output")).fails(1, &["cannot read", "forward_bad_files"]);
    forward("marian_tied", &input, &missing).fails(1, &["cannot write", "missing/file"]);
    forward("marian_tied", &input, &input).fails(2, &["the same file"]);
}
