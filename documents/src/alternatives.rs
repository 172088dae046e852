//! Texts side by side in one string, with `|` between: the plurals of vue-i18n and Laravel, `one car | {n} cars`, and the parts of a title.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::escape::Escape;
use super::inline::Inline;
use super::placeholders::placeholders;
use super::unit::copied;

/// The numbers that a text of Laravel is for: `{0} none|[1,19] some|[20,*] many`.
static NUMBERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:\{[0-9]{1,9}\}|[\[\]](?:[0-9]{1,9}|\*),\s?(?:[0-9]{1,9}|\*)[\[\]])\s")
        .expect("a regular expression")
});

/// Ends the text at each `|` that no placeholder has, and behind the numbers that a text is for.
pub fn alternatives(tokens: Vec<Inline>, escape: Escape) -> Vec<Inline> {
    let separated =
        |token: &Inline| matches!(token, Inline::Text { text, .. } if !separators(text).is_empty());
    if !tokens.iter().any(separated) {
        return tokens;
    }
    let mut cut = Vec::with_capacity(tokens.len() + 2);
    let mut is_first = true;
    for token in tokens {
        let Inline::Text { text, .. } = &token else {
            is_first = false;
            cut.push(token);
            continue;
        };
        let mut done = 0;
        for at in separators(text).into_iter().chain([text.len()]) {
            let part = &text[done..at];
            let length =
                NUMBERS.find(part).filter(|_| is_first || done > 0).map_or(0, |numbers| numbers.end());
            let (numbers, part) = part.split_at(length);
            let end = if done > 0 { "|" } else { "" };
            if done > 0 || length > 0 {
                cut.push(Inline::End(copied(end.to_owned() + &escape.encode(numbers))));
            }
            if !part.is_empty() {
                cut.push(Inline::text(&escape.encode(part), part));
            }
            done = at + 1;
        }
        is_first = false;
    }
    cut
}

/// The places of each `|` that no placeholder has.
fn separators(text: &str) -> Vec<usize> {
    if !text.contains('|') {
        return Vec::new();
    }
    let kept = placeholders(text);
    let next = |at: usize| kept.get(kept.partition_point(|range| range.end <= at));
    let is_kept = |at: usize| next(at).is_some_and(|range| range.start <= at);
    text.match_indices('|').map(|(at, _)| at).filter(|&at| !is_kept(at)).collect()
}
