//! Cuts a text where a line may end: the lines of a subtitle, and the parts of a sentence that runs over several of them.

use unicode_linebreak::linebreaks;

/// A part of a text that no line break is in, without the space behind it.
struct Word<'a> {
    text: &'a str,
    /// Whether a space follows.
    spaced: bool,
    /// Characters that are seen: all but tags.
    length: usize,
}

/// A text in lines of similar lengths. Tags have no length, and are not broken.
///
/// * `count`: of lines; there are fewer if the text has fewer words
pub fn broken(text: &str, count: usize, line_end: &str) -> String {
    let words = words(text);
    let count = count.min(words.len()).max(1);
    let breaks = breaks(&words, &vec![1; count], false);
    written(&words, &breaks).join(line_end)
}

/// A text in parts, one for each share, whose lengths are as the shares are. A part ends at punctuation if some is near. A text with
/// fewer words than shares has its last part again.
pub fn parts(text: &str, shares: &[usize]) -> Vec<String> {
    let words = words(text);
    let (own, rest) = shares.split_at(shares.len().min(words.len()).max(1));
    let mut parts = written(&words, &breaks(&words, own, true));
    let last = parts.last().cloned().unwrap_or_default();
    parts.extend(rest.iter().map(|_| last.clone()));
    parts
}

/// For each part but the last, the index of the word behind it. Each part has a word.
///
/// * `shares`: at most as many as there are words, and at least one
/// * `at_punctuation`: whether a break moves to punctuation that is nearer than a third of a part
fn breaks(words: &[Word<'_>], shares: &[usize], at_punctuation: bool) -> Vec<usize> {
    // places of the breaks: before the first word, and behind each one
    let mut ends = vec![0];
    for word in words {
        ends.push(ends[ends.len() - 1] + word.length + usize::from(word.spaced));
    }
    let total = ends[words.len()] + 1;
    let all: usize = shares.iter().map(|share| (*share).max(1)).sum();
    let near = total / shares.len().max(1) / 3;
    let mut breaks = Vec::with_capacity(shares.len());
    let (mut first, mut done) = (1, 0);
    for (index, share) in shares.iter().enumerate().take(shares.len().saturating_sub(1)) {
        done += (*share).max(1);
        let ideal = total * done / all;
        // a word for each part behind this one
        let last = words.len() + 1 + index - shares.len();
        let distance = |at: &usize| ends[*at].abs_diff(ideal);
        let is_pause = |at: &usize| words[at - 1].text.ends_with(is_pause) && distance(at) <= near;
        let pause = (first..=last).filter(|at| at_punctuation && is_pause(at)).min_by_key(distance);
        let chosen = pause.or_else(|| (first..=last).min_by_key(distance)).unwrap_or(first);
        breaks.push(chosen);
        first = chosen + 1;
    }
    breaks
}

fn is_pause(character: char) -> bool {
    ",;:.!?…–—、。，；：！？।،؛؟".contains(character)
}

/// The words between breaks, with the spaces between them.
fn written(words: &[Word<'_>], breaks: &[usize]) -> Vec<String> {
    let ends = breaks.iter().copied().chain([words.len()]);
    let mut start = 0;
    ends.map(|end| {
        let part = &words[start..end];
        start = end;
        let is_end = end == words.len();
        let text = |(index, word): (usize, &Word<'_>)| {
            let space = if word.spaced && (is_end || index + 1 < part.len()) { " " } else { "" };
            [word.text, space].concat()
        };
        part.iter().enumerate().map(text).collect()
    })
    .collect()
}

/// Cuts a text at spaces, and between characters of scripts without spaces, but not in a tag.
fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let (mut start, mut tag_end, mut length) = (0, 0, 0);
    let mut opportunities = linebreaks(text).map(|(at, _)| at).peekable();
    for (at, character) in text.char_indices() {
        let is_opportunity = opportunities.next_if_eq(&at).is_some();
        let before = &text[start..at];
        if is_opportunity
            && at >= tag_end
            && (before.ends_with([' ', '\u{3000}']) || is_unspaced(before, character))
        {
            words.push(Word::new(before, length));
            (start, length) = (at, 0);
        }
        if at >= tag_end {
            tag_end = at + length_of_tag(&text[at..]);
        }
        length += usize::from(at >= tag_end);
    }
    words.push(Word::new(&text[start..], length));
    words
}

/// Bytes of the tag that begins a text: `<i>`, `</v>`, `{\an8}`.
fn length_of_tag(text: &str) -> usize {
    let is_start = |next: char| next == '/' || next.is_ascii_alphanumeric();
    // up to the next sign of a beginning: else a search from each of many would read on to the text's end
    let end_of =
        |rest: &str, signs: [char; 2]| rest.find(signs).filter(|&end| rest[end..].starts_with(signs[1]));
    let end = match text.strip_prefix('<') {
        Some(rest) if rest.starts_with(is_start) => end_of(rest, ['<', '>']),
        _ => text
            .strip_prefix('{')
            .filter(|rest| rest.starts_with('\\'))
            .and_then(|rest| end_of(rest, ['{', '}'])),
    };
    end.map_or(0, |end| end + 2)
}

/// Whether a script without spaces is on one side of a place. Korean, which has spaces, is broken at them.
fn is_unspaced(before: &str, next: char) -> bool {
    let is_east_asian = |c: char| matches!(c, '\u{2e80}'..='\u{a4cf}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}');
    let is_hangul = |c: char| matches!(c, '\u{3130}'..='\u{318f}');
    let is_unspaced = |c: char| is_east_asian(c) && !is_hangul(c);
    before.ends_with(is_unspaced) || !before.is_empty() && is_unspaced(next)
}

impl<'a> Word<'a> {
    /// * `length`: with the space behind it
    fn new(text: &'a str, length: usize) -> Self {
        match text.strip_suffix(' ') {
            Some(word) => Self { text: word, spaced: true, length: length - 1 },
            None => Self { text, spaced: false, length },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{broken, parts};

    #[test]
    fn lines_have_similar_lengths() {
        assert_eq!(broken("one two three four", 2, "\n"), "one two\nthree four");
        assert_eq!(broken("one two", 2, "\r\n"), "one\r\ntwo");
        assert_eq!(broken("one", 2, "\n"), "one");
        assert_eq!(broken("", 2, "\n"), "");
        assert_eq!(broken("a b c d e f", 3, "\n"), "a b\nc d\ne f");
        assert_eq!(broken("a b", 1, "\n"), "a b");
        assert_eq!(broken("<v A very long name>one</v> two", 2, "\n"), "<v A very long name>one</v>\ntwo");
        assert_eq!(broken("a < b and c {d e f", 2, "\n"), "a < b and\nc {d e f");
        assert_eq!(broken("well-known things", 2, "\n"), "well-known\nthings");
    }

    #[test]
    fn scripts_without_spaces_are_broken() {
        assert_eq!(broken("今日はとても天気がいいですね。", 2, "\n"), "今日はとても天気\nがいいですね。");
        // no line begins with punctuation
        assert_eq!(broken("あい。」う", 2, "\n"), "あい。」\nう");
        assert_eq!(broken("오늘은 날씨가", 2, "\n"), "오늘은\n날씨가");
        assert_eq!(broken("오늘은날씨가", 2, "\n"), "오늘은날씨가");
    }

    #[test]
    fn parts_are_as_long_as_their_shares() {
        assert_eq!(parts("one two three four", &[13, 4]), ["one two three", "four"]);
        assert_eq!(parts("If you come, I go home.", &[10, 10]), ["If you come,", "I go home."]);
        assert_eq!(parts("If, you come I go home.", &[10, 10]), ["If, you come", "I go home."]);
        assert_eq!(parts("one two three", &[1, 100, 1]), ["one", "two", "three"]);
        assert_eq!(parts("one two", &[1, 1, 1]), ["one", "two", "two"]);
        assert_eq!(parts("", &[1, 0]), ["", ""]);
        assert_eq!(parts("a b", &[0, 0]), ["a", "b"]);
    }
}
