//! A picture of attention maps, against the one that the CPU paints.

use std::sync::Arc;

use super::CheckError;
use super::report::{Outcome, Report, RunLine};
use crate::device::Device;
use crate::gpu::{Gpu, GpuError};
use crate::heatmap::{HeatmapError, Painter, Pixels, View, paint};
use crate::kernels::{PassedOver, heatmap};
use crate::model::{AttentionKind, LayerAttention};
use crate::shape::GridShape;

/// Maps larger than their pixels, so that the maxima of blocks are made, and smaller ones.
const PICTURES: [(GridShape, [u32; 2]); 2] = [
    (GridShape { layers: 3, heads: 8, queries: 13, keys: 6 }, [640, 301]),
    (GridShape { layers: 2, heads: 5, queries: 130, keys: 67 }, [257, 90]),
];
/// Largest difference of a colour by rounding, of 255.
const CLOSE: u8 = 6;

pub(super) async fn check(
    gpu: &Arc<Gpu>,
    passed_over: &mut PassedOver,
    report: &mut Report,
) -> Result<(), CheckError> {
    let painter = Painter::new(&Device::Gpu(gpu.clone()));
    let mut outcome = Outcome::Right;
    for (shape, size) in PICTURES {
        let layers: Vec<LayerAttention> = (0..shape.layers).map(|layer| maps(shape, layer)).collect();
        let layers: Vec<&LayerAttention> = layers.iter().collect();
        match difference(&painter, &layers, &View::fit(shape, size)).await {
            Ok(None) => {}
            Ok(Some(about)) => outcome = Outcome::Wrong { about },
            Err(HeatmapError::Gpu(GpuError::WrongKernel { kernel, .. })) => {
                outcome = Outcome::Refused { kernel }
            }
            Err(HeatmapError::Gpu(error)) => return Err(error.into()),
            Err(error) => outcome = Outcome::Wrong { about: error.to_string() },
        }
    }
    if matches!(outcome, Outcome::Wrong { .. }) {
        passed_over.wrong.insert(heatmap::HEATMAP.name.to_owned());
    }
    report.runs.push(RunLine { name: "pictures of attention".into(), outcome });
    Ok(())
}

async fn difference(
    painter: &Painter,
    layers: &[&LayerAttention],
    view: &View,
) -> Result<Option<String>, HeatmapError> {
    let mut maps = painter.load(layers)?;
    let got = painter.paint(&mut maps, view).await?;
    Ok(other_pixels(&got, &paint(layers, view)?))
}

/// A pixel in a thousand may be of a neighbouring cell, if cells are smaller than pixels.
fn other_pixels(got: &Pixels, want: &Pixels) -> Option<String> {
    let pixels = got.rgba.chunks_exact(4).zip(want.rgba.chunks_exact(4));
    let others = pixels.filter(|(a, b)| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > CLOSE)).count();
    let all = want.rgba.len() / 4;
    let alike = got.rgba.len() == want.rgba.len() && others <= all / 1000;
    (!alike).then(|| format!("{others} of {all} pixels differ"))
}

/// Few large weights among many small ones, as in real attention.
fn maps(shape: GridShape, layer: usize) -> LayerAttention {
    let GridShape { heads, queries, keys, .. } = shape;
    let weight = |i: usize| ((i * 7919 + layer * 104_729) % 1009) as f32 / 1009.0;
    let weights = (0..heads * queries * keys).map(|i| weight(i).powi(8)).collect();
    LayerAttention { kind: AttentionKind::Cross, layer, heads, queries, keys, weights, bands: None }
}
