//! The file of substitutions: lists of names, places, days and numbers for two languages.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::rules::{Elision, Endings};
use crate::json_problem::{excerpt, json_problem};
use crate::train::random::Stream;

/// The reason why a file makes no substitutions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum SubstitutionError {
    #[error("{file}: {problem}; docs/training.md describes the file")]
    Json { file: String, problem: String },
    #[error(
        "{file} has lists for {one} and {other}, but the training is from {from} to {to}; give --from and --to, or \
         another file"
    )]
    Languages { file: String, one: String, other: String, from: String, to: String },
    #[error("{file}: {place}: {problem}")]
    Place { file: String, place: String, problem: String },
}

/// One word or several with the same meaning: the first one is put in, all are found.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Forms {
    One(String),
    Several(Vec<String>),
}

/// A word that both languages share, or the words of both.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum RawEntry {
    Same(String),
    Both([Forms; 2]),
}

/// Entries, or the name of a list.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum RawEntries {
    List(String),
    Entries(Vec<RawEntry>),
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGroup {
    name: String,
    share: f64,
    find: RawEntries,
    put: Option<RawEntries>,
    surnames: Option<RawNames>,
    titles: Option<RawNames>,
    invented: Option<RawInvented>,
    #[serde(default = "yes")]
    elides: bool,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNames {
    share: f64,
    list: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawInvented {
    share: f64,
    letters: Vec<String>,
    length: [usize; 2],
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    /// For readers of the file.
    #[serde(default, rename = "about")]
    _about: String,
    languages: [Forms; 2],
    #[serde(default)]
    endings: BTreeMap<String, Endings>,
    #[serde(default)]
    elision: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    lists: BTreeMap<String, Vec<RawEntry>>,
    groups: Vec<RawGroup>,
    #[serde(default)]
    numbers: f64,
}

fn yes() -> bool {
    true
}

/// The words of an entry in both languages.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub forms: [Vec<String>; 2],
}

impl Entry {
    pub fn same(word: String) -> Self {
        Self { forms: [vec![word.clone()], vec![word]] }
    }

    /// The word that is put in.
    pub fn form(&self, side: usize) -> &str {
        self.forms[side].first().map_or("", String::as_str)
    }

    pub fn with_surname(&self, surname: &Self) -> Self {
        Self { forms: [0, 1].map(|side| vec![format!("{} {}", self.form(side), surname.form(side))]) }
    }
}

/// Words of which each can take the place of each.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Probability that a word is replaced.
    pub share: f64,
    pub find: Vec<Entry>,
    pub put: Vec<Entry>,
    /// Names after the name that is put in.
    pub surnames: Option<Names>,
    /// Titles that are put in with a surname, at the beginning of both sides.
    pub titles: Option<Names>,
    pub invented: Option<Letters>,
    /// Whether words before it lose their vowel.
    pub elides: bool,
}

/// A list of names, and how often one of them is taken.
#[derive(Clone, Debug)]
pub(super) struct Names {
    pub share: f64,
    pub names: Vec<Entry>,
}

/// Ranges of letters for invented names.
#[derive(Clone, Debug)]
pub(super) struct Letters {
    pub share: f64,
    ranges: Vec<Vec<char>>,
    length: [usize; 2],
}

impl Letters {
    /// Letters of one range; the first is a capital if there are capitals.
    pub fn word(&self, random: &mut Stream) -> String {
        let range = random.pick(&self.ranges).map_or(&[][..], Vec::as_slice);
        let length = random.between(self.length[0], self.length[1]);
        let mut word = String::new();
        for place in 0..length {
            let Some(&letter) = random.pick(range) else { break };
            match place {
                0 => word.extend(letter.to_uppercase()),
                _ => word.push(letter),
            }
        }
        word
    }
}

/// A checked file, in the direction of a training.
pub(super) struct File {
    pub groups: Vec<Group>,
    pub numbers: f64,
    pub endings: [Endings; 2],
    pub elision: [Elision; 2],
}

/// A parsed file.
pub(super) struct Parsed(RawFile);

impl File {
    pub fn read(name: &str, json: &[u8]) -> Result<Parsed, SubstitutionError> {
        let file = name.to_owned();
        serde_json::from_slice(json)
            .map(Parsed)
            .map_err(|error| SubstitutionError::Json { file, problem: json_problem(&error) })
    }
}

impl Parsed {
    /// The file for a training from one language to the other.
    pub fn in_direction(self, name: &str, [from, to]: [&str; 2]) -> Result<File, SubstitutionError> {
        let Self(mut raw) = self;
        let codes = raw.languages.clone().map(Forms::into_all);
        let is = |codes: &[String], language: &str| codes.iter().any(|code| same_language(code, language));
        let is_reversed = match () {
            () if is(&codes[0], from) && is(&codes[1], to) => false,
            () if is(&codes[1], from) && is(&codes[0], to) => true,
            () => {
                let [one, other] = codes.map(|codes| codes.join("/"));
                let given = |language: &str| if language.is_empty() { "?" } else { language }.to_owned();
                let (file, from, to) = (name.to_owned(), given(from), given(to));
                return Err(SubstitutionError::Languages { file, one, other, from, to });
            }
        };
        let languages = codes.map(|codes| codes.into_iter().next().unwrap_or_default());
        let reader = Reader { file: name, lists: &raw.lists, is_reversed };
        for key in raw.endings.keys().chain(raw.elision.keys()) {
            if !languages.contains(key) {
                let problem = format!("it is neither {} nor {}", languages[0], languages[1]);
                return Err(reader.problem(&format!("the language {key:?}"), &problem));
            }
        }
        let numbers = reader.share("\"numbers\"", raw.numbers)?;
        let groups = raw.groups.iter().map(|group| reader.group(group)).collect::<Result<_, _>>()?;
        let mut sides = languages.map(|language| {
            let elision = raw.elision.remove(&language).unwrap_or_default();
            (raw.endings.remove(&language).unwrap_or_default(), Elision::new(elision))
        });
        if is_reversed {
            sides.reverse();
        }
        let [(endings, elision), (other_endings, other_elision)] = sides;
        Ok(File { groups, numbers, endings: [endings, other_endings], elision: [elision, other_elision] })
    }
}

/// Whether two codes name one language: "de", "DE", "de_DE".
fn same_language(code: &str, language: &str) -> bool {
    let first = |code: &str| code.split(['_', '-']).next().unwrap_or_default().to_lowercase();
    !language.is_empty() && first(code) == first(language)
}

impl Forms {
    fn into_all(self) -> Vec<String> {
        match self {
            Self::One(form) => vec![form],
            Self::Several(forms) => forms,
        }
    }
}

/// Turns the parts of a file into checked ones.
struct Reader<'a> {
    file: &'a str,
    lists: &'a BTreeMap<String, Vec<RawEntry>>,
    is_reversed: bool,
}

impl Reader<'_> {
    fn problem(&self, place: &str, problem: &str) -> SubstitutionError {
        let (file, place) = (self.file.to_owned(), place.to_owned());
        SubstitutionError::Place { file, place, problem: problem.to_owned() }
    }

    fn share(&self, place: &str, share: f64) -> Result<f64, SubstitutionError> {
        match (0.0..=1.0).contains(&share) {
            true => Ok(share),
            false => Err(self.problem(place, &format!("the share is {share}; it must be 0 to 1"))),
        }
    }

    fn group(&self, raw: &RawGroup) -> Result<Group, SubstitutionError> {
        let place = format!("the group {:?}", raw.name);
        let find = self.entries(&place, &raw.find)?;
        let put = raw.put.as_ref().map_or_else(|| Ok(find.clone()), |put| self.entries(&place, put))?;
        let names = |raw: &Option<RawNames>| {
            let names = raw.as_ref().map(|raw| {
                let names = self.entries(&place, &RawEntries::List(raw.list.clone()))?;
                Ok(Names { share: self.share(&place, raw.share)?, names })
            });
            names.transpose()
        };
        let (surnames, titles) = (names(&raw.surnames)?, names(&raw.titles)?);
        if titles.is_some() && surnames.is_none() {
            return Err(self.problem(&place, "\"titles\" needs \"surnames\", which are put after them"));
        }
        let invented = raw.invented.as_ref().map(|invented| self.letters(&place, invented));
        Ok(Group {
            share: self.share(&place, raw.share)?,
            find,
            put,
            surnames,
            titles,
            invented: invented.transpose()?,
            elides: raw.elides,
        })
    }

    fn entries(&self, place: &str, raw: &RawEntries) -> Result<Vec<Entry>, SubstitutionError> {
        let entries = match raw {
            RawEntries::Entries(entries) => entries,
            RawEntries::List(name) => self
                .lists
                .get(name)
                .ok_or_else(|| self.problem(place, &format!("\"lists\" has no {name:?}")))?,
        };
        match entries.is_empty() {
            true => Err(self.problem(place, "a list is empty")),
            false => entries.iter().map(|entry| self.entry(place, entry)).collect(),
        }
    }

    fn entry(&self, place: &str, raw: &RawEntry) -> Result<Entry, SubstitutionError> {
        let mut forms = match raw.clone() {
            RawEntry::Same(word) => [vec![word.clone()], vec![word]],
            RawEntry::Both(forms) => forms.map(Forms::into_all),
        };
        if forms.iter().any(Vec::is_empty) {
            return Err(self.problem(place, "an entry has no word for one of the languages"));
        }
        let begins = |form: &String| form.starts_with(char::is_alphanumeric);
        if let Some(form) = forms.iter().flatten().find(|form| !begins(form)) {
            let problem = format!("{:?} does not begin with a letter", excerpt(form));
            return Err(self.problem(place, &problem));
        }
        if self.is_reversed {
            forms.reverse();
        }
        Ok(Entry { forms })
    }

    fn letters(&self, place: &str, raw: &RawInvented) -> Result<Letters, SubstitutionError> {
        let range = |text: &String| {
            let letters: Vec<char> = text.chars().collect();
            match letters[..] {
                [first, '-', last] if first <= last => Ok((first..=last).collect()),
                _ => Err(self.problem(place, &format!("{text:?} is no range of letters, such as \"a-z\""))),
            }
        };
        let ranges: Vec<Vec<char>> = raw.letters.iter().map(range).collect::<Result<_, _>>()?;
        let [least, most] = raw.length;
        if ranges.is_empty() || least == 0 || least > most || most > 64 {
            let problem = "\"invented\" needs ranges of letters, and a length such as [2, 4]";
            return Err(self.problem(place, problem));
        }
        Ok(Letters { share: self.share(place, raw.share)?, ranges, length: raw.length })
    }
}
