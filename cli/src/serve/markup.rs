//! HTML: its text is translated, its tags are carried over by word alignment.
//!
//! 1. [`Document::read`] cuts a document into pieces: markup that is copied, and runs of text. Block tags, comments, scripts and
//!    the like end a run. Inline tags stay in it, each at its place.
//! 2. The caller translates the text of every run, with alignments if the run has tags inside.
//! 3. [`Run::write`] puts each tag before or after the words that its own words became. Every tag comes out once. An element
//!    covers the smallest range of words that holds all of its own; ranges that would cross are cut.
//!
//! A link, a mention or code without a space inside is one thing that is kept as it is: it must not change.

use std::borrow::Cow;
use std::ops::Range;

use wordloom::Translation;
use wordloom::translate::alignment::words;

/// Elements that stand within a sentence. All others end it.
const INLINE: &[&str] = &[
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font", "i", "img",
    "ins", "label", "mark", "q", "s", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u",
    "wbr", "code", "kbd", "samp", "var",
];
/// Elements without an end tag.
const VOID: &[&str] = &["img", "wbr"];
/// Elements that are copied with their content.
const COPIED: &[&str] =
    &["script", "style", "pre", "textarea", "svg", "math", "template", "noscript", "title"];
/// Inline elements that are copied with their content, whatever it is.
const CODE: &[&str] = &["code", "kbd", "samp", "var", "tt"];

pub enum Piece<'a> {
    Markup(&'a str),
    Run(Run<'a>),
}

impl<'a> Piece<'a> {
    pub fn run(&self) -> Option<&Run<'a>> {
        match self {
            Self::Run(run) => Some(run),
            Self::Markup(_) => None,
        }
    }
}

/// Pairs of a word of a text and a word of its translation, counted from 0.
pub type Links = Vec<(usize, usize)>;

/// The links of a text whose sentences were translated with alignments.
pub fn links(text: &str, translation: &Translation) -> Links {
    let mut all = Links::new();
    let (mut from, mut to) = (0, 0);
    for sentence in &translation.sentences {
        let (Some(alignment), Some(best)) = (&sentence.alignment, sentence.hypotheses.first()) else {
            continue;
        };
        // in scripts without spaces, several sentences can be one word
        let words_before = |text: &str, at: usize| {
            let within = usize::from(text[..at].ends_with(|c: char| !c.is_whitespace()));
            words(&text[..at]).len() - within
        };
        let place = |text: &str, part: &str, from: usize| text[from..].find(part).map(|at| from + at);
        let source = place(text, &sentence.source, from);
        let target = place(&translation.text, &best.text, to);
        let (Some(source), Some(target)) = (source, target) else { continue };
        let counts = [words_before(text, source), words_before(&translation.text, target)];
        let own = alignment.words.links.iter();
        all.extend(own.map(|&(source, target)| (source + counts[0], target + counts[1])));
        (from, to) = (source + sentence.source.len(), target + best.text.len());
    }
    all
}

/// The links through a third text.
pub fn chained(first: &Links, second: &Links) -> Links {
    let through = |&(from, middle): &(usize, usize)| {
        second.iter().filter(move |(other, _)| *other == middle).map(move |&(_, to)| (from, to))
    };
    let mut links: Links = first.iter().flat_map(through).collect();
    links.sort_unstable();
    links.dedup();
    links
}

/// Text with inline tags.
pub struct Run<'a> {
    /// Markup and white space around the text.
    before: String,
    after: String,
    /// The text without tags and with characters for entities; trimmed.
    pub text: String,
    marks: Vec<Mark<'a>>,
}

/// A tag in a text.
struct Mark<'a> {
    /// Place in the text, in bytes.
    at: usize,
    kind: Kind<'a>,
    /// Whether white space follows that the text has only before the tag.
    spaced: bool,
}

#[derive(Clone, Copy)]
enum Kind<'a> {
    /// A start tag, with the index of the mark that ends the element.
    Open(&'a str, usize),
    /// An end tag.
    Close(&'a str),
    /// Markup that stands for itself.
    Alone(&'a str),
}

/// A token of the source.
#[derive(Clone, Copy, PartialEq)]
enum Token<'a> {
    Text(&'a str),
    Open(&'a str),
    Close(&'a str),
    /// A comment, a declaration, or a copied element.
    Other(&'a str),
}

/// Cuts a document.
pub fn read(html: &str) -> Vec<Piece<'_>> {
    let tokens = with_kept_links(tokens(html), html);
    let mut pieces = Vec::new();
    let mut run: Vec<Token<'_>> = Vec::new();
    for token in tokens {
        let inline = match token {
            Token::Text(_) => true,
            Token::Open(raw) | Token::Close(raw) => INLINE.contains(&&*name(raw)),
            Token::Other(raw) => raw.starts_with('<') && INLINE.contains(&&*name(raw)),
        };
        match token {
            _ if inline => run.push(token),
            Token::Text(raw) | Token::Open(raw) | Token::Close(raw) | Token::Other(raw) => {
                pieces.extend(run_of(std::mem::take(&mut run)));
                pieces.push(Piece::Markup(raw));
            }
        }
    }
    pieces.extend(run_of(run));
    pieces
}

fn name(tag: &str) -> String {
    let tag = tag.trim_start_matches('<').trim_start_matches('/');
    tag.chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '-')
        .collect::<String>()
        .to_ascii_lowercase()
}

/// The end of a tag that begins `text`, behind its `>`; quoted attributes may have one.
fn end_of_tag(text: &str) -> usize {
    let mut quote = None;
    for (index, c) in text.char_indices() {
        match (quote, c) {
            (None, '>') => return index + 1,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
    }
    text.len()
}

fn tokens(html: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = html;
    while !rest.is_empty() {
        let is_tag = |text: &str| {
            let inside = text[1..].strip_prefix('/').unwrap_or(&text[1..]);
            text.starts_with("<!")
                || text.starts_with("<?")
                || inside.starts_with(|c: char| c.is_ascii_alphabetic())
        };
        let start =
            rest.match_indices('<').map(|(at, _)| at).find(|&at| is_tag(&rest[at..])).unwrap_or(rest.len());
        if start > 0 {
            tokens.push(Token::Text(&rest[..start]));
            rest = &rest[start..];
            continue;
        }
        let end = match rest.strip_prefix("<!--") {
            Some(comment) => comment.find("-->").map_or(rest.len(), |end| end + 7),
            None => end_of_tag(rest),
        };
        let (tag, _) = rest.split_at(end);
        let (token, end) = if tag.starts_with("<!") || tag.starts_with("<?") {
            (Token::Other(tag), end)
        } else if tag.starts_with("</") {
            (Token::Close(tag), end)
        } else if COPIED.contains(&&*name(tag)) || is_marked(tag) {
            let whole = end + end_of_element(&rest[end..], &name(tag), tag.ends_with("/>"));
            (Token::Other(&rest[..whole]), whole)
        } else {
            (Token::Open(tag), end)
        };
        tokens.push(token);
        rest = &rest[end..];
    }
    tokens
}

/// Whether a start tag says that its element is not translated.
fn is_marked(tag: &str) -> bool {
    let tag = tag.to_ascii_lowercase();
    tag.contains("translate=\"no\"") || tag.contains("translate='no'") || tag.contains("translate=no")
}

/// Bytes up to the end of an element, behind its end tag; elements of the same name nest.
fn end_of_element(text: &str, name_of: &str, is_empty: bool) -> usize {
    if is_empty || VOID.contains(&name_of) {
        return 0;
    }
    let mut depth = 1;
    for (at, _) in text.match_indices('<') {
        let tag = &text[at..];
        if name(tag) != name_of {
            continue;
        }
        let length = end_of_tag(tag);
        if !tag.starts_with("</") {
            depth += usize::from(!tag[..length].ends_with("/>"));
            continue;
        }
        depth -= 1;
        if depth == 0 {
            return at + length;
        }
    }
    text.len()
}

/// Joins the tokens of elements that are kept as they are: links and mentions without a space, code.
fn with_kept_links<'a>(tokens: Vec<Token<'a>>, html: &'a str) -> Vec<Token<'a>> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut index = 0;
    while index < tokens.len() {
        if let Token::Open(tag) = tokens[index]
            && INLINE.contains(&&*name(tag))
            && let Some(end) = end_token(&tokens, index)
        {
            let text: String = tokens[index..=end]
                .iter()
                .filter_map(|token| match token {
                    Token::Text(text) => Some(*text),
                    _ => None,
                })
                .collect();
            let link = text.contains("://") || text.starts_with("www.") || text.starts_with(['@', '#']);
            if CODE.contains(&&*name(tag)) || (link && !text.trim().contains(char::is_whitespace)) {
                let start = tag.as_ptr() as usize - html.as_ptr() as usize;
                let Token::Close(last) = tokens[end] else { continue };
                let stop = last.as_ptr() as usize - html.as_ptr() as usize + last.len();
                kept.push(Token::Other(&html[start..stop]));
                index = end + 1;
                continue;
            }
        }
        kept.push(tokens[index]);
        index += 1;
    }
    kept
}

/// Index of the end tag of the element that begins at `first`, if only inline tags are between.
fn end_token(tokens: &[Token<'_>], first: usize) -> Option<usize> {
    let mut open = Vec::new();
    for (index, token) in tokens.iter().enumerate().skip(first) {
        match token {
            Token::Open(tag) if VOID.contains(&&*name(tag)) || tag.ends_with("/>") => {}
            Token::Open(tag) if INLINE.contains(&&*name(tag)) => open.push(name(tag)),
            Token::Close(tag) if open.pop()? == name(tag) => {
                if open.is_empty() {
                    return Some(index);
                }
            }
            Token::Text(_) => {}
            _ => return None,
        }
    }
    None
}

/// Makes a run of inline tokens. Without a letter they are markup that is copied.
fn run_of<'a>(tokens: Vec<Token<'a>>) -> Vec<Piece<'a>> {
    let raw = |token: &Token<'a>| match token {
        Token::Text(raw) | Token::Open(raw) | Token::Close(raw) | Token::Other(raw) => *raw,
    };
    let is_text = |token: &Token<'_>| matches!(token, Token::Text(text) if html_escape::decode_html_entities(text).contains(char::is_alphabetic));
    let Some(first_text) = tokens.iter().position(is_text) else {
        return tokens.iter().map(raw).map(Piece::Markup).collect();
    };
    let last_text = tokens.iter().rposition(is_text).unwrap_or(first_text);
    // elements around all of the text stay outside; those around a part of it belong to the run
    let ends: Vec<Option<usize>> = (0..tokens.len())
        .map(|index| matches!(tokens[index], Token::Open(_)).then(|| end_token(&tokens, index)).flatten())
        .collect();
    let ends_inside = |index: &usize| ends[*index].is_some_and(|end| end > first_text && end < last_text);
    let first = (0..first_text).find(ends_inside).unwrap_or(first_text);
    let inside = ends[first_text..=last_text].iter().flatten();
    let last = inside.copied().max().unwrap_or(last_text).max(last_text);
    let mut run = Run {
        before: tokens[..first].iter().map(raw).collect(),
        after: tokens[last + 1..].iter().map(raw).collect(),
        text: String::new(),
        marks: Vec::new(),
    };
    let mut open: Vec<usize> = Vec::new();
    for (index, token) in tokens.iter().enumerate().take(last + 1).skip(first) {
        match *token {
            Token::Text(text) => {
                let text: Cow<'_, str> = html_escape::decode_html_entities(text);
                // white space is one space in HTML; a removed tag may have been between two
                if text.starts_with(char::is_whitespace)
                    && run.text.ends_with(' ')
                    && let Some(mark) = run.marks.last_mut()
                {
                    mark.spaced = true;
                }
                for (place, word) in text.split(char::is_whitespace).enumerate() {
                    if place > 0 && !run.text.ends_with(' ') {
                        run.text.push(' ');
                    }
                    run.text += word;
                }
            }
            Token::Open(tag) if VOID.contains(&&*name(tag)) || tag.ends_with("/>") => {
                run.mark(Kind::Alone(tag))
            }
            Token::Open(tag) => {
                if ends[index].is_some_and(|end| end <= last) {
                    open.push(run.marks.len());
                    run.mark(Kind::Open(tag, usize::MAX));
                } else {
                    run.mark(Kind::Alone(tag)); // it ends outside of the run, or never
                }
            }
            Token::Close(tag) => match open.last() {
                Some(&opened) if matches!(run.marks[opened].kind, Kind::Open(start, _) if name(start) == name(tag)) =>
                {
                    open.pop();
                    let end = run.marks.len();
                    if let Kind::Open(start, _) = run.marks[opened].kind {
                        run.marks[opened].kind = Kind::Open(start, end);
                    }
                    run.mark(Kind::Close(tag));
                }
                _ => run.mark(Kind::Alone(tag)),
            },
            Token::Other(raw) => run.mark(Kind::Alone(raw)),
        }
    }
    vec![Piece::Run(run.trimmed())]
}

impl<'a> Run<'a> {
    /// Puts a mark at the end of the text so far.
    fn mark(&mut self, kind: Kind<'a>) {
        self.marks.push(Mark { at: self.text.len(), kind, spaced: false });
    }

    /// Moves white space at the ends of the text out of it.
    fn trimmed(mut self) -> Self {
        let start = self.text.len() - self.text.trim_start().len();
        let trimmed = self.text.trim();
        if start > 0 {
            self.before.push(' ');
        }
        if start + trimmed.len() < self.text.len() {
            self.after.insert(0, ' ');
        }
        let length = trimmed.len();
        self.text = trimmed.to_owned();
        self.marks.iter_mut().for_each(|mark| mark.at = mark.at.saturating_sub(start).min(length));
        self
    }

    /// Whether tags have to be carried over.
    pub fn has_tags(&self) -> bool {
        !self.marks.is_empty()
    }

    /// Writes the translation with the tags.
    ///
    /// * `links`: pairs of a word of the text and a word of the translation
    pub fn write(&self, translation: &str, links: &[(usize, usize)]) -> String {
        let mut written = self.before.clone();
        if self.marks.is_empty() {
            written += &html_escape::encode_text(translation);
        } else {
            Places::new(self, translation, links).write(&mut written);
        }
        written + &self.after
    }
}

/// The places of the marks in a translation.
struct Places<'a, 'b> {
    run: &'b Run<'a>,
    translation: &'b str,
    source: Vec<[usize; 2]>,
    target: Vec<[usize; 2]>,
    /// For each word of the text, the first and the last word of the translation that it became.
    became: Vec<Option<[usize; 2]>>,
    /// Place of each mark in the translation, in bytes.
    at: Vec<usize>,
}

impl<'a, 'b> Places<'a, 'b> {
    fn new(run: &'b Run<'a>, translation: &'b str, links: &[(usize, usize)]) -> Self {
        let (source, target) = (words(&run.text), words(translation));
        let mut became: Vec<Option<[usize; 2]>> = vec![None; source.len()];
        for &(from, to) in links.iter().filter(|&&(from, to)| from < source.len() && to < target.len()) {
            let [first, last] = became[from].unwrap_or([to, to]);
            became[from] = Some([first.min(to), last.max(to)]);
        }
        let mut places = Self { run, translation, source, target, became, at: vec![0; run.marks.len()] };
        places.place(0..run.marks.len(), 0..translation.len());
        places
    }

    /// Places marks, which are complete elements and markup alone, in a range of the translation.
    fn place(&mut self, marks: Range<usize>, within: Range<usize>) {
        let (mut index, mut low, high) = (marks.start, within.start, within.end);
        while index < marks.end {
            match self.run.marks[index].kind {
                Kind::Open(_, close) => {
                    let [start, stop] = self.range(self.run.marks[index].at, self.run.marks[close].at);
                    let start = start.clamp(low, high);
                    let stop = stop.clamp(start, high);
                    let text = &self.translation[start..stop];
                    let start = stop - text.trim_start().len();
                    let stop = start + text.trim().len();
                    self.at[index] = start;
                    self.at[close] = stop;
                    self.place(index + 1..close, start..stop);
                    low = stop;
                    index = close + 1;
                }
                Kind::Alone(_) | Kind::Close(_) => {
                    let at = self.run.marks[index].at;
                    let mut place = self.point(at).clamp(low, high);
                    if self.run.text[..at].ends_with(' ') {
                        let rest = &self.translation[place..high];
                        place += rest.len() - rest.trim_start().len();
                    }
                    self.at[index] = place;
                    low = place;
                    index += 1;
                }
            }
        }
    }

    /// The range of the translation for a range of the text.
    fn range(&self, from: usize, to: usize) -> [usize; 2] {
        let inside = |word: &[usize; 2]| word[0] < to && word[1] > from;
        let words = self.source.iter().enumerate().filter(|(_, word)| inside(word));
        let became: Vec<[usize; 2]> = words.filter_map(|(index, _)| self.became[index]).collect();
        let first = became.iter().map(|range| range[0]).min();
        let last = became.iter().map(|range| range[1]).max();
        let (Some(first), Some(last)) = (first, last) else {
            let point = self.point(from);
            return [point, point];
        };
        let [start, mut stop] = [self.target[first][0], self.target[last][1]];
        // punctuation behind the element stays behind it
        let behind = self.run.text[to..].chars().next();
        if behind.is_some_and(|c| !c.is_whitespace() && !c.is_alphanumeric()) {
            let word = &self.translation[start..stop];
            stop = start
                + word
                    .trim_end_matches(|c: char| c.is_ascii_punctuation() || "。、！？…”“»".contains(c))
                    .len();
        }
        [start, stop.max(start)]
    }

    /// The place of the translation for a place of the text: before the word that the next one became, or behind the one before.
    fn point(&self, at: usize) -> usize {
        let next = self.source.iter().position(|word| word[0] >= at);
        let following = next.into_iter().flat_map(|next| next..self.source.len());
        // a following word that moved to the front would take the mark along
        let before = self.source.iter().rposition(|word| word[1] <= at);
        if let Some(range) = before.and_then(|before| self.became[before]) {
            return self.target[range[1]][1];
        }
        let first = following.filter_map(|word| self.became[word]).next();
        first.map_or(self.translation.len(), |range| self.target[range[0]][0])
    }

    fn write(&self, written: &mut String) {
        let mut done = 0;
        for (mark, &at) in self.run.marks.iter().zip(&self.at) {
            let at = at.max(done);
            *written += &html_escape::encode_text(&self.translation[done..at]);
            done = at;
            match mark.kind {
                Kind::Open(raw, _) | Kind::Close(raw) => *written += raw,
                Kind::Alone(raw) => {
                    // one that stood between two spaces still does
                    let before = self.run.text[..mark.at].ends_with(' ');
                    if before && done > 0 && !written.ends_with(char::is_whitespace) {
                        written.push(' ');
                    }
                    *written += raw;
                    let more = self.translation[done..].starts_with(|c: char| !c.is_whitespace());
                    if more && mark.spaced {
                        written.push(' ');
                    }
                }
            }
        }
        *written += &html_escape::encode_text(&self.translation[done..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a document whose runs are "translated" word for word, in the order of `words`, counted from 1.
    fn written(html: &str, order: &[usize]) -> String {
        let piece = |piece: &Piece<'_>| match piece {
            Piece::Markup(raw) => (*raw).to_owned(),
            Piece::Run(run) => {
                let source: Vec<&str> = run.text.split_whitespace().collect();
                let taken: Vec<usize> = match order {
                    [] => (1..=source.len()).collect(),
                    order => order.to_vec(),
                };
                let translation: Vec<&str> = taken.iter().map(|&word| source[word - 1]).collect();
                let links: Links = taken.iter().enumerate().map(|(to, &from)| (from - 1, to)).collect();
                run.write(&translation.join(" "), &links)
            }
        };
        read(html).iter().map(piece).collect()
    }

    #[test]
    fn what_keeps_its_order_keeps_its_markup() {
        for html in [
            "",
            "plain text",
            "<p>A <b>bold</b> word.</p>",
            "<!DOCTYPE html><html><head><title>x y</title><style>a > b {}</style></head><body><p>Hi</p></body></html>",
            "<ul><li>one two</li>\n<li><a href=\"x?a=1&amp;b='>'\">three <i>four</i></a></li></ul>",
            "a &lt; b &amp; c",
            "<p>1 < 2 and 3 > 2</p>".replace("1 < 2 and 3 > 2", "1 &lt; 2 and 3 &gt; 2").as_str(),
            "first<br>second<br/>third",
            "Hello <b>wo</b>rld",
            "<script>if (a < b) { x(\"<p>y</p>\") }</script><!-- a <b>comment</b> --><p>text</p>",
            "<p>Hello <a href=\"https://a.example/b\"><span class=\"i\">https://</span><span>a.example/b</span></a> there</p>",
            "<p>run <code>ls -l</code> now</p>",
            "an <img src=\"a.png\" alt=\"b\"> image",
            "<b>all bold</b>",
            "<i>un<b>closed</i> text</p> here</b>",
            "a <span translate=\"no\">Foo Bar</span> here",
        ] {
            let same = |text: &str| {
                // words of tags inside a word move to its end, and nothing else
                let mut tags: Vec<&str> = text.split('<').skip(1).collect();
                tags.sort_unstable();
                tags.iter()
                    .map(|tag| tag.split('>').next().unwrap_or_default().to_owned())
                    .collect::<Vec<_>>()
            };
            let out = written(html, &[]);
            assert_eq!(same(&out), same(html), "{html}: {out}");
            if !html.contains("wo</b>rld") && !html.contains("un<b>") {
                assert_eq!(out, html);
            }
        }
    }

    #[test]
    fn tags_follow_their_words() {
        for (html, order, want) in [
            ("<p>I saw <b>red</b> boats.</p>", &[1, 3, 4, 2][..], "<p>I <b>red</b> boats. saw</p>"),
            ("a <i>b <u>c</u></i> d", &[4, 3, 2, 1], "d <i><u>c</u> b</i> a"),
            // one element in two places covers what is between
            ("a <b>b c</b> d", &[2, 1, 3, 4], "<b>b a c</b> d"),
            // ranges that would cross are cut
            ("<b>a b</b> <i>c d</i>", &[1, 3, 2, 4], "<b>a c b</b> <i>d</i>"),
            ("see @x <b>now</b>!", &[1, 2, 3], "see @x <b>now</b>!"),
            (
                "hi <a href=\"u\">@<span>me</span></a> you",
                &[2, 1],
                "you hi <a href=\"u\">@<span>me</span></a>",
            ),
        ] {
            assert_eq!(written(html, order), want, "{html}");
        }
    }

    #[test]
    fn text_is_decoded_and_encoded() {
        let pieces = read("<p>Tom &amp; Jerry&#39;s&nbsp;house</p>");
        let run = pieces.iter().find_map(Piece::run).expect("a run");
        assert_eq!(run.text, "Tom & Jerry's house");
        assert_eq!(run.write("<Haus> & mehr", &[]), "&lt;Haus&gt; &amp; mehr");
    }

    #[test]
    fn links_are_chained() {
        assert_eq!(chained(&vec![(0, 1), (1, 0)], &vec![(0, 2), (1, 1), (1, 0)]), [(0, 0), (0, 1), (1, 2)]);
    }
}
