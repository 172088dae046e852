//! Training against torch: losses, gradients of every tensor, norms, and steps of Adam, for each encoder–decoder whose
//! gradients are stored. The tolerances are those of the fixtures' README.

mod common;

use std::collections::BTreeMap;

use common::{Tensors, assert_close, data, device_test, devices, model, read};
use serde_json::Value;
use wordloom::Device;
use wordloom::train::{Capacity, Pair, Recipe, Trainer};

const MODELS: [&str; 11] = [
    "marian_tied",
    "marian_untied_swish",
    "bart",
    "mbart",
    "m2m_100",
    "pegasus",
    "t5_relu_tied",
    "t5_gated_untied_bf16",
    "umt5",
    "vanilla_postln",
    "vanilla_preln",
];

/// Those that take steps: in a browser two, because its software adapter is slow.
const STEPPED: &[&str] =
    if cfg!(target_arch = "wasm32") { &["marian_tied", "t5_relu_tied"] } else { &MODELS };

/// No more rows than some batches need, and more than others.
const CAPACITY: Capacity = Capacity { source_rows: 37, target_rows: 33 };

struct Fixture {
    tensors: Tensors,
    json: Value,
    name: &'static str,
}

impl Fixture {
    fn open(name: &'static str) -> Self {
        let folder = data("training").join(name);
        let json = serde_json::from_slice(&read(&folder.join("expected.json"))).expect("sound JSON");
        Self { tensors: Tensors::open(&folder.join("expected.safetensors")), json, name }
    }

    fn trainer(&self, device: &Device, smoothing: f32, max_norm: Option<f32>) -> Trainer {
        let recipe = Recipe { dropout: 0.0, label_smoothing: smoothing, max_norm, ..Recipe::default() };
        let model = model(&data("models").join(self.name));
        Trainer::new(device, model, recipe, CAPACITY).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// The pairs of a padded batch.
    fn pairs(&self, batch: &str) -> Vec<Pair> {
        let get = |name: &str| self.tensors.u32(&format!("{batch}.{name}"));
        let rows = |values: Vec<u32>, name: &str| -> Vec<Vec<u32>> {
            let width = self.tensors.shape(&format!("{batch}.{name}"))[1];
            values.chunks_exact(width).map(<[u32]>::to_vec).collect()
        };
        let pad = self.json["pad_token_id"].as_u64().expect("an id") as u32;
        let sources = rows(get("input_ids"), "input_ids");
        let masks = rows(get("attention_mask"), "attention_mask");
        let labels = rows(get("labels"), "labels");
        let keep = |ids: &[u32], mask: &[u32]| {
            ids.iter().zip(mask).filter(|(_, mask)| **mask != 0).map(|(id, _)| *id).collect()
        };
        (sources.iter().zip(&masks).zip(&labels))
            .map(|((source, mask), labels)| Pair {
                source: keep(source, mask),
                target: labels.iter().copied().filter(|id| *id != pad).collect(),
            })
            .collect()
    }

    fn number(&self, path: &[&str]) -> f64 {
        path.iter().fold(&self.json, |json, key| &json[*key]).as_f64().unwrap_or_else(|| panic!("{path:?}"))
    }

    fn numbers(&self, path: &[&str]) -> Vec<f64> {
        let list = path.iter().fold(&self.json, |json, key| &json[*key]).as_array().expect("a list");
        list.iter().map(|number| number.as_f64().expect("a number")).collect()
    }
}

fn close(what: &str, got: f64, want: f64, relative: f64) {
    assert!((got - want).abs() <= relative * want.abs(), "{what}: {got}, not {want}");
}

#[device_test]
async fn losses_and_gradients_equal_torch() {
    for device in devices().await {
        for name in MODELS {
            let fixture = Fixture::open(name);
            for (batch, smoothing) in [("padded", "0.1"), ("full", "0.0")] {
                let key = format!("{batch}.ls{smoothing}");
                let mut trainer = fixture.trainer(&device, smoothing.parse().unwrap(), None);
                let pairs = fixture.pairs(batch);
                trainer.add_gradients(&[&pairs]).await.unwrap();
                let losses = trainer.losses().await.unwrap();
                let what = format!("{name} {key}");
                close(&what, losses.tokens, fixture.number(&["losses", &key, "target_tokens"]), 0.0);
                close(&what, losses.mean_smoothed(), fixture.number(&["losses", &key, "mean"]), 2e-5);
                let gradients = trainer.gradients().await.unwrap();
                let trained: Vec<&str> = fixture.json["trained"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|name| name.as_str().unwrap())
                    .collect();
                let known: Vec<&str> = gradients.keys().map(String::as_str).collect();
                for tensor in &trained {
                    let got =
                        gradients.get(*tensor).unwrap_or_else(|| panic!("{what}: no {tensor} in {known:?}"));
                    let want = fixture.tensors.f32(&format!("grad.{key}.{tensor}"));
                    let most = want.iter().fold(0.0f32, |most, value| most.max(value.abs()));
                    assert_close(&format!("{what} {tensor}"), &got.values, &want, (1e-4 * most + 1e-6, 0.0));
                }
                assert_eq!(gradients.len(), trained.len(), "{what}: {known:?}");
            }
        }
    }
}

#[device_test]
async fn steps_of_adam_equal_torch() {
    for device in devices().await {
        for name in STEPPED {
            let fixture = Fixture::open(name);
            for (run, max_norm) in [("adam", None), ("adam_clip", Some(1.0))] {
                let mut trainer = fixture.trainer(&device, 0.1, max_norm);
                let batches: Vec<Vec<Pair>> =
                    ["padded", "full", "third"].map(|batch| fixture.pairs(batch)).into();
                let rates = fixture.numbers(&["learning_rates"]);
                let losses = fixture.numbers(&[run, "losses"]);
                let norms = fixture.numbers(&[run, "grad_norms"]);
                for (step, (loss, norm)) in losses.iter().zip(&norms).enumerate() {
                    trainer.take_step(&[&batches[step % 3]], rates[step]).await.unwrap();
                    let what = format!("{name} {run} step {}", step + 1);
                    let got = trainer.losses().await.unwrap().mean_smoothed();
                    assert!((got - loss).abs() <= 5e-4, "{what}: loss {got}, not {loss}");
                    let got = f64::from(trainer.gradient_norm().await.unwrap());
                    close(&format!("{what}: norm"), got, *norm, 2e-3);
                }
                let tensors: BTreeMap<_, _> = trainer.tensors().await.unwrap();
                for stored in fixture.json["stored"].as_array().unwrap() {
                    let stored = stored.as_str().unwrap();
                    let want = fixture.tensors.f32(&format!("{run}.{stored}"));
                    assert_close(
                        &format!("{name} {run} {stored}"),
                        &tensors[stored].values,
                        &want,
                        (5e-4, 0.0),
                    );
                }
            }
        }
    }
}

/// A model without ReLU, so that rounding stays rounding: the stored file has the largest change that it makes.
#[cfg(not(target_arch = "wasm32"))]
#[device_test]
async fn a_hundred_steps_have_the_losses_of_torch() {
    let curve: Value = serde_json::from_slice(&read(&data("training/curve.json"))).expect("sound JSON");
    let losses = curve["losses"].as_array().expect("a list");
    let number = |key: &str| curve["recipe"][key].as_f64().expect("a number");
    let (factor, warm_up) = (number("lr_factor"), number("warmup"));
    let fixture = Fixture::open("bart");
    let batches: Vec<Vec<Pair>> = ["padded", "full", "third"].map(|batch| fixture.pairs(batch)).into();
    for device in devices().await {
        let mut trainer = fixture.trainer(&device, 0.1, None);
        let d_model = trainer.config().d_model as f64;
        for (step, want) in (1..).zip(losses) {
            let count = f64::from(step);
            let rate = factor * d_model.powf(-0.5) * count.powf(-0.5).min(count * warm_up.powf(-1.5));
            trainer.take_step(&[&batches[(step as usize - 1) % 3]], rate).await.unwrap();
            let got = trainer.losses().await.unwrap().mean_smoothed();
            let want = want.as_f64().expect("a number");
            assert!((got - want).abs() <= 1e-4, "step {step}: {got}, not {want}");
        }
    }
}
