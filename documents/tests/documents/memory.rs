//! Translation memories: TMX and tables, found exactly and by similarity; damaged and hostile files.

use wordloom_documents::TranslationMemory;

fn tmx(body: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en-US" datatype="plaintext" segtype="sentence" o-tmf="x" adminlang="en"
 creationtool="test" creationtoolversion="1"/><body>{body}</body></tmx>"#
    )
}

const UNITS: &str = r#"
<tu><tuv xml:lang="EN-us"><seg>Save &amp; <ph x="1">{b}</ph>close&#33;</seg></tuv>
    <tuv xml:lang="de"><seg>Speichern und schließen!</seg></tuv><tuv xml:lang="fr"><seg>Enregistrer</seg></tuv></tu>
<tu><note>old</note><tuv xml:lang="en"><seg>The cat sits on the mat</seg></tuv>
    <tuv xml:lang="de-AT"><seg>Die Katze sitzt <hi>auf</hi> der Matte</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>only English</seg></tuv></tu>"#;

/// A line of text stays one line, however the file is written.
#[test]
fn a_line_break_is_a_space() {
    let unit = "<tu><tuv xml:lang=\"en\"><seg>Click\n here</seg></tuv><tuv xml:lang=\"de\"><seg>\n  Hier\r\n  klicken\n</seg></tuv></tu>";
    let memory = TranslationMemory::read("m.tmx", tmx(unit).into_bytes()).expect("sound");
    let german = memory.pair(None, Some("de")).expect("its header says English");
    assert_eq!(german.find("Click here", 1.0).expect("equal").target, "Hier klicken");
}

#[test]
fn a_tmx_file_has_pairs_of_languages() {
    let memory = TranslationMemory::read("m.tmx", tmx(UNITS).into_bytes()).expect("sound");
    let german = memory.pair(None, Some("de")).expect("its header says English");
    assert_eq!(german.len(), 2);
    let found = german.find("  Save & close! ", 1.0).expect("equal but for spaces");
    assert_eq!((found.target, found.score), ("Speichern und schließen!", 1.0));
    assert_eq!(
        german.find("The cat sits on the mat", 1.0).expect("equal").target,
        "Die Katze sitzt auf der Matte"
    );
    assert_eq!(memory.pair(Some("fr"), Some("en")).expect("any pair").len(), 1);
    let message = memory.pair(None, None).err().expect("two targets").to_string();
    assert!(message.contains("de, fr"), "{message}");
    // many tools write UTF-16
    let wide: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(tmx(UNITS).encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let memory = TranslationMemory::read("m.TMX", wide).expect("sound");
    assert_eq!(memory.pair(Some("en"), Some("de")).expect("has it").len(), 2);
}

#[test]
fn similar_texts_are_found_by_words() {
    let table = "The cat sits on the mat\tDie Katze\nThe dog sits on the mat\tDer Hund\n\n# a note\nA\tB\nA\tC\tignored\n";
    let memory =
        TranslationMemory::read("m.tsv", table.into()).expect("sound").pair(None, None).expect("one pair");
    let score =
        |text: &str, least: f32| memory.find(text, least).map(|found| (found.target.to_owned(), found.score));
    assert_eq!(score("A", 1.0), Some(("C".into(), 1.0)), "the last counts");
    assert_eq!(score("The cat sits on the rug", 1.0), None);
    // one of six words replaced; one inserted to seven; two of seven
    assert_eq!(score("The cat sits on the rug", 0.8), Some(("Die Katze".into(), 1.0 - 1.0 / 6.0)));
    assert_eq!(score("The black dog sits on the mat", 0.8), Some(("Der Hund".into(), 1.0 - 1.0 / 7.0)));
    assert_eq!(score("The black dog sits on the rug", 0.8), None);
    assert_eq!(score("mat the on sits cat the", 0.5), None, "the order counts");
    assert_eq!(score("", 0.1), None);
    assert_eq!(score("unknown words", 0.1), None);
}

#[test]
fn damaged_and_hostile_files_are_refused() {
    let bomb = r#"<!DOCTYPE tmx [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<tmx><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>&b;</seg></tuv></tu></body></tmx>"#;
    let deep = format!("<tmx><body>{}", "<tu>".repeat(100_000));
    let cases: [(&str, &str, &str); 8] = [
        ("m.tmx", bomb, "&b; is not expanded"),
        ("m.tmx", &deep, "more than 100 elements"),
        ("m.tmx", "<tmx><body>", "has no end"),
        ("m.tmx", "<tmx><body></tmx>", "line 1"),
        ("m.tmx", "<html></html>", "no element tmx"),
        ("m.tmx", "<tmx><body><tu><tuv><seg>a</seg></tuv></tu></body></tmx>", "names no language"),
        ("m.tsv", "a\tb\nno tab\n", "line 2"),
        ("m.csv", "a,b\n", "neither in .tmx nor in .tsv"),
    ];
    for (name, text, problem) in cases {
        let message =
            TranslationMemory::read(name, text.as_bytes().to_vec()).err().expect("refused").to_string();
        assert!(message.contains(problem), "{message}");
    }
    let message = TranslationMemory::read("m.tsv", vec![b'a', 0xff]).err().expect("refused").to_string();
    assert!(message.contains("UTF-8"), "{message}");
}
