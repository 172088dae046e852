//! The tokenizer of Marian (OPUS-MT) models: two SentencePiece models and one vocabulary.

use super::added_tokens::{AddedToken, AddedTokens, is_python_space};
use super::clean_up::clean_up;
use super::config::{TokenEntry, TokenizerConfig};
use super::sentencepiece::SPACE;
use super::{SentencePiece, TextError, Vocabulary};
use crate::json_problem::excerpt;

/// The contents of a Marian tokenizer's files.
#[derive(Clone, Copy, Debug)]
pub struct MarianFiles<'a> {
    /// `source.spm`
    pub source_spm: &'a [u8],
    /// `target.spm`
    pub target_spm: &'a [u8],
    /// `vocab.json`
    pub vocab: &'a [u8],
    /// `target_vocab.json`, needed when the configuration sets `separate_vocabs`.
    pub target_vocab: Option<&'a [u8]>,
    /// `tokenizer_config.json`
    pub config: Option<&'a [u8]>,
}

/// Text to token ids and back, equal to Hugging Face's `MarianTokenizer` (transformers 5.23).
///
/// `source.spm` cuts a text into pieces, `vocab.json` numbers them. The literal text of a special token
/// (`</s>`, `<unk>`, `<pad>`) becomes that token.
#[derive(Debug)]
pub struct MarianTokenizer {
    source_spm: SentencePiece,
    target_spm: SentencePiece,
    vocabulary: Vocabulary,
    target_vocabulary: Option<Vocabulary>,
    added_tokens: AddedTokens,
    unknown: u32,
    eos: u32,
    pad: u32,
    clean_up: bool,
    /// Source and target language, if the configuration names them.
    languages: [Option<String>; 2],
}

impl MarianTokenizer {
    /// Builds the tokenizer from its files' contents.
    ///
    /// # Errors
    /// [`TextError`], naming the file that is damaged, missing, or asks for something unsupported.
    pub fn new(files: MarianFiles) -> Result<Self, TextError> {
        let config = TokenizerConfig::parse(files.config)?;
        let mut vocabulary = Vocabulary::from_json("vocab.json", files.vocab)?;
        let separate = config.separate_vocabs.unwrap_or(false);
        let mut target_vocabulary = match (separate, files.target_vocab) {
            (false, _) => None,
            (true, None) => return Err(TextError::MissingTargetVocabulary),
            (true, Some(bytes)) => Some(Vocabulary::from_json("target_vocab.json", bytes)?),
        };

        let name = |entry: &Option<TokenEntry>, default: &str| {
            entry.as_ref().map_or(default, TokenEntry::content).to_owned()
        };
        let unk_token = name(&config.unk_token, "<unk>");
        if vocabulary.id(&unk_token).is_none() {
            return Err(TextError::MissingToken { file: "vocab.json".to_owned(), token: unk_token });
        }

        let mut added_tokens = Vec::new();
        for (id, token) in config.added_tokens()? {
            for vocabulary in std::iter::once(&mut vocabulary).chain(&mut target_vocabulary) {
                vocabulary.insert(&token.content, id);
            }
            added_tokens.push((token, id));
        }
        // A special token that the vocabulary lacks gets the next id. (OPUS-MT models have them all.)
        let mut special = |content: String| {
            let id = vocabulary.id_or_next(&content);
            added_tokens.push((AddedToken::special(&content), id));
            id
        };
        let eos = special(name(&config.eos_token, "</s>"));
        let unknown = special(unk_token);
        let pad = special(name(&config.pad_token, "<pad>"));
        config.roles_and_others()?.1.into_iter().for_each(|token| _ = special(token.content));

        Ok(Self {
            source_spm: SentencePiece::from_bytes("source.spm", files.source_spm)?,
            target_spm: SentencePiece::from_bytes("target.spm", files.target_spm)?,
            vocabulary,
            target_vocabulary,
            added_tokens: AddedTokens::new(added_tokens)?,
            unknown,
            eos,
            pad,
            clean_up: config.clean_up_tokenization_spaces.unwrap_or(false),
            languages: [config.source_lang, config.target_lang],
        })
    }

    /// The ids of a source text, ended by the end-of-sentence token: exactly what `tokenizer(text).input_ids`
    /// is.
    ///
    /// A leading `>>…<<` with any content is one token; if the vocabulary lacks it, it is the unknown token. For
    /// translation, [`encode_source`](Self::encode_source) is safer.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        self.encode_into(&mut ids, text, (&self.source_spm, &self.vocabulary), split_marked);
        ids.push(self.eos);
        ids
    }

    /// The ids of a text to translate: as [`encode`](Self::encode), but no text is lost.
    ///
    /// Only a leading tag without spaces (`>>fra<<`, `>>cmn_Hans<<`) is a language tag. Any other text that begins with `>>`
    /// is text.
    ///
    /// # Errors
    /// [`TextError::UnknownLanguageTag`], with some known tags.
    pub fn encode_source(&self, text: &str) -> Result<Vec<u32>, TextError> {
        let (tag, text) = split_language_tag(text);
        let mut ids = Vec::new();
        if let Some(tag) = tag {
            let id = self.vocabulary.id(tag);
            ids.push(id.ok_or_else(|| TextError::UnknownLanguageTag {
                tag: excerpt(tag),
                known: self.known_tags(),
            })?);
        }
        self.encode_into(&mut ids, text, (&self.source_spm, &self.vocabulary), |part| (None, part));
        ids.push(self.eos);
        Ok(ids)
    }

    /// The ids of a translation, ended by the end-of-sentence token: what `tokenizer(text_target=text).input_ids` is.
    pub fn encode_target(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        self.encode_into(&mut ids, text, (&self.target_spm, self.target_vocabulary()), split_marked);
        ids.push(self.eos);
        ids
    }

    /// Appends the ids of `text`. `split_tag` splits a leading language tag off each part between added tokens.
    fn encode_into(
        &self,
        ids: &mut Vec<u32>,
        text: &str,
        (spm, vocabulary): (&SentencePiece, &Vocabulary),
        split_tag: fn(&str) -> (Option<&str>, &str),
    ) {
        let id = |token: &str| vocabulary.id(token).unwrap_or(self.unknown);
        let mut rest = text;
        while !rest.is_empty() {
            let (part, added, after) = self.added_tokens.split(rest);
            let (tag, part) = split_tag(part);
            ids.extend(tag.map(id));
            let pieces = spm.encode_as_pieces(part);
            ids.extend(pieces.iter().map(|piece| id(piece)));
            ids.extend(added);
            rest = after;
        }
    }

    /// The text of a sequence of target ids, through `target.spm`, without spaces at either end.
    ///
    /// transformers 5 uses `source.spm` unless the vocabularies are separate. The results can differ by a space beside a
    /// special token that is not skipped.
    ///
    /// # Errors
    /// [`TextError::UnknownId`]
    pub fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<String, TextError> {
        let vocabulary = self.target_vocabulary();
        let mut text = String::new();
        let mut pieces = Vec::new();
        for &id in ids {
            let token = vocabulary.token(id).ok_or(TextError::UnknownId { id, size: vocabulary.size() })?;
            if !self.is_special(token) {
                pieces.push(token);
            } else if !skip_special_tokens {
                text += &self.target_spm.decode_pieces(pieces.drain(..));
                text += token;
                text.push(' ');
            }
        }
        text += &self.target_spm.decode_pieces(pieces);
        let text = text.replace(SPACE, " ");
        let text = text.trim_matches(is_python_space);
        Ok(if self.clean_up { clean_up(text) } else { text.to_owned() })
    }

    /// Source and target language of `tokenizer_config.json`; `None` if it does not name them.
    pub fn languages(&self) -> [Option<&str>; 2] {
        self.languages.each_ref().map(Option::as_deref)
    }

    /// The language tags of the source vocabulary (`>>fra<<`, …) in the order of their ids; empty if the model has one
    /// target language.
    pub fn language_tags(&self) -> Vec<&str> {
        let tokens = self.vocabulary.tokens().into_iter().map(|(_, token)| token);
        tokens.filter(|token| split_marked(token) == (Some(token), "")).collect()
    }

    fn known_tags(&self) -> String {
        let tags = self.language_tags();
        match tags.as_slice() {
            [] => "this model has none: it translates to one language".to_owned(),
            [_, _, _, _, _, _, _, _, _, ..] => {
                format!("this model has {}, … ({} in all)", tags[..8].join(", "), tags.len())
            }
            few => format!("this model has {}", few.join(", ")),
        }
    }

    /// The ids that the text of a piece of another vocabulary is cut into, U+2581 for spaces; without unknown parts. Of the
    /// cuts by `source.spm` and `target.spm`, the one with fewer pieces.
    #[cfg(feature = "training")]
    pub(crate) fn ids_of_piece(&self, piece: &str) -> Vec<u32> {
        let cut = |spm: &SentencePiece| -> Vec<u32> {
            let pieces = spm.pieces_of_normalized(piece).into_iter();
            pieces.filter_map(|piece| self.vocabulary.id(piece)).filter(|&id| id != self.unknown).collect()
        };
        let (source, target) = (cut(&self.source_spm), cut(&self.target_spm));
        match source.is_empty() || (!target.is_empty() && target.len() < source.len()) {
            true => target,
            false => source,
        }
    }

    /// The tokens of the source text and their ids.
    pub fn source_vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// The tokens of translations and their ids: the source vocabulary, unless the model has a separate one.
    pub fn target_vocabulary(&self) -> &Vocabulary {
        self.target_vocabulary.as_ref().unwrap_or(&self.vocabulary)
    }

    /// Whether a token is the end-of-sentence, unknown or padding token rather than text.
    pub fn is_special(&self, token: &str) -> bool {
        let id = self.vocabulary.id(token);
        [self.eos, self.unknown, self.pad].iter().any(|&special| id == Some(special))
    }

    /// Id of the end-of-sentence token.
    pub fn eos_id(&self) -> u32 {
        self.eos
    }

    /// Id of the unknown token.
    pub fn unknown_id(&self) -> u32 {
        self.unknown
    }

    /// Id of the padding token.
    pub fn pad_id(&self) -> u32 {
        self.pad
    }
}

/// Splits a leading `>>…<<` with any content off.
fn split_marked(text: &str) -> (Option<&str>, &str) {
    match text.find("<<") {
        Some(end) if text.starts_with(">>") => {
            let (tag, rest) = text.split_at(end + 2);
            (Some(tag), rest)
        }
        _ => (None, text),
    }
}

/// Splits a leading language tag such as `>>fra<<` or `>>cmn_Hans<<` off a text: `(tag, rest)`.
pub fn split_language_tag(text: &str) -> (Option<&str>, &str) {
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-@.".contains(c));
    match split_marked(text) {
        (Some(tag), rest) if is_name(&tag[2..tag.len() - 2]) => (Some(tag), rest),
        _ => (None, text),
    }
}
