//! Streaming translation: stable text stays, and the result equals that of `translate`.
#![cfg(feature = "embedded-model")]

use wordloom::transformer::{Cancel, GenerateError};
use wordloom::translate::Excess;
use wordloom::{Device, Model, TranslateError, TranslateOptions, Translation, Translator};

const TEXT: &str = "  Good morning! How much does this cost?\n\nI have lost my passport, and the train leaves in ten \
                    minutes.  Where is the station?\nThank you very much.";

fn translator() -> Translator {
    Translator::new(&Device::Cpu, &Model::embedded().expect("sound")).expect("loads")
}

/// Translates a text, and shows `look` how far it is: what is stable, and what is provisional.
fn stream(
    translator: &Translator,
    text: &str,
    options: &TranslateOptions,
    mut look: impl FnMut(String, String),
) -> Result<Translation, TranslateError> {
    let mut translations = Vec::new();
    let mut stream = translator.stream(text, options)?;
    while let Some(update) = pollster::block_on(stream.next())? {
        let (stable, provisional) = stream.text();
        look(stable, provisional);
        translations.extend(update.translations);
    }
    assert_eq!(translations.len(), 1);
    Ok(translations.remove(0))
}

#[test]
fn stable_text_only_grows_into_the_result() {
    let translator = translator();
    for beams in [1, 4] {
        let options = TranslateOptions::default().beams(beams);
        let mut stable = String::new();
        let mut shown = 0;
        let mut before_the_end = 0;
        let streamed = stream(&translator, TEXT, &options, |now, provisional| {
            assert!(now.starts_with(&stable), "{stable:?} became {now:?}");
            before_the_end += usize::from(!now.is_empty() && !provisional.is_empty());
            (stable, shown) = (now, shown + 1);
        });
        let streamed = streamed.expect("translates");
        let whole = pollster::block_on(translator.translate(TEXT, &options)).expect("translates");
        assert_eq!(streamed.text, whole.text);
        assert!(streamed.text.starts_with(&stable), "{stable:?} is not the beginning of {:?}", streamed.text);
        let (first_line, _) = streamed.text.split_once('\n').expect("two lines and more");
        assert!(stable.len() > first_line.len(), "{stable:?}");
        assert!(shown > 10 && before_the_end > 5, "{shown} looks, {before_the_end} of them in the middle");
    }
}

/// The beginning of a long text is shown before its end is translated.
#[test]
fn long_texts_come_from_the_beginning() {
    let text = "I have lost my passport. Good morning! ".repeat(30);
    let mut grew = 0;
    let mut length = 0;
    let options = TranslateOptions::default().beams(1);
    let result = stream(&translator(), &text, &options, |stable, _| {
        grew += usize::from(stable.len() > length + 100);
        length = length.max(stable.len());
    });
    assert_eq!(result.expect("translates").sentences.len(), 60);
    assert!(grew >= 2, "grew {grew} times by a window");
}

#[test]
fn a_wish_to_stop_is_heard_between_two_steps() {
    let translator = translator();
    let turns = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = turns.clone();
    let cancel = Cancel::with_turn(move || {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Box::pin(std::future::ready(()))
    });
    let options = TranslateOptions { cancel: cancel.clone(), ..TranslateOptions::default() };
    let mut steps = 0;
    let result = stream(&translator, TEXT, &options, |_, _| {
        steps += 1;
        if steps == 3 {
            cancel.cancel();
        }
    });
    assert!(matches!(result, Err(TranslateError::Generate(GenerateError::Cancelled))));
    assert_eq!(steps, 3);
    assert_eq!(
        turns.load(std::sync::atomic::Ordering::Relaxed),
        4,
        "one turn before each step, and the last"
    );
}

#[test]
fn a_document_is_one_source() {
    let translator = translator();
    let options = TranslateOptions::default().beams(1).document(Excess::Refuse);
    let text = "\n Where is the station? I have lost\nmy passport. ";
    let mut shown = 0;
    let streamed = stream(&translator, text, &options, |_, _| shown += 1).expect("translates");
    let whole = pollster::block_on(translator.translate(text, &options)).expect("translates");
    assert!(shown > 2 && streamed.text == whole.text, "{:?}", whole.text);
    let [sentence] = &whole.sentences[..] else { panic!("{} sources", whole.sentences.len()) };
    assert_eq!(sentence.source, text.trim());
    assert_eq!(sentence.source_ids, translator.document(text.trim(), &options).expect("text").input_ids);
    assert!(whole.text.starts_with("\n ") && whole.text.ends_with(' '), "{:?}", whole.text);
    let blank = pollster::block_on(translator.translate(" \n", &options)).expect("translates");
    assert_eq!((&*blank.text, blank.sentences.len()), (" \n", 0));
    // too long
    let long = "I have lost my passport. ".repeat(100);
    let ids = translator.document(long.trim(), &options).expect("text").input_ids;
    let error = pollster::block_on(translator.translate(&long, &options)).expect_err("too long");
    let TranslateError::TooLong { tokens, limit } = error else { panic!("{error}") };
    assert_eq!((tokens, limit), (ids.len(), 256));
    let options = options.document(Excess::LeaveOut);
    let cut = pollster::block_on(translator.translate(&long, &options)).expect("translates");
    // the end token stays
    assert_eq!(cut.sentences[0].source_ids, [&ids[..255], &ids[ids.len() - 1..]].concat());
    assert!(!translator.summarizes());
}
