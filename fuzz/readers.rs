//! Readers of files that come from anywhere, each as a function of bytes: it says whether the file was accepted, and fails if
//! what was accepted cannot be used. Fuzz targets and `tests/reader_mutants.rs` share them.

use wordloom::heatmap::{View, paint};
use wordloom::model::files::ModelFiles;
use wordloom::model::read_tokenizer;
use wordloom::text::SentencePiece;
use wordloom::trace::{AttentionKind, LayerAttention, Trace, TracedSentence};
use wordloom::translate::GlossaryFile;
use wordloom::{Model, ModelError};

/// Text with what tokenizers do not like.
const TEXT: &str = "Hello, <s> Ｗörld\u{301}! \u{0}서울 \u{fffd}👩‍👩‍👧 ﷺ";
/// Ranks of larger maps take more time than they are worth here.
const MOST_WEIGHTS: usize = 1 << 12;
/// Values of a tensor that are read.
const MOST_VALUES: usize = 1 << 20;

/// The folder of a model: opened, a tensor of each shape read, a text cut and put together.
pub fn folder(files: Vec<(String, Vec<u8>)>) -> bool {
    let Ok(model) = Model::from_files(ModelFiles::memory("folder", files)) else { return false };
    for name in model.checkpoint().names() {
        let info = model.checkpoint().info(name).expect("a listed tensor");
        let mut values = vec![0.0; info.element_count().min(MOST_VALUES)];
        if values.len() == info.element_count() {
            let _ = model.checkpoint().read(name, &mut values);
        }
    }
    let tokenizer = match model.tokenizer() {
        Ok(tokenizer) => tokenizer,
        Err(error) => return matches!(error, ModelError::NoTokenizer { .. }),
    };
    let vocabulary = model.config().source_vocabulary;
    match tokenizer.encode(TEXT) {
        Ok(ids) => {
            // a model may lack its tokenizer's special tokens, of which a text has one by its name only
            let fits = |&id: &u32| (id as usize) < vocabulary || tokenizer.is_special(id);
            assert!(ids.iter().all(fits), "{ids:?} of {vocabulary}");
            let _ = tokenizer.decode(&ids, true);
            true
        }
        Err(_) => false,
    }
}

/// A configuration alone.
pub fn configuration(bytes: &[u8]) -> bool {
    Model::random(ModelFiles::memory("configuration", [("config.json", bytes.to_vec())]), 1).is_ok()
}

/// `source.spm` and the like.
pub fn sentencepiece(bytes: &[u8]) -> bool {
    let Ok(model) = SentencePiece::from_bytes("fuzz.spm", bytes) else { return false };
    let ids = model.encode(TEXT);
    assert!(ids.iter().all(|&id| (id as usize) < model.vocabulary_size()));
    model.decode(&ids).expect("its own ids");
    true
}

/// `tokenizer.json`
pub fn tokenizer_json(bytes: &[u8]) -> bool {
    encodes([("tokenizer.json", bytes)])
}

/// `merges.txt`, with a vocabulary of its tokens.
pub fn merges(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut vocab = serde_json::Map::new();
    for token in
        text.lines().flat_map(|line| line.split(' ').map(str::to_owned).chain([line.replacen(' ', "", 1)]))
    {
        let id = vocab.len();
        vocab.entry(token).or_insert_with(|| id.into());
    }
    let vocab = serde_json::Value::from(vocab).to_string();
    encodes([
        ("config.json", br#"{"model_type":"bart"}"#),
        ("vocab.json", vocab.as_bytes()),
        ("merges.txt", bytes),
    ])
}

/// `vocab.txt`
pub fn word_pieces(bytes: &[u8]) -> bool {
    encodes([("config.json", br#"{"model_type":"bert"}"#), ("vocab.txt", bytes)])
}

/// Whether the folder's tokenizer reads a text.
fn encodes<const FILES: usize>(files: [(&'static str, &[u8]); FILES]) -> bool {
    let files = files.map(|(name, bytes)| (name, bytes.to_vec()));
    let Ok(tokenizer) = read_tokenizer(&ModelFiles::memory("fuzz", files)) else { return false };
    match tokenizer.encode(TEXT) {
        Ok(ids) => {
            let _ = tokenizer.decode(&ids, true);
            true
        }
        Err(_) => false,
    }
}

/// The terms of a glossary.
pub fn glossary(bytes: &[u8]) -> bool {
    GlossaryFile::parse("glossary", bytes).is_ok()
}

/// A trace: written, read again, and every view made.
pub fn trace(bytes: &[u8]) -> bool {
    let Ok(trace) = Trace::from_bytes(bytes) else { return false };
    let tensors = trace.to_safetensors().expect("what was read can be written");
    let again = Trace::from_bytes(&tensors).expect("what was written can be read");
    for (again, sentence) in again.sentences.iter().zip(&trace.sentences) {
        assert_eq!(again.attention, sentence.attention);
        assert_eq!(again.target_tokens.len(), sentence.target_tokens.len());
    }
    let json = trace.to_json().expect("what was read can be written");
    Trace::from_bytes(json.as_bytes()).expect("what was written can be read");
    let layers = trace.sentences.iter().flat_map(|sentence| &sentence.attention);
    if layers.map(|layer| layer.weights.len()).sum::<usize>() <= MOST_WEIGHTS {
        trace.statistics();
    }
    trace.sentences.iter().for_each(look);
    true
}

fn look(sentence: &TracedSentence) {
    sentence.alignment();
    for kind in [AttentionKind::Encoder, AttentionKind::Decoder, AttentionKind::Cross] {
        let layers: Vec<&LayerAttention> = sentence.layers(kind).collect();
        for layer in &layers {
            assert_eq!(sentence.query_labels(kind).len(), layer.queries);
            assert_eq!(sentence.key_labels(kind).len(), layer.keys);
            assert!(sentence.column_labels(kind).len() >= layer.columns());
            layer.averaged();
            layer.row(0, layer.queries - 1);
        }
        if let Ok(shape) = wordloom::heatmap::shape_of(&layers) {
            paint(&layers, &View::fit(shape, [40, 30])).expect("a sound view");
        }
    }
    if let Some(search) = &sentence.search {
        for node in search.tree.finished(1.0) {
            search.tree.tokens(node);
        }
    }
}
