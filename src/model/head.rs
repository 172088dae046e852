//! The heads of a model by name.

use super::config::{ModelConfig, StackConfig};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Kind of attention, by its queries and keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttentionKind {
    /// The encoder's self-attention: source to source.
    Encoder,
    /// The decoder's masked self-attention: target to the target so far.
    Decoder,
    /// The decoder's attention to the encoder: target to source.
    Cross,
}

impl AttentionKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Encoder, Self::Decoder, Self::Cross];

    pub(crate) fn stack(self, config: &ModelConfig) -> &StackConfig {
        if self == Self::Encoder { &config.encoder } else { &config.decoder }
    }

    /// Whether the queries are target tokens.
    pub fn queries_target(self) -> bool {
        self != Self::Encoder
    }

    /// Whether the keys are target tokens.
    pub fn keys_target(self) -> bool {
        self == Self::Decoder
    }
}

impl fmt::Display for AttentionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Encoder => "encoder",
            Self::Decoder => "decoder",
            Self::Cross => "cross",
        })
    }
}

impl FromStr for AttentionKind {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "encoder" => Ok(Self::Encoder),
            "decoder" => Ok(Self::Decoder),
            "cross" => Ok(Self::Cross),
            _ => Err("encoder, decoder or cross is needed"),
        }
    }
}

/// A head, e.g. `cross.2.5`; layers and heads count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HeadName {
    /// Kind of attention.
    pub kind: AttentionKind,
    /// Number of the layer.
    pub layer: usize,
    /// Number of the head in the layer.
    pub head: usize,
}

impl fmt::Display for HeadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.kind, self.layer, self.head)
    }
}

impl FromStr for HeadName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "KIND.LAYER.HEAD is needed, cross.2.5 for example, with layers and heads from 0";
        let mut parts = text.split('.');
        let (Some(kind), Some(layer), Some(head), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong);
        };
        let number = |text: &str| text.parse().map_err(|_| wrong);
        Ok(Self { kind: kind.parse().map_err(|_| wrong)?, layer: number(layer)?, head: number(head)? })
    }
}
