//! The tokenizer of any model.

use std::borrow::Cow;

use super::byte_tokens::ByteTokenizer;
use super::class::{SourcePlace, TargetRole};
use super::config::TokenizerConfig;
use super::fast::FastTokenizer;
use super::languages::{Around, Codes, Direction, Languages, Task};
use super::pieces::PieceTokenizer;
use super::{FirefoxTokenizer, MarianTokenizer, TextError, TokenizerClass, Vocabulary, split_language_tag};
use crate::json_problem::excerpt;
use crate::sorting;

/// The contents of a tokenizer's files, except Marian's.
#[derive(Debug)]
pub enum TokenizerFiles<'a> {
    /// A SentencePiece model, and M2M100's `vocab.json`.
    SentencePiece {
        /// The model's file name, such as `spiece.model`.
        file: &'a str,
        /// The model.
        model: &'a [u8],
        /// `vocab.json`
        vocab: Option<&'a [u8]>,
    },
    /// Files that Hugging Face's library has read already.
    Fast {
        /// The vocabulary's file name, such as `tokenizer.json`.
        file: &'a str,
        /// The tokenizer.
        tokenizer: Box<dyn FastTokenizer>,
    },
    /// None: bytes are tokens ([`TokenizerClass::ByT5`]).
    Bytes,
}

/// Text to token ids and back for one model, with the special tokens of its family, and its languages.
///
/// A model that was trained with SentencePiece can have a `.spm` file, a `tokenizer.json` that was converted from it, or
/// both. They agree on ordinary text. They differ on unusual strings, such as letters with several accents, because
/// Hugging Face's `Precompiled` normalizer works on grapheme clusters.
#[derive(Debug)]
pub struct Tokenizer {
    kind: Kind,
    languages: Languages,
    tasks: Vec<Task>,
    /// Name of the file.
    origin: String,
}

#[derive(Debug)]
enum Kind {
    Marian(Box<MarianTokenizer>),
    Firefox(Box<FirefoxTokenizer>),
    Pieces(Box<PieceTokenizer>),
    Fast(Box<dyn FastTokenizer>),
    Bytes(Box<ByteTokenizer>),
}

impl From<MarianTokenizer> for Tokenizer {
    fn from(tokenizer: MarianTokenizer) -> Self {
        let tags: Vec<String> = tokenizer.language_tags().into_iter().map(str::to_owned).collect();
        let [source, target] = tokenizer.languages().map(|language| language.map(str::to_owned));
        Self {
            kind: Kind::Marian(Box::new(tokenizer)),
            languages: if tags.is_empty() {
                Languages::Fixed { source, target }
            } else {
                Languages::Tags(tags)
            },
            tasks: Vec::new(),
            origin: "source.spm".to_owned(),
        }
    }
}

impl From<FirefoxTokenizer> for Tokenizer {
    fn from(tokenizer: FirefoxTokenizer) -> Self {
        Self {
            kind: Kind::Firefox(Box::new(tokenizer)),
            languages: Languages::FIXED,
            tasks: Vec::new(),
            origin: "vocab.spm".to_owned(),
        }
    }
}

impl Tokenizer {
    /// Builds a tokenizer of this class from its files' contents. `config` is `tokenizer_config.json`; `tasks` are those of
    /// `config.json`.
    ///
    /// # Errors
    /// [`TextError`] names the file that is damaged or needs an unsupported feature.
    pub fn new(
        class: TokenizerClass,
        files: TokenizerFiles,
        config: Option<&[u8]>,
        tasks: Vec<Task>,
    ) -> Result<Self, TextError> {
        let config = TokenizerConfig::parse(config)?;
        let (kind, origin) = match files {
            TokenizerFiles::SentencePiece { file, model, vocab } => {
                (Kind::Pieces(Box::new(PieceTokenizer::new(class, (file, model), vocab, &config)?)), file)
            }
            TokenizerFiles::Fast { file, tokenizer } => (Kind::Fast(tokenizer), file),
            TokenizerFiles::Bytes => {
                (Kind::Bytes(Box::new(ByteTokenizer::new(&config)?)), "tokenizer_config.json")
            }
        };
        let languages = match &kind {
            _ if tasks.iter().any(is_translation) => {
                Languages::Tasks(tasks.iter().filter(|task| is_translation(task)).cloned().collect())
            }
            Kind::Fast(tokenizer) if class.is_described_by_json() => of_template(&**tokenizer),
            _ => codes(class, &kind, &config, origin)?.map_or(Languages::FIXED, Languages::Codes),
        };
        Ok(Self { kind, languages, tasks, origin: origin.to_owned() })
    }

    /// Name of the tokenizer's file: `source.spm`, `spiece.model`, `tokenizer.json`, …
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Whether Hugging Face's library runs it.
    pub(crate) fn is_fast(&self) -> bool {
        matches!(self.kind, Kind::Fast(_))
    }

    /// The byte that a token stands for, where bytes are tokens.
    pub(crate) fn byte(&self, id: u32) -> Option<u8> {
        match &self.kind {
            Kind::Bytes(tokenizer) => tokenizer.byte(id),
            _ => None,
        }
    }

    /// The tokenizer of a Marian model; `None` for other kinds.
    #[cfg(feature = "training")]
    pub(crate) fn marian(&self) -> Option<&MarianTokenizer> {
        match &self.kind {
            Kind::Marian(tokenizer) => Some(tokenizer),
            _ => None,
        }
    }

    /// The languages that a caller can choose from, in the order of their ids; empty for a model with a fixed pair. Marian's
    /// are target languages.
    pub fn languages(&self) -> Vec<&str> {
        self.languages.codes()
    }

    /// The tasks of the model's configuration.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The name of the task that summarizes, if the model's configuration has one.
    pub fn summarization(&self) -> Option<&'static str> {
        const NAME: &str = "summarization";
        self.tasks.iter().any(|task| task.name == NAME).then_some(NAME)
    }

    /// The task with this name.
    ///
    /// # Errors
    /// [`TextError::UnknownTask`]
    pub fn task(&self, name: &str) -> Result<&Task, TextError> {
        self.tasks.iter().find(|task| task.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.tasks.iter().map(|task| &*task.name).collect();
            let known = match known.is_empty() {
                true => "its config.json has no `task_specific_params`".to_owned(),
                false => format!("it has {}", known.join(", ")),
            };
            TextError::UnknownTask { task: excerpt(name), known }
        })
    }

    /// Resolves languages by the model's own codes: `en_XX` (mBART), `eng_Latn` (NLLB), `en` (M2M100, T5), `fra` (Marian,
    /// target only).
    ///
    /// Without a source language, a model with source languages uses the one of `tokenizer_config.json`, or else English, as
    /// Hugging Face's classes do. [`Direction::target`] shows whether a target language is missing.
    ///
    /// # Errors
    /// [`TextError::UnknownLanguage`] with similar ones, [`TextError::NoSuchTask`], [`TextError::NoLanguages`].
    pub fn direction(&self, source: Option<&str>, target: Option<&str>) -> Result<Direction, TextError> {
        self.languages.direction(source, target)
    }

    /// Splits a leading language tag such as `>>fra<<` off a text, for Marian's tokenizers.
    pub fn split_tag<'a>(&self, text: &'a str) -> (Option<&'a str>, &'a str) {
        match (&self.kind, &self.languages) {
            (Kind::Marian(_), _) | (_, Languages::Tags(_)) => split_language_tag(text),
            _ => (None, text),
        }
    }

    /// Splits the words of a task that translates, such as `translate English to German: `, off a text that begins with them.
    pub(crate) fn split_task<'a>(&self, text: &'a str) -> (Option<&Task>, &'a str) {
        let tasks = self.tasks.iter().filter(|task| is_translation(task));
        let found = tasks.filter_map(|task| Some((task, text.strip_prefix(&*task.prefix)?))).next();
        found.map_or((None, text), |(task, rest)| (Some(task), rest))
    }

    /// The ids of a text: exactly `tokenizer(text).input_ids` in transformers.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_source`], without [`TextError::UnknownLanguageTag`].
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, TextError> {
        match (&self.kind, &self.languages) {
            (Kind::Marian(tokenizer), _) => Ok(tokenizer.encode(text)),
            (Kind::Fast(tokenizer), Languages::Tags(_)) => tokenizer.encode(text, true),
            _ => self.encode_source(text, &self.direction(None, None)?),
        }
    }

    /// The ids of a text to translate, with the special tokens of the family and of the source language.
    ///
    /// # Errors
    /// [`TextError::UnknownLanguageTag`]: a Marian model does not have the text's leading tag. [`TextError::Malformed`]:
    /// `tokenizer.json` cannot encode the text.
    pub fn encode_source(&self, text: &str, direction: &Direction) -> Result<Vec<u32>, TextError> {
        // a tag in the text itself wins
        let text = match (&*direction.text_prefix, self.split_tag(text)) {
            ("", _) | (_, (Some(_), _)) => Cow::Borrowed(text),
            (prefix, (None, text)) => Cow::Owned(format!("{prefix}{text}")),
        };
        let ids = match &self.kind {
            Kind::Marian(tokenizer) => return tokenizer.encode_source(&text),
            Kind::Firefox(tokenizer) => return Ok(tokenizer.encode_source(&text)),
            Kind::Pieces(tokenizer) => match &direction.around {
                Some(_) => tokenizer.encode(&text),
                None => [tokenizer.encode(&text), vec![tokenizer.eos()]].concat(),
            },
            Kind::Bytes(tokenizer) => return Ok(tokenizer.encode_to_end(&text)),
            Kind::Fast(tokenizer) => {
                if let (Some(tag), _) = self.split_tag(&text)
                    && tokenizer.id(tag).is_none()
                {
                    let known = format!("this model has {}", self.languages().join(", "));
                    return Err(TextError::UnknownLanguageTag { tag: excerpt(tag), known: excerpt(&known) });
                }
                tokenizer.encode(&text, direction.around.is_none())?
            }
        };
        Ok(match &direction.around {
            Some((before, after)) => [&before[..], &ids, after].concat(),
            None => ids,
        })
    }

    /// The ids of a translation, or of a text to continue, as the model generates them: with the family's end token, without
    /// the leading language token ([`Direction::target`]).
    ///
    /// # Errors
    /// [`TextError::Malformed`] if `tokenizer.json` cannot encode the text.
    pub fn encode_target(&self, text: &str, direction: &Direction) -> Result<Vec<u32>, TextError> {
        // in `after`, the end token is first
        let end = direction.around.as_ref().map(|(_, after)| after.iter().take(1));
        let ids = match &self.kind {
            Kind::Marian(tokenizer) => return Ok(tokenizer.encode_target(text)),
            Kind::Firefox(tokenizer) => return Ok(tokenizer.encode_target(text)),
            Kind::Bytes(tokenizer) => return Ok(tokenizer.encode_to_end(text)),
            Kind::Pieces(tokenizer) => match end {
                Some(_) => tokenizer.encode(text),
                None => [tokenizer.encode(text), vec![tokenizer.eos()]].concat(),
            },
            Kind::Fast(tokenizer) => tokenizer.encode(text, end.is_none())?,
        };
        Ok(ids.into_iter().chain(end.into_iter().flatten().copied()).collect())
    }

    /// The target ids of words inside a sentence, without special tokens.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_target`].
    pub(crate) fn encode_words(&self, words: &str, direction: &Direction) -> Result<Vec<u32>, TextError> {
        if let Kind::Fast(tokenizer) = &self.kind {
            // byte-level vocabularies write the space before a word with it
            let spaced = tokenizer.encode(&format!(" {words}"), false)?;
            let first = spaced.first().and_then(|&id| tokenizer.token(id));
            return match first.is_some_and(|token| token.starts_with('Ġ')) {
                true => Ok(spaced),
                false => tokenizer.encode(words, false),
            };
        }
        let mut ids = self.encode_target(words, direction)?;
        let end = self.encode_target("", direction)?;
        if !end.is_empty() && ids.ends_with(&end) {
            ids.truncate(ids.len() - end.len());
        }
        Ok(ids)
    }

    /// The text of a sequence of target ids.
    ///
    /// # Errors
    /// [`TextError::UnknownId`]
    pub fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<String, TextError> {
        match &self.kind {
            Kind::Marian(tokenizer) => tokenizer.decode(ids, skip_special_tokens),
            Kind::Firefox(tokenizer) => tokenizer.decode(ids, skip_special_tokens),
            Kind::Pieces(tokenizer) => tokenizer.decode(ids, skip_special_tokens),
            Kind::Fast(tokenizer) => tokenizer.decode(ids, skip_special_tokens),
            Kind::Bytes(tokenizer) => tokenizer.decode(ids, skip_special_tokens),
        }
    }

    /// The source token with this id.
    pub fn source_token(&self, id: u32) -> Option<Cow<'_, str>> {
        match &self.kind {
            Kind::Marian(tokenizer) => tokenizer.source_vocabulary().token(id).map(Cow::Borrowed),
            Kind::Firefox(tokenizer) => tokenizer.source_token(id).map(Cow::Borrowed),
            Kind::Pieces(tokenizer) => tokenizer.vocabulary().token(id).map(Cow::Borrowed),
            Kind::Fast(tokenizer) => tokenizer.token(id).map(Cow::Owned),
            Kind::Bytes(tokenizer) => tokenizer.vocabulary().token(id).map(Cow::Borrowed),
        }
    }

    /// The target token with this id. The vocabulary is the source's, unless a Marian or Firefox model has a separate one.
    pub fn target_token(&self, id: u32) -> Option<Cow<'_, str>> {
        match &self.kind {
            Kind::Marian(tokenizer) => tokenizer.target_vocabulary().token(id).map(Cow::Borrowed),
            Kind::Firefox(tokenizer) => tokenizer.target_token(id).map(Cow::Borrowed),
            _ => self.source_token(id),
        }
    }

    /// Whether a target id stands for no text: an end, a language, padding.
    pub fn is_special(&self, id: u32) -> bool {
        match &self.kind {
            Kind::Marian(tokenizer) => {
                tokenizer.target_vocabulary().token(id).is_some_and(|token| tokenizer.is_special(token))
            }
            Kind::Firefox(tokenizer) => tokenizer.is_special(id),
            Kind::Pieces(tokenizer) => tokenizer.is_special(id),
            Kind::Fast(tokenizer) => tokenizer.is_special(id),
            Kind::Bytes(tokenizer) => tokenizer.is_special(id),
        }
    }

    /// The tokens with the largest ids, of source and target. A model's vocabularies must be larger than these ids.
    pub fn last_tokens(&self) -> [(u32, &str); 2] {
        match &self.kind {
            Kind::Marian(tokenizer) => {
                [tokenizer.source_vocabulary(), tokenizer.target_vocabulary()].map(Vocabulary::last)
            }
            Kind::Firefox(tokenizer) => tokenizer.last_tokens(),
            Kind::Pieces(tokenizer) => [tokenizer.vocabulary().last(); 2],
            Kind::Fast(tokenizer) => [tokenizer.last(); 2],
            Kind::Bytes(tokenizer) => [tokenizer.vocabulary().last(); 2],
        }
    }
}

/// Whether words before a text choose its languages.
fn is_translation(task: &Task) -> bool {
    task.languages().is_some() && !task.prefix.is_empty()
}

/// The languages of a `tokenizer.json` under a generic class, such as `PreTrainedTokenizerFast`. transformers then takes the
/// tokens around a text from the file's post-processor alone; if one of them is a language, it is the source's.
fn of_template(tokenizer: &dyn FastTokenizer) -> Languages {
    use TokenizerClass::{M2M100, MBart, Nllb};

    let special: Vec<(String, u32)> = tokenizer.special_tokens().collect();
    let tags = special.iter().filter(|(token, _)| split_language_tag(token) == (Some(token), ""));
    let mut tags: Vec<(u32, String)> = tags.map(|(token, id)| (*id, token.clone())).collect();
    if !tags.is_empty() {
        sorting::sort(&mut tags);
        return Languages::Tags(tags.into_iter().map(|(_, tag)| tag).collect());
    }
    let Some((before, after)) = tokenizer.template() else { return Languages::FIXED };
    let language = |id: u32| {
        let (token, _) = special.iter().find(|(_, known)| *known == id)?;
        let class = [Nllb, MBart, M2M100].into_iter().find(|class| class.language_code(token).is_some())?;
        Some((class, class.language_code(token)?.to_owned()))
    };
    let Some((class, source)) = before.iter().chain(&after).find_map(|&id| language(id)) else {
        return Languages::FIXED;
    };
    let around = |ids: &[u32]| {
        let around = |&id: &u32| match language(id) {
            Some((_, code)) if code == source => Around::Source,
            _ => Around::Token(id),
        };
        ids.iter().map(around).collect::<Vec<_>>()
    };
    let around = (around(&before), around(&after));
    // mBART's decoder starts with the language; where the language comes first, it is the first token after the start
    let decoder_start = class == MBart && around.1.contains(&Around::Source);
    let role = if decoder_start { TargetRole::DecoderStart } else { TargetRole::ForcedBos };
    let code = |(token, id): &(String, u32)| Some((class.language_code(token)?.to_owned(), *id));
    let mut codes: Vec<(String, u32)> = special.iter().filter_map(code).collect();
    sorting::sort_by_key(&mut codes, |&(_, id)| id);
    Languages::Codes(Codes { class, codes, around, role, source })
}

/// The languages of a class with language tokens.
fn codes(
    class: TokenizerClass,
    kind: &Kind,
    config: &TokenizerConfig,
    file: &str,
) -> Result<Option<Codes>, TextError> {
    let Some((place, role, english)) = class.translation(config) else { return Ok(None) };
    let (special, eos): (Vec<(Cow<str>, u32)>, _) = match kind {
        Kind::Marian(_) | Kind::Firefox(_) | Kind::Bytes(_) => return Ok(None),
        Kind::Pieces(tokenizer) => {
            let special = tokenizer.special_tokens().map(|(token, id)| (token.into(), id));
            (special.collect(), Some(tokenizer.eos()))
        }
        Kind::Fast(tokenizer) => {
            let special = tokenizer.special_tokens().map(|(token, id)| (token.into(), id));
            (special.collect(), tokenizer.id(config.eos_token()))
        }
    };
    let code = |(token, id): &(Cow<str>, u32)| Some((class.language_code(token)?.to_owned(), *id));
    let mut codes: Vec<(String, u32)> = special.iter().filter_map(code).collect();
    sorting::sort_by_key(&mut codes, |&(_, id)| id);
    let missing = |token: &str| TextError::MissingToken { file: file.to_owned(), token: token.to_owned() };
    let eos = eos.ok_or_else(|| missing(config.eos_token()))?;
    let source = config.src_lang.as_deref().unwrap_or(english);
    let source = class.language_code(source).unwrap_or(source).to_owned();
    match codes.is_empty() {
        true => Err(missing(&source)),
        false => {
            let around = match place {
                SourcePlace::Before => (vec![Around::Source], vec![Around::Token(eos)]),
                SourcePlace::After => (Vec::new(), vec![Around::Token(eos), Around::Source]),
            };
            Ok(Some(Codes { class, codes, around, role, source }))
        }
    }
}
