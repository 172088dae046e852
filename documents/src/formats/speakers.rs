//! Marks of speakers and sounds in a cue of subtitles: `- Hello!`, `>> Hello!`, `JOHN: Hello!`, `[Tom] Hello!`, `<v Tom>`, `[door slams]`.

/// The dash before a speech, or the signs of another speaker (`>>`), with spaces. Returns its length, or 0.
pub fn dash(text: &str) -> usize {
    let rest = text.trim_start_matches(['-', '–', '—', '>', ' ']);
    let rest = rest.trim_start_matches("&gt;").trim_start_matches(' ');
    text.len() - rest.len()
}

/// The lines of a cue by speaker: a dash or a name begins a speech. A sound in brackets and a song are texts of their own.
pub fn by_speaker<'a>(cue: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut speeches: Vec<Vec<&str>> = Vec::new();
    for line in cue.iter().flat_map(|line| without_label(line)) {
        let text = untagged(line);
        let is_voice = line.trim_start().starts_with("<v");
        let is_marked = text.starts_with(['-', '–', '—', '♪', '♫', '>']) || text.starts_with("&gt;");
        let is_start = is_marked || is_voice || is_sound(text) || is_named(text);
        match speeches.last_mut() {
            Some(speech) if !is_start && !speech.iter().any(|line| is_sound(untagged(line))) => {
                speech.push(line)
            }
            _ => speeches.push(vec![line]),
        }
    }
    speeches
}

/// A line without the tags at its ends.
pub fn untagged(line: &str) -> &str {
    let mut text = line.trim();
    loop {
        let start = match text.strip_prefix("{\\").map(|rest| rest.split_once('}')) {
            Some(found) => found,
            None => text.strip_prefix('<').and_then(|rest| rest.split_once('>')),
        };
        let end = text.strip_suffix('>').and_then(|rest| rest.rsplit_once('<'));
        text = match (start, end) {
            (Some((_, rest)), _) | (None, Some((rest, _))) => rest.trim(),
            (None, None) => return text,
        };
    }
}

/// Cuts a line behind the speaker's name: `[Tom] Come here!`.
fn without_label(line: &str) -> Vec<&str> {
    let content = line.trim_start();
    let label = content.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match label {
        Some((name, rest)) if !name.contains('[') && rest.starts_with(' ') && !rest.trim().is_empty() => {
            let at = line.len() - rest.trim_start_matches(' ').len();
            vec![&line[..at], &line[at..]]
        }
        _ => vec![line],
    }
}

/// Whether a line is a sound: `[door slams]`, `(laughs)`.
pub fn is_sound(line: &str) -> bool {
    let inside = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
    let inside = inside.or_else(|| line.strip_prefix('(')?.strip_suffix(')'));
    inside.is_some_and(|text| !text.contains(['[', ']', '(', ')']))
}

/// Whether a line begins with the name of a speaker: `JOHN: …`.
fn is_named(line: &str) -> bool {
    let Some((name, _)) = line.split_once(':') else { return false };
    let is_letter = |c: char| c.is_uppercase() || c.is_numeric() || " .'’-#".contains(c);
    name.starts_with(char::is_uppercase) && name.chars().count() > 1 && name.chars().all(is_letter)
}
