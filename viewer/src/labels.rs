//! Names and labels that a reader sees.

use wordloom::trace::AttentionKind;

/// The name of a kind of attention.
pub fn name(kind: AttentionKind) -> &'static str {
    match kind {
        AttentionKind::Encoder => "encoder self-attention",
        AttentionKind::Decoder => "decoder self-attention",
        AttentionKind::Cross => "cross-attention",
    }
}

/// Makes untrusted text safe to show: control characters and direction marks become `�`, and more than `longest` characters end
/// with `…`.
pub fn harmless(text: &str, longest: usize) -> String {
    let turns =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let breaks = |c: char| matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    let shown = text.chars().map(|c| if c.is_control() || turns(c) || breaks(c) { '\u{fffd}' } else { c });
    let mut shown: String = shown.take(longest + 1).collect();
    if shown.chars().count() > longest {
        shown.pop();
        shown.push('…');
    }
    shown
}
