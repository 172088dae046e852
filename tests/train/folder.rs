//! The folder of a new model: opened by Wordloom, written whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Value, json};
use wordloom::Model;
use wordloom::model::files::ModelFiles;
use wordloom::train::card::Card;
use wordloom::train::folder::{FolderError, TokenizerFiles, marian_folder};
use wordloom::train::new_model::{NewModel, NewModelError};
use wordloom::train::write::{WriteError, write_file, write_file_with, write_files};

/// A model of two heads with the vocabulary of the fixture `marian_tied`.
fn tiny() -> NewModel {
    let vocabulary: serde_json::Map<String, Value> =
        serde_json::from_slice(&crate::common::read(&crate::common::data("models/marian_tied/vocab.json")))
            .unwrap();
    NewModel {
        d_model: 16,
        heads: 2,
        encoder_layers: 2,
        decoder_layers: 1,
        ffn: 64,
        max_positions: 32,
        vocabulary_size: vocabulary.len(),
        dropout: 0.1,
        tied: true,
    }
}

fn folder(model: &NewModel, seed: u64) -> Vec<(&'static str, Vec<u8>)> {
    let read = |name: &str| crate::common::read(&crate::common::data("models/marian_tied").join(name));
    let (source, target, vocab) = (read("source.spm"), read("target.spm"), read("vocab.json"));
    let tokenizer = TokenizerFiles {
        source_spm: &source,
        target_spm: &target,
        vocab: &vocab,
        size: model.vocabulary_size,
    };
    let card = Card { name: "tiny".to_owned(), source_language: "eng".to_owned(), ..Card::default() };
    let card = Card { target_language: "deu".to_owned(), ..card };
    marian_folder(model, tokenizer, (model.initial_weights(seed).unwrap(), "float32"), &card).unwrap()
}

fn open(model: &NewModel, seed: u64) -> Model {
    Model::from_files(ModelFiles::memory("tiny", folder(model, seed)))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn values(model: &Model, tensor: &str) -> Vec<f32> {
    let count = model.checkpoint().info(tensor).unwrap_or_else(|| panic!("no {tensor}")).element_count();
    let mut values = vec![f32::NAN; count];
    model.checkpoint().read(tensor, &mut values).unwrap();
    values
}

#[test]
fn wordloom_opens_the_folder() {
    let new = tiny();
    let model = open(&new, 42);
    let config = model.config();
    assert_eq!((config.d_model, config.target_vocabulary), (16, new.vocabulary_size));
    assert!(model.tokenizer().unwrap().encode("Hello").is_ok());
    let untied = open(&NewModel { tied: false, ..new.clone() }, 42);
    assert!(config.output.tied && !untied.config().output.tied);

    for (model, new) in [(&model, new.clone()), (&untied, NewModel { tied: false, ..new })] {
        let counts = model.checkpoint().names().map(|name| values(model, name).len());
        let bias = model.config().target_vocabulary; // is not trained
        assert_eq!((counts.sum::<usize>() - bias) as u128, new.parameters());
    }
}

/// Values of `tests/data/make_training_random.py`, a plain ChaCha8 in Python.
#[test]
fn first_weights_are_those_of_the_formula() {
    let new = tiny();
    let model = open(&new, 42);
    let assert_begins = |tensor: &str, want: [f64; 4]| {
        for (got, want) in values(&model, tensor).into_iter().zip(want) {
            assert!((f64::from(got) - want).abs() < 1e-7, "{tensor}: got {got}, want {want}");
        }
    };
    assert_begins(
        "model.encoder.layers.0.fc1.weight",
        [-0.1719753114919425, -0.10657949577260757, 0.002574136632130406, -0.11698429025664227],
    );
    assert_begins(
        "model.shared.weight",
        [0.2824370553900066, 0.6041507971271532, 0.15415807793435984, 0.026797999608935245],
    );

    let table = values(&model, "model.shared.weight");
    let (tokens, pad) = table.split_at(new.pad_id() * 16);
    assert!(pad.iter().all(|&value| value == 0.0));
    let variance = tokens.iter().map(|value| value * value).sum::<f32>() / tokens.len() as f32;
    assert!((variance * 16.0 - 1.0).abs() < 0.05, "variance {variance}");
    let fc1 = values(&model, "model.decoder.layers.0.fc1.weight");
    let bound = (6.0_f32 / 80.0).sqrt();
    let largest = fc1.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    assert!(largest <= bound && largest > 0.98 * bound, "{largest} of {bound}");
    for name in model.checkpoint().names() {
        let all = |value: f32| values(&model, name).iter().all(|&here| here == value);
        match name {
            _ if name.ends_with("bias") => assert!(all(0.0), "{name}"),
            _ if name.contains("norm") => assert!(all(1.0), "{name}"),
            _ => assert!(!all(0.0), "{name}"),
        }
    }
    assert_eq!(new.initial_weights(42).unwrap(), new.initial_weights(42).unwrap());
    assert_ne!(new.initial_weights(42).unwrap(), new.initial_weights(43).unwrap());
}

#[test]
fn the_configuration_has_the_keys_and_values_of_transformers() {
    // written by transformers for the same shape: `tests/data/make_training_config.py`
    let stored = |name: &str| -> Value {
        serde_json::from_slice(&crate::common::read(&crate::common::data("training").join(name))).unwrap()
    };
    let new = NewModel { dropout: 0.15, ..NewModel::small(8000) };
    assert_eq!(new.config("float16"), stored("marian_config.json"));
    assert_eq!(new.generation_config(), stored("marian_generation_config.json"));
}

#[test]
fn shapes_that_make_no_model_are_refused() {
    let error = |edit: fn(&mut NewModel)| {
        let mut model = NewModel::base(1000);
        edit(&mut model);
        let error = model.check().expect_err("no model");
        assert_eq!(model.initial_weights(1).expect_err("no weights").to_string(), error.to_string());
        error.to_string()
    };
    assert_eq!(NewModel::base(1000).check(), Ok(()));
    for (message, edit) in [
        ("heads is 0; it must be 1 to", (|model| model.heads = 0) as fn(&mut NewModel)),
        ("d_model is 512, which 7 heads do not divide", |model| model.heads = 7),
        ("d_model is 9; sines and cosines", |model| (model.d_model, model.heads) = (9, 3)),
        ("vocabulary_size is 3", |model| model.vocabulary_size = 3),
        ("encoder_layers is 0", |model| model.encoder_layers = 0),
        ("dropout is 1;", |model| model.dropout = 1.0),
        ("dropout is NaN;", |model| model.dropout = f64::NAN),
        ("d_model is 18446744073709551615", |model| model.d_model = usize::MAX),
        ("the model has 37314912256 parameters; the limit is", |model| {
            (model.d_model, model.vocabulary_size) = (1 << 14, 1 << 20)
        }),
    ] {
        let error = error(edit);
        assert!(error.starts_with(message), "{error}, not {message}");
    }
    let base = NewModel { vocabulary_size: 37_000, ..NewModel::base(0) };
    assert_eq!(
        base.parameters() / 1_000_000,
        63,
        "65 million in table 3, which rounds with another vocabulary"
    );
}

#[test]
fn a_vocabulary_of_another_size_is_refused() {
    let model = tiny();
    let tokenizer = TokenizerFiles { source_spm: b"", target_spm: b"", vocab: b"", size: 7 };
    let refused = |tokenizer, dtype| marian_folder(&model, tokenizer, (Vec::new(), dtype), &Card::default());
    let vocabulary = FolderError::VocabularySize { model: model.vocabulary_size, vocabulary: 7 };
    assert_eq!(refused(tokenizer, "float32").unwrap_err(), vocabulary);
    let tokenizer = TokenizerFiles { size: model.vocabulary_size, ..tokenizer };
    assert_eq!(refused(tokenizer, "int8").unwrap_err(), FolderError::Dtype("int8".to_owned()));
    let invalid = NewModel { heads: 3, ..model.clone() };
    let error = marian_folder(&invalid, tokenizer, (Vec::new(), "float32"), &Card::default()).unwrap_err();
    assert_eq!(error, FolderError::Model(NewModelError::Heads { d_model: 16, heads: 3 }));
}

#[test]
fn the_card_tells_data_seed_command_and_scores() {
    let card = Card {
        model_type: "marian",
        name: "en-de".to_owned(),
        source_language: "English".to_owned(),
        target_language: "German".to_owned(),
        data: vec!["train.tsv: 160,000 pairs,\nCC BY 2.0".to_owned()],
        seed: 7,
        command: "wordloom train --pairs 'a ``` b.tsv'".to_owned(),
        scores: vec![("dev loss | mean".to_owned(), "1.5".to_owned())],
        notes: vec!["3 pairs of the dev set were left out of the training data".to_owned()],
    };
    let text = card.to_markdown();
    for line in [
        "# en-de",
        "* train.tsv: 160,000 pairs, CC BY 2.0",
        "Seed 7. Command:",
        "````sh",
        "wordloom train --pairs 'a ``` b.tsv'",
        "| dev loss \\| mean | 1.5 |",
        "* 3 pairs of the dev set were left out of the training data",
    ] {
        assert!(text.lines().any(|here| here == line), "no line {line:?} in\n{text}");
    }
    assert!(text.contains(": English to German.\n"), "{text}");
}

/// A folder among the temporary ones, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("wordloom-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_folder_on_disk_is_replaced() {
    let place = Folder::new("replaced");
    let inner = place.0.join("deeper/model");
    for seed in [1, 2] {
        let content = folder(&tiny(), seed);
        write_files(&inner, content.iter().map(|(name, bytes)| (*name, &bytes[..]))).unwrap();
        let model = Model::load(&inner).unwrap();
        assert_eq!(
            values(&model, "model.shared.weight"),
            values(&open(&tiny(), seed), "model.shared.weight")
        );
    }
    assert_eq!(fs::read_dir(&inner).unwrap().count(), 8);
}

#[test]
fn a_full_disk_keeps_the_old_file_and_leaves_nothing_behind() {
    let place = Folder::new("full");
    let path = place.0.join("model.safetensors");
    write_file(&path, b"old").unwrap();
    let full = |file: &mut dyn Write| {
        file.write_all(b"the first half")?;
        Err(io::ErrorKind::StorageFull.into())
    };
    let error = write_file_with(&path, full).unwrap_err();
    assert!(matches!(error, WriteError::Full { .. }), "{error}");
    assert!(error.to_string().contains("model.safetensors: the disk is full; the old file"), "{error}");
    assert_eq!(
        (fs::read(&path).unwrap(), place.names()),
        (b"old".to_vec(), vec!["model.safetensors".to_owned()])
    );
    write_file(&path, b"new").unwrap();
    assert_eq!((fs::read(&path).unwrap(), place.names().len()), (b"new".to_vec(), 1));
}

#[test]
fn no_file_is_replaced_unless_all_can_be_written() {
    let place = Folder::new("all-or-none");
    write_files(&place.0, [("a", &b"old a"[..]), ("b", b"old b")]).unwrap();
    // a name in a folder that does not exist
    let error = write_files(&place.0, [("a", &b"new a"[..]), ("missing/b", b"new b")]).unwrap_err();
    assert!(matches!(error, WriteError::Io { .. }), "{error}");
    assert_eq!(
        (fs::read(place.0.join("a")).unwrap(), place.names()),
        (b"old a".to_vec(), vec!["a".to_owned(), "b".to_owned()])
    );
    let error = write_files(&place.0.join("a"), [("c", &b"c"[..])]).unwrap_err().to_string();
    assert!(error.starts_with("cannot write ") && error.contains("the old file, if any, is kept"), "{error}");
}

#[test]
fn languages_stand_in_the_tokenizers_configuration() {
    let files = folder(&tiny(), 1);
    let (_, config) = files.iter().find(|(name, _)| *name == "tokenizer_config.json").unwrap();
    let config: Value = serde_json::from_slice(config).unwrap();
    assert_eq!((&config["source_lang"], &config["target_lang"]), (&json!("eng"), &json!("deu")));
    assert_eq!(config["tokenizer_class"], "MarianTokenizer");
}
