//! HTML, XML and Markdown: tags follow their words, everything else stays.

mod common;

use common::{same, translate, turned};
use wordloom_documents::{Document, Format, Options, Translated};

fn units(source: &str, format: Format) -> Vec<String> {
    let document = Document::read(source.as_bytes().to_vec(), format, &Options::default()).expect(source);
    document.units().iter().map(|unit| unit.text().to_owned()).collect()
}

/// The document with its words in this order, counted from 1.
fn in_order(html: &str, order: &[usize]) -> String {
    let document = Document::read(html.as_bytes().to_vec(), Format::Html, &Options::default()).expect(html);
    let translated = document.units().iter().map(|unit| {
        let source: Vec<&str> = unit.text().split_whitespace().collect();
        let taken: Vec<&str> = order.iter().map(|&word| source[word - 1]).collect();
        let links = order.iter().enumerate().map(|(to, &from)| (from - 1, to)).collect();
        Translated { text: taken.join(" "), links }
    });
    String::from_utf8(document.write(&translated.collect::<Vec<_>>()).expect(html)).expect("UTF-8")
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
        "first<br>second<br/>third",
        "<script>if (a < b) { x(\"<p>y</p>\") }</script><!-- a <b>comment</b> --><p>text</p>",
        "<p>Hello <a href=\"https://a.example/b\"><span class=\"i\">https://</span><span>a.example/b</span></a> there</p>",
        "<p>run <code>ls -l</code> now</p>",
        "an <img src=\"a.png\" alt=\"b c\"> image",
        "<p title='it&#x27;s a title'>text</p>",
        "<b>all bold</b>",
        "a <span translate=\"no\">Foo Bar</span> here",
        "Hi {name}, see https://a.example/?q=%20 😀 there 👋🏽",
        "<p><![CDATA[x <b> y]]></p>",
    ] {
        assert_eq!(String::from_utf8(same(html.as_bytes(), Format::Html)).expect("UTF-8"), html);
    }
    // tags within a word stay if the translation copies it; else they move to its end, or to its beginning
    for html in ["Hello <b>wo</b>rld", "from 1<sup>st</sup>, of <b>Mac</b>Donald", "x<i>y</i>"] {
        assert_eq!(same(html.as_bytes(), Format::Html), html.as_bytes());
    }
    assert_eq!(turned("Hello <b>wo</b>rld", Format::Html), "Uryyb <b>jbeyq</b>");
    let unclosed = same(b"<i>un<b>closed</i> text</p> here</b>", Format::Html);
    let unclosed = String::from_utf8(unclosed).expect("UTF-8");
    assert!(
        ["<i>", "</i>", "<b>", "</b>", "</p>"].iter().all(|tag| unclosed.matches(tag).count() == 1),
        "{unclosed}"
    );
}

#[test]
fn tags_follow_their_words() {
    for (html, order, want) in [
        ("<p>I saw <b>red</b> boats.</p>", &[1, 3, 4, 2][..], "<p>I <b>red</b> boats. saw</p>"),
        ("a <i>b <u>c</u></i> d", &[4, 3, 2, 1], "d <i><u>c</u> b</i> a"),
        // one element in two places covers what is between
        ("a <b>b c</b> d", &[2, 1, 3, 4], "<b>b a c</b> d"),
        // elements change places as their words do
        ("a <b>red</b> <i>house</i> there", &[1, 3, 2, 4], "a <i>house</i> <b>red</b> there"),
        (
            "I <b>have</b> <i>the <u>red</u> house</i>",
            &[3, 5, 4, 2, 1],
            "<i>the house <u>red</u></i> <b>have</b> I",
        ),
        // markup alone keeps its order, which a half of a pair needs
        ("<a>a <img> b</a> <i>c <img id=2> d</i>", &[3, 4, 1, 2], "c d <a>a <img> b</a><i><img id=2></i>"),
        // ranges that would cross are cut
        ("<b>a b</b> <i>c d</i>", &[1, 3, 2, 4], "<b>a c b</b> <i>d</i>"),
        ("<b>a b</b> <i>c</i> d", &[1, 3, 2, 4], "<b>a</b> <i>c</i> b d"),
        ("see @x <b>now</b>!", &[1, 2, 3], "see @x <b>now</b>!"),
        (
            "hi <a href=\"u\">@<span>me</span></a> you",
            &[3, 2, 1],
            "you <a href=\"u\">@<span>me</span></a> hi",
        ),
        ("run <code>ls</code> in {dir}", &[4, 3, 1, 2], "{dir} in run <code>ls</code>"),
    ] {
        assert_eq!(in_order(html, order), want, "{html}");
    }
}

/// Punctuation is written with its word, but may have a format of its own.
#[test]
fn punctuation_stays_on_its_side_of_a_tag() {
    for (html, text, want) in [
        (
            "<i>Where is the </i><b>station</b><i>?</i>",
            "Wo ist der Bahnhof?",
            "<i>Wo ist der</i> <b>Bahnhof</b><i>?</i>",
        ),
        ("He (<b>Tom</b>) left", "Er (Tom) ging", "Er (<b>Tom</b>) ging"),
        ("He said: <b>“</b><i>No</i>“", "Er sagte: „Nein“", "Er sagte: <b>„</b><i>Nein</i>“"),
        ("I am <b>here</b><i>, now</i>", "Ich bin hier, jetzt", "Ich bin <b>hier</b>, <i>jetzt</i>"),
    ] {
        let document = Document::read(html.into(), Format::Html, &Options::default()).expect("a document");
        let links = (0..text.split_whitespace().count()).map(|word| (word, word)).collect();
        let written = document.write(&[Translated { text: text.into(), links }]).expect("a document");
        assert_eq!(String::from_utf8(written).expect("UTF-8"), want);
    }
}

#[test]
fn text_is_decoded_and_encoded() {
    let html = "<p>Tom &amp; Jerry&#39;s&nbsp;house</p>";
    assert_eq!(units(html, Format::Html), ["Tom & Jerry's house"]);
    let document = Document::read(html.into(), Format::Html, &Options::default()).expect(html);
    let translated = Translated { text: "<Haus> & mehr".into(), links: Vec::new() };
    assert_eq!(document.write(&[translated]).expect(html), b"<p>&lt;Haus&gt; &amp; mehr</p>");
}

#[test]
fn attributes_that_are_text_are_translated() {
    assert_eq!(
        turned(
            "<p>See <img src=\"a.png\" alt='one &amp; two'> it</p><input placeholder=\"name\" value=\"kept\">",
            Format::Html
        ),
        "<p>Frr <img src=\"a.png\" alt='bar &amp; gjb'> vg</p><input placeholder=\"anzr\" value=\"kept\">"
    );
}

#[test]
fn placeholders_come_out_once_even_if_their_words_are_lost() {
    let source = "<p>Hello {name}, see <b>%d files</b> and {name} 😀</p>";
    let document = Document::read(source.into(), Format::Html, &Options::default()).expect("a document");
    assert_eq!(units(source, Format::Html), ["Hello XA, see XB files and XC"]);
    for text in ["Hallo", "Hallo XA XA XA", "XBs XAXB", "", "XC XB XA", "<XA> & \"XB\""] {
        let written =
            document.write(&[Translated { text: text.into(), links: vec![(0, 0), (1, 0), (9, 9)] }]);
        let written = String::from_utf8(written.expect("a document")).expect("UTF-8");
        for (part, count) in [("{name}", 2), ("%d", 1), ("<b>", 1), ("</b>", 1), ("😀", 1)] {
            assert_eq!(written.matches(part).count(), count, "{text}: {written}");
        }
    }
}

#[test]
fn deep_and_broken_markup_is_read_in_time_and_memory() {
    for html in [
        "<b>a ".repeat(100_000),
        "<b>a</b> ".repeat(50_000),
        "</b>a<i>".repeat(100_000),
        "%d ".repeat(100_000) + "word",
        "<a name='x".repeat(20_000),
        "{".repeat(100_000),
        "<".repeat(100_000),
        "😀 a ".repeat(50_000),
    ] {
        let written = same(html.as_bytes(), Format::Html);
        assert_eq!(written.iter().filter(|byte| **byte == b'<').count(), html.matches('<').count());
    }
}

#[test]
fn xml_has_texts_and_structure() {
    let xml = "<?xml version=\"1.0\"?>\n<!DOCTYPE d [<!ENTITY e \"x\">]>\n<d>\n  <t>One <b>two</b> &e; three</t>\n  <n translate=\"no\">kept</n>\n  <g><t><![CDATA[kept]]></t></g></d>\n";
    let want = xml.replace("One", "Bar").replace("two", "gjb").replace("three", "guerr");
    assert_eq!(turned(xml, Format::Xml), want);
    let bomb =
        "<!DOCTYPE l [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]><l>some &b; text</l>";
    assert!(turned(bomb, Format::Xml).ends_with("<l>fbzr &b; grkg</l>"));
    for broken in ["<a>", "<a></b>", "<a", "</a>", &"<a>".repeat(100_000), "<a b=\"<\">"] {
        if let Ok(document) = Document::read(broken.into(), Format::Xml, &Options::default()) {
            assert_eq!(document.write(&[]).expect("no units"), broken.as_bytes());
        }
    }
    // byte order marks, as in files that were put together
    let marked = "\u{feff}\u{feff}<p>One</p>";
    assert_eq!(turned(marked, Format::Xml), marked.replace("One", "Bar"));
    // an ampersand that begins no entity, and one that does
    let research =
        Document::read("<p>R&D&eacute; it</p>".into(), Format::Xml, &Options::default()).expect("XML");
    let text = research.units()[0].text().to_owned();
    let written = research.write(&[Translated { text, links: Vec::new() }]).expect("XML");
    assert_eq!(String::from_utf8(written).expect("UTF-8"), "<p>R&amp;D&eacute; it</p>");
    assert!(Document::read("<a>text</b>".into(), Format::Xml, &Options::default()).is_err());
}

#[test]
fn markdown_changes_only_its_text() {
    let markdown = "\
---
title: kept
---

# A title {#id}

Some *words* in **bold and _nested_ ones**, `code` and a [link](https://a.example \"kept\").
They go on \\* here.

* one <b>item</b>
* [x] done
  > quoted
  > text

| head | other |
|:-----|------:|
| cell one | a\\|b |

```rust
let kept = \"text\";
```

<div>
kept
</div>

![an image](a.png) See <https://a.example>, me@mail.example and [ref][r].[^1]

[r]: https://b.example
[^1]: A note.
";
    let same = String::from_utf8(same(markdown.as_bytes(), Format::Markdown)).expect("UTF-8");
    let reflowed = markdown
        .replace("\"kept\").\nThey", "\"kept\"). They")
        .replace("quoted\n  > text", "quoted text")
        .replace("\\* here", "* here");
    assert_eq!(same, reflowed);
    let turned = turned(markdown, Format::Markdown);
    for part in [
        "# N gvgyr {#id}",
        "**obyq naq _arfgrq_ barf**",
        "[yvax](https://a.example \"kept\")",
        "<b>vgrz</b>",
        "[x] qbar",
        "| pryy bar | n\\|o |",
        "let kept = \"text\";",
        "![na vzntr](a.png)",
        "[^1]: N abgr.",
        "<https://a.example>",
    ] {
        assert!(turned.contains(part), "{part}: {turned}");
    }
}

#[test]
fn a_fragment_of_xml_is_one_text() {
    assert_eq!(turned("One <b>two</b> three", Format::Xml), "Bar <b>gjb</b> guerr");
    let options = Options { kept_elements: vec!["code".into()], ..Options::default() };
    let xml = "<d><t>one <code>two</code> three</t><code>four</code></d>";
    let document = Document::read(xml.into(), Format::Xml, &options).expect("XML");
    assert_eq!(document.units().len(), 1);
    assert!(!document.units()[0].text().contains("two"));
}

#[test]
fn emphasis_of_markdown_has_text() {
    /// Source, translation, links, result.
    type Case = (&'static str, &'static str, &'static [(usize, usize)], &'static str);
    let cases: &[Case] = &[
        ("a **b** *c* d", "A X D", &[(0, 0), (1, 1), (2, 1), (3, 2)], "A ***X*** D"),
        ("a *b* **c** d", "A X D", &[(0, 0), (1, 1), (2, 1), (3, 2)], "A ***X*** D"),
        ("a [b](u) *c* d", "A X D", &[(0, 0), (1, 1), (2, 1), (3, 2)], "A *[X](u)* D"),
        ("a *b* *c* d", "A X D", &[(0, 0), (1, 1), (2, 1), (3, 2)], "A *X* D"),
        ("a *b* **c** *d* e", "A X E", &[(0, 0), (1, 1), (2, 1), (3, 1), (4, 2)], "A ***X*** E"),
        ("a b *c* d.", "A B D.", &[(0, 0), (1, 1), (3, 2)], "A *B* D."),
        ("*c* a b", "A B", &[(1, 0), (2, 1)], "*A* B"),
        ("**a *b***", "X", &[(0, 0), (1, 0)], "***X***"),
    ];
    for (source, text, links, want) in cases {
        let document =
            Document::read((*source).into(), Format::Markdown, &Options::default()).expect("Markdown");
        let translated = Translated { text: (*text).into(), links: links.to_vec() };
        let written = document.write(&[translated]).expect("Markdown");
        assert_eq!(String::from_utf8_lossy(&written), *want, "{source}");
    }
}

#[test]
fn translations_that_look_like_markdown_are_escaped() {
    let document = Document::read("text\n".into(), Format::Markdown, &Options::default()).expect("Markdown");
    let translated = |text: &str| Translated { text: text.into(), links: Vec::new() };
    for (text, want) in
        [("# no *bold*", "\\# no \\*bold\\*\n"), ("1. no list", "1\\. no list\n"), ("- no", "\\- no\n")]
    {
        assert_eq!(document.write(&[translated(text)]).expect("Markdown"), want.as_bytes());
    }
    assert_eq!(translate("a b c", 0).text, "n o p");
}

/// Tools take a unit of XLIFF with a target as translated.
#[test]
fn xliff_has_text_that_is_not_escaped() {
    let file = |units: &str| format!("<xliff><file><body>{units}</body></file></xliff>");
    let source = |source: &str, target: &str| {
        file(&format!("<trans-unit id=\"1\"><source>{source}</source>{target}</trans-unit>"))
    };
    for (text, target, want) in [
        ("<![CDATA[The cat sleeps.]]>", "", "Gur png fyrrcf."),
        ("<![CDATA[Tom & <b>the cat</b>]]>", "", "Gbz &amp; &lt;b&gt;gur png&lt;/b&gt;"),
        ("The <![CDATA[cat]]> <g id=\"1\">sleeps</g>", "", "Gur png <g id=\"1\">fyrrcf</g>"),
        ("<![CDATA[The cat]]>", "<target><![CDATA[ ]]></target>", "Gur png"),
        ("<![CDATA[12 < 13]]>", "", "12 &lt; 13"),
    ] {
        let want = source(text, &format!("<target>{want}</target>"));
        assert_eq!(turned(&source(text, target), Format::Xliff), want);
    }
    let translated = source("<![CDATA[The cat]]>", "<target><![CDATA[Die Katze]]></target>");
    assert_eq!(turned(&translated, Format::Xliff), translated);
}

#[test]
fn xliff_keeps_what_is_protected_and_its_segments() {
    for (content, texts, want) in [
        (
            "See <mrk mtype=\"protected\">My App</mrk> now",
            &["See XA now"][..],
            "Frr <mrk mtype=\"protected\">My App</mrk> abj",
        ),
        (
            "See <mrk id=\"1\" translate=\"no\">it</mrk>",
            &["See XA"],
            "Frr <mrk id=\"1\" translate=\"no\">it</mrk>",
        ),
        // a code in place of a name or a number, and one in place of a tag
        (
            "Hi <x id=\"INTERPOLATION\"/>, <x id=\"2\" equiv-text=\"&lt;br/&gt;\"/><ph id=\"3\">{0}</ph> cats",
            &["Hi XA, XB cats"],
            "Uv <x id=\"INTERPOLATION\"/>, <x id=\"2\" equiv-text=\"&lt;br/&gt;\"/><ph id=\"3\">{0}</ph> pngf",
        ),
    ] {
        let xliff = format!("<xliff><unit><segment><source>{content}</source></segment></unit></xliff>");
        assert_eq!(units(&xliff, Format::Xliff), texts);
        let want = xliff.replace("</source>", &format!("</source><target>{want}</target>"));
        assert_eq!(turned(&xliff, Format::Xliff), want);
    }
    // a copy of the source waits for its translation, a sentence that is the same in both languages does not
    let of = |state: &str, target: &str| {
        format!(
            "<xliff><trans-unit><source>The cat</source><target state=\"{state}\">{target}</target></trans-unit></xliff>"
        )
    };
    assert_eq!(
        turned(&of("needs-translation", "The cat"), Format::Xliff),
        of("needs-translation", "Gur png")
    );
    for kept in [of("final", "The cat"), of("new", "Die Katze")] {
        assert_eq!(turned(&kept, Format::Xliff), kept);
    }
    let segments = "<mrk mtype=\"seg\" mid=\"1\">One.</mrk> <mrk mtype=\"seg\" mid=\"2\">Two.</mrk>";
    let xliff = format!(
        "<xliff><trans-unit><source>One. Two.</source><seg-source>{segments}</seg-source></trans-unit></xliff>"
    );
    assert_eq!(units(&xliff, Format::Xliff), ["One.", "Two."]);
    let target = format!("<target>{}</target>", segments.replace("One", "Bar").replace("Two", "Gjb"));
    let want = xliff.replace("</seg-source>", &format!("</seg-source>{target}"));
    assert_eq!(turned(&xliff, Format::Xliff), want);
}

#[test]
fn lines_of_markdown_for_other_programs_stay() {
    let markdown = "\
:::note[kept]
Some text
and more.
:::

!!! warning \"kept\"
    In the warning

> :::tip
> Quoted *text*
> :::

A term
: The `first` one
:   The *second* one

A ratio
3 : 4 :rocket:
";
    let want = [
        ("Some text\nand more", "Fbzr grkg naq zber"),
        ("In the warning", "Va gur jneavat"),
        ("Quoted *text*", "Dhbgrq *grkg*"),
        ("A term", "N grez"),
        ("The `first` one", "Gur `first` bar"),
        ("The *second* one", "Gur *frpbaq* bar"),
        ("A ratio\n3", "N engvb 3"),
    ];
    let want = want.iter().fold(markdown.to_owned(), |text, (from, to)| text.replace(from, to));
    assert_eq!(turned(markdown, Format::Markdown), want);
}

/// What is written is UTF-8, so that a document must not name another encoding.
#[test]
fn the_encoding_that_a_document_names_is_that_of_its_bytes() {
    for (source, format, want) in [
        (
            "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a><p>The cat</p></a>",
            Format::Xml,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><a><p>Gur png</p></a>",
        ),
        (
            "<?xml version='1.0' encoding='us-ascii'?><xliff><trans-unit><source>cat</source></trans-unit></xliff>",
            Format::Xliff,
            "<?xml version='1.0' encoding='UTF-8'?><xliff><trans-unit><source>cat</source><target>png</target></trans-unit></xliff>",
        ),
        (
            "\u{feff}<meta charset=iso-8859-1><p>The cat</p>",
            Format::Html,
            "\u{feff}<meta charset=UTF-8><p>Gur png</p>",
        ),
        (
            "<meta http-equiv=\"content-type\" content=\"text/html; charset=iso-8859-1\"><p>The cat</p>",
            Format::Html,
            "<meta http-equiv=\"content-type\" content=\"text/html; charset=UTF-8\"><p>Gur png</p>",
        ),
    ] {
        assert_eq!(turned(source, format), want);
    }
    // UTF-16 stays what it is, and what it names
    let xml = "\u{feff}<?xml version=\"1.0\" encoding=\"UTF-16\"?><a>12</a>";
    let bytes: Vec<u8> = xml.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(same(&bytes, Format::Xml), bytes);
    // bytes that are not UTF-8 are refused, whatever the document names
    let latin = b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>caf\xe9</a>";
    let error = Document::read(latin.to_vec(), Format::Xml, &Options::default()).expect_err("Latin-1");
    assert!(error.to_string().contains("iconv"), "{error}");
}
