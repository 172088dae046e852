//! Other names, places, days and numbers in both sides of a sentence pair.
//!
//! A corpus has few names, each of them often: a model learns those, and guesses the others. With other names in every epoch it
//! learns to copy. What stands on one side and has no counterpart on the other stays as it is.

mod edit;
mod file;
mod letters;
mod numbers;
mod rules;
mod words;

use super::pairs::SentencePair;
use super::random::Stream;
use edit::{Edit, edited};
pub use file::SubstitutionError;
use file::{Entry, File, Group};
use rules::{Elision, Endings};
use words::{Finder, Hit};

/// Draws of another entry before a word stays as it is.
const TRIES: usize = 8;

/// Which letters may be put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invented {
    /// Names of random letters, too, so that a model learns to copy letters of any script.
    Allowed,
    /// Names of the lists only. A vocabulary should have no tokens for random letters.
    Left,
}

/// The substitutions of a file, in the direction of a training. `docs/training.md` describes the file.
#[derive(Clone, Debug)]
pub struct Substitution {
    groups: Vec<Group>,
    /// Share of the pairs whose numbers change.
    numbers: f64,
    /// Of the source and of the target, as all arrays of two.
    finders: [Finder; 2],
    endings: [Endings; 2],
    elisions: [Elision; 2],
}

impl Substitution {
    /// Reads a file's JSON for the direction from one language to the other. `name` is the file's name in messages.
    ///
    /// # Errors
    /// [`SubstitutionError`]
    pub fn from_json(name: &str, json: &[u8], [from, to]: [&str; 2]) -> Result<Self, SubstitutionError> {
        let file = File::read(name, json)?.in_direction(name, [from, to])?;
        let File { groups, numbers, endings, elision, .. } = file;
        let finders = [0, 1].map(|side| {
            let forms = groups.iter().enumerate().flat_map(|(group, Group { find, .. })| {
                find.iter().enumerate().map(move |(entry, found)| ((group, entry), &found.forms[side][..]))
            });
            Finder::new(forms, &endings[side])
        });
        Ok(Self { groups, numbers, finders, endings, elisions: elision })
    }

    /// The pair with other names and numbers.
    pub(super) fn apply(&self, pair: &SentencePair, random: &mut Stream, invented: Invented) -> SentencePair {
        let texts = [&*pair.source, &*pair.target];
        let mut edits = [Vec::new(), Vec::new()];
        self.words(texts, random, invented, &mut edits);
        if random.happens(self.numbers) {
            numbers::change(texts, random, &mut edits);
        }
        let [source, target] = [0, 1].map(|side| edited(texts[side], std::mem::take(&mut edits[side])));
        SentencePair { source, target }
    }

    /// Edits for the words of all groups that both sides have equally often.
    fn words(&self, texts: [&str; 2], random: &mut Stream, invented: Invented, edits: &mut [Vec<Edit>; 2]) {
        let mut hits = [0, 1].map(|side| self.finders[side].hits(texts[side]));
        // the longest first: "New York" before "York"
        hits[0].sort_by_key(|hit| (hit.group, std::cmp::Reverse(hit.end - hit.start), hit.start));
        let mut put: Vec<Entry> = Vec::new();
        while let Some(first) = hits[0].first() {
            let key = (first.group, first.entry);
            let is_same = |hit: &Hit| (hit.group, hit.entry) == key;
            let same: [Vec<Hit>; 2] =
                [0, 1].map(|side| hits[side].iter().filter(|hit| is_same(hit)).cloned().collect());
            if same[0].len() != same[1].len() {
                hits[0].retain(|hit| !is_same(hit));
                continue;
            }
            // these places are taken, whatever is drawn
            for side in [0, 1] {
                hits[side].retain(|hit| !same[side].iter().any(|other| hit.overlaps(other)));
            }
            let group = &self.groups[key.0];
            if !random.happens(group.share) {
                continue;
            }
            let other = (0..TRIES).find_map(|_| {
                let other = self.draw(group, texts, &same, random, invented)?;
                let is_new = !put.contains(&other) && self.fits(group, texts, &same, &other);
                is_new.then_some(other)
            });
            let Some(other) = other else { continue };
            for side in [0, 1] {
                let edit = |hit: &Hit| self.edit(side, texts[side], hit, (group, &other));
                edits[side].extend(same[side].iter().map(edit));
            }
            put.push(other);
        }
    }

    /// Another entry of a group, perhaps with a surname, or a title and a surname.
    fn draw(
        &self,
        group: &Group,
        texts: [&str; 2],
        hits: &[Vec<Hit>; 2],
        random: &mut Stream,
        invented: Invented,
    ) -> Option<Entry> {
        let has_ending = hits.iter().flatten().any(|hit| !hit.ending.is_empty());
        if let Some(letters) = &group.invented
            && random.happens(letters.share)
            && invented == Invented::Allowed
            && !has_ending
        {
            return Some(Entry::same(letters.word(random)));
        }
        let follows = |side: usize, hit: &Hit| letters::name_follows(texts[side], hit.end);
        let is_followed = [0, 1].into_iter().any(|side| hits[side].iter().any(|hit| follows(side, hit)));
        let Some(surnames) = group.surnames.as_ref().filter(|_| !is_followed) else {
            return random.pick(&group.put).cloned();
        };
        // a name that begins both sides is a subject, so that its title needs no other case
        let is_subject = hits.iter().all(|hits| matches!(&hits[..], [hit] if hit.start == 0));
        if let Some(titles) = &group.titles
            && random.happens(titles.share)
            && is_subject
            && !has_ending
        {
            return Some(random.pick(&titles.names)?.with_surname(random.pick(&surnames.names)?));
        }
        let entry = random.pick(&group.put)?;
        match random.happens(surnames.share) {
            true => Some(entry.with_surname(random.pick(&surnames.names)?)),
            false => Some(entry.clone()),
        }
    }

    /// Whether an entry can take the places of hits: it is in neither text yet, and takes endings and elisions that are there.
    fn fits(&self, group: &Group, texts: [&str; 2], hits: &[Vec<Hit>; 2], other: &Entry) -> bool {
        [0, 1].into_iter().all(|side| {
            let form = other.form(side);
            let ends = |hit: &Hit| hit.ending.is_empty() || self.endings[side].can_follow(form);
            let elides =
                |hit: &Hit| !group.elides || self.elisions[side].is_sure(texts[side], hit.start, form);
            !texts[side].contains(form) && hits[side].iter().all(|hit| ends(hit) && elides(hit))
        })
    }

    fn edit(&self, side: usize, text: &str, hit: &Hit, (group, other): (&Group, &Entry)) -> Edit {
        let form = other.form(side);
        let joint = match group.elides {
            true => self.elisions[side].joint(text, hit.start, form),
            false => None,
        };
        let (start, before) = joint.unwrap_or_else(|| (hit.start, String::new()));
        Edit { start, end: hit.end, text: format!("{before}{form}{}", hit.ending) }
    }
}
