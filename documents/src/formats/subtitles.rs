//! Subtitles: SubRip and WebVTT. Numbers, times, notes and styles stay. The lines of a cue are one text, which is broken again.

use super::super::escape::Escape;
use super::super::inline::{Inline, Style, unit};
use super::super::message::tokens;
use super::super::unit::{Finish, Markup, Units, append, copied, push};

/// Cuts a file.
///
/// * `vtt`: whether `&lt;` and the like are characters
pub fn read(text: &str, vtt: bool, units: &mut Units) -> Markup {
    let mut parts = Markup::new();
    let mut lines = text.split_inclusive('\n').peekable();
    let escape = if vtt { Escape::Markup } else { Escape::None };
    while let Some(line) = lines.next() {
        push(&mut parts, line);
        if !line.contains("-->") {
            continue;
        }
        let mut cue: Vec<&str> = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.trim().is_empty()) {
            cue.push(line);
        }
        for speech in speeches(&cue) {
            let end_at = speech.last().map_or(0, |last| last.trim_end_matches(['\r', '\n']).len());
            let end = speech.last().map_or("", |last| &last[end_at..]);
            let mut inline = Vec::new();
            for (index, line) in speech.iter().enumerate() {
                if index > 0 {
                    inline.push(Inline::text("\n", " "));
                }
                inline.extend(line_tokens(line.trim_end_matches(['\r', '\n']), escape));
            }
            let line_end = if speech[0].ends_with("\r\n") { "\r\n" } else { "\n" };
            let style = Style { finish: Finish::Lines(speech.len(), line_end), ..Style::new(escape) };
            unit(inline, style, units).into_iter().for_each(|part| append(&mut parts, part));
            push(&mut parts, end);
        }
    }
    parts
}

/// The lines of a cue by speaker: a dash begins a speech.
fn speeches<'a>(cue: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut speeches: Vec<Vec<&str>> = Vec::new();
    for &line in cue {
        match speeches.last_mut() {
            Some(speech) if !line.trim_start().starts_with(['-', '–', '—']) => speech.push(line),
            _ => speeches.push(vec![line]),
        }
    }
    speeches
}

/// Text and tags: those of HTML, times within a cue, and `{\an8}`.
fn line_tokens(line: &str, escape: Escape) -> Vec<Inline> {
    let mut all = Vec::new();
    // a dash of a speech stays before it
    let content = line.trim_start_matches(['-', '–', '—', ' ']);
    if content.len() < line.len() {
        all.push(Inline::Alone(copied(&line[..line.len() - content.len()])));
    }
    let mut rest = content;
    while let Some(start) = rest.find("{\\") {
        let Some(end) = rest[start..].find('}').map(|end| start + end + 1) else { break };
        all.extend(decoded_tokens(&rest[..start], escape));
        all.push(Inline::Alone(copied(&rest[start..end])));
        rest = &rest[end..];
    }
    all.extend(decoded_tokens(rest, escape));
    all
}

fn decoded_tokens(text: &str, escape: Escape) -> Vec<Inline> {
    let mut tokens = tokens(text, Escape::None);
    if escape == Escape::Markup {
        for token in &mut tokens {
            if let Inline::Text { raw, text } = token {
                *text = html_escape::decode_html_entities(raw).into_owned();
            }
        }
    }
    tokens
}
