//! Maps as PNG: bare pixels, because there are no letters without a font; SVG and HTML have labels.

use wordloom::trace::{AttentionKind, Map, Trace};

use super::grid::{GAP, Grid};
use super::picture::{Picture, colour};
use crate::cli::CliError;

/// The widest and the highest picture, pixels; it bounds the memory for files that claim to be long texts.
const MAX_SIDE: usize = 16_384;

/// Pixels, row by row, on white.
struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    fn new(width: usize, height: usize) -> Result<Self, CliError> {
        if width.max(height) > MAX_SIDE {
            return Err(CliError::Input(format!(
                "a picture of {width} x {height} pixels is too large, {MAX_SIDE} is the most; write .html instead"
            )));
        }
        Ok(Self { width, height, pixels: vec![255; 3 * width * height] })
    }

    /// One map, its largest weight with the last colour.
    fn draw(&mut self, map: Map<'_>, largest: f32, [left, top]: [usize; 2], cell: usize) {
        for (query, row) in map.rows().enumerate() {
            for (key, &weight) in row.iter().enumerate() {
                let colour = colour(if largest > 0.0 { weight / largest } else { 0.0 });
                for y in top + query * cell..top + (query + 1) * cell {
                    let first = 3 * (y * self.width + left + key * cell);
                    self.pixels[first..first + 3 * cell].as_chunks_mut().0.fill(colour);
                }
            }
        }
    }

    fn encode(self) -> Result<Vec<u8>, CliError> {
        let mut bytes = Vec::new();
        let failed =
            |error: png::EncodingError| CliError::Input(format!("the picture cannot be written: {error}"));
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(failed)?;
        writer.write_image_data(&self.pixels).map_err(failed)?;
        writer.finish().map_err(failed)?;
        Ok(bytes)
    }
}

/// The maps of all sentences, one below the other.
pub fn pictures(pictures: &[Picture]) -> Result<Vec<u8>, CliError> {
    let cell = |picture: &Picture| (1024 / picture.keys.len().max(picture.queries.len()).max(1)).clamp(1, 32);
    let width = pictures.iter().map(|picture| cell(picture) * picture.keys.len()).max().unwrap_or(0);
    let heights = pictures.iter().map(|picture| cell(picture) * picture.queries.len() + GAP);
    let mut canvas = Canvas::new(width, heights.sum::<usize>().saturating_sub(GAP))?;
    let mut top = 0;
    for picture in pictures {
        canvas.draw(map(picture), picture.largest(), [0, top], cell(picture));
        top += cell(picture) * picture.queries.len() + GAP;
    }
    canvas.encode()
}

/// One map, a pixel for each weight.
pub fn pixels(map: Map<'_>) -> Result<Vec<u8>, CliError> {
    let mut canvas = Canvas::new(map.keys, map.queries)?;
    canvas.draw(map, largest(map), [0, 0], 1);
    canvas.encode()
}

/// All heads of a kind; the sentences one below the other.
pub fn grid(trace: &Trace, kind: AttentionKind) -> Result<Vec<u8>, CliError> {
    let grids: Vec<Grid<'_>> =
        trace.sentences.iter().filter_map(|sentence| Grid::new(sentence, kind)).collect();
    if grids.is_empty() {
        return Err(CliError::Input(format!("the trace has no {kind} attention")));
    }
    let width = grids.iter().map(|grid| grid.heads * (grid.width + GAP)).max().unwrap_or(0) + GAP;
    let height: usize = grids.iter().map(|grid| grid.layers.len() * (grid.height + GAP)).sum();
    let mut canvas = Canvas::new(width, height + GAP)?;
    let mut top = GAP;
    for grid in &grids {
        for layer in &grid.layers {
            for head in 0..layer.heads {
                let map = layer.head(head);
                canvas.draw(map, largest(map), [GAP + head * (grid.width + GAP), top], grid.cell);
            }
            top += grid.height + GAP;
        }
    }
    canvas.encode()
}

fn map(picture: &Picture) -> Map<'_> {
    Map { queries: picture.queries.len(), keys: picture.keys.len(), weights: &picture.weights }
}

fn largest(map: Map<'_>) -> f32 {
    map.weights.iter().copied().fold(0.0, f32::max)
}
