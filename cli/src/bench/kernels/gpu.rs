//! Every variant on a GPU.

use std::collections::HashMap;

use wordloom::GpuError;
use wordloom::gpu::{Buffer, Gpu};
use wordloom::kernels::attention::{self, AttentionShape};
use wordloom::kernels::cached_attention::{self, CachedAttentionShape};
use wordloom::kernels::edits::Edits;
use wordloom::kernels::layer_norm::{self, LayerNormShape};
use wordloom::kernels::log_softmax_top_k::{ScoreBuffers, TopKShape};
use wordloom::kernels::{
    AdapterClass, ColumnLayout, Dispatch, PANEL, linear, matrix_units, normalized_linear, output_layer,
    panels, stride,
};
use wordloom::model::config::{ModelConfig, NormKind, StackConfig};
use wordloom::precision::WeightPrecision;
use wordloom::scores::{ScoreRules, ScoreSpace};

use super::{Case, HISTORY, LENGTHS, MOST, Measurement, ROWS, STEP_ROWS, Shape, WEIGHT_BYTES};
use crate::bench::Steps;
use crate::bench::limits::{Work, launch_seconds, linear_shape, numbers};

/// Layers with a norm before them.
pub const NORMALIZED: [&str; 2] = ["qkv", "up"];
const IN_TWO: &str = "norm_then_linear";
const CHUNKS_AFTER: &str = "linear_then_chunks";
/// Top-k selections, and the classes of adapter that use them.
const SELECTIONS: [(&str, AdapterClass); 2] =
    [("by_invocations", AdapterClass::Software), ("by_workgroups", AdapterClass::Hardware)];

pub fn run(gpu: &Gpu, measured: &Measurement<'_>, steps: &mut Steps) -> Result<Vec<Case>, GpuError> {
    let &Measurement { config, stack, precision, repeats, .. } = measured;
    let bench =
        Bench { gpu, config, stack, precision, repeats, cases: Vec::new(), costs: HashMap::new(), steps };
    bench.run(&measured.layers)
}

struct Bench<'a> {
    gpu: &'a Gpu,
    config: &'a ModelConfig,
    stack: &'a StackConfig,
    precision: WeightPrecision,
    repeats: usize,
    cases: Vec<Case>,
    /// Seconds per operation of each variant's last launch, to skip variants that are too slow.
    costs: HashMap<&'static str, f64>,
    steps: &'a mut Steps,
}

impl Bench<'_> {
    fn run(mut self, layers: &[(&'static str, usize, usize)]) -> Result<Vec<Case>, GpuError> {
        for &layer in layers {
            self.linear(layer)?;
        }
        for &layer in layers.iter().filter(|(layer, ..)| NORMALIZED.contains(layer)) {
            self.normalized_linear(layer)?;
        }
        for &(_, inputs, vocabulary) in layers.iter().filter(|(layer, ..)| *layer == "logits") {
            self.output_layer(inputs, vocabulary)?;
            self.top_k(vocabulary)?;
        }
        self.attention()?;
        self.cached_attention()?;
        self.norms()?;
        Ok(self.cases)
    }

    fn class(&self) -> AdapterClass {
        self.gpu.class()
    }

    /// Times each variant: its name, and works that read different weights.
    fn compare<'w>(
        &mut self,
        shape: Shape,
        variants: impl IntoIterator<Item = (&'static str, Vec<Work<'w>>)>,
        chosen: &'static str,
    ) -> Result<(), GpuError> {
        // a tile of up to 64 rows has the same cost for any number of rows
        let operations = shape.operations as f64 / shape.rows as f64 * shape.rows.next_multiple_of(64) as f64;
        let mut timings = Vec::new();
        for (name, pieces) in variants {
            let cost = self.costs.entry(name).or_default();
            let seconds = match *cost * operations > 4.0 * MOST.as_secs_f64() {
                true => None,
                false => Some(launch_seconds(self.gpu, &pieces, self.repeats, Some(MOST))?),
            };
            *cost = seconds.map_or(*cost, |seconds| seconds / operations);
            timings.push(shape.timing(name, seconds));
        }
        self.cases.push(shape.case(timings, Some(chosen)));
        self.steps.step();
        Ok(())
    }

    /// Outputs of a layer that fit one buffer, and copies of its weights beyond any cache. A larger layer runs in such parts.
    fn weights(&self, inputs: usize, outputs: usize) -> Result<(usize, Vec<Buffer>), GpuError> {
        let (gpu, precision) = (self.gpu, self.precision);
        let panels = gpu.max_storage_bytes() as usize / (4 * panels::packed_words(1, inputs, precision));
        let outputs = outputs.min(panels.saturating_mul(PANEL));
        let packed = panels::pack(&numbers(outputs * inputs), outputs, inputs, precision);
        let copies = (WEIGHT_BYTES / (4 * packed.len())).clamp(1, 64);
        let weights = (0..copies).map(|_| gpu.upload("weight", &packed)).collect::<Result<_, _>>()?;
        Ok((outputs, weights))
    }

    fn linear(&mut self, (layer, inputs, outputs): (&'static str, usize, usize)) -> Result<(), GpuError> {
        let (gpu, precision) = (self.gpu, self.precision);
        let (outputs, weights) = self.weights(inputs, outputs)?;
        let nothing = gpu.buffer("nothing", 4)?;
        let most_rows = ROWS.iter().copied().max().unwrap_or(1);
        let x = gpu.upload("x", &numbers(most_rows * stride(inputs)))?;
        let y = gpu.buffer("y", most_rows * stride(outputs))?;
        for rows in ROWS {
            let shape = linear_shape(rows, inputs, outputs, precision);
            let of_lanes = |variant| linear::dispatch_variant(&shape, 0..outputs, variant);
            let own = linear::dispatch(&shape, 0..outputs, self.class());
            let units = matrix_units::Variant::ALL.into_iter().filter(|_| gpu.has_matrix_units());
            let of_units = units.filter_map(|variant| matrix_units::dispatch_variant(&own, variant));
            let variants = linear::Variant::ALL.into_iter().map(of_lanes).chain(of_units).map(|dispatch| {
                let bound = |weight| vec![(dispatch.clone(), vec![&x, weight, &nothing, &nothing, &y])];
                (dispatch.kernel.name, weights.iter().map(bound).collect())
            });
            let on_units = matrix_units::dispatch(&own).filter(|_| gpu.has_matrix_units());
            let chosen = on_units.as_ref().unwrap_or(&own).kernel.name;
            self.compare(Shape::linear(layer, rows, inputs, outputs, precision), variants, chosen)?;
        }
        Ok(())
    }

    /// A norm and its linear layer: two launches, or one.
    fn normalized_linear(
        &mut self,
        (layer, inputs, outputs): (&'static str, usize, usize),
    ) -> Result<(), GpuError> {
        let (gpu, class, precision) = (self.gpu, self.class(), self.precision);
        let (outputs, weights) = self.weights(inputs, outputs)?;
        let most_rows = ROWS.iter().copied().max().unwrap_or(1);
        let [x, residual] =
            ["x", "residual"].map(|label| gpu.upload(label, &numbers(most_rows * stride(inputs))));
        let [gamma, beta] = ["gamma", "beta"].map(|label| gpu.upload(label, &numbers(stride(inputs))));
        let (x, residual, gamma, beta) = (x?, residual?, gamma?, beta?);
        let normalized = gpu.buffer("normalized", most_rows * stride(inputs))?;
        let y = gpu.buffer("y", most_rows * stride(outputs))?;
        let nothing = gpu.buffer("nothing", 4)?;
        let (epsilon, centered) = (1e-5, self.config.norm_kind != NormKind::Rms);
        for rows in ROWS {
            let linear = linear_shape(rows, inputs, outputs, precision);
            let about = Shape::normalized_linear(layer, rows, inputs, outputs, precision);
            let norm = LayerNormShape { rows, width: inputs, epsilon, residual: true, centered };
            let norm = layer_norm::dispatch(&norm, class);
            let after = linear::dispatch(&linear, 0..outputs, class);
            let in_two: Vec<Work<'_>> = weights
                .iter()
                .map(|weight| {
                    vec![
                        (norm.clone(), vec![&x, &residual, &gamma, &beta, &normalized]),
                        (after.clone(), vec![&normalized, weight, &nothing, &nothing, &y]),
                    ]
                })
                .collect();
            let mut variants = vec![(IN_TWO, in_two)];
            for variant in linear::Variant::SPLIT {
                let layer = linear::dispatch_variant(&linear, 0..outputs, variant);
                let Some(dispatch) = normalized_linear::fuse(&norm, &layer, true) else { continue };
                let bound = |weight| vec![&x, weight, &nothing, &residual, &gamma, &beta, &y, &normalized];
                let pieces = weights.iter().map(|weight| vec![(dispatch.clone(), bound(weight))]).collect();
                variants.push((dispatch.kernel.name, pieces));
            }
            let chosen = normalized_linear::fuse(&norm, &after, true);
            self.compare(about, variants, chosen.map_or(IN_TWO, |dispatch| dispatch.kernel.name))?;
        }
        Ok(())
    }

    /// The logits and their reduction for the search: two launches, or one.
    fn output_layer(&mut self, inputs: usize, vocabulary: usize) -> Result<(), GpuError> {
        let (gpu, class, precision) = (self.gpu, self.class(), self.precision);
        let (outputs, weights) = self.weights(inputs, vocabulary)?;
        let most_rows = STEP_ROWS.iter().copied().max().unwrap_or(1);
        let x = gpu.upload("x", &numbers(most_rows * stride(inputs)))?;
        let logits = gpu.buffer("logits", most_rows * stride(outputs))?;
        let nothing = gpu.buffer("nothing", 4)?;
        for rows in STEP_ROWS {
            let linear = linear_shape(rows, inputs, outputs, precision);
            let scoring = greedy(rows, outputs);
            let chunks = gpu.buffer("chunks", scoring.chunk_elements())?;
            let about = Shape::output_layer(rows, inputs, outputs, precision);
            let project = linear::dispatch(&linear, 0..outputs, class);
            let buffers = ScoreBuffers { logits: &logits, chunks: &chunks, nothing: &nothing };
            let note = scoring.chunk_launches(&Edits::None, buffers, class);
            let in_two: Vec<Work<'_>> = weights
                .iter()
                .map(|weight| {
                    let mut work = vec![(project.clone(), vec![&x, weight, &nothing, &nothing, &logits])];
                    work.extend(note.iter().cloned());
                    work
                })
                .collect();
            let mut variants = vec![(CHUNKS_AFTER, in_two)];
            let panel_notes = scoring.chunk_launches(&Edits::None, buffers, AdapterClass::Hardware);
            for variant in linear::Variant::SPLIT {
                let layer = linear::dispatch_variant(&linear, 0..outputs, variant);
                let fused = panel_notes.first().and_then(|(notes, _)| output_layer::fuse(&layer, notes));
                let Some(dispatch) = fused else { continue };
                let bound = |weight| vec![&x, weight, &nothing, &nothing, &nothing, &logits, &chunks];
                let pieces = weights.iter().map(|weight| vec![(dispatch.clone(), bound(weight))]).collect();
                variants.push((dispatch.kernel.name, pieces));
            }
            let chosen = note.first().and_then(|(note, _)| output_layer::fuse(&project, note));
            self.compare(about, variants, chosen.map_or(CHUNKS_AFTER, |dispatch| dispatch.kernel.name))?;
        }
        Ok(())
    }

    /// From logits to the best candidates of four beams, for both classes of adapter.
    fn top_k(&mut self, vocabulary: usize) -> Result<(), GpuError> {
        let (gpu, class) = (self.gpu, self.class());
        let most_rows = STEP_ROWS.iter().copied().max().unwrap_or(1);
        let logits = gpu.upload("logits", &numbers(most_rows * stride(vocabulary)))?;
        let nothing = gpu.buffer("nothing", 4)?;
        for rows in STEP_ROWS {
            let scoring = TopKShape { candidates: 8, ..greedy(rows, vocabulary) };
            let chunks = gpu.buffer("chunks", scoring.chunk_elements())?;
            let top = gpu.buffer("top", rows * 2 * scoring.candidates)?;
            let about = Shape::top_k(rows, vocabulary, scoring.candidates);
            let variants = SELECTIONS.map(|(name, class)| {
                let buffers = ScoreBuffers { logits: &logits, chunks: &chunks, nothing: &nothing };
                let mut work = scoring.chunk_launches(&Edits::None, buffers, class);
                work.extend(scoring.best_launches(&Edits::None, buffers, &top, class));
                (name, vec![work])
            });
            let [(by_invocations, _), (by_workgroups, _)] = SELECTIONS;
            let chosen = if class.is_software() { by_invocations } else { by_workgroups };
            self.compare(about, variants, chosen)?;
        }
        Ok(())
    }

    fn attention(&mut self) -> Result<(), GpuError> {
        let (gpu, class) = (self.gpu, self.class());
        let &StackConfig { heads, d_k, d_v, .. } = self.stack;
        let [keys_width, values_width] = [self.stack.key_width(), self.stack.value_width()];
        let most = LENGTHS.iter().copied().max().unwrap_or(1);
        let width = 2 * keys_width + values_width;
        let qkv = gpu.upload("qkv", &numbers(most * stride(width)))?;
        let [keys, values] =
            ["keys", "values"].map(|label| gpu.upload(label, &numbers(most * stride(width))));
        let (keys, values) = (keys?, values?);
        let mask = gpu.upload("mask", &vec![1u32; most])?;
        let nothing = gpu.buffer("nothing", 4)?;
        let context = gpu.buffer("context", most * stride(values_width))?;
        let columns = |first| ColumnLayout { stride: stride(width), first };
        let [q, k, v] = [0, keys_width, 2 * keys_width].map(columns);
        for length in LENGTHS {
            let shape = AttentionShape {
                batch: 1,
                heads,
                queries: length,
                keys: length,
                d_head: d_k,
                d_value: d_v,
                scale: 1.0 / (d_k as f32).sqrt(),
                causal: false,
            };
            let about = Shape::attention("whole", length, length, false, values_width);
            let variants = attention::Variant::ALL.map(|variant| {
                let dispatch = attention::dispatch_variant(&shape, q, k, v, None, variant);
                alone(dispatch, vec![&qkv, &keys, &values, &mask, &nothing, &context])
            });
            let chosen = attention::dispatch(&shape, q, k, v, None, class).kernel.name;
            self.compare(about, variants, chosen)?;
        }
        Ok(())
    }

    fn cached_attention(&mut self) -> Result<(), GpuError> {
        let (gpu, class) = (self.gpu, self.class());
        let &StackConfig { heads, d_k, d_v, .. } = self.stack;
        let [keys_width, values_width] = [self.stack.key_width(), self.stack.value_width()];
        let most = STEP_ROWS.iter().copied().max().unwrap_or(1);
        let qkv = gpu.upload("qkv", &numbers(most * stride(2 * keys_width + values_width)))?;
        let keys = gpu.upload("keys", &numbers(most * HISTORY * stride(keys_width)))?;
        let values = gpu.upload("values", &numbers(most * HISTORY * stride(values_width)))?;
        let slots = gpu.upload("slots", &(0..(most * HISTORY) as u32).collect::<Vec<_>>())?;
        let counts = gpu.upload("key counts", &vec![HISTORY as u32; most])?;
        let last: Vec<u32> = (1..=most).map(|row| (row * HISTORY) as u32 - 1).collect();
        let cache_slots = gpu.upload("cache slots", &last)?;
        let nothing = gpu.buffer("nothing", 4)?;
        let context = gpu.buffer("context", most * stride(values_width))?;
        let variants = [attention::Variant::Invocation, attention::Variant::Workgroup];
        for rows in STEP_ROWS {
            let scale = 1.0 / (d_k as f32).sqrt();
            let shape =
                CachedAttentionShape { rows, heads, d_head: d_k, d_value: d_v, capacity: HISTORY, scale };
            let about = Shape::attention("cached", rows, HISTORY, true, values_width);
            let variants = variants.map(|variant| {
                let bound = vec![&qkv, &cache_slots, &slots, &counts, &nothing, &keys, &values, &context];
                alone(cached_attention::dispatch_variant(&shape, None, variant), bound)
            });
            let chosen = cached_attention::dispatch(&shape, None, class).kernel.name;
            self.compare(about, variants, chosen)?;
        }
        Ok(())
    }

    fn norms(&mut self) -> Result<(), GpuError> {
        let (gpu, class, width) = (self.gpu, self.class(), self.config.d_model);
        let most = ROWS.iter().copied().max().unwrap_or(1);
        let [x, residual] = ["x", "residual"].map(|label| gpu.upload(label, &numbers(most * stride(width))));
        let [gamma, beta] = ["gamma", "beta"].map(|label| gpu.upload(label, &numbers(stride(width))));
        let (x, residual, gamma, beta) = (x?, residual?, gamma?, beta?);
        let y = gpu.buffer("y", most * stride(width))?;
        let centered = self.config.norm_kind != NormKind::Rms;
        for rows in ROWS {
            let shape = LayerNormShape { rows, width, epsilon: 1e-5, residual: true, centered };
            let about = Shape::norm(rows, width);
            let variants = layer_norm::Variant::ALL.map(|variant| {
                alone(layer_norm::dispatch_variant(&shape, variant), vec![&x, &residual, &gamma, &beta, &y])
            });
            let chosen = layer_norm::dispatch(&shape, class).kernel.name;
            self.compare(about, variants, chosen)?;
        }
        Ok(())
    }
}

fn greedy(rows: usize, vocabulary: usize) -> TopKShape {
    let rules = ScoreRules { space: ScoreSpace::LogProbabilities, renormalize: false };
    TopKShape { rows, vocabulary, candidates: 1, rules }
}

fn alone<'w>(dispatch: Dispatch, bound: Vec<&'w Buffer>) -> (&'static str, Vec<Work<'w>>) {
    (dispatch.kernel.name, vec![vec![(dispatch, bound)]])
}
