use super::Transformer;
use crate::model::config::ModelConfig;
use crate::model::{SelfAttentionChoice, SelfAttentionError};

impl Transformer {
    /// Gives layers of the encoder another kind of self-attention; other layers have their own. No weights change: the
    /// next text runs with it. An empty choice gives every layer its own kind back.
    ///
    /// # Errors
    /// [`SelfAttentionError`] for a layer that the model lacks, or whose switches contradict the kind; then nothing
    /// changes.
    pub fn set_attention(&mut self, choice: &SelfAttentionChoice) -> Result<(), SelfAttentionError> {
        let own = ModelConfig { encoder_kinds: self.own_kinds.clone(), ..self.host.config.clone() };
        let chosen = match choice.is_empty() {
            true => own,
            false => own.with_attention(choice)?,
        };
        if let Some((switch, layer)) = self.switches.without_scores(&chosen) {
            return Err(SelfAttentionError::Scores { layer, switch: switch.to_owned() });
        }
        self.change_host(|host| host.config = chosen);
        Ok(())
    }
}
