//! Maps as SVG. Labels are text, so a reader can search and copy them.

use std::fmt::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use unicode_width::UnicodeWidthStr;
use wordloom::trace::{AttentionKind, LayerAttention, Trace};
use wordloom_viewer::{harmless, name};

use super::grid::{GAP, Grid};
use super::picture::{Picture, colour};
use super::png;
use crate::CliError;

/// Pixels of a cell.
const CELL: usize = 24;
/// Pixels around the picture.
const MARGIN: usize = 20;
/// Pixels of an average character at font size 13.
const LETTER: usize = 8;
/// Pixels of the longest side of a map.
const MOST_SIDE: f32 = 9_600.0;
/// Maximal number of cells drawn as rectangles; larger maps are an image.
const MOST_CELLS: usize = 20_000;

pub fn pictures(pictures: &[Picture]) -> Result<String, CliError> {
    let mut body = String::new();
    let (mut width, mut top) = (0, MARGIN);
    for picture in pictures {
        let [right, bottom] = one(&mut body, picture, top)?;
        width = width.max(right);
        top = bottom + 2 * MARGIN;
    }
    let title = pictures.first().map_or("", |picture| &picture.title);
    Ok(document(title, [width + MARGIN, top - MARGIN], &body))
}

/// Draws one map below `top`. Returns its right and lower edge.
fn one(body: &mut String, picture: &Picture, top: usize) -> Result<[usize; 2], CliError> {
    let widest = |labels: &[String]| labels.iter().map(|label| label.width()).max().unwrap_or(0) * LETTER;
    let left = MARGIN + widest(&picture.queries) + 10;
    // labels of columns have an angle of 60 degrees
    let slanted = widest(&picture.keys);
    let map_top = top + 24 + slanted * 87 / 100 + 12;
    // a long text has smaller cells, and labels where they have room
    let longest = picture.keys.len().max(picture.queries.len());
    let cell = (MOST_SIDE / longest as f32).min(CELL as f32);
    let every = (CELL as f32 / cell).ceil() as usize;
    let [right, bottom] = [
        left + png::pixels_of(picture.keys.len(), cell),
        map_top + png::pixels_of(picture.queries.len(), cell),
    ];
    let middle = |index: usize| ((index as f32 + 0.5) * cell) as usize;
    let _ = writeln!(
        body,
        r#"<text class="title" x="{MARGIN}" y="{}">{}</text>"#,
        top + 14,
        escape(&picture.title)
    );
    for (column, label) in picture.keys.iter().enumerate().step_by(every) {
        let (x, y) = (left + middle(column) + 3, map_top - 8);
        let _ = writeln!(
            body,
            r#"<text x="{x}" y="{y}" transform="rotate(-60 {x} {y})">{}</text>"#,
            escape(label)
        );
    }
    for (row, label) in picture.queries.iter().enumerate().step_by(every) {
        let y = map_top + middle(row) + 4;
        let _ = writeln!(body, r#"<text class="row" x="{}" y="{y}">{}</text>"#, left - 8, escape(label));
    }
    let largest = picture.largest;
    if picture.cells() > MOST_CELLS {
        image(body, (&picture.map, 0), [left, map_top], [right - left, bottom - map_top])?;
    } else {
        for (row, weights) in picture.rows().enumerate() {
            for (column, &weight) in weights.iter().enumerate() {
                let [r, g, b] = colour(if largest > 0.0 { weight / largest } else { 0.0 });
                let (x, y) = (left + CELL * column, map_top + CELL * row);
                let (query, key) = (escape(&picture.queries[row]), escape(&picture.keys[column]));
                let _ = writeln!(
                    body,
                    r##"<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="#{r:02x}{g:02x}{b:02x}"><title>{query} to {key}: {weight:.3}</title></rect>"##,
                );
            }
        }
    }
    let scale = legend(body, [left, bottom + 14], largest);
    // the last label extends beyond the map's right edge
    Ok([(right + slanted / 2).max(scale).max(MARGIN + picture.title.width() * LETTER), bottom + 34])
}

/// Draws the legend. Returns its right edge.
fn legend(body: &mut String, [left, top]: [usize; 2], largest: f32) -> usize {
    const STEPS: usize = 24;
    let _ = writeln!(body, r#"<text class="small" x="{left}" y="{}">0</text>"#, top + 9);
    for step in 0..STEPS {
        let [r, g, b] = colour(step as f32 / (STEPS - 1) as f32);
        let x = left + 12 + 4 * step;
        let _ = writeln!(
            body,
            r##"<rect x="{x}" y="{top}" width="4" height="10" fill="#{r:02x}{g:02x}{b:02x}"/>"##
        );
    }
    let right = left + 12 + 4 * STEPS + 6;
    let _ = writeln!(body, r#"<text class="small" x="{right}" y="{}">{largest:.2}</text>"#, top + 9);
    right + 40
}

pub fn grid(trace: &Trace, kind: AttentionKind) -> Result<String, CliError> {
    let mut body = String::new();
    let (mut width, mut top) = (0, MARGIN);
    for sentence in &trace.sentences {
        let Some(grid) = Grid::new(sentence, kind) else { continue };
        let title = harmless(&format!("{}: {}", name(kind), sentence.source), 90);
        let _ =
            writeln!(body, r#"<text class="title" x="{MARGIN}" y="{}">{}</text>"#, top + 14, escape(&title));
        top += 34;
        let left = MARGIN + 64;
        for head in 0..grid.heads {
            let x = left + head * (grid.width + GAP);
            let _ = writeln!(body, r#"<text class="small" x="{x}" y="{}">{head}</text>"#, top + 9);
        }
        top += 16;
        for layer in &grid.layers {
            let y = top + grid.height / 2 + 4;
            let _ =
                writeln!(body, r#"<text class="small" x="{MARGIN}" y="{y}">layer {}</text>"#, layer.layer);
            for head in 0..layer.heads {
                let x = left + head * (grid.width + GAP);
                image(&mut body, (layer, head), [x, top], [grid.width, grid.height])?;
            }
            top += grid.height + GAP;
        }
        top += 2 * MARGIN;
        width = width.max(left + grid.heads * (grid.width + GAP)).max(MARGIN + title.width() * LETTER);
    }
    match width {
        0 => Err(CliError::Input(format!("the trace has no {kind} attention"))),
        _ => Ok(document(name(kind), [width + MARGIN, top - MARGIN], &body)),
    }
}

fn image(
    body: &mut String,
    (layer, head): (&LayerAttention, usize),
    [x, y]: [usize; 2],
    [width, height]: [usize; 2],
) -> Result<(), CliError> {
    let data = BASE64_STANDARD.encode(png::pixels(layer, head)?);
    let _ = writeln!(
        body,
        r#"<image x="{x}" y="{y}" width="{width}" height="{height}" preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>"#
    );
    Ok(())
}

fn document(title: &str, [width, height]: [usize; 2], body: &str) -> String {
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">
<title>{}</title>
<style>text{{font:13px system-ui,sans-serif;fill:#222}}.title{{font-weight:600;font-size:14px}}.row{{text-anchor:end}}.small{{font-size:11px;fill:#666}}rect{{shape-rendering:crispEdges}}</style>
<rect width="{width}" height="{height}" fill="#fff"/>
{body}</svg>
"##,
        escape(title)
    )
}

/// Escapes text for XML. Characters that XML forbids are already replaced.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}
