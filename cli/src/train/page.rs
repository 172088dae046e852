//! `train.html`: the curves of a training in one file, without a script. It reloads itself while the training runs.

use std::fmt::Write;

use wordloom::readable::{duration, grouped};
use wordloom::train::session::{Facts, History, StepsEvent};

use super::chart::{Chart, Curve};
use super::text::escaped;

const STYLE: &str = include_str!("page.css");
/// Seconds between two loads of the page.
const RELOAD: u32 = 10;

/// The page as HTML. `end`: why the training ended; `None` while it runs.
pub fn page(history: &History, facts: &Facts, end: Option<&str>) -> String {
    let name = escaped(&facts.name);
    let (state, refresh) = match end {
        None => ("in training".to_owned(), format!("<meta http-equiv=\"refresh\" content=\"{RELOAD}\">\n")),
        Some(end) => (escaped(end), String::new()),
    };
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n{refresh}\
         <title>{name} – {state}</title>\n<style>\n{STYLE}</style>\n<main>\n<h1>{name}<span>{state}</span></h1>\n"
    );
    let _ = write!(
        html,
        "<p class=\"quiet\">{} pairs · {} parameters · {}</p>\n\
         <div class=\"bar\"><div style=\"width: {:.1}%\"></div></div>\n",
        grouped(facts.pairs),
        grouped(facts.parameters),
        escaped(&facts.device),
        100.0 * facts.progress.clamp(0.0, 1.0)
    );
    html += &tiles(history, facts, end);
    html += "<div class=\"charts\">\n";
    charts(history).iter().for_each(|chart| html += &chart.section());
    let _ = write!(
        html,
        "</div>\n<footer><p class=\"quiet\">The numbers are in train.jsonl.</p><pre>{}</pre></footer>\n</main>\n</html>\n",
        escaped(&facts.command)
    );
    html
}

fn tiles(history: &History, facts: &Facts, end: Option<&str>) -> String {
    let last = history.steps.last().copied().unwrap_or_default();
    let best = history.tests.iter().rfind(|test| test.best);
    let bleu = history.tests.iter().rev().find_map(|test| test.bleu);
    let patience = facts.patience.map(|left| format!("stops after {left} more tests without a better one"));
    let time = match end {
        None => ("Time left", time_left(facts), format!("{} so far", duration(last.seconds))),
        Some(_) => ("Time", duration(last.seconds), String::new()),
    };
    let tiles = [
        ("Step", grouped(last.step), format!("epoch {:.1}", last.epoch)),
        ("Loss", format!("{:.3}", last.loss), format!("{:.1} % of tokens right", 100.0 * last.accuracy)),
        (
            "Best dev loss",
            best.map_or("–".to_owned(), |test| format!("{:.3}", test.loss)),
            best.map_or(String::new(), |test| format!("at step {}", grouped(test.step))),
        ),
        (
            "BLEU",
            bleu.map_or("–".to_owned(), |bleu| format!("{bleu:.1}")),
            "greedy search, dev set".to_owned(),
        ),
        (
            "Tokens/s",
            grouped(last.tokens_per_second.round() as u64),
            format!("rate {:.1e}", last.learning_rate),
        ),
        time,
    ];
    let mut html = "<dl>\n".to_owned();
    for (name, value, note) in tiles {
        let _ = writeln!(html, "<div><dt>{name}</dt><dd>{value}<small>{note}</small></dd></div>");
    }
    html += "</dl>\n";
    match (patience, end) {
        (Some(patience), None) => html.replace("</dl>", &format!("</dl><p class=\"quiet\">{patience}</p>")),
        _ => html,
    }
}

/// The time to the end, for readers: `40 min`, or `?` before any progress.
pub fn time_left(facts: &Facts) -> String {
    facts.seconds_left.map_or("?".to_owned(), duration)
}

fn charts(history: &History) -> Vec<Chart> {
    let steps = |value: fn(&StepsEvent) -> f64| -> Vec<[f64; 2]> {
        history.steps.iter().map(|steps| [steps.step as f64, value(steps)]).collect()
    };
    let dev = history.tests.iter().map(|test| [test.step as f64, test.loss]).collect();
    let bleu: Vec<[f64; 2]> =
        history.tests.iter().filter_map(|test| Some([test.step as f64, test.bleu?])).collect();
    let best = history.tests.iter().rfind(|test| test.best).map(|test| [test.step as f64, test.loss]);
    let chart = |title, unit, digits, curves: Vec<Curve>| Chart { title, unit, digits, curves, wide: false };
    let charts = [
        Chart {
            wide: true,
            ..chart(
                "Loss",
                "nats per token",
                2,
                vec![Curve::of("train", steps(|steps| steps.loss)), Curve::second("dev", dev).marked(best)],
            )
        },
        chart("BLEU", "greedy, dev set", 1, vec![Curve::of("", bleu)]),
        chart("Learning rate", "× 10⁻³", 2, vec![Curve::of("", steps(|steps| 1e3 * steps.learning_rate))]),
        chart(
            "Gradient norm",
            "before clipping",
            2,
            vec![Curve::of("", steps(|steps| f64::from(steps.gradient_norm)))],
        ),
        chart("Speed", "target tokens/s", 0, vec![Curve::of("", steps(|steps| steps.tokens_per_second))]),
    ];
    charts.into_iter().filter(|chart| !chart.is_empty()).collect()
}
