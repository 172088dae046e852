//! Generated documents: every tag and placeholder comes out once, the result parses, and without tags it is the plain translation.
//!
//! `cargo test --release --package wordloom-documents --test documents generated -- --ignored` takes 10,000 of each format.

use std::collections::BTreeMap;

use super::common::{Random, translate};
use pulldown_cmark::{Event, Options as MarkdownOptions, Parser};
use quick_xml::Reader;
use quick_xml::events::Event as XmlEvent;
use wordloom_documents::{Document, Format, Options, Translated};

const WORDS: &[&str] = &[
    "the", "small", "house", "by", "a", "river", "sees", "boats,", "and", "people", "who", "wait;", "often",
    "(late)",
];
const PLACEHOLDERS: &[&str] = &[
    "{name}",
    "%1$s",
    "%d",
    "{{ count }}",
    "https://a.example/b?c=1#d",
    "me@mail.example.org",
    "${total}",
    "%(user)s",
];
const EMOJI: &[&str] = &["😀", "👋🏽", "🇩🇪", "👩‍👩‍👧"];

/// Counts of equal things.
fn counted<T: Ord>(things: impl IntoIterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    things.into_iter().for_each(|thing| *counts.entry(thing).or_insert(0) += 1);
    counts
}

/// A text of words, placeholders, emoji and inline elements.
struct Text<'a> {
    random: &'a mut Random,
    html: bool,
    out: String,
}

impl Text<'_> {
    fn words(&mut self, count: usize, depth: usize) {
        for index in 0..count {
            if index > 0 {
                self.out.push(' ');
            }
            match self.random.below(12) {
                0 => self.out += self.random.of(PLACEHOLDERS),
                1 if depth > 0 => self.element(depth),
                2 if index > 0 && index + 1 < count => {
                    self.out += self.random.of(EMOJI);
                    self.out.push(' ');
                    self.out += self.random.of(WORDS);
                }
                3 => self.out += if self.html { "<code>ls &lt; -l</code>" } else { "`ls -l`" },
                4 if self.html => self.out += "Tom&amp;Co",
                5 if self.html && index > 0 => {
                    self.out += "<img src=\"x.png\" alt=\"a river\"/> ";
                    self.out += self.random.of(WORDS);
                }
                _ => self.out += self.random.of(WORDS),
            }
        }
    }

    fn element(&mut self, depth: usize) {
        let id = self.random.below(1000);
        let [start, end] = match (self.html, self.random.below(3)) {
            (true, 0) => [format!("<b id=\"{id}\">"), "</b>".to_owned()],
            (true, 1) => [format!("<a href=\"u{id}\" title=\"two words\">"), "</a>".to_owned()],
            (true, _) => [format!("<span class=\"c{id}\">"), "</span>".to_owned()],
            (false, 0) => ["**".to_owned(), "**".to_owned()],
            (false, 1) if !self.out.contains("](") => ["[".to_owned(), format!("](u{id})")],
            (false, _) => ["*".to_owned(), "*".to_owned()],
        };
        // in Markdown, stars in one another are ambiguous
        let depth = if self.html { depth - 1 } else { 0 };
        self.out += &start;
        self.out += self.random.of(WORDS);
        self.out.push(' ');
        let count = 1 + self.random.below(4);
        self.words(count, depth);
        self.out.push(' ');
        self.out += self.random.of(&["river", "house", "end"]);
        self.out += &end;
    }
}

fn html_document(random: &mut Random) -> String {
    let mut html =
        String::from("<html><head><title>The first page</title><style>p > b {}</style></head><body>\n");
    for _ in 0..1 + random.below(4) {
        let tag = random.of(&["p", "h2", "li", "td"]);
        let count = 2 + random.below(12);
        let mut text = Text { random, html: true, out: String::new() };
        text.words(count, 3);
        let text = text.out;
        html += &format!("<{tag}>The {text}.</{tag}>\n<!-- {{name}} kept -->\n");
    }
    html + "</body></html>\n"
}

fn markdown_document(random: &mut Random) -> String {
    let mut markdown = String::from("---\ntitle: kept\n---\n\n");
    for _ in 0..1 + random.below(4) {
        let count = 2 + random.below(12);
        let kind = random.below(4);
        let mut text = Text { random, html: false, out: String::new() };
        text.words(count, 1);
        let text = text.out;
        match kind {
            0 => markdown += &format!("## The {text}.\n\n"),
            1 => markdown += &format!("* The {text}.\n* [ ] other\n\n"),
            2 => markdown += &format!("> The {text}.\n\n```\nkept <b> text\n```\n\n"),
            _ => markdown += &format!("The {text}.\n\n| a | b |\n|---|---|\n| one {text} | two |\n\n"),
        }
    }
    markdown
}

/// Source, result, and the translations of all units.
fn run(source: &str, format: Format, seed: u64) -> (String, Vec<String>) {
    let document = Document::read(source.as_bytes().to_vec(), format, &Options::default()).expect(source);
    let translations: Vec<Translated> =
        document.units().iter().map(|unit| translate(unit.text(), seed)).collect();
    let written = document.write(&translations).expect(source);
    let texts = translations.into_iter().map(|translated| translated.text).collect();
    (String::from_utf8(written).expect("UTF-8"), texts)
}

fn tags(html: &str) -> BTreeMap<String, usize> {
    let mut reader = Reader::from_str(html);
    let mut tags = Vec::new();
    loop {
        match reader.read_event() {
            Ok(XmlEvent::Eof) => break,
            Ok(
                event @ (XmlEvent::Start(_) | XmlEvent::Empty(_) | XmlEvent::End(_) | XmlEvent::Comment(_)),
            ) => {
                let tag = format!("{event:?}")
                    .replace("two words", "")
                    .replace("gjb jbeqf", "")
                    .replace("jbeqf gjb", "");
                tags.push(tag.replace("a river", "").replace("n evire", "").replace("evire n", ""));
            }
            Ok(_) => {}
            Err(error) => panic!("{error}: {html}"),
        }
    }
    counted(tags)
}

/// Text without tags, without emoji and with single spaces, as a sorted list of texts of blocks.
fn without_tags(html: &str) -> String {
    let mut text = String::new();
    for part in html.split('<').skip(1) {
        let (tag, after) = part.split_once('>').expect("a tag");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        if matches!(name, "p" | "h2" | "li" | "td" | "title") {
            text.push('\n');
        }
        if name != "style" {
            text += after;
        }
    }
    plain(&html_escape::decode_html_entities(&text))
}

fn plain(text: &str) -> String {
    let mut text = text.to_owned();
    EMOJI.iter().for_each(|emoji| text = text.replace(emoji, ""));
    let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(line).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// What placeholders are in a text, code among them, in order.
fn placeholders(text: &str) -> Vec<&str> {
    let all = PLACEHOLDERS.iter().chain(&["ls < -l", "`ls -l`"]);
    let mut found: Vec<(usize, &str)> =
        all.flat_map(|form| text.match_indices(form).map(|(at, _)| (at, *form))).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, form)| form).collect()
}

/// The plain translation: stand-ins are the placeholders of the source's text in order.
fn with_placeholders(translation: &str, source: &str) -> String {
    let mut text = translation.to_owned();
    for (index, form) in placeholders(source).into_iter().enumerate().rev() {
        let word = format!("X{}", char::from(b'A' + index as u8));
        assert_eq!(text.matches(&word).count(), 1, "{word} in {text}: {source}");
        text = text.replace(&word, form);
    }
    text
}

fn check_html(seed: u64) {
    let html = html_document(&mut Random(seed));
    let (written, translations) = run(&html, Format::Html, seed);
    assert_eq!(tags(&written), tags(&html), "seed {seed}:\n{html}\n{written}");
    for form in PLACEHOLDERS.iter().chain(EMOJI) {
        assert_eq!(
            written.matches(form).count(),
            html.matches(form).count(),
            "seed {seed}, {form}:\n{html}\n{written}"
        );
    }
    // attributes are units before the text that they stand in
    let of_attributes = ["gjb jbeqf", "jbeqf gjb", "n evire", "evire n"];
    let texts = translations.iter().filter(|text| !of_attributes.contains(&text.as_str()));
    let sources = without_tags(&html);
    let want: Vec<String> =
        texts.zip(sources.lines()).map(|(text, source)| plain(&with_placeholders(text, source))).collect();
    assert_eq!(without_tags(&written), want.join("\n"), "seed {seed}:\n{html}\n{written}");
}

fn events(markdown: &str) -> (Vec<String>, String) {
    let options = MarkdownOptions::ENABLE_TABLES
        | MarkdownOptions::ENABLE_TASKLISTS
        | MarkdownOptions::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let (mut structure, mut text) = (Vec::new(), String::new());
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Text(part) => text += &part,
            Event::Code(code) => {
                structure.push(format!("code {code}"));
                text += &format!("`{code}`");
            }
            Event::SoftBreak => text.push(' '),
            Event::End(tag) if format!("{tag:?}").len() > 8 || format!("{tag:?}") == "Item" => {
                text.push('\n')
            }
            Event::Start(tag) => structure.push(format!("{tag:?}")),
            other => structure.push(format!("{other:?}")),
        }
    }
    (structure, plain(&text))
}

/// Returns the number of ends of emphasis in the source and in the result.
fn check_markdown(seed: u64) -> [usize; 2] {
    let markdown = markdown_document(&mut Random(seed));
    let (written, translations) = run(&markdown, Format::Markdown, seed);
    let ((before, source), (after, text)) = (events(&markdown), events(&written));
    // emphasis within emphasis of its own kind is written once
    let (mut before, after) = (counted(before), counted(after));
    let mut emphasis = [0, 0];
    for name in ["Emphasis", "End(Emphasis)", "Strong", "End(Strong)"] {
        let kept = after.get(name).copied().unwrap_or_default();
        let Some(count) = before.insert(name.to_owned(), kept) else { continue };
        assert!(kept <= count, "seed {seed}:\n{markdown}\n{written}");
        emphasis = [emphasis[0] + count, emphasis[1] + kept];
    }
    before.retain(|_, count| *count > 0);
    assert_eq!(before, after, "seed {seed}:\n{markdown}\n{written}");
    for form in PLACEHOLDERS.iter().chain(EMOJI) {
        assert_eq!(written.matches(form).count(), markdown.matches(form).count(), "seed {seed}, {form}");
    }
    let mut translations = translations.iter();
    let lines = source.lines().zip(text.lines());
    for (source, line) in lines {
        if ["title: kept", "kept <b> text"].contains(&source) {
            assert_eq!(line, source);
            continue;
        }
        let translation = translations.next().unwrap_or_else(|| panic!("seed {seed}: {source}"));
        assert_eq!(
            line,
            plain(&with_placeholders(translation, source)),
            "seed {seed}:\n{markdown}\n{written}"
        );
    }
    assert_eq!(translations.next(), None, "seed {seed}:\n{markdown}");
    emphasis
}

fn check_all_markdown(seeds: std::ops::RangeInclusive<u64>) {
    let counts = seeds.map(check_markdown).fold([0, 0], |sum, next| [sum[0] + next[0], sum[1] + next[1]]);
    assert!(counts[1] * 100 >= counts[0] * 90, "{} of {} were kept", counts[1], counts[0]);
}

#[test]
fn html_keeps_tags_and_text() {
    (1..=300).for_each(check_html);
}

#[test]
fn markdown_keeps_tags_and_text() {
    check_all_markdown(1..=300);
}

#[test]
#[ignore = "10,000 documents of each format: its own command, above"]
fn ten_thousand_documents() {
    (1..=10_000).for_each(check_html);
    check_all_markdown(1..=10_000);
}
