//! Raised and lowered text of HTML, which the translation may not have. A reference to a note, such as `<sup><a href="#n1">[1]</a></sup>`, is no part of the sentence, and
//! a formula, such as `H<sub>2</sub>O`, is one word that stays: a model would read `old[1]` and `H2O` as other words.

use super::super::tags::{Token, attributes, is_inline, name};

/// Tokens of the longest element that is a reference or an index.
const LONGEST: usize = 24;
/// Characters of the longest index that has letters, such as that of `V<sub>max</sub>`.
const LONGEST_NAME: usize = 8;

/// Tokens in which references to notes and formulas are one token each.
pub fn with_indices<'a>(tokens: Vec<Token<'a>>, html: &'a str) -> Vec<Token<'a>> {
    let mut joined: Vec<Token<'a>> = Vec::with_capacity(tokens.len());
    let mut index = 0;
    // the text that a formula took the beginning of
    let mut rest: Option<Token<'a>> = None;
    // the last text of the sentence
    let mut before = "";
    while index < tokens.len() {
        let token = rest.take().unwrap_or(tokens[index]);
        match token {
            Token::Text(text) => before = text,
            Token::Open(tag) | Token::Close(tag) if is_inline(tag) => {}
            _ => before = "",
        }
        let Some(end) = end_of_element(&tokens[index..]).map(|length| index + length) else {
            joined.push(token);
            index += 1;
            continue;
        };
        let element = &tokens[index..=end];
        if is_reference(element, before) {
            joined.push(Token::Other(&html[place(html, token)..end_of(html, tokens[end])]));
            index = end + 1;
        } else if let Some([open, text, close]) = ending(element, before) {
            // an element would cover all that the word becomes
            joined.extend([Token::Other(open), Token::Text(text), Token::Other(close)]);
            before = "";
            index = end + 1;
        } else if let Some(&Token::Text(text)) = joined.last()
            && let Some(base) = base(element, text)
        {
            let start = place(html, token) - base;
            joined.pop();
            if text.len() > base {
                joined.push(Token::Text(&text[..text.len() - base]));
            }
            before = "";
            let last = end_of_formula(&tokens, end);
            let stop = end_of(html, tokens[last]);
            index = last + 1;
            // what is written behind without a space
            let behind = match tokens.get(index) {
                Some(Token::Text(text)) => text.len() - text.trim_start_matches(char::is_alphanumeric).len(),
                _ => 0,
            };
            joined.push(Token::Kept(&html[start..stop + behind]));
            if let (Some(Token::Text(text)), true) = (tokens.get(index), behind > 0) {
                match text.len() == behind {
                    true => index += 1,
                    false => rest = Some(Token::Text(&text[behind..])),
                }
            }
        } else {
            joined.push(token);
            index += 1;
        }
    }
    joined
}

/// The tags and the text of an ending of a number: `1<sup>st</sup>`.
fn ending<'a>(element: &[Token<'a>], before: &str) -> Option<[&'a str; 3]> {
    const LONGEST_ENDING: usize = 4;
    let [Token::Open(open), Token::Text(text), Token::Close(close)] = *element else { return None };
    let is_ending = text.chars().all(char::is_alphabetic) && text.chars().count() <= LONGEST_ENDING;
    let is_one = name(open) == "sup" && is_ending && before.ends_with(|c: char| c.is_ascii_digit());
    is_one.then_some([open, text, close])
}

fn place(html: &str, token: Token<'_>) -> usize {
    token.raw().as_ptr() as usize - html.as_ptr() as usize
}

fn end_of(html: &str, token: Token<'_>) -> usize {
    place(html, token) + token.raw().len()
}

/// The index of the end tag of a link or of raised or lowered text that begins these tokens, with nothing but short text and tags within.
fn end_of_element(tokens: &[Token<'_>]) -> Option<usize> {
    let Token::Open(tag) = *tokens.first()? else { return None };
    let opened = name(tag);
    if !matches!(&*opened, "sup" | "sub" | "a") {
        return None;
    }
    let within = tokens.iter().take(LONGEST).skip(1);
    let end = within.take_while(|token| !matches!(token, Token::Other(_) | Token::Kept(_)));
    let end =
        end.map(|token| matches!(token, Token::Close(tag) if name(tag) == opened)).position(|is_end| is_end);
    end.map(|end| end + 1)
}

/// The text of an element.
fn text(element: &[Token<'_>]) -> String {
    let texts = element.iter().filter(|token| matches!(token, Token::Text(_)));
    let text: String = texts.map(|token| token.raw()).collect();
    html_escape::decode_html_entities(text.trim()).into_owned()
}

/// Whether an element is a reference to a note.
///
/// * `before`: text before it
fn is_reference(element: &[Token<'_>], before: &str) -> bool {
    let is_within_page = |token: &Token<'_>| match token {
        Token::Open(tag) if name(tag) == "a" => attributes(tag)
            .into_iter()
            .any(|(attribute, value)| attribute.eq_ignore_ascii_case("href") && tag[value].contains('#')),
        _ => false,
    };
    let text = text(element);
    let has_letters = text.contains(char::is_alphabetic);
    let is_behind_word = before.ends_with(|c: char| !c.is_whitespace());
    let is_link = element.iter().any(is_within_page);
    if text.is_empty() || text.contains(char::is_whitespace) || !is_behind_word {
        return false;
    }
    if !matches!(element[0], Token::Open(tag) if name(tag) == "sup") {
        return is_link && !has_letters;
    }
    let is_sign = text.chars().all(|c| "*†‡§¶".contains(c));
    let is_number = !has_letters && (text.starts_with(['[', '(']) || is_prose(&before[formula(before)..]));
    is_sign || is_number || is_link && text.chars().count() <= LONGEST_NAME
}

/// Whether a text behind which a number is raised is a word or punctuation, and no unit or variable.
pub fn is_prose(base: &str) -> bool {
    let mut letters = base.chars();
    let first = letters.next();
    first.is_none() || base.chars().count() > 2 && letters.all(char::is_lowercase)
}

/// Where the formula at the end of a text begins.
pub fn formula(text: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || "()[]".contains(c);
    let start = match text.rfind('&') {
        Some(entity) if text.ends_with(';') && !text[entity..].contains(char::is_whitespace) => entity,
        _ => text.trim_end_matches(is_part).len(),
    };
    // a bracket around the formula
    let (mut depth, mut from) = (0_usize, start);
    for (at, character) in text[start..].char_indices().rev() {
        match character {
            ')' | ']' => depth += 1,
            '(' | '[' if depth == 0 => {
                from = start + at + 1;
                break;
            }
            '(' | '[' => depth -= 1,
            _ => {}
        }
    }
    from
}

/// The length of the text before an index that makes a formula with it.
fn base(element: &[Token<'_>], before: &str) -> Option<usize> {
    let Token::Open(tag) = element[0] else { return None };
    let base = &before[formula(before)..];
    let text = text(element);
    if name(tag) == "a" || base.is_empty() || text.is_empty() || text.contains(char::is_whitespace) {
        return None;
    }
    let is_letter = base.chars().filter(|c| c.is_alphabetic()).count() == 1;
    let has_letters = text.contains(char::is_alphabetic);
    let is_name = name(tag) == "sub" && is_letter && text.chars().count() <= LONGEST_NAME;
    (!has_letters || is_name).then_some(base.len())
}

/// The token that ends a formula whose first index ends at `end`: `C<sub>6</sub>H<sub>12</sub>` has two.
fn end_of_formula(tokens: &[Token<'_>], mut end: usize) -> usize {
    loop {
        let between = match tokens.get(end + 1) {
            Some(Token::Text(text)) if !text.contains(char::is_whitespace) => 1,
            _ => 0,
        };
        let next = end + 1 + between;
        let is_index = matches!(tokens.get(next), Some(Token::Open(tag)) if name(tag) != "a");
        match tokens.get(next..).and_then(end_of_element).filter(|_| is_index) {
            Some(length) if !text(&tokens[next..=next + length]).contains(char::is_alphabetic) => {
                end = next + length
            }
            _ => return end,
        }
    }
}
