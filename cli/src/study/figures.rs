//! Figures for a paper: each as SVG and as PNG, with its caption, on white. The colours are those of the pages (`chart.css`).

use std::path::Path;

use resvg::{tiny_skia, usvg};
use wordloom::train::write::write_files;

use super::chart::STYLE;
use super::report::Figure;
use crate::CliError;
use crate::output::cannot_write;
use crate::train::text::escaped;

/// Pixels of a PNG for a unit of the drawing: 300 dots an inch at a width of 3.7 inches.
const SCALE: f32 = 2.0;
/// Characters in a line of a caption.
const LINE: usize = 84;
/// Height of a line of a caption.
const LINE_HEIGHT: f64 = 17.0;
/// Families to take for text, the first one that the system has.
const FAMILIES: [&str; 7] =
    ["Noto Sans", "Segoe UI", "Helvetica Neue", "Helvetica", "Arial", "Liberation Sans", "DejaVu Sans"];

/// Draws SVG with the fonts of this system, which are read once.
pub struct Painter(usvg::Options<'static>);

impl Painter {
    /// # Errors
    /// The system has no font.
    pub fn new() -> Result<Self, CliError> {
        let mut options = usvg::Options::default();
        let fonts = options.fontdb_mut();
        fonts.load_system_fonts();
        let has = |family: &str| {
            fonts.faces().any(|face| face.families.iter().any(|(name, _)| name.eq_ignore_ascii_case(family)))
        };
        let found = FAMILIES.into_iter().find(|family| has(family)).map(str::to_owned);
        let any = || fonts.faces().next().and_then(|face| Some(face.families.first()?.0.clone()));
        let Some(family) = found.or_else(any) else {
            let problem = "this system has no font; install one, such as Noto Sans";
            return Err(CliError::Input(format!("--figures: {problem}")));
        };
        fonts.set_sans_serif_family(family.clone());
        options.font_family = family;
        Ok(Self(options))
    }

    /// Writes `STEM-1.svg`, `STEM-1.png` and so on.
    pub fn write(&self, folder: &Path, stem: &str, figures: &[Figure]) -> Result<(), CliError> {
        std::fs::create_dir_all(folder).map_err(|error| cannot_write(folder, error))?;
        let mut files = Vec::new();
        for (number, figure) in (1..).zip(figures) {
            let svg = with_caption(figure);
            files.push((format!("{stem}-{number}.png"), self.png(&svg)?));
            files.push((format!("{stem}-{number}.svg"), svg.into_bytes()));
        }
        Ok(write_files(folder, files.iter().map(|(name, content)| (&**name, &content[..])))?)
    }

    fn png(&self, svg: &str) -> Result<Vec<u8>, CliError> {
        let wrong = |problem: String| CliError::Input(format!("a figure cannot be drawn: {problem}"));
        let tree = usvg::Tree::from_str(svg, &self.0).map_err(|error| wrong(error.to_string()))?;
        let size = tree.size().to_int_size().scale_by(SCALE).ok_or_else(|| wrong("it is empty".into()))?;
        let mut pixels = tiny_skia::Pixmap::new(size.width(), size.height())
            .ok_or_else(|| wrong("it is too large".into()))?;
        resvg::render(&tree, tiny_skia::Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| wrong(error.to_string()))
    }
}

/// A figure as a file of its own: light whatever the reader's screen, with its title and note below.
fn with_caption(figure: &Figure) -> String {
    let Some((head, body)) = figure.svg.split_once('>') else { return figure.svg.clone() };
    let [width, height] = view_box(head);
    let lines: Vec<String> = [wrapped(&figure.title), wrapped(&figure.note)].concat();
    let titles = wrapped(&figure.title).len();
    let all = height + LINE_HEIGHT * (lines.len() as f64 + 0.5);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{all}\" viewBox=\"0 0 {width} {all}\" \
         font-family=\"sans-serif\"><style>\n{}.caption {{ fill: #23211f; }}\n</style>\n\
         <title>{}</title><rect width=\"{width}\" height=\"{all}\" fill=\"#fff\"/>",
        light_style(),
        escaped(&figure.title)
    );
    svg += body.strip_suffix("</svg>").unwrap_or(body);
    for (index, line) in lines.iter().enumerate() {
        let weight = if index < titles { " font-weight=\"600\"" } else { "" };
        let y = height + LINE_HEIGHT * (index as f64 + 0.8);
        svg += &format!("<text class=\"caption\" x=\"0\" y=\"{y:.1}\"{weight}>{}</text>", escaped(line));
    }
    svg + "</svg>\n"
}

/// Width and height of a drawing of `chart.rs`.
fn view_box(head: &str) -> [f64; 2] {
    let numbers = head.split("viewBox=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    let mut numbers = numbers.split(' ').skip(2).map(|number| number.parse().unwrap_or_default());
    [0; 2].map(|_| numbers.next().unwrap_or_default())
}

/// The rules of `chart.css` with the light colours in the places of their names, because not every program that reads SVG
/// knows CSS's variables.
fn light_style() -> String {
    let rules = STYLE.lines().filter(|line| !line.starts_with("@media"));
    let names = STYLE.lines().next().unwrap_or_default();
    let mut style: String = rules.skip(1).map(|line| format!("{line}\n")).collect();
    for declaration in names.split(['{', ';']) {
        if let Some((name, value)) =
            declaration.trim().split_once(": ").filter(|(name, _)| name.starts_with("--"))
        {
            style = style.replace(&format!("var({name})"), value);
        }
    }
    style
}

/// Lines of a caption. Words stay whole.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= LINE => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::chart::{Axis, Strip, strips};

    fn figure() -> Figure {
        let strip = Strip { name: "row <1>".into(), values: vec![1.0, 3.0], predicted: None, series: 0 };
        let note = "A note of many words. ".repeat(8);
        let svg = strips("title", Axis::new("x"), &[strip]);
        Figure { title: "Roles & heads".into(), note, svg, ..Figure::default() }
    }

    #[test]
    fn a_figure_is_light_and_has_its_caption() {
        let svg = with_caption(&figure());
        for part in ["xmlns", "Roles &amp; heads", "row &lt;1&gt;", "#0072b2", "fill=\"#fff\""] {
            assert!(svg.contains(part), "{part} is not in {svg}");
        }
        assert!(!svg.contains("var(") && !svg.contains("@media"), "{svg}");
        assert_eq!(svg.matches("class=\"caption\"").count(), 1 + 3, "title and three lines");
        assert_eq!(wrapped("one two"), ["one two"]);
        assert_eq!(wrapped(&"word ".repeat(40)).iter().map(String::len).max(), Some(84));
    }

    #[test]
    fn pixels_show_the_colours_and_the_text() {
        let Ok(painter) = Painter::new() else { return }; // a machine without fonts
        let png = painter.png(&with_caption(&figure())).unwrap();
        let pixels = tiny_skia::Pixmap::decode_png(&png).unwrap();
        assert_eq!(pixels.width(), 1120);
        let count = |colour: [u8; 3]| {
            let is = |pixel: &tiny_skia::PremultipliedColorU8| {
                [pixel.red(), pixel.green(), pixel.blue()] == colour
            };
            pixels.pixels().iter().filter(|pixel| is(pixel)).count()
        };
        assert!(count([0xff, 0xff, 0xff]) > pixels.pixels().len() / 2, "white");
        assert!(count([0x00, 0x72, 0xb2]) > 100, "the mean's dot");
        assert!(count([0x23, 0x21, 0x1f]) > 500, "the caption's letters");
    }
}
