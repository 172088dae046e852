//! Long text to lines and sentences, without loss.

use unicode_segmentation::UnicodeSegmentation;

use super::abbreviations::continues;
use super::emoji;

/// One line of a text. `indent`, the sentences with their spaces, and `end`, joined, are the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// White space and emoji before the first sentence, or the whole line without words.
    pub indent: &'a str,
    /// The sentences, none of them empty.
    pub sentences: Vec<Sentence<'a>>,
    /// The line break: `"\n"`, `"\r\n"`, …, or nothing at the end of the text.
    pub end: &'a str,
}

/// A sentence, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sentence<'a> {
    /// The sentence without spaces and emoji at either end.
    pub text: &'a str,
    /// White space and emoji after the sentence in its line; may be empty, as after `。`.
    pub space: &'a str,
}

/// Cuts a text into lines, and lines into sentences.
///
/// Sentences end by Unicode's rules (UAX #29), except after abbreviations, initials and ordinals, and before a lower-case
/// letter. Time is linear in the length of the text.
///
/// ```
/// # use wordloom::text::split_lines;
/// let lines = split_lines("Dr. No laughed.  Then he left.\n\nThe end.");
/// let texts: Vec<Vec<&str>> =
///     lines.iter().map(|line| line.sentences.iter().map(|sentence| sentence.text).collect()).collect();
/// assert_eq!(texts, [vec!["Dr. No laughed.", "Then he left."], vec![], vec!["The end."]]);
/// ```
pub fn split_lines(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (line, end, after) = split_line_break(rest);
        let indent = emoji::leading(line);
        lines.push(Line { indent: &line[..indent], sentences: split_sentences(&line[indent..]), end });
        rest = after;
    }
    lines
}

/// The first line, its line break (if any), the other lines.
fn split_line_break(text: &str) -> (&str, &str, &str) {
    let Some(length) = text.find(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']) else {
        return (text, "", "");
    };
    let (line, rest) = text.split_at(length);
    let width = if rest.starts_with("\r\n") { 2 } else { rest.chars().next().map_or(0, char::len_utf8) };
    let (end, rest) = rest.split_at(width);
    (line, end, rest)
}

/// The sentences of a line that begins with neither a space nor an emoji.
fn split_sentences(line: &str) -> Vec<Sentence<'_>> {
    let mut sentences: Vec<Sentence> = Vec::new();
    let (mut start, mut end) = (0, 0);
    let mut push = |start: usize, end: usize| {
        // emoji before a sentence belong to what is between it and the last one
        let first = start + emoji::leading(&line[start..end]);
        if let Some(last) = sentences.last_mut() {
            let space = start - last.space.len();
            last.space = &line[space..first];
        }
        if first < end {
            let length = emoji::without_trailing(&line[first..end]);
            let (text, space) = line[first..end].split_at(length);
            sentences.push(Sentence { text, space });
        }
    };
    for bound in sentence_bounds(line) {
        let (before, after) = (&line[start..end], &line[end..bound]);
        if end > start && !continues(before.trim_end(), after) {
            push(start, end);
            start = end;
        }
        end = bound;
    }
    if end > start {
        push(start, end);
    }
    sentences
}

/// The ends of the line's sentences by UAX #29.
///
/// `unicode-segmentation` looks ahead from every character of a run of spaces or quotes after a full stop, in quadratic
/// time. So it gets a copy with shortened runs; no sentence ends inside a run.
fn sentence_bounds(line: &str) -> Vec<usize> {
    const MAX_RUN: usize = 32; // characters

    let mut shown = String::with_capacity(line.len());
    let mut gaps = Vec::new(); // (position in `shown`, bytes of `line` left out before it)
    let mut run = 0;
    for (place, character) in line.char_indices() {
        if character.is_alphanumeric() {
            if run > MAX_RUN {
                gaps.push((shown.len(), place - shown.len()));
            }
            run = 0;
        } else {
            run += 1;
        }
        if run <= MAX_RUN {
            shown.push(character);
        }
    }

    let mut gaps = gaps.into_iter().peekable();
    let mut left_out = 0;
    let starts = shown.split_sentence_bound_indices().skip(1).map(|(start, _)| start);
    let ends = starts.map(|place| {
        while let Some((_, bytes)) = gaps.next_if(|&(gap, _)| gap <= place) {
            left_out = bytes;
        }
        place + left_out
    });
    let mut bounds: Vec<usize> = ends.collect();
    bounds.push(line.len());
    bounds
}
