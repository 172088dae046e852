//! One part: its texts, translated once each, and its rows with the new columns.

use std::collections::HashMap;

use super::error::CorpusError;
use super::job::{Translate, Translated};
use super::report::Report;
use super::rows::{Column, Rows};
use super::store::{Key, Store, key};

/// Texts that are translated together. More would hardly reduce padding.
const WINDOW: usize = 4096;
/// Bytes after which a window is complete. After a crash, at most a window is translated again.
const WINDOW_BYTES: usize = 1 << 20;

/// Names of the new columns.
#[derive(Clone, Debug)]
pub struct Names {
    pub translation: String,
    /// Of the trust in it, if that is asked for.
    pub trust: Option<String>,
}

impl Names {
    pub fn all(&self) -> Vec<String> {
        std::iter::once(self.translation.clone()).chain(self.trust.clone()).collect()
    }
}

/// A text that several rows may have.
struct Text {
    key: Key,
    text: String,
    translated: Option<Translated>,
    /// Whether it was translated for another part.
    is_known: bool,
}

/// Translates the rows of a part. `done` gets the share of the texts that are finished.
pub fn translate(
    part: i64,
    chunks: Vec<Rows>,
    (column, names): (&str, &Names),
    store: &Store,
    translator: &mut dyn Translate,
    done: &mut (dyn FnMut(f64) + Send),
) -> Result<(Vec<Rows>, Report), CorpusError> {
    let mut texts: Vec<Text> = Vec::new();
    let mut places: HashMap<Key, usize> = HashMap::new();
    let mut rows: Vec<Vec<Option<usize>>> = Vec::with_capacity(chunks.len());
    for chunk in &chunks {
        let mut place = |text: String| {
            let key = key(&text);
            *places.entry(key).or_insert_with(|| {
                texts.push(Text { key, text, translated: None, is_known: false });
                texts.len() - 1
            })
        };
        rows.push(chunk.texts(column).into_iter().map(|text| text.map(&mut place)).collect());
    }
    drop(places);
    recall(part, &mut texts, store)?;
    translate_new(part, &mut texts, store, translator, done)?;

    let mut report = Report::default();
    let mut seen = vec![false; texts.len()];
    let translated = chunks.into_iter().zip(rows).map(|(chunk, places)| {
        let (mut translations, mut trusts) = (Vec::new(), Vec::new());
        for place in places {
            report.rows += 1;
            let found = place.and_then(|place| Some((place, texts[place].translated.as_ref()?)));
            match found {
                None => report.nulls += 1,
                Some((place, found)) => {
                    report.count(found, std::mem::replace(&mut seen[place], true) || texts[place].is_known);
                }
            }
            translations.push(found.map(|(_, found)| found.text.clone()));
            trusts.push(found.and_then(|(_, found)| found.trust));
        }
        let trust = names.trust.clone().map(|name| Column::Number(name, trusts));
        chunk.with_columns(
            std::iter::once(Column::Text(names.translation.clone(), translations)).chain(trust).collect(),
        )
    });
    let translated = translated.collect();
    Ok((translated, report))
}

/// Takes what was translated before, for another part or before a crash.
fn recall(part: i64, texts: &mut [Text], store: &Store) -> Result<(), CorpusError> {
    for text in texts {
        if let Some(stored) = store.get(&text.key)? {
            text.translated = Some(stored.translated);
            text.is_known = stored.part != part;
        }
    }
    Ok(())
}

fn translate_new(
    part: i64,
    texts: &mut [Text],
    store: &Store,
    translator: &mut dyn Translate,
    done: &mut (dyn FnMut(f64) + Send),
) -> Result<(), CorpusError> {
    let mut new: Vec<usize> = (0..texts.len()).filter(|&place| texts[place].translated.is_none()).collect();
    new.sort_by_key(|&place| std::cmp::Reverse(texts[place].text.len())); // texts of a length share a batch
    let all: usize = new.iter().map(|&place| texts[place].text.len() + 1).sum();
    let mut before = 0;
    let mut rest = &new[..];
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = rest.iter().take(WINDOW).take_while(|&&place| {
            let fits = bytes < WINDOW_BYTES;
            bytes += texts[place].text.len();
            fits
        });
        let count = fits.count();
        let window;
        (window, rest) = rest.split_at(count);
        let sources: Vec<&str> = window.iter().map(|&place| &*texts[place].text).collect();
        let size: usize = sources.iter().map(|source| source.len() + 1).sum();
        let found = translator.translate(&sources, &mut |share| {
            done((before as f64 + size as f64 * share) / all.max(1) as f64);
        })?;
        before += size;
        assert_eq!(found.len(), window.len(), "a translator gives a translation for each text");
        for (&place, found) in window.iter().zip(found) {
            texts[place].translated = Some(found);
        }
        let kept =
            window.iter().filter_map(|&place| Some((texts[place].key, texts[place].translated.as_ref()?)));
        store.put(part, &kept.collect::<Vec<_>>())?;
    }
    Ok(())
}
