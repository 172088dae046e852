//! Office documents and books: files that their own libraries wrote (`tests/data/documents/make.py`), and hostile ones.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};
use std::path::Path;

use super::common::{same, translated};
use wordloom_documents::{Document, DocumentError, Format, Options};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

fn sample(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/documents").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The parts of a zip file.
fn parts(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).expect("a zip file");
    let mut parts = BTreeMap::new();
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).expect("a part");
        let name = file.name().expect("a name").into_owned();
        let mut content = Vec::new();
        file.read_to_end(&mut content).expect("content");
        parts.insert(name, content);
    }
    parts
}

fn zipped(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        writer.start_file(*name, SimpleFileOptions::default()).expect("a part");
        writer.write_all(content).expect("content");
    }
    writer.finish().expect("a zip file").into_inner()
}

/// The text of a part after the document was translated word by word.
fn part(name: &str, format: Format, part: &str) -> String {
    let source = sample(name);
    let written = translated(&source, format, 0);
    let (before, after) = (parts(&source), parts(&written));
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    String::from_utf8(after[part].clone()).expect("UTF-8")
}

/// Text between the tags of elements of this name.
fn texts(xml: &str, name: &str) -> String {
    let start = format!("<{name}");
    let pieces = xml.split(&*start).skip(1).filter(|piece| piece.starts_with(['>', ' ']));
    pieces
        .map(|piece| piece.split_once('>').map_or("", |(_, text)| text.split('<').next().unwrap_or_default()))
        .collect()
}

#[test]
fn word_keeps_formats_links_and_comments() {
    let document = part("letter.docx", Format::Docx, "word/document.xml");
    let text = texts(&document, "w:t");
    for line in [
        "Gur ubhfr ol gur evire",
        "V fnj erq obngf ba gur evire naq gjb zra va gur tneqra.",
        "Cyrnfr jevgr gb bhe bssvpr be gb me@mail.example.org.",
        "Svefg yvar",
        "Frpbaq yvar",
        "nsgre n gno",
        "Gbz &amp; Naan",
        "12:30",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let run =
        |format: &str, text: &str| format!("<w:r>{format}<w:t xml:space=\"preserve\">{text}</w:t></w:r>");
    assert!(document.contains(&run("<w:rPr><w:b/></w:rPr>", "erq obngf")), "{document}");
    assert!(document.contains(&run("<w:rPr><w:i/></w:rPr>", "gjb zra")), "{document}");
    let link = document.split("<w:hyperlink").nth(1).and_then(|rest| rest.split("</w:hyperlink>").next());
    assert!(link.expect("a link").contains("bhe bssvpr"), "{document}");
    assert_eq!(document.matches("<w:br/>").count() + document.matches("<w:tab/>").count(), 2);
    assert!(!document.contains("<w:t xml:space=\"preserve\"></w:t>"), "{document}");
    let written = parts(&translated(&sample("letter.docx"), Format::Docx, 0));
    assert_eq!(written["word/comments.xml"], parts(&sample("letter.docx"))["word/comments.xml"]);
    let header = written.iter().find(|(name, _)| name.starts_with("word/header")).expect("a header");
    assert!(String::from_utf8_lossy(header.1).contains("N yrggre"));
}

#[test]
fn slides_keep_formats() {
    let slide = part("slides.pptx", Format::Pptx, "ppt/slides/slide1.xml");
    assert_eq!(texts(&slide, "a:t"), "N fznyy ubhfrV fnj erq obngf ba gur evire.Svefg yvarFrpbaq yvar");
    assert!(slide.contains("<a:rPr b=\"1\"/><a:t>erq obngf</a:t>"), "{slide}");
    let notes = part("slides.pptx", Format::Pptx, "ppt/notesSlides/notesSlide1.xml");
    assert!(notes.contains("Fnl guvf fybjyl."), "{notes}");
}

#[test]
fn opendocument_keeps_spans_and_notes() {
    let content = part("letter.odt", Format::OpenDocument, "content.xml");
    for piece in [
        ">erq obngf</text:span> ba gur evire<text:note ",
        "Vg vf n ybat evire.</text:p></text:note-body></text:note>.",
        "Svefg yvar<text:line-break/>Frpbaq yvar",
        "<text:note-citation>1<",
    ] {
        assert!(content.contains(piece), "{piece}: {content}");
    }
}

#[test]
fn books_keep_pages_and_contents() {
    let page = part("book.epub", Format::Epub, "EPUB/first.xhtml");
    for piece in [
        "<h1>Gur svefg qnl</h1>",
        "V fnj <b>erq obngf</b> ba gur evire.",
        "Gbz &amp; Naan<br/>",
        "<pre>kept text</pre>",
    ] {
        assert!(page.contains(piece), "{piece}: {page}");
    }
    assert!(part("book.epub", Format::Epub, "EPUB/toc.ncx").contains("<text>Gur svefg qnl</text>"));
    // a reader looks for this part first, and unpacked
    let written = translated(&sample("book.epub"), Format::Epub, 0);
    assert_eq!(&written[30..58], b"mimetypeapplication/epub+zip");
}

#[test]
fn all_orders_of_words_give_well_formed_parts() {
    for (name, format) in [
        ("letter.docx", Format::Docx),
        ("slides.pptx", Format::Pptx),
        ("letter.odt", Format::OpenDocument),
        ("book.epub", Format::Epub),
    ] {
        for seed in 0..20 {
            let written = translated(&sample(name), format, seed);
            let units = |bytes: Vec<u8>| {
                Document::read(bytes, format, &Options::default()).expect(name).units().len()
            };
            // read again, which parses every part with text
            assert_eq!(units(written), units(sample(name)), "{name}, seed {seed}");
        }
        let units: Vec<String> = read(same(&sample(name), format), format).expect(name);
        assert_eq!(units, read(sample(name), format).expect(name));
    }
}

fn read(bytes: Vec<u8>, format: Format) -> Result<Vec<String>, DocumentError> {
    let document = Document::read(bytes, format, &Options::default())?;
    Ok(document.units().iter().map(|unit| unit.text().to_owned()).collect())
}

#[test]
fn hostile_files_are_refused() {
    let xml: &[u8] = b"<w:document><w:p><w:r><w:t>text</w:t></w:r></w:p></w:document>";
    let document = ("word/document.xml", xml);
    assert_eq!(read(zipped(&[document]), Format::Docx).expect("a document"), ["text"]);
    let bomb = vec![b' '; 64 << 20];
    match read(zipped(&[("word/document.xml", &bomb)]), Format::Docx) {
        Err(DocumentError::TooLarge { limit, .. }) => assert!(limit < 64 << 20),
        other => panic!("{other:?}"),
    }
    for name in ["../evil.xml", "/etc/passwd", "word/../../x", "..\\x", "C:/x"] {
        let error = read(zipped(&[document, (name, b"x")]), Format::Docx).expect_err(name);
        assert!(matches!(error, DocumentError::Refused { .. }), "{name}: {error}");
    }
    // an entity of a DTD stays an entity: nothing is expanded
    let entities = b"<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">]><x><w:p><w:r><w:t>text &b;</w:t></w:r></w:p></x>";
    assert_eq!(
        read(zipped(&[("word/document.xml", entities)]), Format::Docx).expect("a document"),
        ["text XA"]
    );
    let deep = "<w:p>".repeat(100_000);
    for wrong in [b"<w:p>".as_slice(), b"\xff", b"<a><b></a>", deep.as_bytes()] {
        let error = read(zipped(&[("word/document.xml", wrong)]), Format::Docx).expect_err("no XML");
        assert!(error.to_string().contains("word/document.xml"), "{error}");
    }
    assert!(read(zipped(&[("other.xml", b"<a/>")]), Format::Docx).is_err());
    let good = sample("letter.docx");
    for length in [0, 10, good.len() / 2, good.len() - 1] {
        assert!(read(good[..length].to_vec(), Format::Docx).is_err(), "{length} bytes");
    }
    // the error says what to do
    let [empty, cut] = [&good[..0], &good[..good.len() - 1]].map(<[u8]>::to_vec);
    let [other, old] = [b"some text".to_vec(), b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and more".to_vec()];
    for (bytes, says) in [(empty, "empty"), (cut, "cut off"), (other, "no zip file"), (old, "password")] {
        let error = read(bytes, Format::Docx).expect_err(says);
        assert!(error.to_string().contains(says), "{error}");
    }
    for length in 4..good.len() {
        let error = read(good[..length].to_vec(), Format::Docx).expect_err("a part of a file");
        assert!(error.to_string().contains("cut off"), "{length} bytes: {error}");
    }
    // packed with bzip2, which the file's directory and its part say
    let mut packed = zipped(&[document]);
    let places: Vec<usize> = (0..packed.len()).filter(|&at| packed[at..].starts_with(b"PK")).collect();
    packed[places[0] + 8] = 12;
    packed[places[1] + 10] = 12;
    let error = read(packed, Format::Docx).expect_err("bzip2");
    assert!(error.to_string().ends_with("save it again"), "{error}");
    let error = read(good.clone(), Format::Html).expect_err("no text");
    assert!(error.to_string().contains("a zip file, as .docx .pptx .odt .odp .epub are"), "{error}");
    // any byte may be wrong: an error or a document, and no panic
    for at in (0..good.len()).step_by(211) {
        let mut wrong = good.clone();
        wrong[at] ^= 0x55;
        let _ = read(wrong, Format::Docx);
    }
}

#[test]
fn parts_name_the_encoding_of_their_bytes() {
    let page = b"<?xml version=\"1.0\" encoding=\"us-ascii\"?><html><head><meta charset=\"us-ascii\"/></head><p>The cat</p></html>";
    let written = parts(&translated(&zipped(&[("page.xhtml", page)]), Format::Epub, 0));
    let want = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><html><head><meta charset=\"UTF-8\"/></head><p>Gur png</p></html>";
    assert_eq!(String::from_utf8_lossy(&written["page.xhtml"]), want);
    let document = b"\xef\xbb\xbf<?xml version='1.0' encoding='latin1'?><w:p><w:r><w:t>cat</w:t></w:r></w:p>";
    let written = parts(&translated(&zipped(&[("word/document.xml", document)]), Format::Docx, 0));
    let written = String::from_utf8_lossy(&written["word/document.xml"]);
    assert!(written.contains("encoding='UTF-8'") && written.contains("png"), "{written}");
}

/// Libraries of XML write prefixes of their own.
#[test]
fn prefixes_of_slides_and_opendocument_may_be_any() {
    for (name, format, path, prefixes) in [
        ("slides.pptx", Format::Pptx, "ppt/slides/slide1.xml", &["a"][..]),
        ("letter.odt", Format::OpenDocument, "content.xml", &["text", "office"]),
    ] {
        let other = |xml: &str| {
            prefixes.iter().fold(xml.to_owned(), |xml, prefix| {
                xml.replace(&format!("<{prefix}:"), &format!("<ns-{prefix}:"))
                    .replace(&format!("</{prefix}:"), &format!("</ns-{prefix}:"))
                    .replace(&format!("xmlns:{prefix}="), &format!("xmlns:ns-{prefix}="))
            })
        };
        let source = String::from_utf8(parts(&sample(name))[path].clone()).expect("UTF-8");
        let written = parts(&translated(&zipped(&[(path, other(&source).as_bytes())]), format, 1));
        let written = String::from_utf8_lossy(&written[path]);
        let want = parts(&translated(&zipped(&[(path, source.as_bytes())]), format, 1));
        assert_ne!(written, other(&source));
        assert_eq!(written, other(&String::from_utf8_lossy(&want[path])), "{name}");
    }
}

/// Programs show a diagram as it was last drawn.
#[test]
fn diagrams_are_translated_as_they_are_drawn() {
    let text = |text: &str| format!("<d:r><a:p><a:r><a:t>{text}</a:t></a:r></a:p></d:r>");
    for (folder, main, format) in
        [("ppt", "slides/slide1.xml", Format::Pptx), ("word", "document.xml", Format::Docx)]
    {
        let names =
            [main, "diagrams/data1.xml", "diagrams/drawing1.xml"].map(|name| format!("{folder}/{name}"));
        let source = text("The cat");
        let files = zipped(&names.each_ref().map(|name| (name.as_str(), source.as_bytes())));
        let written = parts(&translated(&files, format, 0));
        for name in &names[1..] {
            assert_eq!(String::from_utf8_lossy(&written[name]), text("Gur png"), "{name}");
        }
    }
}

/// A sentence without its number is another sentence.
#[test]
fn fields_of_slides_and_opendocument_are_words() {
    let slide = b"<a:p><a:r><a:t>Slide </a:t></a:r><a:fld type=\"slidenum\"><a:t>2</a:t></a:fld><a:r><a:t> of it</a:t></a:r></a:p>";
    let slides = read(zipped(&[("ppt/slides/slide1.xml", slide)]), Format::Pptx).expect("slides");
    assert_eq!(slides, ["Slide XA of it"]);
    let content = b"<text:p>Page <text:page-number>3</text:page-number> of <text:page-count>9</text:page-count><text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>A note</text:p></text:note-body></text:note> here</text:p>";
    let texts = read(zipped(&[("content.xml", content)]), Format::OpenDocument).expect("a text");
    assert_eq!(texts, ["A note", "Page XA of XB here"]);
}
