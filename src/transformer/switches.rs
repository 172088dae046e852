use super::Transformer;
use super::edited::{Edits, has_shapes_of};
use crate::model::switches::Switched;
use crate::model::{Model, SwitchError, Switches};

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
}
