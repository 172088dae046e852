//! `--switch` of the commands that run a model.

use std::fs;

use safetensors::SafeTensors;

use super::common::{Tensors, assert_close, data};
use super::{model, run, scratch, text};

#[test]
fn forward_writes_the_logits_of_the_patched_model() {
    let folder = scratch("switches_forward");
    let (input, output) = (folder.join("input.safetensors"), folder.join("output.safetensors"));
    let stored = data("switches/marian_tied.safetensors");
    let bytes = fs::read(&stored).expect("reads");
    let tensors = SafeTensors::deserialize(&bytes).expect("sound");
    let inputs = tensors.iter().filter(|(name, _)| !name.contains('='));
    fs::write(&input, safetensors::serialize(inputs, None).expect("fits")).expect("writes");
    let name = model("marian_tied");
    let want = Tensors::open(&stored);
    for switches in ["positions=off", "decoder.1.cross.query=key"] {
        let arguments = ["forward", "--device", "cpu", "--model", &name, "--switch", switches];
        run(&[&arguments[..], &["-i", text(&input), "-o", text(&output)]].concat(), "").succeeds();
        let got = Tensors::open(&output);
        let width = got.shape("logits")[2];
        let columns = want.shape(switches)[2];
        let got: Vec<f32> =
            got.f32("logits").chunks_exact(width).flat_map(|row| row[..columns].to_vec()).collect();
        assert_close(switches, &got, &want.f32(switches), (1e-4, 1e-4));
    }
}

#[test]
fn translations_change_and_wrong_switches_are_refused() {
    let name = model("marian_tied");
    let with = |command: &str, switches: &[&str], stdin: &str| {
        run(&[&[command, "--device", "cpu", "--model", &name], switches].concat(), stdin)
    };
    let request = r#"{"input_ids": [42, 91, 212, 46, 0], "num_beams": 1, "max_length": 9}"#;
    let plain = with("generate", &[], request).succeeds().to_owned();
    let off = with("generate", &["--switch", "residual=off"], request).succeeds().to_owned();
    assert_ne!(plain, off);
    assert_eq!(with("generate", &["--switch", "residual=off,residual=on"], request).stdout(), "");
    assert_eq!(with("generate", &["--switch", "norm=on"], request).succeeds(), plain);
    for command in ["translate", "attend", "generate"] {
        let wrong = with(command, &["--switch", "encoder.9.norm=off"], "hello\n");
        wrong.fails(
            2,
            &["--switch: encoder.9.norm=off: there is no such layer; the encoder has layers 0 to 1"],
        );
        with(command, &["--switch", "skip=off"], "hello\n").fails(2, &["\"skip=off\" is no switch"]);
    }
    run(&["attend", "--trace", "a.json", "--switch", "norm=off"], "").fails(2, &["--switch", "--trace"]);
}
