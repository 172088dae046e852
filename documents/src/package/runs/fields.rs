//! Fields of Word: an instruction, and a result that Word writes anew.
//!
//! A field is a mark that begins it, its instruction, a mark that separates, its result, and a mark that ends it. All of that is one
//! thing in place of a word: a word that came into the result would be gone at the next update. The result of a link is text. A field
//! that ends in another paragraph, or never, ends the text at each of its marks, so that nothing moves past them.

use super::super::super::inline::Inline;
use super::super::super::unit::Part;
use super::{Item, Reader};

/// Fields that show nothing: entries of an index and the like.
const HIDDEN: &[&str] = &["XE", "TC", "TA", "RD", "SET", "PRIVATE"];
/// The field whose result is text.
const LINK: &str = "HYPERLINK";

/// A mark of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark {
    Begin,
    Separate,
    End,
}

impl Mark {
    pub fn of(kind: &str) -> Option<Self> {
        match kind {
            "begin" => Some(Self::Begin),
            "separate" => Some(Self::Separate),
            "end" => Some(Self::End),
            _ => None,
        }
    }
}

/// A field whose end is in the paragraph, by the indexes of its marks.
struct Field {
    begin: usize,
    separate: Option<usize>,
    end: usize,
}

/// Items that become one.
struct Piece {
    first: usize,
    last: usize,
    role: Role,
}

enum Role {
    /// A field in place of a word.
    Kept {
        is_word: bool,
    },
    Hidden,
    /// The beginning of a link, with its instruction.
    Open,
    /// The end of a link.
    Close,
}

impl Reader<'_, '_> {
    /// Joins the items of each field.
    pub fn with_fields(&self, items: Vec<Item>) -> Vec<Item> {
        if !items.iter().any(|item| matches!(item, Item::Field(..))) {
            return items;
        }
        let pieces = pieces(&items);
        let mut joined = Vec::with_capacity(items.len());
        let mut items = items.into_iter();
        let mut done = 0;
        for Piece { first, last, role } in pieces {
            joined.extend(items.by_ref().take(first - done).map(alone));
            let markup = self.markup(items.by_ref().take(last + 1 - first));
            done = last + 1;
            joined.push(match role {
                Role::Kept { is_word } => Item::Kept { markup, is_word },
                Role::Hidden => Item::Between(markup),
                Role::Open => Item::Open(markup, LINK.to_owned()),
                Role::Close => Item::Close(markup, LINK.to_owned()),
            });
        }
        joined.extend(items.map(alone));
        joined
    }
}

/// A mark that belongs to no whole field ends the text.
fn alone(item: Item) -> Item {
    match item {
        Item::Field(_, format, markup) => Item::Break(format, markup),
        other => other,
    }
}

/// Whether a field's instruction is this one; capitals do not matter.
pub fn is_named(instruction: &str, names: &[&str]) -> bool {
    let name = instruction.split_whitespace().next().unwrap_or_default();
    names.iter().any(|other| name.eq_ignore_ascii_case(other))
}

/// Whether a field's instruction is that of a link.
pub fn is_link(instruction: &str) -> bool {
    is_named(instruction, &[LINK])
}

/// Pieces of the fields, in order. None is within another.
fn pieces(items: &[Item]) -> Vec<Piece> {
    let frames = Frames::of(items);
    let mut pieces = Vec::new();
    let mut done = 0;
    for Field { begin, separate, end } in fields(items) {
        // within a field that is kept as a whole
        if begin < done {
            continue;
        }
        let instruction = instruction(&items[begin + 1..end]);
        if let Some(separate) = separate.filter(|_| is_link(&instruction)) {
            if let Some([first, last]) = frames.balanced(begin, separate).filter(|range| range[0] >= done)
                && let Some([from, to]) = frames.grown(end, frames.around[first])
                && last < from
            {
                pieces.push(Piece { first, last, role: Role::Open });
                pieces.push(Piece { first: from, last: to, role: Role::Close });
                done = last + 1;
            }
        } else if let Some([first, last]) = frames.balanced(begin, end).filter(|range| range[0] >= done) {
            let role = match is_named(&instruction, HIDDEN) {
                true => Role::Hidden,
                false => Role::Kept { is_word: items[separate.unwrap_or(end)..end].iter().any(has_word) },
            };
            pieces.push(Piece { first, last, role });
            done = last + 1;
        }
    }
    pieces.sort_by_key(|piece| piece.first);
    let mut done = 0;
    pieces.retain(|piece| {
        let is_free = piece.first >= done;
        done = done.max(piece.last + 1);
        is_free
    });
    pieces
}

/// Fields with both marks, the outer ones first.
fn fields(items: &[Item]) -> Vec<Field> {
    let mut open: Vec<(usize, Option<usize>)> = Vec::new();
    let mut fields = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match item {
            Item::Field(Mark::Begin, ..) => open.push((index, None)),
            Item::Field(Mark::Separate, ..) => {
                if let Some((_, separate)) = open.last_mut() {
                    separate.get_or_insert(index);
                }
            }
            Item::Field(Mark::End, ..) => {
                fields.extend(open.pop().map(|(begin, separate)| Field { begin, separate, end: index }));
            }
            _ => {}
        }
    }
    fields.sort_by_key(|field| field.begin);
    fields
}

/// The instruction of a field, up to a field within.
fn instruction(items: &[Item]) -> String {
    let own = items.iter().take_while(|item| !matches!(item, Item::Field(..)));
    own.filter_map(|item| match item {
        Item::Instruction { text, .. } => Some(text.as_str()),
        _ => None,
    })
    .collect()
}

fn has_word(item: &Item) -> bool {
    let is_word = |token: &Inline| match token {
        Inline::Text { text, .. } => text.contains(char::is_alphanumeric),
        _ => true,
    };
    matches!(item, Item::Text(_, tokens) if tokens.iter().any(is_word))
}

/// Which elements are around each item.
struct Frames<'a> {
    items: &'a [Item],
    /// Index of the start tag around each item.
    around: Vec<Option<usize>>,
    depth: Vec<usize>,
    /// For each start tag, the index of its end tag.
    ends: Vec<usize>,
}

impl<'a> Frames<'a> {
    fn of(items: &'a [Item]) -> Self {
        let mut frames = Self { items, around: Vec::new(), depth: Vec::new(), ends: vec![0; items.len()] };
        let mut open = Vec::new();
        for (index, item) in items.iter().enumerate() {
            if let Item::Close(..) = item
                && let Some(start) = open.pop()
            {
                frames.ends[start] = index;
            }
            frames.around.push(open.last().copied());
            frames.depth.push(open.len());
            if let Item::Open(..) = item {
                open.push(index);
            }
        }
        frames
    }

    /// The range from one item to another, with the start and end tags next to it that it needs to hold complete elements only. Word
    /// marks a tracked change at each run of a field.
    fn balanced(&self, mut first: usize, mut last: usize) -> Option<[usize; 2]> {
        while self.around[first] != self.around[last] {
            let [from, to] = [self.depth[first], self.depth[last]];
            if from >= to {
                first = self.start_before(first)?;
            }
            if to >= from {
                last = self.end_behind(last)?;
            }
        }
        Some([first, last])
    }

    /// An item with the elements that hold nothing else, up to those of this element.
    fn grown(&self, item: usize, element: Option<usize>) -> Option<[usize; 2]> {
        let [mut first, mut last] = [item, item];
        while self.around[first] != element {
            first = self.start_before(first)?;
            last = self.end_behind(last)?;
        }
        Some([first, last])
    }

    /// The start tag around an item, if nothing is between.
    fn start_before(&self, item: usize) -> Option<usize> {
        let start = self.around[item]?;
        self.items[start + 1..item].iter().all(is_blank).then_some(start)
    }

    /// The end tag of the element around an item, if nothing is between.
    fn end_behind(&self, item: usize) -> Option<usize> {
        let end = self.ends[self.around[item]?];
        self.items[item + 1..end].iter().all(is_blank).then_some(end)
    }
}

/// Whether an item is white space between tags.
fn is_blank(item: &Item) -> bool {
    let blank = |part: &Part| matches!(part, Part::Copied(text) if text.trim().is_empty());
    matches!(item, Item::Between(markup) if markup.iter().all(blank))
}
