//! A chart of curves over steps, as SVG.

use std::fmt::Write;
use wordloom::readable::grouped;

use super::text::escaped;

const HEIGHT: f64 = 220.0;
/// Widths of a chart in a column and across both, in the units of the drawing.
const WIDTHS: [f64; 2] = [480.0, 1000.0];
const LEFT: f64 = 44.0;
/// Room for the last value, beside the end of a curve.
const RIGHT: f64 = 52.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 24.0;
/// Points of a drawn curve; more cannot be seen.
const POINTS: usize = 240;
/// Smallest distance between two labels, in the units of the drawing.
const LABEL: f64 = 15.0;

pub struct Chart {
    pub title: &'static str,
    pub unit: &'static str,
    /// Digits after the point of values.
    pub digits: usize,
    pub curves: Vec<Curve>,
    /// Whether it takes the whole width.
    pub wide: bool,
}

pub struct Curve {
    /// Empty if the chart has only one.
    name: &'static str,
    class: &'static str,
    /// Step and value.
    points: Vec<[f64; 2]>,
    /// A point with a ring around it.
    mark: Option<[f64; 2]>,
}

impl Curve {
    pub fn of(name: &'static str, points: Vec<[f64; 2]>) -> Self {
        Self { name, class: "", points: finite(points), mark: None }
    }

    /// As [`Curve::of`] in the second colour.
    pub fn second(name: &'static str, points: Vec<[f64; 2]>) -> Self {
        Self { class: " second", ..Self::of(name, points) }
    }

    /// Puts a ring around a point.
    pub fn marked(self, mark: Option<[f64; 2]>) -> Self {
        Self { mark, ..self }
    }

    /// Means of runs of points.
    fn thinned(&self) -> Vec<[f64; 2]> {
        let (all, count) = (&self.points, self.points.len().min(POINTS));
        (0..count)
            .map(|index| {
                let run = &all[index * all.len() / count..(index + 1) * all.len() / count];
                [0, 1].map(|axis| run.iter().map(|point| point[axis]).sum::<f64>() / run.len() as f64)
            })
            .collect()
    }
}

fn finite(points: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    points.into_iter().filter(|point| point.iter().all(|value| value.is_finite())).collect()
}

/// A linear scale from values to places.
#[derive(Clone, Copy)]
struct Scale {
    from: [f64; 2],
    to: [f64; 2],
}

impl Scale {
    fn at(&self, value: f64) -> f64 {
        let share = (value - self.from[0]) / (self.from[1] - self.from[0]).max(f64::MIN_POSITIVE);
        self.to[0] + share * (self.to[1] - self.to[0])
    }

    /// Round values within the scale, about `count`.
    fn ticks(&self, count: usize) -> Vec<f64> {
        let step = round_step((self.from[1] - self.from[0]) / count as f64);
        let first = (self.from[0] / step).ceil() as i64;
        let last = (self.from[1] / step + 1e-9).floor() as i64;
        (first..=last.min(first + 20)).map(|index| index as f64 * step).collect()
    }
}

/// The next 1, 2 or 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.max(1e-12).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|round| *round >= step * 0.999)
        .unwrap_or(step)
}

impl Chart {
    /// Whether no curve has a line.
    pub fn is_empty(&self) -> bool {
        self.curves.iter().all(|curve| curve.points.len() < 2)
    }

    /// The chart with its heading.
    pub fn section(&self) -> String {
        let keys: String = self
            .curves
            .iter()
            .filter(|curve| !curve.name.is_empty() && !curve.points.is_empty())
            .map(|curve| {
                format!("<small><i class=\"{}\"></i>{}</small>", curve.class.trim(), escaped(curve.name))
            })
            .collect();
        format!(
            "<section{}><h2>{} <small>{}</small>{keys}</h2>{}</section>\n",
            if self.wide { " class=\"wide\"" } else { "" },
            escaped(self.title),
            escaped(self.unit),
            self.svg()
        )
    }

    fn svg(&self) -> String {
        let (width, height) =
            (WIDTHS[usize::from(self.wide)], HEIGHT + 60.0 * f64::from(u8::from(self.wide)));
        let [x, y] = self.scales(width, height);
        let mut svg = format!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">",
            escaped(self.title)
        );
        for value in y.ticks(4) {
            let (place, label) = (y.at(value), number(value, self.digits));
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{place:.1}\" y2=\"{place:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                width - RIGHT,
                LEFT - 8.0,
                place + 4.0
            );
        }
        for value in x.ticks(if self.wide { 8 } else { 4 }) {
            let label = grouped(value.max(0.0) as u64);
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                x.at(value),
                height - 5.0
            );
        }
        self.curves.iter().for_each(|curve| svg += &line(curve, x, y));
        svg + &self.last_values(x, y) + "</svg>"
    }

    /// Scales from all points, with some room above and below.
    fn scales(&self, width: f64, height: f64) -> [Scale; 2] {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let range = |axis: usize| {
            let values = || points().map(|point| point[axis]);
            [values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max)]
        };
        let [steps, mut values] = [range(0), range(1)];
        let most = values[1].abs().max(1e-9);
        // a flat curve is not noise; and a curve that comes near 0 begins there
        let room = ((values[1] - values[0]) * 0.06).max(most * 0.02);
        values[0] = if values[0] >= 0.0 && values[0] < most * 0.35 { 0.0 } else { values[0] - room };
        values[1] += room;
        [
            Scale { from: [steps[0].min(steps[1] - 1.0), steps[1]], to: [LEFT, width - RIGHT] },
            Scale { from: values, to: [height - BOTTOM, TOP] },
        ]
    }

    /// The last value of each curve at its end; labels do not overlap.
    fn last_values(&self, x: Scale, y: Scale) -> String {
        let mut labels: Vec<(f64, f64, &str, String)> = self
            .curves
            .iter()
            .filter_map(|curve| {
                let [step, value] = *curve.thinned().last()?;
                let last = curve.points.last().map_or(value, |point| point[1]);
                Some((y.at(value), x.at(step), curve.class, number(last, self.digits)))
            })
            .collect();
        labels.sort_by(|one, other| one.0.total_cmp(&other.0));
        for index in 1..labels.len() {
            labels[index].0 = labels[index].0.max(labels[index - 1].0 + LABEL);
        }
        let text = |(place, end, class, label): &(f64, f64, &str, String)| {
            format!(
                "<text class=\"value{class}\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
                end + 8.0,
                place + 4.0
            )
        };
        labels.iter().map(text).collect()
    }
}

fn line(curve: &Curve, x: Scale, y: Scale) -> String {
    let points: String = curve
        .thinned()
        .iter()
        .map(|[step, value]| format!("{:.1},{:.1} ", x.at(*step), y.at(*value)))
        .collect();
    let mut svg = format!("<polyline class=\"curve{}\" points=\"{}\"/>", curve.class, points.trim_end());
    if let Some([step, value]) = curve.mark {
        let (x, y) = (x.at(step), y.at(value));
        let _ = write!(svg, "<circle class=\"{}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>", curve.class.trim());
    }
    svg
}

fn number(value: f64, digits: usize) -> String {
    match digits {
        0 => grouped(value.max(0.0).round() as u64),
        digits => format!("{value:.digits$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_scale() {
        let scale = |from| Scale { from, to: [0.0, 100.0] };
        assert_eq!(scale([0.0, 7.3]).ticks(4), [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(scale([10.0, 1000.0]).ticks(4), [500.0, 1000.0]);
        assert_eq!(scale([0.0, 0.0]).ticks(4).len(), 1);
    }

    #[test]
    fn a_curve_ends_with_its_last_value_at_the_right_place() {
        let points = (1..=1000).map(|step| [f64::from(step), 10.0 / f64::from(step)]).collect();
        let chart =
            Chart { title: "Loss", unit: "", digits: 2, curves: vec![Curve::of("a", points)], wide: false };
        let svg = chart.svg();
        assert!(svg.contains(">0.01</text></svg>"), "{svg}");
        let count = svg.split("points=\"").nth(1).unwrap().split('"').next().unwrap().split(' ').count();
        assert_eq!(count, POINTS);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
