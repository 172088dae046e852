//! Source and target languages, and their effect on ids.

use super::class::{SourcePlace, TargetRole};
use super::{TextError, TokenizerClass};

/// How a tokenizer selects languages.
#[derive(Debug)]
pub(super) enum Languages {
    /// One fixed language or pair.
    Fixed,
    /// Marian: a tag such as `>>fra<<` before the text selects the target.
    Tags(Vec<String>),
    /// mBART, M2M100, NLLB: a token for each language.
    Codes(Codes),
    /// T5: words before the text select the task.
    Tasks(Vec<Task>),
}

/// Languages with a token each.
#[derive(Debug)]
pub(super) struct Codes {
    pub(super) class: TokenizerClass,
    /// Codes with their tokens' ids, in the order of ids.
    pub(super) codes: Vec<(String, u32)>,
    pub(super) place: SourcePlace,
    pub(super) role: TargetRole,
    /// The default source language.
    pub(super) source: String,
    pub(super) eos: u32,
}

/// A translation that a T5 model was trained for: `translation_en_to_de` of its `task_specific_params`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// `en`
    pub source: String,
    /// `de`
    pub target: String,
    /// `translate English to German: `
    pub prefix: String,
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
    /// The codes, in the order of their ids. Marian's are target languages; the others are both.
    pub(super) fn codes(&self) -> Vec<&str> {
        match self {
            Self::Fixed => Vec::new(),
            Self::Tags(tags) => tags.iter().map(|tag| tag_code(tag)).collect(),
            Self::Codes(Codes { codes, .. }) => codes.iter().map(|(code, _)| &**code).collect(),
            Self::Tasks(tasks) => {
                let mut codes: Vec<&str> = Vec::new();
                for code in tasks.iter().flat_map(|task| [&*task.source, &*task.target]) {
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
            (Self::Fixed | Self::Tags(_), Some(_), _) => Err(TextError::NoLanguages { side: "source" }),
            (Self::Fixed, _, Some(_)) => Err(TextError::NoLanguages { side: "target" }),
            (Self::Fixed | Self::Tags(_) | Self::Tasks(_), None, None) => Ok(Direction::default()),
            (Self::Tags(tags), None, Some(code)) => {
                let tag = tags.iter().find(|tag| *tag == code || tag_code(tag) == code);
                let tag = tag.ok_or_else(|| self.unknown(code))?;
                Ok(Direction { text_prefix: format!("{tag} "), ..Direction::default() })
            }
            (Self::Codes(codes), source, target) => {
                let id = |code: &str| codes.id(code).ok_or_else(|| self.unknown(code));
                let source = vec![id(source.unwrap_or(&codes.source))?];
                let around = match codes.place {
                    SourcePlace::Before => (source, vec![codes.eos]),
                    SourcePlace::After => (Vec::new(), [&[codes.eos], &source[..]].concat()),
                };
                let token = target.map(id).transpose()?;
                Ok(Direction {
                    around: Some(around),
                    target: Some(Target { role: codes.role, token }),
                    ..Direction::default()
                })
            }
            (Self::Tasks(tasks), source, target) => {
                let fits = |wanted: Option<&str>, code: &str| wanted.is_none_or(|wanted| wanted == code);
                let mut found =
                    tasks.iter().filter(|task| fits(source, &task.source) && fits(target, &task.target));
                match (found.next(), found.next()) {
                    (Some(task), None) => {
                        Ok(Direction { text_prefix: task.prefix.clone(), ..Direction::default() })
                    }
                    _ => Err(TextError::NoSuchTask {
                        wanted: format!("{} to {}", source.unwrap_or("…"), target.unwrap_or("…")),
                        known: tasks
                            .iter()
                            .map(|task| format!("{} to {}", task.source, task.target))
                            .collect::<Vec<_>>()
                            .join(", "),
                    }),
                }
            }
        }
    }

    fn unknown(&self, code: &str) -> TextError {
        let codes = self.codes();
        let (count, near) = (codes.len(), near(code, &codes));
        TextError::UnknownLanguage { code: code.to_owned(), near: near.join(", "), count }
    }
}

impl Codes {
    fn id(&self, code: &str) -> Option<u32> {
        let code = self.class.language_code(code).unwrap_or(code); // `__en__` is `en`
        self.codes.iter().find(|(known, _)| known == code).map(|&(_, id)| id)
    }
}

fn tag_code(tag: &str) -> &str {
    tag.strip_prefix(">>").and_then(|tag| tag.strip_suffix("<<")).unwrap_or(tag)
}

/// Codes with a common prefix with `code`, longest prefix first; the first codes if there is none.
fn near<'a>(code: &str, codes: &[&'a str]) -> Vec<&'a str> {
    const SHOWN: usize = 6;
    let common = |other: &str| {
        let same = |(a, b): &(char, char)| a.eq_ignore_ascii_case(b);
        code.trim_start_matches('_').chars().zip(other.chars()).take_while(same).count()
    };
    let mut near: Vec<&str> = codes.iter().copied().filter(|other| common(other) >= 2).collect();
    near.sort_by_key(|other| std::cmp::Reverse(common(other)));
    if near.is_empty() {
        near = codes.to_vec();
    }
    near.truncate(SHOWN);
    near
}
