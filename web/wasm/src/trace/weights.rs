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
            keys: first.keys,
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

    /// As `map`, without caching.
    pub async fn derive(&self, which: Which) -> Result<LayerAttention, Failure> {
        let Kept { layers, heads, queries, keys, .. } = self.meant(which)?;
        let mut weights: Vec<f32> = Vec::new();
        for &layer in &layers {
            let Some(own) = self.of_layer(which, layer).await? else {
                return Err(no_head(which, heads));
            };
            match weights.is_empty() {
                true => weights = own,
                false => weights.iter_mut().zip(own).for_each(|(sum, weight)| *sum += weight),
            }
        }
        let count = layers.len() as f32;
        weights.iter_mut().for_each(|sum| *sum /= count);
        Ok(LayerAttention { kind: which.kind, layer: layers[0], heads: 1, queries, keys, weights })
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

    /// The weights of one head of a layer, or the mean of all heads; `None` if there is no such head.
    async fn of_layer(&self, which: Which, layer: usize) -> Result<Option<Vec<f32>>, Failure> {
        if let Some(device) = &self.device {
            return device.weights(which, layer).await;
        }
        let found = self.sentence(which.sentence)?.layer(which.kind, layer);
        Ok(found.and_then(|found| match which.head {
            Pick::Index(head) => (head < found.heads).then(|| found.head(head).weights.to_vec()),
            _ => Some(found.mean()),
        }))
    }
}

fn no_head(which: Which, heads: usize) -> Failure {
    let Which { kind, head, .. } = which;
    Failure::input(match head {
        Pick::Index(head) => format!("there is no head {head}; there are {heads}, from 0"),
        _ => format!("the trace has no {kind} attention"),
    })
}
