//! Options of operators in graphs: a GPU gives the same result as the CPU.

use std::ops::Range;

use wordloom::Device;
use wordloom::activation::Activation;
use wordloom::graph::{
    Columns, Graph, GraphError, Plan, Session, State, StateTable, Upload, WeightKind, WeightSource,
    WeightTable, Weights,
};
use wordloom::kernels::AdapterClass;
use wordloom::ops::{AttentionScores, Cache, Linear, Normalization};
use wordloom::precision::WeightPrecision;
use wordloom::shape::AttentionShape;

use crate::common::{assert_close, device_test, devices, gpu_as};
use crate::random;

struct RandomWeights<'a> {
    table: &'a WeightTable,
    /// Precision that matrices are rounded to.
    precision: WeightPrecision,
}

impl WeightSource for RandomWeights<'_> {
    type Error = Box<dyn std::error::Error>;

    fn read_rows(&mut self, index: usize, rows: Range<usize>, out: &mut [f32]) -> Result<(), Self::Error> {
        let entry = &self.table.entries()[index];
        let mut all = random(index as u32 + 1, entry.rows * entry.width);
        if entry.kind == WeightKind::Matrix {
            all.chunks_exact_mut(entry.width).for_each(|row| self.precision.round_row(row));
        }
        out.copy_from_slice(&all[rows.start * entry.width..rows.end * entry.width]);
        Ok(())
    }
}

const BATCH: usize = 2;
const LENGTH: usize = 5;
const ROWS: usize = BATCH * LENGTH;
const D_MODEL: usize = 10;
const VOCABULARY: usize = 70;
const HEADS: usize = 3;
const D_HEAD: usize = 5;
const D_VALUE: usize = 6;
const CAPACITY: usize = 2;

struct States {
    tokens: State,
    targets: State,
    mask: State,
    cache_slots: State,
    slots: State,
    key_counts: State,
    read: [State; 5],
}

/// A decoder layer of T5: RMS norms, bias by distance, gated feed-forward network, scaled output.
fn layer(states: &mut StateTable, weights: &mut WeightTable) -> Result<(Graph, States), GraphError> {
    let (key_width, value_width) = (HEADS * D_HEAD, HEADS * D_VALUE);
    let host = States {
        tokens: states.u32("tokens", ROWS, 1),
        targets: states.u32("targets", ROWS, 1),
        mask: states.u32("mask", BATCH, LENGTH),
        cache_slots: states.u32("cache slots", ROWS, 1),
        slots: states.u32("slots", ROWS, CAPACITY),
        key_counts: states.u32("key counts", ROWS, 1),
        read: [
            states.f32("attention weights", BATCH * HEADS * LENGTH, LENGTH),
            states.f32("context", ROWS, value_width),
            states.f32("cached context", ROWS, value_width),
            states.f32("logits", ROWS, VOCABULARY),
            states.f32("log-probabilities", ROWS, 1),
        ],
    };
    let key_cache = states.f32("key cache", ROWS * CAPACITY, key_width);
    let value_cache = states.f32("value cache", ROWS * CAPACITY, value_width);

    let mut linear = |outputs, inputs, scale| Linear {
        weight: weights.matrix("linear", outputs, inputs),
        bias: None,
        scale,
    };
    let qkv_layer = linear(2 * key_width + value_width, D_MODEL, 1.0);
    let output = linear(D_MODEL, value_width, 1.0);
    let (gate, up) = (linear(13, D_MODEL, 1.0), linear(13, D_MODEL, 0.5));
    let down = linear(D_MODEL, 13, 1.0);
    let table = weights.matrix("table", VOCABULARY, D_MODEL);
    let head = Linear { weight: table, bias: None, scale: 0.25 };
    let rms =
        Normalization { gamma: weights.vector("gamma", D_MODEL), beta: None, running: None, epsilon: 1e-6 };
    let bias = Some(weights.rows("bias by distance", 7, HEADS));

    let mut g = Graph::new("layer");
    let [tokens, targets, mask] = [host.tokens, host.targets, host.mask].map(|state| g.state(state));
    let [attention_weights, context, cached_context, logits, log_probabilities] = host.read;
    let x = g.embed(tokens, None, table, 1.0)?;
    let normalized = g.layer_norm(x, None, rms)?;
    let qkv = g.linear(normalized, qkv_layer, Activation::Identity, None)?;
    let part = |first| Columns { value: qkv, first };
    let (queries, keys, values) = (part(0), part(key_width), part(2 * key_width));
    let shape = AttentionShape {
        batch: BATCH,
        heads: HEADS,
        queries: LENGTH,
        keys: LENGTH,
        d_head: D_HEAD,
        d_value: D_VALUE,
        scale: 1.0,
        causal: true,
    };
    let scores = AttentionScores { shape, queries, keys, key_mask: mask, distance_bias: bias };
    let weights = g.attention_weights(scores)?;
    g.keep(weights, attention_weights)?;
    let attended = g.attention(scores, values)?;
    let cache = Cache {
        keys: key_cache,
        values: value_cache,
        cache_slots: host.cache_slots,
        slots: host.slots,
        key_counts: host.key_counts,
    };
    let cached = g.cached_attention(HEADS, 1.0, qkv, &cache, bias)?;
    let x = g.linear(attended, output, Activation::Identity, Some(x))?;
    g.keep(attended, context)?;
    g.keep(cached, cached_context)?;
    let normalized = g.layer_norm(x, Some(x), rms)?;
    let linear_half = g.linear(normalized, up, Activation::Identity, None)?;
    let hidden = g.gated_linear(normalized, gate, Activation::GeluTanh, linear_half)?;
    let x = g.linear(hidden, down, Activation::Identity, Some(x))?;
    let made = g.linear(x, head, Activation::Identity, None)?;
    let log_probability = g.log_probability(made, targets)?;
    g.keep(made, logits)?;
    g.keep(log_probability, log_probabilities)?;
    Ok((g, host))
}

#[device_test]
async fn a_layer_of_every_option_is_the_same_on_every_device() {
    for precision in WeightPrecision::ALL {
        every_device_computes_the_same(precision).await;
    }
}

async fn every_device_computes_the_same(precision: WeightPrecision) {
    let mut want: Option<Vec<Vec<f32>>> = None;
    let mut all = devices().await;
    all.push(gpu_as(AdapterClass::Hardware).await);
    // the reference has the rounded weights in f32; with 8-bit weights the CPU also rounds x
    let mut runs = vec![(Device::Cpu, WeightPrecision::F32)];
    let rounds_x = |device: &Device| device.gpu().is_none() && precision == WeightPrecision::Q8;
    runs.extend(all.into_iter().filter(|device| !rounds_x(device)).map(|device| (device, precision)));
    for (device, stored) in runs {
        let (mut states, mut table) = (StateTable::default(), WeightTable::default());
        let (graph, host) = layer(&mut states, &mut table).expect("fits");
        let mut weights = Weights::allocate(&device, &table, stored).unwrap();
        let mut upload = Upload::new((0..table.entries().len()).collect());
        let gpu = match &device {
            Device::Cpu => None,
            Device::Gpu(gpu) => Some(&**gpu),
        };
        while upload
            .advance(gpu, &table, &mut weights, &mut RandomWeights { table: &table, precision })
            .unwrap()
        {}
        let mut session = Session::new(&device, &weights, &states, vec![Plan::new(graph)]).unwrap();
        let rows = 0..ROWS as u32;
        session.write(host.targets, &rows.clone().map(|row| row * 9).collect::<Vec<_>>());
        session.write(host.mask, &(0..ROWS).map(|i| u32::from(i != ROWS - 1)).collect::<Vec<_>>());
        for step in 0..2 {
            let token = |row| (row * 7 + step * 5) % VOCABULARY as u32;
            session.write(host.tokens, &rows.clone().map(token).collect::<Vec<_>>());
            // padding in the last row
            let slot = |row| if row == ROWS as u32 - 1 { u32::MAX } else { 2 * row + step };
            session.write(host.cache_slots, &rows.clone().map(slot).collect::<Vec<_>>());
            // in the second step, a row sees itself, and the row before it from the first step
            let seen = |row: u32| match step {
                0 => [2 * row, 0],
                _ => [2 * row.max(1) - 2, 2 * row + 1],
            };
            session.write(host.slots, &rows.clone().flat_map(seen).collect::<Vec<_>>());
            session.write(host.key_counts, &[step + 1; ROWS]);
            session.run(session.program(0), &weights);
        }
        let mut results = Vec::new();
        for state in host.read {
            results.push(session.read(state).await.unwrap());
        }
        match &want {
            None => want = Some(results),
            Some(want) => {
                for (index, (got, want)) in results.iter().zip(want).enumerate() {
                    let what = format!("{precision}, result {index}");
                    assert_close(&what, got, want, (2e-5, 1e-5));
                    assert!(want.iter().any(|&value| value != 0.0), "result {index} is empty");
                }
                let last = &want[4];
                assert!(last[..8].iter().all(|&value| value < 0.0), "{last:?}");
                assert!(last[8..].iter().all(|&value| value == 0.0), "no such token: {last:?}");
            }
        }
    }
}
