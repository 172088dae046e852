//! HTML, XML and Markdown: tags follow their words, everything else stays.

use super::common::{same, translate, turned};
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

#[test]
fn line_breaks_and_blocks_end_a_text_of_markdown() {
    let markdown = "\
| a | b |
|---|---|
| c | One.<br>Two.<br /><br/>Three. |

> One.<br>
> Two.

Before <p>One.</p><p>Two.</p>

**One.<br>Two.** Three.

A <b>word</b> <menu>with</menu> <!-- a <br> --> others.
";
    let want = ["a", "b", "c", "One.", "Two.", "Three.", "One.", "Two.", "Before", "One.", "Two.", "One."];
    let all = units(markdown, Format::Markdown);
    assert_eq!(all[..12], want);
    assert_eq!(all[12..], ["Two. Three.", "A word with others."]);
    assert_eq!(same(markdown.as_bytes(), Format::Markdown), markdown.as_bytes());
}

#[test]
fn code_in_tags_of_markdown_stays() {
    let markdown =
        "Press <kbd>Enter now</kbd> or <KBD>Shift</KBD>+<kbd>C</kbd>, run <code>the *old* door</code>.

See <span translate=\"no\">The Red House</span> and <span>the dog</span>. A <code>sign.
";
    assert_eq!(units(markdown, Format::Markdown), ["Press XA or XB, run XC.", "See XA and the dog. A sign."]);
    let want = [("Press", "Cerff"), (" or ", " be "), ("run", "eha"), ("See", "Frr"), (" and ", " naq ")];
    let more = [("the dog", "gur qbt"), (". A ", ". N "), ("sign", "fvta")];
    let want = want.iter().chain(&more).fold(markdown.to_owned(), |text, (from, to)| text.replace(from, to));
    assert_eq!(turned(markdown, Format::Markdown), want);
}

#[test]
fn formulas_of_markdown_stay() {
    let markdown = "\
Here is one:
$$
x *y* z = \\text{the dog} \\\\
$$
and here.

> $$
> \\begin{aligned} a &= b \\\\
> \\end{aligned}
> $$

The sum $a * b * c$ of **$f(x)$**, 2$x$, the $n$th, $`x^2`$ and $$E = mc^2$$ here.
";
    let texts = ["Here is one:", "and here.", "The sum XA of XB, 2XC, the XDth, XE and XF here."];
    assert_eq!(units(markdown, Format::Markdown), texts);
    assert_eq!(same(markdown.as_bytes(), Format::Markdown), markdown.as_bytes());
}

#[test]
fn formulas_in_brackets_and_environments_stay() {
    let markdown = "\
The energy \\(E = mc^2\\) of \\( x \\), \\\\(a_1\\\\) and \\[ \\frac{a}{b} \\] here.

\\[
\\text{the dog} * b * c
\\]

- One item:
  \\begin{align*} a &= b \\\\ c * d &= e * f
  \\end{align*}
- [a \\(x\\) link](url\\(x\\))
";
    let texts = ["The energy XA of XB, XC and XD here.", "One item:", "a XA link"];
    assert_eq!(units(markdown, Format::Markdown), texts);
    assert_eq!(same(markdown.as_bytes(), Format::Markdown), markdown.as_bytes());
    // beside other signs, whose rules are not theirs
    let beside = "See \\[ a b \\] now, %1\\(x\\) now, for $5 or $6.\n";
    assert_eq!(units(beside, Format::Markdown).len(), 1);
    assert_eq!(same(beside.as_bytes(), Format::Markdown), beside.as_bytes());
    // texts in brackets, and signs within code
    let plain = "It is \\[sic\\] here \\(see the house\\), `\\(x\\)`, \\(1\\) and \\[the dog_house\\] too.\n\n    \\(x\\)\n";
    let text = "It is [sic] here (see the house), XA, (1) and [the dog_house] too.";
    assert_eq!(units(plain, Format::Markdown), [text]);
    for part in ["\\(", "\\[x", "\\(x\\)", "\\begin{a}", "\\(x `", "\\\\(", "\\(x\\)["] {
        let markdown = part.repeat(100_000 / part.len());
        same(markdown.as_bytes(), Format::Markdown);
    }
}

#[test]
fn prices_are_no_formulas() {
    for text in [
        "It costs $5 and $6 more.",
        "From $5-$10, or $5/$6, or US$5–US$10.",
        "I have 5$, *you* have 6$ now.",
        "You pay 5$/6$ for $5 or 10$ there.",
        "Set $HOME/$USER now.",
        "They are $$ – $$$ here, $$ or $$ there.",
    ] {
        assert_eq!(units(text, Format::Markdown), [text.replace('*', "")]);
        assert_eq!(same(text.as_bytes(), Format::Markdown), text.as_bytes());
    }
    // the sign that stands for a dollar may be in a text
    let odd = "It costs $5-$6 \u{1} here, **and** [a $5-$6](u) there.";
    assert_eq!(same(odd.as_bytes(), Format::Markdown), odd.as_bytes());
    // the label keeps its dollars
    let label = "It is [a $5-$10] cat.\n";
    assert_eq!(same(label.as_bytes(), Format::Markdown), label.as_bytes());
    for part in ["$a", "$5-", "$$", "$ a", "a$ ", "$`"] {
        let markdown = part.repeat(100_000 / part.len());
        same(markdown.as_bytes(), Format::Markdown);
    }
}

#[test]
fn shortcodes_on_a_line_of_their_own_stay() {
    let markdown = "\
{{% notice note %}}
Please *read*
this.
{{% /notice %}}

{{< figure src=\"cat.jpg\" title=\"A cat\" >}}
{% include the header.html %}
The {{< ref cat >}} dog.
";
    let want = markdown.replace("Please *read*\nthis", "Cyrnfr *ernq* guvf").replace("The", "Gur");
    assert_eq!(turned(markdown, Format::Markdown), want.replace("dog", "qbt"));
}

#[test]
fn tags_that_are_text_of_xml_are_tags() {
    for (text, texts, want) in [
        ("Please &lt;b>read&lt;/b> this", &["Please read this"][..], "Cyrnfr &lt;b>ernq&lt;/b> guvf"),
        (
            "&lt;p&gt;One &lt;a href=\"x &amp;amp; y\"&gt;two&lt;/a&gt;.&lt;/p&gt;&lt;p&gt;Two &amp; one&lt;/p&gt;",
            &["One two.", "Two & one"],
            "&lt;p&gt;Bar &lt;a href=\"x &amp;amp; y\"&gt;gjb&lt;/a&gt;.&lt;/p&gt;&lt;p&gt;Gjb &amp; bar&lt;/p&gt;",
        ),
        (
            "One.&#60;br/&#62;Run &lt;code&gt;it&lt;/code&gt;",
            &["One.", "Run XA"],
            "Bar.&#60;br/&#62;Eha &lt;code&gt;it&lt;/code&gt;",
        ),
        // a tag without its other half is a word, and a sign is none
        ("The &lt;p&gt; element, 3 &lt; 4", &["The XA element, 3 < 4"], "Gur &lt;p&gt; ryrzrag, 3 &lt; 4"),
    ] {
        let xml = format!("<d><t>{text}</t></d>");
        assert_eq!(units(&xml, Format::Xml), texts);
        assert_eq!(turned(&xml, Format::Xml), format!("<d><t>{want}</t></d>"));
        let xliff = format!("<xliff><trans-unit><source>{text}</source></trans-unit></xliff>");
        assert_eq!(units(&xliff, Format::Xliff), texts);
        let with_target = xliff.replace("</source>", &format!("</source><target>{want}</target>"));
        assert_eq!(turned(&xliff, Format::Xliff), with_target);
    }
}

#[test]
fn xml_keeps_code_and_ends_texts_at_blocks() {
    let xml = "<d><para>Use <command>the list</command> or <b>it</b>.</para><programlisting>for <b>all</b></programlisting>\
        <screen><t>The cat</t></screen><command>Open it</command><p>One.<br/>Two.</p><s>A<p>One.</p><p>Two.</p></s></d>";
    let texts = ["Use XA or it.", "The cat", "Open it", "One.", "Two.", "A", "One.", "Two."];
    assert_eq!(units(xml, Format::Xml), texts);
    assert_eq!(same(xml.as_bytes(), Format::Xml), xml.as_bytes());
}

#[test]
fn xliff_has_choices() {
    let of = |content: &str, target: &str| {
        format!("<xliff><trans-unit><source>{content}</source>{target}</trans-unit></xliff>")
    };
    for (content, texts, want) in [
        (
            "{VAR_PLURAL, plural, =0 {no books} other {<x id=\"INTERPOLATION\"/> books}}",
            &["no books", "XA books"][..],
            "{VAR_PLURAL, plural, =0 {ab obbxf} other {<x id=\"INTERPOLATION\"/> obbxf}}",
        ),
        (
            "See {n, plural, =1 {a <g id=\"1\">cat</g> &amp; it} other {# cats {g, select, x {it's} other {<x id=\"2\"/>}}}} now",
            &["See", "a cat & it", "XA cats", "it's", "now"],
            "Frr {n, plural, =1 {n <g id=\"1\">png</g> &amp; vg} other {# pngf {g, select, x {vg'f} other {<x id=\"2\"/>}}}} abj",
        ),
        (
            "You have <x id=\"ICU\" equiv-text=\"{n, plural, =0 {...}}\"/> here",
            &["You have XA here"],
            "Lbh unir <x id=\"ICU\" equiv-text=\"{n, plural, =0 {...}}\"/> urer",
        ),
        (
            "One.<x id=\"LINE_BREAK\" ctype=\"lb\"/>Two.<ph id=\"1\">&lt;br/&gt;</ph>One.",
            &["One.", "Two.", "One."],
            "Bar.<x id=\"LINE_BREAK\" ctype=\"lb\"/>Gjb.<ph id=\"1\">&lt;br/&gt;</ph>Bar.",
        ),
        (
            "<![CDATA[<p>One.</p><p>Two.</p>]]>",
            &["One.", "Two."],
            "&lt;p&gt;Bar.&lt;/p&gt;&lt;p&gt;Gjb.&lt;/p&gt;",
        ),
    ] {
        assert_eq!(units(&of(content, ""), Format::Xliff), texts);
        let target = format!("<target>{want}</target>");
        assert_eq!(turned(&of(content, ""), Format::Xliff), of(content, &target));
    }
}

/// Trados puts empty segments in a target.
#[test]
fn empty_segments_of_xliff_are_filled() {
    let of = |target: &str| {
        format!(
            "<xliff><trans-unit><source>One. Two.</source><seg-source><g id=\"1\"><mrk mtype=\"seg\" mid=\"1\">One.</mrk></g> \
             <mrk mtype=\"seg\" mid=\"2\">Two.</mrk></seg-source><target>{target}</target></trans-unit></xliff>"
        )
    };
    let segments = |one: &str, two: &str| {
        format!(
            "<g id=\"1\"><mrk mtype=\"seg\" mid=\"1\">{one}</mrk></g> <mrk mtype=\"seg\" mid=\"2\">{two}</mrk>"
        )
    };
    for (target, want) in [
        (segments("", " "), segments("Bar.", "Gjb.")),
        (segments("Eins <x id=\"2\"/>.", ""), segments("Eins <x id=\"2\"/>.", "Gjb.")),
        ("<mrk mtype=\"seg\" mid=\"1\"/> <mrk mtype=\"seg\" mid=\"2\"/>".into(), segments("Bar.", "Gjb.")),
        (segments("Eins.", "Zwei."), segments("Eins.", "Zwei.")),
        ("Text <mrk mtype=\"seg\" mid=\"1\"/>".into(), "Text <mrk mtype=\"seg\" mid=\"1\"/>".into()),
    ] {
        assert_eq!(turned(&of(&target), Format::Xliff), of(&want));
    }
    let windows = "<xliff>\r\n <trans-unit>\r\n  <source>One</source>\r\n </trans-unit>\r\n</xliff>\r\n";
    let want = windows.replace("</source>\r\n", "</source>\r\n  <target>Bar</target>\r\n");
    assert_eq!(turned(windows, Format::Xliff), want);
}

/// A placeholder whose word is missing comes before the punctuation, with the space of the text.
#[test]
fn a_lost_placeholder_keeps_its_space() {
    let html = "<p>Use <code>npm</code> or press <kbd>Ctrl</kbd>.</p>";
    let document = Document::read(html.into(), Format::Html, &Options::default()).expect("HTML");
    for (text, links) in [
        ("Nutze XA oder X.", vec![(0, 0), (1, 1), (2, 2), (4, 3)]),
        ("Nutze XA oder XBX.", vec![(0, 0), (1, 1), (2, 2), (4, 3)]),
    ] {
        let written = document.write(&[Translated { text: text.into(), links }]).expect("HTML");
        let want = "<p>Nutze <code>npm</code> oder <kbd>Ctrl</kbd>.</p>";
        assert_eq!(String::from_utf8(written).expect("UTF-8"), want, "{text}");
    }
    let html = "<p>It is <kbd>A</kbd> now</p>";
    let document = Document::read(html.into(), Format::Html, &Options::default()).expect("HTML");
    let translated = Translated { text: "Es ist X, ja".into(), links: vec![(0, 0), (1, 1), (2, 2), (3, 3)] };
    assert_eq!(document.write(&[translated]).expect("HTML"), b"<p>Es ist <kbd>A</kbd>, ja</p>");
}
