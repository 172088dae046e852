//! Strings of programs: escapes and quotes keep their meaning.

use super::common::turned;
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

#[test]
fn line_breaks_and_blocks_end_a_text() {
    for (text, want) in [
        ("One cat.<br>Two.<BR/>The dog?", "Bar png.<br>Gjb.<BR/>Gur qbt?"),
        ("<p>One.</p><p class='a'>Two.</p>", "<p>Bar.</p><p class='a'>Gjb.</p>"),
        ("<ul><li>One<li>Two</ul>", "<ul><li>Bar<li>Gjb</ul>"),
        ("<h1>One</h1><hr><div>Two</div>", "<h1>Bar</h1><hr><div>Gjb</div>"),
        ("<para>One.</para><nl/><para>Two.</para>", "<para>Bar.</para><nl/><para>Gjb.</para>"),
        ("<b>One.<br>Two.</b>", "<b>Bar.<br>Gjb.</b>"),
    ] {
        for format in [Format::Json, Format::Po, Format::Table, Format::Strings, Format::Xml] {
            let message = |text: &str, source: &str| match format {
                Format::Json => format!("{{\"a\": \"{text}\"}}"),
                Format::Po => format!("msgid \"{source}\"\nmsgstr \"{text}\"\n"),
                Format::Strings => format!("\"a\" = \"{text}\";"),
                Format::Table => format!("a,b\n{text},\"{text}\"\n"),
                _ => {
                    let text = text.replace('<', "&lt;").replace('\'', "\\'");
                    format!("<resources><string>{text}</string></resources>")
                }
            };
            let source = message(if format == Format::Po { "" } else { text }, text);
            // in XML, a tag without its other half is a word
            if format == Format::Xml && text.contains("<li>") {
                continue;
            }
            assert_eq!(turned(&source, format), message(want, text), "{text}");
            let document = Document::read(source.into(), format, &Options::default()).expect(text);
            assert!(document.units().iter().all(|unit| unit.text().matches(char::is_uppercase).count() == 1));
        }
    }
    // names in a sentence that are those of blocks, too
    let document = Document::read(
        r#"{"a": "Open the <menu>settings</menu> of <address> now"}"#.into(),
        Format::Json,
        &Options::default(),
    );
    assert_eq!(document.expect("JSON").units()[0].text(), "Open the settings of now");
}

/// Each part of a field is a text, and the field is quoted as a whole.
#[test]
fn a_field_with_line_breaks_is_quoted_once() {
    let table = "a,b\nOne.<br>Two.<hr>,x\n";
    let document = Document::read(table.into(), Format::Table, &Options::default()).expect("a table");
    let translated = |text: &str| Translated { text: text.into(), links: Vec::new() };
    let written = document.write(&[translated("Eins, ja."), translated("Zwei."), translated("x")]);
    assert_eq!(written.expect("a table"), b"a,b\n\"Eins, ja.<br>Zwei.<hr>\",x\n");
}

#[test]
fn tabs_end_a_text() {
    let json = r#"{"a": "Name:\tThe cat\t\tIt\nOne"}"#;
    let want = r#"{"a": "Anzr:\tGur png\t\tVg\nBar"}"#;
    assert_eq!(turned(json, Format::Json), want);
    let document = Document::read(json.into(), Format::Json, &Options::default()).expect("JSON");
    assert_eq!(document.units().len(), 4);
}

/// Programs show the translation of these messages as the names of those who translate.
#[test]
fn texts_side_by_side_are_texts_of_their_own() {
    let units = |text: &str| -> Vec<String> {
        let json = format!("{{\"a\": \"{text}\"}}");
        assert_eq!(turned(&turned(&json, Format::Json), Format::Json), json);
        let document = Document::read(json.into(), Format::Json, &Options::default()).expect("JSON");
        document.units().iter().map(|unit| unit.text().to_owned()).collect()
    };
    assert_eq!(units("no cars | one car | many cars"), ["no cars", "one car", "many cars"]);
    assert_eq!(
        units("There is one apple|There are many apples"),
        ["There is one apple", "There are many apples"]
    );
    assert_eq!(
        units("{0} There are none|[1,19] There are some|[20,*] Many"),
        ["There are none", "There are some", "Many"]
    );
    assert_eq!(units("The <b>old | new</b> house"), ["The old", "new house"]);
    assert_eq!(units("|a text||").len(), 1);
    // filters of templates
    assert_eq!(units("{{ name | upper }} is here").len(), 1);
    assert_eq!(units("{0} is here").len(), 1);
}

#[test]
fn credits_of_po_have_no_translation() {
    let po = "msgid \"translator-credits\"\nmsgstr \"\"\n
msgctxt \"NAME OF TRANSLATORS\"\nmsgid \"Your names\"\nmsgstr \"\"\n
msgid \"EMAIL OF TRANSLATORS\"\nmsgstr \"\"\n
msgid \"Your names\"\nmsgstr \"\"\n";
    let want = po.strip_suffix("\"\"\n").expect("an empty string").to_owned() + "\"Lbhe anzrf\"\n";
    assert_eq!(turned(po, Format::Po), want);
}

/// Android's own form for tags that a program reads.
#[test]
fn tags_that_are_text_of_android_are_tags() {
    let xml = r#"<resources><string name="a">Read &lt;a href=\"http://x\">the book&lt;/a>\nnow, it\'s &lt;b>good&lt;/b>.&lt;br/>Bye.</string>
<string name="b">Run <tt>ls all</tt> for &lt;name>.<br/>It is.</string></resources>"#;
    let want = [
        ("Read", "Ernq"),
        ("the book", "gur obbx"),
        (r"now, it\'s", r"abj, vg\'f"),
        ("good", "tbbq"),
        ("Bye", "Olr"),
        ("Run", "Eha"),
        ("for", "sbe"),
        ("It is", "Vg vf"),
    ];
    let want = want.iter().fold(xml.to_owned(), |text, (from, to)| text.replace(from, to));
    assert_eq!(turned(xml, Format::Xml), want);
}
