//! Word's paragraphs: fields stay, wherever their words go.

use std::io::{Cursor, Read, Write};

use super::common::{Random, translated, word};
use wordloom_documents::{Document, Format, Options};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

const PART: &str = "word/document.xml";
const NAMESPACE: &str = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";

fn packed(document: &str) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file(PART, SimpleFileOptions::default()).expect("a part");
    writer.write_all(document.as_bytes()).expect("content");
    writer.finish().expect("a zip file").into_inner()
}

/// The document after a translation with words in the order that a seed gives. It is read again, so it is well-formed.
fn turned(document: &str, seed: u64) -> String {
    let written = translated(&packed(document), Format::Docx, seed);
    let mut archive = ZipArchive::new(Cursor::new(written)).expect("a zip file");
    let mut document = String::new();
    archive.by_name(PART).expect("the part").read_to_string(&mut document).expect("UTF-8");
    Document::read(packed(&document), Format::Docx, &Options::default()).expect(&document);
    document
}

/// A document of one paragraph.
fn paragraph(content: &str) -> String {
    format!("<w:document xmlns:w=\"{NAMESPACE}\"><w:body><w:p>{content}</w:p></w:body></w:document>")
}

fn run(text: &str) -> String {
    format!("<w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r>")
}

fn mark(kind: &str) -> String {
    format!("<w:r><w:fldChar w:fldCharType=\"{kind}\"/></w:r>")
}

fn instruction(text: &str) -> String {
    format!("<w:r><w:instrText xml:space=\"preserve\"> {text} </w:instrText></w:r>")
}

fn field(name: &str, result: &str) -> String {
    mark("begin") + &instruction(name) + &mark("separate") + &run(result) + &mark("end")
}

/// All text of a part of a document.
fn texts(document: &str) -> String {
    let pieces = document.split("<w:t").skip(1).filter(|piece| piece.starts_with(['>', ' ']));
    pieces.filter_map(|piece| piece.split_once('>')?.1.split('<').next()).collect()
}

/// A model would read `twenty-one` with a hyphen that is an element as `twentyone`.
#[test]
fn hyphens_that_are_elements_are_read() {
    let run = |text: &str| format!("<w:r><w:t>{text}</w:t></w:r>");
    let document = paragraph(&run("twenty</w:t><w:noBreakHyphen/><w:t>one e</w:t><w:softHyphen/><w:t>mails"));
    let read = Document::read(packed(&document), Format::Docx, &Options::default()).expect("a document");
    assert_eq!(read.units()[0].text(), "twenty-one emails");
    assert_eq!(texts(&turned(&document, 0)), "gjragl-bar rznvyf");
    // without a word, nothing changes
    let number = paragraph("<w:r><w:t>12</w:t><w:noBreakHyphen/><w:t>13</w:t></w:r>");
    assert_eq!(turned(&number, 0), number);
}

/// As in HTML: a model would read `old1` and `H2O` as other words.
#[test]
fn numbers_above_and_below_the_line_are_no_letters() {
    let run = |text: &str| format!("<w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r>");
    let at = |place: &str, text: &str| {
        let format = format!("<w:rPr><w:vertAlign w:val=\"{place}\"/></w:rPr>");
        format!("<w:r>{format}<w:t xml:space=\"preserve\">{text}</w:t></w:r>")
    };
    let (above, below) = (|text: &str| at("superscript", text), |text: &str| at("subscript", text));
    let water = run("H") + &below("2") + &run("O");
    let sugar = run("C") + &below("6") + &run("H") + &below("12") + &run("O") + &below("6");
    for (content, text, kept) in [
        (run("Drink ") + &run("H") + &below("2") + &run("O now"), "Drink XA now", vec![water]),
        (
            run("Eat C") + &below("6") + &run("H") + &below("12") + &run("O") + &below("6"),
            "Eat XA",
            vec![sugar],
        ),
        (run("20 m") + &above("2") + &run(" of it"), "20 XA of it", vec![run("m") + &above("2")]),
        (run("A house") + &above("1") + &run(" here"), "A house here", vec![above("1")]),
        (run("The 1") + &above("st") + &run(" house"), "The 1st house", vec![]),
        (above("1") + &run(" A note"), "1 A note", vec![]),
    ] {
        let document = paragraph(&content);
        let read = Document::read(packed(&document), Format::Docx, &Options::default()).expect("a document");
        assert_eq!(read.units()[0].text(), text);
        for seed in 0..20 {
            let document = turned(&document, seed);
            assert!(kept.iter().all(|whole| document.contains(whole)), "seed {seed}: {document}");
        }
    }
    let slide = "<a:p><a:r><a:t>20 m</a:t></a:r><a:r><a:rPr baseline=\"30000\"/><a:t>2</a:t></a:r><a:r><a:rPr baseline=\"0\"/><a:t> 3</a:t></a:r></a:p>";
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("ppt/slides/slide1.xml", SimpleFileOptions::default()).expect("a part");
    writer.write_all(slide.replace("20", "See").as_bytes()).expect("content");
    let slides = writer.finish().expect("a zip file").into_inner();
    let read = Document::read(slides, Format::Pptx, &Options::default()).expect("slides");
    assert_eq!(read.units()[0].text(), "See XA 3");
}

#[test]
fn fields_are_kept_whole() {
    let if_field = |result: &str| {
        let question = mark("begin") + &instruction("IF") + &field("REF c", "yes");
        question + &mark("separate") + &run(result) + &mark("end")
    };
    let change = |piece: &str| format!("<w:ins w:id=\"1\">{piece}</w:ins>");
    for whole in [
        field("PAGEREF x", "7"),
        field("ref a \\h", "Figure 3"),
        mark("begin") + &instruction("XE house") + &mark("end"),
        if_field("five"),
        change(&mark("begin")) + &change(&instruction("DATE")) + "\n" + &change(&mark("end")),
        format!("<w:fldSimple w:instr=\" SEQ Table \">{}</w:fldSimple>", run("two")),
    ] {
        let document = paragraph(&(run("See page ") + &whole + &run(" for more about the house.")));
        for seed in 0..30 {
            let document = turned(&document, seed);
            assert!(document.contains(&whole), "{whole}\nseed {seed}: {document}");
        }
        let rest = turned(&document, 0).replace(&whole, "<w:t>#</w:t>");
        assert_eq!(texts(&rest), "Frr cntr # sbe zber nobhg gur ubhfr.", "{whole}");
    }
    // programs put all of a field in one run
    let document = paragraph(
        &(run("See page ")
            + "<w:r><w:fldChar w:fldCharType=\"begin\"/><w:instrText>PAGE</w:instrText><w:fldChar w:fldCharType=\"end\"/></w:r>"
            + &run(" of the house")),
    );
    let whole = mark("begin") + "<w:r><w:instrText>PAGE</w:instrText></w:r>" + &mark("end");
    assert!((0..30).all(|seed| turned(&document, seed).contains(&whole)));
    // at the ends of a sentence, and without a sentence
    let figure = field("SEQ Figure", "1");
    for content in [figure.clone() + &run(" The house"), run("The house ") + &figure] {
        assert!(turned(&paragraph(&content), 1).contains(&figure), "{content}");
    }
    let date = paragraph(&(field("DATE", "1 May") + &run(" 12")));
    assert_eq!(turned(&date, 1), date);
}

#[test]
fn the_result_of_a_link_is_text() {
    let start = mark("begin") + &instruction("HYPERLINK \"https://a.example\"") + &mark("separate");
    let complex = |text: &str| format!("{start}{text}{}", mark("end"));
    let simple = |text: &str| format!("<w:fldSimple w:instr=\" HYPERLINK u \">{text}</w:fldSimple>");
    for link in [&complex as &dyn Fn(&str) -> String, &simple] {
        let source = run("See ") + &link(&run("our house")) + &run(" and more");
        let want = run("Frr ") + &link(&run("bhe ubhfr")) + &run(" naq zber");
        assert_eq!(turned(&paragraph(&source), 0), paragraph(&want));
    }
    let within = complex(&(run("our house on ") + &field("PAGEREF x", "7")));
    let document = paragraph(&(run("See ") + &within + &run(" and more")));
    for seed in 0..30 {
        let document = turned(&document, seed);
        assert!(document.contains(&start) && document.contains(&field("PAGEREF x", "7")), "{document}");
    }
}

#[test]
fn fields_that_end_elsewhere_lose_and_move_nothing() {
    let entry = |page: &str| {
        let page = "<w:r><w:tab/></w:r>".to_owned() + &field("PAGEREF _Toc1", page);
        format!("<w:hyperlink w:anchor=\"_Toc1\">{}{page}</w:hyperlink>", run("The red house"))
    };
    let [begin, separate, end] = ["begin", "separate", "end"].map(mark);
    let words = run("One two three ");
    /// The letters between marks, sorted.
    fn between(document: &str, word: fn(&str) -> String) -> Vec<Vec<char>> {
        let pieces = document.split("w:fldCharType").map(|piece| {
            let mut letters: Vec<char> = word(&texts(piece)).chars().filter(|c| !c.is_whitespace()).collect();
            letters.sort_unstable();
            letters
        });
        pieces.collect()
    }
    for content in [
        begin.clone() + &instruction("TOC \\o") + &separate + &entry("1"),
        entry("2"),
        entry("3") + &end,
        words.clone() + &begin + &instruction("IF") + &words,
        words.clone() + &separate + &words + &end + &words,
        words.clone() + &end + &words + &begin + &words,
        format!("{words}<w:ins>{words}{begin}</w:ins>{words}{end}{words}"),
        format!("{words}{begin}{words}<w:hyperlink>{words}{end}{words}</w:hyperlink>{words}"),
    ] {
        let source = paragraph(&content);
        for seed in 0..20 {
            let document = turned(&source, seed);
            assert_eq!(between(&document, str::to_owned), between(&source, word), "{document}");
            for tag in ["<w:fldChar ", "<w:instrText", "</w:hyperlink>", "<w:tab/>", "</w:ins>"] {
                assert_eq!(document.matches(tag).count(), source.matches(tag).count(), "{tag}: {document}");
            }
        }
    }
}

#[test]
fn text_that_is_not_escaped_is_text() {
    let document = paragraph("<w:r><w:t><![CDATA[Tom & the <b>]]> house<!-- no --></w:t></w:r>");
    let want = paragraph(&run("Gbz &amp; gur &lt;o&gt; ubhfr"));
    assert_eq!(turned(&document, 0), want);
}

/// Libraries of XML write prefixes of their own.
#[test]
fn prefixes_may_be_any() {
    let content = run("See page ") + &field("PAGEREF x", "7") + "<w:r><w:br/></w:r>" + &run(" of the house");
    let usual = paragraph(&content);
    let other = |document: &str, prefix: &str, declaration: &str| {
        let document = document.replace(&format!("xmlns:w=\"{NAMESPACE}\""), "#");
        let renamed = document.replace("<w:", &format!("<{prefix}")).replace("</w:", &format!("</{prefix}"));
        renamed
            .replace("w:fld", if prefix.is_empty() { "x:fld" } else { "ns0:fld" })
            .replace('#', declaration)
    };
    let strict = "http://purl.oclc.org/ooxml/wordprocessingml/main";
    for (prefix, declaration) in [
        ("ns0:", format!("xmlns:ns0=\"{NAMESPACE}\"")),
        ("ns0:", format!("xmlns:ns0 = '{strict}'")),
        ("", format!("xmlns=\"{NAMESPACE}\" xmlns:x=\"{NAMESPACE}\"")),
    ] {
        for seed in 0..5 {
            let [source, want] =
                [&usual, &turned(&usual, seed)].map(|document| other(document, prefix, &declaration));
            assert_eq!(turned(&source, seed), want);
        }
    }
}

/// Any order of marks and elements gives a document that can be read, with all of them.
#[test]
fn marks_in_any_order_come_out_once() {
    let [begin, separate, end] = ["begin", "separate", "end"].map(mark);
    let pieces = [
        begin,
        separate,
        end,
        instruction("HYPERLINK u"),
        instruction("REF a"),
        run("two words "),
        run("12"),
    ];
    for seed in 0..2000 {
        let mut random = Random(seed);
        let (mut content, mut open) = (String::new(), Vec::new());
        for _ in 0..random.below(24) {
            match random.below(10) {
                0 | 1 => {
                    open.push(["w:ins", "w:hyperlink", "w:fldSimple"][random.below(3)]);
                    content += &format!("<{}>", open[open.len() - 1]);
                }
                2 | 3 => content.extend(open.pop().map(|name| format!("</{name}>"))),
                _ => content += &pieces[random.below(pieces.len())],
            }
        }
        content.extend(open.iter().rev().map(|name| format!("</{name}>")));
        let source = paragraph(&content);
        let document = turned(&source, seed);
        let elements = ["\"begin\"", "\"separate\"", "\"end\"", "<w:instrText", "<w:ins>", "<w:hyperlink>"];
        for element in elements {
            let [before, after] = [&source, &document].map(|text| text.matches(element).count());
            assert_eq!(before, after, "seed {seed}, {element}:\n{source}\n{document}");
        }
    }
}

#[test]
fn text_of_any_direction_and_with_a_reading_is_translated() {
    let ruby = |text: &str| {
        let reading = run("to kyo");
        let base = run(text).replace("<w:r>", "<w:r><w:rPr><w:b/></w:rPr>");
        format!(
            "<w:r><w:ruby><w:rubyPr/><w:rt>{reading}</w:rt><w:rubyBase>{base}</w:rubyBase></w:ruby></w:r>"
        )
    };
    let dir = |text: &str| format!("<w:dir w:val=\"rtl\">{}</w:dir>", run(text));
    let bdo = |text: &str| format!("<w:bdo w:val=\"rtl\">{}</w:bdo>", run(text));
    for element in [&ruby as &dyn Fn(&str) -> String, &dir, &bdo] {
        let source = paragraph(&(run("We see ") + &element("a city") + &run(" here")));
        let document = turned(&source, 0);
        assert_eq!(document, paragraph(&(run("Jr frr ") + &element("n pvgl") + &run(" urer"))));
        for seed in 0..20 {
            let document = turned(&source, seed);
            assert_eq!(texts(&document).matches("to kyo").count(), texts(&source).matches("to kyo").count());
        }
        // alone in a paragraph
        let document = turned(&paragraph(&element("a city")), 0);
        assert!(document.contains("n pvgl"), "{document}");
    }
}
