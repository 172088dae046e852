//! Normalization of text, before it is cut into pieces.

use super::SPACE;
use super::charsmap::CharsMap;
use super::proto::NormalizerSpec;
use super::trie::Trie;

/// `sentencepiece::normalizer::Normalizer`.
///
/// Each step replaces the longest left side of a rule. (Hugging Face's `Precompiled` normalizer works on grapheme clusters
/// and differs for unusual strings.)
#[derive(Debug)]
pub(super) struct Normalizer {
    charsmap: Option<CharsMap>,
    add_dummy_prefix: bool,
    remove_extra_whitespaces: bool,
    /// Replacement of a space: U+2581, or a space.
    space: &'static str,
    whitespace_as_suffix: bool,
}

impl Normalizer {
    pub(super) fn new(spec: &NormalizerSpec, whitespace_as_suffix: bool) -> Result<Self, String> {
        let blob = &spec.precompiled_charsmap;
        Ok(Self {
            charsmap: if blob.is_empty() { None } else { Some(CharsMap::parse(blob)?) },
            add_dummy_prefix: spec.add_dummy_prefix,
            remove_extra_whitespaces: spec.remove_extra_whitespaces,
            space: if spec.escape_whitespaces { SPACE } else { " " },
            whitespace_as_suffix,
        })
    }

    /// The normalized text. Keys of `verbatim` (the user-defined pieces) are exempt from the rules.
    pub(super) fn normalize(&self, text: &str, verbatim: &Trie) -> String {
        let mut rest = text;
        if self.remove_extra_whitespaces {
            while let (" ", consumed) = self.step(rest, verbatim) {
                rest = &rest[consumed..];
            }
        }
        if rest.is_empty() {
            return String::new();
        }

        let mut normalized = String::with_capacity(rest.len() * 3 / 2);
        if self.add_dummy_prefix && !self.whitespace_as_suffix {
            normalized.push_str(self.space);
        }
        let mut after_space = self.remove_extra_whitespaces;
        while !rest.is_empty() {
            let (mut replacement, consumed) = self.step(rest, verbatim);
            rest = &rest[consumed..];
            if after_space {
                replacement = replacement.trim_start_matches(' ');
            }
            if !replacement.is_empty() {
                after_space = self.remove_extra_whitespaces && replacement.ends_with(' ');
                for (index, word) in replacement.split(' ').enumerate() {
                    if index > 0 {
                        normalized.push_str(self.space);
                    }
                    normalized.push_str(word);
                }
            }
        }
        if self.remove_extra_whitespaces {
            normalized.truncate(normalized.trim_end_matches(self.space).len());
        }
        if self.add_dummy_prefix && self.whitespace_as_suffix {
            normalized.push_str(self.space);
        }
        normalized
    }

    /// The replacement of the beginning of `text`, and the number of replaced bytes (0 for an empty text).
    fn step<'a>(&'a self, text: &'a str, verbatim: &Trie) -> (&'a str, usize) {
        if let Some(length) = verbatim.longest_prefix(text) {
            return (&text[..length], length);
        }
        if let Some(rule) = self.charsmap.as_ref().and_then(|charsmap| charsmap.longest_match(text)) {
            return rule;
        }
        let length = text.chars().next().map_or(0, char::len_utf8);
        (&text[..length], length)
    }

    /// Whether encoding adds a leading space or drops leading spaces. Decoding then drops one.
    pub(super) fn changes_leading_space(&self) -> bool {
        self.add_dummy_prefix || self.remove_extra_whitespaces
    }

    pub(super) fn removes_extra_whitespaces(&self) -> bool {
        self.remove_extra_whitespaces
    }
}
