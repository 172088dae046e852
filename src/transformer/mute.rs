//! Heads that contribute nothing. Hugging Face's `head_mask`; Michel et al. 2019, "Are Sixteen Heads Really Better than
//! One?"

use super::Transformer;
use super::edited::{Edits, has_shapes_of};
use super::loaded::HostModel;
use crate::model::edits::WeightEdits;
use crate::model::switches::mute_head;
use crate::model::{HeadName, Model, ModelError};

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

impl Transformer {
    /// Mutes these heads, and no others: their values become zeros; their attention weights stay. An empty list unmutes
    /// all. Only affected layers are read again from the model's files; speed does not change.
    ///
    /// # Errors
    /// [`MuteError`]; for an unknown head or another model, nothing changes.
    pub fn mute(&mut self, model: &Model, heads: &[HeadName]) -> Result<(), MuteError> {
        if !has_shapes_of(&self.host, model) {
            return Err(MuteError::OtherModel { model: model.label().to_owned() });
        }
        let HostModel { config, blueprint, .. } = &*self.host;
        let mut edits = WeightEdits::default();
        for &head in heads {
            if !mute_head(&mut edits, (blueprint, config), head) {
                let (layers, heads) = (config.attention_layers(head.kind), head.kind.stack(config).heads);
                return Err(MuteError::NoSuchHead { head, layers, heads });
            }
        }
        let next = Edits { muted: edits, ..self.edits.current.clone() };
        self.set_edits(model, next)?;
        self.muted = heads.to_vec();
        Ok(())
    }

    /// Muted heads.
    pub fn muted(&self) -> &[HeadName] {
        &self.muted
    }
}
