//! Readers of sentence pairs: what they take, and the errors of what they do not.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use wordloom::train::pairs::{
    PairsError, PairsOptions, SentencePair, load_tsv, load_two, read_rows, read_tsv, read_two,
    without_overlap,
};

fn pair(source: &str, target: &str) -> SentencePair {
    SentencePair { source: source.to_owned(), target: target.to_owned() }
}

fn tsv(text: &[u8]) -> Result<Vec<SentencePair>, PairsError> {
    read_tsv("train.tsv", text, &PairsOptions::default())
}

/// The message of a file that is refused.
fn refused(text: &[u8]) -> String {
    tsv(text).expect_err("no pairs").to_string()
}

#[test]
fn reads_lines_with_any_end_and_a_byte_order_mark() {
    let pairs = tsv("\u{feff}Hello!\tHallo!\r\n One  two \t\u{a0}Eins zwei\n日本\tJapan".as_bytes()).unwrap();
    assert_eq!(pairs, [pair("Hello!", "Hallo!"), pair("One  two", "Eins zwei"), pair("日本", "Japan")]);
}

#[test]
fn further_columns_are_refused_unless_asked_for() {
    let text = b"a\tb\nc\td\tCC-BY 2.0\tx\n";
    let error = refused(text);
    assert!(error.contains("train.tsv, line 2: there are 4 columns"), "{error}");
    let options = PairsOptions { ignore_columns: true, ..PairsOptions::default() };
    assert_eq!(read_tsv("train.tsv", &text[..], &options).unwrap(), [pair("a", "b"), pair("c", "d")]);
}

#[test]
fn tags_choose_rows() {
    let text = b"a\tb\tnews\nc\td\tchat\ne\tf\ng\th\t code \n";
    let with = |tags: &[&str]| {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        read_rows("extra.tsv", &text[..], &PairsOptions { tags, ..PairsOptions::default() }).unwrap()
    };
    let rows = with(&["news", "code"]);
    assert_eq!(rows.pairs, [pair("a", "b"), pair("e", "f"), pair("g", "h")]);
    assert_eq!(rows.tags.into_iter().collect::<Vec<_>>(), ["chat", "code", "news"]);
    assert_eq!(with(&["none"]).pairs, [pair("e", "f")]);
    let options = PairsOptions { tags: vec!["x".to_owned()], ..PairsOptions::default() };
    let error = read_rows("extra.tsv", &b"a\tb\tx\ty\n"[..], &options).unwrap_err().to_string();
    assert!(error.contains("line 1: there are 4 columns"), "{error}");
}

#[test]
fn each_bad_line_is_named() {
    let long = format!("a\tb\n{}\tb\n", "x".repeat(1 << 20));
    for (text, message) in [
        (&b"a\tb\nonly one\n"[..], "train.tsv, line 2: there is one column"),
        (b"a\tb\n\na\tb\n", "train.tsv, line 2: there is one column"),
        (b"a\tb\n\t b\n", "train.tsv, line 2: the source is empty"),
        (b"a\tb\nc\td\nc\t \r\n", "train.tsv, line 3: the target is empty"),
        (b"a\tb\nc\0\td\n", "train.tsv, line 2: contains a NUL"),
        (b"a\tb\nc\td\xff\n", "train.tsv, line 2: byte 4 of the line is not UTF-8"),
        (b"", "train.tsv: there are no pairs"),
        (long.as_bytes(), "train.tsv, line 2: longer than the limit of 65536 bytes"),
    ] {
        let error = refused(text);
        assert!(error.starts_with(message), "{error}, not {message}");
    }
}

#[test]
fn a_line_at_the_limit_is_read_and_one_beyond_is_not() {
    let options = PairsOptions { line_bytes: 7, ..PairsOptions::default() };
    for end in ["", "\n", "\r\n"] {
        assert_eq!(read_tsv("f", format!("abc\tdef{end}").as_bytes(), &options).unwrap().len(), 1);
        let error = read_tsv("f", format!("abc\tdefg{end}").as_bytes(), &options).unwrap_err();
        assert!(matches!(error, PairsError::LongLine { line: 1, limit: 7, .. }), "{error}");
    }
    let options = PairsOptions { text_bytes: 7, ..PairsOptions::default() };
    let error = read_tsv("f", &b"a\tb\nc\td\n"[..], &options).unwrap_err();
    assert!(matches!(error, PairsError::LongText { limit: 7, .. }), "{error}");
}

#[test]
fn two_files_need_equal_lines() {
    let options = PairsOptions::default();
    let read = |source: &str, target: &str| {
        read_two(("a.en", source.as_bytes()), ("a.de", target.as_bytes()), &options)
    };
    assert_eq!(read("a\nb\n", "c\nd").unwrap(), [pair("a", "c"), pair("b", "d")]);
    let error = read("a\nb\nc\nd\n", "x\ny\n").unwrap_err().to_string();
    assert!(error.starts_with("a.en has 4 lines, but a.de has 2"), "{error}");
    let error = read("a\n", "x\ny\nz").unwrap_err().to_string();
    assert!(error.starts_with("a.en has 1 line, but a.de has 3"), "{error}");
    let error = read("a\nb\n", "x\n\n").unwrap_err().to_string();
    assert!(error.starts_with("a.de, line 2: the target is empty"), "{error}");
    let error = read("a\nb\tc\n", "x\ny\n").unwrap_err().to_string();
    assert!(error.starts_with("a.en, line 2: contains a tab"), "{error}");
}

/// A file in the folder of temporary files, removed at the end.
struct File(PathBuf);

impl File {
    fn new(name: &str, content: &[u8]) -> Self {
        // tests side by side give the same name
        static FILES: AtomicUsize = AtomicUsize::new(0);
        let (process, file) = (std::process::id(), FILES.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("wordloom-{process}-{file}-{name}"));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn other_forms_of_files_are_named() {
    for (begin, want) in [
        (&[0xff, 0xfe, b'a', 0][..], "UTF-16"),
        (&[0x28, 0xb5, 0x2f, 0xfd, 0], "zstd"),
        (b"BZh9", "bzip2"),
        (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz"),
    ] {
        let file = File::new("pairs.tsv", begin);
        let error = load_tsv(&file.0, &PairsOptions::default()).unwrap_err().to_string();
        assert!(error.contains(want) && error.contains("UTF-8") && error.contains("gzip"), "{error}");
    }
}

#[test]
fn gzip_is_found_by_content_in_one_member_or_more() {
    let options = PairsOptions::default();
    // a name without .gz, and two members, as `cat a.gz b.gz` makes them
    let file = File::new("pairs.tsv", &[gzip(b"a\tb\nc\t"), gzip(b"d\n")].concat());
    assert_eq!(load_tsv(&file.0, &options).unwrap(), [pair("a", "b"), pair("c", "d")]);
    let (source, target) = (File::new("a.en", b"a\nc\n"), File::new("a.de.gz", &gzip(b"b\nd\n")));
    assert_eq!(load_two(&source.0, &target.0, &options).unwrap(), [pair("a", "b"), pair("c", "d")]);

    let cut = gzip(b"a\tb\n".repeat(1000).as_slice());
    let file = File::new("cut.tsv.gz", &cut[..cut.len() - 9]);
    let error = load_tsv(&file.0, &options).unwrap_err();
    assert!(matches!(error, PairsError::Io { .. }), "{error}");
    let error = load_tsv(&PathBuf::from("not/there.tsv"), &options).unwrap_err().to_string();
    assert!(error.starts_with("cannot read not/there.tsv: "), "{error}");
}

#[test]
fn a_small_file_that_holds_too_much_is_refused() {
    let file = File::new("bomb.tsv.gz", &gzip(&vec![b'x'; 64 << 20]));
    let error = load_tsv(&file.0, &PairsOptions::default()).unwrap_err();
    assert!(matches!(error, PairsError::LongLine { line: 1, .. }), "{error}");
}

#[test]
fn sources_of_the_dev_set_leave_the_training_set() {
    let train = vec![
        pair("Hello, World!", "Hallo Welt!"),
        pair("I don't know.", "Ich weiß nicht."),
        pair("I don't know him.", "Ich kenne ihn nicht."),
        pair("ÉTÉ", "Sommer"),
        pair("?!", "?!"),
        pair("!", "!"),
    ];
    let dev =
        [pair("hello world", "x"), pair("I DON'T KNOW!!!", "y"), pair("Été?", "z"), pair("!", "Ausruf")];
    let rest = without_overlap(train.clone(), &dev);
    assert_eq!((rest.removed, rest.pairs), (4, vec![train[2].clone(), train[4].clone()]));
    let rest = without_overlap(train.clone(), &[]);
    assert_eq!((rest.removed, rest.pairs), (0, train));
}
