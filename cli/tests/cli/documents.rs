//! `wordloom translate` with documents.

use std::fs;
use std::path::{Path, PathBuf};

use super::{run, scratch, text};

const ENGLISH: &str = "Where is the train station?";
/// The stored greedy translation of the default model.
const GERMAN: &str = "Wo ist der Bahnhof?";

fn translate(input: &Path, output: &Path, options: &[&str]) -> super::Run {
    let files = ["translate", "--device", "cpu", "--input", text(input), "--output", text(output)];
    run(&[&files[..], options].concat(), "")
}

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/documents").join(name)
}

#[test]
fn documents_are_known_by_their_ending() {
    let folder = scratch("documents");
    for (name, source, want) in [
        ("a.html", format!("<p class=\"x\">{ENGLISH}</p>"), format!("<p class=\"x\">{GERMAN}</p>")),
        ("a.md", format!("# {ENGLISH}\n\n`kept`\n"), format!("# {GERMAN}\n\n`kept`\n")),
        ("a.json", format!("{{\"a\": \"{ENGLISH}\"}}"), format!("{{\"a\": \"{GERMAN}\"}}")),
        ("a.txt", format!("<p>\n{ENGLISH}\n"), String::new()),
    ] {
        let (input, output) = (folder.join(name), folder.join(format!("out-{name}")));
        fs::write(&input, source).unwrap();
        translate(&input, &output, &[]).succeeds();
        let written = fs::read_to_string(&output).unwrap();
        match want.is_empty() {
            false => assert_eq!(written, want),
            true => assert_eq!(written.lines().nth(1), Some(GERMAN)),
        }
        assert!(!folder.join(format!("out-{name}.resume")).exists());
    }
    // another format than the ending says; to standard output
    let input = folder.join("a.html");
    fs::write(&input, format!("\"k\" = \"{ENGLISH}\";\n")).unwrap();
    let strings = run(&["translate", "--device", "cpu", "-i", text(&input), "--format", "strings"], "");
    assert_eq!(strings.succeeds(), format!("\"k\" = \"{GERMAN}\";\n"));
    let table = folder.join("t.csv");
    fs::write(&table, format!("id,text\n1,{ENGLISH}\n")).unwrap();
    let columns = run(&["translate", "--device", "cpu", "-i", text(&table), "--columns", "text"], "");
    assert_eq!(columns.succeeds(), format!("id,text\n1,{GERMAN}\n"));
}

#[test]
fn a_letter_keeps_its_form() {
    let folder = scratch("documents_letter");
    let output = folder.join("brief.docx");
    translate(&sample("letter.docx"), &output, &[]).succeeds();
    let bytes = fs::read(&output).unwrap();
    let options = wordloom_documents::Options::default();
    let document =
        wordloom_documents::Document::read(bytes, wordloom_documents::Format::Docx, &options).unwrap();
    let texts: Vec<&str> = document.units().iter().map(|unit| unit.text()).collect();
    assert!(texts.iter().any(|text| text.contains("Haus")), "{texts:?}");
    // the address came through as it was, so it is a placeholder again
    assert!(texts.iter().any(|text| text.contains("XA")), "{texts:?}");
}

/// The next run takes the translations that are whole.
#[test]
fn a_stopped_run_goes_on() {
    let folder = scratch("documents_resume");
    let (input, output) = (folder.join("in.html"), folder.join("out.html"));
    fs::write(&input, format!("<p>{ENGLISH}</p><p>Good <b>morning</b>!</p>")).unwrap();
    // the record under a second name, which stays at the end of the run
    let [record, kept] = ["out.html.resume", "kept"].map(|name| folder.join(name));
    fs::write(&record, "").unwrap();
    fs::hard_link(&record, &kept).unwrap();
    translate(&input, &output, &[]).succeeds();
    assert!(!record.exists());
    fs::remove_file(&output).unwrap();
    let recorded = fs::read_to_string(&kept).unwrap();
    assert_eq!(recorded.lines().count(), 3, "{recorded}");
    let changed = recorded.replace(GERMAN, "From the record.");
    let half = &changed[..changed.len() - 10];
    fs::write(&record, half).unwrap();
    translate(&input, &output, &["--resume", "--beams", "2"]).fails(1, &["--beams was not given, and is 2"]);
    translate(&input, &output, &["--resume"]).succeeds();
    let written = fs::read_to_string(&output).unwrap();
    assert!(written.starts_with("<p>From the record.</p><p>") && written.contains("<b>"), "{written}");
    assert!(!record.exists());
    translate(&input, &output, &["--resume"]).fails(1, &["no ", "out.html.resume"]);
    fs::write(&record, &recorded).unwrap();
    fs::write(&input, "<p>Another text.</p>").unwrap();
    translate(&input, &output, &["--resume"]).fails(1, &["in.html", "out.html.resume"]);
}

/// It is said before the work, and nothing else in the folder is touched.
#[test]
fn an_output_that_cannot_be_written_is_refused_at_once() {
    let folder = scratch("documents_output");
    let input = folder.join("in.html");
    fs::write(&input, format!("<p>{ENGLISH}</p>")).unwrap();
    let directory = folder.join("directory.html");
    fs::create_dir(&directory).unwrap();
    for output in [folder.join("none").join("out.html"), directory] {
        let failed = translate(&input, &output, &[]);
        failed.fails(1, &["cannot write", text(&output)]);
        assert!(!failed.stderr().contains("running on"), "{}", failed.stderr());
    }
    let (output, other) = (folder.join("out.html"), folder.join("out.html.new"));
    fs::write(&other, "precious").unwrap();
    translate(&input, &output, &[]).succeeds();
    assert_eq!(fs::read_to_string(&other).unwrap(), "precious");
    let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["directory.html", "in.html", "out.html", "out.html.new"]);
}

/// A file that only its owner may read would be open to all.
#[cfg(unix)]
#[test]
fn an_output_that_is_there_keeps_its_permissions_and_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = scratch("documents_permissions");
    let (input, output, link) = (folder.join("in.html"), folder.join("out.html"), folder.join("link.html"));
    fs::write(&input, format!("<p>{ENGLISH}</p>")).unwrap();
    fs::write(&output, "old").unwrap();
    fs::set_permissions(&output, fs::Permissions::from_mode(0o600)).unwrap();
    symlink("out.html", &link).unwrap();
    translate(&input, &link, &[]).succeeds();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&output).unwrap(), format!("<p>{GERMAN}</p>"));
    assert_eq!(fs::metadata(&output).unwrap().permissions().mode() & 0o777, 0o600);
}

/// Two runs would write into one record.
#[cfg(unix)]
#[test]
fn a_second_run_for_the_same_output_is_refused() {
    let folder = scratch("documents_lock");
    let (input, output) = (folder.join("in.html"), folder.join("out.html"));
    fs::write(&input, format!("<p>{ENGLISH}</p>")).unwrap();
    let record = fs::File::create(folder.join("out.html.resume")).unwrap();
    record.lock().unwrap();
    translate(&input, &output, &[]).fails(1, &["out.html.resume", "another run is writing it"]);
    drop(record);
    translate(&input, &output, &[]).succeeds();
}

/// Word would not open an .odt that is a .docx.
#[test]
fn an_output_with_the_ending_of_another_format_is_refused() {
    let folder = scratch("documents_endings");
    let path = |name: &str| folder.join(name);
    for (name, content) in [("a.md", ENGLISH), ("a.htm", ENGLISH), ("a.txt", ENGLISH), ("a.log", ENGLISH)] {
        fs::write(path(name), format!("{content}\n")).unwrap();
    }
    for (input, output, parts) in [
        ("a.md", "x.html", [".md", ".html", "--format md"]),
        ("a.htm", "x.txt", [".htm", ".txt", "--format htm"]),
        ("a.txt", "x.docx", [".txt", ".docx", "--format lines"]),
        ("a.txt", "x.csv", [".txt", ".csv", "--format lines"]),
    ] {
        translate(&path(input), &path(output), &[]).fails(2, &parts);
        assert!(!path(output).exists(), "{output}");
    }
    translate(&sample("letter.docx"), &path("x.odt"), &[])
        .fails(2, &["letter.docx", ".odt", "--format docx"]);
    let typed = run(&["translate", "--device", "cpu", ENGLISH, "-o", text(&path("x.epub"))], "");
    typed.fails(2, &[".txt", ".epub", "--format lines"]);
    for (input, output, options) in [
        ("a.htm", "x.HTML", &[][..]),
        ("a.htm", "x.page", &[]),
        ("a.md", "x.html", &["--format", "md"]),
        ("a.log", "x.txt", &[]),
        ("a.txt", "x.json", &["--json"]),
    ] {
        translate(&path(input), &path(output), options).succeeds();
        let written = fs::read_to_string(path(output)).unwrap();
        assert!(written.contains(GERMAN), "{input} {output}: {written}");
    }
}

#[test]
fn wrong_documents_and_options_are_refused() {
    let folder = scratch("documents_wrong");
    let (input, output) = (folder.join("a.docx"), folder.join("b.docx"));
    fs::write(&input, "no zip file").unwrap();
    translate(&input, &output, &[]).fails(1, &["a.docx", "zip"]);
    translate(&input, &output, &["--json"]).fails(2, &["--json", "--format lines"]);
    translate(&input, &output, &["--format", "pdf"]).fails(2, &["--format pdf", ".docx"]);
    translate(&input, &output, &["--columns", "1"]).fails(2, &["--columns", ".csv"]);
    translate(&input, &input, &[]).fails(2, &["are the same file"]);
    assert!(!output.exists() && !folder.join("b.docx.resume").exists());
    for (name, start, kind) in [
        ("a.pdf", &b"%PDF-1.7\n"[..], "a PDF file"),
        ("a.rtf", b"{\\rtf1 Hi}", "an RTF file"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an older Office"),
    ] {
        let input = folder.join(name);
        fs::write(&input, start).unwrap();
        translate(&input, &output, &[]).fails(1, &[name, kind, "has no lines", ".docx"]);
    }
    run(&["translate", "--format", "html", "text"], "").fails(2, &["--format needs a file"]);
}
