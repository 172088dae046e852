//! A trace and its weights, in this memory or on the device that computed them.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use serde::Serialize;
use wordloom::heatmap::{Painter, Pixels, View};
use wordloom::trace::{AttentionKind, KeptAttention, LayerAttention, Trace, TracedSentence};

use super::on_device::{OnDevice, Part};
use super::which::{Pick, Which};
use crate::failure::Failure;

pub struct Weights {
    trace: Trace,
    /// The weights on the device; `None` if `trace` has them.
    device: Option<OnDevice>,
    /// The last computed map (a mean, or one head): every repaint requests it again.
    derived: RefCell<Option<(Which, Rc<LayerAttention>)>>,
}

/// The stored layers of one kind.
#[derive(Serialize)]
pub struct Kept {
    kind: AttentionKind,
    /// Numbers of the layers.
    pub layers: Vec<usize>,
    /// The largest number of heads of any layer.
    heads: usize,
    queries: usize,
    keys: usize,
}

impl Weights {
    pub fn on_host(trace: Trace) -> Self {
        Self { trace, device: None, derived: RefCell::default() }
    }

    /// A trace without weights, and the weights of each of its sentences in `attention`.
    pub fn on_device(trace: Trace, attention: Vec<KeptAttention>, painter: Painter) -> Self {
        Self { device: Some(OnDevice::new(attention, painter)), ..Self::on_host(trace) }
    }

    /// The trace, with or without weights.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    pub fn sentence(&self, index: usize) -> Result<&TracedSentence, Failure> {
        let count = self.trace.sentences.len();
        self.trace.sentences.get(index).ok_or_else(|| {
            Failure::input(format!("there is no sentence {index}; the trace has {count}, counted from 0"))
        })
    }

    pub fn kept(&self, sentence: usize, kind: AttentionKind) -> Option<Kept> {
        if let Some(device) = &self.device {
            let (layers, shape) = device.layers(sentence, kind)?;
            return Some(Kept { kind, layers, heads: shape.heads, queries: shape.queries, keys: shape.keys });
        }
        let layers: Vec<&LayerAttention> = self.trace.sentences.get(sentence)?.layers(kind).collect();
        let first = layers.first()?;
        Some(Kept {
            kind,
            heads: layers.iter().map(|layer| layer.heads).max().unwrap_or(0),
            queries: first.queries,
            keys: layers.iter().map(|layer| layer.columns()).max().unwrap_or(0),
            layers: layers.iter().map(|layer| layer.layer).collect(),
        })
    }

    /// The chosen map, as a layer of one head. From a device, it reads only the necessary weights.
    pub async fn map(&self, which: Which) -> Result<Rc<LayerAttention>, Failure> {
        if let Some((known, map)) = &*self.derived.borrow()
            && *known == which
        {
            return Ok(map.clone());
        }
        let map = Rc::new(self.derive(which).await?);
        self.derived.replace(Some((which, map.clone())));
        Ok(map)
    }

    /// As `map`, without caching. The mean of layers that see different keys is a matrix.
    pub async fn derive(&self, which: Which) -> Result<LayerAttention, Failure> {
        let Kept { layers, heads, keys, .. } = self.meant(which)?;
        let mut mean: Option<LayerAttention> = None;
        for &layer in &layers {
            let Some(own) = self.of_layer(which, layer).await? else {
                return Err(no_head(which, heads));
            };
            mean = Some(match mean {
                None => own,
                Some(sum) => added(sum, own, keys)?,
            });
        }
        let count = layers.len() as f32;
        let mut mean = mean.ok_or_else(|| no_head(which, heads))?;
        mean.weights.iter_mut().for_each(|sum| *sum /= count);
        if let Some(bands) = &mut mean.bands {
            bands.global_weights.iter_mut().for_each(|sum| *sum /= count);
        }
        Ok(mean)
    }

    /// The chosen map's size and weights, row-major; without weights if the map has too many cells.
    pub async fn cells(&self, which: Which) -> Result<([usize; 2], Vec<f32>), Failure> {
        let map = self.map(which).await?;
        let shape = [map.queries, map.columns()];
        match (shape[0].saturating_mul(shape[1]) > MOST_CELLS, &map.bands) {
            (true, _) => Ok((shape, Vec::new())),
            (false, None) => Ok((shape, map.weights.clone())),
            (false, Some(_)) => Ok((shape, (*map).clone().whole().weights)),
        }
    }

    /// Pixels of a map or a grid, painted where the weights are. A mean is computed and painted on the host.
    pub async fn paint(&self, which: Which, view: &View) -> Result<Pixels, Failure> {
        let sentence = self.sentence(which.sentence)?;
        if let Some(device) = &self.device
            && let Some(part) = self.part(which)?
        {
            return Ok(device.paint(which.sentence, which.kind, part, view).await?);
        }
        if which.is_grid() {
            let layers: Vec<&LayerAttention> = sentence.layers(which.kind).collect();
            return Ok(wordloom::heatmap::paint(&layers, view)?);
        }
        Ok(wordloom::heatmap::paint(&[&*self.map(which).await?], view)?)
    }

    /// The trace with all weights, for a file.
    pub async fn whole(&self) -> Result<Cow<'_, Trace>, Failure> {
        let Some(device) = &self.device else { return Ok(Cow::Borrowed(&self.trace)) };
        let mut trace = self.trace.clone();
        for (index, sentence) in trace.sentences.iter_mut().enumerate() {
            sentence.attention = device.read(index).await?;
        }
        Ok(Cow::Owned(trace))
    }

    /// The stored layers of the chosen kind, reduced to the chosen layers.
    fn meant(&self, which: Which) -> Result<Kept, Failure> {
        self.sentence(which.sentence)?;
        let nothing = || Failure::input(format!("the trace has no {} attention", which.kind));
        let kept = self.kept(which.sentence, which.kind).ok_or_else(nothing)?;
        Ok(Kept { layers: which.layers_of(&kept.layers)?, ..kept })
    }

    /// The chosen part of a kind's maps; `None` for a mean.
    fn part(&self, which: Which) -> Result<Option<Part>, Failure> {
        if which.is_grid() {
            return Ok(Some(Part::Grid));
        }
        let Kept { heads, .. } = self.meant(which)?;
        match (which.layer, which.head) {
            (Pick::Index(_), Pick::Index(head)) if head >= heads => Err(no_head(which, heads)),
            (Pick::Index(layer), Pick::Index(head)) => Ok(Some(Part::Head { layer, head })),
            _ => Ok(None),
        }
    }

    /// One head of a layer, or the mean of all heads; `None` if there is no such head.
    async fn of_layer(&self, which: Which, layer: usize) -> Result<Option<LayerAttention>, Failure> {
        if let Some(device) = &self.device {
            return device.map(which, layer).await;
        }
        let found = self.sentence(which.sentence)?.layer(which.kind, layer);
        Ok(found.and_then(|found| match which.head {
            Pick::Index(head) => (head < found.heads).then(|| found.only(head)),
            _ => Some(found.averaged()),
        }))
    }
}

/// Cells of the largest map that is handed out as a whole: 16 MB.
const MOST_CELLS: usize = 1 << 22;

/// The sum of two maps of one head. `columns`: of the widest layer.
fn added(mut sum: LayerAttention, own: LayerAttention, columns: usize) -> Result<LayerAttention, Failure> {
    let layout = |map: &LayerAttention| map.bands.as_ref().map(|bands| bands.layout.clone());
    if layout(&sum) != layout(&own) {
        if sum.queries.saturating_mul(columns) > MOST_CELLS {
            return Err(Failure::input(
                "layers that see different tokens have no mean for a text that is so long: choose one layer",
            ));
        }
        let [a, b] = [sum, own].map(|map| wide(map.whole(), columns));
        return added(a, b, columns);
    }
    sum.weights.iter_mut().zip(own.weights).for_each(|(sum, weight)| *sum += weight);
    if let (Some(bands), Some(own)) = (&mut sum.bands, own.bands) {
        let weights = bands.global_weights.iter_mut().zip(own.global_weights);
        weights.for_each(|(sum, weight)| *sum += weight);
    }
    Ok(sum)
}

/// A matrix with the columns of the widest layer.
fn wide(map: LayerAttention, columns: usize) -> LayerAttention {
    let rows = map.weights.chunks_exact(map.keys.max(1));
    let zeros = columns.saturating_sub(map.keys);
    let weights = rows.flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(0.0, zeros))).collect();
    LayerAttention { keys: map.keys + zeros, weights, ..map }
}

fn no_head(which: Which, heads: usize) -> Failure {
    let Which { kind, head, .. } = which;
    Failure::input(match head {
        Pick::Index(head) => format!("there is no head {head}; there are {heads}, from 0"),
        _ => format!("the trace has no {kind} attention"),
    })
}
