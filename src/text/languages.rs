//! Source and target languages, and their effect on ids.

use super::class::TargetRole;
use super::language_search::{Found, find, is_known, is_same};
use super::{TextError, TokenizerClass};
use crate::json_problem::excerpt;
use serde_json::{Map, Value};

/// How a tokenizer selects languages.
#[derive(Debug)]
pub(super) enum Languages {
    /// One fixed language or pair, with its codes if the folder names them.
    Fixed { source: Option<String>, target: Option<String> },
    /// Marian: a tag such as `>>fra<<` before the text selects the target.
    Tags(Vec<String>),
    /// mBART, M2M100, NLLB: a token for each language.
    Codes(Codes),
    /// T5: words before the text select the task. Each has languages.
    Tasks(Vec<Task>),
}

/// Languages with a token each.
#[derive(Debug)]
pub(super) struct Codes {
    pub(super) class: TokenizerClass,
    /// Codes with their tokens' ids, in the order of ids.
    pub(super) codes: Vec<(String, u32)>,
    /// Tokens before and after a text.
    pub(super) around: (Vec<Around>, Vec<Around>),
    pub(super) role: TargetRole,
    /// The default source language.
    pub(super) source: String,
}

/// A token before or after a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    /// The source language's.
    Source,
    /// One that is always the same, such as the end.
    Token(u32),
}

/// A task that a model was trained for, of its `task_specific_params`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// `translation_en_to_de`, `summarization`, …
    pub name: String,
    /// Text before every source text, such as `translate English to German: `; may be empty.
    pub prefix: String,
    /// The other parameters: options of the search.
    pub options: Map<String, Value>,
}

impl Task {
    /// Source and target language of a translation.
    pub fn languages(&self) -> Option<(&str, &str)> {
        self.name.strip_prefix("translation_")?.split_once("_to_")
    }
}

/// A source and a target language, resolved for one tokenizer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Direction {
    /// Text before every source text.
    pub(super) text_prefix: String,
    /// Ids before and after those of a text; `None` for the tokenizer's usual ones.
    pub(super) around: Option<(Vec<u32>, Vec<u32>)>,
    /// The target language for the search, in a model whose translations begin with their language.
    pub target: Option<Target>,
}

impl Direction {
    /// Text before every source text: T5's `translate English to German: `, Marian's `>>fra<<`; mostly empty.
    pub fn text_prefix(&self) -> &str {
        &self.text_prefix
    }

    /// The same with a task's words before every source text.
    ///
    /// # Errors
    /// [`TextError::TaskAndLanguages`] if languages have put other words there.
    pub fn with_task(mut self, task: &Task) -> Result<Self, TextError> {
        if !self.text_prefix.is_empty() && self.text_prefix != task.prefix {
            return Err(TextError::TaskAndLanguages { task: task.name.clone(), words: self.text_prefix });
        }
        self.text_prefix.clone_from(&task.prefix);
        Ok(self)
    }
}

/// The target language of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The option of the search that sets it.
    pub role: TargetRole,
    /// The language's token; `None` if the caller gave no language.
    pub token: Option<u32>,
}

impl Languages {
    /// Languages that the folder does not name.
    pub(super) const FIXED: Self = Self::Fixed { source: None, target: None };

    /// The codes, in the order of their ids. Marian's are target languages; the others are both.
    pub(super) fn codes(&self) -> Vec<&str> {
        match self {
            Self::Fixed { .. } => Vec::new(),
            Self::Tags(tags) => tags.iter().map(|tag| tag_code(tag)).collect(),
            Self::Codes(Codes { codes, .. }) => codes.iter().map(|(code, _)| &**code).collect(),
            Self::Tasks(tasks) => {
                let mut codes: Vec<&str> = Vec::new();
                for code in tasks.iter().filter_map(Task::languages).flat_map(<[&str; 2]>::from) {
                    if !codes.contains(&code) {
                        codes.push(code);
                    }
                }
                codes
            }
        }
    }

    /// # Errors
    /// [`TextError::NoLanguages`], [`TextError::UnknownLanguage`], [`TextError::NoSuchTask`]
    pub(super) fn direction(
        &self,
        source: Option<&str>,
        target: Option<&str>,
    ) -> Result<Direction, TextError> {
        match (self, source, target) {
            (Self::Fixed { source: own_source, target: own_target }, source, target) => {
                for (side, wanted, own) in [("source", source, own_source), ("target", target, own_target)] {
                    match (wanted, own) {
                        (None, _) => {}
                        (Some(wanted), Some(own)) if is_same(wanted, own) => {}
                        (Some(wanted), Some(own)) if is_known(own) => {
                            let (code, only) = (excerpt(wanted), own.clone());
                            return Err(TextError::OnlyLanguage { side, code, only });
                        }
                        // a group of languages, such as `ROMANCE`, is no language
                        (Some(_), _) => return Err(TextError::NoLanguages { side }),
                    }
                }
                Ok(Direction::default())
            }
            (Self::Tags(_), Some(_), _) => Err(TextError::NoLanguages { side: "source" }),
            (Self::Tags(_) | Self::Tasks(_), None, None) => Ok(Direction::default()),
            (Self::Tags(tags), None, Some(code)) => {
                let code = self.known(tag_code(code))?;
                let tag = tags.iter().find(|tag| tag_code(tag) == code).map_or(code, |tag| tag);
                Ok(Direction { text_prefix: format!("{tag} "), ..Direction::default() })
            }
            (Self::Codes(codes), source, target) => {
                let id = |code: &str| Ok(codes.id(self.known(codes.plain(code))?));
                let source = id(source.unwrap_or(&codes.source))?;
                let tokens = |around: &[Around]| {
                    let token = |around: &Around| match *around {
                        Around::Source => source,
                        Around::Token(token) => token,
                    };
                    around.iter().map(token).collect::<Vec<u32>>()
                };
                let token = target.map(id).transpose()?;
                Ok(Direction {
                    around: Some((tokens(&codes.around.0), tokens(&codes.around.1))),
                    target: Some(Target { role: codes.role, token }),
                    ..Direction::default()
                })
            }
            (Self::Tasks(tasks), source, target) => {
                let fits =
                    |wanted: Option<&str>, code: &str| wanted.is_none_or(|wanted| is_same(wanted, code));
                let fits_both = |task: &&Task| {
                    task.languages().is_some_and(|(from, to)| fits(source, from) && fits(target, to))
                };
                let mut found = tasks.iter().filter(fits_both);
                match (found.next(), found.next()) {
                    (Some(task), None) => {
                        Ok(Direction { text_prefix: task.prefix.clone(), ..Direction::default() })
                    }
                    _ => Err(TextError::NoSuchTask {
                        wanted: [source, target]
                            .map(|code| code.map_or("…".to_owned(), excerpt))
                            .join(" to "),
                        known: tasks
                            .iter()
                            .filter_map(Task::languages)
                            .map(|(from, to)| format!("{from} to {to}"))
                            .collect::<Vec<_>>()
                            .join(", "),
                    }),
                }
            }
        }
    }

    /// The model's code for a language, which the caller names by this code, another one, or its name.
    fn known(&self, wanted: &str) -> Result<&str, TextError> {
        let codes = self.codes();
        let near = match find(wanted, &codes) {
            Found::One(code) => return Ok(code),
            Found::Near(near) => near,
        };
        Err(TextError::UnknownLanguage { code: excerpt(wanted), near, count: codes.len() })
    }
}

impl Codes {
    fn id(&self, code: &str) -> u32 {
        self.codes.iter().find(|(known, _)| known == code).map_or(0, |&(_, id)| id)
    }

    /// A code without the marks of its token: `__en__` is `en`.
    fn plain<'a>(&self, code: &'a str) -> &'a str {
        self.class.language_code(code).unwrap_or(code)
    }
}

fn tag_code(tag: &str) -> &str {
    tag.strip_prefix(">>").and_then(|tag| tag.strip_suffix("<<")).unwrap_or(tag)
}
