//! The join of a linear layer's result with another value.

/// An element-wise join of two values of the same shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Join {
    /// `y + z`: a residual connection. Vaswani et al. 2017, section 3.1.
    Add,
    /// `y ⊙ z`: a gate. Shazeer 2020, "GLU Variants Improve Transformer", section 2.
    Multiply,
}

impl Join {
    /// Joins two elements.
    pub fn apply(self, y: f32, z: f32) -> f32 {
        match self {
            Self::Add => y + z,
            Self::Multiply => y * z,
        }
    }
}
