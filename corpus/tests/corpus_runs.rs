//! Runs over corpora with a translator that is no model: what is read, written, counted, kept after a failure, and refused.

mod common;

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::builder::{ListBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{ArrayRef, Int64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray};
use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::arrow::ArrowWriter;
use wordloom_corpus::{CorpusError, Format, Summary};

use common::{Case, read, write_parquet};

#[test]
fn a_table_keeps_its_columns_and_its_order() {
    let case = Case::new("csv")
        .write("a.csv", "id,text,note\n01,one,\"x, \"\"y\"\"\"\n02,two,\n03,\"a\nb\",z\n04,one,w\n");
    let summary = case.run();
    assert_eq!(case.parts(), ["part-00000.csv", "part-00001.csv"]);
    assert_eq!(
        case.part("part-00000.csv"),
        "id,text,note,capitals\n01,one,\"x, \"\"y\"\"\",ONE\n02,two,,TWO\n03,\"a\nb\",z,\"A\nB\"\n"
    );
    assert_eq!(case.part("part-00001.csv"), "id,text,note,capitals\n04,one,w,ONE\n");
    let report = summary.report;
    assert_eq!((report.rows, report.texts(), report.duplicates, summary.parts), (4, 4, 1, 2));
    assert_eq!(case.seen.lock().expect("counts")["one"], 1, "a duplicate of another part");
    assert!(
        case.folder.join("out/_SUCCESS").exists() && !case.folder.join("out/_corpus/texts.sqlite").exists()
    );
}

#[test]
fn json_lines_change_in_no_other_byte() {
    let lines = "{\"n\": 1.50, \"text\": \"\\u0061 b\", \"deep\": {\"x\": [1e3, null]}}\n{\"text\":null}\n\n{ \"text\" : \"\" }\r\n";
    let mut case = Case::new("jsonl").write("a.jsonl", lines);
    case.job.trust = true;
    let summary = case.run();
    assert_eq!(
        case.all(),
        "{\"n\": 1.50, \"text\": \"\\u0061 b\", \"deep\": {\"x\": [1e3, null]},\"capitals\":\"A B\",\"capitals_trust\":0.75}\n\
         {\"text\":null,\"capitals\":null,\"capitals_trust\":null}\n\
         { \"text\" : \"\" ,\"capitals\":\"\",\"capitals_trust\":0.75}\n"
    );
    assert_eq!((summary.report.rows, summary.report.nulls), (3, 1));
}

#[test]
fn bad_rows_go_aside_with_their_reasons() {
    let lines = b"{\"text\":\"a\"}\n{\"text\":\n{\"other\":1}\n{\"text\":5}\n\xff\n{\"text\":\"b\",\"capitals\":1}\n[1]\n{\"text\":\"c\"}\n";
    let case = Case::new("bad").write("a.jsonl", lines).write("b.csv", b"text,n\na,1\nb\n\xff,2\nc,3,4\n");
    let summary = case.run();
    let reasons: Vec<(u64, String)> = case
        .bad()
        .iter()
        .map(|row| {
            (row["row"].as_u64().expect("a number"), row["reason"].as_str().expect("a reason").to_owned())
        })
        .collect();
    let starts = [
        (2, "no JSON object"),
        (3, "has no field \"text\""),
        (4, "field \"text\" is no text"),
        (5, "not UTF-8 at byte 1"),
        (6, "has a field \"capitals\" already"),
        (7, "no JSON object"),
        (2, "has 1 values, not 2"),
        (3, "not UTF-8"),
        (4, "has 3 values, not 2"),
    ];
    assert_eq!(reasons.len(), starts.len(), "{reasons:?}");
    for ((row, reason), (expected, start)) in reasons.iter().zip(starts) {
        assert!(*row == expected && reason.starts_with(start), "row {row}: {reason}");
    }
    assert_eq!((summary.report.rows, summary.report.bad_rows, summary.report.texts()), (12, 9, 3));
    assert_eq!(case.all().matches("capitals\":\"").count(), 2);
}

#[test]
fn lines_and_tsv_and_compressed_files() {
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all("one \"two\"\nthree\n".as_bytes()).expect("memory");
    let case = Case::new("lines")
        .write("a.txt.gz", gz.finish().expect("memory"))
        .write("b.tsv", "id\ttext\n1\tsay \"hi\n");
    case.run();
    assert_eq!(
        case.part("part-00000.jsonl"),
        "{\"text\":\"one \\\"two\\\"\",\"capitals\":\"ONE \\\"TWO\\\"\"}\n{\"text\":\"three\",\"capitals\":\"THREE\"}\n"
    );
    assert_eq!(case.part("part-00001.tsv"), "id\ttext\tcapitals\n1\tsay \"hi\tSAY \"HI\n");

    let mut case = Case::new("no-names").write("a.tsv", "1\tone\n2\ttwo\n");
    (case.job.header, case.job.column) = (false, "2".into());
    case.run();
    assert_eq!(case.all(), "1\tone\tONE\n2\ttwo\tTWO\n");
}

/// Parquet with a text in each layout of Arrow, a list, and three row groups.
fn parquet_file(path: &Path) {
    let texts = [Some("one"), None, Some("two"), Some("one"), Some("naïve 한국"), Some("")];
    let mut dictionary = StringDictionaryBuilder::<Int32Type>::new();
    let mut lists = ListBuilder::new(StringBuilder::new());
    for text in texts {
        dictionary.append_option(text);
        lists.values().append_option(text);
        lists.append(true);
    }
    let columns: [(&str, ArrayRef); 6] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..6))),
        ("text", Arc::new(StringArray::from(texts.to_vec()))),
        ("large", Arc::new(LargeStringArray::from(texts.to_vec()))),
        ("view", Arc::new(StringViewArray::from(texts.to_vec()))),
        ("dictionary", Arc::new(dictionary.finish())),
        ("list", Arc::new(lists.finish())),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("a batch");
    let mut writer =
        ArrowWriter::try_new(File::create(path).expect("a file"), batch.schema(), None).expect("a writer");
    for start in [0, 2, 4] {
        writer.write(&batch.slice(start, 2)).expect("rows");
        writer.flush().expect("a row group");
    }
    writer.close().expect("a footer");
}

#[test]
fn parquet_in_every_layout_of_text() {
    for column in ["text", "large", "view", "dictionary"] {
        let mut case = Case::new(&format!("parquet-{column}"));
        parquet_file(&case.folder.join("in/a.parquet"));
        (case.job.column, case.job.rows) = (column.into(), 4);
        let summary = case.run();
        assert_eq!(case.parts(), ["part-00000.parquet", "part-00001.parquet"]);
        let [first, second] =
            [0, 1].map(|part| read(&case.folder.join(format!("out/part-0000{part}.parquet"))));
        let ids = |batch: &RecordBatch| batch["id"].as_primitive::<Int64Type>().values().to_vec();
        assert_eq!((ids(&first), ids(&second)), (vec![0, 1, 2, 3], vec![4, 5]));
        let capitals = |batch: &RecordBatch| {
            let column = batch["capitals"].as_string::<i32>().clone();
            column.iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>()
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(capitals(&first), [text("ONE"), None, text("TWO"), text("ONE")]);
        assert_eq!(capitals(&second), [text("NAÏVE 한국"), text("")]);
        assert_eq!((summary.report.nulls, summary.report.duplicates), (1, 1));
        assert_eq!(first.schema().fields().len(), 7, "every column stays");
    }
}

#[test]
fn tables_change_their_format_where_nothing_is_lost() {
    let mut case = Case::new("to-parquet").write("a.csv", "id,text\n007,one\n");
    case.job.format = Some(Format::Parquet);
    case.run();
    let part = read(&case.folder.join("out/part-00000.parquet"));
    assert_eq!(part["id"].as_string::<i32>().value(0), "007");
    assert_eq!(part["capitals"].as_string::<i32>().value(0), "ONE");

    let mut case = Case::new("to-jsonl");
    parquet_file(&case.folder.join("in/a.parquet"));
    case.job.format = Some(Format::JsonLines);
    case.run();
    let first = case.all().lines().next().map(str::to_owned).expect("a line");
    assert!(
        first.starts_with("{\"id\":0,\"text\":\"one\"")
            && first.ends_with("\"list\":[\"one\"],\"capitals\":\"ONE\"}"),
        "{first}"
    );

    let mut case = Case::new("list-to-csv");
    parquet_file(&case.folder.join("in/a.parquet"));
    case.job.format = Some(Format::Csv);
    let error = case.run_with(1, usize::MAX).expect_err("a list is no text").to_string();
    assert!(error.contains("\"list\"") && error.contains("--format"), "{error}");

    let mut case = Case::new("jsonl-to-csv").write("a.jsonl", "{\"text\":\"a\"}\n");
    case.job.format = Some(Format::Csv);
    assert!(matches!(case.run_with(1, usize::MAX), Err(CorpusError::Convert { .. })));
}

fn corpus(rows: usize) -> String {
    let row = |row: usize| format!("{{\"id\":{row},\"text\":\"text {}\"}}\n", row * row % 97);
    (0..rows).map(row).collect()
}

#[test]
fn a_failed_run_goes_on_and_ends_as_if_nothing_had_happened() {
    let whole = Case::new("whole").write("a.jsonl", corpus(400)).write("b.jsonl", corpus(50));
    let expected = whole.run();
    for workers in [1, 3] {
        let mut case = Case::new(&format!("failed-{workers}"))
            .write("a.jsonl", corpus(400))
            .write("b.jsonl", corpus(50));
        let mut runs = 0;
        let summary = loop {
            // each run gets a little further
            match case.run_with(workers, 3) {
                Ok(summary) => break summary,
                Err(error) => assert_eq!(error.to_string(), "the plug was pulled"),
            }
            case.job.resume = true;
            runs += 1;
            assert!(runs < 200, "no progress");
        };
        assert!(runs > 3, "{runs} runs");
        assert_eq!(case.all(), whole.all(), "{workers} workers");
        let counts = |summary: &Summary| {
            (summary.report.rows, summary.report.texts(), summary.report.lengths, summary.parts)
        };
        assert_eq!(counts(&summary), counts(&expected));
        if workers == 1 {
            assert!(
                case.seen.lock().expect("counts").values().all(|&times| times == 1),
                "a text was translated twice"
            );
            assert_eq!(summary.report.duplicates, expected.report.duplicates);
        }
    }
}

#[test]
fn parts_without_a_marker_are_written_again() {
    let mut case = Case::new("marker").write("a.jsonl", corpus(20));
    case.run();
    let before = case.all();
    let out = case.folder.join("out");
    fs::remove_file(out.join("_corpus/part-00002.json")).expect("a marker");
    fs::write(out.join("part-00002.jsonl"), "half a li").expect("a part");
    fs::remove_file(out.join("_corpus/part-00004.json")).expect("a marker");
    case.job.resume = true;
    let summary = case.run();
    assert_eq!(case.all(), before);
    assert_eq!((summary.report.rows, summary.run_rows), (20, 6), "two parts of three rows");
}

#[test]
fn what_cannot_be_done_is_said_before_anything_is_written() {
    let refused = |case: &Case| {
        let error = case.run_with(1, usize::MAX).expect_err("a refusal");
        assert!(!case.folder.join("out").exists(), "{error}");
        error.to_string()
    };
    let mut case = Case::new("column").write("a.csv", "id,body\n1,x\n");
    assert!(refused(&case).contains("has no column \"text\"; it has \"id\", \"body\""));
    (case.job.column, case.job.into) = ("body".into(), "id".into());
    assert!(refused(&case).contains("--into"));

    let mut case = Case::new("number");
    parquet_file(&case.folder.join("in/a.parquet"));
    case.job.column = "id".into();
    assert!(refused(&case).contains("type Int64, not text"));

    let case = Case::new("damaged").write("a.parquet", b"PAR1 no Parquet PAR1");
    assert!(refused(&case).contains("no readable Parquet"));
    let case = Case::new("nothing").write("a.docx", "x");
    assert!(refused(&case).contains("no file of a known format; known are parquet, jsonl"));
    fs::create_dir_all(case.folder.join("in/lang=de")).expect("a subfolder");
    assert!(
        refused(&case).contains("its subfolders are not read, so name them as inputs of their own: lang=de")
    );
    let mut case = Case::new("no-name").write("a.csv", "text\nx\n");
    case.job.into.clear();
    assert!(refused(&case).contains("--into is empty"));
    let mut case = Case::new("missing");
    case.job.inputs = vec![case.folder.join("none.csv")];
    assert!(refused(&case).contains("cannot read"));
    let case = Case::new("gz").write("a.csv.gz", "no gzip");
    assert!(refused(&case).contains("a.csv.gz"));
    let mut case = Case::new("ending").write("a.docx", "x");
    case.job.inputs = vec![case.folder.join("in/a.docx")];
    assert!(refused(&case).contains("its ending is of no known format"));
}

#[test]
fn a_folder_is_never_mixed_up() {
    let mut case = Case::new("folder").write("a.jsonl", corpus(10));
    fs::create_dir_all(case.folder.join("out")).expect("a folder");
    fs::write(case.folder.join("out/mine"), "x").expect("a file");
    assert!(matches!(case.run_with(1, usize::MAX), Err(CorpusError::OtherFolder { .. })));
    fs::remove_file(case.folder.join("out/mine")).expect("a file");
    case.run();
    let input = case.folder.join("in/a.jsonl");
    let begun = fs::metadata(&input).and_then(|found| found.modified()).expect("a time");
    assert!(matches!(case.run_with(1, usize::MAX), Err(CorpusError::RunExists { .. })));
    case.job.resume = true;
    assert_eq!(case.run().run_rows, 0, "nothing is left to do");
    case.job.settings.insert("--model".into(), "another".into());
    let error = case.run_with(1, usize::MAX).expect_err("another model").to_string();
    assert!(
        error.starts_with("--model was capitals when ") && error.contains(", and is another now; "),
        "{error}"
    );
    case.job.settings.insert("--model".into(), "capitals".into());
    fs::write(case.folder.join("in/a.jsonl"), corpus(11)).expect("another corpus");
    assert!(matches!(case.run_with(1, usize::MAX), Err(CorpusError::Setting { .. })));
    fs::write(&input, corpus(10)).expect("the corpus");
    let stamp = |time| File::options().write(true).open(&input).and_then(|file| file.set_modified(time));
    stamp(begun + Duration::from_nanos(100)).expect("another time");
    let error = case.run_with(1, usize::MAX).expect_err("another time");
    assert!(matches!(error, CorpusError::Changed { .. }), "{error}");
    assert!(error.to_string().starts_with("file 1, a.jsonl has changed since"), "{error}");
    stamp(begun).expect("the time");
    // another way to write the same file
    case.job.inputs = vec![case.folder.join("out/../in/./a.jsonl")];
    assert_eq!(case.run().run_rows, 0, "nothing is left to do");
    fs::write(case.folder.join("out/_corpus/part-00001.json"), "{").expect("a damaged marker");
    assert!(matches!(case.run_with(1, usize::MAX), Err(CorpusError::Record { .. })));
    let record = case.folder.join("out/_corpus/run.json");
    let older = fs::read_to_string(&record).expect("a record").replace("\"format\":2", "\"format\":1");
    fs::write(&record, older).expect("an older record");
    let error = case.run_with(1, usize::MAX).expect_err("an older record").to_string();
    assert!(error.starts_with("the format of records was 1 when "), "{error}");
    assert!(error.ends_with(" was begun, and is 2 now; take the same, or another folder"), "{error}");
}

#[test]
fn empty_files_have_no_part_and_one_row_is_enough() {
    let case = Case::new("empty").write("a.txt", "").write("b.txt", "one").write("c.csv", "text\n");
    let summary = case.run();
    assert_eq!(case.parts(), ["part-00001.jsonl"]);
    assert_eq!((summary.report.rows, summary.parts), (1, 3));
}

#[test]
fn what_is_passed_over_is_said() {
    let case = Case::new("passed").write("a.csv", "text\nx\n").write("_SUCCESS", "").write(".crc", "");
    assert!(case.job.passed_over().expect("a folder").is_empty());
    let case = case.write("b.docx", "x").write("c", "x").write("d.json", "x").write("e.parquet.gz", "x");
    fs::create_dir_all(case.folder.join("in/lang=de")).expect("a subfolder");
    let said = case.job.passed_over().expect("a folder");
    let [files, folders] = &*said else { panic!("{said:?}") };
    assert!(
        files.ends_with(": passes over 4 files of no known format: b.docx, c, d.json and 1 more"),
        "{files}"
    );
    assert!(
        folders.ends_with(": subfolders are not read, here 1: lang=de; name them as inputs of their own"),
        "{folders}"
    );
    assert_eq!(case.run().report.rows, 1);
}

#[test]
fn long_rows_make_small_parts_and_a_resumed_run_cuts_alike() {
    let long = "x".repeat(1 << 20);
    let line = |row: usize| format!("{{\"id\":{row},\"text\":\"t{row}\",\"long\":\"{long}\"}}\n");
    let bad = format!("{long}\n");
    let file: String = (0..80).map(|row| if row % 2 == 0 { line(row) } else { bad.clone() }).collect();
    let mut case = Case::new("long").write("a.jsonl", file);
    case.job.rows = 1000;
    assert_eq!(case.run().parts, 2, "64 MB and the rest; bad rows count as well");
    let texts: Vec<String> = (0..80).map(|row| format!("t{row}")).collect();
    let columns = || -> [(&str, ArrayRef); 2] {
        [
            ("text", Arc::new(StringArray::from_iter_values(&texts))),
            ("long", Arc::new(StringViewArray::from_iter_values((0..80).map(|row| format!("{row}{long}"))))),
        ]
    };
    let mut case = Case::new("long-parquet");
    write_parquet(&case.folder.join("in/a.parquet"), columns());
    case.job.rows = 1000;
    assert_eq!(case.run().parts, 2);
    let rows = |part| read(&case.folder.join(format!("out/part-0000{part}.parquet"))).num_rows();
    let before = (rows(0), rows(1));
    assert!((64..=72).contains(&before.0), "{before:?}");
    let out = case.folder.join("out");
    fs::remove_file(out.join("_corpus/part-00001.json")).expect("a marker");
    case.job.resume = true;
    assert_eq!(case.run().run_rows, before.1 as u64);
    assert_eq!((rows(0), rows(1)), before);
}
