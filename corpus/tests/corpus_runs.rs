//! Runs over corpora with a translator that is no model: what is read, written, counted, kept after a failure, and refused.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::builder::{ListBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{ArrayRef, Int64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray};
use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use wordloom_corpus::{CorpusError, Format, Job, Summary, Translate, Translated, run};

/// Writes texts in capitals, and counts how often it saw each. It fails at its call of the number `fails_at`.
struct Capitals {
    seen: Arc<Mutex<HashMap<String, usize>>>,
    calls: Arc<AtomicUsize>,
    fails_at: usize,
}

impl Translate for Capitals {
    fn translate(
        &mut self,
        texts: &[&str],
        done: &mut (dyn FnMut(f64) + Send),
    ) -> Result<Vec<Translated>, CorpusError> {
        if self.calls.fetch_add(1, Ordering::SeqCst) == self.fails_at {
            return Err(CorpusError::Translate("the plug was pulled".into()));
        }
        done(0.5);
        let mut seen = self.seen.lock().expect("no panic before");
        let translate = |text: &&str| {
            *seen.entry((*text).to_owned()).or_default() += 1;
            let tokens = u32::try_from(text.split(' ').count()).expect("a short text");
            Translated {
                text: text.to_uppercase(),
                trust: Some(0.75),
                source_tokens: tokens,
                tokens,
                cut: false,
            }
        };
        Ok(texts.iter().map(translate).collect())
    }
}

/// A folder of a test, with a corpus and a place for the output.
struct Case {
    folder: PathBuf,
    job: Job,
    seen: Arc<Mutex<HashMap<String, usize>>>,
}

impl Case {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("corpus").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("in")).expect("a temporary folder");
        let job = Job {
            inputs: vec![folder.join("in")],
            output: folder.join("out"),
            column: "text".into(),
            into: "capitals".into(),
            trust: false,
            format: None,
            header: true,
            rows: 3,
            resume: false,
            settings: [("--model".to_owned(), "capitals".to_owned())].into(),
        };
        Self { folder, job, seen: Arc::default() }
    }

    fn write(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        fs::write(self.folder.join("in").join(name), content).expect("a file of the corpus");
        self
    }

    fn run_with(&self, workers: usize, fails_at: usize) -> Result<Summary, CorpusError> {
        let calls = Arc::new(AtomicUsize::new(0));
        let worker = |_| {
            let (seen, calls) = (Arc::clone(&self.seen), Arc::clone(&calls));
            Box::new(Capitals { seen, calls, fails_at }) as Box<dyn Translate>
        };
        run(&self.job, (0..workers).map(worker).collect(), &|_| {})
    }

    fn run(&self) -> Summary {
        self.run_with(1, usize::MAX).expect("a run")
    }

    /// The content of a part.
    fn part(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join("out").join(name)).expect("a part")
    }

    /// Names of the parts.
    fn parts(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.join("out")).expect("the output");
        let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        let mut parts: Vec<String> = names.filter(|name| name.starts_with("part-")).collect();
        parts.sort();
        parts
    }

    fn all(&self) -> String {
        self.parts().iter().map(|part| self.part(part)).collect()
    }

    fn bad(&self) -> Vec<serde_json::Value> {
        let records = fs::read_dir(self.folder.join("out/_corpus")).expect("the records");
        let mut files: Vec<PathBuf> = records.map(|entry| entry.expect("an entry").path()).collect();
        files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
        files.sort();
        let content: String = files.iter().map(|path| fs::read_to_string(path).expect("bad rows")).collect();
        content.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

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

fn read(path: &Path) -> RecordBatch {
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(File::open(path).expect("a part")).expect("Parquet");
    let batches: Vec<RecordBatch> =
        builder.build().expect("a reader").map(|batch| batch.expect("rows")).collect();
    assert_eq!(batches.len(), 1);
    batches.into_iter().next().expect("one batch")
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

    let mut case = Case::new("break-to-tsv").write("a.csv", "text\n\"a\nb\"\n");
    case.job.format = Some(Format::Tsv);
    assert!(
        case.run_with(1, usize::MAX).expect_err("TSV has no line breaks").to_string().contains("line break")
    );
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
    assert!(matches!(case.run_with(1, usize::MAX), Err(CorpusError::RunExists { .. })));
    case.job.resume = true;
    assert_eq!(case.run().run_rows, 0, "nothing is left to do");
    case.job.settings.insert("--model".into(), "another".into());
    assert!(
        case.run_with(1, usize::MAX)
            .expect_err("another model")
            .to_string()
            .contains("--model capitals, but now it is another")
    );
    case.job.settings.insert("--model".into(), "capitals".into());
    fs::write(case.folder.join("in/a.jsonl"), corpus(11)).expect("another corpus");
    assert!(matches!(case.run_with(1, usize::MAX), Err(CorpusError::Setting { .. })));
    fs::write(case.folder.join("in/a.jsonl"), corpus(10)).expect("the corpus");
    fs::write(case.folder.join("out/_corpus/part-00001.json"), "{").expect("a damaged marker");
    assert!(matches!(case.run_with(1, usize::MAX), Err(CorpusError::Record { .. })));
}

#[test]
fn empty_files_have_no_part_and_one_row_is_enough() {
    let case = Case::new("empty").write("a.txt", "").write("b.txt", "one").write("c.csv", "text\n");
    let summary = case.run();
    assert_eq!(case.parts(), ["part-00001.jsonl"]);
    assert_eq!((summary.report.rows, summary.parts), (1, 3));
}

#[test]
fn a_quote_that_is_left_open_does_not_take_the_memory() {
    let case = Case::new("quote");
    let mut file = File::create(case.folder.join("in/a.csv")).expect("a file");
    file.write_all(b"text\n\"open").expect("a header");
    let block = vec![b'x'; 1 << 20];
    (0..70).for_each(|_| file.write_all(&block).expect("a block"));
    drop(file);
    let error = case.run_with(1, usize::MAX).expect_err("no row").to_string();
    assert!(error.contains("is a quote left open?"), "{error}");
}
