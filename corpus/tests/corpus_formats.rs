//! Files of every format and columns of every type: kept, refused before anything is translated, or set aside by the row.

mod common;

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date64Type, Float64Type, TimestampMicrosecondType, TimestampMillisecondType};
use arrow_array::{
    ArrayRef, BinaryArray, Date64Array, FixedSizeBinaryArray, Float32Array, Float64Array, ListArray,
    NullArray, RecordBatch, StringArray, TimestampMicrosecondArray, TimestampSecondArray,
};
use arrow_schema::{DataType, Field, Metadata, Schema, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{LogicalType, TimeUnit as ParquetTimeUnit};
use wordloom_corpus::{CorpusError, Format};

use common::{Case, read, write_parquet};

/// A case with a Parquet file: a text for each value of the other column.
fn case(name: &str, column: ArrayRef) -> Case {
    let case = Case::new(name);
    let texts = StringArray::from_iter_values((0..column.len()).map(|row| format!("t{row}")));
    write_parquet(&case.folder.join("in/a.parquet"), [("text", Arc::new(texts) as ArrayRef), ("x", column)]);
    case
}

/// The case's output in a format.
fn written(mut case: Case, format: Format) -> String {
    (case.job.format, case.job.rows) = (Some(format), 10);
    case.run();
    case.all()
}

#[test]
fn a_type_that_a_format_cannot_hold_is_refused_before_anything_is_translated() {
    let bytes = || -> ArrayRef { Arc::new(BinaryArray::from_iter_values([b"\xff\xfe".as_slice(), b"ok"])) };
    for format in [Format::Csv, Format::Tsv] {
        let mut case = case("bytes", bytes());
        case.job.format = Some(format);
        let error = case.run_with(1, usize::MAX).expect_err("bytes are no text");
        assert!(matches!(error, CorpusError::Column { .. }), "{error}");
        let text = error.to_string();
        let end = format!(
            "column \"x\" of type Binary cannot be written as {}; write parquet or jsonl with --format",
            format.ending()
        );
        assert!(text.ends_with(&end), "{text}");
        assert!(case.seen.lock().expect("counts").is_empty() && !case.folder.join("out").exists());
    }
    let json = written(case("bytes-to-jsonl", bytes()), Format::JsonLines);
    assert!(json.starts_with("{\"text\":\"t0\",\"x\":\"fffe\",\"capitals\":\"T0\"}\n"), "{json}");
    let tab: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let mut case = Case::new("tab-in-a-name");
    write_parquet(&case.folder.join("in/a.parquet"), [("text", Arc::clone(&tab)), ("a\tb", tab)]);
    case.job.format = Some(Format::Tsv);
    let error = case.run_with(1, usize::MAX).expect_err("a tab in a name").to_string();
    assert!(error.contains("the name of column \"a\\tb\""), "{error}");
}

#[test]
fn json_lines_have_texts_for_what_is_no_number() {
    let numbers = [Some(f64::NAN), Some(f64::INFINITY), Some(f64::NEG_INFINITY), None, Some(0.1)];
    let expected = ["\"NaN\"", "\"Infinity\"", "\"-Infinity\"", "null", "0.1"];
    let doubles: ArrayRef = Arc::new(Float64Array::from(numbers.to_vec()));
    let singles: Float32Array = numbers.iter().map(|number| number.map(|number| number as f32)).collect();
    for (name, column) in [("f64", doubles), ("f32", Arc::new(singles) as ArrayRef)] {
        let json = written(case(&format!("no-number-{name}"), column), Format::JsonLines);
        let values: Vec<&str> = json
            .lines()
            .map(|line| line.split_once("\"x\":").expect("x").1.split_once(",\"cap").expect("the end").0)
            .collect();
        assert_eq!(values, expected);
    }
    let list = ListArray::from_iter_primitive::<Float64Type, _, _>([Some(numbers)]);
    let json = written(case("no-number-list", Arc::new(list)), Format::JsonLines);
    assert!(json.contains("\"x\":[\"NaN\",\"Infinity\",\"-Infinity\",null,0.1]"), "{json}");
    let csv = written(case("no-number-csv", Arc::new(Float64Array::from(numbers.to_vec()))), Format::Csv);
    assert_eq!(csv, "text,x,capitals\nt0,NaN,T0\nt1,inf,T1\nt2,-inf,T2\nt3,,T3\nt4,0.1,T4\n");
}

#[test]
fn times_of_a_zone_with_a_name_are_written_in_utc() {
    let times = |zone: &str| -> ArrayRef {
        Arc::new(TimestampMicrosecondArray::from(vec![Some(1_500_000), None]).with_timezone(zone))
    };
    for zone in ["Europe/Berlin", "UTC"] {
        let json = written(case(&format!("zone-jsonl-{}", zone.len()), times(zone)), Format::JsonLines);
        assert!(json.contains("\"x\":\"1970-01-01T00:00:01.500Z\"") && json.contains("\"x\":null"), "{json}");
    }
    let csv = written(case("zone-csv", times("Europe/Berlin")), Format::Csv);
    assert_eq!(csv, "text,x,capitals\nt0,1970-01-01T00:00:01.500Z,T0\nt1,,T1\n");
    let csv = written(case("offset-csv", times("+02:00")), Format::Csv);
    assert!(csv.contains("t0,1970-01-01T02:00:01.500+02:00,T0"), "{csv}");
}

#[test]
fn a_time_that_has_no_text_makes_a_bad_row() {
    let times = || -> ArrayRef { Arc::new(TimestampMicrosecondArray::from(vec![0, i64::MAX, 1])) };
    for format in [Format::Csv, Format::Tsv, Format::JsonLines] {
        let mut case = case(&format!("far-{}", format.ending()), times());
        case.job.format = Some(format);
        let summary = case.run();
        assert_eq!((summary.report.rows, summary.report.bad_rows, summary.report.texts()), (3, 1, 2));
        let bad = case.bad();
        let reason = bad[0]["reason"].as_str().expect("a reason");
        assert!(bad[0]["row"] == 2 && reason.starts_with("column \"x\" has a value that"), "{reason}");
        assert!(!case.all().contains("T1") && case.all().contains("T2") && !case.all().contains("ERROR"));
        assert!(!case.seen.lock().expect("counts").contains_key("t1"), "translated for nothing");
    }
    let lists = ListArray::from_iter_primitive::<TimestampMicrosecondType, _, _>([
        Some([Some(0)]),
        Some([Some(i64::MAX)]),
        None,
    ]);
    let mut list = case("far-list", Arc::new(lists));
    list.job.format = Some(Format::JsonLines);
    assert_eq!((list.run().report.bad_rows, &list.bad()[0]["row"]), (1, &2.into()));
    assert!(list.all().contains("\"x\":[\"1970-01-01T00:00:00\"]"), "{}", list.all());
    let mut case = case("far-parquet", times());
    case.job.format = Some(Format::Parquet);
    assert_eq!(case.run().report.bad_rows, 0);
}

#[test]
fn a_line_break_makes_a_bad_row_of_tsv() {
    let case = Case::new("return").write("a.tsv", "text\tn\na\rb\t1\n\r\t2\nc\t3\r\n");
    let summary = case.run();
    assert_eq!(case.bad().len(), 1, "the translation of a carriage return is one, before the line's end");
    assert_eq!((case.bad()[0]["row"].as_u64(), summary.report.texts()), (Some(2), 2));
    assert_eq!(case.all(), "text\tn\tcapitals\na\rb\t1\tA\rB\nc\t3\tC\n");

    let mut case = Case::new("tab-in-txt").write("a.txt", "one\ntwo\tthree\n\nfour\n");
    (case.job.format, case.job.rows) = (Some(Format::Tsv), 2);
    case.run();
    let bad = case.bad();
    assert_eq!((bad.len(), &bad[0]["row"]), (1, &2.into()));
    assert_eq!(bad[0]["reason"], "column \"text\" has a tab or a line break, which TSV cannot hold");
    assert_eq!(bad[0]["content"], "{\"text\":\"two\\tthree\"}");
    assert_eq!(case.all(), "text\tcapitals\none\tONE\ntext\tcapitals\n\t\nfour\tFOUR\n");

    // rows that could not be read are counted too
    let mut case = Case::new("break-to-tsv").write("a.csv", "text,n\na\n\"a\nb\",1\nc,2\nd\n\"e\nf\",3\n");
    (case.job.format, case.job.rows) = (Some(Format::Tsv), 10);
    let summary = case.run();
    let rows: Vec<u64> = case.bad().iter().filter_map(|row| row["row"].as_u64()).collect();
    assert_eq!((rows, summary.report.rows, summary.report.bad_rows), (vec![1, 2, 4, 5], 5, 4));
    assert_eq!(case.all(), "text\tn\tcapitals\nc\t2\tC\n");
}

#[test]
fn parquet_keeps_the_metadata_of_its_file() {
    let mut case = Case::new("metadata");
    let spark = "org.apache.spark.sql.parquet.row.metadata";
    let metadata = Metadata::from([("pandas", "{\"index_columns\": []}"), ("who", "me"), (spark, "{}")]);
    let text = Field::new("text", DataType::Utf8, true).with_metadata([("k", "v")]);
    let uuid = Field::new("uuid", DataType::FixedSizeBinary(16), true)
        .with_metadata([("ARROW:extension:name", "arrow.uuid")]);
    let schema = Arc::new(Schema::new_with_metadata(vec![text, uuid], metadata));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let uuids = FixedSizeBinaryArray::try_from_iter([[0; 16], [1; 16]].into_iter()).expect("16 bytes each");
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![texts, Arc::new(uuids)]).expect("a batch");
    let pairs = schema
        .metadata()
        .iter()
        .map(|(key, value)| parquet::file::metadata::KeyValue::new(key.clone(), value.clone()));
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_key_value_metadata(Some(pairs.collect()))
        .build();
    let file = File::create(case.folder.join("in/a.parquet")).expect("a file");
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties)).expect("a writer");
    writer.write(&batch).expect("rows");
    writer.close().expect("a footer");
    case.job.rows = 1;
    case.run();
    for part in case.parts() {
        let part = opened(&case.folder.join("out").join(part));
        let pairs = part.metadata().file_metadata().key_value_metadata().expect("metadata");
        let get = |key: &str| pairs.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone());
        assert_eq!((get("who").as_deref(), get("pandas").is_some()), (Some("me"), true), "{pairs:?}");
        assert_eq!(get(spark), None, "Spark would not see the new column");
        assert_eq!(part.parquet_schema().column(1).logical_type_ref(), Some(&LogicalType::Uuid));
        assert_eq!(part.schema().metadata().get("who").map(String::as_str), Some("me"));
        assert_eq!(part.schema().field(0).metadata().get("k").map(String::as_str), Some("v"));
    }
}

fn opened(path: &Path) -> ParquetRecordBatchReaderBuilder<File> {
    ParquetRecordBatchReaderBuilder::try_new(File::open(path).expect("a part")).expect("Parquet")
}

#[test]
fn parquet_keeps_dates_and_seconds() {
    let case = Case::new("dates");
    let day = 86_400_000;
    let list = ListArray::from_iter_primitive::<Date64Type, _, _>([Some([Some(day)]), None]);
    write_parquet(
        &case.folder.join("in/a.parquet"),
        [
            ("text", Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef),
            ("date", Arc::new(Date64Array::from(vec![Some(-day), None]))),
            ("dates", Arc::new(list)),
            ("second", Arc::new(TimestampSecondArray::from(vec![Some(-1), None]).with_timezone("UTC"))),
        ],
    );
    case.run();
    let part = case.folder.join("out/part-00000.parquet");
    let builder = opened(&part);
    let kinds: Vec<_> =
        builder.parquet_schema().columns().iter().map(|column| column.logical_type_ref().cloned()).collect();
    assert_eq!(kinds[1..3], [Some(LogicalType::Date), Some(LogicalType::Date)]);
    assert_eq!(kinds[3], Some(LogicalType::timestamp(true, ParquetTimeUnit::MILLIS)));
    let rows = read(&part);
    let date = rows["date"].as_primitive::<Date64Type>();
    assert_eq!(date.iter().collect::<Vec<_>>(), [Some(-day), None]);
    assert_eq!(rows["dates"].as_list::<i32>().value(0).as_primitive::<Date64Type>().values(), &[day]);
    assert_eq!(*rows["second"].data_type(), DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())));
    assert_eq!(rows["second"].as_primitive::<TimestampMillisecondType>().value(0), -1000);
}

#[test]
fn a_file_without_rows_and_a_column_without_texts() {
    let none = case("no-rows", Arc::new(Date64Array::from(Vec::<i64>::new())));
    none.run();
    let schema = opened(&none.folder.join("out/part-00000.parquet")).schema().clone();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["text", "x", "capitals"]);
    let csv = written(case("no-rows-csv", Arc::new(StringArray::from(Vec::<&str>::new()))), Format::Csv);
    assert_eq!(csv, "text,x,capitals\n");

    let case = Case::new("null");
    write_parquet(&case.folder.join("in/a.parquet"), [("text", Arc::new(NullArray::new(3)) as ArrayRef)]);
    let report = case.run().report;
    assert_eq!((report.rows, report.nulls), (3, 3));
    assert_eq!(read(&case.folder.join("out/part-00000.parquet")).num_columns(), 2);
}

#[test]
fn a_compression_that_cannot_be_read_is_refused_with_the_way_out() {
    let case = Case::new("brotli").write("a.parquet", include_bytes!("data/brotli.parquet"));
    let error = case.run_with(1, usize::MAX).expect_err("no brotli here").to_string();
    let end = "column \"text\" is compressed with BROTLI, which cannot be read here; write the file again with zstd, snappy, gzip or lz4";
    assert!(error.ends_with(end), "{error}");
    assert!(!case.folder.join("out").exists());
    fs::remove_dir_all(&case.folder).expect("the case's folder");
}

#[test]
fn a_quote_that_is_left_open_is_a_bad_row() {
    let table = "id,text\n1,a\n2,\"b \"\"c\"\"\nd\"\n3,\"Good morning.\n4,Thank you.\n5,Good bye.\n";
    let case = Case::new("open-quote").write("a.csv", table);
    let summary = case.run();
    assert_eq!(case.all(), "id,text,capitals\n1,a,A\n2,\"b \"\"c\"\"\nd\",\"B \"\"C\"\"\nD\"\n");
    assert_eq!((summary.report.rows, summary.report.bad_rows), (3, 1));
    let bad = case.bad();
    assert_eq!(bad[0]["row"], 3);
    assert_eq!(bad[0]["reason"], "a quote is not closed, so the row, from line 5, has the rest of the file");
    assert_eq!(bad[0]["content"], "3,Good morning.\n4,Thank you.\n5,Good bye.\n");
    // a quote within a value is none that opens one, and a closed one needs no line's end
    let case = Case::new("closed-quote").write("a.csv", "text\n5\" wide\n\"a\"\"\"");
    assert_eq!(case.run().report.bad_rows, 0);
    assert_eq!(case.all(), "text,capitals\n\"5\"\" wide\",\"5\"\" WIDE\"\n\"a\"\"\",\"A\"\"\"\n");
}

#[test]
fn a_mark_before_the_first_line_is_no_text() {
    let case = Case::new("marks")
        .write("a.csv", "\u{feff}text\nx\n")
        .write("b.jsonl", "\u{feff}{\"text\":\"x\"}\n")
        .write("c.tsv", "\u{feff}text\nx\n")
        .write("d.txt", "\u{feff}x\n");
    assert_eq!(case.run().report.bad_rows, 0);
    assert_eq!(
        case.all(),
        "text,capitals\nx,X\n{\"text\":\"x\",\"capitals\":\"X\"}\ntext\tcapitals\nx\tX\n{\"text\":\"x\",\"capitals\":\"X\"}\n"
    );
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
