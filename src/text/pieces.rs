//! The tokenizers of T5, Pegasus, mBART, M2M100 and NLLB: a SentencePiece model whose pieces get the family's ids.

use std::collections::HashSet;

use super::added_tokens::{AddedToken, AddedTokens, is_python_space};
use super::clean_up::clean_up;
use super::config::{TokenEntry, TokenizerConfig};
use super::sentencepiece::SPACE;
use super::{SentencePiece, TextError, TokenizerClass, Vocabulary};

/// Text to token ids and back, equal to the classes of transformers 4 that run SentencePiece itself (`T5Tokenizer`, not
/// `T5TokenizerFast`).
///
/// SentencePiece cuts a text into pieces; the family numbers them. T5 uses SentencePiece's ids, Pegasus adds 103, models
/// from fairseq (mBART, NLLB) add 1 and reorder the special tokens, M2M100 has a `vocab.json`.
#[derive(Debug)]
pub(super) struct PieceTokenizer {
    spm: SentencePiece,
    vocabulary: Vocabulary,
    added_tokens: AddedTokens,
    special: HashSet<u32>,
    unknown: u32,
    eos: u32,
    clean_up: bool,
}

/// Names of the tokens with a role.
struct Names<'a> {
    bos: &'a str,
    eos: &'a str,
    unknown: &'a str,
    pad: &'a str,
    mask: &'a str,
    /// Pegasus: mask of a whole sentence.
    sentence_mask: &'a str,
}

impl<'a> Names<'a> {
    fn new(class: TokenizerClass, config: &'a TokenizerConfig) -> Self {
        fn name<'a>(entry: &'a Option<TokenEntry>, default: &'a str) -> &'a str {
            entry.as_ref().map_or(default, TokenEntry::content)
        }
        let mask = if class == TokenizerClass::Pegasus { "<mask_2>" } else { "<mask>" };
        Self {
            bos: name(&config.bos_token, "<s>"),
            eos: config.eos_token(),
            unknown: name(&config.unk_token, "<unk>"),
            pad: name(&config.pad_token, "<pad>"),
            mask: name(&config.mask_token, mask),
            sentence_mask: name(&config.mask_token_sent, "<mask_1>"),
        }
    }
}

/// SentencePiece's own ids, then `<extra_id_N>` in descending order. Returns vocabulary and special tokens.
fn t5(spm: &SentencePiece, names: &Names, extra_ids: u32) -> (Vocabulary, Vec<String>) {
    let mut vocabulary = Vocabulary::of_tokens(pieces(spm, 0, 0));
    let mut special = [names.eos, names.unknown, names.pad].map(str::to_owned).to_vec();
    for index in (0..extra_ids).rev() {
        let token = format!("<extra_id_{index}>");
        vocabulary.id_or_next(&token);
        special.push(token);
    }
    (vocabulary, special)
}

/// Padding, end, two masks and `<unk_N>`, then the pieces after padding and end. Returns vocabulary and special tokens.
fn pegasus(spm: &SentencePiece, names: &Names, offset: u32) -> (Vocabulary, Vec<String>) {
    let mut special = [names.pad, names.eos, names.sentence_mask, names.mask].map(str::to_owned).to_vec();
    special.extend((2..offset).map(|index| format!("<unk_{index}>")));
    special.truncate(offset as usize + 2);
    let first = (0..).zip(special.iter().map(String::as_str));
    let vocabulary = Vocabulary::of_tokens(first.chain(pieces(spm, 2, offset)));
    special.push(names.unknown.to_owned());
    (vocabulary, special)
}

/// Four special tokens in fairseq's order, then the pieces after SentencePiece's three. Returns vocabulary and special tokens.
fn fairseq(spm: &SentencePiece, names: &Names) -> (Vocabulary, Vec<String>) {
    let special = [names.bos, names.pad, names.eos, names.unknown];
    let vocabulary = Vocabulary::of_tokens((0..).zip(special).chain(pieces(spm, 3, 1)));
    (vocabulary, special.map(str::to_owned).into())
}

/// The pieces from `first` on, with `offset` added to their ids.
fn pieces(spm: &SentencePiece, first: u32, offset: u32) -> impl Iterator<Item = (u32, &str)> {
    (first..spm.vocabulary_size() as u32)
        .filter_map(move |id| Some((id.checked_add(offset)?, spm.piece(id)?)))
}

/// Checks the family by the id of its unknown piece.
fn expect_unknown(spm: &SentencePiece, file: &str, id: u32) -> Result<(), TextError> {
    match spm.piece(id) {
        Some("<unk>") => Ok(()),
        found => {
            let reason = format!("piece {id} is {found:?}, not `<unk>`: is it another family's?");
            Err(TextError::Malformed { file: file.to_owned(), reason })
        }
    }
}

impl PieceTokenizer {
    /// # Errors
    /// [`TextError`], naming the file that is damaged or belongs to another family.
    pub(super) fn new(
        class: TokenizerClass,
        (file, spm): (&str, &[u8]),
        vocab: Option<&[u8]>,
        config: &TokenizerConfig,
    ) -> Result<Self, TextError> {
        let spm = SentencePiece::from_bytes(file, spm)?;
        let names = Names::new(class, config);
        let (mut vocabulary, own) = match class {
            TokenizerClass::Pegasus => {
                let offset = config.offset.unwrap_or(103);
                // BigBird-Pegasus's files have a piece for each token, and the unknown one anywhere
                if offset > 0 {
                    expect_unknown(&spm, file, 2)?;
                }
                pegasus(&spm, &names, offset)
            }
            TokenizerClass::MBart | TokenizerClass::MBart50 | TokenizerClass::Nllb => {
                expect_unknown(&spm, file, 0)?;
                fairseq(&spm, &names)
            }
            TokenizerClass::M2M100 => {
                let vocabulary = Vocabulary::from_json("vocab.json", vocab.unwrap_or(b"{}"))?;
                (vocabulary, [names.bos, names.eos, names.unknown, names.pad].map(str::to_owned).into())
            }
            _ => t5(&spm, &names, config.extra_ids.unwrap_or(100)),
        };

        // a later source adds missing tokens only; `added_tokens_decoder` overrides ids
        let languages = class.language_tokens(config);
        languages.iter().for_each(|token| _ = vocabulary.id_or_next(token));
        let own = own.iter().chain(&languages).map(|token| AddedToken::special(token));
        let mut added = [config.special_tokens()?, own.collect()].concat();
        if let TokenizerClass::MBart | TokenizerClass::MBart50 | TokenizerClass::Nllb = class {
            // like a word, it includes the space before it, unless its entry sets `lstrip`
            let lstrip = !matches!(config.mask_token, Some(TokenEntry::Full(_)));
            added.insert(0, AddedToken { lstrip, ..AddedToken::special(names.mask) });
        }
        let numbered = config.added_tokens()?;
        numbered.iter().for_each(|(id, token)| vocabulary.insert(&token.content, *id));
        let id_of = |vocabulary: &Vocabulary, token: &str| {
            let file = if class == TokenizerClass::M2M100 { "vocab.json" } else { file }.to_owned();
            vocabulary.id(token).ok_or_else(|| TextError::MissingToken { file, token: token.to_owned() })
        };
        let (unknown, eos) = (id_of(&vocabulary, names.unknown)?, id_of(&vocabulary, names.eos)?);
        let numbered = numbered.into_iter().map(|(id, token)| (token, id)).collect::<Vec<_>>();
        let added = added.into_iter().map(|token| {
            let id = vocabulary.id_or_next(&token.content);
            (token, id)
        });
        let added_tokens = AddedTokens::new([numbered, added.collect()].concat())?;
        Ok(Self {
            special: added_tokens.special_ids().collect(),
            clean_up: config.clean_up_tokenization_spaces.unwrap_or(false),
            spm,
            vocabulary,
            added_tokens,
            unknown,
            eos,
        })
    }

    /// The ids of a text, without the special tokens around it.
    pub(super) fn encode(&self, text: &str) -> Vec<u32> {
        let id = |piece: &String| self.vocabulary.id(piece).unwrap_or(self.unknown);
        let mut ids = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (part, added, after) = self.added_tokens.split(rest);
            ids.extend(self.spm.encode_as_pieces(part).iter().map(id));
            ids.extend(added);
            rest = after;
        }
        ids
    }

    /// The text of a sequence of ids, without spaces at either end.
    ///
    /// # Errors
    /// [`TextError::UnknownId`]
    pub(super) fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<String, TextError> {
        let mut text = String::new();
        let mut pieces = Vec::new();
        let flush = |text: &mut String, pieces: &mut Vec<&str>| {
            // a word after a special token has its space
            let spaced = !text.is_empty() && pieces.first().is_some_and(|piece| piece.starts_with(SPACE));
            *text += if spaced { " " } else { "" };
            *text += &self.spm.decode_pieces(pieces.drain(..));
        };
        for &id in ids {
            let size = self.vocabulary.size();
            let token = self.vocabulary.token(id).ok_or(TextError::UnknownId { id, size })?;
            if !self.special.contains(&id) {
                pieces.push(token);
            } else if !skip_special_tokens {
                flush(&mut text, &mut pieces);
                text += token;
            }
        }
        flush(&mut text, &mut pieces);
        let text = text.trim_matches(is_python_space);
        Ok(if self.clean_up { clean_up(text) } else { text.to_owned() })
    }

    pub(super) fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    pub(super) fn eos(&self) -> u32 {
        self.eos
    }

    pub(super) fn is_special(&self, id: u32) -> bool {
        self.special.contains(&id)
    }

    /// The special tokens with their ids.
    pub(super) fn special_tokens(&self) -> impl Iterator<Item = (&str, u32)> {
        self.special.iter().filter_map(|&id| Some((self.vocabulary.token(id)?, id)))
    }
}
