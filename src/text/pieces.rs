//! The tokenizers of T5, Pegasus, mBART, M2M100 and NLLB: one SentencePiece model and a numbering of its pieces.

use std::collections::HashSet;

use super::added_tokens::{AddedToken, AddedTokens, is_python_space};
use super::clean_up::clean_up;
use super::config::{TokenEntry, TokenizerConfig};
use super::sentencepiece::SPACE;
use super::{SentencePiece, TextError, TokenizerClass, Vocabulary};

/// Text to token ids and back, as the classes of transformers 4 do it that run SentencePiece itself
/// (`T5Tokenizer`, …, not `T5TokenizerFast`).
///
/// The model cuts a text into pieces; which id a piece has is a family's own affair: T5 takes SentencePiece's, Pegasus
/// adds 103, models from fairseq (mBART, NLLB) add 1 and number special tokens in another order, M2M100 has a
/// `vocab.json`.
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
        let name = |entry: &Option<TokenEntry>, default: &str| {
            entry.as_ref().map_or(default, TokenEntry::content).to_owned()
        };
        let (bos, eos) = (name(&config.bos_token, "<s>"), name(&config.eos_token, "</s>"));
        let (unknown, pad) = (name(&config.unk_token, "<unk>"), name(&config.pad_token, "<pad>"));
        let mut own = vec![bos.clone(), eos.clone(), unknown.clone(), pad.clone()]; // special tokens of the class
        let expect_unknown_at = |id: u32| {
            let reason = format!("piece {id} is {:?}, not `<unk>`: is it another family's?", spm.piece(id));
            match spm.piece(id) {
                Some("<unk>") => Ok(()),
                _ => Err(TextError::Malformed { file: file.to_owned(), reason }),
            }
        };
        let pieces = |from: u32, offset: u32| {
            (from..spm.vocabulary_size() as u32)
                .filter_map(|id| Some((id.checked_add(offset)?, spm.piece(id)?)))
                .collect::<Vec<_>>()
        };
        let mask =
            name(&config.mask_token, if class == TokenizerClass::Pegasus { "<mask_2>" } else { "<mask>" });
        let mut vocabulary = match class {
            TokenizerClass::Pegasus => {
                let offset = config.offset.unwrap_or(103).min(1 << 16);
                expect_unknown_at(2)?;
                let sentence_mask = name(&config.mask_token_sent, "<mask_1>");
                let mut first = vec![pad, eos.clone(), sentence_mask, mask.clone()];
                first.extend((2..offset).map(|index| format!("<unk_{index}>")));
                first.truncate(offset as usize + 2);
                own = [&first[..], &[unknown.clone()]].concat();
                let first = (0..).zip(first.iter().map(String::as_str));
                Vocabulary::of_tokens(first.chain(pieces(2, offset)))
            }
            TokenizerClass::MBart | TokenizerClass::MBart50 | TokenizerClass::Nllb => {
                expect_unknown_at(0)?;
                let first = (0..).zip([&*bos, &pad, &eos, &unknown]);
                Vocabulary::of_tokens(first.chain(pieces(3, 1)))
            }
            TokenizerClass::M2M100 => Vocabulary::from_json("vocab.json", vocab.unwrap_or(b"{}"))?,
            _ => {
                let mut vocabulary = Vocabulary::of_tokens(pieces(0, 0));
                for index in (0..config.extra_ids.unwrap_or(100).min(1 << 16)).rev() {
                    own.push(format!("<extra_id_{index}>"));
                    vocabulary.id_or_next(&format!("<extra_id_{index}>"));
                }
                own.retain(|token| *token != bos); // T5 has none
                vocabulary
            }
        };
        let id_of = |vocabulary: &Vocabulary, token: &str| {
            let file = if class == TokenizerClass::M2M100 { "vocab.json" } else { file }.to_owned();
            vocabulary.id(token).ok_or_else(|| TextError::MissingToken { file, token: token.to_owned() })
        };
        let (unknown, eos) = (id_of(&vocabulary, &unknown)?, id_of(&vocabulary, &eos)?);

        // A later source of the same token only adds what is missing; `added_tokens_decoder` has the last word on ids.
        let languages = class.language_tokens(config);
        languages.iter().for_each(|token| _ = vocabulary.id_or_next(token));
        let own = own.iter().chain(&languages).map(|token| AddedToken::special(token));
        let mut added = [config.special_tokens()?, own.collect()].concat();
        if let TokenizerClass::MBart | TokenizerClass::MBart50 | TokenizerClass::Nllb = class {
            // like a word, it comes with the space before it, unless its entry says how it behaves
            let lstrip = !matches!(config.mask_token, Some(TokenEntry::Full(_)));
            added.insert(0, AddedToken { lstrip, ..AddedToken::special(&mask) });
        }
        let numbered = config.added_tokens()?;
        numbered.iter().for_each(|(id, token)| vocabulary.insert(&token.content, *id));
        let numbered = numbered.into_iter().map(|(id, token)| (token, id)).collect::<Vec<_>>();
        let added = added.into_iter().map(|token| {
            let id = vocabulary.id_or_next(&token.content);
            (token, id)
        });
        let added_tokens = AddedTokens::new([numbered, added.collect()].concat());
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
            // between a special token and a word is the word's space
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
