//! Vocabularies that Wordloom learns, against SentencePiece 0.2.3 and transformers 5.23.0, which read the written files.
#![cfg(all(feature = "tokenizers", feature = "embedded-model"))]

use serde::Deserialize;
use tokenizers::Model;
use tokenizers::models::unigram::Unigram;
use wordloom::model::files::ModelFiles;
use wordloom::text::{MarianFiles, MarianTokenizer, Normalization, SentencePiece, UnigramFile};
use wordloom::train::augment::Augmentation;
use wordloom::train::new_vocabulary::{NewVocabulary, new_vocabulary};
use wordloom::train::pairs::{PairsOptions, SentencePair, load_tsv};
use wordloom::train::substitute::Substitution;
use wordloom::train::vocabulary::{Stage, TrainedVocabulary, VocabularyError, VocabularyOptions, learn};

/// By `tests/data/make_training_vocabulary.py`. A CRC is that of ids as little-endian u32.
#[derive(Deserialize)]
struct Expected {
    spm_crc: u32,
    pieces: Vec<(String, f32)>,
    /// Of both sides of every pair.
    sentencepiece_crcs: Vec<u32>,
    marian_crcs: Vec<u32>,
    marian_target_crcs: Vec<u32>,
    unusual: Vec<Unusual>,
}

#[derive(Deserialize)]
struct Unusual {
    text: String,
    sentencepiece: Vec<u32>,
    marian: Vec<u32>,
    decoded: String,
}

fn expected() -> Expected {
    serde_json::from_slice(&crate::common::read(&crate::common::data("training/vocabulary.json"))).unwrap()
}

fn pairs() -> Vec<SentencePair> {
    load_tsv(&crate::common::data("tatoeba-test.tsv"), &PairsOptions::default()).unwrap()
}

fn texts(pairs: &[SentencePair]) -> impl Iterator<Item = &str> {
    pairs.iter().flat_map(|pair| [&*pair.source, &*pair.target])
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

fn crc_of_ids(ids: &[u32]) -> u32 {
    crc(&ids.iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>())
}

/// The file that the other programs read.
fn stored_spm(pieces: &[(String, f32)]) -> Vec<u8> {
    let normalization = Normalization::standard();
    let file = UnigramFile {
        pieces,
        byte_fallback: true,
        character_coverage: 0.9999,
        normalization: &normalization,
    };
    file.to_bytes()
}

fn learned<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    options: &VocabularyOptions,
) -> Result<TrainedVocabulary, VocabularyError> {
    learn(texts, options, &Normalization::standard(), &mut |_| {})
}

#[test]
fn sentencepiece_gives_the_same_ids() {
    let (expected, pairs) = (expected(), pairs());
    let spm = stored_spm(&expected.pieces);
    assert_eq!(crc(&spm), expected.spm_crc, "the same file");
    let model = SentencePiece::from_bytes("source.spm", &spm).unwrap();
    assert_eq!(expected.sentencepiece_crcs.len(), 2000);
    for (text, want) in texts(&pairs).zip(&expected.sentencepiece_crcs) {
        assert_eq!(crc_of_ids(&model.encode(text)), *want, "{text:?}");
    }
    for case in &expected.unusual {
        assert_eq!(model.encode(&case.text), case.sentencepiece, "{:?}", case.text);
    }
}

#[test]
fn transformers_gives_the_same_ids() {
    let (expected, pairs) = (expected(), pairs());
    let vocabulary = learned(texts(&pairs), &VocabularyOptions::new(1000)).unwrap();
    let files = MarianFiles {
        source_spm: &stored_spm(&expected.pieces),
        target_spm: &stored_spm(&expected.pieces),
        vocab: &vocabulary.vocab,
        target_vocab: None,
        config: None,
    };
    let tokenizer = MarianTokenizer::new(files).unwrap();
    assert_eq!((tokenizer.eos_id(), tokenizer.unknown_id(), tokenizer.pad_id()), (0, 1, 999));
    for (index, pair) in pairs.iter().enumerate() {
        let (source, target) = (tokenizer.encode(&pair.source), tokenizer.encode_target(&pair.target));
        assert_eq!(crc_of_ids(&source), expected.marian_crcs[index], "{:?}", pair.source);
        assert_eq!(crc_of_ids(&target), expected.marian_target_crcs[index], "{:?}", pair.target);
    }
    for case in &expected.unusual {
        assert_eq!(tokenizer.encode(&case.text), case.marian, "{:?}", case.text);
        assert_eq!(tokenizer.decode(&case.marian, true).unwrap(), case.decoded, "{:?}", case.text);
    }
}

#[test]
fn names_that_are_put_in_have_pieces_and_other_scripts_have_bytes() {
    let pairs = pairs();
    let lists = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/substitutions/en-de.json");
    let substitution =
        Substitution::from_json("en-de.json", &crate::common::read(&lists), ["en", "de"]).unwrap();
    let augmentation = Augmentation { substitution: Some(substitution), seed: 1, ..Augmentation::default() };
    let copies: Vec<SentencePair> =
        (0..pairs.len()).map(|index| augmentation.vocabulary_example(&pairs, index)).collect();
    let vocabulary = learned(texts(&pairs).chain(texts(&copies)), &VocabularyOptions::new(1000)).unwrap();
    let files = MarianFiles {
        source_spm: &vocabulary.spm,
        target_spm: &vocabulary.spm,
        vocab: &vocabulary.vocab,
        target_vocab: None,
        config: None,
    };
    let tokenizer = MarianTokenizer::new(files).unwrap();
    for name in ["김민지", "Ольга", "Łukasz", "ยุพา"] {
        let text = format!("{name} wohnt in Berlin.");
        let ids = tokenizer.encode(&text);
        assert!(!ids.contains(&tokenizer.unknown_id()), "{name}: {ids:?}");
        assert_eq!(tokenizer.decode(&ids, true).unwrap(), text);
    }
    let ids: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&vocabulary.vocab).unwrap();
    let is_hangul = |character: char| ('가'..='힣').contains(&character);
    assert!(!ids.keys().any(|token| token.contains(is_hangul)), "invented names are not counted");
}

#[test]
fn the_same_text_gives_the_same_vocabulary_in_any_order() {
    let (expected, pairs) = (expected(), pairs());
    let mut stages = Vec::new();
    let vocabulary =
        learn(texts(&pairs), &VocabularyOptions::new(1000), &Normalization::standard(), &mut |stage| {
            stages.push(stage)
        })
        .unwrap();
    assert_eq!((vocabulary.size, &*vocabulary.normalization), (1000, "nmt_nfkc"));
    assert!(matches!(stages[..], [Stage::Counting { texts: 0 }, .., Stage::Learning { words: 1000.. }]));
    assert_eq!(crc(&vocabulary.spm), expected.spm_crc, "the stored pieces");

    let ids: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&vocabulary.vocab).unwrap();
    let id = |token: &str| ids[token].as_u64();
    assert_eq!(ids.len(), 1000);
    assert_eq!(
        [id("</s>"), id("<unk>"), id("<0x00>"), id("<0xFF>"), id("<pad>")],
        [0, 1, 2, 257, 999].map(Some)
    );

    let reversed: Vec<SentencePair> = pairs.into_iter().rev().collect();
    assert_eq!(learned(texts(&reversed), &VocabularyOptions::new(1000)).unwrap(), vocabulary);
}

#[test]
fn the_library_that_learned_the_pieces_gives_the_same_ids() {
    let (expected, pairs) = (expected(), pairs());
    let spm = SentencePiece::from_bytes("source.spm", &stored_spm(&expected.pieces)).unwrap();
    let unknown = ("<unk>".to_owned(), 0.0);
    let all = expected.pieces.iter().map(|(piece, score)| (piece.clone(), f64::from(*score)));
    let model = Unigram::from(std::iter::once(unknown).chain(all).collect(), Some(0), false).unwrap();
    let mut compared = 0;
    for text in texts(&pairs) {
        let pieces = spm.encode_as_pieces(text);
        // bytes are SentencePiece's alone
        if pieces.iter().any(|piece| piece.starts_with("<0x")) {
            continue;
        }
        let tokens = model.tokenize(&spm.normalize(text)).unwrap();
        let theirs: Vec<String> = tokens.into_iter().map(|token| token.value).collect();
        assert_eq!(pieces, theirs, "{text:?}");
        compared += 1;
    }
    assert!(compared > 1950, "{compared} sentences");
}

#[test]
fn pieces_have_one_script_and_begin_at_most_one_word() {
    let texts = ["abc, def!x", "Tom's 12km 日本go", "abc,def 12km, Tom's"].repeat(20);
    let options = VocabularyOptions { byte_fallback: false, character_coverage: 1.0, size: 32 };
    let vocabulary = match learned(texts.iter().copied(), &options) {
        Err(VocabularyError::TooLarge { largest, .. }) => {
            learned(texts.iter().copied(), &VocabularyOptions { size: largest, ..options }).unwrap()
        }
        result => result.unwrap(),
    };
    let ids: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&vocabulary.vocab).unwrap();
    assert!(ids.contains_key("\u{2581}abc"), "{ids:?}");
    for piece in ids.keys().filter(|piece| !piece.starts_with('<')) {
        let text = piece.strip_prefix('\u{2581}').unwrap_or(piece);
        assert!(!text.contains('\u{2581}'), "{piece}");
        let letters = text.chars().filter(char::is_ascii_alphabetic).count();
        assert!(letters == 0 || letters == text.chars().count(), "{piece}");
    }
}

#[test]
fn a_size_that_the_text_does_not_support_is_told_with_the_largest() {
    let texts = ["the cat sat on the mat", "the dog sat on the log"].repeat(10);
    let options = VocabularyOptions { byte_fallback: false, character_coverage: 1.0, size: 500 };
    let error = learned(texts.iter().copied(), &options).unwrap_err();
    let VocabularyError::TooLarge { size: 500, largest } = error else { panic!("{error}") };
    let vocabulary =
        learned(texts.iter().copied(), &VocabularyOptions { size: largest, ..options.clone() }).unwrap();
    assert_eq!(vocabulary.size, largest);

    let error =
        learned(texts.iter().copied(), &VocabularyOptions { size: 10, ..options.clone() }).unwrap_err();
    let VocabularyError::TooSmall { size: 10, smallest, characters: 13, fixed: 3 } = error else {
        panic!("{error}")
    };
    let size = smallest;
    assert_eq!(
        learned(texts.iter().copied(), &VocabularyOptions { size, ..options.clone() }).unwrap().size,
        size
    );
}

#[test]
fn wrong_options_and_texts_are_refused() {
    let options = VocabularyOptions::new(300);
    assert_eq!(learned([], &options), Err(VocabularyError::NoText));
    assert_eq!(learned(["", " \t "], &options), Err(VocabularyError::NoText));
    for coverage in [0.0, -1.0, 1.5] {
        let options = VocabularyOptions { character_coverage: coverage, ..options.clone() };
        assert_eq!(learned(["a b"], &options), Err(VocabularyError::Coverage(coverage)));
    }
    let huge = VocabularyOptions::new(usize::MAX);
    assert!(matches!(learned(["a b"], &huge), Err(VocabularyError::Limit { .. })));
}

#[test]
fn rare_characters_become_bytes() {
    let text = "to be or not to be ".repeat(1000) + "\u{3c0}";
    let options = VocabularyOptions { character_coverage: 0.999, ..VocabularyOptions::new(270) };
    let vocabulary = match learned([&*text], &options) {
        Err(VocabularyError::TooLarge { largest, .. }) => {
            learned([&*text], &VocabularyOptions { size: largest, ..options }).unwrap()
        }
        result => result.unwrap(),
    };
    assert_eq!(vocabulary.rare_characters, ['\u{3c0}']);
    let model = SentencePiece::from_bytes("source.spm", &vocabulary.spm).unwrap();
    assert_eq!(model.encode_as_pieces("\u{3c0}"), ["\u{2581}", "<0xCF>", "<0x80>"]);
    assert_eq!(model.decode(&model.encode("be \u{3c0} or 日本")).unwrap(), "be \u{3c0} or 日本");
}

/// The values of a tensor.
fn values(model: &wordloom::Model, tensor: &str) -> Vec<f32> {
    let count = model.checkpoint().info(tensor).unwrap_or_else(|| panic!("no {tensor}")).element_count();
    let mut values = vec![f32::NAN; count];
    model.checkpoint().read(tensor, &mut values).unwrap();
    values
}

#[test]
fn a_new_vocabulary_keeps_what_the_model_has_learned() {
    let files = ModelFiles::embedded();
    let old = wordloom::Model::from_files(files.clone()).unwrap();
    let text = "Die Zebrafinken zwitscherten. 동물원에 Zebrafinken! Sie zwitscherten.";
    let learned = learned(texts(&pairs()), &VocabularyOptions::new(700)).unwrap();
    let NewVocabulary { files, kept, means, random } =
        new_vocabulary(&files, &learned, [Some("en"), Some("de")], 7).unwrap();
    let new = wordloom::Model::from_files(ModelFiles::memory("new", files)).unwrap();
    assert_eq!((new.config().source_vocabulary, new.config().target_vocabulary), (700, 700));
    assert_eq!((kept + means + random, random), (700, 0), "the model has bytes");

    let (old_tokenizer, new_tokenizer) = (old.tokenizer().unwrap(), new.tokenizer().unwrap());
    let ids = new_tokenizer.encode(text).unwrap();
    assert_eq!(new_tokenizer.decode(&ids, true).unwrap(), text);
    let tensor = "model.shared.weight";
    let (before, after) = (values(&old, tensor), values(&new, tensor));
    let width = old.config().d_model;
    let row = |table: &[f32], id: u32| table[id as usize * width..][..width].to_vec();
    let (mut same, mut mean) = (0, 0);
    for id in 0..700 {
        let token = new_tokenizer.source_token(id).unwrap().into_owned();
        // the old tokenizer cuts words of text as it cuts pieces
        let Some(word) = token.strip_prefix('\u{2581}').filter(|word| word.is_ascii() && !word.is_empty())
        else {
            continue;
        };
        let mut cut = old_tokenizer.encode(word).unwrap();
        cut.pop(); // </s>
        let rows: Vec<Vec<f32>> = cut.iter().map(|&id| row(&before, id)).collect();
        let want = |column: usize| {
            (rows.iter().map(|row| f64::from(row[column])).sum::<f64>() / rows.len() as f64) as f32
        };
        assert_eq!(row(&after, id), (0..width).map(want).collect::<Vec<f32>>(), "{token}");
        if cut.len() == 1 { same += 1 } else { mean += 1 }
    }
    assert!(same > 0 && mean > 0, "{same} {mean}");
    for special in ["</s>", "<unk>", "<pad>"] {
        let id = |tokenizer: &wordloom::text::Tokenizer| {
            (0..12_000).find(|&id| tokenizer.source_token(id).as_deref() == Some(special)).unwrap()
        };
        assert_eq!(row(&after, id(&new_tokenizer)), row(&before, id(&old_tokenizer)), "{special}");
    }
    for tensor in old.checkpoint().names().filter(|name| name.contains("layers")) {
        assert_eq!(values(&new, tensor), values(&old, tensor), "{tensor}");
    }
    let without_bytes = ModelFiles::directory(crate::common::data("models/marian_tied")).unwrap();
    let new = new_vocabulary(&without_bytes, &learned, [Some("en"), Some("de")], 7).unwrap();
    assert!(new.random >= 250, "bytes are new: {}", new.random);
}

#[test]
fn models_with_other_vocabularies_are_refused() {
    let learned = learned(texts(&pairs()), &VocabularyOptions::new(700)).unwrap();
    for model in ["t5_relu_tied", "m2m_100"] {
        let files = ModelFiles::directory(crate::common::data("models").join(model)).unwrap();
        let refused = new_vocabulary(&files, &learned, [None, None], 7).unwrap_err().to_string();
        assert!(refused.contains(model) && refused.contains("train without --vocabulary"), "{refused}");
    }
}
