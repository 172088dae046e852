//! Byte ranges of a text's tokens.

use serde::{Deserialize, Serialize};

use super::Tokenizer;

/// One piece of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its id.
    pub id: u32,
    /// As the tokenizer has it, `▁station` for example.
    pub piece: String,
    /// Whether it stands for no text: an end, a start, a language, padding.
    pub special: bool,
    /// The bytes of the sentence's source or target that it stands for, where that is known. Several tokens that
    /// stand for one stretch together (the bytes of an emoji) have the same.
    pub range: Option<[usize; 2]>,
}

/// Bytes after the previous token in which the next one is searched; normalized or unknown text is skipped.
const WINDOW: usize = 64;

impl Token {
    /// The text it stands for, with `·` before what goes on in the middle of a word; or the piece, where that is not known.
    pub fn label(&self, text: &str) -> String {
        let Some((own, [first, _])) =
            self.range.and_then(|range| Some((text.get(range[0]..range[1])?, range)))
        else {
            let piece = self.piece.trim_start_matches('▁');
            return if piece.is_empty() { self.piece.clone() } else { piece.to_owned() };
        };
        let before = text[..first].chars().next_back();
        let goes_on = before.is_some_and(char::is_alphanumeric) && own.starts_with(char::is_alphanumeric);
        if goes_on { format!("·{own}") } else { own.to_owned() }
    }

    /// Whether it stands for signs that are neither letters nor digits.
    pub fn is_punctuation(&self) -> bool {
        let sign = |c: char| !c.is_alphanumeric() && !c.is_whitespace();
        let mut piece = self.piece.trim_start_matches('▁').chars().peekable();
        !self.special && self.piece != "<unk>" && piece.peek().is_some() && piece.all(sign)
    }
}

/// Tokens of one side.
pub(crate) fn tokens(
    tokenizer: &Tokenizer,
    ids: &[u32],
    text: &str,
    prefix: &str,
    of_target: bool,
) -> Vec<Token> {
    // a tag is a token of its own, other words before a text are tokens like its own
    let prefix = if tokenizer.split_tag(prefix).0.is_some() { "" } else { prefix };
    let by_piece = !tokenizer.is_fast();
    let mut tokens = Vec::with_capacity(ids.len());
    let mut texts = Vec::with_capacity(ids.len());
    for &id in ids {
        let piece = match of_target {
            true => tokenizer.target_token(id),
            false => tokenizer.source_token(id),
        };
        let piece = piece.map_or_else(|| format!("#{id}"), |piece| piece.into_owned());
        // an unknown token has text
        let special = piece != "<unk>"
            && match of_target {
                true => tokenizer.is_special(id),
                false => is_special_source(tokenizer, id, &piece),
            };
        // byte-level pieces are unreadable, so the tokenizer decodes them
        texts.push(match special {
            true => String::new(),
            false if by_piece => piece.replace('▁', " ").trim().to_owned(),
            false => tokenizer.decode(&[id], false).unwrap_or_default().trim().to_owned(),
        });
        let piece = match texts.last() {
            Some(decoded) if !by_piece && !special => readable(&piece, decoded),
            _ => piece,
        };
        tokens.push(Token { id, piece, special, range: None });
    }
    let whole = format!("{prefix}{text}");
    if tokens.iter().any(|token| tokenizer.byte(token.id).is_some()) {
        place_bytes(tokenizer, &mut tokens, &whole, prefix.len());
        return tokens;
    }
    let mut word = 0;
    let places: Vec<Place> = tokens
        .iter()
        .map(|token| {
            word += usize::from(token.piece.starts_with('▁'));
            Place { word, special: token.special }
        })
        .collect();
    for (token, range) in tokens.iter_mut().zip(ranges(&whole, &texts, &places)) {
        token.range = range.and_then(|[first, end]| {
            let first = first.checked_sub(prefix.len())?;
            Some([first, end - prefix.len()])
        });
    }
    tokens
}

/// Gives tokens that are bytes the characters that they are part of. White space and bytes that are no character together have
/// none, like the tokens of other tokenizers.
fn place_bytes(tokenizer: &Tokenizer, tokens: &mut [Token], text: &str, prefix: usize) {
    let mut at = 0;
    for token in tokens {
        let Some(byte) = tokenizer.byte(token.id) else {
            // a special token can take the white space beside it
            let rest = text.get(at..).unwrap_or_default().trim_start();
            if let Some(rest) = rest.strip_prefix(&*token.piece) {
                at = text.len() - rest.len();
            }
            continue;
        };
        if text.as_bytes().get(at) != Some(&byte) {
            let rest = text.get(at..).unwrap_or_default().trim_start();
            at = if rest.as_bytes().first() == Some(&byte) { text.len() - rest.len() } else { continue };
        }
        let [first, end] = [text.floor_char_boundary(at), text.ceil_char_boundary(at + 1)];
        let is_text = !text[first..end].trim().is_empty();
        token.range = first.checked_sub(prefix).filter(|_| is_text).map(|first| [first, end - prefix]);
        at += 1;
    }
}

/// Writes a piece of a byte-level vocabulary like SentencePiece. A line break and the like stay as they are.
fn readable(piece: &str, text: &str) -> String {
    match piece.strip_prefix(['Ġ', '▁']) {
        Some(rest) if !text.is_empty() || rest.is_empty() => format!("▁{text}"),
        None if !text.is_empty() => text.to_owned(),
        _ => piece.to_owned(),
    }
}

/// Whether a source token is special: Marian's two vocabularies have the same names for special tokens.
fn is_special_source(tokenizer: &Tokenizer, id: u32, piece: &str) -> bool {
    if tokenizer.target_token(id).as_deref() == Some(piece) {
        return tokenizer.is_special(id);
    }
    ["</s>", "<pad>", "<s>"].contains(&piece) || tokenizer.split_tag(piece).0.is_some()
}

#[derive(Clone, Copy, Default)]
struct Place {
    /// Number of words so far, by the tokenizer's marks.
    word: usize,
    special: bool,
}

/// Finds the tokens in the text. Tokens that are not found share the text between their neighbours: word by word if the
/// numbers of words agree, else all of it.
fn ranges(text: &str, texts: &[String], places: &[Place]) -> Vec<Option<[usize; 2]>> {
    let mut ranges: Vec<Option<[usize; 2]>> = vec![None; texts.len()];
    let mut at = 0;
    let mut missed: Vec<usize> = Vec::new();
    for (index, token) in texts.iter().enumerate() {
        if places[index].special || token.is_empty() {
            continue;
        }
        let space = text[at..].len() - text[at..].trim_start().len();
        let next = at + space;
        let found = match missed.is_empty() {
            // the usual case: the next characters
            true => text[next..].starts_with(&**token).then_some(next),
            false => {
                // a missed token covers at least one character
                let end = text.ceil_char_boundary((next + WINDOW).min(text.len()));
                let one = text[next..].chars().next().map_or(0, char::len_utf8);
                let found = text[next + one..end.max(next + one)].find(&**token);
                let here = || text[next..].starts_with(&**token).then_some(next);
                found.map(|place| next + one + place).or_else(here)
            }
        };
        let Some(first) = found else {
            missed.push(index);
            continue;
        };
        fill(&mut ranges, &mut missed, places, (text, [at, first]));
        at = first + token.len();
        ranges[index] = Some([first, at]);
    }
    fill(&mut ranges, &mut missed, places, (text, [at, text.len()]));
    ranges
}

/// Distributes the text between neighbours to tokens that were not found.
fn fill(
    ranges: &mut [Option<[usize; 2]>],
    missed: &mut Vec<usize>,
    places: &[Place],
    (text, [from, to]): (&str, [usize; 2]),
) {
    let start = text.as_ptr() as usize;
    let words: Vec<[usize; 2]> = text[from..to]
        .split_whitespace()
        .map(|word| {
            let first = word.as_ptr() as usize - start;
            [first, first + word.len()]
        })
        .collect();
    let mut counted: Vec<usize> = missed.iter().map(|&index| places[index].word).collect();
    counted.dedup();
    let whole = words.first().zip(words.last()).map(|(&[first, _], &[_, end])| [first, end]);
    for index in missed.drain(..) {
        let range = match counted.len() == words.len() {
            true => counted.binary_search(&places[index].word).ok().map(|word| words[word]),
            false => whole,
        };
        ranges[index] = range.filter(|[first, end]| end - first <= WINDOW);
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, ranges};

    fn check(text: &str, tokens: &[&str], expected: &[Option<&str>]) {
        let texts: Vec<String> = tokens.iter().map(|token| token.replace('▁', "")).collect();
        let mut word = 0;
        let place = |token: &&str| {
            word += usize::from(token.starts_with('▁'));
            Place { word, special: false }
        };
        let places: Vec<Place> = tokens.iter().map(place).collect();
        let got = ranges(text, &texts, &places);
        let got: Vec<Option<&str>> = got.into_iter().map(|range| range.map(|[a, b]| &text[a..b])).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn tokens_have_their_bytes() {
        check("a cat.", &["a", "c", "at", "."], &[Some("a"), Some("c"), Some("at"), Some(".")]);
    }

    #[test]
    fn what_is_unknown_lies_between_its_neighbours() {
        check("hi 🎉 you", &["hi", "<unk>", "you"], &[Some("hi"), Some("🎉"), Some("you")]);
        check("hi 🎉", &["hi", "<0xF0>", "<0x9F>"], &[Some("hi"), Some("🎉"), Some("🎉")]);
        let two = ["▁", "<unk>", "▁", "<unk>", "!"];
        check("안녕 세계!", &two, &[None, Some("안녕"), None, Some("세계"), Some("!")]);
        check("안녕세계!", &two, &[None, Some("안녕세계"), None, Some("안녕세계"), Some("!")]);
        check("ﬁne day", &["fine", "day"], &[Some("ﬁne"), Some("day")]);
    }

    #[test]
    fn nothing_is_made_up_where_a_text_ends() {
        check("", &["a"], &[None]);
        check("a", &["a", "b"], &[Some("a"), None]);
    }

    #[test]
    fn tokens_that_are_bytes_have_their_characters() {
        use crate::model::files::ModelFiles;

        let config = br#"{"model_type": "t5", "tokenizer_class": "ByT5Tokenizer"}"#.to_vec();
        let files = ModelFiles::memory("folder", [("config.json", config)]);
        let tokenizer = crate::model::read_tokenizer(&files).unwrap();
        let found = |text: &str, ids: &[u32], prefix: &str| -> Vec<Option<String>> {
            let tokens = super::tokens(&tokenizer, ids, text, prefix, false);
            let texts =
                tokens.iter().map(|token| token.range.map(|[first, end]| text[first..end].to_owned()));
            texts.collect()
        };
        let text = "aé 🎉 </s> b";
        let ids = tokenizer.encode(text).unwrap();
        let some = |text: &str| Some(text.to_owned());
        let party = some("🎉");
        let e = some("é");
        let expected = [
            some("a"),
            e.clone(),
            e,
            None,
            party.clone(),
            party.clone(),
            party.clone(),
            party,
            None,
            some("b"),
            None,
        ];
        assert_eq!(found(text, &ids, ""), expected);
        // the beginning of an emoji, which decoding leaves out
        assert_eq!(found("ab", &[100, 243, 162, 101, 1], ""), [some("a"), None, None, some("b"), None]);
        let ids = tokenizer.encode("to German: x").unwrap();
        assert_eq!(found("x", &ids, "to German: ")[11], some("x"));
    }

    #[cfg(feature = "tokenizers")]
    #[test]
    fn bytes_of_older_vocabularies_are_written_as_text() {
        use crate::model::files::ModelFiles;

        let vocab =
            r#"{"<s>":0,"<pad>":1,"</s>":2,"<unk>":3,"a":4,"b":5,"Ġ":6,"Ġb":7,"Ã":8,"¼":9,"<mask>":10}"#;
        let files = [
            ("config.json", &br#"{"model_type":"bart"}"#[..]),
            ("vocab.json", vocab.as_bytes()),
            ("merges.txt", "#version: 0.2\nĠ b\n".as_bytes()),
        ];
        let files = files.map(|(name, bytes)| (name, bytes.to_vec()));
        let tokenizer = crate::model::read_tokenizer(&ModelFiles::memory("folder", files)).unwrap();
        let text = "a b üb";
        let ids = tokenizer.encode(text).unwrap();
        assert_eq!(ids, [0, 4, 7, 6, 8, 9, 5, 2]);
        let tokens = super::tokens(&tokenizer, &ids, text, "", false);
        let pieces: Vec<&str> = tokens.iter().map(|token| &*token.piece).collect();
        assert_eq!(pieces, ["<s>", "a", "▁b", "▁", "\u{fffd}", "\u{fffd}", "b", "</s>"]);
        let labels: Vec<String> = tokens[1..7].iter().map(|token| token.label(text)).collect();
        assert_eq!(labels, ["a", "b", "▁", "ü", "ü", "·b"]);
    }
}
