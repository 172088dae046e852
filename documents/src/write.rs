//! Writes a unit's translation with its tags and placeholders.

use std::collections::HashSet;
use std::ops::Range;

use super::escape::Escape;
use super::links::Links;
use super::placeholders::{find, leftovers};
use super::places::{Spot, places};
use super::unit::{Kind, Markup, Part, StandIn, Unit};

/// A tag with its place.
struct Placed<'a> {
    spot: Spot<'a>,
    raw: &'a Markup,
    spaced: bool,
    /// Whether it is in place of a word, which has a space before it also where punctuation follows.
    is_word: bool,
}

/// A place of the translation with its stand-in, or with what is left of one, which is not written.
type Atom<'a> = (Range<usize>, Option<&'a StandIn>);

impl Unit {
    /// Writes the translation with markup.
    ///
    /// * `render`: writes markup, with the units in it
    pub(crate) fn write(
        &self,
        translation: &str,
        links: &Links,
        render: &dyn Fn(&Markup) -> String,
    ) -> String {
        let (atoms, lost) = self.stand_ins_of(translation);
        let tags = self.tags(&lost);
        let spots: Vec<Spot<'_>> = tags.iter().map(|tag| tag.spot).collect();
        let places = match spots.is_empty() {
            true => Vec::new(),
            false => places(&self.text, &spots, translation, links),
        };
        let mut text =
            Writing { unit: self, translation, atoms: &atoms, render, written: String::new(), done: 0 };
        let empty = empty(&spots, &places);
        let mut after_start = false;
        for (index, at) in places {
            if empty.contains(&index) {
                continue;
            }
            let tag = &tags[index];
            after_start &= text.done == text.outside(at, tag.spot.kind);
            text.up_to(text.outside(at, tag.spot.kind));
            match tag.spot.kind {
                Kind::Open | Kind::Close => text.written += &render(tag.raw),
                Kind::Alone => text.alone(tag, after_start),
            }
            after_start = tag.spot.kind == Kind::Open;
        }
        text.up_to(translation.len());
        let written = render(&self.before) + &text.written + &render(&self.after);
        self.finish.apply(written)
    }

    /// The places of stand-ins and of what is left of them in the translation, in order, and the stand-ins that it does not have.
    fn stand_ins_of(&self, translation: &str) -> (Vec<Atom<'_>>, Vec<&StandIn>) {
        let (mut atoms, mut lost) = (Vec::new(), Vec::new());
        let mut taken: Vec<Range<usize>> = Vec::new();
        for stand_in in &self.stand_ins {
            match find(&stand_in.word, translation, &taken) {
                Some(place) => {
                    taken.push(place.clone());
                    atoms.push((place, Some(stand_in)));
                }
                None => lost.push(stand_in),
            }
        }
        if !self.stand_ins.is_empty() {
            let words: Vec<&str> = self.stand_ins.iter().map(|stand_in| &*stand_in.word).collect();
            let left = leftovers(&self.text, &words, translation, &taken);
            atoms.extend(left.into_iter().map(|place| (place, None)));
        }
        atoms.sort_by_key(|(place, _)| place.start);
        (atoms, lost)
    }

    /// The tags, and the placeholders whose stand-ins were lost, in the order of the text.
    fn tags<'a>(&'a self, lost: &[&'a StandIn]) -> Vec<Placed<'a>> {
        let own = self.marks.iter().map(|mark| Placed {
            spot: Spot { at: mark.at, kind: mark.kind, delimiter: self.delimiter(&mark.raw) },
            raw: &mark.raw,
            spaced: mark.spaced,
            is_word: false,
        });
        let mut tags: Vec<Placed<'a>> = own.collect();
        for stand_in in lost {
            let index = tags.partition_point(|tag| tag.spot.at <= stand_in.at);
            let behind = &self.text[stand_in.at + stand_in.word.len()..];
            let spot = Spot { at: stand_in.at, kind: Kind::Alone, delimiter: None };
            let spaced = behind.starts_with(' ');
            tags.insert(index, Placed { spot, raw: &stand_in.raw, spaced, is_word: true });
        }
        tags
    }

    /// The stars or the like of a tag that is emphasis of Markdown.
    fn delimiter<'a>(&self, raw: &'a Markup) -> Option<&'a str> {
        match (self.escape, &raw[..]) {
            (Escape::Markdown { .. }, [Part::Copied(raw)])
                if raw.trim_matches(['*', '_', '~']).is_empty() =>
            {
                Some(raw)
            }
            _ => None,
        }
    }
}

/// Emphasis of Markdown without text, which would be stars: indexes of its tags.
fn empty(spots: &[Spot<'_>], places: &[(usize, usize)]) -> HashSet<usize> {
    let mut empty = HashSet::new();
    let mut open = Vec::new();
    for &(index, at) in places {
        match spots[index].kind {
            Kind::Open => open.push((index, at)),
            Kind::Close => {
                if let Some((start, from)) = open.pop()
                    && spots[start].delimiter.is_some()
                    && from == at
                {
                    empty.extend([start, index]);
                }
            }
            Kind::Alone => {}
        }
    }
    empty
}

/// Whether a character comes right behind a word: a comma, a bracket that closes.
fn ends_clause(character: char) -> bool {
    ".,;:!?)]…。、！？，".contains(character)
}

struct Writing<'a> {
    unit: &'a Unit,
    translation: &'a str,
    atoms: &'a [Atom<'a>],
    render: &'a dyn Fn(&Markup) -> String,
    written: String,
    /// Bytes of the translation that are written.
    done: usize,
}

impl Writing<'_> {
    /// A place that is not within a placeholder.
    fn outside(&self, at: usize, kind: Kind) -> usize {
        let next = self.atoms.partition_point(|(place, _)| place.end <= at);
        match self.atoms.get(next) {
            Some((place, _)) if place.start < at && kind == Kind::Open => place.start.max(self.done),
            Some((place, _)) if place.start < at => place.end,
            _ => at.max(self.done),
        }
    }

    /// Writes the text up to a place, with placeholders for their stand-ins.
    fn up_to(&mut self, to: usize) {
        while let Some(((place, stand_in), rest)) = self.atoms.split_first()
            && place.end <= to
        {
            self.unit.escape.write(self.translation, self.done..place.start, &mut self.written);
            if let Some(stand_in) = stand_in {
                self.written += &(self.render)(&stand_in.raw);
            }
            self.done = place.end;
            self.atoms = rest;
        }
        let to = to.max(self.done);
        self.unit.escape.write(self.translation, self.done..to, &mut self.written);
        self.done = to;
    }

    /// * `after_start`: whether a start tag comes just before, which has its own space
    fn alone(&mut self, tag: &Placed<'_>, after_start: bool) {
        // one that stood between two spaces still does, unless it is now within a word
        let behind = &self.translation[self.done..];
        let is_inside = |c: char| if tag.is_word { c.is_alphanumeric() } else { !c.is_whitespace() };
        let within = behind.starts_with(is_inside)
            && self.translation[..self.done].ends_with(|c: char| !c.is_whitespace());
        let before = !after_start && !within && self.unit.text[..tag.spot.at].ends_with(' ');
        let has_text = self.done > 0;
        if before && has_text && !self.written.ends_with(char::is_whitespace) {
            self.written.push(' ');
        }
        self.written += &(self.render)(tag.raw);
        let more = behind.starts_with(|c: char| !c.is_whitespace() && !ends_clause(c));
        if more && !within && tag.spaced {
            self.written.push(' ');
        }
    }
}
