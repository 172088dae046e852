//! Devices with lowered limits: a model passes, or is refused with an error that names the limit.

use std::sync::Arc;

use crate::common::{data, device_test, model};
use wordloom::decode::DecodeOptions;
use wordloom::device::Gpu;
use wordloom::gpu;
use wordloom::graph::{Graph, Plan, Session, StateTable, Upload, WeightTable, Weights};
use wordloom::heatmap::GridShape;
use wordloom::kernels::{AdapterClass, heatmap};
use wordloom::precision::WeightPrecision;
use wordloom::transformer::{GenerateError, GenerateOptions, GenerateRequest, Transformer};
use wordloom::{Device, GpuError};

async fn device(class: AdapterClass, lower: impl FnOnce(&mut wgpu::Limits)) -> Device {
    let adapter = gpu::any().await.expect("a GPU adapter");
    let mut limits = wgpu::Limits::defaults();
    lower(&mut limits);
    let mut gpu = Gpu::open_with_limits(adapter, limits).await.expect("opens");
    gpu.force_class(class);
    Device::Gpu(Arc::new(gpu))
}

/// Ids of a greedy search and of one with beams, in a batch of several lengths.
async fn search(device: &Device) -> Result<Vec<Vec<u32>>, GenerateError> {
    let model = model(&data("models").join("marian_tied"));
    let transformer = Transformer::load(device, &model, &mut |_| ()).expect("loads");
    let mut found = Vec::new();
    for beams in [1, 4] {
        let options = DecodeOptions { num_beams: beams, max_length: 12, ..DecodeOptions::new(644, 0, 644) };
        let source = |length: u32| (1..length).map(|i| i * 13 % 640).chain([0]).collect();
        let requests = [5, 40].map(|length| GenerateRequest::new(source(length), options.clone()));
        let generations = transformer.generate(&requests, GenerateOptions::default()).await?;
        found.extend(generations.into_iter().map(|generation| generation.hypotheses[0].tokens.clone()));
    }
    Ok(found)
}

#[device_test]
async fn a_model_passes_within_lowered_limits() {
    let want = search(&Device::Cpu).await.expect("the CPU searches");
    for class in [AdapterClass::Software, AdapterClass::Hardware] {
        let lowered = device(class, |limits| {
            limits.max_buffer_size = 16 << 20;
            limits.max_storage_buffer_binding_size = 16 << 20;
            limits.max_compute_workgroups_per_dimension = 4096;
        });
        for device in [device(class, |_| ()).await, lowered.await] {
            assert_eq!(search(&device).await.expect("the device searches"), want, "{class:?}");
        }
    }
}

/// One row a workgroup, and more rows than two such axes hold side by side.
#[device_test]
async fn launches_are_folded_to_fewer_workgroups_an_axis() {
    const ROWS: usize = 9_001;
    const WIDTH: usize = 4;
    let mut results = Vec::new();
    let lowered =
        device(AdapterClass::Hardware, |limits| limits.max_compute_workgroups_per_dimension = 4096).await;
    for device in [Device::Cpu, lowered] {
        let (mut states, mut table) = (StateTable::default(), WeightTable::default());
        let (x, y) = (states.f32("x", ROWS, WIDTH), states.f32("y", ROWS, WIDTH));
        let gamma = table.vector("gamma", WIDTH);
        let mut g = Graph::new("norm");
        let norm = wordloom::ops::Normalization { gamma, beta: None, running: None, epsilon: 1e-5 };
        let input = g.state(x);
        let normalized = g.layer_norm(input, None, norm).expect("fits");
        g.keep(normalized, y).expect("fits");
        let mut weights = Weights::allocate(&device, &table, WeightPrecision::F32).expect("memory");
        let gpu = device.gpu();
        let mut upload = Upload::new(vec![0]);
        while upload.advance(gpu, &table, &mut weights, &mut Ones).expect("uploads") {}
        let mut session = Session::new(&device, &weights, &states, vec![Plan::new(g)]).expect("a session");
        session.write_f32(x, &(0..ROWS * WIDTH).map(|i| (i * 37 % 101) as f32 - 50.0).collect::<Vec<_>>());
        session.run(session.program(0), &weights);
        results.push(session.read(y).await.expect("reads"));
    }
    crate::common::assert_close("norms", &results[1], &results[0], (1e-5, 1e-5));
}

struct Ones;

impl wordloom::graph::WeightSource for Ones {
    type Error = Box<dyn std::error::Error>;

    fn read_rows(&mut self, _: usize, _: std::ops::Range<usize>, out: &mut [f32]) -> Result<(), Self::Error> {
        out.fill(1.0);
        Ok(())
    }
}

/// A kernel of few buffers runs on a device that binds four; a model is refused, and so is a launch that two axes cannot hold.
#[device_test]
async fn what_does_not_fit_is_refused_by_the_limits_name() {
    let four = device(AdapterClass::Hardware, |limits| limits.max_storage_buffers_per_shader_stage = 4).await;
    let gpu = four.gpu().expect("a GPU");
    let grid = GridShape { layers: 1, heads: 1, queries: 2, keys: 3 };
    let weights = gpu.upload("weights", &[0.5f32, 0.25, 0.25, 0.0, 0.1, 0.8, 0.1, 0.0]).expect("memory");
    let maxima = gpu.buffer("maxima", 3).expect("memory");
    let launches: Vec<_> = heatmap::maxima(grid)
        .into_iter()
        .map(|dispatch| match dispatch.kernel.storage.len() {
            1 => (dispatch, vec![&maxima]),
            _ => (dispatch, vec![&weights, &maxima]),
        })
        .collect();
    gpu.submit(&gpu.record("maxima", &launches).expect("two buffers are within four"), 1, &[]);
    let read: Vec<f32> = gpu.read(&maxima).await.expect("reads");
    assert_eq!(read[..3], [0.8, 0.5, 0.8]);

    let refused = |error: GenerateError, limit: &str| {
        let message = error.to_string();
        assert!(matches!(error, GenerateError::Gpu(GpuError::Limit { .. })), "{message}");
        for part in [limit, "--device cpu", "needs"] {
            assert!(message.contains(part), "{part:?} is not in {message:?}");
        }
    };
    refused(
        search(&four).await.expect_err("linear layers bind five"),
        "max_storage_buffers_per_shader_stage",
    );
    let narrow =
        device(AdapterClass::Hardware, |limits| limits.max_compute_workgroups_per_dimension = 2).await;
    refused(search(&narrow).await.expect_err("a few groups"), "max_compute_workgroups_per_dimension");
    let small = device(AdapterClass::Hardware, |limits| {
        limits.max_buffer_size = 1 << 10;
        limits.max_storage_buffer_binding_size = 1 << 10;
    });
    let small = small.await;
    let error = Transformer::load(&small, &model(&data("models").join("marian_tied")), &mut |_| ())
        .err()
        .expect("no room")
        .to_string();
    assert!(error.contains("1024") && error.contains("--device cpu"), "{error}");
}
