//! The places of tags in a translation.
//!
//! Each tag comes before or after the words that its own words became. An element covers the smallest range of words that holds
//! all of its own. Ranges that would cross are cut.

use std::ops::Range;

use super::links::{Links, words};
use super::unit::Kind;

/// A tag in a text, by its place in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Spot<'a> {
    pub at: usize,
    pub kind: Kind,
    /// What begins and ends emphasis of Markdown, which has to have text.
    pub delimiter: Option<&'a str>,
}

/// Returns the tags in the order in which they are written, each with its place in the translation, in bytes.
///
/// * `spots`: in the order of the text; start and end tags are in pairs
pub fn places(text: &str, spots: &[Spot<'_>], translation: &str, links: &Links) -> Vec<(usize, usize)> {
    let (source, target) = (words(text), words(translation));
    let mut became: Vec<Option<[usize; 2]>> = vec![None; source.len()];
    for &(from, to) in links.iter().filter(|&&(from, to)| from < source.len() && to < target.len()) {
        let [first, last] = became[from].unwrap_or([to, to]);
        became[from] = Some([first.min(to), last.max(to)]);
    }
    let mut next = vec![None; source.len() + 1];
    for word in (0..source.len()).rev() {
        next[word] = became[word].map(|range| range[0]).or(next[word + 1]);
    }
    let at = vec![0; spots.len()];
    let ends = ends(spots);
    let mut places =
        Places { text, spots, ends, translation, source, target, became, next, at, around: Vec::new() };
    places.place(0..spots.len(), 0..translation.len());
    places.in_order()
}

/// For each start tag, the index of its end tag.
fn ends(spots: &[Spot<'_>]) -> Vec<usize> {
    let mut ends: Vec<usize> = (0..spots.len()).collect();
    let mut open = Vec::new();
    for (index, spot) in spots.iter().enumerate() {
        match spot.kind {
            Kind::Open => open.push(index),
            Kind::Close => {
                if let Some(start) = open.pop() {
                    ends[start] = index;
                }
            }
            Kind::Alone => {}
        }
    }
    ends
}

struct Places<'a> {
    text: &'a str,
    spots: &'a [Spot<'a>],
    ends: Vec<usize>,
    translation: &'a str,
    source: Vec<[usize; 2]>,
    target: Vec<[usize; 2]>,
    /// For each word of the text, the first and the last word of the translation that it became.
    became: Vec<Option<[usize; 2]>>,
    /// For each word of the text, the first word of the translation that it or the next linked word became.
    next: Vec<Option<usize>>,
    at: Vec<usize>,
    /// Start tags of emphasis that is written around the element before it, each with that element's start tag.
    around: Vec<[usize; 2]>,
}

impl Places<'_> {
    fn in_order(self) -> Vec<(usize, usize)> {
        let mut order: Vec<usize> = (0..self.at.len()).collect();
        for [outer, inner] in self.around {
            // no two of these ranges overlap, so that the tags of each are in their first places
            let [end, last] = [self.ends[inner], self.ends[outer]];
            let between = end + 1..outer;
            order.splice(
                inner..=last,
                [outer].into_iter().chain(inner..=end).chain(outer + 1..=last).chain(between),
            );
        }
        order.into_iter().map(|index| (index, self.at[index])).collect()
    }

    /// Places complete elements and markup alone in a range of the translation.
    fn place(&mut self, spots: Range<usize>, within: Range<usize>) {
        let (mut index, mut low, high) = (spots.start, within.start, within.end);
        let mut last = None;
        while index < spots.end {
            let spot = self.spots[index];
            if spot.kind == Kind::Open {
                let close = self.ends[index];
                let [start, stop] = self.range(spot.at, self.spots[close].at);
                let start = start.clamp(low, high);
                let stop = stop.clamp(start, high);
                let text = &self.translation[start..stop];
                let start = stop - text.trim_start().len();
                let stop = start + text.trim().len();
                let [start, stop] = match spot.delimiter {
                    Some(_) if start == stop => self.with_text(index, last, start, low..high),
                    _ => [start, stop],
                };
                self.at[index] = start;
                self.at[close] = stop;
                self.place(index + 1..close, start.max(low.min(stop))..stop);
                low = low.max(stop);
                last = Some(index);
                index = close + 1;
            } else {
                let mut place = self.point(spot.at).clamp(low, high);
                if self.text[..spot.at].ends_with(' ') {
                    let rest = &self.translation[place..high];
                    place += rest.len() - rest.trim_start().len();
                }
                self.at[index] = place;
                low = place;
                index += 1;
            }
        }
    }

    /// The range of emphasis whose own range is empty: the element whose words took its words, or else the next word.
    ///
    /// * `last`: the element before it, within the same one
    /// * `place`: of the empty range
    fn with_text(
        &mut self,
        index: usize,
        last: Option<usize>,
        place: usize,
        within: Range<usize>,
    ) -> [usize; 2] {
        let delimiter = self.spots[index].delimiter;
        if let Some(last) = last
            && self.translation[self.at[self.ends[last]]..place].trim().is_empty()
        {
            let inside = &self.spots[last..self.ends[last]];
            // the same emphasis twice is one, and three of them are read in another way
            let is_plain = inside.iter().filter(|spot| spot.delimiter.is_some()).count() <= 1
                && inside[0].delimiter != delimiter
                && !self.around.iter().any(|&[outer, _]| outer == last);
            if self.at[last] == self.at[self.ends[last]] || !is_plain {
                return [place, place];
            }
            self.around.push([index, last]);
            return [self.at[last], self.at[self.ends[last]]];
        }
        // punctuation may be where another element begins or ends
        let is_free = |word: &&[usize; 2]| {
            let [start, stop] = **word;
            let text = &self.translation[start..stop];
            within.start <= start
                && stop <= within.end
                && !text.starts_with(is_punctuation)
                && !text.ends_with(is_punctuation)
        };
        let next = self.target.partition_point(|word| word[0] < place);
        let before = self.target[..next].last().filter(|word| word[1] <= place);
        let behind = self.target.get(next);
        before.filter(is_free).or(behind.filter(is_free)).copied().unwrap_or([place, place])
    }

    /// The range of the translation for a range of the text.
    fn range(&self, from: usize, to: usize) -> [usize; 2] {
        let mut first = self.source.partition_point(|word| word[1] <= from);
        let mut last = self.source.partition_point(|word| word[0] < to).max(first);
        // punctuation at the end of a word that is outside takes no word with it
        if let Some(&[start, end]) = self.source.get(first)
            && start < from
            && self.text[from..end].chars().all(is_punctuation)
        {
            if last <= first + 1 {
                let start = self.point(from);
                let stop = self.became[first].map_or(start, |range| self.target[range[1]][1]);
                return [start, stop.max(start)];
            }
            first += 1;
        }
        // nor does punctuation at its beginning
        if let Some(&[start, end]) = last.checked_sub(1).and_then(|word| self.source.get(word))
            && (start.max(from)..end).contains(&to)
            && self.text[start..to].chars().all(is_punctuation)
        {
            last -= 1;
            if last <= first {
                let Some([word, _]) = self.became[last] else {
                    let point = self.point(from);
                    return [point, point];
                };
                let [start, stop] = self.target[word];
                let rest = self.translation[start..stop].trim_start_matches(is_punctuation);
                return [start, stop - rest.len()];
            }
        }
        let became: Vec<[usize; 2]> = self.became[first..last].iter().copied().flatten().collect();
        let first = became.iter().map(|range| range[0]).min();
        let last = became.iter().map(|range| range[1]).max();
        let (Some(first), Some(last)) = (first, last) else {
            let point = self.point(from);
            return [point, point];
        };
        let [mut start, mut stop] = [self.target[first][0], self.target[last][1]];
        // punctuation before the element stays before it, and punctuation behind it stays behind it
        if self.text[..from].ends_with(is_punctuation) {
            start = stop - self.translation[start..stop].trim_start_matches(is_punctuation).len();
        }
        let behind = self.text[to..].chars().next();
        if behind.is_some_and(|c| !c.is_whitespace() && !c.is_alphanumeric()) {
            stop = start + self.translation[start..stop].trim_end_matches(is_punctuation).len();
        }
        [start, stop.max(start)]
    }

    /// The place of the translation for a place of the text: behind the word before, or before the word that the next one became.
    fn point(&self, at: usize) -> usize {
        let within = self.source.partition_point(|word| word[1] <= at);
        if let Some(&[_, end]) = self.source.get(within).filter(|word| word[0] < at)
            && let Some([_, last]) = self.became[within]
        {
            // inside a word: behind it, or before the punctuation at its end
            let [first, stop] = self.target[last];
            let word = &self.translation[first..stop];
            return match self.text[at..end].chars().all(is_punctuation) {
                true => first + word.trim_end_matches(is_punctuation).len(),
                false => stop,
            };
        }
        // a following word that moved to the front would take the mark along
        let before = self.source.partition_point(|word| word[1] <= at).checked_sub(1);
        if let Some(range) = before.and_then(|before| self.became[before]) {
            return self.target[range[1]][1];
        }
        let following = self.source.partition_point(|word| word[0] < at);
        self.next[following].map_or(self.translation.len(), |word| self.target[word][0])
    }
}

fn is_punctuation(character: char) -> bool {
    character.is_ascii_punctuation() || "。、！？…”“„«»‚‘’‹›¿¡（）「」".contains(character)
}
