//! Every row of Table 3 of "Attention Is All You Need": its parameters against `docs/parameters.md` and against the
//! tensors of a model; and the model on the CPU against the GPU.

use std::collections::BTreeMap;

use crate::common::{devices, read, repository};
use serde_json::Value;
use wordloom::Model;
use wordloom::model::config::{ModelConfig, Positions};
use wordloom::model::files::ModelFiles;
use wordloom::transformer::{ForwardInput, ForwardOutput, ForwardSelection, Transformer};

/// The files' contents by name.
fn configurations() -> BTreeMap<String, Value> {
    let folder = std::fs::read_dir(repository("configs/table-3")).expect("the folder of configurations");
    let files = folder.map(|entry| entry.expect("an entry").path());
    let name = |path: &std::path::Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    files.map(|path| (name(&path), serde_json::from_slice(&read(&path)).expect("sound JSON"))).collect()
}

fn model(name: &str, config: &Value) -> Model {
    let files = ModelFiles::memory(name.to_owned(), [("config.json", config.to_string().into_bytes())]);
    Model::random(files, 2017).unwrap_or_else(|error| panic!("{error}"))
}

/// Number of values in all tensors of a model.
fn values(model: &Model) -> u64 {
    let checkpoint = model.checkpoint();
    checkpoint.names().map(|name| checkpoint.info(name).unwrap().element_count() as u64).sum()
}

/// Number of values in computed position tables.
fn computed(config: &ModelConfig) -> u64 {
    match config.positions {
        Positions::Sinusoidal { count, .. } => (count * config.d_model) as u64,
        _ => 0,
    }
}

#[test]
fn counts_are_those_of_the_tensors_and_of_the_documentation() {
    let page = String::from_utf8(read(&repository("docs/parameters.md"))).expect("UTF-8");
    let mut rows: BTreeMap<&str, Vec<&str>> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"))
        .map(|(name, cells)| (name, cells.split('|').map(str::trim).collect()))
        .collect();
    let configurations = configurations();
    assert_eq!(configurations.len(), 20);
    for (name, config) in &configurations {
        let model = model(name, config);
        let config = model.config();
        let count = config.parameter_count();
        assert_eq!(count, values(&model), "{name}");
        assert_eq!(model.blueprint().table.elements() as u64, count + computed(config), "{name}");
        let row = rows.remove(name.as_str()).unwrap_or_else(|| panic!("{name} is documented"));
        assert_eq!(row[1], format!("{:.1}", count as f64 / 1e6), "{name}");
        assert_eq!(row[2].replace(',', ""), count.to_string(), "{name}");
        if let Ok(paper) = row[3].parse::<f64>() {
            // the embedding: see the page
            let rows_more = (paper * 1e6 - count as f64) / config.d_model as f64;
            assert!((-2000.0..6500.0).contains(&rows_more), "{name}: {rows_more}");
        }
    }
    assert!(rows.is_empty(), "no file for {:?}", rows.keys());
}

#[test]
fn blocks_have_4_and_8_d_model_squared() {
    let configurations = configurations();
    for name in ["base", "big", "a-heads-1", "a-heads-32"] {
        let model = model(name, &configurations[name]);
        let (config, stack) = (model.config(), &model.config().encoder);
        let d = config.d_model as u64;
        assert_eq!(config.attention_weights(stack), 4 * d * d, "{name}");
        assert_eq!(config.feed_forward_weights(stack), 8 * d * d, "{name}");
        assert_eq!(config.attention_parameters(stack), 4 * d * d + 4 * d + 2 * d, "{name}");
        assert_eq!(config.feed_forward_parameters(stack), 8 * d * d + 5 * d + 2 * d, "{name}");
        let parts = config.parameters();
        let layer = |attentions: u64| attentions * (4 * d * d + 6 * d) + 8 * d * d + 7 * d;
        assert_eq!((parts.encoder, parts.decoder), (6 * layer(1), 6 * layer(2)), "{name}");
        assert_eq!((parts.embeddings, parts.output), (37_000 * d, 0), "{name}");
    }
}

/// The models have a small vocabulary, and two layers on either side unless the row changes the number of layers. Rows of
/// the same shape run once.
#[pollster::test]
async fn every_row_runs_the_same_on_cpu_and_gpu() {
    const VOCABULARY: usize = 101;
    let devices = devices().await;
    let mut seen: Vec<ModelConfig> = Vec::new();
    for (name, mut config) in configurations() {
        config["vocab_size"] = VOCABULARY.into();
        config["max_position_embeddings"] = 16.into();
        if name != "base" && !name.starts_with("c-layers") {
            config["num_encoder_layers"] = 2.into();
            config["num_decoder_layers"] = 2.into();
        }
        let model = model(&name, &config);
        if seen.contains(model.config()) {
            continue;
        }
        seen.push(model.config().clone());
        let ids = |count: usize, step: usize| (0..count).map(|at| (at * step % VOCABULARY) as u32).collect();
        let input = ForwardInput {
            batch: 2,
            source_length: 5,
            target_length: 4,
            input_ids: ids(10, 37),
            attention_mask: vec![1, 1, 1, 1, 1, 1, 1, 1, 0, 0],
            decoder_input_ids: ids(8, 29),
            ..ForwardInput::default()
        };
        let selection = ForwardSelection { logits: true, hidden: true, ..ForwardSelection::default() };
        let mut outputs: Vec<ForwardOutput> = Vec::new();
        for device in &devices {
            let transformer = Transformer::load(device, &model, &mut |_| {}).expect("loads");
            outputs.push(transformer.forward_selected(&input, &selection).await.expect("runs"));
        }
        let [cpu, gpu] = &outputs[..] else { panic!("two devices") };
        let deviation =
            cpu.logits.data.iter().map(|logit| logit * logit).sum::<f32>() / (8 * VOCABULARY) as f32;
        assert!((0.1..10.0).contains(&deviation.sqrt()), "{name}: logits of about {}", deviation.sqrt());
        compare(&name, "logits", &cpu.logits.data, &gpu.logits.data);
        let states =
            [cpu, gpu].map(|output| &output.encoder_last_hidden_state.data[..8 * model.config().d_model]);
        compare(&name, "encoder_last_hidden_state", states[0], states[1]);
        println!("{name}: {} values", model.config().parameter_count());
    }
    assert_eq!(seen.len(), 16);
}

fn compare(name: &str, what: &str, cpu: &[f32], gpu: &[f32]) {
    assert_eq!(cpu.len(), gpu.len(), "{name}, {what}");
    let worst = cpu.iter().zip(gpu).map(|(a, b)| (a - b).abs() / (1e-4 + 1e-4 * b.abs())).fold(0.0, f32::max);
    assert!(worst <= 1.0, "{name}, {what}: {worst} times the tolerance");
}
