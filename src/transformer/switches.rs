use super::Transformer;
use super::edited::{Edits, has_shapes_of};
#[cfg(not(target_arch = "wasm32"))]
use crate::gpu::GpuError;
use crate::model::switches::Switched;
use crate::model::{Model, ModelError, SwitchError, Switches};

impl Transformer {
    /// Sets these switches, and no others; an empty set gives the model all of its parts back. Programs are built
    /// without the parts that are off; only weights that switches change are read again from the model's files.
    /// Muted heads and kinds of attention stay.
    ///
    /// # Errors
    /// [`SwitchError`]; if the switches do not fit the model, nothing changes.
    pub fn set_switches(&mut self, model: &Model, switches: &Switches) -> Result<(), SwitchError> {
        if !has_shapes_of(&self.host, model) {
            return Err(SwitchError::OtherModel { model: model.label().to_owned() });
        }
        let Switched { blueprint, edits } = switches.over(model.blueprint(), &self.host.config)?;
        let next = Edits { switched: edits, ..self.edits.current.clone() };
        self.set_edits(model, next)?;
        self.change_host(|host| host.blueprint = blueprint);
        self.switches = switches.clone();
        Ok(())
    }

    /// Current switches.
    pub fn switches(&self) -> &Switches {
        &self.switches
    }

    /// Sets the edits of the weights, and no others.
    pub(super) fn set_edits(&mut self, files: &Model, next: Edits) -> Result<(), ModelError> {
        let mut edits = std::mem::take(&mut self.edits);
        let read = edits.read(&mut self.placed_mut().model, files, next.clone());
        self.edits = edits;
        #[cfg(not(target_arch = "wasm32"))]
        if let (Err(ModelError::Gpu(GpuError::Lost { .. })), Some(_)) = (&read, &self.recovery.source) {
            self.edits.current = next; // the device that replaces the lost one begins with them
            return Ok(());
        }
        read
    }
}
