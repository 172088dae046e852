//! Text in HTML and on command lines.

/// Text between tags.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
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
    fn text_of_html_and_of_shells() {
        assert_eq!(escaped("<b a=\"1\">&"), "&lt;b a=&quot;1&quot;&gt;&amp;");
        let command = ["wordloom", "train", "a b.tsv", "it's"].map(str::to_owned);
        assert_eq!(typed(command.into_iter()), r"wordloom train 'a b.tsv' 'it'\''s'");
    }
}
