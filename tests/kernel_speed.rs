//! What the choice of kernels by adapter class is worth: measured as a ratio within one run, because rates vary with the
//! machine and with what else runs on it.

use std::time::{Duration, Instant};

use wordloom::activation::Activation;
use wordloom::gpu::{self, Buffer, Gpu};
use wordloom::kernels::linear::{self, LinearShape};
use wordloom::kernels::{Access, AdapterClass, Dispatch, Kernel, panels};
use wordloom::precision::WeightPrecision;

static CLASSIC: Kernel = Kernel {
    name: "matmul_classic",
    wgsl: include_str!("data/matmul_classic.wgsl"),
    storage: &[Access::Read, Access::Read, Access::Write],
    params: &[],
};

fn timed(gpu: &Gpu, launch: (Dispatch, Vec<&Buffer>)) -> impl Fn() -> Duration {
    let recording = gpu.record("speed", &[launch]).unwrap();
    move || {
        let start = Instant::now();
        gpu.submit(&recording, 1, &[]);
        gpu.flush().unwrap(); // waits
        start.elapsed()
    }
}

fn open() -> Option<Gpu> {
    let adapter = pollster::block_on(gpu::any()).expect("tests need a GPU adapter: run `cargo xtask setup`");
    let gpu = pollster::block_on(Gpu::open(adapter)).unwrap();
    if gpu.class() == AdapterClass::Hardware {
        eprintln!("skipped: `{}` is no software adapter", gpu.adapter().name());
        return None;
    }
    Some(gpu)
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

#[test]
fn the_matmul_of_a_software_adapter_is_five_times_the_classic_one() {
    const SIZE: usize = 512;
    let Some(gpu) = open() else { return };
    let values: Vec<f32> = (0..SIZE * SIZE).map(|i| (i as f32 * 0.618).fract() - 0.5).collect();
    let x = gpu.upload("x", &values).unwrap();
    let weight = gpu.upload("weight", &panels::pack(&values, SIZE, SIZE, WeightPrecision::F32)).unwrap();
    let nothing = gpu.buffer("nothing", 4).unwrap();
    let [y, classic_y] = ["y", "classic y"].map(|label| gpu.buffer(label, SIZE * SIZE).unwrap());

    let shape = LinearShape {
        rows: SIZE,
        inputs: SIZE,
        outputs: SIZE,
        scale: 1.0,
        bias: false,
        activation: Activation::Identity,
        join: None,
        precision: WeightPrecision::F32,
    };
    let dispatch = linear::dispatch(&shape, 0..SIZE, gpu.class());
    let ours = timed(&gpu, (dispatch, vec![&x, &weight, &nothing, &nothing, &y]));
    let classic = Dispatch {
        kernel: &CLASSIC,
        constants: Vec::new(),
        params: bytemuck::cast_slice(&[SIZE as u32; 3]).to_vec(),
        workgroups: [SIZE as u32 / 16, SIZE as u32 / 16, 1],
    };
    // it multiplies by W, not Wᵀ: other numbers, the same work
    let classic = timed(&gpu, (classic, vec![&x, &weight, &classic_y]));

    ours();
    classic();
    let (ours, classic): (Vec<_>, Vec<_>) = (0..5).map(|_| (ours(), classic())).unzip();
    let (ours, classic) = (median(ours), median(classic));
    let rate = |seconds: f64| 2.0 * (SIZE * SIZE * SIZE) as f64 / seconds / 1e9;
    println!(
        "{}: ours {:.1} GFLOP/s, classic {:.1} GFLOP/s, ratio {:.1}",
        gpu.adapter().name(),
        rate(ours),
        rate(classic),
        classic / ours
    );
    assert!(classic / ours >= 5.0, "only {:.1} times as fast", classic / ours);
}

/// Mesa 22's lavapipe compiles a shader anew for every dispatch where the uniform buffer would let it unroll a loop, see
/// `shaders/shared/grid.wgsl`. A tile of eight rows that holds one row would then take ten times as long, not as long.
#[test]
fn launches_are_not_recompiled() {
    let Some(gpu) = open() else { return };
    let buffers = [(); 5].map(|()| gpu.buffer("test", 1 << 18).unwrap());
    let [one, eight] = [1, 8].map(|rows| {
        let (inputs, outputs) = (256, 1024);
        let activation = Activation::Identity;
        let precision = WeightPrecision::F32;
        let shape =
            LinearShape { rows, inputs, outputs, scale: 1.0, bias: false, activation, join: None, precision };
        let variant = linear::Variant::MatmulRegisters;
        let dispatch = linear::dispatch_variant(&shape, 0..outputs, variant);
        timed(&gpu, (dispatch, buffers.iter().collect()))
    });
    // in this order: a pipeline is specialized until a launch comes for which it would not be worth it
    one();
    let one = median((0..9).map(|_| one()).collect());
    eight();
    let eight = median((0..9).map(|_| eight()).collect());
    assert!(one < 4.0 * eight, "one row takes {:.1} times as long as eight", one / eight);
}

/// What q8 is for: a decoding step waits for weights, and they are a fourth of the bytes.
#[test]
fn eight_bits_are_faster_than_thirty_two() {
    let Some(gpu) = open() else { return };
    let (inputs, outputs) = (512, 8192);
    let values: Vec<f32> = (0..inputs * outputs).map(|i| (i as f32 * 0.618).fract() - 0.5).collect();
    let [x, nothing, y] = [inputs, 4, outputs].map(|elements| gpu.buffer("test", elements).unwrap());
    let [q8, f32] = [WeightPrecision::Q8, WeightPrecision::F32].map(|precision| {
        let shape = LinearShape {
            rows: 1,
            inputs,
            outputs,
            scale: 1.0,
            bias: false,
            activation: Activation::Identity,
            join: None,
            precision,
        };
        let weight = gpu.upload("weight", &panels::pack(&values, outputs, inputs, precision)).unwrap();
        let dispatch = linear::dispatch(&shape, 0..outputs, gpu.class());
        let run = timed(&gpu, (dispatch, vec![&x, &weight, &nothing, &nothing, &y]));
        run();
        median((0..9).map(|_| run()).collect())
    });
    println!("{}: q8 takes {:.2} of the time of f32", gpu.adapter().name(), q8 / f32);
    assert!(q8 < 0.8 * f32, "q8 takes {:.2} of the time of f32", q8 / f32);
}

/// What a device worked is less than what a host waited for it.
#[test]
fn a_device_has_a_clock_of_its_own() {
    let Some(gpu) = open() else { return };
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
