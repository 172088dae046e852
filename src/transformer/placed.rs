use std::ops::Deref;

use super::loaded::LoadedModel;
use super::session::IdleSessions;

/// A model on its device, with idle sessions there. Another one takes its place when the device is lost.
pub(super) struct Placed {
    pub model: LoadedModel,
    pub idle: IdleSessions,
}

impl Deref for Placed {
    type Target = LoadedModel;

    fn deref(&self) -> &LoadedModel {
        &self.model
    }
}
