//! The function in DataFusion: all types of strings, all places of a query, partitions, errors.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Int32Type};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::prelude::{SessionConfig, SessionContext};
use tempfile::TempDir;
use wordloom::{Device, DeviceChoice, Model, TranslateOptions, Translator};
use wordloom_datafusion::{NAME, Translations};

mod common;

use common::{check, expected, register, rows, texts, write};

fn models() -> Translations {
    Translations::embedded().with_device(DeviceChoice::Cpu)
}

/// A session with the function, which cuts work into many small batches.
fn session(models: Translations) -> SessionContext {
    let config = SessionConfig::new().with_target_partitions(3).with_batch_size(4);
    let context = SessionContext::new_with_config(config);
    context.register_udf(models.function());
    context
}

/// A session with the table `corpus`, and the folder of its files.
async fn with_corpus(models: Translations) -> (SessionContext, TempDir) {
    let folder = TempDir::new().unwrap();
    write(folder.path()).await;
    let context = session(models);
    register(&context, "corpus", folder.path()).await;
    (context, folder)
}

async fn query(context: &SessionContext, sql: &str) -> Result<Vec<RecordBatch>> {
    context.sql(sql).await?.collect().await
}

/// The values of a column, as text.
fn column(batches: &[RecordBatch], name: &str) -> Vec<String> {
    let values = |batch: &RecordBatch| {
        let column = batch.column_by_name(name).unwrap().clone();
        (0..column.len()).map(move |row| array_value_to_string(&column, row).unwrap()).collect::<Vec<_>>()
    };
    batches.iter().flat_map(values).collect()
}

async fn error(context: &SessionContext, sql: &str) -> String {
    query(context, sql).await.unwrap_err().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn parquet_is_translated_in_several_partitions() {
    let (context, _folder) = with_corpus(models()).await;
    let frame = context.sql("SELECT id, translate(text, 'en', 'de') AS de FROM corpus").await.unwrap();
    let partitions = frame.clone().execute_stream_partitioned().await.unwrap().len();
    assert_eq!(partitions, 3);
    check(&frame.collect().await.unwrap());
}

#[tokio::test]
async fn one_thread_is_enough() {
    let (context, _folder) = with_corpus(models().with_threads(1)).await;
    check(&query(&context, "SELECT id, translate(text, 'en', 'de') AS de FROM corpus").await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn more_partitions_than_threads_take_turns() {
    let folder = TempDir::new().unwrap();
    write(folder.path()).await;
    let config = SessionConfig::new().with_target_partitions(16).with_batch_size(1);
    let context = SessionContext::new_with_config(config);
    context.register_udf(models().with_threads(2).function());
    register(&context, "corpus", folder.path()).await;
    let sql =
        "SELECT id, translate(text, 'en', 'de') AS de FROM (SELECT * FROM corpus ORDER BY id LIMIT 100)";
    check(&query(&context, sql).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_result_has_the_type_of_the_text() {
    let dictionary = DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::Utf8));
    for kind in [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View, dictionary] {
        let context = session(models());
        context.register_batch("corpus", rows(&kind)).unwrap();
        let batches =
            query(&context, "SELECT id, translate(text, 'en', 'de') AS de FROM corpus").await.unwrap();
        for batch in &batches {
            assert_eq!(batch.column_by_name("de").unwrap().data_type(), &kind);
        }
        check(&batches);
    }
}

/// A dictionary with a value that is null, one that no row has, and rows that are null.
#[tokio::test(flavor = "multi_thread")]
async fn only_values_that_rows_have_are_translated() {
    let translator = Translator::new(&Device::Cpu, &Model::embedded().unwrap()).unwrap().with_cache(1 << 20);
    let translator = Arc::new(translator);
    let context = session(Translations::new().with_translator("en", "de", translator.clone()));
    let values = StringArray::from(vec![Some("Good morning!"), None, Some("Nobody says this.")]);
    let keys = Int32Array::from(vec![Some(0), Some(1), None, Some(0)]);
    let texts: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::new(values)));
    let batch = RecordBatch::try_from_iter([("text", texts)]).unwrap();
    context.register_batch("corpus", batch).unwrap();
    let found = query(&context, "SELECT translate(text, 'en', 'de') AS de FROM corpus").await.unwrap();
    assert_eq!(column(&found, "de"), ["Guten Morgen!", "", "", "Guten Morgen!"]);
    assert_eq!(found[0].column(0).logical_null_count(), 2);

    // what the cache has was translated
    let reused = |text: &str| {
        let before = translator.reused_sentences();
        pollster::block_on(translator.translate(text, &TranslateOptions::default())).unwrap();
        translator.reused_sentences() > before
    };
    assert!(reused("Good morning!"));
    assert!(!reused("Nobody says this."));
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_texts_of_a_batch_are_translated_once() {
    let translator = Arc::new(Translator::new(&Device::Cpu, &Model::embedded().unwrap()).unwrap());
    let context = SessionContext::new();
    context.register_udf(Translations::new().with_translator("en", "de", translator.clone()).function());
    context.register_batch("corpus", rows(&DataType::Utf8)).unwrap();
    check(&query(&context, "SELECT id, translate(text, 'en', 'de') AS de FROM corpus").await.unwrap());
    assert_eq!(translator.reused_sentences(), 0, "the translator itself saw none of them twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_works_in_every_place_of_a_query() {
    let (context, _folder) = with_corpus(models()).await;
    let morning = std::slice::from_ref(&expected()["Good morning!\n\n  How are you?"]);
    for sql in [
        // a literal
        "SELECT translate('Good morning!\n\n  How are you?', 'en', 'de') AS de",
        "SELECT translate(text, 'en', 'de') AS de FROM corpus WHERE translate(text, 'en', 'de') LIKE 'Guten Morgen%'",
        "SELECT de FROM (SELECT translate(text, 'en', 'de') AS de FROM corpus) WHERE de LIKE 'Guten Morgen%'",
        "SELECT translate(text, 'en', 'de') AS de, count(*) FROM corpus GROUP BY 1 HAVING de LIKE 'Guten Morgen%'",
        "SELECT max(translate(text, 'en', 'de')) AS de FROM corpus WHERE text LIKE 'Good morning%'",
        "SELECT translate(text, 'en', 'de') AS de FROM corpus
             ORDER BY translate(text, 'en', 'de') LIKE 'Guten Morgen%' DESC NULLS LAST LIMIT 1",
        "SELECT a.text2 AS de FROM (SELECT translate(text, 'EN', 'DE') AS text2 FROM corpus) a
             JOIN corpus b ON a.text2 = translate(b.text, 'en', 'de') WHERE b.text LIKE 'Good morning%'",
        "SELECT CASE WHEN text LIKE 'Good morning%' THEN translate(text, 'en', 'de') END AS de FROM corpus
             WHERE text LIKE 'Good morning%'",
    ] {
        assert_eq!(column(&query(&context, sql).await.unwrap(), "de"), morning, "{sql}");
    }
    let nested = "SELECT upper(translate(lower('GOOD MORNING!'), 'en', 'de')) AS de, translate(NULL, 'en', 'de') AS no";
    let found = query(&context, nested).await.unwrap();
    assert_eq!(found[0].column(1).null_count(), 1);
    assert_eq!(column(&found, "de"), ["GUTEN MORGEN!"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn partitioned_output_has_every_row() {
    let (context, _folder) = with_corpus(models()).await;
    let output = TempDir::new().unwrap();
    let path = output.path().display();
    let copy = format!(
        "COPY (SELECT id, translate(text, 'en', 'de') AS de, topic FROM corpus)
         TO '{path}/' STORED AS PARQUET PARTITIONED BY (topic)"
    );
    let written = query(&context, &copy).await.unwrap();
    assert_eq!(column(&written, "count"), [texts().len().to_string()]);

    let mut parts = Vec::new();
    for topic in ["even", "odd"] {
        let folder = output.path().join(format!("topic={topic}"));
        register(&context, topic, &folder).await;
        parts.extend(query(&context, &format!("SELECT id, de FROM {topic}")).await.unwrap());
        let of_topic =
            column(&query(&context, &format!("SELECT count(*) AS n FROM {topic}")).await.unwrap(), "n");
        assert_eq!(of_topic, [(texts().len() / 2).to_string()]);
    }
    check(&parts);
}

#[tokio::test]
async fn languages_are_checked_before_a_query_runs() {
    let (context, _folder) = with_corpus(models().with_folder("en", "fr", "no such folder")).await;
    for (call, expected) in [
        (
            "translate(text, 'en', 'it')",
            "there is no model from \"en\" to \"it\"; there are: \"en\" to \"de\", \"en\" to \"fr\"; \
             Translations::with_folder adds one",
        ),
        (
            "translate(text, 'en', topic)",
            "the target language is a column or an expression; write it as a literal",
        ),
        (
            "translate(text, topic, 'de')",
            "the source language is a column or an expression; write it as a literal",
        ),
        ("translate(text, NULL, 'de')", "the source language is NULL; write it as a literal, such as 'en'"),
        ("translate(text, 'en', 3)", "the target language is Int64; cast it to a string"),
        ("translate(id, 'en', 'de')", "the text is Int64; cast it to a string"),
        ("translate(text, 'en')", "translate has 2 arguments; it takes a text and two languages"),
    ] {
        let planned = context.sql(&format!("SELECT {call} FROM corpus")).await;
        let error = planned.expect_err(call).to_string();
        assert!(error.contains(expected), "{call}: {error}");
    }
    let none = session(Translations::new());
    assert!(error(&none, "SELECT translate('a', 'en', 'de')").await.contains("there are: none;"));
}

#[tokio::test]
async fn a_model_is_loaded_at_the_first_text() {
    let (context, _folder) = with_corpus(models().with_folder("en", "fr", "no such folder")).await;
    // no text of these is translated
    query(&context, "SELECT translate(text, 'en', 'fr') FROM corpus WHERE text IS NULL").await.unwrap();
    query(&context, "SELECT translate(text, 'en', 'fr') FROM corpus WHERE id < 0").await.unwrap();
    query(&context, "EXPLAIN SELECT translate(text, 'en', 'fr') FROM corpus").await.unwrap();
    for _ in 0..2 {
        let error = error(&context, "SELECT translate(text, 'en', 'fr') FROM corpus").await;
        assert!(error.contains("no such folder"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_are_models_too() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/tatoeba-en-de-q8");
    let models = Translations::new().with_folder("en", "de", &folder).with_folder("en", "fr", &folder);
    assert_eq!(models.pairs().collect::<Vec<_>>(), [("en", "de"), ("en", "fr")]);
    let (context, _corpus) = with_corpus(models.with_device(DeviceChoice::Cpu)).await;
    check(&query(&context, "SELECT id, translate(text, 'en', 'de') AS de FROM corpus").await.unwrap());
    let wrong = error(&context, "SELECT translate(text, 'en', 'fr') FROM corpus").await;
    assert!(wrong.contains("this model's target language is \"deu\", not \"fr\""), "{wrong}");
}

#[tokio::test(flavor = "multi_thread")]
async fn options_are_those_of_the_translator() {
    let options = TranslateOptions::default().beams(1).max_length(4);
    let translator = Translator::new(&Device::Cpu, &Model::embedded().unwrap()).unwrap();
    let text = "Where is the train station?";
    let short = pollster::block_on(translator.translate(text, &options)).unwrap().text;
    let context = session(models().with_options(options));
    let found = query(&context, &format!("SELECT translate('{text}', 'en', 'de') AS de")).await.unwrap();
    assert_eq!(column(&found, "de"), [short]);
}

#[tokio::test]
async fn languages_can_be_parameters() {
    let (context, _folder) = with_corpus(models()).await;
    let parameters = |from: &str, to: &str| vec![ScalarValue::from(from), ScalarValue::from(to)];
    let frame = context.sql("SELECT id, translate(text, $1, $2) AS de FROM corpus").await.unwrap();
    let bound = frame.clone().with_param_values(parameters("en", "de")).unwrap();
    check(&bound.collect().await.unwrap());
    let wrong = match frame.with_param_values(parameters("en", "it")) {
        Ok(frame) => frame.collect().await.unwrap_err(),
        Err(error) => error,
    };
    assert!(wrong.to_string().contains("there is no model from \"en\" to \"it\""), "{wrong}");
}

/// DataFusion has a function of this name that exchanges letters: in a plan, the two cannot be taken for one another.
#[tokio::test]
async fn a_plan_names_this_function() {
    let context = SessionContext::new();
    let letters = "SELECT translate('hello', 'el', 'ip') AS found";
    assert_eq!(column(&query(&context, letters).await.unwrap(), "found"), ["hippo"]);

    let (context, _folder) = with_corpus(models()).await;
    let plan = column(
        &query(&context, "EXPLAIN SELECT translate(text, 'en', 'de') FROM corpus").await.unwrap(),
        "plan",
    );
    assert!(plan.iter().all(|plan| plan.contains(&format!("{NAME}("))), "{plan:?}");
    assert!(error(&context, letters).await.contains("there is no model from \"el\" to \"ip\""));
}
