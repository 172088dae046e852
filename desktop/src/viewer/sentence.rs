//! A sentence and its translation, with the two tokens of a cell marked.

use eframe::egui::text::LayoutJob;
use eframe::egui::{FontId, Stroke, TextFormat, Ui};
use wordloom::trace::{AttentionKind, TracedSentence};

use crate::theme;

/// Bytes shown around a mark in a long sentence.
const AROUND: usize = 90;

pub fn show(ui: &mut Ui, sentence: &TracedSentence, kind: AttentionKind, at: Option<(usize, usize)>) {
    let (mut of_source, mut of_target) = (Vec::new(), Vec::new());
    if let Some((query, key)) = at {
        let source = |index: usize| sentence.source_tokens.get(index).and_then(|token| token.range);
        let target = |index: usize| sentence.target_tokens.get(index).and_then(|token| token.token.range);
        match kind.queries_target() {
            true => of_target.extend(target(query + 1)),
            false => of_source.extend(source(query)),
        }
        match kind.keys_target() {
            true => of_target.extend(target(key)),
            false => of_source.extend(source(key)),
        }
    }
    for (text, ranges, quiet) in [(&sentence.source, of_source, true), (&sentence.target, of_target, false)] {
        ui.label(marked(ui, text, ranges, quiet));
    }
}

fn marked(ui: &Ui, text: &str, mut ranges: Vec<[usize; 2]>, quiet: bool) -> LayoutJob {
    let visuals = ui.visuals();
    let color = if quiet { visuals.weak_text_color() } else { visuals.text_color() };
    let plain = TextFormat { font_id: FontId::proportional(14.5), color, ..TextFormat::default() };
    let underline = Stroke::new(2.0, theme::accent(ui));
    let strong = TextFormat { color: visuals.strong_text_color(), underline, ..plain.clone() };
    ranges.sort_unstable();
    let centre = ranges.first().map_or(0, |range| range[0]);
    let from = text.floor_char_boundary(centre.saturating_sub(AROUND));
    let to = text.ceil_char_boundary((centre.max(AROUND) + AROUND).min(text.len()));
    let mut job = LayoutJob::default();
    if from > 0 {
        job.append("…", 0.0, plain.clone());
    }
    let mut at = from;
    for [first, last] in ranges {
        // the file's reader checks that ranges are whole characters
        let (Some(before), Some(own)) = (text.get(at..first), text.get(first.max(at)..last.min(to))) else {
            continue;
        };
        job.append(before, 0.0, plain.clone());
        job.append(own, 0.0, strong.clone());
        at = last.min(to);
    }
    job.append(text.get(at..to).unwrap_or_default(), 0.0, plain.clone());
    if to < text.len() {
        job.append("…", 0.0, plain);
    }
    // two lines of a fixed height, so that the picture does not move
    job.wrap.max_width = ui.available_width();
    job.wrap.max_rows = 1;
    job.wrap.break_anywhere = true;
    job
}
