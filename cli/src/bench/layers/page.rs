//! The report as a page: Table 1 with what was measured, and a plot for each width.

use super::plot::chart;
use super::report::{HEADER, Report};

const STYLE: &str = "body{font:15px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}\
table{border-collapse:collapse;display:block;overflow-x:auto}td,th{padding:.25rem .6rem;text-align:left;border-bottom:1px solid #ddd}\
svg{width:100%;height:auto}";

pub fn page(report: &Report) -> String {
    let cells = |tag: &str, cells: &[String]| {
        cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect::<String>()
    };
    let header: Vec<String> =
        HEADER.iter().map(|&title| title.to_owned()).chain(["source".to_owned()]).collect();
    let rows: String = report
        .kinds
        .iter()
        .map(|row| {
            let all = [row.cells(), vec![row.source.to_owned()]].concat();
            format!("<tr title=\"{}\">{}</tr>\n", escaped(row.about), cells("td", &all))
        })
        .collect();
    let line = |line: String| format!("<li>{}</li>\n", escaped(&line));
    let crossings: String = report.crossings.iter().map(|crossed| line(crossed.text())).collect();
    let skipped: String = report.skipped().into_iter().map(line).collect();
    let charts: String = report.widths().into_iter().map(|width| chart(report, width)).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Layers, measured</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style>\n\
         <h1>Layers, measured</h1>\n<p>{}</p>\n<table><tr>{}</tr>\n{rows}</table>\n<ul>{crossings}</ul>\n{charts}\
         <details><summary>Not measured</summary><ul>{skipped}</ul></details></html>\n",
        escaped(&report.device()),
        cells("th", &header)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
