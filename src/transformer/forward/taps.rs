//! The tensors of named taps after a pass.

use std::collections::BTreeMap;

use super::{ForwardError, Tensor};
use crate::cpu::MASKED;
use crate::gpu::GpuError;
use crate::graph::{KeptTap, Session, State, TapView, Tapped, UnknownTap};
use crate::sorting;
use crate::transformer::loaded::LoadedModel;

/// Similar names in an error.
const NEAREST: usize = 3;

/// The error of a name that matches no tap, with the most similar names.
pub(super) fn unknown_tap(UnknownTap { name, mut offered }: UnknownTap) -> ForwardError {
    sorting::sort_by_key(&mut offered, |other| strsim::damerau_levenshtein(&name, other));
    offered.truncate(NEAREST);
    ForwardError::Tap { name, nearest: offered }
}

/// Reads the tapped tensors of a pass.
pub(super) async fn read_taps(
    session: &Session,
    model: &LoadedModel,
    taps: &[KeptTap],
    batch: usize,
) -> Result<BTreeMap<String, Tensor>, GpuError> {
    let mut tensors = BTreeMap::new();
    // neighbouring taps share a state: queries, keys and values for example
    let mut last: Option<(State, Vec<f32>)> = None;
    for tap in taps {
        let tensor = match tap.source {
            Tapped::Weight(vector) => {
                let data = model.weights.read(&model.blueprint.table, vector.index, &model.device).await?;
                Tensor { shape: vec![vector.length], data: data[..vector.length].to_vec() }
            }
            Tapped::State { state, first, view } => {
                let data = match last.take() {
                    Some((known, data)) if known == state => data,
                    _ => session.read(state).await?,
                };
                let tensor = viewed(&data, state.shape.width, (first, view), batch);
                last = Some((state, data));
                tensor
            }
        };
        tensors.insert(tap.name.clone(), tensor);
    }
    Ok(tensors)
}

/// The tensor of a view of `[rows, width]` values.
fn viewed(data: &[f32], width: usize, (first, view): (usize, TapView), batch: usize) -> Tensor {
    let rows = || data.chunks_exact(width.max(1));
    let length = data.len() / width.max(1) / batch;
    let of_rows =
        |of: fn(&[f32]) -> f32| Tensor { shape: vec![batch, length], data: rows().map(of).collect() };
    match view {
        TapView::Rows => Tensor { shape: vec![batch, length, width], data: data.to_vec() },
        TapView::LogSoftmax => {
            Tensor { shape: vec![batch, length, width], data: rows().flat_map(log_softmax).collect() }
        }
        TapView::Maps { heads } => {
            let infinite = |&value: &f32| if value == MASKED { f32::NEG_INFINITY } else { value };
            let shape = vec![batch, heads, length / heads, width];
            Tensor { shape, data: data.iter().map(infinite).collect() }
        }
        TapView::Heads { heads, width: of_head } => {
            let mut by_head = Vec::with_capacity(batch * heads * length * of_head);
            for sentence in 0..batch {
                for head in 0..heads {
                    for row in rows().skip(sentence * length).take(length) {
                        by_head.extend_from_slice(&row[first + head * of_head..][..of_head]);
                    }
                }
            }
            Tensor { shape: vec![batch, heads, length, of_head], data: by_head }
        }
        TapView::Mean => of_rows(|row| mean(row) as f32),
        TapView::Variance => of_rows(|row| {
            let center = mean(row);
            let squares = row.iter().map(|&x| (f64::from(x) - center).powi(2));
            (squares.sum::<f64>() / row.len() as f64) as f32
        }),
        TapView::MeanSquare => of_rows(|row| {
            let squares = row.iter().map(|&x| f64::from(x).powi(2));
            (squares.sum::<f64>() / row.len() as f64) as f32
        }),
    }
}

fn mean(row: &[f32]) -> f64 {
    row.iter().map(|&x| f64::from(x)).sum::<f64>() / row.len() as f64
}

fn log_softmax(row: &[f32]) -> Vec<f32> {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = row.iter().map(|&x| f64::from(x - largest).exp()).sum();
    let normalizer = f64::from(largest) + sum.ln();
    row.iter().map(|&x| (f64::from(x) - normalizer) as f32).collect()
}
