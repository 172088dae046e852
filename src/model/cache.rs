//! The memory of a decoder layer for earlier tokens, and the tokens that a target token sees.

use super::attention::Sequences;
use crate::graph::State;
use crate::ops::{Cache, CellCache};

/// The memory of one decoder layer for earlier tokens.
#[derive(Clone, Copy, Debug)]
pub enum LayerCache {
    /// Keys and values of self-attention.
    KeyValue(Cache),
    /// Cells of a recurrent unit.
    Cells(CellCache),
}

impl LayerCache {
    /// The cache with other slots for new tokens.
    pub fn with_slots(self, cache_slots: State) -> Self {
        match self {
            Self::KeyValue(cache) => Self::KeyValue(Cache { cache_slots, ..cache }),
            Self::Cells(cache) => Self::Cells(CellCache { cache_slots, ..cache }),
        }
    }

    /// # Panics
    /// If the layer is recurrent.
    pub fn key_value(self) -> Cache {
        match self {
            Self::KeyValue(cache) => cache,
            Self::Cells(_) => unreachable!("caches are made for the mixer of the configuration"),
        }
    }

    /// # Panics
    /// If the layer attends.
    pub fn cells(self) -> CellCache {
        match self {
            Self::Cells(cache) => cache,
            Self::KeyValue(_) => unreachable!("caches are made for the mixer of the configuration"),
        }
    }
}

/// The tokens that a target token sees.
pub enum History<'a> {
    /// Whole targets (teacher forcing).
    Whole(Sequences),
    /// Whole prompts; keys and values, or cells, go to the caches of each layer.
    Prompt(Sequences, &'a [LayerCache]),
    /// One new token per row, and the caches of each layer.
    Cached(&'a [LayerCache]),
}
