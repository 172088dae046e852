//! `vocab.json`: tokens and their ids.

use crate::sorting;
use std::collections::HashMap;
use std::sync::Arc;

use super::TextError;

/// A two-way table of tokens and ids. Ids need not be consecutive.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    ids: HashMap<Arc<str>, u32>,
    tokens: HashMap<u32, Arc<str>>, // not a `Vec`: a single large id in the file must not cost memory
}

impl Vocabulary {
    /// Reads a JSON object of the form `{"token": id, …}`. `file` is its name, for error messages.
    ///
    /// # Errors
    /// [`TextError::Malformed`] or [`TextError::Damaged`] with the position in the file.
    pub fn from_json(file: &str, bytes: &[u8]) -> Result<Self, TextError> {
        let ids: HashMap<String, u32> =
            serde_json::from_slice(bytes).map_err(|error| TextError::of_json(file, &error))?;
        let ids: HashMap<Arc<str>, u32> = ids.into_iter().map(|(token, id)| (token.into(), id)).collect();
        let tokens: HashMap<u32, Arc<str>> = ids.iter().map(|(token, &id)| (id, token.clone())).collect();
        if tokens.len() < ids.len() {
            let reason = "two tokens have the same id".to_owned();
            return Err(TextError::Malformed { file: file.to_owned(), reason });
        }
        Ok(Self { ids, tokens })
    }

    /// Builds the table from pairs. A later pair replaces an earlier one with the same id or token.
    pub(super) fn of_tokens<'a>(tokens: impl IntoIterator<Item = (u32, &'a str)>) -> Self {
        let mut vocabulary = Self { ids: HashMap::new(), tokens: HashMap::new() };
        tokens.into_iter().for_each(|(id, token)| vocabulary.insert(token, id));
        vocabulary
    }

    /// The id of a token. A new token gets the next free id.
    pub(super) fn id_or_next(&mut self, token: &str) -> u32 {
        self.id(token).unwrap_or_else(|| {
            let mut next = self.size() as u32;
            while self.tokens.contains_key(&next) {
                next += 1;
            }
            self.insert(token, next);
            next
        })
    }

    /// Adds a token, or changes its id.
    pub(super) fn insert(&mut self, token: &str, id: u32) {
        let token: Arc<str> = token.into();
        // another token may have its former id by now: files can move many tokens, each to the place of the next
        if let Some(old) = self.ids.insert(token.clone(), id)
            && self.tokens.get(&old) == Some(&token)
        {
            self.tokens.remove(&old);
        }
        self.tokens.insert(id, token);
    }

    /// Number of tokens.
    pub fn size(&self) -> usize {
        self.ids.len()
    }

    /// The id of a token.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.ids.get(token).copied()
    }

    /// The token with this id.
    pub fn token(&self, id: u32) -> Option<&str> {
        self.tokens.get(&id).map(|token| &**token)
    }

    /// The largest id and its token.
    pub fn last(&self) -> (u32, &str) {
        self.tokens.iter().map(|(&id, token)| (id, &**token)).max().unwrap_or_default()
    }

    /// All tokens, in the order of their ids.
    pub fn tokens(&self) -> Vec<(u32, &str)> {
        let mut tokens: Vec<(u32, &str)> = self.tokens.iter().map(|(&id, token)| (id, &**token)).collect();
        sorting::sort(&mut tokens);
        tokens
    }
}
