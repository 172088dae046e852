//! The word tokenizer of BLEU.

use super::is_space;

/// Tokens of mteval-v13a, sacreBLEU's default (`tokenizer_13a.py`). It decodes four HTML entities and splits ASCII punctuation
/// off, except apostrophes, full stops and commas between digits, and dashes without a digit before them.
pub fn tokenize_13a(line: &str) -> Vec<String> {
    let mut line = line.replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    for (entity, character) in [("&quot;", "\""), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")] {
        line = line.replace(entity, character);
    }
    let mut text = vec![' '];
    for character in line.chars() {
        match character {
            '{'..='~' | '['..='`' | ' '..='&' | '('..='+' | ':'..='@' | '/' => {
                text.extend([' ', character, ' ']);
            }
            character => text.push(character),
        }
    }
    text.push(' ');
    let digit = |character: char| character.is_ascii_digit();
    let stop = |character: char| matches!(character, '.' | ',');
    let text = replace_pairs(&text, |a, b| !digit(a) && stop(b), |a, b| [a, ' ', b, ' ']);
    let text = replace_pairs(&text, |a, b| stop(a) && !digit(b), |a, b| [' ', a, ' ', b]);
    let text = replace_pairs(&text, |a, b| digit(a) && b == '-', |a, b| [a, ' ', b, ' ']);
    text.split(|&character| is_space(character))
        .filter(|word| !word.is_empty())
        .map(|word| word.iter().collect())
        .collect()
}

/// Replaces pairs of characters from left to right, without overlaps, as a regular expression does.
fn replace_pairs(
    text: &[char],
    found: impl Fn(char, char) -> bool,
    replaced: impl Fn(char, char) -> [char; 4],
) -> Vec<char> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    loop {
        rest = match rest {
            [a, b, rest @ ..] if found(*a, *b) => {
                out.extend(replaced(*a, *b));
                rest
            }
            [a, rest @ ..] => {
                out.push(*a);
                rest
            }
            [] => return out,
        };
    }
}
