//! Characters in and around words.

/// Whether a name goes on at a place: a space and a capital.
pub(super) fn name_follows(text: &str, end: usize) -> bool {
    let mut rest = text[end..].chars();
    rest.next() == Some(' ') && rest.next().is_some_and(char::is_uppercase)
}

/// Whether a character is a part of a word.
pub(super) fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}
