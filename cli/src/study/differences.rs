//! A figure of differences from a reference: a line for each row, with the paper's difference beside the measured ones.

use std::fmt::Write;

use super::statistics::Summary;
use crate::train::text::escaped;

const WIDTH: f64 = 480.0;
/// Room for the names of rows, and for the means.
const LEFT: f64 = 138.0;
const RIGHT: f64 = 56.0;
const TOP: f64 = 26.0;
/// Height of a row.
const ROW: f64 = 24.0;
/// Larger differences than this multiple of the median are drawn at the edge: one failure would make all others a dot.
const OUTLIER: f64 = 6.0;

#[derive(Clone, Debug)]
pub struct Line {
    pub name: String,
    /// A difference for each seed.
    pub seeds: Vec<f64>,
    /// The paper's difference.
    pub paper: Option<f64>,
    /// Text in the place of a mean if there are no seeds.
    pub missing: &'static str,
}

/// The figure as SVG. `digits`: after the point of a mean.
pub fn differences(title: &str, lines: &[Line], digits: usize) -> String {
    let reach = reach(lines);
    let height = TOP + ROW * lines.len() as f64 + 4.0;
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    let scale = ((WIDTH - RIGHT - LEFT) / 2.0 - 8.0) / reach;
    let at = |value: f64| middle + scale * value.clamp(-reach, reach);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\
         <line class=\"zero\" x1=\"{middle}\" x2=\"{middle}\" y1=\"{TOP}\" y2=\"{height}\"/>",
        escaped(title)
    );
    for (value, anchor) in [(-reach, "start"), (0.0, "middle"), (reach, "end")] {
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"14\" text-anchor=\"{anchor}\">{}</text>",
            at(value),
            signed(value, digits)
        );
    }
    for (index, line) in lines.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5);
        svg += &line.svg(y, &at, digits);
    }
    svg + "</svg>"
}

/// The largest difference of the scale.
fn reach(lines: &[Line]) -> f64 {
    let mut sizes: Vec<f64> = lines
        .iter()
        .flat_map(|line| line.paper.into_iter().chain(Summary::of(&line.seeds).map(|all| all.mean)))
        .map(f64::abs)
        .filter(|size| size.is_finite())
        .collect();
    sizes.sort_by(f64::total_cmp);
    let median = sizes.get(sizes.len() / 2).copied().unwrap_or_default();
    let usual = sizes.iter().copied().filter(|&size| size <= OUTLIER * median).fold(0.0, f64::max);
    if usual > 0.0 { 1.15 * usual } else { 1.0 }
}

impl Line {
    fn svg(&self, y: f64, at: &dyn Fn(f64) -> f64, digits: usize) -> String {
        let mut svg = format!(
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"label\" x=\"0\" y=\"{:.1}\">{}</text>",
            WIDTH - RIGHT,
            y + 4.0,
            escaped(&self.name)
        );
        if let Some(paper) = self.paper {
            let x = at(paper);
            let _ = write!(
                svg,
                "<path class=\"paper\" d=\"M{x:.1} {:.1}l5 5l-5 5l-5 -5z\"><title>paper: {}</title></path>",
                y - 5.0,
                signed(paper, digits)
            );
        }
        let summary = Summary::of(&self.seeds);
        if let Some([low, high]) = summary.and_then(|all| all.interval()) {
            let (low, high) = (at(low), at(high));
            let _ = write!(
                svg,
                "<line class=\"span\" x1=\"{low:.1}\" x2=\"{high:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"
            );
        }
        for seed in &self.seeds {
            let _ = write!(svg, "<circle class=\"seed\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"2.4\"/>", at(*seed));
        }
        let text = match summary {
            Some(all) => {
                let _ = write!(
                    svg,
                    "<circle class=\"mean\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4.2\"/>",
                    at(all.mean)
                );
                signed(all.mean, digits)
            }
            None => self.missing.to_owned(),
        };
        let _ = write!(
            svg,
            "<text class=\"value\" x=\"{WIDTH}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
            y + 4.0
        );
        svg
    }
}

/// `+0.12`, `−0.12`, `0.00`
pub fn signed(value: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", value.abs());
    let is_zero = text.chars().all(|character| "0.".contains(character));
    match value {
        _ if is_zero => text,
        value if value < 0.0 => format!("−{text}"),
        _ => format!("+{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_does_not_hide_the_others() {
        let line =
            |seeds: &[f64]| Line { name: "a".into(), seeds: seeds.to_vec(), paper: None, missing: "–" };
        let all = [line(&[0.1]), line(&[0.2]), line(&[-0.15]), line(&[4.0]), line(&[])];
        assert!((reach(&all) - 0.23).abs() < 1e-9, "{}", reach(&all));
        let svg = differences("loss", &all, 2);
        assert_eq!(svg.matches("class=\"mean\"").count(), 4);
        assert!(svg.contains(">+4.00<") && svg.contains(">−0.15<") && svg.contains(">–<"));
        assert!(differences("nothing", &[], 2).ends_with("</svg>"));
        assert_eq!([0.001, -0.001, 1.0].map(|value| signed(value, 2)), ["0.00", "0.00", "+1.00"]);
    }
}
