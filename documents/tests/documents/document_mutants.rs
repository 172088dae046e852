//! Damaged documents of every format, and damaged translation memories: each is read and written, or refused with an error.

use std::io::{Cursor, Read, Write};
use std::path::Path;

use super::common::{Random, translate};
use wordloom_documents::{Document, Format, Options, Translated, TranslationMemory};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

/// A document of each format that is text.
const TEXTS: [(Format, &str); 13] = [
    (Format::Text, "Good morning.\n\n  Where is the train?  It left.\r\nEnd"),
    (
        Format::Markdown,
        "---\ntitle: A day\n---\n# Head *one*\n\n* item `code` [link](a.html \"title\")\n\n| a | b |\n|---|---|\n| *c* | d |\n\nNote[^1]\n\n:::tip\nA term\n: what it is\n:::\n\n[^1]: The ~~note~~.\n\n```rust\nfn main() {}\n```\n<b>raw</b> &amp;\n",
    ),
    (
        Format::Html,
        "<!doctype html><html><head><title>T</title><style>b{}</style></head><body><p title=\"a\">One <b>two <i>three</i></b><br>four &lt; &#x35; <code>x</code></p><script>let a = '<p>';</script><ul><li>five m<sup>2</sup><li>six<sup><a href='#n'>[1]</a></sup> of H<sub>2</sub>O, 1<sup>st</sup></ul><!-- no --></body></html>",
    ),
    (
        Format::Xml,
        "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY b \"c\">]><a x=\"1\"><b>One <c>two</c> three</b><![CDATA[four <]]><!-- no --></a>",
    ),
    (
        Format::Xml,
        "<resources><string name=\"a\">It\\'s \\\"one\\\"\\n<b>two</b> \\u0020 <xliff:g id=\"x\">%1$s</xliff:g></string></resources>",
    ),
    (
        Format::Srt,
        "1\n00:00:01,000 --> 00:00:02,000\n<i>One</i>\ntwo.\n\n2\n00:00:03,000 --> 00:00:04,000\nThree\n",
    ),
    (Format::Vtt, "WEBVTT\n\nNOTE no\n\nid\n00:01.000 --> 00:02.000 align:start\n<v Ann>One <b>two</b>\n"),
    (
        Format::Po,
        "msgid \"\"\nmsgstr \"Plural-Forms: nplurals=2; plural=n!=1;\\n\"\n\n#, c-format\nmsgid \"%d file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"\"\nmsgstr[1] \"\"\n\nmsgctxt \"menu\"\nmsgid \"Open \\\"it\\\"\"\nmsgstr \"\"\n",
    ),
    (
        Format::Xliff,
        "<xliff version=\"1.2\"><file source-language=\"en\" target-language=\"de\"><body><trans-unit id=\"1\"><source>One <g id=\"1\">two</g><x id=\"2\"/></source></trans-unit></body></file></xliff>",
    ),
    (
        Format::Json,
        "{\"a\": {\"b\": \"One {count} two\", \"c\": [\"three\", 4, null]}, \"d\": \"five \\u00e9 \\n <b>six</b>\"}",
    ),
    (
        Format::Arb,
        "{\"@@locale\": \"en\", \"files\": \"{count, plural, one{A file} other{{count} files}}\", \"@files\": {\"description\": \"d\"}}",
    ),
    (Format::Strings, "/* a */\n\"key\" = \"One %@ two\";\n// b\n\"other\" = \"Three\\n\\\"four\\\"\";\n"),
    (Format::Table, "name;text\n1;\"One; \"\"two\"\"\"\n2;three\n"),
];

const TMX: &str = "<?xml version=\"1.0\"?><tmx version=\"1.4\"><header srclang=\"en\"/><body><tu><tuv xml:lang=\"en\"><seg>One <bpt i=\"1\">b</bpt>two</seg></tuv><tuv xml:lang=\"de\"><seg>Eins</seg></tuv></tu></body></tmx>";

/// What a damaged place may become.
const PIECES: [&str; 18] = [
    "<",
    ">",
    "</b>",
    "<b>",
    "&",
    "&#x0;",
    "&#1114112;",
    "]]>",
    "<!--",
    "\"",
    "\\",
    "{",
    "}",
    "\u{0}",
    "\u{feff}",
    "\u{202e}서울👩‍👧",
    "\r",
    "```",
];

fn damaged(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for _ in 0..=random.below(4) {
        let (at, other) = (random.below(bytes.len() + 1), random.below(bytes.len() + 1));
        let (from, to) = (at.min(other), at.max(other));
        match random.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 => drop(bytes.splice(at..at, PIECES[random.below(PIECES.len())].bytes())),
            2 => drop(bytes.drain(from..to.min(from + 40))),
            3 => {
                let part = bytes[from..to].to_vec();
                bytes.splice(at..at, part);
            }
            4 => bytes.truncate(at.max(1)),
            5 => {
                let piece = PIECES[random.below(PIECES.len())].repeat(300);
                bytes.splice(at..at, piece.bytes());
            }
            _ => drop(bytes.splice(from..to.min(from + 3), PIECES[random.below(PIECES.len())].bytes())),
        }
    }
    bytes
}

/// Reads a document, and writes it with its own texts and with others.
fn goes_through(bytes: Vec<u8>, format: Format) -> bool {
    let Ok(document) = Document::read(bytes, format, &Options::default()) else { return false };
    for seed in 0..2 {
        let translated = |text: &str| match seed {
            0 => Translated { text: text.to_owned(), links: Vec::new() },
            _ => translate(text, seed),
        };
        let translations: Vec<Translated> =
            document.units().iter().map(|unit| translated(unit.text())).collect();
        let _ = document.write(&translations);
    }
    true
}

fn run(count: u64) {
    let mut random = Random(1);
    for (format, text) in TEXTS {
        assert!(goes_through(text.into(), format), "{format:?} itself");
        let accepted =
            (0..count).filter(|_| goes_through(damaged(text.as_bytes(), &mut random), format)).count();
        assert!(accepted > 0, "{format:?}: no mutant gets far");
    }
    for _ in 0..count {
        let _ = TranslationMemory::read("memory.tmx", damaged(TMX.as_bytes(), &mut random));
        let _ = TranslationMemory::read("memory.tsv", damaged(b"One two\tEins\nThree\tDrei\n", &mut random));
    }
    for (name, format) in [
        ("letter.docx", Format::Docx),
        ("slides.pptx", Format::Pptx),
        ("letter.odt", Format::OpenDocument),
        ("book.epub", Format::Epub),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/documents").join(name);
        let sound = std::fs::read(path).expect("a file of the repository");
        let mut accepted = 0;
        for _ in 0..count / 4 {
            let bytes = match random.below(2) {
                0 => damaged(&sound, &mut random),
                _ => with_a_damaged_part(&sound, &mut random),
            };
            accepted += usize::from(goes_through(bytes, format));
        }
        assert!(accepted > 0, "{format:?}: no mutant gets far");
    }
}

/// A sound zip file with one part that is not.
fn with_a_damaged_part(sound: &[u8], random: &mut Random) -> Vec<u8> {
    let mut archive = ZipArchive::new(Cursor::new(sound)).expect("a zip file");
    let which = random.below(archive.len());
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).expect("a part");
        let name = file.name().expect("a name").into_owned();
        let mut content = Vec::new();
        file.read_to_end(&mut content).expect("content");
        if index == which && !content.is_empty() {
            content = damaged(&content, random);
        }
        writer.start_file(name, SimpleFileOptions::default()).expect("a part");
        writer.write_all(&content).expect("content");
    }
    writer.finish().expect("a zip file").into_inner()
}

#[test]
fn hundreds_of_damaged_documents_are_translated_or_refused() {
    run(150);
}

#[test]
#[ignore = "takes minutes"]
fn thousands_of_damaged_documents_are_translated_or_refused() {
    run(10_000);
}
