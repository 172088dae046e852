//! Where elements and tags of HTML end, as the standard says, also without end tags.

mod common;

use common::{same, turned};
use wordloom_documents::{Document, Format, Options};

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
    for marked in ["translate=no", "TRANSLATE='No'", "class=a translate = \"no\" id=b"] {
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
