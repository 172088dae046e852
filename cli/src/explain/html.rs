//! An explanation as a page in one file: no network, no script; texts are only ever text.

use std::fmt::Write;

use wordloom::explain::{Explanation, Numbers, Step, StepKind};
use wordloom_viewer::harmless;

const STYLE: &str = include_str!("page.css");
/// Values of a vector before the fold.
const SHOWN: usize = 6;

pub fn page(explanation: &Explanation) -> String {
    let Explanation { head, query, sizes, .. } = explanation;
    let label = escaped(&harmless(&query.label, 60));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{head}: what “{label}” attends to</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n\
         <h1>{head}: what “<bdi>{label}</bdi>” attends to</h1>\n<p>{}</p>\n",
        escaped(explanation.origin)
    );
    for text in [&explanation.source, &explanation.target] {
        if !text.is_empty() {
            let _ = writeln!(page, "<p class=\"text\" dir=\"auto\">{}</p>", escaped(&harmless(text, 2000)));
        }
    }
    if let Some(produces) = &explanation.produces {
        let produced = escaped(&harmless(&produces.label, 60));
        let _ = writeln!(
            page,
            "<p>The decoder has read “<bdi>{label}</bdi>” and is about to produce “<bdi>{produced}</bdi>”.</p>"
        );
    }
    let norm = if explanation.norm_first { "before" } else { "after" };
    let _ = writeln!(
        page,
        "<p class=\"quiet\">d_model {}, {} heads of d_k {} and d_v {}, inner width {}, norm {norm} the block. \
         Sections are those of “Attention Is All You Need” unless another paper is named.</p>\n</header>\n<main>\n<ol>",
        sizes.d_model, sizes.heads, sizes.d_k, sizes.d_v, sizes.ffn_width
    );
    for (number, step) in (1..).zip(&explanation.steps) {
        let _ = write!(
            page,
            "<li class=\"step\">\n<div class=\"top\"><h2>{number}. {}</h2><span class=\"quiet\">{}</span></div>\n\
             <p class=\"quiet\">{}</p>\n<code>{}</code>\n",
            escaped(step.title),
            escaped(step.section),
            escaped(step.why),
            escaped(&step.formula)
        );
        numbers(&mut page, explanation, step);
        page.push_str("</li>\n");
    }
    page + "</ol>\n</main>\n<footer><p class=\"quiet\">Made by wordloom explain.</p></footer>\n</body>\n</html>\n"
}

fn numbers(page: &mut String, explanation: &Explanation, step: &Step) {
    match step.kind {
        StepKind::Softmax => weights(page, explanation),
        StepKind::Logits => candidates(page, explanation),
        _ => {
            let (matrices, vectors): (Vec<&Numbers>, Vec<&Numbers>) =
                step.numbers.iter().partition(|numbers| numbers.shape.len() == 2);
            for matrix in matrices {
                let rows: Vec<(String, &[f32])> = explanation
                    .keys
                    .iter()
                    .map(|key| harmless(&key.label, 40))
                    .zip(matrix.values.chunks_exact(matrix.shape[1].max(1)))
                    .collect();
                table(page, &matrix.name, &rows);
            }
            let rows: Vec<(String, &[f32])> =
                vectors.iter().map(|numbers| (numbers.name.clone(), &numbers.values[..])).collect();
            table(page, step.title, &rows);
        }
    }
}

/// The first values of vectors, one below the other; all of them below a fold.
fn table(page: &mut String, name: &str, rows: &[(String, &[f32])]) {
    if rows.is_empty() {
        return;
    }
    let longest = rows.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    vectors(page, name, rows, SHOWN);
    if longest > SHOWN {
        let _ = writeln!(page, "<details><summary>All {longest} values</summary>");
        vectors(page, &format!("{name}, all values"), rows, usize::MAX);
        page.push_str("</details>\n");
    }
}

fn vectors(page: &mut String, name: &str, rows: &[(String, &[f32])], most: usize) {
    open_table(page, name);
    for (label, values) in rows {
        let _ = write!(page, "<tr><th scope=\"row\"><bdi>{}</bdi></th>", escaped(label));
        for value in values.iter().take(most) {
            let _ = write!(page, "<td>{}</td>", number(*value));
        }
        if values.len() > most {
            page.push_str("<td>…</td>");
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table></div>\n");
}

/// Begins a table that scrolls by itself, with the keyboard too.
fn open_table(page: &mut String, name: &str) {
    let name = escaped(name);
    let _ =
        writeln!(page, "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\"><table>");
}

fn weights(page: &mut String, explanation: &Explanation) {
    let of = |kind, name| explanation.numbers(kind, name).map_or(&[][..], |numbers| &numbers.values[..]);
    let columns = [
        of(StepKind::Products, "q·k"),
        of(StepKind::Scale, "scores"),
        of(StepKind::Mask, "masked"),
        of(StepKind::Softmax, "weights"),
    ];
    let largest = columns[3].iter().copied().fold(0.0, f32::max);
    open_table(page, "Scores and weights of each key");
    page.push_str(
        "<tr><th scope=\"col\">key</th><th scope=\"col\">q·k</th><th scope=\"col\">scaled</th>\
         <th scope=\"col\">masked</th><th scope=\"col\">weight</th><td></td></tr>\n",
    );
    for (index, key) in explanation.keys.iter().enumerate() {
        let label = escaped(&harmless(&key.label, 40));
        let _ = write!(page, "<tr><th scope=\"row\"><bdi>{label}</bdi></th>");
        for column in columns {
            let _ = write!(page, "<td>{}</td>", column.get(index).copied().map_or_else(String::new, number));
        }
        bar(page, columns[3].get(index).copied().unwrap_or(0.0), largest);
        page.push_str("</tr>\n");
    }
    page.push_str("</table></div>\n");
}

fn candidates(page: &mut String, explanation: &Explanation) {
    let largest = explanation.candidates.first().map_or(0.0, |first| first.probability);
    open_table(page, "Most probable tokens");
    page.push_str(
        "<tr><th scope=\"col\">token</th><th scope=\"col\">logit</th><th scope=\"col\">probability</th><td></td></tr>\n",
    );
    for candidate in &explanation.candidates {
        let label = escaped(&harmless(candidate.piece.trim_start_matches('▁'), 40));
        let _ = write!(
            page,
            "<tr><th scope=\"row\"><bdi>{label}</bdi></th><td>{}</td><td>{}</td>",
            number(candidate.logit),
            number(candidate.probability)
        );
        bar(page, candidate.probability, largest);
        page.push_str("</tr>\n");
    }
    page.push_str("</table></div>\n");
}

fn bar(page: &mut String, value: f32, largest: f32) {
    let width = if largest > 0.0 { 100.0 * value / largest } else { 0.0 };
    let _ = write!(
        page,
        "<td class=\"bar\"><svg viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect width=\"{width:.1}\" height=\"8\" rx=\"1\"/></svg></td>"
    );
}

fn number(value: f32) -> String {
    match value.abs() {
        _ if value == f32::NEG_INFINITY => "−∞".to_owned(),
        0.0 => "0".to_owned(),
        size if (0.0005..10_000.0).contains(&size) => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
