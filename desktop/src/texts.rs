//! Texts of files, models and messages, shortened to one line.

/// Text without line breaks and characters that change the direction of text.
pub fn shortened(text: &str, most: usize) -> String {
    let turns =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let plain = |c: char| if c.is_control() || turns(c) { ' ' } else { c };
    let mut characters = text.chars().map(plain);
    let line: String = characters.by_ref().take(most).collect();
    if characters.next().is_some() { line + "…" } else { line }
}

/// A message without control characters, because messages quote files.
pub fn one_line(message: &str) -> String {
    message.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}

/// A number with a minus sign as wide as a digit.
pub fn signed(value: f32, digits: usize) -> String {
    format!("{value:.digits$}").replace('-', "−")
}

/// A probability.
pub fn percent(share: f32) -> String {
    match 100.0 * share {
        value if value >= 10.0 => format!("{value:.0} %"),
        value if value >= 0.1 => format!("{value:.1} %"),
        _ => "< 0.1 %".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_one_line_that_turns_nothing_around() {
        assert_eq!(shortened("a\nb\u{202e}c", 9), "a b c");
        assert_eq!(shortened("abcdef", 3), "abc…");
    }

    #[test]
    fn numbers_are_written_as_people_do() {
        assert_eq!(signed(-0.456, 2), "−0.46");
        assert_eq!([0.834, 0.0123, 0.0004].map(percent), ["83 %", "1.2 %", "< 0.1 %"]);
    }
}
