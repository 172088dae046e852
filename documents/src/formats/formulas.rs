//! Formulas of TeX in Markdown. The parser knows those between `$`, and takes some prices for formulas.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use pulldown_cmark::{Event, Options, Parser, Tag};
use regex_lite::Regex;

/// An event of the parser, and its place.
pub type Spanned<'a> = (Event<'a>, Range<usize>);

/// The signs before a formula that stands not between `$`: `\(`, `\[`, with one backslash more where a site needs it, and the beginning of
/// an environment.
static OPENING: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\\\\?[(\[]|\\begin\{[A-Za-z]{1,20}\*?\}").expect("a regular expression"));
/// Bytes of the longest formula that stands not between `$`: a search for its end without a bound reads on to the text's end.
const LONGEST: usize = 4000;

/// Markdown in which the parser finds the formulas. All places stay.
pub struct Marked<'a> {
    source: Cow<'a, str>,
    /// Whether the source has stand-ins for `$`.
    masks: bool,
}

impl<'a> Marked<'a> {
    pub fn new(markdown: &'a str) -> Self {
        // a document may have the character that stands in
        if markdown.contains(DOLLAR) {
            return Self { source: Cow::Borrowed(markdown), masks: false };
        }
        let (source, signed) = with_signs(markdown);
        match without_prices(&source, &signed) {
            Some(masked) => Self { source: Cow::Owned(masked), masks: true },
            None => Self { source, masks: false },
        }
    }

    /// The parser's events.
    pub fn events(&self) -> Vec<Spanned<'_>> {
        let mut events = events(&self.source);
        if self.masks {
            events.iter_mut().for_each(|(event, _)| with_dollars(event));
        }
        events
    }
}

fn events(markdown: &str) -> Vec<Spanned<'_>> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_MATH
        | Options::ENABLE_GFM;
    Parser::new_ext(markdown, options).into_offset_iter().collect()
}

/// Markdown with `$` as the signs of all formulas: `\(x\)` as `$_x_$`, which is as long. And the places of those whose signs are new.
fn with_signs(markdown: &str) -> (Cow<'_, str>, Vec<Range<usize>>) {
    /// A sign that the parser does not take may be in a link, or hide another one.
    const MOST_PASSES: usize = 3;
    let mut found = written_formulas(markdown);
    if found.is_empty() {
        return (Cow::Borrowed(markdown), Vec::new());
    }
    // code and HTML have such signs, too
    let others = places(&events(markdown), |event| {
        is_formula_event(event)
            || matches!(event, Event::Code(_) | Event::Html(_) | Event::InlineHtml(_))
            || matches!(event, Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock))
    });
    found.retain(|formula| {
        let next = others.partition_point(|other| other.end <= formula.place.start);
        others.get(next).is_none_or(|other| formula.place.end <= other.start)
    });
    for _ in 0..MOST_PASSES {
        if found.is_empty() {
            break;
        }
        let signed = signed(markdown, &found);
        let read = places(&events(&signed), is_formula_event);
        let is_read =
            |formula: &Written| read.binary_search_by_key(&formula.place.start, |place| place.start);
        let before = found.len();
        found.retain(|formula| is_read(formula).is_ok_and(|index| read[index] == formula.place));
        if found.len() == before {
            return (Cow::Owned(signed), found.into_iter().map(|formula| formula.place).collect());
        }
    }
    (Cow::Borrowed(markdown), Vec::new())
}

fn is_formula_event(event: &Event<'_>) -> bool {
    matches!(event, Event::InlineMath(_) | Event::DisplayMath(_))
}

/// The places of events, in order.
fn places(events: &[Spanned<'_>], wanted: impl Fn(&Event<'_>) -> bool) -> Vec<Range<usize>> {
    events.iter().filter(|(event, _)| wanted(event)).map(|(_, place)| place.clone()).collect()
}

/// A formula that stands not between `$`.
struct Written {
    place: Range<usize>,
    /// Lengths of the signs around it.
    signs: [usize; 2],
    /// Whether it is a part of a line.
    is_inline: bool,
}

/// The formulas that stand not between `$`, by what is in them: `\[1\]` is a text in brackets.
fn written_formulas(markdown: &str) -> Vec<Written> {
    let mut found = Vec::new();
    let mut done = 0;
    while let Some(sign) = OPENING.find_at(markdown, done) {
        done = sign.end();
        let closing = match sign.as_str() {
            brackets if brackets.ends_with('(') => brackets.replace('(', ")"),
            brackets if brackets.ends_with('[') => brackets.replace('[', "]"),
            begin => begin.replace("begin", "end"),
        };
        let rest = &markdown[done..markdown.floor_char_boundary(done + LONGEST)];
        let rest = rest.split("\n\n").next().unwrap_or(rest);
        let Some(length) = rest.find(&closing) else { continue };
        let end = done + length + closing.len();
        let is_environment = sign.as_str().ends_with('}');
        let is_formula = is_environment || is_tex(&rest[..length]);
        let ends = !markdown[end..].starts_with(|c: char| c.is_ascii_digit() || "${".contains(c));
        if is_formula && ends && !rest[..length].contains(['$', '`']) {
            let signs = [sign.len(), closing.len()];
            found.push(Written { place: sign.start()..end, signs, is_inline: sign.as_str().ends_with('(') });
            done = end;
        }
    }
    found
}

/// Whether what stands in brackets is a formula.
fn is_tex(inside: &str) -> bool {
    let words = || inside.split(|c: char| !c.is_alphabetic()).map(|word| word.chars().count());
    let longest = words().max().unwrap_or_default();
    let has_command =
        inside.split('\\').skip(1).any(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
    let has_sign = has_command || inside.contains(['^', '=']) || inside.contains('_') && longest <= 3;
    has_sign || longest == 1
}

/// Markdown with the parser's signs around formulas.
fn signed(markdown: &str, formulas: &[Written]) -> String {
    let mut signed = String::with_capacity(markdown.len());
    let mut done = 0;
    for Written { place, signs: [opening, closing], is_inline } in formulas {
        let dollars = if *is_inline { "$" } else { "$$" };
        // the parser takes no formula that begins or ends with a space; of backticks a line may be a fence
        let marks = |length: usize| "_".repeat(length - dollars.len());
        signed += &markdown[done..place.start];
        signed += dollars;
        signed += &marks(*opening);
        signed += &markdown[place.start + opening..place.end - closing];
        signed += &marks(*closing);
        signed += dollars;
        done = place.end;
    }
    signed += &markdown[done..];
    signed
}

/// Stands for a `$` that is no sign of a formula.
const DOLLAR: char = '\u{1}';

/// Markdown in which the parser takes no text between two prices for a formula; `None` if there are none. All places stay.
///
/// * `known`: formulas that are no prices, in order
fn without_prices(markdown: &str, known: &[Range<usize>]) -> Option<String> {
    /// A sign that is one no more may leave another pair.
    const MOST_PASSES: usize = 4;
    if !markdown.contains('$') {
        return None;
    }
    let mut source = Cow::Borrowed(markdown);
    for _ in 0..MOST_PASSES {
        let found = places(&events(&source), is_formula_event);
        let is_known = |range: &Range<usize>| {
            known
                .binary_search_by_key(&range.start, |place| place.start)
                .is_ok_and(|index| known[index] == *range)
        };
        let texts: Vec<Range<usize>> =
            found.into_iter().filter(|range| !is_known(range) && !is_formula(&source, range)).collect();
        if texts.is_empty() {
            break;
        }
        let mut masked = String::with_capacity(source.len());
        let mut done = 0;
        for range in texts {
            masked += &source[done..range.start];
            masked.extend(source[range.clone()].chars().map(|c| if c == '$' { DOLLAR } else { c }));
            done = range.end;
        }
        masked += &source[done..];
        source = Cow::Owned(masked);
    }
    match source {
        Cow::Owned(masked) => Some(masked),
        Cow::Borrowed(_) => None,
    }
}

/// Gives the text of an event its `$` back.
fn with_dollars(event: &mut Event<'_>) {
    let text = match event {
        Event::Text(text) => text,
        Event::Start(Tag::Link { id, .. } | Tag::Image { id, .. }) => id,
        _ => return,
    };
    if text.contains(DOLLAR) {
        *text = text.replace(DOLLAR, "$").into();
    }
}

/// Whether what the parser takes for a formula is one, and not the text between two prices or variables: `$5-$10`, `$HOME/$USER`.
fn is_formula(markdown: &str, range: &Range<usize>) -> bool {
    let inside = markdown[range.clone()].trim_matches('$');
    let behind = markdown[range.end..].chars().next();
    let before = &markdown[..range.start];
    let is_digit = |c: char| c.is_ascii_digit();
    // `${a}/${b}`, `%1$s`
    let is_placeholder = before.ends_with(is_digit) && before.trim_end_matches(is_digit).ends_with('%');
    if is_placeholder || behind.is_some_and(|c| c.is_ascii_digit() || "${".contains(c)) {
        return false;
    }
    // GitHub's form, and signs of TeX
    if inside.starts_with('`') && inside.ends_with('`') || inside.contains(['\\', '^', '_']) {
        return true;
    }
    let longest = inside.split(|c: char| !c.is_alphabetic()).map(|word| word.chars().count()).max();
    let longest = longest.unwrap_or_default();
    let is_amount = before.ends_with(is_digit) && longest == 0;
    let has_space = inside.trim().contains(char::is_whitespace);
    let is_price = has_space && longest >= 2 && inside.starts_with(|c: char| c.is_ascii_digit());
    let is_text = longest >= 3 && (has_space || behind.is_some_and(char::is_alphanumeric));
    let is_apart = has_space || longest >= 2 && inside != inside.trim_matches(' ');
    let is_words = is_apart && !inside.contains(|c: char| c.is_ascii_digit() || "=+-*/<>()|,".contains(c));
    inside.contains(char::is_alphanumeric) && !is_amount && !is_price && !is_text && !is_words
}
