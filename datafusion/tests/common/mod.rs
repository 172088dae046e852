//! A corpus in Parquet, and the translations that are expected.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use wordloom::{Device, Model, TranslateOptions, Translator};

/// Parts of the corpus.
pub const PARTS: usize = 4;

/// Sentences, some of them twice and in several parts; texts of two sentences; an empty one; nulls.
pub fn texts() -> Vec<Option<String>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/tatoeba-test.tsv");
    let lines = fs::read_to_string(file).unwrap();
    let sentences: Vec<&str> = lines.lines().take(12).map(|line| line.split('\t').next().unwrap()).collect();
    let mut texts: Vec<Option<String>> =
        sentences.iter().map(|&sentence| Some(sentence.to_owned())).collect();
    texts.extend([
        None,
        Some(String::new()),
        Some("Good morning!\n\n  How are you?".to_owned()),
        Some(sentences[0].to_owned()),
        None,
        Some(sentences[3].to_owned()),
        Some(sentences[0].to_owned()),
        Some("I am learning German. It is not easy.".to_owned()),
    ]);
    texts
}

/// Translations by `Translator::translate`, each text alone.
pub fn expected() -> &'static HashMap<String, String> {
    static EXPECTED: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
        let translator = Translator::new(&Device::Cpu, &Model::embedded().unwrap()).unwrap();
        let translate = |text: String| {
            let found =
                pollster::block_on(translator.translate(&text, &TranslateOptions::default())).unwrap();
            (text, found.text)
        };
        texts().into_iter().flatten().map(translate).collect()
    });
    &EXPECTED
}

/// Rows with `id`, `text` and `topic`, whose values are `even` and `odd`.
pub fn rows(kind: &DataType) -> RecordBatch {
    let texts = texts();
    let ids = Int64Array::from_iter_values(0..texts.len() as i64);
    let topics = (0..texts.len()).map(|id| if id % 2 == 0 { "even" } else { "odd" });
    let topics = StringArray::from_iter_values(topics);
    let texts: ArrayRef = Arc::new(StringArray::from(texts));
    let columns: [(&str, ArrayRef); 3] =
        [("id", Arc::new(ids)), ("text", cast(&texts, kind).unwrap()), ("topic", Arc::new(topics))];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Writes the corpus in several files.
pub async fn write(folder: &Path) {
    let context = SessionContext::new();
    let rows = rows(&DataType::Utf8);
    for part in 0..PARTS {
        let first = part * rows.num_rows() / PARTS;
        let count = (part + 1) * rows.num_rows() / PARTS - first;
        let file = folder.join(format!("part-{part}.parquet"));
        let frame = context.read_batch(rows.slice(first, count)).unwrap();
        frame.write_parquet(file.to_str().unwrap(), DataFrameWriteOptions::new(), None).await.unwrap();
    }
}

/// Registers a folder of Parquet.
pub async fn register(context: &SessionContext, name: &str, folder: &Path) {
    let options = ParquetReadOptions::default();
    context.register_parquet(name, folder.to_str().unwrap(), options).await.unwrap();
}

/// Checks batches with the columns `id` and `de`: all rows once, each with the translation of its text.
pub fn check(batches: &[RecordBatch]) {
    let mut found = HashMap::new();
    for batch in batches {
        let ids = batch.column_by_name("id").unwrap().as_primitive::<Int64Type>();
        let de = cast(batch.column_by_name("de").unwrap(), &DataType::Utf8).unwrap();
        for (id, de) in ids.values().iter().zip(de.as_string::<i32>()) {
            assert!(found.insert(*id as usize, de.map(str::to_owned)).is_none(), "row {id} is there twice");
        }
    }
    let texts = texts();
    assert_eq!(found.len(), texts.len());
    for (id, text) in texts.iter().enumerate() {
        assert_eq!(found[&id].as_ref(), text.as_ref().map(|text| &expected()[text]), "row {id}: {text:?}");
    }
}
