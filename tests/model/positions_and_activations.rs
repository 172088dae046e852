//! Position tables and activations, which depend on the configuration alone, against results in f64.

use std::fs;
use std::path::Path;

use wordloom::activation::Activation;
use wordloom::model::checkpoint::Checkpoint;
use wordloom::model::config::RelativePositions;
use wordloom::model::files::ModelFiles;
use wordloom::model::positions::{SinusoidalLayout, sinusoidal_positions};

/// A file of reference results, one of `tests/data/kernels`.
struct Reference(Checkpoint);

impl Reference {
    fn open(name: &str) -> Self {
        let bytes =
            fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/kernels").join(name)).unwrap();
        Self(Checkpoint::open(&ModelFiles::memory("reference", [("model.safetensors", bytes)])).unwrap())
    }

    fn values(&self, name: &str) -> Vec<f32> {
        let mut values = vec![0.0; self.0.info(name).expect(name).element_count()];
        self.0.read(name, &mut values).unwrap();
        values
    }
}

#[test]
fn positions_are_those_of_the_reference() {
    let reference = Reference::open("positions.safetensors");
    for (prefix, layout) in [
        ("marian.", SinusoidalLayout::Halves),
        ("interleaved.", SinusoidalLayout::Interleaved),
        ("m2m_100.", SinusoidalLayout::Tensor2Tensor),
    ] {
        let mut tables = 0;
        for name in reference.0.names().filter(|name| name.starts_with(prefix)) {
            let &[count, d_model] = &reference.0.info(name).unwrap().shape[..] else { panic!("{name}") };
            let mut table = sinusoidal_positions(layout, 0..count, d_model);
            if layout == SinusoidalLayout::Tensor2Tensor {
                table[d_model..2 * d_model].fill(0.0); // the row of padding
            }
            for (value, expected) in table.iter().zip(reference.values(name)) {
                assert!((value - expected).abs() <= 2e-6, "{name}: {value} is not {expected}");
            }
            tables += 1;
        }
        assert!(tables > 0, "{prefix}");
    }
}

/// Every distance around the longest, in many configurations, including unusual ones.
#[test]
fn distances_fall_into_the_buckets_of_t5() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/t5_buckets.json");
    let cases: Vec<serde_json::Value> = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert!(cases.len() >= 20);
    for case in cases {
        let size = |key: &str| case[key].as_u64().unwrap() as usize;
        let positions = RelativePositions {
            buckets: size("num_buckets"),
            max_distance: size("max_distance"),
            of_each_layer: false,
        };
        let (bidirectional, first) =
            (case["bidirectional"].as_bool().unwrap(), case["first"].as_i64().unwrap());
        for (distance, bucket) in (first..).zip(case["buckets"].as_array().unwrap()) {
            let got = positions.bucket(distance, bidirectional) as u64;
            assert_eq!(Some(got), bucket.as_u64(), "{positions:?}, {distance}, {bidirectional}");
        }
    }
}

#[test]
fn an_odd_width_has_one_more_sine_than_cosines() {
    // MarianSinusoidalPositionalEmbedding with 5 columns: sines of frequencies 0, 1, 2, then cosines of 0, 1.
    let row = |layout| sinusoidal_positions(layout, 3..4, 5).to_vec();
    let angle = |i: f64| 3.0 / 10_000f64.powf(2.0 * i / 5.0);
    let sine = |i| angle(i).sin() as f32;
    let cosine = |i| angle(i).cos() as f32;
    assert_eq!(row(SinusoidalLayout::Halves), [sine(0.0), sine(1.0), sine(2.0), cosine(0.0), cosine(1.0)]);
    assert_eq!(
        row(SinusoidalLayout::Interleaved),
        [sine(0.0), cosine(0.0), sine(1.0), cosine(1.0), sine(2.0)]
    );
    assert!(sinusoidal_positions(SinusoidalLayout::Halves, 0..0, 5).is_empty());
    assert!(sinusoidal_positions(SinusoidalLayout::Halves, 0..5, 0).is_empty());
}

#[test]
fn activations_are_those_of_the_reference() {
    let reference = Reference::open("activations.safetensors");
    let inputs = reference.values("x");
    for (name, activation) in [
        ("relu", Activation::Relu),
        ("gelu_erf", Activation::Gelu),
        ("gelu_tanh", Activation::GeluTanh),
        ("quick_gelu", Activation::QuickGelu),
        ("silu", Activation::Silu),
        ("sigmoid", Activation::Sigmoid),
        ("tanh", Activation::Tanh),
    ] {
        for (&x, expected) in inputs.iter().zip(reference.values(name)) {
            let y = activation.apply(x);
            assert!(
                (y - expected).abs() <= 2e-6 * expected.abs().max(1.0),
                "{name}({x}) is {y}, not {expected}"
            );
        }
    }
}
