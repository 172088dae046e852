//! Translates the texts of units, by one model or by two.

use wordloom::translate::Update;
use wordloom::{TranslateError, TranslateOptions, Translator};

use super::document::Translated;
use super::links::{chained, links};

/// How far a translation of texts is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// Sentences that are finished, of the current model.
    pub sentences: usize,
    /// The part of all work, from 0 to 1.
    pub fraction: f64,
}

/// Translates texts with the links between their words and those of the translations.
///
/// * `models`: one, or two of which the second translates what the first one wrote
/// * `linked`: whether links are needed ([`Unit::needs_links`](super::Unit::needs_links)); they need the models' attention
/// * `watch`: gets the progress
///
/// # Errors
/// [`TranslateError`] of a model.
pub async fn translate(
    models: &[(&Translator, &TranslateOptions)],
    texts: &[&str],
    linked: bool,
    watch: &mut dyn FnMut(Reached),
) -> Result<Vec<Translated>, TranslateError> {
    let share = 1.0 / models.len() as f64;
    let mut found: Vec<Translated> = Vec::new();
    for (step, (translator, options)) in models.iter().enumerate() {
        let read: Vec<&str> = match step {
            0 => texts.to_vec(),
            _ => found.iter().map(|translated| &*translated.text).collect(),
        };
        let mut options = TranslateOptions::clone(options);
        options.generation.num_return_sequences = Some(1);
        if linked {
            options = options.keep_alignments();
        }
        let mut watch = |update: &Update| {
            let fraction = share * (step as f64 + f64::from(update.fraction));
            watch(Reached { sentences: update.sentences, fraction });
        };
        let mut translations = Vec::with_capacity(read.len());
        let mut stream = translator.stream(&read[..], &options)?;
        while let Some(mut update) = stream.next().await? {
            watch(&update);
            translations.append(&mut update.translations);
        }
        drop(stream);
        let own = read.iter().zip(&translations).map(|(text, translation)| links(text, translation));
        let all: Vec<_> = match step {
            0 => own.collect(),
            _ => own.zip(&found).map(|(own, before)| chained(&before.links, &own)).collect(),
        };
        let both = translations.into_iter().zip(all);
        found = both.map(|(translation, links)| Translated { text: translation.text, links }).collect();
    }
    Ok(found)
}
