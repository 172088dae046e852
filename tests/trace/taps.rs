//! Named taps against hooks of torch inside Hugging Face's classes (`tests/data/make_taps.py`), on the CPU runner and on the
//! GPU; their names, their errors, and what they cost.

use std::collections::BTreeSet;

use crate::common::{Tensors, data, device_test, devices, gpu, model};
use wordloom::transformer::{ForwardError, ForwardInput, ForwardSelection, Transformer, taps};
use wordloom::{Device, Model};

/// Post-norm; pre-norm with embedding norm and final norm; RMS norm, bias by distance and gated feed-forward.
const MODELS: [&str; 3] = ["marian_tied", "mbart", "t5_gated_untied_bf16"];
const TOLERANCE: f32 = 1e-5;

fn open(name: &str) -> Model {
    model(&data("models").join(name))
}

fn load(device: &Device, name: &str) -> Transformer {
    Transformer::load(device, &open(name), &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn hooks(name: &str) -> (Tensors, ForwardInput) {
    let hooks = Tensors::open(&data("taps").join(format!("{name}.safetensors")));
    let [source, target] = ["input_ids", "decoder_input_ids"].map(|name| hooks.shape(name));
    let input = ForwardInput {
        batch: source[0],
        source_length: source[1],
        target_length: target[1],
        input_ids: hooks.u32("input_ids"),
        attention_mask: hooks.u32("attention_mask"),
        decoder_input_ids: hooks.u32("decoder_input_ids"),
        ..ForwardInput::default()
    };
    (hooks, input)
}

fn selection(names: &[&str]) -> ForwardSelection {
    ForwardSelection {
        taps: names.iter().map(|name| (*name).to_owned()).collect(),
        ..ForwardSelection::default()
    }
}

/// The largest miss of a tensor beyond 10⁻⁵. A sum of products with both signs is rounded by the size of its terms, not of
/// its result: for values above 1 it is 10⁻⁵ of the largest value beside it.
fn miss(place: &str, got: &[f32], want: &[f32]) -> Option<String> {
    let largest =
        want.iter().copied().filter(|value| value.is_finite()).fold(1.0, |a: f32, b| a.max(b.abs()));
    let pairs = got.iter().zip(want).filter(|(_, want)| want.is_finite());
    let (got, want) = pairs.max_by(|a, b| (a.0 - a.1).abs().total_cmp(&(b.0 - b.1).abs()))?;
    let is_close = (got - want).abs() <= TOLERANCE * largest;
    (!is_close).then(|| format!("{place}: got {got}, want {want}, largest {largest}"))
}

const INPUTS: [&str; 3] = ["input_ids", "attention_mask", "decoder_input_ids"];

#[device_test]
async fn every_tap_equals_the_hook_at_its_place() {
    let mut misses = Vec::new();
    for device in devices().await {
        for name in MODELS {
            let (hooks, input) = hooks(name);
            let output = load(&device, name)
                .forward_selected(&input, &selection(&["*"]))
                .await
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            for tap in hooks.names().iter().filter(|tap| !INPUTS.contains(&tap.as_str())) {
                let place = format!("{name} {tap} on {device}");
                let got = output.taps.get(tap).unwrap_or_else(|| panic!("{place} is missing"));
                assert_eq!(got.shape, hooks.shape(tap), "{place}");
                let want = hooks.f32(tap);
                let hidden =
                    |values: &[f32]| values.iter().map(|value| value.is_infinite()).collect::<Vec<_>>();
                assert_eq!(hidden(&got.data), hidden(&want), "{place}: what the mask hides");
                misses.extend(miss(&place, &got.data, &want));
            }
        }
    }
    assert!(misses.is_empty(), "{misses:#?}");
}

/// Points that hooks do not see by themselves: they are the values of other points, which are compared.
fn is_another_point(name: &str) -> bool {
    name.ends_with(".input") || name.ends_with("embedding.token") || name == "decoder.output"
}

#[device_test]
async fn every_listed_tap_has_a_hook() {
    for name in MODELS {
        let (hooks, _) = hooks(name);
        let hooks: BTreeSet<String> = hooks.names().into_iter().collect();
        let listed = taps(&open(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let missing: Vec<_> = listed
            .iter()
            .map(|tap| &tap.name)
            .filter(|tap| !hooks.contains(*tap) && !is_another_point(tap))
            .collect();
        assert!(missing.is_empty(), "{name}: {missing:?}");
        assert!(listed.len() > 100, "{name}: {}", listed.len());
    }
}

#[device_test]
async fn taps_that_share_a_value_with_a_result_change_nothing() {
    for device in devices().await {
        let (_, input) = hooks("mbart");
        let transformer = load(&device, "mbart");
        let plain = transformer.forward(&input).await.expect("a pass");
        let all = ForwardSelection::all(transformer.config());
        let both = ForwardSelection { taps: vec!["*".to_owned()], ..all };
        let mut tapped = transformer.forward_selected(&input, &both).await.expect("a pass");
        assert_eq!(tapped.taps["logits"], plain.logits, "{device}");
        assert_eq!(tapped.taps["decoder.1.cross.weights"], plain.cross_attentions[1], "{device}");
        assert_eq!(tapped.taps["encoder.output"], plain.encoder_last_hidden_state, "{device}");
        tapped.taps.clear();
        assert_eq!(tapped, plain, "{device}");
    }
}

#[device_test]
async fn a_pass_pays_for_the_taps_that_it_has() {
    let gpu = gpu().await;
    let device = Device::Gpu(gpu.clone());
    let (_, input) = hooks("marian_tied");
    let transformer = load(&device, "marian_tied");
    let logits = ForwardSelection { logits: true, ..ForwardSelection::default() };
    let mut costs = Vec::new();
    for names in
        [&[][..], &[], &["decoder.1.cross.scores"], &["decoder.1.cross.queries"], &["decoder.*.cross.scores"]]
    {
        let before = gpu.counters();
        let selection = ForwardSelection { taps: selection(names).taps, ..logits.clone() };
        transformer.forward_selected(&input, &selection).await.expect("a pass");
        let cost = gpu.counters().since(before);
        costs.push((cost.dispatches, cost.readbacks));
    }
    let [(launches, readbacks), again, one, kept, two] = costs[..] else { panic!("{costs:?}") };
    assert_eq!(again, (launches, readbacks));
    assert_eq!(one, (launches + 1, readbacks + 1), "scores are a launch of their own");
    // a hardware GPU cannot fuse launches over a value that is kept
    assert!(kept.0 <= launches + 1 && kept.1 == readbacks + 1, "queries are there already: {costs:?}");
    assert_eq!(two, (launches + 2, readbacks + 2));
}

#[device_test]
async fn unknown_names_are_errors_with_similar_names() {
    let (_, input) = hooks("marian_tied");
    let transformer = load(&Device::Cpu, "marian_tied");
    for (name, similar) in [
        ("decoder.1.cross.score", "decoder.1.cross.scores"),
        ("encoder.2.self.weights", "encoder.0.self.weights"),
        ("encoder.*.cross.scores", "encoder.0.self.scores"),
        ("", "logits"),
    ] {
        let result = transformer.forward_selected(&input, &selection(&["logits", name])).await;
        match result {
            Err(ForwardError::Tap { name: got, nearest }) => {
                assert_eq!(got, name);
                assert!(nearest.iter().any(|name| name == similar), "{name:?}: {nearest:?}");
            }
            other => panic!("{name:?}: {other:?}"),
        }
    }
}

#[device_test]
async fn patterns_select_names() {
    let (_, input) = hooks("marian_tied");
    let transformer = load(&Device::Cpu, "marian_tied");
    for (pattern, names) in [
        ("encoder.*.self.scores", &["encoder.0.self.scores", "encoder.1.self.scores"][..]),
        ("*.1.cross.norm.m*n", &["decoder.1.cross.norm.mean"]),
        ("logits", &["logits"]),
    ] {
        let output = transformer.forward_selected(&input, &selection(&[pattern])).await.expect("a pass");
        assert_eq!(output.taps.keys().collect::<Vec<_>>(), names, "{pattern}");
        assert!(output.logits.data.is_empty(), "only what was selected");
    }
}

/// What has no matrix of weights, no positions or no attention at all has no such taps.
#[test]
fn models_have_the_taps_of_what_they_compute() {
    let names = |name: &str| -> BTreeSet<String> {
        taps(&open(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"))
            .into_iter()
            .map(|tap| tap.name)
            .collect()
    };
    let led = names("led");
    assert!(led.contains("encoder.0.self.queries") && !led.contains("encoder.0.self.weights"));
    let firefox = names("firefox");
    assert!(firefox.contains("decoder.0.self.output") && !firefox.contains("decoder.0.self.queries"));
    assert!(!firefox.contains("decoder.embedding.token"), "its start has no token");
    let bert = names("bert");
    assert!(bert.contains("encoder.0.self.scores") && bert.contains("logits"));
    assert!(bert.iter().all(|name| !name.starts_with("decoder")));
    let gpt2 = names("gpt2");
    assert!(gpt2.contains("decoder.0.self.masked_scores") && gpt2.iter().all(|name| !name.contains("cross")));
}
