//! A document for JavaScript.

use js_sys::{Error, JSON, Reflect, Uint8Array};
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::*;
use wordloom_documents::{
    Document, DocumentError, Format, LinkedSentence, Links, Options, Translated, chained, links_of_sentences,
};

/// A document, cut into texts.
#[wasm_bindgen]
pub struct DocumentFile {
    document: Document,
}

/// A text to translate.
#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
    /// Whether the links between words place tags in the translation.
    tagged: bool,
}

/// The translation of a text, by one model or by several in turn.
#[derive(Deserialize)]
struct Steps {
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    text: String,
    /// Empty if no tags have to be placed.
    sentences: Vec<Sentence>,
}

#[derive(Deserialize)]
struct Sentence {
    source: String,
    target: String,
    links: Links,
}

#[wasm_bindgen]
impl DocumentFile {
    /// Reads a file, whose name tells its format. `columns`: of a table, by name or by number from 1; empty for all.
    pub fn read(bytes: Vec<u8>, name: &str, columns: Vec<String>) -> Result<DocumentFile, JsValue> {
        let format = Format::required(name).map_err(|error| failure(&error))?;
        let options = Options { columns, ..Options::default() };
        let document = Document::read(bytes, format, &options).map_err(|error| failure(&error))?;
        Ok(Self { document })
    }

    /// The texts: `{ text, tagged }`.
    pub fn texts(&self) -> Result<JsValue, JsValue> {
        let units = self.document.units().iter();
        let texts: Vec<Text> =
            units.map(|unit| Text { text: unit.text(), tagged: unit.needs_links() }).collect();
        JSON::parse(&serde_json::to_string(&texts).map_err(|error| wrong(&error.to_string()))?)
    }

    /// The document with translations: JSON of a list of `{ steps: [{ text, sentences: [{ source, target, links }] }] }`.
    pub fn write(&self, translations: &str) -> Result<Uint8Array, JsValue> {
        let given: Vec<Steps> =
            serde_json::from_str(translations).map_err(|error| wrong(&error.to_string()))?;
        let units = self.document.units();
        let translated: Vec<Translated> =
            units.iter().zip(&given).map(|(unit, steps)| steps.translated(unit.text())).collect();
        let written = match translated.len() == given.len() {
            true => self.document.write(&translated),
            false => Err(DocumentError::Count { given: given.len(), needed: units.len() }),
        };
        Ok(Uint8Array::from(&written.map_err(|error| failure(&error))?[..]))
    }
}

impl Steps {
    fn translated(&self, source: &str) -> Translated {
        let mut whole = Translated { text: source.to_owned(), links: Links::new() };
        for (index, step) in self.steps.iter().enumerate() {
            let sentences = step.sentences.iter().map(|Sentence { source, target, links }| LinkedSentence {
                source,
                target,
                links,
            });
            let links = links_of_sentences(&whole.text, &step.text, sentences);
            let links = if index == 0 { links } else { chained(&whole.links, &links) };
            whole = Translated { text: step.text.clone(), links };
        }
        whole
    }
}

fn failure(error: &DocumentError) -> JsValue {
    wrong(&error.to_string())
}

fn wrong(message: &str) -> JsValue {
    let error = Error::new(message);
    // a plain object accepts every property
    let _ = Reflect::set(&error, &"kind".into(), &"input".into());
    error.into()
}
