//! Tokenizers that Hugging Face's own library runs: `tokenizer.json`, and the vocabularies of older folders.

use serde_json::Value;
use tokenizers::models::{bpe::BPE, wordpiece::WordPiece};
use tokenizers::normalizers::{BertNormalizer, NormalizerWrapper};
use tokenizers::pre_tokenizers::{PreTokenizerWrapper, bert::BertPreTokenizer, byte_level::ByteLevel};
use tokenizers::processors::template::TemplateProcessing;
use tokenizers::processors::{bert::BertProcessing, roberta::RobertaProcessing};

use super::added_tokens::AddedToken;
use super::clean_up::clean_up;
use super::config::{TokenEntry, TokenizerConfig};
use super::fast::FastTokenizer;
use super::guard::guarded;
use super::{TextError, TokenizerClass, json_limits};
use crate::json_problem::plain;

const JSON: &str = "tokenizer.json";

/// A tokenizer as transformers' classes build it on Hugging Face's library.
#[derive(Debug)]
pub struct HuggingFaceTokenizer {
    inner: tokenizers::Tokenizer,
    /// The ids of special tokens, ascending.
    special: Vec<u32>,
    /// The token with the largest id.
    last: (u32, String),
    clean_up: bool,
    /// Name of the file, for messages.
    file: &'static str,
}

/// The file or files with the vocabulary.
#[derive(Clone, Copy, Debug)]
pub enum FastVocabulary<'a> {
    /// `tokenizer.json`, which describes everything.
    Json(&'a [u8]),
    /// `vocab.json` and `merges.txt`: byte pairs of GPT-2, RoBERTa, BART and LED.
    BytePairs {
        /// `vocab.json`
        vocab: &'a [u8],
        /// `merges.txt`
        merges: &'a [u8],
    },
    /// `vocab.txt`: BERT's pieces, one a line.
    WordPieces(&'a [u8]),
}

impl FastVocabulary<'_> {
    /// Name of the file, as messages have it.
    pub fn file(&self) -> &'static str {
        match self {
            Self::Json(_) => JSON,
            Self::BytePairs { .. } => "vocab.json",
            Self::WordPieces(_) => "vocab.txt",
        }
    }
}

impl HuggingFaceTokenizer {
    /// Builds what `from_pretrained` of transformers builds for this class. `config` is `tokenizer_config.json`.
    ///
    /// # Errors
    /// [`TextError`] with the file that is damaged.
    pub fn new(
        class: TokenizerClass,
        vocabulary: FastVocabulary,
        config: Option<&[u8]>,
    ) -> Result<Self, TextError> {
        let mut config = TokenizerConfig::parse(config)?;
        let file = vocabulary.file();
        let library = Library { file };
        let mut inner = match vocabulary {
            FastVocabulary::Json(bytes) => library.parse(bytes)?,
            FastVocabulary::BytePairs { vocab, merges } => {
                config.set_default_tokens(class);
                library.byte_pairs(vocab, merges)?
            }
            FastVocabulary::WordPieces(vocab) => {
                config.set_default_tokens(class);
                library.word_pieces(vocab, &config)?
            }
        };
        // transformers ignores the file's truncation and padding unless a call requests them
        library.call(|| inner.with_truncation(None).map(|_| ()))?;
        inner.with_padding(None);
        library.follow_class(&mut inner, class, &config)?;
        library.add_tokens(&mut inner, class, &config)?;
        if !matches!(vocabulary, FastVocabulary::Json(_)) {
            library.add_template(&mut inner, class, &config)?;
        }
        let special = inner.get_added_tokens_decoder();
        let mut special: Vec<u32> =
            special.into_iter().filter(|(_, token)| token.special).map(|(id, _)| id).collect();
        special.sort_unstable();
        let last = inner.get_vocab(true).into_iter().map(|(token, id)| (id, token)).max();
        let wordy = !matches!(inner.get_model(), tokenizers::ModelWrapper::BPE(_));
        Ok(Self {
            special,
            last: last.ok_or_else(|| library.malformed("it has no tokens"))?,
            // not for byte-level text, where it would remove wanted spaces; transformers does the same
            clean_up: wordy && config.clean_up_tokenization_spaces.unwrap_or(false),
            inner,
            file,
        })
    }
}

impl FastTokenizer for HuggingFaceTokenizer {
    fn encode(&self, text: &str, add_special_tokens: bool) -> Result<Vec<u32>, TextError> {
        let library = Library { file: self.file };
        let encoding = library.call(|| self.inner.encode_fast(text, add_special_tokens))?;
        Ok(encoding.get_ids().to_vec())
    }

    fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<String, TextError> {
        if let Some(&id) = ids.iter().find(|&&id| self.token(id).is_none()) {
            return Err(TextError::UnknownId { id, size: self.inner.get_vocab_size(true) });
        }
        if ids.iter().all(|&id| skip_special_tokens && self.special.binary_search(&id).is_ok()) {
            return Ok(String::new()); // at which some decoders of the library panic
        }
        let library = Library { file: self.file };
        let text = library.call(|| self.inner.decode(ids, skip_special_tokens))?;
        Ok(if self.clean_up { clean_up(&text) } else { text })
    }

    fn token(&self, id: u32) -> Option<String> {
        self.inner.id_to_token(id)
    }

    fn id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    fn last(&self) -> (u32, &str) {
        (self.last.0, &self.last.1)
    }

    fn special_ids(&self) -> &[u32] {
        &self.special
    }
}

fn normalizer(config: &TokenizerConfig) -> BertNormalizer {
    BertNormalizer::new(
        true,
        config.tokenize_chinese_chars.unwrap_or(true),
        config.strip_accents,
        config.do_lower_case.unwrap_or(true),
    )
}

/// Whether two tokens are equal in everything that `tokenizer_config.json` says of a token.
fn same(one: &tokenizers::AddedToken, other: &tokenizers::AddedToken) -> bool {
    let flags = |token: &tokenizers::AddedToken| {
        [token.lstrip, token.rstrip, token.single_word, token.normalized, token.special]
    };
    one.content == other.content && flags(one) == flags(other)
}

impl AddedToken {
    fn for_library(&self) -> tokenizers::AddedToken {
        tokenizers::AddedToken::from(self.content.clone(), self.special)
            .lstrip(self.lstrip)
            .rstrip(self.rstrip)
            .single_word(self.single_word)
            .normalized(self.normalized)
    }
}

/// Hugging Face's library, reading this file.
struct Library {
    file: &'static str,
}

impl Library {
    /// Parses `tokenizer.json`, after a check of the parts that the library would trust.
    fn parse(&self, bytes: &[u8]) -> Result<tokenizers::Tokenizer, TextError> {
        let _: serde::de::IgnoredAny =
            serde_json::from_slice(bytes).map_err(|error| TextError::of_json(self.file, &error))?;
        json_limits::check(bytes).map_err(|reason| self.malformed(reason))?;
        self.call(|| tokenizers::Tokenizer::from_bytes(bytes))
    }

    /// GPT-2's byte pairs, as `GPT2Tokenizer` and `RobertaTokenizer` build them.
    fn byte_pairs(&self, vocab: &[u8], merges: &[u8]) -> Result<tokenizers::Tokenizer, TextError> {
        let entries: serde_json::Map<String, Value> =
            serde_json::from_slice(vocab).map_err(|error| TextError::of_json(self.file, &error))?;
        let id_of = |(token, id): (&String, &Value)| {
            let whole = id.as_u64().and_then(|id| u32::try_from(id).ok());
            let id =
                whole.ok_or_else(|| self.malformed(format!("the id of {token:?} is not a whole number")))?;
            Ok((token.clone(), id))
        };
        let ids = entries.iter().map(id_of).collect::<Result<Vec<_>, _>>()?;
        let merges = pairs_of(merges)?;
        // the library would panic
        let is_known = |(one, other): &(String, String)| {
            [one, other, &format!("{one}{other}")].iter().all(|token| entries.contains_key(*token))
        };
        if let Some((one, other)) = merges.iter().find(|pair| !is_known(pair)) {
            let reason = format!("it joins {one:?} and {other:?}, which are not all in vocab.json");
            return Err(TextError::Malformed { file: MERGES.to_owned(), reason });
        }
        let model = self.call(|| Ok(BPE::new(ids.into_iter().collect(), merges)))?;
        let mut inner = tokenizers::Tokenizer::new(model);
        inner.with_pre_tokenizer(Some(ByteLevel::new(false, true, true)));
        inner.with_decoder(Some(ByteLevel::default()));
        Ok(inner)
    }

    /// BERT's pieces, as `BertTokenizer` builds them.
    fn word_pieces(
        &self,
        vocab: &[u8],
        config: &TokenizerConfig,
    ) -> Result<tokenizers::Tokenizer, TextError> {
        let unknown = config.unk_token.as_ref().map_or("[UNK]", |token| token.content()).to_owned();
        let model = self
            .call(|| WordPiece::builder().vocab(WordPiece::read_bytes(vocab)?).unk_token(unknown).build())?;
        let mut inner = tokenizers::Tokenizer::new(model);
        self.call(|| inner.with_normalizer(Some(normalizer(config))).map(|_| ()))?;
        inner.with_pre_tokenizer(Some(BertPreTokenizer));
        inner.with_decoder(Some(tokenizers::decoders::wordpiece::WordPiece::new("##".into(), true)));
        Ok(inner)
    }

    /// transformers takes these from the class and `tokenizer_config.json`, whatever `tokenizer.json` says.
    fn follow_class(
        &self,
        inner: &mut tokenizers::Tokenizer,
        class: TokenizerClass,
        config: &TokenizerConfig,
    ) -> Result<(), TextError> {
        match class {
            TokenizerClass::Gpt2 | TokenizerClass::Roberta => {
                if let Some(PreTokenizerWrapper::ByteLevel(level)) = inner.get_pre_tokenizer() {
                    let level = level.add_prefix_space(config.add_prefix_space.unwrap_or(false));
                    inner.with_pre_tokenizer(Some(level));
                }
            }
            TokenizerClass::Bert => {
                if let Some(NormalizerWrapper::BertNormalizer(_)) = inner.get_normalizer() {
                    self.call(|| inner.with_normalizer(Some(normalizer(config))).map(|_| ()))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds the tokens of `tokenizer_config.json` and of the class, which are special even if the file does not mark them.
    fn add_tokens(
        &self,
        inner: &mut tokenizers::Tokenizer,
        class: TokenizerClass,
        config: &TokenizerConfig,
    ) -> Result<(), TextError> {
        let known: Vec<_> = inner.get_added_tokens_decoder().into_values().collect();
        let (roles, others) = config.roles_and_others()?;
        let is_in =
            |tokens: &[AddedToken], content: &str| tokens.iter().any(|token| token.content == content);
        // as `TokenizersBackend`: entries with an id are added where they differ, names where there is no such token
        let mut added: Vec<tokenizers::AddedToken> = Vec::new();
        for (_, token) in config.added_tokens()? {
            let token_here = token.for_library();
            if known.iter().any(|known| same(known, &token_here)) {
                continue;
            }
            let special = token.special || is_in(&roles, &token.content);
            added.push(token_here.special(special));
        }
        let languages = class.language_tokens(config).into_iter();
        let languages = languages.filter(|token| inner.token_to_id(token).is_some());
        let mut by_name = [roles, others].concat();
        let named = by_name.len();
        by_name.extend(languages.map(|token| AddedToken::special(&token)));
        for (index, token) in by_name.into_iter().enumerate() {
            let is_there = |other: &tokenizers::AddedToken| other.content == token.content;
            // languages have to be special, because the classes know them
            let is_language = index >= named;
            let is_known = known.iter().any(|known| is_there(known) && (known.special || !is_language));
            if !is_known && !added.iter().any(is_there) {
                added.push(token.for_library());
            }
        }
        for token in added {
            self.call(|| match token.special {
                true => inner.add_special_tokens([token]),
                false => inner.add_tokens([token]),
            })?;
        }
        Ok(())
    }

    /// Adds the tokens around a text that the class defines.
    fn add_template(
        &self,
        inner: &mut tokenizers::Tokenizer,
        class: TokenizerClass,
        config: &TokenizerConfig,
    ) -> Result<(), TextError> {
        let id_of = |token: &Option<TokenEntry>| {
            let token = token.as_ref()?.content();
            Some((token.to_owned(), inner.token_to_id(token)?))
        };
        match (class, id_of(&config.sep_token), id_of(&config.cls_token)) {
            (TokenizerClass::Roberta, Some(sep), Some(cls)) => {
                let prefix_space = config.add_prefix_space.unwrap_or(false);
                let around = RobertaProcessing::new(sep, cls).add_prefix_space(prefix_space);
                inner.with_post_processor(Some(around));
            }
            (TokenizerClass::Bert, Some(sep), Some(cls)) => {
                inner.with_post_processor(Some(BertProcessing::new(sep, cls)));
            }
            (TokenizerClass::Gpt2, ..) => {
                let asked = |token, asked: Option<bool>| id_of(token).filter(|_| asked == Some(true));
                let begin = asked(&config.bos_token, config.add_bos_token);
                let end = asked(&config.eos_token, config.add_eos_token);
                let name =
                    |token: &Option<(String, u32)>| token.iter().map(|(token, _)| token.clone()).collect();
                let template: Vec<String> = [name(&begin), vec!["$A".to_owned()], name(&end)].concat();
                let tokens: Vec<(String, u32)> = begin.into_iter().chain(end).collect();
                if !tokens.is_empty() {
                    let around = self.call(|| {
                        let mut builder = TemplateProcessing::builder();
                        Ok(builder.try_single(template)?.special_tokens(tokens).build()?)
                    })?;
                    inner.with_post_processor(Some(around));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn malformed(&self, reason: impl ToString) -> TextError {
        TextError::Malformed { file: self.file.to_owned(), reason: reason.to_string() }
    }

    /// Calls the library. Its errors and its panics are errors of the file.
    fn call<T>(&self, call: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, TextError> {
        let called = guarded(call).map_err(|panic| self.malformed(panic))?;
        called.map_err(|error| self.malformed(plain(&error.to_string())))
    }
}

const MERGES: &str = "merges.txt";

/// The pairs of a `merges.txt`, in order.
fn pairs_of(merges: &[u8]) -> Result<Vec<(String, String)>, TextError> {
    let malformed = |reason: String| TextError::Malformed { file: MERGES.to_owned(), reason };
    let text = std::str::from_utf8(merges).map_err(|error| malformed(error.to_string()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with("#version"));
    let pairs = lines.map(|(index, line)| match line.split_once(' ') {
        Some((one, other)) if !other.contains(' ') => Ok((one.to_owned(), other.to_owned())),
        _ => Err(malformed(format!("line {} is not two tokens with a space between them", index + 1))),
    });
    pairs.collect()
}
