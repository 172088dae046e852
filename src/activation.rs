//! Element-wise activation functions: the non-linearities of the feed-forward layers and gates.

use std::f32::consts::FRAC_1_SQRT_2;

/// An element-wise function `f32 -> f32`.
///
/// The CPU runner calls [`Activation::apply`]; the kernels implement the same formulas in WGSL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activation {
    /// `x`
    Identity,
    /// `max(x, 0)`, the paper's choice.  Vaswani et al. 2017, section 3.3.
    Relu,
    /// `x Φ(x) = x/2 · (1 + erf(x / √2))`.  Hendrycks & Gimpel 2016, section 2.
    Gelu,
    /// `x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))`.  Hendrycks & Gimpel 2016, section 2.
    GeluTanh,
    /// `x σ(1.702 x)`.  Hendrycks & Gimpel 2016, section 2.
    QuickGelu,
    /// `x σ(x)`, also called swish.  Elfwing et al. 2017, eq. (5).
    Silu,
    /// `σ(x) = 1 / (1 + e⁻ˣ)`
    Sigmoid,
    /// `tanh x`
    Tanh,
}

impl Activation {
    /// The names in Hugging Face configurations (`transformers.activations.ACT2FN`). [`Activation::name`] returns the first
    /// name of an activation.
    pub const HUGGING_FACE_NAMES: [(&'static str, Self); 14] = [
        ("linear", Self::Identity),
        ("relu", Self::Relu),
        ("gelu", Self::Gelu),
        ("gelu_python", Self::Gelu),
        ("gelu_new", Self::GeluTanh),
        ("gelu_pytorch_tanh", Self::GeluTanh),
        ("gelu_python_tanh", Self::GeluTanh),
        ("gelu_fast", Self::GeluTanh),
        ("gelu_accurate", Self::GeluTanh),
        ("quick_gelu", Self::QuickGelu),
        ("silu", Self::Silu),
        ("swish", Self::Silu),
        ("sigmoid", Self::Sigmoid),
        ("tanh", Self::Tanh),
    ];

    /// The activation of a Hugging Face name; `None` if it is not one of [`Activation::HUGGING_FACE_NAMES`].
    pub fn from_hugging_face_name(name: &str) -> Option<Self> {
        Self::HUGGING_FACE_NAMES.iter().find(|(known, _)| *known == name).map(|&(_, activation)| activation)
    }

    /// The most common Hugging Face name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Identity => "linear",
            Self::Relu => "relu",
            Self::Gelu => "gelu",
            Self::GeluTanh => "gelu_new",
            Self::QuickGelu => "quick_gelu",
            Self::Silu => "silu",
            Self::Sigmoid => "sigmoid",
            Self::Tanh => "tanh",
        }
    }

    /// The value at `x`: exact within 2e-6, absolutely or relatively, and finite for every finite `x`.
    #[inline]
    pub fn apply(self, x: f32) -> f32 {
        match self {
            Self::Identity => x,
            Self::Relu => x.max(0.0),
            Self::Gelu => 0.5 * x * (1.0 + libm::erff(x * FRAC_1_SQRT_2)),
            Self::GeluTanh => {
                const SQRT_2_OVER_PI: f32 = 0.797_884_6;
                0.5 * x * (1.0 + (SQRT_2_OVER_PI * (x + 0.044715 * x * x * x)).tanh())
            }
            Self::QuickGelu => x * sigmoid(1.702 * x),
            Self::Silu => x * sigmoid(x),
            Self::Sigmoid => sigmoid(x),
            Self::Tanh => x.tanh(),
        }
    }

    /// The derivative at `x`; that of ReLU is 0 at 0.
    #[inline]
    pub fn derivative(self, x: f32) -> f32 {
        const SQRT_2_OVER_PI: f32 = 0.797_884_6;
        match self {
            Self::Identity => 1.0,
            Self::Relu => f32::from(x > 0.0),
            // Φ(x) + x φ(x)
            Self::Gelu => {
                let density = 0.5 * SQRT_2_OVER_PI * (-0.5 * x * x).exp();
                0.5 * (1.0 + libm::erff(x * FRAC_1_SQRT_2)) + x * density
            }
            Self::GeluTanh => {
                let tanh = (SQRT_2_OVER_PI * (x + 0.044715 * x * x * x)).tanh();
                let slope = SQRT_2_OVER_PI * (1.0 + 3.0 * 0.044715 * x * x);
                let curve = (1.0 - tanh * tanh) * slope;
                // far away the slope overflows, where tanh is ±1
                0.5 * (1.0 + tanh) + if curve == 0.0 || tanh.abs() == 1.0 { 0.0 } else { 0.5 * x * curve }
            }
            Self::QuickGelu => {
                let s = sigmoid(1.702 * x);
                s + s * (1.0 - s) * x * 1.702
            }
            Self::Silu => {
                let s = sigmoid(x);
                s + s * (1.0 - s) * x
            }
            Self::Sigmoid => {
                let s = sigmoid(x);
                s * (1.0 - s)
            }
            Self::Tanh => {
                let tanh = x.tanh();
                1.0 - tanh * tanh
            }
        }
    }

    /// Whether the derivative follows from the function's value alone, as [`derivative`](Self::derivative) of it.
    pub fn is_known_by_its_value(self) -> bool {
        matches!(self, Self::Identity | Self::Relu)
    }
}

/// Far below zero `exp` overflows to infinity and the quotient is 0, as it should be.
#[inline]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use super::Activation;

    #[test]
    fn names_are_found_again() {
        for (name, activation) in Activation::HUGGING_FACE_NAMES {
            assert_eq!(Activation::from_hugging_face_name(name), Some(activation));
            assert_eq!(Activation::from_hugging_face_name(activation.name()), Some(activation));
        }
        assert_eq!(Activation::from_hugging_face_name("mish"), None);
    }

    #[test]
    fn every_finite_input_gives_a_finite_value() {
        for (_, activation) in Activation::HUGGING_FACE_NAMES {
            for x in [0.0, -0.0, 1e-38, 88.8, -88.8, 1e4, -1e4, 1e30, -1e30, f32::MAX, f32::MIN] {
                let y = activation.apply(x);
                assert!(y.is_finite(), "{}({x}) = {y}", activation.name());
            }
        }
    }
}
