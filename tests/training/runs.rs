//! Training runs: accumulation, dropout on every device, resuming, freezing, evaluation, bad input.

use std::collections::BTreeMap;

use crate::common::{Tensors, assert_close, data, device_test, devices, gpu, model, read};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use wordloom::model::files::ModelFiles;
use wordloom::precision::Products;
use wordloom::train::{Capacity, Pair, Recipe, TrainError, Trainer};
use wordloom::transformer::Cancel;
use wordloom::{Device, Model};

const CAPACITY: Capacity = Capacity { source_rows: 40, target_rows: 40 };

/// Copies of random tokens: something to learn.
fn pairs(seed: u32, count: usize) -> Vec<Pair> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
    let mut next = move |below: u32| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state % below
    };
    (0..count)
        .map(|_| {
            let mut tokens: Vec<u32> = (0..1 + next(7)).map(|_| 3 + next(20)).collect();
            tokens.push(0);
            Pair { source: tokens.clone(), target: tokens }
        })
        .collect()
}

fn recipe() -> Recipe {
    Recipe { dropout: 0.2, attention_dropout: 0.1, ..Recipe::default() }
}

fn trainer(device: &Device, recipe: Recipe) -> Trainer {
    Trainer::new(device, model(&data("models/marian_tied")), recipe, CAPACITY).unwrap()
}

/// All trained tensors as bits.
async fn bits(trainer: &Trainer) -> BTreeMap<String, Vec<u32>> {
    let tensors = trainer.tensors().await.unwrap();
    let words = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect();
    tensors.into_iter().map(|(name, tensor)| (name, words(tensor.values))).collect()
}

/// The model as a folder of f32 tensors.
async fn saved(trainer: &Trainer) -> Model {
    let tensors = trainer.tensors().await.unwrap();
    let bytes: BTreeMap<&String, Vec<u8>> = tensors
        .iter()
        .map(|(name, tensor)| (name, tensor.values.iter().flat_map(|value| value.to_le_bytes()).collect()))
        .collect();
    let views = tensors.iter().map(|(name, tensor)| {
        let view = TensorView::new(Dtype::F32, tensor.shape.clone(), &bytes[name]).unwrap();
        (name.clone(), view)
    });
    let weights = safetensors::serialize(views, None).unwrap();
    let config = read(&data("models/marian_tied/config.json"));
    let files = [("config.json", config), ("model.safetensors", weights)];
    Model::from_files(ModelFiles::memory("saved", files)).unwrap()
}

#[device_test]
async fn gradients_of_batches_are_those_of_one_batch() {
    for device in devices().await {
        let pairs = pairs(1, 6);
        let still = Recipe { dropout: 0.0, ..Recipe::default() };
        let gradients = async |batches: &[&[Pair]]| {
            let mut trainer = trainer(&device, still.clone());
            trainer.add_gradients(batches).await.unwrap();
            (trainer.gradients().await.unwrap(), trainer.losses().await.unwrap())
        };
        let (want, losses) = gradients(&[&pairs]).await;
        let (got, same) = gradients(&[&pairs[..1], &pairs[1..4], &pairs[4..]]).await;
        assert_eq!(losses.tokens, same.tokens);
        assert!((losses.smoothed - same.smoothed).abs() <= 1e-6 * losses.smoothed, "{losses:?}, {same:?}");
        // gradients of key biases are rounding noise, so the size of all of them counts
        let all = want.values().flat_map(|tensor| &tensor.values);
        let most = all.fold(0.0f32, |most, value| most.max(value.abs()));
        for (name, want) in want {
            for (got, want) in got[&name].values.iter().zip(&want.values) {
                assert!((got - want).abs() <= 2e-6 * most, "{name}: {got}, not {want}");
            }
        }
    }
}

#[device_test]
async fn a_run_has_the_same_bits_again_and_the_same_masks_on_every_device() {
    let mut losses = Vec::new();
    for device in devices().await {
        let run = async || {
            let mut trainer = trainer(&device, recipe());
            let mut losses = Vec::new();
            for step in 0..4 {
                trainer.take_step(&[&pairs(step, 5)], 1e-4).await.unwrap();
                losses.push(trainer.losses().await.unwrap().smoothed);
            }
            (losses, bits(&trainer).await)
        };
        let (first, second) = (run().await, run().await);
        assert_eq!(first, second, "the same bits");
        losses.push(first.0);
    }
    // another mask would change a loss by some percent
    for (one, other) in losses[0].iter().zip(losses.last().unwrap()) {
        assert!((one - other).abs() <= 1e-5 * one, "{losses:?}");
    }
    let mut plain = trainer(&Device::Cpu, Recipe::default());
    plain.take_step(&[&pairs(0, 5)], 1e-4).await.unwrap();
    let without = plain.losses().await.unwrap().smoothed;
    assert!((without - losses[0][0]).abs() > 1e-3 * without, "dropout does something: {without}, {losses:?}");
}

/// The gradients of rounded operands point where the exact ones do, which is what an optimizer needs.
#[device_test]
async fn products_in_bf16_give_nearly_the_same_gradients_and_are_for_the_cpu() {
    let rounded = Recipe { dropout: 0.0, products: Products::Bf16, ..Recipe::default() };
    let exact = Recipe { products: Products::F32, ..rounded.clone() };
    let pairs = pairs(3, 6);
    let gradients = async |recipe: &Recipe| {
        let mut trainer = trainer(&Device::Cpu, recipe.clone());
        trainer.add_gradients(&[&pairs]).await.unwrap();
        let gradients = trainer.gradients().await.unwrap();
        let values: Vec<f64> =
            gradients.into_values().flat_map(|tensor| tensor.values).map(f64::from).collect();
        (values, trainer.losses().await.unwrap().smoothed)
    };
    let ((want, loss), (got, rounded_loss)) = (gradients(&exact).await, gradients(&rounded).await);
    assert!((loss - rounded_loss).abs() < 0.01 * loss && loss != rounded_loss, "{loss}, {rounded_loss}");
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let cosine = product(&want, &got) / (product(&want, &want) * product(&got, &got)).sqrt();
    // torch.autocast(bfloat16) has 0.991 for this model of random weights
    assert!(cosine > 0.99, "{cosine}");
    for device in devices().await.iter().filter(|device| device.gpu().is_some()) {
        let refused = Trainer::new(device, model(&data("models/marian_tied")), rounded.clone(), CAPACITY);
        let message = refused.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(message.contains("--device cpu"), "{message}");
    }
}

#[device_test]
async fn a_resumed_run_goes_on_bit_for_bit() {
    for device in devices().await {
        let mut whole = trainer(&device, recipe());
        let mut first = trainer(&device, recipe());
        for step in 0..3 {
            whole.take_step(&[&pairs(step, 5)], 1e-3).await.unwrap();
            first.take_step(&[&pairs(step, 5)], 1e-3).await.unwrap();
        }
        let (moments, step, passes) =
            (first.moments().await.unwrap(), first.step_count(), first.pass_count());
        let folder = saved(&first).await;
        let mut resumed = Trainer::new(&device, folder, recipe(), CAPACITY).unwrap();
        resumed.resume(&moments, step, passes).unwrap();
        for step in 3..6 {
            whole.take_step(&[&pairs(step, 5)], 1e-3).await.unwrap();
            resumed.take_step(&[&pairs(step, 5)], 1e-3).await.unwrap();
        }
        assert!(bits(&whole).await == bits(&resumed).await, "the same bits");
    }
}

#[device_test]
async fn it_learns_and_evaluation_changes_nothing() {
    for device in devices().await {
        let mut one = trainer(&device, Recipe { dropout: 0.0, ..Recipe::default() });
        let mut other = trainer(&device, Recipe { dropout: 0.0, ..Recipe::default() });
        let batch = pairs(7, 6);
        let before = one.evaluate(&[&batch], &Cancel::default()).await.unwrap();
        for _ in 0..8 {
            one.take_step(&[&batch], 2e-3).await.unwrap();
            one.evaluate(&[&batch, &pairs(8, 4)], &Cancel::default()).await.unwrap();
            other.take_step(&[&batch], 2e-3).await.unwrap();
        }
        assert!(bits(&one).await == bits(&other).await, "the same bits");
        let after = one.evaluate(&[&batch], &Cancel::default()).await.unwrap();
        assert!(after.mean() < 0.5 * before.mean(), "{before:?}, {after:?}");
        assert_eq!(one.losses().await.unwrap().tokens, 8.0 * after.tokens, "losses of steps are kept apart");
    }
}

#[device_test]
async fn frozen_tensors_stay() {
    for device in devices().await {
        let freeze = vec!["shared".to_owned(), "layer_norm".to_owned(), "encoder.layers.0".to_owned()];
        let mut trainer = trainer(&device, Recipe { freeze: freeze.clone(), ..recipe() });
        let before = bits(&trainer).await;
        trainer.take_step(&[&pairs(1, 5)], 1e-3).await.unwrap();
        for (name, values) in bits(&trainer).await {
            let is_frozen = freeze.iter().any(|part| name.contains(part)) || name == "final_logits_bias";
            assert_eq!(values == before[&name], is_frozen, "{name}");
        }
    }
}

/// A model of `torch.nn` with batch norms: its gradients, and its running statistics after the pass, are torch's.
#[device_test]
async fn batch_norms_are_trained_as_torch_trains_them() {
    let tensors = Tensors::open(&data("batch_norm/expected.safetensors"));
    let rows = |name: &str| -> Vec<Vec<u32>> {
        let width = tensors.shape(name)[1];
        tensors.u32(name).chunks_exact(width).map(<[u32]>::to_vec).collect()
    };
    let sides = rows("source").into_iter().zip(rows("labels"));
    let pairs: Vec<Pair> = sides.map(|(source, target)| Pair { source, target }).collect();
    let losses = tensors.f32("losses");
    let near = |what: &str, got: f64, want: f32| {
        assert!((got - f64::from(want)).abs() <= 2e-5 * f64::from(want), "{what}: {got}, not {want}");
    };
    for device in devices().await {
        let still = Recipe { dropout: 0.0, label_smoothing: 0.0, ..Recipe::default() };
        // more rows than the sentences have
        let model = model(&data("batch_norm"));
        let mut trainer = Trainer::new(&device, model, still, CAPACITY).unwrap();
        near(
            "running statistics",
            trainer.evaluate(&[&pairs], &Cancel::default()).await.unwrap().mean(),
            losses[0],
        );
        trainer.add_gradients(&[&pairs]).await.unwrap();
        near("statistics of the batch", trainer.losses().await.unwrap().mean(), losses[1]);
        let gradients = trainer.gradients().await.unwrap();
        let after = trainer.tensors().await.unwrap();
        let most = gradients.values().flat_map(|tensor| &tensor.values);
        let most = most.fold(0.0f32, |most, value| most.max(value.abs()));
        for name in tensors.names() {
            let want = || tensors.f32(&name);
            if let Some(weight) = name.strip_prefix("grad.") {
                assert_close(&name, &gradients[weight].values, &want(), (1e-5 * most, 0.0));
            } else if let Some(buffer) = name.strip_prefix("after.") {
                assert_close(&name, &after[buffer].values, &want(), (1e-5, 1e-5));
            }
        }
        assert!(gradients.keys().all(|name| !name.contains("running")), "statistics are no parameters");
    }
}

#[cfg(not(target_arch = "wasm32"))]
#[device_test]
async fn a_step_creates_nothing_on_the_device() {
    let device = Device::Gpu(gpu().await);
    let mut trainer = trainer(&device, recipe());
    trainer.take_step(&[&pairs(0, 5)], 1e-4).await.unwrap();
    let before = device.gpu().unwrap().counters();
    for step in 1..5 {
        trainer.take_step(&[&pairs(step, 5)], 1e-4).await.unwrap();
    }
    let after = device.gpu().unwrap().counters();
    assert_eq!(after.bind_groups, before.bind_groups);
    assert_eq!(after.buffers, before.buffers);
    assert_eq!(after.submits, before.submits + 4, "one submit a step");
}

#[device_test]
async fn bad_input_is_named() {
    let device = Device::Cpu;
    let error = |recipe: Recipe| {
        let model = model(&data("models/marian_tied"));
        Trainer::new(&device, model, recipe, CAPACITY)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    assert!(error(Recipe { dropout: 1.0, ..recipe() }).starts_with("dropout is 1, but"));
    assert!(error(Recipe { label_smoothing: -0.1, ..recipe() }).contains("label smoothing is -0.1"));
    assert!(error(Recipe { max_norm: Some(0.0), ..recipe() }).contains("largest norm is 0"));
    let unknown = error(Recipe { freeze: vec!["decodr".to_owned()], ..recipe() });
    assert!(unknown.contains("decodr") && unknown.contains("model.shared.weight"), "{unknown}");
    assert!(error(Recipe { freeze: vec![String::new()], ..recipe() }).contains("no weight"));

    for (name, text) in [("bert", "bert model"), ("gpt2", "gpt2 model")] {
        let found = Trainer::new(&device, model(&data("models").join(name)), recipe(), CAPACITY);
        let message = found.err().unwrap().to_string();
        assert!(message.contains(text) && message.contains("encoder and a decoder"), "{message}");
    }

    let mut trainer = trainer(&device, recipe());
    let before = bits(&trainer).await;
    let pair = |source: Vec<u32>, target: Vec<u32>| [Pair { source, target }];
    for (pairs, text) in [
        (pair(vec![5, 645], vec![0]), "645"),
        (pair(vec![5], vec![9999, 0]), "9999"),
        (pair(vec![5; 41], vec![0]), "41 source tokens"),
        (pair(vec![5], vec![5; 41]), "41 target tokens"),
        (pair(vec![5; 5000], vec![0]), "positions"),
    ] {
        let error = trainer.take_step(&[&pairs], 1e-3).await.unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    assert_eq!(trainer.step_count(), 0);
    assert!(bits(&trainer).await == before, "nothing has changed");
    let moments = BTreeMap::new();
    let error = trainer.resume(&moments, 1, 1).unwrap_err();
    assert!(matches!(error, TrainError::ForeignState { got: 0, .. }), "{error}");
}

#[device_test]
async fn students_have_no_gradient_but_say_so() {
    let model = Model::from_files(ModelFiles::directory(data("models/firefox")).unwrap()).unwrap();
    let error = Trainer::new(&Device::Cpu, model, recipe(), CAPACITY).err().unwrap().to_string();
    assert!(error.contains("cannot be trained"), "{error}");
}
