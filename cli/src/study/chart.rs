//! Figures of the studies as SVG: curves, and strips of dots. One style: a colour and a dash for each series, from the palette of
//! Okabe and Ito, which readers tell apart with any colour vision; light and dark.

use std::fmt::Write;

use super::statistics::Summary;
use crate::train::text::escaped;

const WIDTH: f64 = 560.0;
/// Room for the numbers of the vertical axis.
const LEFT: f64 = 66.0;
/// Room for the names at the ends of curves.
const RIGHT: f64 = 128.0;
const TOP: f64 = 12.0;
const HEIGHT: f64 = 250.0;
/// Room for the numbers and the name of the horizontal axis.
const BOTTOM: f64 = 40.0;
/// Least distance of the names at the ends of curves.
const LINE: f64 = 14.0;
/// Room for the names of strips, and height of one.
const NAMES: f64 = 172.0;
const ROW: f64 = 24.0;
/// Number of colours.
pub const SERIES: usize = 6;

/// The style of a figure that stands in a file of its own. Pages have the same rules in `report.css`.
pub const STYLE: &str = include_str!("chart.css");

/// An axis. `range`: fixed ends; else those of the data.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    pub name: String,
    pub log: bool,
    pub range: [Option<f64>; 2],
}

impl Axis {
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    pub fn log(self) -> Self {
        Self { log: true, ..self }
    }

    pub fn from(self, low: f64) -> Self {
        Self { range: [Some(low), self.range[1]], ..self }
    }

    pub fn to(self, high: f64) -> Self {
        Self { range: [self.range[0], Some(high)], ..self }
    }

    fn scale(&self, values: impl Iterator<Item = f64>, pixels: [f64; 2]) -> Scale {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite() && (!self.log || *value > 0.0)) {
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            (low, high) = if self.log { (0.1, 1.0) } else { (0.0, 1.0) };
        }
        (low, high) = (self.range[0].unwrap_or(low), self.range[1].unwrap_or(high));
        if low >= high {
            (low, high) = if self.log { (low / 2.0, low * 2.0) } else { (low - 0.5, low + 0.5) };
        }
        let ticks = if self.log { log_ticks(low, high) } else { ticks(low, high) };
        // room to the next tick where the data alone decide
        if let (false, [first, .., last]) = (self.log, &ticks[..]) {
            let step = (last - first) / (ticks.len() - 1) as f64;
            low = if self.range[0].is_none() && *first > low { first - step } else { low };
            high = if self.range[1].is_none() && *last < high { last + step } else { high };
        }
        let ticks = if self.log { ticks } else { self::ticks(low, high) };
        Scale { low, high, log: self.log, pixels, ticks }
    }
}

struct Scale {
    low: f64,
    high: f64,
    log: bool,
    pixels: [f64; 2],
    ticks: Vec<f64>,
}

impl Scale {
    fn at(&self, value: f64) -> f64 {
        let share = match self.log {
            true => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        self.pixels[0] + share.clamp(0.0, 1.0) * (self.pixels[1] - self.pixels[0])
    }

    fn text(&self, value: f64) -> String {
        match self.log || value == 0.0 {
            true => brief(value),
            false => {
                let step = (self.high - self.low) / 4.0;
                let digits = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
                format!("{value:.digits$}").replace('-', "−")
            }
        }
    }
}

/// A number in few characters: `0.01`, `300`, `1e-6`.
fn brief(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if !(1e-3..1e5).contains(&size) => format!("{value:.0e}").replace("e-", "e−"),
        size if size < 1.0 => format!("{value}"),
        _ => format!("{value:.0}"),
    }
}

/// Round numbers from `low` to `high`, about five.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    let first = (low / step - 1e-9).ceil() as i64;
    (first..).map(|index| index as f64 * step).take_while(|tick| *tick <= high + 1e-9 * step).collect()
}

/// Powers of ten, or of fewer if the range is small.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let step = ((last - first) / 6).max(1);
    let factors: &[f64] = if last - first <= 2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let powers = (first..=last).step_by(step as usize);
    let all = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10_f64.powi(power)));
    all.filter(|tick| (low * 0.999..=high * 1.001).contains(tick)).collect()
}

/// A curve.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    pub name: String,
    pub points: Vec<[f64; 2]>,
    /// x, low, high.
    pub band: Vec<[f64; 3]>,
    /// Whether it is a prediction or a reference, which has the colour of text.
    pub is_reference: bool,
}

/// Curves over a common horizontal axis, with their names at their ends.
pub fn curves(title: &str, [x, y]: [Axis; 2], curves: &[Curve]) -> String {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let edges = curves.iter().flat_map(|curve| &curve.band).flat_map(|[_, low, high]| [*low, *high]);
    let across = x.scale(all().map(|point| point[0]), [LEFT, WIDTH - RIGHT]);
    let up = y.scale(all().map(|point| point[1]).chain(edges), [HEIGHT - BOTTOM, TOP]);
    let mut svg = begin(title, HEIGHT);
    for &tick in &up.ticks {
        let at = up.at(tick);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            at + 4.0,
            up.text(tick)
        );
    }
    horizontal(&mut svg, &x, &across, HEIGHT - BOTTOM);
    let _ = write!(
        svg,
        "<text class=\"name\" transform=\"rotate(-90 11 {0:.1})\" x=\"11\" y=\"{0:.1}\" text-anchor=\"middle\">{1}</text>",
        (TOP + HEIGHT - BOTTOM) / 2.0,
        escaped(&y.name)
    );
    let mut number = 0;
    let mut ends = Vec::new();
    for curve in curves {
        let class = if curve.is_reference { "reference".to_owned() } else { format!("s{}", number % SERIES) };
        number += usize::from(!curve.is_reference);
        svg += &curve.svg(&class, &across, &up);
        if let Some([_, last]) = curve.points.last() {
            ends.push((up.at(*last), class, &curve.name));
        }
    }
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut next = TOP;
    let room = |index: usize| HEIGHT - BOTTOM + 6.0 - LINE * (ends.len() - index - 1) as f64;
    let places: Vec<f64> = ends
        .iter()
        .enumerate()
        .map(|(index, (at, ..))| {
            let place = at.max(next).min(room(index)).max(next);
            next = place + LINE;
            place
        })
        .collect();
    for ((_, class, name), at) in ends.iter().zip(places) {
        let _ = write!(
            svg,
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            WIDTH - RIGHT + 8.0,
            at + 4.0,
            escaped(name)
        );
    }
    svg + "</svg>"
}

impl Curve {
    fn svg(&self, class: &str, across: &Scale, up: &Scale) -> String {
        let mut svg = String::new();
        if self.band.len() > 1 {
            let there = self.band.iter().map(|[x, low, _]| [*x, *low]);
            let back = self.band.iter().rev().map(|[x, _, high]| [*x, *high]);
            let path: Vec<String> =
                there.chain(back).map(|[x, y]| format!("{:.1} {:.1}", across.at(x), up.at(y))).collect();
            let _ = write!(svg, "<path class=\"band {class}\" d=\"M{}Z\"/>", path.join("L"));
        }
        let points = self.points.iter().filter(|[x, y]| x.is_finite() && y.is_finite());
        let path: Vec<String> =
            points.map(|[x, y]| format!("{:.1} {:.1}", across.at(*x), up.at(*y))).collect();
        if !path.is_empty() {
            let _ = write!(
                svg,
                "<path class=\"curve {class}\" d=\"M{}\"><title>{}</title></path>",
                path.join("L"),
                escaped(&self.name)
            );
        }
        svg
    }
}

/// A row of dots, one for each measured value.
#[derive(Clone, Debug, Default)]
pub struct Strip {
    pub name: String,
    pub values: Vec<f64>,
    /// A predicted value, drawn as a diamond.
    pub predicted: Option<f64>,
    /// Number of its colour.
    pub series: usize,
}

/// Strips over a common horizontal axis, with the mean of each as a larger dot.
pub fn strips(title: &str, axis: Axis, rows: &[Strip]) -> String {
    let bottom = TOP + ROW * rows.len() as f64;
    let values = rows.iter().flat_map(|row| row.values.iter().copied().chain(row.predicted));
    let across = axis.scale(values, [NAMES, WIDTH - 64.0]);
    let mut svg = begin(title, bottom + BOTTOM);
    horizontal(&mut svg, &axis, &across, bottom);
    for &tick in &across.ticks {
        let at = across.at(tick);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{bottom:.1}\"/>"
        );
    }
    for (index, row) in rows.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5);
        svg += &row.svg(y, &across);
    }
    svg + "</svg>"
}

impl Strip {
    fn svg(&self, y: f64, across: &Scale) -> String {
        let class = self.series % SERIES;
        let mut svg =
            format!("<text class=\"label\" x=\"0\" y=\"{:.1}\">{}</text>", y + 4.0, escaped(&self.name));
        for value in &self.values {
            let _ = write!(
                svg,
                "<circle class=\"seed s{class}\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"2.6\"/>",
                across.at(*value)
            );
        }
        if let Some(predicted) = self.predicted {
            let _ = write!(
                svg,
                "<path class=\"paper\" d=\"M{:.1} {:.1}l6 6l-6 6l-6 -6z\"><title>predicted</title></path>",
                across.at(predicted),
                y - 6.0
            );
        }
        if let Some(summary) = Summary::of(&self.values) {
            let _ = write!(
                svg,
                "<circle class=\"mean s{class}\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4.6\"/>\
                 <text class=\"value s{class}\" x=\"{WIDTH}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                across.at(summary.mean),
                y + 4.0,
                number(summary.mean)
            );
        }
        svg
    }
}

/// A measured number with three digits that count.
pub fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 4) as usize;
    match value.abs() {
        size if !(1e-3..1e5).contains(&size) => format!("{value:.1e}").replace('-', "−"),
        _ => format!("{value:.digits$}").replace('-', "−"),
    }
}

fn begin(title: &str, height: f64) -> String {
    format!("<svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{}\">", escaped(title))
}

fn horizontal(svg: &mut String, axis: &Axis, across: &Scale, bottom: f64) {
    for &tick in &across.ticks {
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            across.at(tick),
            bottom + 16.0,
            across.text(tick)
        );
    }
    let _ = write!(
        svg,
        "<line class=\"zero\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{bottom:.1}\" y2=\"{bottom:.1}\"/>\
         <text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        across.pixels[0],
        across.pixels[1],
        (across.pixels[0] + across.pixels[1]) / 2.0,
        bottom + 33.0,
        escaped(&axis.name)
    );
}

/// A figure as a file of its own.
pub fn standalone(svg: &str) -> String {
    let named = svg.replacen("<svg ", "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"700\" ", 1);
    match named.split_once('>') {
        Some((head, rest)) => format!("{head}><style>\n{STYLE}</style>{rest}\n"),
        None => named,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(0.0, 1.0), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(-3.0, 17.0), [0.0, 5.0, 10.0, 15.0]);
        assert_eq!(log_ticks(0.02, 300.0), [0.1, 1.0, 10.0, 100.0]);
        assert_eq!(log_ticks(1.0, 40.0), [1.0, 2.0, 5.0, 10.0, 20.0]);
        assert_eq!([0.01234, 123.4, 0.5, 2.0e-7].map(number), ["0.0123", "123", "0.500", "2.0e−7"]);
    }

    #[test]
    fn figures_have_names_values_and_a_style_of_their_own() {
        let curve = Curve { name: "a <b>".into(), points: vec![[0.0, 1.0], [1.0, 0.5]], ..Curve::default() };
        let reference = Curve { name: "predicted".into(), is_reference: true, ..curve.clone() };
        let svg = curves("title", [Axis::new("x"), Axis::new("y")], &[curve, reference]);
        assert!(
            svg.contains("a &lt;b&gt;") && svg.contains("class=\"curve s0\"") && svg.contains("reference")
        );
        let strip = Strip { name: "row".into(), values: vec![1.0, 3.0], predicted: Some(2.5), series: 1 };
        let svg = strips("title", Axis::new("x"), &[strip]);
        assert_eq!(svg.matches("class=\"seed s1\"").count(), 2);
        assert!(svg.contains(">2.00<") && svg.contains("class=\"paper\""));
        let alone = standalone(&svg);
        assert!(alone.contains("xmlns") && alone.contains("prefers-color-scheme"));
        // nothing to show is no failure
        assert!(curves("none", [Axis::new("x"), Axis::new("y").log()], &[]).ends_with("</svg>"));
        assert!(strips("none", Axis::new("x"), &[Strip::default()]).ends_with("</svg>"));
    }
}
