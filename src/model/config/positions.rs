//! Positions of tokens.

use crate::model::positions::SinusoidalLayout;

/// The kind of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positions {
    /// [`sinusoidal_positions`](crate::model::positions::sinusoidal_positions), added to the token embeddings. A table
    /// in the checkpoint takes precedence.
    Sinusoidal {
        /// Order of sines and cosines, and their frequencies.
        layout: SinusoidalLayout,
        /// Maximum tokens of a sequence.
        count: usize,
    },
    /// As `Sinusoidal`, but padding does not count as a position (M2M-100).
    SinusoidalWithoutPadding {
        /// Maximum tokens of a sequence.
        count: usize,
        /// Padding token. Its row `pad` of the table is zero; the first token has row `pad + 1`.
        pad: u32,
    },
    /// A trained table, added to the token embeddings.
    Learned {
        /// Maximum tokens of a sequence.
        count: usize,
        /// Row of the first token; earlier rows are unused (2 for BART's relatives).
        offset: usize,
    },
    /// A trained table, added to the token embeddings; padding does not count as a position (RoBERTa).
    LearnedWithoutPadding {
        /// Maximum tokens of a sequence.
        count: usize,
        /// Padding token, whose row is `pad`; the first token has row `pad + 1`.
        pad: u32,
    },
    /// A trained bias of attention scores for each head and distance, without a limit of length.
    Relative(RelativePositions),
}

/// T5's buckets of distances.  Raffel et al. 2020, section 2.1; HF `T5Attention._relative_position_bucket`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelativePositions {
    /// Number of buckets per head.
    pub buckets: usize,
    /// The smallest distance of the last bucket.
    pub max_distance: usize,
    /// Whether each layer has biases of its own (UMT5), in place of one table for a stack.
    pub of_each_layer: bool,
}

impl Positions {
    /// Maximum tokens of a sequence; `usize::MAX` without a limit.
    pub fn count(&self) -> usize {
        match *self {
            Self::Sinusoidal { count, .. }
            | Self::SinusoidalWithoutPadding { count, .. }
            | Self::Learned { count, .. }
            | Self::LearnedWithoutPadding { count, .. } => count,
            Self::Relative(_) => usize::MAX,
        }
    }

    /// Maximum tokens of an input. Without a limit of positions, time and memory grow with the square of the length, so
    /// that a much longer input than in training is a mistake.
    pub fn longest_input(&self) -> usize {
        const WITHOUT_POSITIONS: usize = 1 << 14;
        match self {
            Self::Relative(_) => WITHOUT_POSITIONS,
            _ => self.count(),
        }
    }

    /// Rows of the position table; 0 without a table.
    pub fn table_rows(&self) -> usize {
        match *self {
            Self::Sinusoidal { count, .. } => count,
            Self::SinusoidalWithoutPadding { count, pad } | Self::LearnedWithoutPadding { count, pad } => {
                count + pad as usize + 1
            }
            Self::Learned { count, offset } => count + offset,
            Self::Relative(_) => 0,
        }
    }

    /// Row of the position table for a token after `before` others.
    pub fn row(&self, before: usize, token: u32) -> u32 {
        match *self {
            Self::Sinusoidal { .. } => before as u32,
            Self::SinusoidalWithoutPadding { pad, .. } | Self::LearnedWithoutPadding { pad, .. } => {
                if token == pad { pad } else { pad + 1 + before as u32 }
            }
            Self::Learned { offset, .. } => (before + offset) as u32,
            Self::Relative(_) => 0,
        }
    }

    /// Row of the position table for each token of a sequence.
    pub fn rows<'a>(&'a self, tokens: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        let mut before = 0;
        tokens.iter().map(move |&token| {
            let row = self.row(before, token);
            before += usize::from(self.counts(token));
            row
        })
    }

    /// Row of the first token, and the (padding) token whose row is its own id.
    pub fn first_row(&self) -> (u32, Option<u32>) {
        match *self {
            Self::Sinusoidal { .. } | Self::Relative(_) => (0, None),
            Self::SinusoidalWithoutPadding { pad, .. } | Self::LearnedWithoutPadding { pad, .. } => {
                (pad + 1, Some(pad))
            }
            Self::Learned { offset, .. } => (offset as u32, None),
        }
    }

    /// Whether a token counts as a position.
    pub fn counts(&self, token: u32) -> bool {
        !matches!(
            *self,
            Self::SinusoidalWithoutPadding { pad, .. } | Self::LearnedWithoutPadding { pad, .. } if token == pad
        )
    }

    /// Name in one word.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sinusoidal { .. } | Self::SinusoidalWithoutPadding { .. } => "sinusoidal",
            Self::Learned { .. } | Self::LearnedWithoutPadding { .. } => "learned",
            Self::Relative(_) => "relative",
        }
    }
}

impl RelativePositions {
    /// The bucket of a distance (key's position minus query's). `bidirectional`: keys may follow the query, and get
    /// half of the buckets.
    pub fn bucket(&self, distance: i64, bidirectional: bool) -> usize {
        let (buckets, first, steps) = match bidirectional {
            true => {
                let half = self.buckets / 2;
                (half, if distance > 0 { half } else { 0 }, distance.unsigned_abs())
            }
            false => (self.buckets, 0, (-distance).max(0).unsigned_abs()),
        };
        // the nearer half has one distance per bucket; the other half grows with the distance
        let exact = buckets / 2;
        if (steps as usize) < exact {
            return first + steps as usize;
        }
        // in f32 and in this order, as in training
        let scale = (self.max_distance as f64 / exact as f64).ln() as f32;
        let larger = (steps as f32 / exact as f32).ln() / scale * (buckets - exact) as f32;
        first + (exact + larger as usize).min(buckets - 1)
    }
}
