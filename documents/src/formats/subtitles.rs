//! Subtitles: SubRip and WebVTT. Numbers, times, notes and styles stay. The lines of a cue are one text, which is broken again. So is
//! a sentence that runs over several cues: each of them gets a part of its translation, as long as its part of the sentence.

use std::ops::Range;

use super::super::escape::Escape;
use super::super::inline::{Inline, Style, has_words, unit};
use super::super::message::tokens;
use super::super::unit::{Cue, Finish, Markup, Part, Units, append, copied, push};
use super::cue_times::follows;
use super::speakers::{by_speaker, dash, is_sound, untagged};

/// Cues that one text may run over.
const MOST_CUES: usize = 6;

/// Cuts a file.
///
/// * `vtt`: whether `&lt;` and the like are characters
pub fn read(text: &str, vtt: bool, units: &mut Units) -> Markup {
    let escape = if vtt { Escape::Markup } else { Escape::None };
    let (speeches, rest) = speeches_of(text, vtt, escape);
    // captions without punctuation do not show where a sentence ends
    let ends = speeches.iter().filter(|speech| speech.text().ends_with(is_end)).count();
    let is_punctuated = ends * 4 >= speeches.len();
    let mut parts = Markup::new();
    let mut sentence: Vec<Speech<'_>> = Vec::new();
    for speech in speeches {
        let goes_on = sentence.last().is_some_and(|last| last.goes_on(&speech, is_punctuated));
        if !goes_on || sentence.len() >= MOST_CUES {
            write(std::mem::take(&mut sentence), escape, units, &mut parts);
        }
        sentence.push(speech);
    }
    write(sentence, escape, units, &mut parts);
    push(&mut parts, &rest);
    parts
}

/// Adds the text of one speech, or of a sentence that runs over several.
fn write(mut speeches: Vec<Speech<'_>>, escape: Escape, units: &mut Units, parts: &mut Markup) {
    let cues = cues(&speeches);
    let Some(first) = speeches.first_mut() else { return };
    push(parts, &first.before);
    let (tokens, finish) = match cues {
        None => (std::mem::take(&mut first.tokens), Finish::Lines(first.lines, first.line_end())),
        Some(cues) => {
            let mut tokens = Vec::new();
            for speech in &mut speeches {
                if !tokens.is_empty() {
                    tokens.push(Inline::text("\n", " "));
                }
                tokens.extend(speech.tokens.drain(speech.bare.clone().unwrap_or_default()));
            }
            (tokens, Finish::Cues(cues))
        }
    };
    unit(tokens, Style { finish, ..Style::new(escape) }, units)
        .into_iter()
        .for_each(|part| append(parts, part));
    push(parts, speeches.last().map_or("", |last| last.end));
}

/// The parts of a sentence that runs over several cues.
fn cues(speeches: &[Speech<'_>]) -> Option<Vec<Cue>> {
    let cue = |(index, speech): (usize, &Speech<'_>)| {
        let text = speech.bare.clone()?;
        let mut after = raw(&speech.tokens[text.end..])?;
        if let Some(next) = speeches.get(index + 1) {
            after = after + speech.end + &next.before;
        }
        Some(Cue {
            share: speech.text().chars().count(),
            lines: speech.lines,
            line_end: speech.line_end(),
            before: raw(&speech.tokens[..text.start])?,
            after,
        })
    };
    if speeches.len() < 2 {
        return None;
    }
    speeches.iter().enumerate().map(cue).collect()
}

/// What one speaker says in a cue, or a sound in it.
struct Speech<'a> {
    /// The file behind the speech before: numbers, times, notes.
    before: String,
    /// The line with the cue's time.
    time: &'a str,
    is_first_of_cue: bool,
    is_last_of_cue: bool,
    lines: usize,
    /// The end of the last line.
    end: &'a str,
    tokens: Vec<Inline>,
    /// The tokens that are the text, if no tag is in it.
    bare: Option<Range<usize>>,
}

impl<'a> Speech<'a> {
    fn new(lines: &[&'a str], escape: Escape) -> Self {
        let without_end = |line: &'a str| line.trim_end_matches(['\r', '\n']);
        let mut tokens = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            // lines are broken anew: spaces at their ends would be between words
            let line = if index > 0 { line.trim_start() } else { line };
            let line = if index + 1 < lines.len() { line.trim_end() } else { without_end(line) };
            if index > 0 && !line.is_empty() {
                tokens.push(Inline::text("\n", " "));
            }
            tokens.extend(line_tokens(line, escape));
        }
        let is_text = |token: &Inline| matches!(token, Inline::Text { text, .. } if !text.trim().is_empty());
        let first = tokens.iter().position(is_text).unwrap_or(0);
        let last = tokens.iter().rposition(is_text).map_or(0, |last| last + 1);
        let is_bare = tokens[first..last].iter().all(|token| matches!(token, Inline::Text { .. }));
        let is_sung = lines.iter().any(|line| is_sound(untagged(line)) || line.contains(['♪', '♫']));
        Self {
            before: String::new(),
            time: "",
            is_first_of_cue: true,
            is_last_of_cue: true,
            lines: lines.len(),
            end: lines.last().map_or("", |last| &last[without_end(last).len()..]),
            tokens,
            bare: (is_bare && !is_sung && first < last).then_some(first..last),
        }
    }

    fn line_end(&self) -> &'static str {
        if self.end == "\r\n" { "\r\n" } else { "\n" }
    }

    /// The text without tags.
    fn text(&self) -> String {
        let texts = self.tokens.iter().filter_map(|token| match token {
            Inline::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<String>().trim().trim_end_matches(['"', '”', '’', '\'', '»', ')']).to_owned()
    }

    /// Whether the sentence goes on in the next speech.
    ///
    /// * `is_punctuated`: whether sentences of the file end with punctuation
    fn goes_on(&self, next: &Self, is_punctuated: bool) -> bool {
        let (Some(own), Some(other)) = (&self.bare, &next.bare) else { return false };
        // other tags are another voice; a dash is none
        let [before, next_before] = [&self.tokens[..own.start], &next.tokens[..other.start]];
        let voice: Vec<Inline> = before.iter().filter(|token| !is_dash(token)).cloned().collect();
        let is_one_voice = raw(&voice) == raw(next_before)
            && !next_before.iter().any(is_dash)
            && raw(&self.tokens[own.end..]) == raw(&next.tokens[other.end..]);
        if !is_one_voice || !self.is_last_of_cue || !next.is_first_of_cue || !follows(self.time, next.time) {
            return false;
        }
        let [text, rest] = [self.text(), next.text()];
        let is_lower =
            rest.trim_start_matches(['"', '“', '„', '‘', '«', '(', '¿', '¡']).starts_with(char::is_lowercase);
        let is_paused = text.ends_with("...") || text.ends_with('…');
        let is_comma = text.ends_with([',', '،', '、', '，']);
        let goes_on = match text.ends_with(is_end) {
            true => is_paused && is_lower,
            false => is_lower || is_comma || is_punctuated && text.ends_with(char::is_lowercase),
        };
        goes_on && has_words(&text) && has_words(&rest)
    }
}

fn is_dash(token: &Inline) -> bool {
    let Inline::Alone(raw) = token else { return false };
    matches!(&raw[..], [Part::Copied(text)] if dash(text) == text.len() && !text.trim().is_empty())
}

/// Whether a character ends a sentence, or breaks it off.
fn is_end(character: char) -> bool {
    ".?!…:;-–—。！？।؟".contains(character)
}

/// Tags as the file writes them.
fn raw(tokens: &[Inline]) -> Option<String> {
    let parts = tokens.iter().flat_map(|token| token.clone().into_markup());
    let text = parts.map(|part| match part {
        Part::Copied(text) => Some(text),
        Part::Unit(_) => None,
    });
    text.collect()
}

/// The speeches of a file, and the file behind them.
fn speeches_of(text: &str, vtt: bool, escape: Escape) -> (Vec<Speech<'_>>, String) {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut speeches = Vec::new();
    let (mut at, mut in_cue, mut time, mut before) = (0, false, "", String::new());
    while let Some(&line) = lines.get(at) {
        if in_cue && !is_blank(line, vtt) && !starts_cue(&lines, at) {
            let next = |&end: &usize| is_blank(lines[end], vtt) || starts_cue(&lines, end);
            let end = (at..lines.len()).find(next).unwrap_or(lines.len());
            let cue = by_speaker(&lines[at..end]);
            for (index, lines) in cue.iter().enumerate() {
                speeches.push(Speech {
                    before: std::mem::take(&mut before),
                    time,
                    is_first_of_cue: index == 0,
                    is_last_of_cue: index + 1 == cue.len(),
                    ..Speech::new(lines, escape)
                });
            }
            at = end;
            continue;
        }
        before += line;
        // a blank line ends a cue of WebVTT; in SubRip, text without a time belongs to the cue before
        in_cue = is_time(line) || in_cue && !(vtt && is_blank(line, vtt));
        if is_time(line) {
            time = line;
        }
        at += 1;
    }
    (speeches, before)
}

/// Whether a line ends the text of a cue. In WebVTT, one with a space does not.
fn is_blank(line: &str, vtt: bool) -> bool {
    match vtt {
        true => line.trim_end_matches(['\r', '\n']).is_empty(),
        false => line.trim().is_empty(),
    }
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

/// Text and tags: those of HTML, times within a cue, and `{\an8}`.
fn line_tokens(line: &str, escape: Escape) -> Vec<Inline> {
    let mut all = Vec::new();
    let mut rest = line;
    // a dash of a speech stays before it, also behind a tag
    let is_tag = |text: &str| text.starts_with('<').then(|| text.find('>')).flatten();
    while let Some(end) = is_tag(rest) {
        all.extend(decoded_tokens(&rest[..=end], escape));
        rest = &rest[end + 1..];
    }
    let length = dash(rest);
    if length > 0 {
        all.push(Inline::Alone(copied(&rest[..length])));
        rest = &rest[length..];
    }
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
