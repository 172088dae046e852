//! A device's own clock, where it has one.

use std::time::{Duration, Instant};

use wordloom::activation::Activation;
use wordloom::gpu::{self, Gpu};
use wordloom::kernels::AdapterClass;
use wordloom::kernels::linear::{self, LinearShape};
use wordloom::precision::WeightPrecision;

/// What a device worked is less than what a host waited for it.
#[test]
fn a_device_has_a_clock_of_its_own() {
    let adapter = pollster::block_on(gpu::any()).expect("tests need a GPU adapter: run `cargo xtask setup`");
    let gpu = pollster::block_on(Gpu::open(adapter)).unwrap();
    if gpu.class() == AdapterClass::Hardware {
        eprintln!("skipped: `{}` is no software adapter", gpu.adapter().name());
        return;
    }
    let Some(clock) = gpu.clock().unwrap() else {
        eprintln!("skipped: `{}` has no clock", gpu.adapter().name());
        return;
    };
    let buffers = [(); 5].map(|()| gpu.buffer("test", 1 << 18).unwrap());
    let shape = LinearShape {
        rows: 64,
        inputs: 256,
        outputs: 1024,
        scale: 1.0,
        bias: false,
        activation: Activation::Identity,
        join: None,
        precision: WeightPrecision::F32,
    };
    let launch = (linear::dispatch(&shape, 0..1024, gpu.class()), buffers.iter().collect());
    let recording = gpu.record("clock", &[launch]).unwrap();
    for _ in 0..3 {
        let start = Instant::now();
        let worked = pollster::block_on(gpu.time(&recording, &clock)).unwrap().expect("it moved");
        let waited = start.elapsed();
        // 17 million multiplications in less than the thousandth of a millisecond?
        assert!(worked > Duration::from_micros(1) && worked < waited, "{worked:?} of {waited:?}");
    }
}
