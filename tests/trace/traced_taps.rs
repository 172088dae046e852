//! Taps in traces: their numbers against hooks of torch (`tests/data/make_taps.py`), files of version 3, and damaged ones.

use crate::common::{Tensors, assert_close, data, devices, model, read, repository};
use serde_json::{Value, json};
use wordloom::trace::{
    TargetToken, Token, Trace, TraceError, TraceOptions, TraceRequest, TracedSentence, TracedTap, record,
};
use wordloom::transformer::{Cancel, Transformer};

#[pollster::test]
async fn taps_of_a_recording_are_what_hooks_see() {
    let hooks = Tensors::open(&data("taps").join("marian_tied.safetensors"));
    // the first sentence, which has no padding
    let ids = |name: &str| hooks.u32(name)[..hooks.shape(name)[1]].to_vec();
    let (input_ids, mut target_ids) = (ids("input_ids"), ids("decoder_input_ids"));
    target_ids.push(0); // the token after the last one that is read
    let request = TraceRequest { input_ids, target_ids, prompt: 1 };
    let names = ["encoder.*.self.scores", "decoder.1.self.masked_scores", "encoder.0.self.norm.*"];
    let options = TraceOptions { taps: names.map(str::to_owned).to_vec(), ..TraceOptions::default() };
    for device in devices().await {
        let model = model(&data("models").join("marian_tied"));
        let transformer = Transformer::load(&device, &model, &mut |_| {}).expect("loads");
        let requests = [request.clone(), request.clone()];
        let recorded = record(&transformer, &requests, &options, &Cancel::default()).await.expect("fits");
        assert_eq!(recorded[0].taps, recorded[1].taps);
        let taps = &recorded[0].taps;
        assert_eq!(taps.len(), 2 + 1 + 5, "{taps:?}");
        for TracedTap { name, shape, values } in taps {
            let of_hooks = hooks.shape(name);
            // weights of a norm have no batch
            let one = if of_hooks.len() > 1 { &of_hooks[1..] } else { &of_hooks };
            assert_eq!(shape, one, "{name}");
            let want = &hooks.f32(name)[..values.len()];
            let hidden = |value: f32| value == f32::NEG_INFINITY;
            let shown = |all: &[f32]| -> Vec<f32> {
                all.iter().map(|&value| if hidden(value) { 0.0 } else { value }).collect()
            };
            assert!(values.iter().zip(want).all(|(got, want)| hidden(*got) == hidden(*want)), "{name}");
            assert_close(&format!("{name} on {device}"), &shown(values), &shown(want), (1e-5, 1e-5));
        }
        let few = TraceOptions { memory: 4000, ..options.clone() };
        let error = record(&transformer, &requests, &few, &Cancel::default()).await.err();
        assert!(matches!(error, Some(TraceError::TooManyTaps { memory: 4000, .. })), "{error:?}");
        let unknown = TraceOptions { taps: vec!["encoder.0.self.score".to_owned()], ..options.clone() };
        let error = record(&transformer, &requests, &unknown, &Cancel::default()).await.err();
        assert!(error.is_some_and(|error| error.to_string().contains("encoder.0.self.scores")));
    }
}

fn tap(name: &str, shape: &[usize], values: Vec<f32>) -> TracedTap {
    TracedTap { name: name.into(), shape: shape.to_vec(), values }
}

fn tapped() -> Trace {
    let token = |id| Token { id, piece: "▁a".into(), special: id == 0, range: None };
    let sentence = TracedSentence {
        source_tokens: vec![token(1), token(0)],
        target_tokens: vec![TargetToken { token: token(0), ..TargetToken::default() }; 3],
        prompt: 1,
        taps: vec![
            tap("decoder.0.self.masked_scores", &[1, 2, 2], vec![0.5, f32::NEG_INFINITY, -0.25, 3e-20]),
            tap("encoder.norm.scale", &[3], vec![1.0, -2.0, 0.0]),
        ],
        ..TracedSentence::default()
    };
    let plain = TracedSentence { taps: Vec::new(), ..sentence.clone() };
    Trace { model: "made up".into(), sentences: vec![plain, sentence], anatomy: None }
}

#[test]
fn taps_survive_files() {
    let trace = tapped();
    let json = trace.to_json().expect("writes");
    assert!(json.starts_with(r#"{"format":"wordloom.trace","version":3,"#), "{json:.60}");
    assert_eq!(Trace::from_bytes(json.as_bytes()).expect("reads"), trace);
    let tensors = trace.to_safetensors().expect("writes");
    assert_eq!(Trace::from_bytes(&tensors).expect("reads"), trace);
    // any program that reads safetensors finds them
    let file = safetensors::SafeTensors::deserialize(&tensors).expect("is sound");
    assert_eq!(file.tensor("1.tap.encoder.norm.scale").expect("is there").shape(), [3]);
    let plain = Trace { sentences: trace.sentences[..1].to_vec(), ..trace.clone() };
    assert!(
        plain.to_json().expect("writes").contains(r#""version":1,"#),
        "without taps, a file is what it was"
    );
    for value in [f32::NAN, f32::INFINITY] {
        let mut broken = trace.clone();
        broken.sentences[1].taps[1].values[0] = value;
        for error in [broken.to_json().err(), broken.to_safetensors().err()] {
            assert!(error.is_some_and(|error| error.to_string().contains("encoder.norm.scale")));
        }
    }
}

#[test]
fn seeds_of_the_fuzzer_are_read() {
    for name in ["taps.json", "taps.safetensors"] {
        let bytes = read(&repository(&format!("fuzz/seeds/trace/{name}")));
        assert_eq!(Trace::from_bytes(&bytes).unwrap_or_else(|error| panic!("{name}: {error}")), tapped());
    }
}

#[test]
fn taps_are_chosen_by_name() {
    let mut trace = tapped();
    let error = trace.keep_taps(&["encoder.*".to_owned(), "cross.*".to_owned()]).expect_err("is not there");
    assert_eq!((error.name.as_str(), error.offered.len()), ("cross.*", 2));
    assert_eq!(trace, tapped());
    trace.keep_taps(&["encoder.*".to_owned()]).expect("is there");
    let names: Vec<&str> =
        trace.sentences.iter().flat_map(|sentence| &sentence.taps).map(|tap| tap.name.as_str()).collect();
    assert_eq!(names, ["encoder.norm.scale"]);
}

/// Taps that do not fit their values are errors, whatever they claim.
#[test]
fn hostile_taps_are_refused() {
    let whole: Value = serde_json::from_str(&tapped().to_json().expect("writes")).expect("is JSON");
    let place = |key: &str| format!("/sentences/1/taps/0{key}");
    let huge = u64::MAX;
    for (place, value, part) in [
        ("/version".to_owned(), json!(1), "taps, which version 1 does not know"),
        ("/version".to_owned(), json!(2), "taps, which version 2 does not know"),
        ("/version".to_owned(), json!(4), "version 4"),
        (place("/shape"), json!([1, 2, 3]), "with 4 values"),
        (place("/shape"), json!([huge, huge, 2]), "with 4 values"),
        (place("/shape"), json!([1, 1, 1, 2, 2]), "with 4 values"),
        (place("/shape"), json!([]), "with 4 values"),
        (place("/shape"), json!([-1, 4]), "is not a trace"),
        (place("/values"), json!([]), "with 0 values"),
        (place("/values"), json!([0, 1, 2, 1e300]), "the value inf"),
        (place("/values"), Value::Null, "has no values"),
        (place("/name"), json!(""), "no name"),
        (place("/name"), json!("encoder.norm.scale"), "there twice"),
        (place("/name"), json!("x".repeat(201)), "beyond 200 bytes"),
    ] {
        let mut json = whole.clone();
        *json.pointer_mut(&place).expect("is there") = value;
        let error = Trace::from_bytes(json.to_string().as_bytes()).expect_err(part);
        assert!(error.to_string().contains(part), "{place}: {error}");
    }
    // a tensor that is not there, or has another shape
    let bytes = tapped().to_safetensors().expect("writes");
    for (old, new, part) in [
        ("1.tap.encoder.norm.scale", "1.tap.encoder.norm.scala", "no tensor 1.tap.encoder.norm.scale"),
        (r#"\"shape\":[3]"#, r#"\"shape\":[4]"#, "its metadata says F32 [4]"),
    ] {
        let at = bytes.windows(old.len()).position(|window| window == old.as_bytes()).expect("is there");
        let mut changed = bytes.clone();
        changed[at..][..new.len()].copy_from_slice(new.as_bytes());
        let error = Trace::from_bytes(&changed).expect_err(part);
        assert!(error.to_string().contains(part), "{error}");
    }
}
