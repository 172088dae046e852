//! The places of tags in a translation.
//!
//! Each tag comes before or after the words that its own words became. An element covers the smallest range of words that holds
//! all of its own. Ranges that would cross are cut. Elements side by side change places as their words do.

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
    let (at, order) = (vec![0; spots.len()], Vec::with_capacity(spots.len()));
    let ends = ends(spots);
    let mut alone = vec![0; spots.len() + 1];
    for (index, spot) in spots.iter().enumerate() {
        alone[index + 1] = alone[index] + usize::from(spot.kind == Kind::Alone);
    }
    let copies = copies([text, translation], [&source, &target], &became);
    let mut places = Places {
        text,
        spots,
        ends,
        alone,
        translation,
        source,
        target,
        became,
        copies,
        next,
        at,
        order,
        around: Vec::new(),
    };
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

/// A word and the one word that it became.
#[derive(Clone, Copy)]
struct Copied {
    /// Place of the word of the translation.
    place: usize,
    /// Bytes at the beginning that are the same.
    equal: usize,
    /// Bytes without punctuation at the end.
    whole: usize,
}

/// For each word of a text, how much of it the translation copies.
fn copies(
    [text, translation]: [&str; 2],
    [source, target]: [&[[usize; 2]]; 2],
    became: &[Option<[usize; 2]>],
) -> Vec<Option<Copied>> {
    let words = source.iter().zip(became);
    words
        .map(|(&[start, end], became)| {
            let [first, _] = became.filter(|[first, last]| first == last)?;
            let [place, stop] = target[first];
            let (word, other) = (&text[start..end], &translation[place..stop]);
            let same = word.chars().zip(other.chars()).take_while(|(one, other)| one == other);
            let equal = same.map(|(letter, _)| letter.len_utf8()).sum();
            Some(Copied { place, equal, whole: word.trim_end_matches(is_punctuation).len() })
        })
        .collect()
}

/// A complete element, or markup alone.
struct Item {
    index: usize,
    range: [usize; 2],
}

struct Places<'a> {
    text: &'a str,
    spots: &'a [Spot<'a>],
    ends: Vec<usize>,
    /// How many spots before each one, and before the end, are markup alone.
    alone: Vec<usize>,
    translation: &'a str,
    source: Vec<[usize; 2]>,
    target: Vec<[usize; 2]>,
    /// For each word of the text, the first and the last word of the translation that it became.
    became: Vec<Option<[usize; 2]>>,
    copies: Vec<Option<Copied>>,
    /// For each word of the text, the first word of the translation that it or the next linked word became.
    next: Vec<Option<usize>>,
    at: Vec<usize>,
    /// The tags in the order in which they are written.
    order: Vec<usize>,
    /// Start tags of emphasis that is written around the element before it, each with that element's start tag.
    around: Vec<[usize; 2]>,
}

impl Places<'_> {
    fn in_order(mut self) -> Vec<(usize, usize)> {
        let mut places = vec![0; self.order.len()];
        self.order.iter().enumerate().for_each(|(place, &tag)| places[tag] = place);
        for [outer, inner] in self.around {
            // no two of these ranges overlap, so that the tags of each are in their first places
            let [first, end, start, last] =
                [inner, self.ends[inner], outer, self.ends[outer]].map(|tag| places[tag]);
            let tags = &self.order;
            let around = [&tags[start..=start], &tags[first..=end], &tags[start + 1..=last]];
            let around = [around.concat(), tags[end + 1..start].to_vec()].concat();
            self.order[first..=last].copy_from_slice(&around);
        }
        self.order.into_iter().map(|index| (index, self.at[index])).collect()
    }

    /// Places complete elements and markup alone in a range of the translation.
    fn place(&mut self, spots: Range<usize>, within: Range<usize>) {
        let (mut low, high) = (within.start, within.end);
        let mut last = None;
        let mut items = self.items(spots, &within).into_iter().peekable();
        while let Some(Item { index, range: [start, stop] }) = items.next() {
            if self.spots[index].kind != Kind::Open {
                low = start.clamp(low, high);
                self.at[index] = low;
                self.order.push(index);
                continue;
            }
            let close = self.ends[index];
            // what another element took of a word leaves no punctuation of it
            let is_cut = start < low && !self.translation[..low].ends_with(char::is_whitespace);
            let punctuation = if is_cut { self.punctuation(low..high) } else { 0 };
            let start = (start.clamp(low, high) + punctuation).min(stop.max(low));
            // an element within the range would have nothing left
            let next = items.peek().map(|next| next.range).filter(|next| next[0] < next[1]);
            let stop = match next {
                Some([from, to]) if start < from && to <= stop => from,
                _ => stop,
            };
            let stop = stop.clamp(start, high);
            let text = &self.translation[start..stop];
            let start = stop - text.trim_start().len();
            let stop = start + text.trim().len();
            let [start, stop] = match self.spots[index].delimiter {
                Some(_) if start == stop => self.with_text(index, last, start, low..high),
                _ => [start, stop],
            };
            self.at[index] = start;
            self.at[close] = stop;
            self.order.push(index);
            self.place(index + 1..close, start.max(low.min(stop))..stop);
            self.order.push(close);
            low = low.max(stop);
            last = Some(index);
        }
    }

    /// The length of the punctuation at the beginning of a range.
    fn punctuation(&self, range: Range<usize>) -> usize {
        let text = &self.translation[range];
        text.len() - text.trim_start_matches(is_punctuation).len()
    }

    /// The ranges of the translation for complete elements and markup alone, in order. Markup alone keeps its order, also within
    /// elements: it may be two halves, such as the beginning and the end of a bookmark.
    fn items(&self, spots: Range<usize>, within: &Range<usize>) -> Vec<Item> {
        let mut items = Vec::new();
        let mut index = spots.start;
        let mut least = within.start;
        while index < spots.end {
            let spot = self.spots[index];
            let (range, end) = match spot.kind {
                Kind::Open => (self.range(spot.at, self.spots[self.ends[index]].at), self.ends[index]),
                Kind::Close | Kind::Alone => ([self.place_alone(spot.at, within); 2], index),
            };
            let [start, stop] = range.map(|at| at.clamp(within.start, within.end));
            let has_alone = self.alone[end + 1] > self.alone[index];
            let start = if has_alone { start.max(least) } else { start };
            let stop = stop.max(start);
            if has_alone {
                least = stop;
            }
            items.push(Item { index, range: [start, stop] });
            index = end + 1;
        }
        items.sort_by_key(|item| item.range[0]);
        items
    }

    /// The place of markup alone, behind the space that it has before it.
    fn place_alone(&self, at: usize, within: &Range<usize>) -> usize {
        let place = self.point(at).clamp(within.start, within.end);
        let rest = &self.translation[place..within.end];
        match self.text[..at].ends_with(' ') {
            true => place + rest.len() - rest.trim_start().len(),
            false => place,
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

    /// The place of a word's copy in the translation, as numbers and formulas have one. Punctuation behind may differ.
    ///
    /// * `upto`: a place in the word, up to which it is needed at least
    fn copy(&self, index: usize, upto: usize) -> Option<usize> {
        let &[start, _] = self.source.get(index)?;
        let Copied { place, equal, whole } = self.copies[index]?;
        (whole.max(upto - start) <= equal).then_some(place)
    }

    /// The range of a part of a word that the translation copies: the 2 of H2O.
    fn part_of_copy(&self, from: usize, to: usize) -> Option<[usize; 2]> {
        let index = self.source.partition_point(|word| word[1] <= from);
        let &[start, end] = self.source.get(index)?;
        let is_part = start <= from && from < to && to <= end && to - from < end - start;
        let begin = if is_part { self.copy(index, to)? } else { return None };
        Some([from, to].map(|at| begin + at - start))
    }

    /// The range of the translation for a range of the text.
    fn range(&self, from: usize, to: usize) -> [usize; 2] {
        if let Some(range) = self.part_of_copy(from, to) {
            return range;
        }
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
            // inside a word: where its copy has it, behind it, or before the punctuation at its end
            if let Some(begin) = self.copy(within, at) {
                return begin + at - self.source[within][0];
            }
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
