//! Many texts in one call: results in order, equal to single calls, and no sentence is searched twice.
#![cfg(feature = "embedded-model")]

use wordloom::translate::Update;
use wordloom::{Device, Model, TranslateOptions, Translation, Translator};

const TEXTS: [&str; 6] = [
    "Good morning! How much does this cost?",
    "",
    "Thank you very much.\nGood morning!",
    "I have lost my passport, and the train leaves in ten minutes.  Where is the station?",
    "Where is the station?",
    "Good morning!",
];

/// Number of repeated sentences among the eight above.
const REPEATED: u64 = 3;

fn translator() -> Translator {
    Translator::new(&Device::Cpu, &Model::embedded().expect("sound")).expect("loads")
}

fn greedy() -> TranslateOptions {
    TranslateOptions::default().beams(1)
}

fn translate(translator: &Translator, texts: &[&str], options: &TranslateOptions) -> Vec<Translation> {
    pollster::block_on(translator.translate(texts, options)).expect("translates")
}

fn texts(translations: &[Translation]) -> Vec<&str> {
    translations.iter().map(|translation| translation.text.as_str()).collect()
}

#[test]
fn a_sentence_is_searched_once() {
    let translator = translator();
    let together = translate(&translator, &TEXTS, &greedy());
    assert_eq!(translator.reused_sentences(), REPEATED);
    let alone: Vec<Translation> =
        TEXTS.iter().flat_map(|text| translate(&translator, &[text], &greedy())).collect();
    assert_eq!(texts(&together), texts(&alone));
    let sources = |translations: &[Translation]| -> Vec<String> {
        translations.iter().flat_map(|text| &text.sentences).map(|sentence| sentence.source.clone()).collect()
    };
    assert_eq!(sources(&together), sources(&alone));
    assert_eq!(together[0].sentences[0], together[5].sentences[0]);
    assert_eq!(translator.reused_sentences(), REPEATED, "nothing is remembered from call to call");
}

#[test]
fn a_cache_knows_sentences_of_earlier_calls_and_their_options() {
    let translator = translator().with_cache(1 << 20);
    let first = translate(&translator, &TEXTS, &greedy());
    assert_eq!(translator.reused_sentences(), REPEATED);
    assert_eq!(translate(&translator, &TEXTS, &greedy()), first);
    assert_eq!(translator.reused_sentences(), REPEATED + 8);
    let beams = translate(&translator, &TEXTS[4..], &greedy().beams(3).n_best(2));
    assert_eq!(translator.reused_sentences(), REPEATED + 8, "another search");
    assert_eq!(beams[0].hypotheses.len(), 2);
}

#[test]
fn texts_come_in_their_order_as_soon_as_they_are_there() {
    let translator = translator();
    let numbered: Vec<String> = (1..=200).map(|n| format!("{}{n}.", "I see ".repeat(n % 9))).collect();
    let sources: Vec<&str> = [""].into_iter().chain(numbered.iter().map(String::as_str)).collect();
    let mut ready: Vec<Update> = Vec::new();
    let options = greedy().max_length(6);
    let mut stream = translator.stream(&sources, &options).expect("fits");
    while let Some(update) = pollster::block_on(stream.next()).expect("translates") {
        match update.encoding {
            // a busy machine takes a while to encode
            Some(_) => assert!(update.translations.is_empty()),
            None => ready.push(update),
        }
    }
    assert_eq!(ready[0].translations.len(), 1, "what needs no search comes first");
    assert_eq!((ready[0].sentences, ready[0].of_sentences), (0, 200));
    assert!(ready.is_sorted_by(|a, b| a.sentences < b.sentences && a.fraction < b.fraction));
    let last = ready.last().expect("some");
    assert_eq!((last.sentences, last.fraction), (200, 1.0));
    assert!(ready.len() > 3, "{} batches", ready.len());
    let all: Vec<Translation> = ready.into_iter().flat_map(|batch| batch.translations).collect();
    assert_eq!(texts(&all), texts(&translate(&translator, &sources, &options)));
    assert!(all.iter().zip(&sources).all(|(text, source)| {
        text.sentences.iter().map(|sentence| sentence.source.as_str()).collect::<Vec<_>>().join(" ")
            == *source
    }));
}
