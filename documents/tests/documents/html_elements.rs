//! Where elements and tags of HTML end, as the standard says, also without end tags.

use super::common::{same, turned};
use wordloom_documents::{Document, Format, Options, Translated};

fn texts(html: &str) -> Vec<String> {
    assert_eq!(same(html.as_bytes(), Format::Html), html.as_bytes(), "{html}");
    let document = Document::read(html.into(), Format::Html, &Options::default()).expect(html);
    document.units().iter().map(|unit| unit.text().to_owned()).collect()
}

#[test]
fn a_script_ends_at_its_first_end_tag() {
    let fallback = "<script>document.write(\"<script src=a><\\/script>\")</script>\n<p>The cat sleeps.</p>";
    assert_eq!(texts(fallback), ["The cat sleeps."]);
    assert_eq!(texts("<style>a::after { content: '<style>' }</style><p>One</p>"), ["One"]);
    assert_eq!(texts("<textarea><textarea></textarea><p>One</p>"), ["One"]);
    // these nest
    assert_eq!(texts("<svg><svg></svg><text>no</text></svg><p>One</p>"), ["One"]);
}

#[test]
fn what_is_not_translated_ends_without_an_end_tag() {
    for (html, want) in [
        ("<input translate=\"no\"><p>The cat sleeps.</p>", &["The cat sleeps."][..]),
        ("<hr translate=no>The cat", &["The cat"]),
        ("<ul><li translate=\"no\">Foo<li>The cat</ul><p>The house</p>", &["The cat", "The house"]),
        (
            "<ul><li translate=no>Foo<ul><li>Bar<li>Baz</ul><li>The cat</ul>The house",
            &["The cat", "The house"],
        ),
        ("<ul><li translate=no>Foo</ul>The house", &["The house"]),
        ("<dl><dt translate=no>Foo<dd>The cat</dl>", &["The cat"]),
        ("<div><p translate=no>Foo<b>Bar</b><p>The cat</div>", &["The cat"]),
        ("<div><p translate=no>Foo</div>The cat", &["The cat"]),
        (
            "<table><tr><td translate=no>Foo<td>The cat<tr translate=no><td>Bar<tr><td>The dog</table>",
            &["The cat", "The dog"],
        ),
        ("<table><tr><td translate=no><table><tr><td>Foo</table><td>The cat</table>", &["The cat"]),
        ("<select><option translate=no>Foo<option>The cat</select>", &["The cat"]),
        ("<p translate=no>Foo</p>The cat", &["The cat"]),
        ("<div translate=no>Foo<div>Bar</div>Baz</div>The cat", &["The cat"]),
    ] {
        assert_eq!(texts(html), want, "{html}");
    }
}

#[test]
fn only_the_attribute_translate_says_so() {
    assert_eq!(texts("<p>See <a href=\"/p?translate=no\">the cat</a> now</p>").len(), 1);
    assert_eq!(texts("<p data-translate=\"no\">The cat</p>"), ["The cat"]);
    assert_eq!(texts("<p title=\"translate='no'\">The cat</p>"), ["translate='no'", "The cat"]);
    let marks =
        ["translate=no", "TRANSLATE='No'", "class=a translate = \"no\" id=b", "class='a notranslate'"];
    for marked in marks {
        assert_eq!(texts(&format!("<p {marked}>The cat</p>")), [""; 0], "{marked}");
    }
}

#[test]
fn a_quote_begins_a_value_only_behind_its_sign() {
    assert_eq!(texts("<p data-a=it's>The cat sleeps.</p><p>Don't go.</p>"), ["The cat sleeps.", "Don't go."]);
    assert_eq!(texts("<p data-a= \"a > b\">The cat</p>"), ["The cat"]);
    assert_eq!(texts("<p 'a\" b>The cat</p>"), ["The cat"]);
}

#[test]
fn a_value_without_quotes_is_text_as_well() {
    let written = turned("<p><img src=a.png alt=House width=3>Cat</p>", Format::Html);
    assert_eq!(written, "<p><img src=a.png alt=\"Ubhfr\" width=3>Png</p>");
}

#[test]
fn an_empty_comment_is_closed() {
    for comment in ["<!-->", "<!--->", "<!---->", "<!-- a > b -->"] {
        assert_eq!(texts(&format!("{comment}The cat<!-- b -->")), ["The cat"], "{comment}");
    }
}

/// Some of these took time by the square of their length: minutes for this one.
#[test]
fn long_runs_of_the_same_signs_are_read_at_once() {
    for part in [
        "%d",
        "<",
        "<pre \"",
        "<pre =\"",
        "<pre ",
        "<a b='<pre ",
        "</p",
        "a@",
        "{",
        "$",
        "`",
        "&",
        "<!--",
        "https:/",
    ] {
        for before in ["", "<pre>", "<p translate=no>"] {
            let html = format!("{before}{}", part.repeat(200_000 / part.len()));
            assert_eq!(same(html.as_bytes(), Format::Html).len(), html.len(), "{part}");
        }
    }
}

/// A model would read `old[1]` and `H2O` as other words.
#[test]
fn references_are_no_words_and_formulas_are_one() {
    for (html, want) in [
        ("An old house<sup><a href=\"#n1\">[1]</a></sup> and a cat.<sup>2</sup>", "An old house and a cat."),
        (
            "The <b>house</b><sup id=a><a href='#n'><span>[</span>2<span>]</span></a></sup><sup>[3]</sup> it",
            "The house it",
        ),
        ("A house<a href=\"notes.xhtml#n4\">4</a> and a cat<sup>*</sup>", "A house and a cat"),
        ("It has 20 m<sup>2</sup>, and H<sub>2</sub>O.", "It has 20 XA, and XB."),
        ("Use (C<sub>6</sub>H<sub>12</sub>O<sub>6</sub>) and Fe(OH)<sub>3</sub>", "Use (XA) and XB"),
        ("Some &alpha;<sub>1</sub> or V<sub>max</sub> of 10<sup>-3</sup>", "Some XA or XB of XC"),
        // letters are text
        ("The 1<sup>st</sup> house", "The 1st house"),
        ("A cat<sup>new</sup> <a href=\"#top\">Top<sup>2</sup></a>", "A catnew Top"),
        ("<a href=\"#one\">1</a> <sup>2</sup> cats", "1 2 cats"),
    ] {
        assert_eq!(texts(html), [want], "{html}");
    }
    let html = "<p>See H<sub>2</sub>O here<sup><a href=\"#n\">[1]</a></sup> now</p>";
    assert_eq!(
        turned(html, Format::Html),
        html.replace("See", "Frr").replace("here", "urer").replace("now", "abj")
    );
    let ordinal =
        Document::read("The 1<sup>st</sup> house".into(), Format::Html, &Options::default()).expect("HTML");
    let translated = Translated { text: "Das erste Haus".into(), links: vec![(0, 0), (1, 1), (2, 2)] };
    assert_eq!(ordinal.write(&[translated]).expect("HTML"), b"Das erste<sup></sup> Haus");
    // in time by its length
    for html in ["a<sup>".repeat(100_000), "<sub>1</sub>".repeat(100_000), "x<sub>1</sub>".repeat(100_000)] {
        let written = same(html.as_bytes(), Format::Html);
        assert_eq!(written.iter().filter(|byte| **byte == b'<').count(), html.matches('<').count());
    }
}

#[test]
fn readings_above_a_word_are_no_words() {
    for html in [
        "<p>日本語の<ruby>漢字<rp>(</rp><rt>kanji</rt><rp>)</rp></ruby>です</p>",
        "<p>日本語の<ruby>漢<rt>kan<rb>字<rt>ji</ruby>です</p>",
    ] {
        assert_eq!(texts(html), ["日本語の漢字です"], "{html}");
    }
    assert_eq!(texts("<p><ruby>漢<rt>kan</p><p>The cat</p>"), ["漢", "The cat"]);
}

#[test]
fn attributes_that_a_reader_sees_are_text() {
    let html = "<meta name=\"Description\" content=\"One\"><meta property=og:title content=\"One\"><input type=submit value=\"One\">\
        <optgroup label=\"One\"><option label=\"One\" value=\"two\"></optgroup><track label=\"One\"><b aria-description=\"One\"></b>";
    assert_eq!(turned(html, Format::Html), html.replace("One", "Bar"));
    let kept = "<meta name=viewport content=\"One\"><meta charset=\"utf-8\" content=\"One\"><input type=text value=\"One\"><input value=\"One\"><data value=\"One\" label=\"One\"></data>";
    assert_eq!(turned(kept, Format::Html), kept);
}

#[test]
fn white_space_around_a_text_stays() {
    let html = "<p>\n  One<br>\n  two\n</p>\n\t<b>three</b>\n";
    assert_eq!(same(html.as_bytes(), Format::Html), html.as_bytes());
}

#[test]
fn marks_where_a_word_may_be_broken_are_no_letters() {
    assert_eq!(turned("The expen&shy;sive\u{2060} house", Format::Html), "Gur rkcrafvir ubhfr");
    let document =
        Document::read("a twenty&#8209;one".into(), Format::Html, &Options::default()).expect("HTML");
    assert_eq!(document.units()[0].text(), "a twenty-one");
    assert_eq!(turned("<p>12&shy;345</p>", Format::Html), "<p>12&shy;345</p>");
}

#[test]
fn keys_that_are_pressed_together_are_one_word() {
    let html = "<p>Press <kbd>Ctrl</kbd>+<kbd>C</kbd>, then <kbd>A</kbd> and <kbd>B</kbd>. Run <code>a</code>/<code>b</code>.</p>";
    assert_eq!(texts(html), ["Press XA, then XB and XC. Run XD."]);
    assert_eq!(same(html.as_bytes(), Format::Html), html.as_bytes());
}
