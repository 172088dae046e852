//! Emoji around sentences: they need no translation, and few vocabularies have them.

use unicode_segmentation::UnicodeSegmentation;

/// Bytes of the white space and the emoji that a text begins with.
pub fn leading(text: &str) -> usize {
    text.graphemes(true).take_while(|&cluster| is_between(cluster)).map(str::len).sum()
}

/// Bytes of the text without the white space and the emoji at its end.
pub fn without_trailing(text: &str) -> usize {
    let trimmed = text.trim_end();
    if trimmed.chars().next_back().is_none_or(|last| last.is_ascii()) {
        return trimmed.len();
    }
    // from the beginning, because pairs of letters of flags are counted from there
    let mut words = trimmed.grapheme_indices(true).filter(|&(_, cluster)| !is_between(cluster));
    words.next_back().map_or(0, |(start, cluster)| start + cluster.len())
}

/// Whether a grapheme cluster is white space or an emoji. A digit in a box is a digit.
fn is_between(cluster: &str) -> bool {
    cluster.chars().next().is_some_and(|first| first.is_whitespace() || is_pictograph(first))
}

/// Whether a character is a pictograph, or a letter of a flag: the blocks from Miscellaneous Symbols to Dingbats, of stars and
/// large shapes, and from Mahjong Tiles to Symbols and Pictographs Extended-A.
fn is_pictograph(character: char) -> bool {
    matches!(character, '\u{2600}'..='\u{27bf}' | '\u{2b1b}'..='\u{2b55}' | '\u{1f000}'..='\u{1faff}')
}
