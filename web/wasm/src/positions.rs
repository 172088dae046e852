//! The table of positions that a model adds to its embeddings, for a picture.

use js_sys::Float32Array;
use wasm_bindgen::JsValue;
use wordloom::model::config::{ModelConfig, Positions};
use wordloom::model::positions::{SinusoidalLayout, sinusoidal_positions};

use crate::results::{js_object, shape};

/// The rows of the first `count` positions, or all rows if there are fewer.
pub fn table(config: &ModelConfig, count: usize) -> JsValue {
    let kind = ("kind", config.positions.name().into());
    let layout = match config.positions {
        Positions::Sinusoidal { layout, .. } => layout,
        Positions::SinusoidalWithoutPadding { .. } => SinusoidalLayout::Tensor2Tensor,
        Positions::Learned { .. } | Positions::LearnedWithoutPadding { .. } | Positions::Relative(_) => {
            return js_object([kind]);
        }
    };
    let (first, _) = config.positions.first_row();
    let (first, count) = (first as usize, count.min(config.positions.count()));
    let values = sinusoidal_positions(layout, first..first + count, config.d_model);
    let values = Float32Array::from(&values[..]);
    let layout = match layout {
        SinusoidalLayout::Interleaved => "interleaved",
        SinusoidalLayout::Halves | SinusoidalLayout::Tensor2Tensor => "halves",
    };
    js_object([
        kind,
        ("layout", layout.into()),
        ("shape", shape(&[count, config.d_model])),
        ("values", values.into()),
    ])
}
