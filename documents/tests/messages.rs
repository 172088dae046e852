//! Strings of programs: escapes and quotes keep their meaning.

mod common;

use common::turned;
use wordloom_documents::{Document, Format, Options, Translated};

#[test]
fn escapes_of_apple_are_read_or_stay() {
    let strings =
        r#""k" = "Hi \Ud83d\Ude00 you\342\200\246 and \U00fcber \101 m\331n \q it \Ud83d word\a \/ end";"#;
    let want = r#""k" = "Uv 😀 lbh… naq üore N zäa \q vg \Ud83d jbeq\a / raq";"#;
    assert_eq!(turned(strings, Format::Strings), want);
}

#[test]
fn escapes_of_po_are_those_of_c() {
    let po = r#"msgid "Bell\a and \x41 \101 \303\251 \xc3\xa9 it \q 100 \% sure"
msgstr ""
"#;
    let want = po.replace("msgstr \"\"", r#"msgstr "Oryy\a naq N N é é vg \q 100 \% fher""#);
    assert_eq!(turned(po, Format::Po), want);
}

#[test]
fn characters_of_json_that_are_no_text_stay() {
    let json =
        r#"{"a": "\u001b[1mbold\u001b[0m text", "b": "one\u0000 two", "c": "half \ud83d it", "d": "\b"}"#;
    let want =
        r#"{"a": "\u001b[1mobyq\u001b[0m grkg", "b": "bar\u0000 gjb", "c": "unys \ud83d vg", "d": "\b"}"#;
    assert_eq!(turned(json, Format::Json), want);
    for empty in ["", "\n", "\u{feff}"] {
        assert_eq!(turned(empty, Format::Json), empty);
        assert_eq!(turned(empty, Format::Arb), empty);
    }
}

#[test]
fn what_icu_quotes_in_json_stays() {
    let of = |text: &str| format!("{{\"a\": \"{text}\"}}");
    for (text, want) in [
        ("Use '{braces}' now", "Hfr '{braces}' abj"),
        ("Use '{'name'}' now", "Hfr '{'anzr'}' abj"),
        ("Use '{count, plural, one {x}}' now", "Hfr '{count, plural, one {x}}' abj"),
        (
            "{n, plural, one {press '#' or '}' \\\"now\\\"} other {#\\u0000 {'{'}}}",
            "{n, plural, one {cerff '#' be '}' \\\"abj\\\"} other {#\\u0000 {'{'}}}",
        ),
        ("Use '{it''s \\u0000}' now", "Hfr '{it''s \\u0000}' abj"),
        ("The l'{name} and '#' it", "Gur y'{name} naq '#' vg"),
        ("don''t '{ now", "qba''g '{ abj"),
    ] {
        assert_eq!(turned(&of(text), Format::Json), of(want));
    }
    // the quotes stay with what they quote, whatever the model does with quotes
    let document =
        Document::read(of("Use '{braces}' now").into(), Format::Json, &Options::default()).expect("JSON");
    let translated = Translated { text: "XA jetzt".into(), links: Vec::new() };
    assert_eq!(document.write(&[translated]).expect("JSON"), of("'{braces}' jetzt").as_bytes());
}

#[test]
fn references_and_numbered_placeholders_stay() {
    let json = r#"{"a": "%1 of %L2: 100%% in $t(files.name), see @:menu.open now"}"#;
    let want =
        json.replace(" of ", " bs ").replace(" in ", " va ").replace("see", "frr").replace("now", "abj");
    assert_eq!(turned(json, Format::Json), want);
    let code = r#"{"a": "Run <code>make all</code> or <b class='notranslate'>Foo <i>bar</i></b> <code>now"}"#;
    let want = code.replace("Run", "Eha").replace(" or ", " be ").replace("now", "abj");
    assert_eq!(turned(code, Format::Json), want);
    // capitals behind a placeholder are text
    let document = Document::read("{size}GB free".into(), Format::Text, &Options::default()).expect("text");
    let translated = Translated { text: "XAGB frei".into(), links: Vec::new() };
    assert_eq!(document.write(&[translated]).expect("text"), b"{size}GB frei");
}

/// `aapt` refuses an apostrophe without a backslash.
#[test]
fn strings_of_android_keep_their_backslashes() {
    let xml = r#"<resources>
  <string name="a">It\'s a \"test\"\nwith a <b>cat\'s</b> tail &amp; more</string>
  <string name="b">"  quoted  "</string><string name="c">@string/other</string><string name="d">\@home</string>
  <string name="e">Use <xliff:g id="app">My App</xliff:g>\u2026 end\u0020</string>
  <string name="f" translatable="false">kept</string><color name="g">#ff00ff</color>
  <style name="h"><item name="i">kept</item></style><plurals name="j"><item quantity="one">one cat</item></plurals>
</resources>"#;
    let want = [
        (r#"It\'s a \"test\"\nwith a"#, r#"Vg\'f n \"grfg\"\njvgu n"#),
        (r"cat\'s</b> tail &amp; more", r"png\'f</b> gnvy &amp; zber"),
        ("quoted", "dhbgrq"),
        ("@home", "@ubzr"),
        ("Use", "Hfr"),
        (r"\u2026 end", "… raq"),
        ("one cat", "bar png"),
    ];
    let want = want.iter().fold(xml.to_owned(), |text, (from, to)| text.replace(from, to));
    assert_eq!(turned(xml, Format::Xml), want);
    let source = "<resources><string>The house</string></resources>";
    let document = Document::read(source.into(), Format::Xml, &Options::default()).expect("XML");
    for (text, want) in [("l'heure", r"l\'heure"), ("?a \"b\" <", r#"\?a \"b\" &lt;"#)] {
        let translated = Translated { text: text.into(), links: Vec::new() };
        let written = document.write(&[translated]).expect("XML");
        assert_eq!(String::from_utf8_lossy(&written), source.replace("The house", want));
    }
}
