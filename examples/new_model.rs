//! Makes the folder of a new model, before its training: a vocabulary from sentence pairs, and first weights.
//!
//! ```sh
//! cargo run --release --example new_model -- train.tsv.gz 8000 my-model
//! ```

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use wordloom::text::Normalization;
use wordloom::train::card::Card;
use wordloom::train::folder::marian_folder;
use wordloom::train::new_model::NewModel;
use wordloom::train::pairs::{PairsOptions, load_tsv};
use wordloom::train::vocabulary::{Stage, VocabularyOptions, learn};
use wordloom::train::write::write_files;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [train, size, folder] = arguments.as_slice() else {
        return Err("usage: new_model PAIRS.tsv[.gz] VOCABULARY_SIZE FOLDER".into());
    };
    let options = PairsOptions { ignore_columns: true, ..PairsOptions::default() };
    let pairs = load_tsv(Path::new(train), &options)?;
    println!("{} pairs", pairs.len());

    let texts = pairs.iter().flat_map(|pair| [&*pair.source, &*pair.target]);
    let start = Instant::now();
    let vocabulary =
        learn(texts, &VocabularyOptions::new(size.parse()?), &Normalization::standard(), &mut |stage| {
            if let Stage::Learning { words } = stage {
                println!(
                    "{:.1} s: learning pieces from {words} parts of words …",
                    start.elapsed().as_secs_f64()
                );
            }
        })?;
    let (rules, rare) = (&vocabulary.normalization, vocabulary.rare_characters.len());
    println!(
        "{:.1} s: {} tokens; {rules}; {rare} rare characters",
        start.elapsed().as_secs_f64(),
        vocabulary.size
    );

    let model = NewModel::small(vocabulary.size);
    let card = Card {
        model_type: "marian",
        name: "new-model".to_owned(),
        data: vec![format!("{train}: {} pairs", pairs.len())],
        seed: 1,
        command: format!("new_model {train} {size} {folder}"),
        notes: vec!["Not trained yet: the weights are random.".to_owned()],
        ..Card::default()
    };
    let weights = model.initial_weights(card.seed)?;
    let files = marian_folder(&model, (&vocabulary).into(), (weights, "float32"), &card)?;
    write_files(Path::new(folder), files.iter().map(|(name, content)| (*name, &content[..])))?;
    println!("{folder}: {} parameters", model.parameters());
    Ok(())
}
