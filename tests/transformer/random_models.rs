//! Models with random weights.

use crate::common::{data, read};
use wordloom::Model;
use wordloom::model::config::Family;
use wordloom::model::files::ModelFiles;

fn model(folder: &str, seed: u64) -> Model {
    let config = read(&data("models").join(folder).join("config.json"));
    Model::random(ModelFiles::memory(folder, [("config.json", config)]), seed)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn tensor(model: &Model, name: &str) -> Vec<f32> {
    let mut values = vec![0.0; model.checkpoint().info(name).expect("is there").element_count()];
    model.checkpoint().read(name, &mut values).expect("is made up");
    values
}

#[test]
fn values_depend_on_seed_name_and_place_alone() {
    const NAMES: [&str; 2] =
        ["transformer.encoder.layers.0.linear1.weight", "transformer.decoder.layers.0.linear1.weight"];
    let (one, other) = (model("vanilla_postln", 7), model("vanilla_postln", 8));
    let [first, second] = NAMES.map(|name| tensor(&one, name));
    assert_ne!(first, second);
    assert_ne!(first, tensor(&other, NAMES[0]));
    assert_eq!(first, tensor(&model("vanilla_postln", 7), NAMES[0]));
    let width = one.config().d_model;
    for rows in [0..1, 1..4, 3..17] {
        let mut part = vec![0.0; rows.len() * width];
        one.checkpoint().read_rows(NAMES[0], rows.clone(), &mut part).expect("are there");
        assert_eq!(part, first[rows.start * width..rows.end * width]);
    }
    let mut column = vec![0.0; first.len() / width];
    one.checkpoint().read_columns(NAMES[0], 5..6, &mut column).expect("is there");
    assert!(column.iter().eq(first.iter().skip(5).step_by(width)));
}

#[test]
fn values_are_sane() {
    let model = model("vanilla_postln", 1);
    let d_model = model.config().d_model as f64;
    let check = |name: &str, variance: f64| {
        let values = tensor(&model, name);
        let mean = |value: &dyn Fn(f64) -> f64| {
            values.iter().map(|&x| value(f64::from(x))).sum::<f64>() / values.len() as f64
        };
        let (average, found) = (mean(&|x| x), mean(&|x| x * x));
        assert!(average.abs() < 0.05 * variance.sqrt(), "{name}: mean {average}");
        assert!((found / variance - 1.0).abs() < 0.05, "{name}: variance {found}, not {variance}");
    };
    check("embed.weight", 1.0 / d_model);
    let ffn_width = model.config().encoder.ffn_width as f64;
    check("transformer.encoder.layers.0.linear1.weight", 2.0 / (d_model + ffn_width));
    check("transformer.encoder.layers.0.self_attn.in_proj_weight", 2.0 / (4.0 * d_model));
    assert!(tensor(&model, "transformer.encoder.layers.0.linear1.bias").iter().all(|&x| x == 0.0));
    assert!(tensor(&model, "transformer.encoder.layers.0.norm1.weight").iter().all(|&x| x == 1.0));
    assert!(tensor(&model, "transformer.encoder.layers.0.norm1.bias").iter().all(|&x| x == 0.0));
}

/// From ChaCha8 written in another language: `tests/data/make_random_tensor.py embed.weight 0.015625 42`.
#[test]
fn values_are_the_same_everywhere() {
    let values = tensor(&model("vanilla_postln", 42), "embed.weight");
    assert_eq!(
        values[..4].iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
        [3_172_221_065, 3_175_623_616, 1_033_707_401, 1_038_754_691]
    );
}

#[test]
fn every_family_can_do_without_weights() {
    let folders = std::fs::read_dir(data("models")).expect("models");
    let mut families: Vec<Family> = Vec::new();
    for folder in folders {
        let folder = folder.expect("an entry").file_name().into_string().expect("text");
        let stored = Model::load(data("models").join(&folder)).unwrap_or_else(|error| panic!("{error}"));
        let model = model(&folder, 3);
        families.push(model.config().family);
        for name in model.checkpoint().names() {
            let made_up = &model.checkpoint().info(name).expect("is there").shape;
            let found = stored.checkpoint().info(name);
            assert!(found.is_none_or(|found| found.shape == *made_up), "{folder}: {name}");
        }
    }
    assert!(Family::ALL.iter().all(|family| families.contains(family)), "{families:?}");
}
