//! Cutting a sentence that is too long for a model.

use unicode_segmentation::GraphemeCursor;

use super::Sentence;

impl<'a> Sentence<'a> {
    /// Cuts the sentence into parts of at most `max_tokens` tokens, as `count_tokens` counts them. It prefers to cut after `!`
    /// `?` `;` `:` or a dash, then after a comma, then at a space, then between graphemes, and makes parts as long as
    /// possible. The parts' texts and spaces, joined, are the sentence again.
    ///
    /// Time is linear in the length of the sentence. Only a part of a single character can exceed the limit.
    pub fn split_to_fit(self, max_tokens: usize, count_tokens: impl Fn(&str) -> usize) -> Vec<Sentence<'a>> {
        let fits = |text: &str| count_tokens(text) <= max_tokens;
        let mut parts = Vec::new();
        let mut rest = self.text;
        loop {
            let limit = longest_fit(rest, max_tokens, fits);
            if limit == rest.len() {
                break;
            }
            let mut cuts = cuts(rest, limit).into_iter();
            let cut = cuts.find(|&cut| fits(rest[..cut].trim_end())).unwrap_or(limit);
            let text = rest[..cut].trim_end();
            let after = rest[cut..].trim_start();
            parts.push(Sentence { text, space: &rest[text.len()..rest.len() - after.len()] });
            rest = after;
        }
        parts.push(Sentence { text: rest, space: self.space });
        parts
    }
}

/// Length in bytes of a prefix of `text` that fits: all of `text`, or at least seven eighths of the longest prefix that
/// fits, but at least one character.
///
/// Token counts grow almost monotonically with length, so the search doubles the length until it does not fit, then
/// bisects.
fn longest_fit(text: &str, max_tokens: usize, fits: impl Fn(&str) -> bool) -> usize {
    const BYTES_PER_TOKEN: usize = 4;

    let first = text.chars().next().map_or(0, char::len_utf8);
    let (mut low, mut high) = (0, usize::MAX); // the longest that fits, the shortest that does not
    let mut length = max_tokens.saturating_mul(BYTES_PER_TOKEN);
    while low < text.len() && high - low > 1 + low / 8 {
        length = text.floor_char_boundary(length.min(text.len()));
        if length <= low {
            length = text.ceil_char_boundary(low + 1);
        }
        if length >= high {
            break; // no character ends between them
        }
        if fits(&text[..length]) {
            low = length;
        } else {
            high = length;
        }
        length = if high == usize::MAX { low.saturating_mul(2) } else { low.midpoint(high) };
    }
    low.max(first)
}

/// Positions to cut within the first `limit` bytes of `text`, best first. Ends of clauses count only in the second half,
/// because short parts lack context.
fn cuts(text: &str, limit: usize) -> Vec<usize> {
    let (mut strong, mut weak, mut space) = (0, 0, 0);
    for (start, character) in text[..limit].char_indices() {
        let end = start + character.len_utf8();
        let at_space = text[end..].starts_with(char::is_whitespace);
        match character {
            '!' | '?' | ';' | ':' | '–' | '—' | '؟' | '؛' if at_space => strong = end,
            '。' | '！' | '？' | '；' | '：' => strong = end,
            ',' | '،' if at_space => weak = end,
            '，' | '、' => weak = end,
            _ => {}
        }
        if at_space {
            space = end;
        }
    }
    let mut cuts: Vec<usize> = [strong, weak].into_iter().filter(|&cut| cut > limit / 2).collect();
    cuts.extend([space].into_iter().filter(|&cut| cut > 0));
    cuts.extend(last_grapheme_boundary(text, limit));
    cuts
}

/// The last boundary between graphemes within the first `limit` bytes, but not at 0.
fn last_grapheme_boundary(text: &str, limit: usize) -> Option<usize> {
    let mut cursor = GraphemeCursor::new(limit, text.len(), true);
    if cursor.is_boundary(text, 0).ok()? {
        return Some(limit);
    }
    cursor.prev_boundary(text, 0).ok()?.filter(|&boundary| boundary > 0)
}
