//! Subtitles, messages, tables: only text changes.

use super::common::{same, translated, turned};
use wordloom_documents::{Document, DocumentError, Format, Options, Translated};

fn is_kept(source: &str, format: Format) {
    assert_eq!(String::from_utf8(same(source.as_bytes(), format)).expect("UTF-8"), source);
}

const SRT: &str = "1\r\n00:00:01,000 --> 00:00:02,500\r\n{\\an8}<i>Hello there,</i>\r\nmy friend.\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000\r\n- Hi!\r\n- Bye!\r\n";

#[test]
fn subtitles_keep_times_tags_and_lines() {
    assert_eq!(
        turned(SRT, Format::Srt),
        "1\r\n00:00:01,000 --> 00:00:02,500\r\n{\\an8}<i>Uryyb gurer,</i>\r\nzl sevraq.\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000\r\n- Uv!\r\n- Olr!\r\n"
    );
    let vtt = "WEBVTT - a title\n\nNOTE kept\n\nSTYLE\n::cue { color: red }\n\nid\n00:01.000 --> 00:02.000 align:start\n<v Ann>Tom &amp; I <c.loud>go</c></v>\n";
    assert_eq!(turned(vtt, Format::Vtt), vtt.replace("Tom &amp; I", "Gbz &amp; V").replace(">go<", ">tb<"));
    is_kept(vtt, Format::Vtt);
}

/// What one person says is a text, and no sound or song comes into it.
#[test]
fn speakers_sounds_and_songs_of_a_cue_are_texts_of_their_own() {
    let srt = "1\n00:00:01,000 --> 00:00:02,500\nJOHN: Come\nhere!\n[door slams]\nI am late.\nMARY: Wait: no.\n\u{266a} la la\nla \u{266a}\n(laughs)\n";
    let document = Document::read(srt.into(), Format::Srt, &Options::default()).expect("subtitles");
    let texts: Vec<&str> = document.units().iter().map(|unit| unit.text()).collect();
    let want = [
        "JOHN: Come here!",
        "[door slams]",
        "I am late.",
        "MARY: Wait: no.",
        "\u{266a} la la la \u{266a}",
        "(laughs)",
    ];
    assert_eq!(texts, want);
}

/// The texts of a file of subtitles.
fn texts_of(text: &str, format: Format) -> Vec<String> {
    let document = Document::read(text.into(), format, &Options::default()).expect("subtitles");
    document.units().iter().map(|unit| unit.text().to_owned()).collect()
}

#[test]
fn speakers_are_marked_in_many_ways() {
    let time = "00:00:01.000 --> 00:00:02.500\n";
    for (cue, want, format) in [
        ("<v Tom>Where is it?\n<v Mary>It is\nhere.\n", ["Where is it?", "It is here."], Format::Vtt),
        ("Where is it?\n \nIt is here.\n", ["Where is it? It is here.", ""], Format::Vtt),
        ("Where is it?\n\nNOTE no text\n", ["Where is it?", ""], Format::Vtt),
        (">> Where is it?\n>> It is here.\n", ["Where is it?", "It is here."], Format::Srt),
        ("&gt;&gt; Where is it?\n&gt;&gt; It is here.\n", ["Where is it?", "It is here."], Format::Vtt),
        ("[Tom] Where is it?\nIt is here.\n", ["[Tom]", "Where is it? It is here."], Format::Srt),
        ("<i>- Where is it?\n- It is here.</i>\n", ["Where is it?", "It is here."], Format::Srt),
        ("Where is it?  \n It is here.\n", ["Where is it? It is here.", ""], Format::Srt),
    ] {
        let head = if format == Format::Vtt { "WEBVTT\n\n" } else { "" };
        let text = format!("{head}{time}{cue}");
        assert_eq!(
            texts_of(&text, format),
            want.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>()
        );
        let written = String::from_utf8(same(text.as_bytes(), format)).expect("UTF-8");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&written), words(&text));
    }
}

const SENTENCE: &str = "1\n00:00:01,000 --> 00:00:02,500\n<i>When I was\nyoung, I</i>\n\n2\n00:00:02,600 --> 00:00:04,000 \n<i>lived in Berlin.</i>\n\n3\n00:00:05,000 --> 00:00:06,000\nIt rained.\n";

/// A sentence over two cues is translated as one text; each cue gets a part, in its tags and as many lines.
#[test]
fn sentences_run_over_cues() {
    let document = Document::read(SENTENCE.into(), Format::Srt, &Options::default()).expect("subtitles");
    let texts: Vec<&str> = document.units().iter().map(|unit| unit.text()).collect();
    assert_eq!(texts, ["When I was young, I lived in Berlin.", "It rained."]);
    assert!(document.units().iter().all(|unit| !unit.needs_links()));
    let translate = |text: &str| Translated { text: text.to_owned(), links: Vec::new() };
    let write = |first: &str| {
        let written = document.write(&[translate(first), translate("Es regnete.")]).expect("two units");
        String::from_utf8(written).expect("UTF-8")
    };
    let want = SENTENCE
        .replace("When I was\nyoung, I", "Als ich\njung war,")
        .replace("lived in Berlin.", "lebte ich in Berlin.")
        .replace("It rained.", "Es regnete.");
    assert_eq!(write("Als ich jung war, lebte ich in Berlin."), want);
    // no cue is empty
    let short = write("Berlin.");
    assert_eq!(short.matches("<i>Berlin.</i>").count(), 2, "{short}");
    // whatever the translation, only words change places
    for (source, format) in [
        (SENTENCE.to_owned(), Format::Srt),
        (SENTENCE.replace('\n', "\r\n"), Format::Srt),
        (format!("WEBVTT\n\n{}", SENTENCE.replace("was", "&amp; was")), Format::Vtt),
    ] {
        let written = String::from_utf8(same(source.as_bytes(), format)).expect("UTF-8");
        let frame = |text: &str| {
            let is_word = |c: char| c.is_alphabetic() || ",&;. ".contains(c);
            text.lines().map(|line| line.replace(is_word, "")).collect::<Vec<_>>()
        };
        assert_eq!(frame(&written), frame(&source));
        let words = |text: &str| text.matches("was young,").count();
        assert_eq!(words(&written.replace("\r\n", " ").replace('\n', " ")), 1, "{written}");
        assert_eq!(written.matches("\r\n").count(), source.matches("\r\n").count());
    }
}

#[test]
fn cues_of_other_sentences_stay_apart() {
    for (change, with) in [
        ("young, I<", "young.<"),
        ("00:00:02,600 ", "00:00:06,600 "),
        ("04,000 \n", "04,000 line:0\n"),
        ("<i>lived", "<b>lived"),
        ("<i>lived", "<i>- lived"),
        ("<i>lived in", "<i>lived <b>in</b>"),
        ("When I was\nyoung, I", "[music]"),
        ("young, I<", "young, I \u{266a}<"),
        ("<i>lived", "JOHN: lived"),
        ("I was\nyoung, I<", "I was\nyoung, I...<"),
    ] {
        let srt = SENTENCE.replace(change, with).replace("...<", "--<");
        assert_ne!(srt, SENTENCE);
        let document =
            Document::read(srt.clone().into(), Format::Srt, &Options::default()).expect("subtitles");
        assert_eq!(document.units().len(), 3, "{srt}");
    }
    let units = |srt: &str| {
        let document = Document::read(srt.into(), Format::Srt, &Options::default()).expect("subtitles");
        document.units().len()
    };
    // a capital begins a sentence where none ends with punctuation
    let named = SENTENCE.replace("young, I", "young and").replace("lived", "Berlin");
    assert_eq!(units(&named), 2);
    assert_eq!(units(&named.replace(".\n", "\n").replace(".<", "<")), 3);
    assert_eq!(units(&SENTENCE.replace("young, I", "young...")), 2);
    // a long text is cut
    let cue = |second: u32| format!("{second}\n00:00:{second:02},000 --> 00:00:{second:02},900\nand on\n\n");
    assert_eq!(units(&(10..24).map(cue).collect::<String>()), 3);
}

#[test]
fn half_a_character_of_utf_16_is_refused() {
    let bytes = [0xff, 0xfe, b'a', 0, b'b'];
    let error = Document::read(bytes.into(), Format::Text, &Options::default()).expect_err("half of a pair");
    assert!(matches!(error, DocumentError::NotText { byte: 5 }), "{error}");
    let whole = Document::read(bytes[..4].into(), Format::Text, &Options::default()).expect("UTF-16");
    assert_eq!(whole.units()[0].text(), "a");
}

const PO: &str = "# kept\nmsgid \"\"\nmsgstr \"\"\n\"Language: de\\n\"\n\n#, c-format\n#: a.c:1\nmsgctxt \"menu\"\nmsgid \"Open %s\\n\"\nmsgstr \"\"\n\nmsgid \"done\"\nmsgstr \"fertig\"\n\nmsgid \"\"\n\"one \"\n\"\\\"file\\\"\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"\"\nmsgstr[1] \"\"\n\n#~ msgid \"old\"\n#~ msgstr \"\"\n";

#[test]
fn po_gets_translations_where_there_are_none() {
    let want = PO
        .replace("msgid \"Open %s\\n\"\nmsgstr \"\"", "msgid \"Open %s\\n\"\nmsgstr \"Bcra %s\\n\"")
        .replace("msgstr[0] \"\"", "msgstr[0] \"bar \\\"svyr\\\"\"")
        .replace("msgstr[1] \"\"", "msgstr[1] \"%d svyrf\"");
    assert_eq!(turned(PO, Format::Po), want);
    let error = Document::read("msgid x\n".into(), Format::Po, &Options::default()).expect_err("no quotes");
    assert!(error.to_string().contains("line 1"), "{error}");
}

/// gettext's own reader accepts the result, with its formats checked.
#[test]
fn msgfmt_accepts_the_result() {
    let check = |text: Vec<u8>| {
        use std::io::Write;
        use std::process::{Command, Stdio};
        let mut child = Command::new("msgfmt")
            .args(["--check", "--output-file=-", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        child.stdin.take()?.write_all(&text).ok()?;
        child.wait_with_output().ok()
    };
    let header = "msgid \"\"\nmsgstr \"\"\n\"Project-Id-Version: x\\n\"\n\"Content-Type: text/plain; charset=UTF-8\\n\"\n\"PO-Revision-Date: 2026-01-01 00:00+0000\\n\"\n\"Last-Translator: x\\n\"\n\"Language-Team: x\\n\"\n\"MIME-Version: 1.0\\n\"\n\"Content-Transfer-Encoding: 8bit\\n\"\n\"Plural-Forms: nplurals=2; plural=(n != 1);\\n\"\n\"Language: de\\n\"\n";
    let po = PO.replace("msgid \"\"\nmsgstr \"\"\n\"Language: de\\n\"\n", header);
    match check(translated(po.as_bytes(), Format::Po, 7)) {
        None => eprintln!("skipped: msgfmt is not here (Debian: apt-get install gettext)"),
        Some(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
    }
}

#[test]
fn a_po_header_names_the_charset_that_is_written() {
    let of = |charset: &str| {
        let header = format!("msgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; charset={charset}\\n\"\n");
        header + "\nmsgid \"Hello\"\nmsgstr \"\"\n"
    };
    let want = of("UTF-8").replace("\"Hello\"\nmsgstr \"\"", "\"Hello\"\nmsgstr \"Uryyb\"");
    for charset in ["CHARSET", "ISO-8859-1", "UTF-8"] {
        assert_eq!(turned(&of(charset), Format::Po), want, "{charset}");
    }
    assert_eq!(turned(&of("utf8"), Format::Po), want.replace("UTF-8", "utf8"));
    // a message about charsets is no header
    let message = "msgid \"a\"\nmsgstr \"charset=latin1 \"\n";
    assert_eq!(turned(message, Format::Po), message);
}

#[test]
fn code_and_entities_stay_in_every_format() {
    let json = "{\"a\": \"Run `make all` &amp; wait\", \"b\": \"a &lt;b&gt; tag\"}";
    let want = "{\"a\": \"Eha `make all` &amp; jnvg\", \"b\": \"n &lt;b&gt; gnt\"}";
    assert_eq!(turned(json, Format::Json), want);
}

/// A model makes other words of them.
#[test]
fn values_that_are_code_stay() {
    let json = r##"{"id": "abc-123", "key": "app.menu.open", "color": "#ff0000", "at": "2024-01-01T10:00:00Z", "text": "Open a.png in /usr/bin"}"##;
    let want = json.replace("Open", "Bcra").replace(" in ", " va ");
    assert_eq!(turned(json, Format::Json), want);
    let csv = "id,text\nAB-12,The house\nsome_name,some name\n";
    assert_eq!(turned(csv, Format::Table), "id,text\nAB-12,Gur ubhfr\nsome_name,fbzr anzr\n");
    let xml = "<a><id>someName</id><text>some name</text></a>";
    assert_eq!(turned(xml, Format::Xml), "<a><id>someName</id><text>fbzr anzr</text></a>");
}

#[test]
fn text_with_a_nul_is_refused() {
    let half: Vec<u8> = "<p>Hello</p>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for format in [Format::Html, Format::Strings, Format::Srt] {
        let refused = Document::read(half.clone(), format, &Options::default());
        assert!(matches!(refused, Err(DocumentError::NotText { byte: 2 })));
    }
}

#[test]
fn json_keeps_keys_and_placeholders() {
    let json = "{\n  \"title\": \"Hello {{name}}\",\n  \"list\": [\"one\", 2, null, \"12:30\"],\n  \"deep\": {\"a b\": \"<0>Click</0> \\\"here\\\"\\n\\u00fcber\"}\n}\n";
    let want = json
        .replace("Hello", "Uryyb")
        .replace("\"one\"", "\"bar\"")
        .replace("Click", "Pyvpx")
        .replace("here", "urer")
        .replace("\\u00fcber", "üore");
    assert_eq!(turned(json, Format::Json), want);
    let plural = "{\"n\": \"You have {count, plural, =0 {no mail} one {# message} other {{count} messages of {name}}} now\"}";
    assert_eq!(
        turned(plural, Format::Json),
        "{\"n\": \"Lbh unir {count, plural, =0 {ab znvy} one {# zrffntr} other {{count} zrffntrf bs {name}}} abj\"}"
    );
    let arb = "{\"@@locale\": \"en\", \"hi\": \"Hello\", \"@hi\": {\"description\": \"kept\", \"placeholders\": {\"a\": {\"type\": \"String\"}}}, \"bye\": \"Bye\", \"@bye\": \"kept\"}";
    assert_eq!(turned(arb, Format::Arb), arb.replace("Hello", "Uryyb").replace("\"Bye\"", "\"Olr\""));
    assert!(matches!(
        Document::read("{\"a\": }".into(), Format::Json, &Options::default()),
        Err(DocumentError::Invalid { format: "JSON", .. })
    ));
}

#[test]
fn strings_keep_keys_comments_and_encoding() {
    let strings =
        "/* A \"comment\" */\n\"key one\" = \"Hello %@,\\nyou\";\n// more\n\"k\" = \"a \\\"word\\\"\";\n";
    let want =
        strings.replace("Hello", "Uryyb").replace("\\nyou", "\\nlbh").replace("a \\\"word", "n \\\"jbeq");
    assert_eq!(turned(strings, Format::Strings), want);
    let wide =
        |text: &str| format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    assert_eq!(translated(&wide(strings), Format::Strings, 0), wide(&want));
}

#[test]
fn tables_keep_their_other_columns() {
    let csv = "id;text;note\r\n1;Hello there;\"a;b \"\"c\"\"\"\r\n2;\"two, three\";kept\r\n";
    let document = |columns: &[&str]| {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        Document::read(csv.into(), Format::Table, &Options { columns, ..Options::default() })
    };
    let written = |columns: &[&str], word: &str| {
        let document = document(columns).expect("a table");
        let translated = Translated { text: word.into(), ..Translated::default() };
        String::from_utf8(document.write(&vec![translated; document.units().len()]).expect("a table"))
            .expect("UTF-8")
    };
    assert_eq!(
        written(&["text"], "x;\"y"),
        "id;text;note\r\n1;\"x;\"\"y\";\"a;b \"\"c\"\"\"\r\n2;\"x;\"\"y\";kept\r\n"
    );
    assert_eq!(written(&["3"], "z"), "id;text;note\r\n1;Hello there;\"z\"\r\n2;\"two, three\";z\r\n");
    assert!(document(&["other"]).expect_err("no such column").to_string().contains("id, text, note"));
    is_kept(csv, Format::Table);
    is_kept("a\tb\nx y\t\"z\"\n", Format::Table);
}

#[test]
fn xliff_gets_targets() {
    let old = "<?xml version=\"1.0\"?>\n<xliff version=\"1.2\"><file><body>\n  <trans-unit id=\"1\">\n    <source>Click <g id=\"1\">the <x id=\"2\"/> button</g> now</source>\n  </trans-unit>\n  <trans-unit id=\"2\"><source>one</source><target state=\"new\"></target><note>kept note</note></trans-unit>\n  <trans-unit id=\"3\"><source>two</source><target>da</target></trans-unit>\n  <trans-unit id=\"4\" translate=\"no\"><source>kept</source></trans-unit>\n</body></file></xliff>\n";
    let want = old
        .replace(
            "now</source>",
            "now</source>\n    <target>Pyvpx <g id=\"1\">gur <x id=\"2\"/> ohggba</g> abj</target>",
        )
        .replace("<target state=\"new\">", "<target state=\"new\">bar");
    assert_eq!(turned(old, Format::Xliff), want);
    let new = "<xliff version=\"2.0\" srcLang=\"en\"><file id=\"f\"><unit id=\"u\"><segment><source>A <pc id=\"1\">bold</pc> word <ph id=\"2\"/></source></segment></unit></file></xliff>";
    assert_eq!(
        turned(new, Format::Xliff),
        new.replace("</source>", "</source><target>N <pc id=\"1\">obyq</pc> jbeq <ph id=\"2\"/></target>")
    );
}

#[test]
fn text_is_translated_by_line() {
    assert_eq!(
        turned("One two.\r\n\r\n  three %s\n12:30\n", Format::Text),
        "Bar gjb.\r\n\r\n  guerr %s\n12:30\n"
    );
    assert!(matches!(
        Document::read(vec![b'a', 0xff], Format::Text, &Options::default()),
        Err(DocumentError::NotText { byte: 2 })
    ));
    assert!(Format::of_name("A/Letter.DOCX") == Some(Format::Docx) && Format::of_name("x.pdf").is_none());
}

/// A document of one unit with this translation, whose links are word for word.
fn with_translation(source: &str, format: Format, text: &str) -> String {
    let document = Document::read(source.into(), format, &Options::default()).expect("a document");
    assert_eq!(document.units().len(), 1, "{source}");
    let links = (0..text.split_whitespace().count()).map(|word| (word, word)).collect();
    let written = document.write(&[Translated { text: text.into(), links }]).expect("a document");
    String::from_utf8(written).expect("UTF-8")
}

#[test]
fn links_of_markdown_keep_their_labels() {
    let definitions = "\n\n[house]: h\n[big house]: b\n[`code`]: c\n[1]: d\n";
    for (source, want) in [
        ("See the [house].", "Frr gur [ubhfr][house]."),
        ("See the [House][].", "Frr gur [Ubhfr][House]."),
        ("> See the [big\n> house] now", "> Frr gur [ovt ubhfr][big house] abj"),
        ("See ![house] now", "Frr ![ubhfr][house] abj"),
        ("See ![big house][] now", "Frr ![ovt ubhfr][big house] abj"),
        ("# The *[house]*", "# Gur *[ubhfr][house]*"),
        ("See [the house][house]", "Frr [gur ubhfr][house]"),
        ("See [`code`] and [1] and [`code`][]", "Frr [`code`] naq [1] naq [`code`][]"),
        ("[house]", "[ubhfr][house]"),
        ("![1]", "![1]"),
        ("A [house no link]", "N [ubhfr ab yvax]"),
        ("A [link *with* a](u) b", "N [yvax *jvgu* n](u) o"),
    ] {
        let [source, want] = [source, want].map(|text| format!("{text}{definitions}"));
        assert_eq!(turned(&source, Format::Markdown), want);
    }
}

#[test]
fn escapes_of_markdown_stay_as_they_are() {
    for source in [
        "\\*This is good\\* text.\n",
        "\\# no heading\n",
        "\\+ plus\n",
        "\\- item\n",
        "\\* item\n",
        "1\\. item\n",
        "> \\# no heading\n",
        "\\# no heading\n=====\n",
        "a  \n\\- item\n",
        "- \\# no heading\n",
        "| a | b |\n|---|---|\n| \\*x\\* | \\|y |\n",
        "\\\\\\*x\\* y\n",
        "[foo\\] bar](u)\n",
        "[foo\\[ bar](u) and [more] text\n",
        "![foo\\] bar](u)\n",
        "# Heading # tail \\#\n",
        "# Heading #\n",
        "# C# # \\##\n",
        "\\# ![house](a.png)\n",
    ] {
        is_kept(source, Format::Markdown);
    }
    let source = "\\*This is good\\* text.\n";
    let want = "\\*Das ist gut\\* Text.\n";
    assert_eq!(with_translation(source, Format::Markdown, "*Das ist gut* Text."), want);
    assert_eq!(with_translation("> \\# x y\n", Format::Markdown, "* a b"), "> \\* a b\n");
}

#[test]
fn front_matter_and_alerts_of_markdown_stay() {
    let toml = "+++\ntitle = \"The house\"\n+++\n\nThe *house*.\n";
    assert_eq!(turned(toml, Format::Markdown), toml.replace("The *house*", "Gur *ubhfr*"));
    let alert =
        "> [!NOTE]\n> This is a useful note.\n\n> [!warning]  \n> One.\n>\n> Two.\n\n> [!TIP]\nlazy\n";
    let want = alert
        .replace("This is a useful note", "Guvf vf n hfrshy abgr")
        .replace("One", "Bar")
        .replace("Two", "Gjb")
        .replace("lazy", "ynml");
    assert_eq!(turned(alert, Format::Markdown), want);
    // rules are no front matter where they are not the first
    for rule in ["---", "+++"] {
        let source = format!("One.\n\n{rule}\n# Two\n\n{rule}\n");
        assert_eq!(turned(&source, Format::Markdown), source.replace("One", "Bar").replace("Two", "Gjb"));
    }
}

#[test]
fn separators_of_tables_are_found_outside_of_quotes() {
    for (table, want) in [
        ("name, first\ttext\nHello, world\tThe house\n", "name, first\ttext\nUryyb, jbeyq\tGur ubhfr\n"),
        ("a, b, c\td\nx, y\tz\n", "a, b, c\td\nk, l\tm\n"),
        (
            "\"name; of the thing; here\",text\nx,The house is red\n",
            "\"name; of the thing; here\",text\nk,Gur ubhfr vf erq\n",
        ),
        ("\"a\tb\nc\td\",e\nx,\"y, z\"\n", "\"a\tb\nc\td\",e\nk,\"l, m\"\n"),
        // quotes that are letters
        ("5\" disk, \"x\"\ttext\none, two\tx\n", "5\" disk, \"x\"\ttext\nbar, gjb\tk\n"),
        ("\"so\" it is, a\ttext\n\"one, two\tx\n", "\"so\" it is, a\ttext\n\"bar, gjb\tk\n"),
        ("a;b,c;d\nx, y;z\n", "a;b,c;d\nk, l;m\n"),
        ("a\nx\n", "a\nk\n"),
    ] {
        assert_eq!(turned(table, Format::Table), want);
    }
}

#[test]
fn a_tsv_has_tabs() {
    let table = "name, first\nHello, \"world\"\n\"one, two\n";
    let want = "name, first\nUryyb, \"jbeyq\"\n\"bar, gjb\n";
    assert_eq!(turned(table, Format::of_name("a.TSV").expect("known")), want);
}

#[test]
fn excels_line_with_the_separator_stays() {
    for separator in [';', '|', ',', '\t'] {
        let table = format!("sep={separator}\r\na,b{separator}c\r\nx{separator}\"y, z\"\r\n");
        let want = table.replace('x', "k").replace("y, z", "l, m");
        assert_eq!(turned(&table, Format::Table), want);
    }
    let options = Options { columns: vec!["text".into()], ..Options::default() };
    let document = Document::read("SEP=;\nid;text\na b;c d\n".into(), Format::Table, &options);
    assert_eq!(document.expect("a table").units().len(), 1);
    // a column's name, no separator
    assert_eq!(turned("sep=no\nx\n", Format::Table), "sep=no\nk\n");
}

#[test]
fn formulas_of_tables_stay() {
    let kept = "a;b\n=SUM(A1);=A1+B1\n=-2*$A$1;=Total\n\"=\"\"x\"\"&B1\";='A b'!C2\n=1+2;=SUMME (A1)\n\"=HYPERLINK(\"\"http://x\"\";\"\"The house\"\")\";=ZÄHLENWENN(A:A)\n";
    assert_eq!(turned(kept, Format::Table), kept);
    let text = "a;b\n=> see below;= equals sign\n== Heading ==;a = b\n";
    let want = "a;b\n=> frr orybj;= rdhnyf fvta\n== Urnqvat ==;n = o\n";
    assert_eq!(turned(text, Format::Table), want);
}

#[test]
fn cues_end_where_the_next_begins() {
    let srt = "1\n00:00:01,000 --> 00:00:02,000\nThe cat.\n2\n00:00:03,000 --> 00:00:04,000\nThe dog.\n00:00:05,000 --> 00:00:06,000\n1984\n12\nA --> b\n\n4\n00:00:07,000 --> 00:00:08,000\n";
    let want = srt.replace("The cat", "Gur png").replace("The dog", "Gur qbt").replace("A --> b", "N --> o");
    // lines of a cue are of similar lengths
    let want = want.replace("1984\n12\nN --> o", "1984\n12 N\n--> o");
    assert_eq!(turned(srt, Format::Srt), want);
    let vtt = "WEBVTT\n\n00:01.000 --> 00:02.000\nThe cat.\n00:03.000 --> 00:04.000\nThe dog.\n";
    let want = vtt.replace("The cat", "Gur png").replace("The dog", "Gur qbt");
    assert_eq!(turned(vtt, Format::Vtt), want);
}

#[test]
fn text_behind_a_blank_line_of_a_cue_is_translated() {
    let srt = "1\r\n00:00:01,000 --> 00:00:02,000\r\n\r\nThe cat.\r\n\r\nThe dog.\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000\r\n\r\nthird\r\n00:00:05,000 --> 00:00:06,000\r\nOne.\r\n";
    let want = srt.replace("The cat", "Gur png").replace("The dog", "Gur qbt").replace("One", "Bar");
    assert_eq!(turned(srt, Format::Srt), want);
    let vtt = "WEBVTT\n\n00:01.000 --> 00:02.000\n\nNOTE kept\n\nname\n00:03.000 --> 00:04.000\nThe dog.\n";
    assert_eq!(turned(vtt, Format::Vtt), vtt.replace("The dog", "Gur qbt"));
}
