//! Maps as PNG, without labels, which need a font.

use wordloom::heatmap::{Pixels, View, paint};
use wordloom::trace::{AttentionKind, LayerAttention, Trace};

use super::grid::{GAP, Grid};
use super::picture::Picture;
use crate::CliError;

/// Largest side of a picture in pixels. It limits memory for files that claim long texts.
const MAX_SIDE: usize = 16_384;

const PAPER: [u8; 4] = [255; 4];

fn failed(error: impl std::fmt::Display) -> CliError {
    CliError::Input(format!("the picture cannot be written: {error}"))
}

fn check([width, height]: [usize; 2]) -> Result<(), CliError> {
    if width.max(height) > MAX_SIDE {
        return Err(CliError::Input(format!(
            "a picture of {width} x {height} pixels is too large, {MAX_SIDE} is the most; write .html instead"
        )));
    }
    Ok(())
}

fn draw(layers: &[&LayerAttention], cell: f32, gap: usize) -> Result<Pixels, CliError> {
    let shape = wordloom::heatmap::shape_of(layers).map_err(failed)?;
    let side = |count: usize, cells: usize| count * (pixels_of(cells, cell) + gap) - gap;
    let size = [side(shape.heads, shape.keys), side(shape.layers, shape.queries)];
    check(size)?;
    let view = View {
        origin: [0.0; 2],
        cell: [cell; 2],
        gap: gap as f32 / cell,
        background: PAPER,
        ..View::fit(shape, size.map(|side| side as u32))
    };
    paint(layers, &view).map_err(failed)
}

/// Pixels of some cells.
pub fn pixels_of(cells: usize, cell: f32) -> usize {
    ((cells as f32 * cell).round() as usize).max(1)
}

/// Side of a cell so that a map of `longest` cells has about `aim` pixels: whole pixels up to `most`, or less than a pixel
/// if there are more than `limit` cells. A pixel then shows the largest of the weights under it.
pub fn side(longest: usize, [aim, most, limit]: [usize; 3]) -> f32 {
    match longest > limit {
        true => limit as f32 / longest as f32,
        false => (aim / longest.max(1)).clamp(1, most) as f32,
    }
}

/// Stacks pictures vertically, with a margin in pixels around each.
fn encode(pictures: &[Pixels], margin: usize) -> Result<Vec<u8>, CliError> {
    let width = pictures.iter().map(|picture| picture.width as usize).max().unwrap_or(0) + 2 * margin;
    let heights: usize = pictures.iter().map(|picture| picture.height as usize).sum();
    let height = heights + (pictures.len() - 1) * GAP + 2 * margin;
    check([width, height])?;
    let mut rgb = vec![PAPER[0]; 3 * width * height];
    let mut top = margin;
    for picture in pictures {
        let rows = picture.rgba.chunks_exact(4 * picture.width as usize);
        for (row, canvas) in rows.zip(rgb[3 * width * top..].chunks_exact_mut(3 * width)) {
            let pixels = canvas[3 * margin..].as_chunks_mut::<3>().0;
            for (pixel, rgba) in pixels.iter_mut().zip(row.as_chunks::<4>().0) {
                pixel.copy_from_slice(&rgba[..3]);
            }
        }
        top += picture.height as usize + GAP;
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&rgb).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}

pub fn pictures(pictures: &[Picture]) -> Result<Vec<u8>, CliError> {
    let drawn = pictures.iter().map(|picture| {
        let longest = picture.keys.len().max(picture.queries.len()).max(1);
        draw(&[&picture.map], side(longest, [1024, 32, 2048]), 0)
    });
    encode(&drawn.collect::<Result<Vec<_>, _>>()?, 0)
}

/// Paints one map, a pixel per weight; of a long text less.
pub fn pixels(layer: &LayerAttention, head: usize) -> Result<Vec<u8>, CliError> {
    let longest = layer.columns().max(layer.queries);
    encode(&[draw(&[&layer.only(head)], side(longest, [1, 1, 2048]), 0)?], 0)
}

pub fn grid(trace: &Trace, kind: AttentionKind) -> Result<Vec<u8>, CliError> {
    let grids = trace.sentences.iter().filter_map(|sentence| Grid::new(sentence, kind));
    let drawn = grids.map(|grid| draw(&grid.layers, grid.cell, GAP));
    let drawn = drawn.collect::<Result<Vec<_>, _>>()?;
    if drawn.is_empty() {
        return Err(CliError::Input(format!("the trace has no {kind} attention")));
    }
    encode(&drawn, GAP)
}
