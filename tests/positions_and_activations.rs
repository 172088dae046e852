//! What follows from a configuration alone, position tables and activations, against results in f64.

use std::fs;
use std::path::Path;

use wordloom::activation::Activation;
use wordloom::model::checkpoint::Checkpoint;
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
    for (prefix, layout) in
        [("marian.", SinusoidalLayout::Halves), ("interleaved.", SinusoidalLayout::Interleaved)]
    {
        let mut tables = 0;
        for name in reference.0.names().filter(|name| name.starts_with(prefix)) {
            let &[count, d_model] = &reference.0.info(name).unwrap().shape[..] else { panic!("{name}") };
            let table = sinusoidal_positions(layout, 0..count, d_model);
            for (value, expected) in table.iter().zip(reference.values(name)) {
                assert!((value - expected).abs() <= 2e-6, "{name}: {value} is not {expected}");
            }
            tables += 1;
        }
        assert!(tables > 0, "{prefix}");
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
