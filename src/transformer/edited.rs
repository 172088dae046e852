//! Weights that are read again from the model's files, with edits.

use std::collections::BTreeSet;

use super::loaded::{HostModel, LoadedModel};
use crate::graph::{Upload, WeightTable};
use crate::model::blueprint::CheckpointSource;
use crate::model::edits::{EditedSource, WeightEdits};
use crate::model::{Model, ModelError};

/// The edits of a model's weights.
#[derive(Clone, Default)]
pub(super) struct Edits {
    /// Edits of muted heads.
    pub muted: WeightEdits,
    /// Edits of switches.
    pub switched: WeightEdits,
}

impl Edits {
    /// All together.
    pub fn all(&self) -> WeightEdits {
        let mut edits = self.muted.clone();
        edits.extend(self.switched.clone());
        edits
    }
}

/// The edits that the weights on the device have.
#[derive(Default)]
pub(super) struct Edited {
    pub current: Edits,
    /// Entries on the device that may differ from the files.
    entries: BTreeSet<usize>,
}

/// Whether `files` have the weights of a loaded model, by names and shapes.
pub(super) fn has_shapes_of(model: &HostModel, files: &Model) -> bool {
    let shapes = |table: &WeightTable| -> Vec<_> {
        table.entries().iter().map(|entry| (entry.name.clone(), entry.rows, entry.width)).collect()
    };
    shapes(&files.blueprint().table) == shapes(&model.blueprint.table)
}

impl Edited {
    /// Reads the weights again that have edits or had some. After an error, the next call reads them.
    pub fn read(&mut self, model: &mut LoadedModel, files: &Model, next: Edits) -> Result<(), ModelError> {
        let LoadedModel { device, weights, .. } = model;
        let edits = next.all();
        self.entries.extend(edits.entries());
        let blueprint = files.blueprint();
        let source = CheckpointSource { blueprint, checkpoint: files.checkpoint() };
        let mut source = EditedSource { source, table: &blueprint.table, edits: &edits };
        let mut upload = Upload::new(self.entries.iter().copied().collect());
        while upload.advance(device.gpu(), &blueprint.table, weights, &mut source)? {}
        if let Some(gpu) = device.gpu() {
            gpu.flush().map_err(ModelError::from)?;
        }
        // `collect` would compile another sort; see `crate::sorting`
        self.entries.clear();
        self.entries.extend(edits.entries());
        self.current = next;
        Ok(())
    }
}
