//! Numbers and times for readers, and text in HTML.

/// Text between tags.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// `12,345`
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `40 s`, `12 min`, `3.5 h`
pub fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 90.0 => format!("{seconds:.0} s"),
        seconds if seconds < 5400.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

/// A command as it can be typed again.
pub fn typed(arguments: impl Iterator<Item = String>) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "-_./:,=+@%".contains(character);
    let quoted = |argument: String| match !argument.is_empty() && argument.chars().all(is_plain) {
        true => argument,
        false => format!("'{}'", argument.replace('\'', r"'\''")),
    };
    arguments.map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_text_for_readers() {
        assert_eq!([7, 123_456, 1_234_567].map(grouped), ["7", "123,456", "1,234,567"]);
        assert_eq!(escaped("<b a=\"1\">&"), "&lt;b a=&quot;1&quot;&gt;&amp;");
        assert_eq!([40.4, 720.0, 12_600.0].map(duration), ["40 s", "12 min", "3.5 h"]);
        let command = ["wordloom", "train", "a b.tsv", "it's"].map(str::to_owned);
        assert_eq!(typed(command.into_iter()), r"wordloom train 'a b.tsv' 'it'\''s'");
    }
}
