//! Maps as pixels, for a canvas.

use js_sys::Uint8Array;
use serde::Deserialize;
use wasm_bindgen::JsValue;
use wordloom::heatmap::{ColourMap, Pixels, Scale, View};

use crate::failure::Failure;
use crate::options::object;
use crate::results::js_object;

/// The largest number of pixels in a picture: 64 MB of colours.
const MOST_PIXELS: u64 = 1 << 24;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ViewInput {
    width: u32,
    height: u32,
    origin: [f32; 2],
    cell: [f32; 2],
    gap: f32,
    rows: Option<u32>,
    scale: String,
    colours: String,
    background: [u8; 4],
}

/// A view, from JavaScript's object.
pub fn view(input: &JsValue) -> Result<View, Failure> {
    let input = serde_json::Value::Object(object(input)?);
    let input: ViewInput = serde_json::from_value(input)
        .map_err(|error| Failure::input(format!("this is no view of a map: {error}")))?;
    let ViewInput { width, height, cell, .. } = input;
    let pixels = u64::from(width) * u64::from(height);
    if pixels == 0 || pixels > MOST_PIXELS {
        let message =
            format!("a picture of {width} x {height} pixels; 1 to {MOST_PIXELS} in all can be drawn");
        return Err(Failure::input(message));
    }
    if cell.iter().any(|&side| side <= 0.0) || input.gap < 0.0 {
        return Err(Failure::input(
            "the sides of a cell have to be larger than 0, and the gap must not be negative",
        ));
    }
    Ok(View {
        size: [width, height],
        origin: input.origin,
        cell,
        gap: input.gap,
        rows: input.rows.unwrap_or(u32::MAX),
        scale: named::<Scale>("scale", &input.scale)?,
        colours: named::<ColourMap>("colours", &input.colours)?,
        background: input.background,
    })
}

fn named<T: std::str::FromStr>(option: &str, name: &str) -> Result<T, Failure>
where
    T::Err: std::fmt::Display,
{
    name.parse().map_err(|error| Failure::input(format!("{option:?} is {name:?}: {error}")))
}

/// `{ width, height, rgba }`
pub fn picture(pixels: &Pixels) -> JsValue {
    js_object([
        ("width", pixels.width.into()),
        ("height", pixels.height.into()),
        ("rgba", Uint8Array::from(&pixels.rgba[..]).into()),
    ])
}

/// 256 colours, RGB.
pub fn colour_table(name: &str) -> Result<Uint8Array, Failure> {
    let map: ColourMap = named("colours", name)?;
    let table: Vec<u8> = (0..=255u8).flat_map(|step| map.colour(f32::from(step) / 255.0)).collect();
    Ok(Uint8Array::from(&table[..]))
}
