//! Commands for the engine. Only the last command of each kind counts.

use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use wordloom::TranslateOptions;
use wordloom::trace::HeadName;

/// A text to translate.
pub struct Request {
    /// Number that identifies answers to this text.
    pub number: u64,
    pub text: String,
    pub options: TranslateOptions,
}

/// A sentence to search for.
pub struct Exploration {
    /// Number that identifies the answer.
    pub number: u64,
    pub source_ids: Vec<u32>,
    /// The forced beginning of the translation.
    pub prefix: Vec<u32>,
    pub options: TranslateOptions,
}

pub enum Wish {
    /// Opens a folder, or the built-in model.
    Open(Option<PathBuf>),
    /// Mutes exactly these heads.
    Mute(Vec<HeadName>),
    Translate(Box<Request>),
    Explore(Box<Exploration>),
}

/// The pending commands, in the order of execution.
#[derive(Default)]
pub struct Wishes {
    pub open: Option<Option<PathBuf>>,
    pub mute: Option<Vec<HeadName>>,
    pub translate: Option<Box<Request>>,
    pub explore: Option<Box<Exploration>>,
}

impl Wishes {
    /// The first command and all that have arrived since.
    pub fn from(first: Wish, wished: &Receiver<Wish>) -> Self {
        let mut left = Self::default();
        for wish in std::iter::once(first).chain(wished.try_iter()) {
            left.add(wish);
        }
        left
    }

    fn add(&mut self, wish: Wish) {
        match wish {
            // earlier commands are about the previous model
            Wish::Open(folder) => *self = Self { open: Some(folder), ..Self::default() },
            Wish::Mute(heads) => {
                (self.mute, self.translate, self.explore) = (Some(heads), None, None);
            }
            Wish::Translate(request) => (self.translate, self.explore) = (Some(request), None),
            Wish::Explore(exploration) => self.explore = Some(exploration),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translate(number: u64) -> Wish {
        let (text, options) = (String::new(), TranslateOptions::default());
        Wish::Translate(Box::new(Request { number, text, options }))
    }

    fn explore(number: u64) -> Wish {
        let (source_ids, prefix, options) = (vec![5], Vec::new(), TranslateOptions::default());
        Wish::Explore(Box::new(Exploration { number, source_ids, prefix, options }))
    }

    fn left(wishes: impl IntoIterator<Item = Wish>) -> (bool, bool, Option<u64>, Option<u64>) {
        let mut left = Wishes::default();
        wishes.into_iter().for_each(|wish| left.add(wish));
        (
            left.open.is_some(),
            left.mute.is_some(),
            left.translate.map(|request| request.number),
            left.explore.map(|exploration| exploration.number),
        )
    }

    #[test]
    fn what_a_later_wish_makes_out_of_date_is_not_done() {
        assert_eq!(left([translate(1), explore(1), translate(2)]), (false, false, Some(2), None));
        assert_eq!(left([translate(1), explore(1), explore(2)]), (false, false, Some(1), Some(2)));
        assert_eq!(left([translate(1), Wish::Mute(Vec::new()), translate(2)]), (false, true, Some(2), None));
        assert_eq!(
            left([Wish::Mute(Vec::new()), translate(1), Wish::Open(None)]),
            (true, false, None, None),
            "another model has all of its heads"
        );
    }
}
