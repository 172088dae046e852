//! Commands for the engine. Only the last command of each kind counts.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use wordloom::TranslateOptions;
use wordloom::model::{SelfAttentionChoice, Switches};
use wordloom::trace::HeadName;
use wordloom::translate::GlossaryFile;
use wordloom_hub::{Language, Place};

use super::document::Order;
use crate::viewer::Inquiry;

/// The models of a translation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// The model that writes the language between, and that language.
    pub first: Option<(Place, Language)>,
    /// The model that writes the translation.
    pub last: Place,
    /// Source and target, if the user picked them; else the options of a request have codes of the model.
    pub languages: Option<[Language; 2]>,
}

impl Way {
    /// One model, in the languages of the options.
    pub fn of(last: Place) -> Self {
        Self { last, ..Self::default() }
    }
}

/// A text to translate.
pub struct Request {
    /// Number that identifies answers to this text.
    pub number: u64,
    pub text: String,
    pub options: TranslateOptions,
    pub glossary: Option<Arc<GlossaryFile>>,
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

pub enum Command {
    /// Opens models.
    Open(Box<Way>),
    /// Mutes exactly these heads.
    Mute(Vec<HeadName>),
    /// Gives exactly these encoder layers another kind of self-attention.
    Swap(SelfAttentionChoice),
    /// Switches exactly these parts.
    Switch(Switches),
    Translate(Box<Request>),
    Explore(Box<Exploration>),
    /// Says every number of one attention.
    Explain(Box<Inquiry>),
    /// Translates a document, besides what is typed.
    Document(Box<Order>),
    /// Compares the GPU with the CPU.
    Check,
}

/// The pending commands, in the order of execution.
#[derive(Default)]
pub struct Pending {
    pub open: Option<Way>,
    pub mute: Option<Vec<HeadName>>,
    pub swap: Option<SelfAttentionChoice>,
    pub switch: Option<Switches>,
    pub translate: Option<Box<Request>>,
    pub explore: Option<Box<Exploration>>,
    pub explain: Option<Box<Inquiry>>,
    pub document: Option<Box<Order>>,
    pub check: bool,
}

impl Pending {
    /// The first command and all that have arrived since.
    pub fn from(first: Command, received: &Receiver<Command>) -> Self {
        let mut pending = Self::default();
        for command in std::iter::once(first).chain(received.try_iter()) {
            pending.add(command);
        }
        pending
    }

    /// Whether other models are opened, or a model is changed.
    pub fn changes_model(&self) -> bool {
        self.open.is_some() || self.mute.is_some() || self.swap.is_some() || self.switch.is_some()
    }

    fn add(&mut self, command: Command) {
        match command {
            // earlier commands are about the previous model
            Command::Open(way) => {
                *self = Self {
                    open: Some(*way),
                    document: self.document.take(),
                    check: self.check,
                    ..Self::default()
                };
            }
            Command::Mute(heads) => {
                (self.mute, self.translate) = (Some(heads), None);
                (self.explore, self.explain) = (None, None);
            }
            Command::Swap(choice) => {
                (self.swap, self.translate) = (Some(choice), None);
                (self.explore, self.explain) = (None, None);
            }
            Command::Switch(switches) => {
                (self.switch, self.translate) = (Some(switches), None);
                (self.explore, self.explain) = (None, None);
            }
            Command::Translate(request) => {
                (self.translate, self.explore, self.explain) = (Some(request), None, None);
            }
            Command::Explore(exploration) => self.explore = Some(exploration),
            Command::Explain(inquiry) => self.explain = Some(inquiry),
            Command::Document(order) => self.document = Some(order),
            Command::Check => self.check = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translate(number: u64) -> Command {
        let (text, options) = (String::new(), TranslateOptions::default());
        Command::Translate(Box::new(Request { number, text, options, glossary: None }))
    }

    fn explore(number: u64) -> Command {
        let (source_ids, prefix, options) = (vec![5], Vec::new(), TranslateOptions::default());
        Command::Explore(Box::new(Exploration { number, source_ids, prefix, options }))
    }

    fn pending(commands: impl IntoIterator<Item = Command>) -> (bool, bool, Option<u64>, Option<u64>) {
        let mut pending = Pending::default();
        commands.into_iter().for_each(|command| pending.add(command));
        (
            pending.open.is_some(),
            pending.mute.is_some(),
            pending.translate.map(|request| request.number),
            pending.explore.map(|exploration| exploration.number),
        )
    }

    #[test]
    fn outdated_commands_are_dropped() {
        assert_eq!(pending([translate(1), explore(1), translate(2)]), (false, false, Some(2), None));
        assert_eq!(pending([translate(1), explore(1), explore(2)]), (false, false, Some(1), Some(2)));
        assert_eq!(
            pending([translate(1), Command::Mute(Vec::new()), translate(2)]),
            (false, true, Some(2), None)
        );
        assert_eq!(
            pending([Command::Mute(Vec::new()), translate(1), Command::Open(Box::default())]),
            (true, false, None, None),
            "another model has all of its heads"
        );
    }
}
