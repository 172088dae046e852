//! Sentence pairs as token ids.

use rayon::prelude::*;

use super::super::Pair;
use super::super::pairs::SentencePair;
use super::options::Options;
use crate::model::Model;
use crate::text::{Direction, TargetRole, TextError, Tokenizer};

/// The languages of `--from` and `--to` in so far as they choose the tokens of a model. A new model, and one for a single pair of
/// languages that its folder does not name, has no such tokens.
pub(super) fn chosen_languages<'a>(options: &'a Options, tokenizer: &Tokenizer) -> [Option<&'a str>; 2] {
    let languages = [&options.from, &options.to].map(Option::as_deref);
    let has_none =
        || matches!(tokenizer.direction(languages[0], languages[1]), Err(TextError::NoLanguages { .. }));
    match options.model.is_none() || (tokenizer.languages().is_empty() && has_none()) {
        true => [None; 2],
        false => languages,
    }
}

/// Pairs as ids, without those that are longer than the model's positions, and the indices of the kept ones.
pub type Encoded = (Vec<Pair>, Vec<usize>);

/// Turns sentence pairs into the ids that a model reads and learns to say.
pub struct Encoder {
    tokenizer: Tokenizer,
    direction: Direction,
    /// The model's positions.
    limit: usize,
}

impl Encoder {
    /// `languages`: the codes of source and target, for models with several.
    ///
    /// # Errors
    /// [`TextError`] if the tokenizer has no such direction.
    pub fn new(model: &Model, tokenizer: Tokenizer, languages: [Option<&str>; 2]) -> Result<Self, TextError> {
        let [from, to] = languages;
        let direction = tokenizer.direction(from, to)?;
        if direction.target.is_some_and(|target| target.token.is_none()) {
            let languages = tokenizer.languages();
            let some = languages[..languages.len().min(6)].join(", ");
            return Err(TextError::NoTargetLanguage { some, count: languages.len() });
        }
        Ok(Self { tokenizer, direction, limit: model.config().positions.longest_input() })
    }

    /// The ids of pairs.
    ///
    /// # Errors
    /// [`TextError`] if a text cannot be cut into tokens.
    pub fn encode(&self, pairs: &[SentencePair]) -> Result<Encoded, TextError> {
        let encoded: Result<Vec<Pair>, TextError> = pairs.par_iter().map(|pair| self.pair(pair)).collect();
        let fits = |pair: &Pair| {
            let lengths = [pair.source.len(), pair.target.len()];
            lengths.iter().all(|length| (1..=self.limit).contains(length))
        };
        let (kept, indices) = encoded?
            .into_iter()
            .enumerate()
            .filter(|(_, pair)| fits(pair))
            .map(|(index, pair)| (pair, index))
            .unzip();
        Ok((kept, indices))
    }

    /// A target begins or ends with its language, as the family's decoder expects it.
    fn pair(&self, SentencePair { source, target }: &SentencePair) -> Result<Pair, TextError> {
        let source = self.tokenizer.encode_source(source, &self.direction)?;
        let mut ids = self.tokenizer.encode_target(target, &self.direction)?;
        if let Some(language) = self.direction.target
            && let Some(token) = language.token
        {
            match language.role {
                TargetRole::ForcedBos => ids.insert(0, token),
                TargetRole::DecoderStart => ids.push(token),
            }
        }
        Ok(Pair { source, target: ids })
    }
}
