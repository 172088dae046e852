//! Time over length, both in logarithms, as SVG.

use std::fmt::Write;

use super::report::Report;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 64.0;
/// Room for the names at the ends of the curves.
const RIGHT: f64 = 130.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 40.0;
/// Smallest distance between two names.
const NAME: f64 = 14.0;
/// Colours that people with any colour vision tell apart.  Okabe & Ito 2008.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8a8a00"];

/// A drawing of its own.
pub fn picture(report: &Report) -> String {
    chart(report, report.main_width())
}

/// The times of all kinds at a width.
pub fn chart(report: &Report, width: usize) -> String {
    let curves: Vec<Curve> = report
        .kinds
        .iter()
        .enumerate()
        .map(|(index, row)| Curve {
            name: row.name,
            colour: COLOURS[index % COLOURS.len()],
            is_dashed: index >= COLOURS.len(),
            points: report.times(row.name, width),
        })
        .filter(|curve| !curve.points.is_empty())
        .collect();
    let title = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         font-family=\"sans-serif\" font-size=\"12\">\
         <title>Milliseconds over tokens, width {width}</title>\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\
         <text x=\"{LEFT}\" y=\"20\">milliseconds over tokens, width {width}</text>"
    );
    let drawing = match Scales::of(&curves) {
        Some(scales) => scales.axes(&curves) + &scales.curves(&curves),
        None => format!("<text x=\"{LEFT}\" y=\"60\">nothing was measured</text>"),
    };
    title + &drawing + "</svg>\n"
}

struct Curve {
    name: &'static str,
    colour: &'static str,
    /// Whether another curve has the colour.
    is_dashed: bool,
    /// Lengths and milliseconds.
    points: Vec<[f64; 2]>,
}

/// Logarithmic scales around all points.
struct Scales {
    /// Smallest and largest length.
    lengths: [f64; 2],
    /// Powers of ten below and above the times, milliseconds.
    powers: [f64; 2],
}

impl Scales {
    fn of(curves: &[Curve]) -> Option<Self> {
        let range = |axis: usize| {
            let values = curves.iter().flat_map(|curve| &curve.points).map(|point| point[axis].max(1e-6));
            let least = [f64::INFINITY, f64::NEG_INFINITY];
            values.fold(least, |[least, most], value| [least.min(value), most.max(value)])
        };
        let ([shortest, longest], [least, most]) = (range(0), range(1));
        let (least, most) = (least.log10().floor(), most.log10().ceil());
        let powers = [least, most.max(least + 1.0)];
        shortest.is_finite().then_some(Self { lengths: [shortest, longest], powers })
    }

    fn x(&self, length: f64) -> f64 {
        let [shortest, longest] = self.lengths;
        let share = (length / shortest).ln() / (longest / shortest).ln().max(1e-9);
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, ms: f64) -> f64 {
        let share = (ms.max(1e-6).log10() - self.powers[0]) / (self.powers[1] - self.powers[0]);
        HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
    }

    /// A line for each power of ten, and the measured lengths.
    fn axes(&self, curves: &[Curve]) -> String {
        let mut svg = String::new();
        for power in self.powers[0] as i32..=self.powers[1] as i32 {
            let ms = 10f64.powi(power);
            let place = self.y(ms);
            let _ = write!(
                svg,
                "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{place:.1}\" y2=\"{place:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555\">{ms}</text>",
                WIDTH - RIGHT,
                LEFT - 8.0,
                place + 4.0
            );
        }
        let mut lengths: Vec<f64> =
            curves.iter().flat_map(|curve| &curve.points).map(|point| point[0]).collect();
        lengths.sort_by(f64::total_cmp);
        lengths.dedup();
        for length in lengths {
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555\">{length}</text>",
                self.x(length),
                HEIGHT - BOTTOM + 20.0
            );
        }
        svg
    }

    /// The curves, and their names at their ends.
    fn curves(&self, curves: &[Curve]) -> String {
        let (mut svg, mut names) = (String::new(), Vec::new());
        for Curve { name, colour, is_dashed, points } in curves {
            let places: Vec<[f64; 2]> =
                points.iter().map(|&[length, ms]| [self.x(length), self.y(ms)]).collect();
            let line: Vec<String> = places.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
            let _ = write!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{}/>",
                line.join(" "),
                if *is_dashed { " stroke-dasharray=\"5 3\"" } else { "" }
            );
            for [x, y] in &places {
                let _ = write!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
            }
            names.extend(places.last().map(|&[x, y]| (y, x, colour, name)));
        }
        names.sort_by(|one, other| one.0.total_cmp(&other.0));
        for index in 1..names.len() {
            names[index].0 = names[index].0.max(names[index - 1].0 + NAME);
        }
        for (place, end, colour, name) in names {
            let (x, y) = (end + 8.0, place + 4.0);
            let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{colour}\">{name}</text>");
        }
        svg
    }
}
