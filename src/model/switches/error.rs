use crate::model::error::ModelError;

/// The reason why switches could not be read, or do not fit a model.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// A text that names no switch.
    #[error(
        "{0:?} is no switch; switches are [STACK.][LAYER.][BLOCK.]PART=VALUE, joined by commas: STACK is encoder or decoder, \
         LAYER a number or *, BLOCK self, cross or feed-forward, and PART residual, norm, scale, query, key, head.N or \
         nothing for the block itself; or [STACK.]positions. encoder.2.residual=off for example"
    )]
    Switch(String),
    /// A value that the switch does not have.
    #[error("{switch:?}: the value is {allowed}")]
    Value {
        /// Switch with its value.
        switch: String,
        /// Allowed values.
        allowed: &'static str,
    },
    /// A kind of attention, which is chosen elsewhere.
    #[error(
        "{0:?}: self is on or off here; a kind of attention is chosen as such: --attention encoder.2=window:8"
    )]
    Kind(String),
    /// A place that is switched twice.
    #[error("{0} is switched twice")]
    Twice(String),
    /// A stack that the model lacks.
    #[error("{switch}: the model has no {stack}")]
    Stack {
        /// Switch with its value.
        switch: String,
        /// `encoder` or `decoder`.
        stack: &'static str,
    },
    /// A layer that the model lacks.
    #[error("{switch}: there is no such layer; the {stack} has layers 0 to {}", layers - 1)]
    Layer {
        /// Switch with its value.
        switch: String,
        /// `encoder` or `decoder`.
        stack: &'static str,
        /// Number of layers, at least 1.
        layers: usize,
    },
    /// A head that the model lacks.
    #[error("{switch}: there is no such head; the {stack} has heads 0 to {}", heads.saturating_sub(1))]
    Head {
        /// Switch with its value.
        switch: String,
        /// `encoder` or `decoder`.
        stack: &'static str,
        /// Number of heads.
        heads: usize,
    },
    /// A part that the model lacks.
    #[error("{switch}: the model has no such part; it has {has}")]
    Missing {
        /// Switch with its value.
        switch: String,
        /// Parts of the model.
        has: String,
    },
    /// Two switches of which one leaves nothing for the other.
    #[error("{first} and {second} contradict each other; leave one of them out")]
    Contradiction {
        /// One switch.
        first: String,
        /// The other.
        second: String,
    },
    /// A uniform head in a model whose scores have a bias by distance.
    #[error(
        "{switch}: this model adds a bias for distances to the scores, so that the head would not be uniform; switch \
         {stack}.positions=off, too"
    )]
    Distances {
        /// Switch with its value.
        switch: String,
        /// `encoder` or `decoder`.
        stack: &'static str,
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
