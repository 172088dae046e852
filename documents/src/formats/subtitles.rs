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
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let escape = if vtt { Escape::Markup } else { Escape::None };
    let (mut at, mut in_cue) = (0, false);
    while let Some(line) = lines.get(at) {
        let is_blank = line.trim().is_empty();
        if in_cue && !is_blank && !starts_cue(&lines, at) {
            let next = |&end: &usize| lines[end].trim().is_empty() || starts_cue(&lines, end);
            let end = (at..lines.len()).find(next).unwrap_or(lines.len());
            cue(&lines[at..end], escape, units, &mut parts);
            at = end;
            continue;
        }
        push(&mut parts, line);
        // a blank line ends a cue of WebVTT; in SubRip, text without a time belongs to the cue before
        in_cue = is_time(line) || in_cue && !(vtt && is_blank);
        at += 1;
    }
    parts
}

fn is_time(line: &str) -> bool {
    line.contains("-->") && line.trim_start().starts_with(char::is_numeric)
}

/// Whether a line is a time, or the number or the name before one. A name is behind a blank line.
fn starts_cue(lines: &[&str], at: usize) -> bool {
    let is_number = lines[at].trim().chars().all(char::is_numeric);
    let is_first = at.checked_sub(1).is_none_or(|before| lines[before].trim().is_empty());
    is_time(lines[at]) || (is_number || is_first) && lines.get(at + 1).is_some_and(|next| is_time(next))
}

/// The lines of a cue's text.
fn cue(lines: &[&str], escape: Escape, units: &mut Units, parts: &mut Markup) {
    for speech in speeches(lines) {
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
        unit(inline, style, units).into_iter().for_each(|part| append(parts, part));
        push(parts, end);
    }
}

/// The lines of a cue by speaker: a dash or a name begins a speech. A sound in brackets and a song are texts of their own.
fn speeches<'a>(cue: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut speeches: Vec<Vec<&str>> = Vec::new();
    for &line in cue {
        let text = line.trim();
        let is_start = text.starts_with(['-', '–', '—', '♪', '♫']) || is_sound(text) || is_named(text);
        match speeches.last_mut() {
            Some(speech) if !is_start && !speech.iter().any(|line| is_sound(line.trim())) => {
                speech.push(line)
            }
            _ => speeches.push(vec![line]),
        }
    }
    speeches
}

/// Whether a line is a sound: `[door slams]`, `(laughs)`.
fn is_sound(line: &str) -> bool {
    let inside = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
    let inside = inside.or_else(|| line.strip_prefix('(')?.strip_suffix(')'));
    inside.is_some_and(|text| !text.contains(['[', ']', '(', ')']))
}

/// Whether a line begins with the name of a speaker: `JOHN: …`.
fn is_named(line: &str) -> bool {
    let Some((name, _)) = line.split_once(':') else { return false };
    let is_letter = |c: char| c.is_uppercase() || c.is_numeric() || " .'’-#".contains(c);
    name.starts_with(char::is_uppercase) && name.chars().count() > 1 && name.chars().all(is_letter)
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
