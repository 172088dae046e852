//! Heads that contribute nothing. Hugging Face's `head_mask`; Michel et al. 2019, "Are Sixteen Heads Really Better than
//! One?"

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::Transformer;
use super::loaded::LoadedModel;
use crate::graph::{Upload, WeightKind, WeightSource, WeightTable};
use crate::model::blueprint::{Blueprint, CheckpointSource, Mixing};
use crate::model::config::{ModelConfig, StackConfig};
use crate::model::{AttentionKind, HeadName, Model, ModelError};
use crate::ops::Linear;

/// The reason why heads could not be muted.
#[derive(Debug, thiserror::Error)]
pub enum MuteError {
    /// A head that the model lacks.
    #[error("there is no head {head}: the model has {}", available(*layers, *heads))]
    NoSuchHead {
        /// Requested head.
        head: HeadName,
        /// Number of layers with this kind of attention.
        layers: usize,
        /// Number of heads of each layer.
        heads: usize,
    },
    /// A model other than the loaded one: weights are read again from it.
    #[error("{model} is not the model that is loaded: its weights have other shapes")]
    OtherModel {
        /// Name of the model.
        model: String,
    },
    /// An error in reading weights again.
    #[error(transparent)]
    Model(#[from] ModelError),
}

fn available(layers: usize, heads: usize) -> String {
    match layers {
        0 => "no such attention".into(),
        _ => format!("layers 0 to {}, and heads 0 to {} in each", layers - 1, heads.saturating_sub(1)),
    }
}

/// The outputs of linear layers that are the values of a head.
fn values_of(blueprint: &Blueprint, config: &ModelConfig, name: HeadName) -> Result<Vec<Outputs>, MuteError> {
    let HeadName { kind, layer, head } = name;
    let (stack, layers) = match kind {
        AttentionKind::Encoder => (&config.encoder, blueprint.encoder.len()),
        AttentionKind::Decoder => (&config.decoder, config.attention_layers(kind)),
        AttentionKind::Cross => {
            let crosses = blueprint.decoder.iter().filter(|layer| layer.cross_attention.is_some());
            (&config.decoder, crosses.count())
        }
    };
    let &StackConfig { heads, d_v, .. } = stack;
    if layer >= layers || head >= heads {
        return Err(MuteError::NoSuchHead { head: name, layers, heads });
    }
    let (linear, before) = match kind {
        AttentionKind::Encoder => (blueprint.encoder[layer].self_attention.qkv, 2 * stack.key_width()),
        AttentionKind::Decoder => match blueprint.decoder[layer].mixing {
            Mixing::Attention(attention) => (attention.qkv, 2 * stack.key_width()),
            Mixing::Ssru(_) => return Err(MuteError::NoSuchHead { head: name, layers: 0, heads }),
        },
        AttentionKind::Cross => match blueprint.decoder[layer].cross_attention {
            Some(cross) => (cross.key_value, stack.key_width()),
            None => return Err(MuteError::NoSuchHead { head: name, layers, heads }),
        },
    };
    let outputs = |linear, before| {
        let first = before + head * d_v;
        Outputs { linear, range: first..first + d_v }
    };
    let mut all = vec![outputs(linear, before)];
    if let (AttentionKind::Encoder, Some(encoder)) = (kind, blueprint.encoder.get(layer)) {
        let global = encoder.self_attention.global;
        all.extend(global.map(|global| outputs(global.key_value, stack.key_width())));
    }
    Ok(all)
}

struct Outputs {
    linear: Linear,
    range: Range<usize>,
}

/// A checkpoint with zeros in some outputs of linear layers.
struct Muted<'a> {
    source: CheckpointSource<'a>,
    table: &'a WeightTable,
    /// For each entry: rows of a matrix, or elements of a vector.
    zeros: BTreeMap<usize, Vec<Range<usize>>>,
}

impl WeightSource for Muted<'_> {
    type Error = ModelError;

    fn read_rows(&mut self, index: usize, rows: Range<usize>, out: &mut [f32]) -> Result<(), ModelError> {
        self.source.read_rows(index, rows.clone(), out)?;
        let entry = &self.table.entries()[index];
        // a vector is one row of many outputs
        let (first, width) = match entry.kind {
            WeightKind::Vector => (0, 1),
            WeightKind::Matrix | WeightKind::Rows => (rows.start, entry.width),
        };
        let outputs = first..first + out.len() / width;
        for zeros in self.zeros.get(&index).into_iter().flatten() {
            let (start, end) = (zeros.start.max(outputs.start), zeros.end.min(outputs.end));
            if start < end {
                out[(start - first) * width..(end - first) * width].fill(0.0);
            }
        }
        Ok(())
    }

    fn read_input_multipliers(&mut self, index: usize) -> Result<Vec<(usize, f32)>, ModelError> {
        self.source.read_input_multipliers(index)
    }

    fn read_scales(&mut self, index: usize, rows: Range<usize>) -> Result<Option<Vec<f32>>, ModelError> {
        self.source.read_scales(index, rows)
    }
}

impl Transformer {
    /// Mutes these heads, and no others: their values become zeros; their attention weights stay. An empty list unmutes
    /// all. Only affected layers are read again from the model's files; speed does not change.
    ///
    /// # Errors
    /// [`MuteError`]; for an unknown head or another model, nothing changes.
    pub fn mute(&mut self, model: &Model, heads: &[HeadName]) -> Result<(), MuteError> {
        let Self { model: LoadedModel { device, config, blueprint, weights, .. }, muted, .. } = self;
        let shapes = |table: &WeightTable| -> Vec<_> {
            table.entries().iter().map(|entry| (entry.name.clone(), entry.rows, entry.width)).collect()
        };
        if shapes(&model.blueprint().table) != shapes(&blueprint.table) {
            return Err(MuteError::OtherModel { model: model.label().to_owned() });
        }
        let mut zeros: BTreeMap<usize, Vec<Range<usize>>> = BTreeMap::new();
        let mut changed = BTreeSet::new();
        for (&name, now) in
            heads.iter().map(|name| (name, true)).chain(muted.iter().map(|name| (name, false)))
        {
            for Outputs { linear, range } in values_of(blueprint, config, name)? {
                for index in linear.entries() {
                    changed.insert(index);
                    if now {
                        zeros.entry(index).or_default().push(range.clone());
                    }
                }
            }
        }
        muted.extend(heads); // until all is read: after an error the next call reads them again
        let checkpoint = CheckpointSource { blueprint, checkpoint: model.checkpoint() };
        let mut source = Muted { source: checkpoint, table: &blueprint.table, zeros };
        let mut upload = Upload::new(changed.into_iter().collect());
        while upload.advance(device.gpu(), &blueprint.table, weights, &mut source)? {}
        if let Some(gpu) = device.gpu() {
            gpu.flush().map_err(ModelError::from)?;
        }
        *muted = heads.to_vec();
        Ok(())
    }

    /// Muted heads.
    pub fn muted(&self) -> &[HeadName] {
        &self.muted
    }
}
