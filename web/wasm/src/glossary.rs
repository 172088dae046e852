//! The options `glossary` and `glossaryMode` of a translation.

use std::sync::Arc;

use serde_json::{Map, Value};
use wordloom::decode::ConstraintMode;
use wordloom::translate::{Glossary, GlossaryFile};
use wordloom::{TranslateOptions, Translator};

use crate::failure::Failure;
use crate::options::take;

/// A glossary as a call gives it.
#[derive(Clone, PartialEq)]
pub struct Lines {
    text: String,
    mode: ConstraintMode,
}

/// The last glossary, because calls often have the same one.
pub struct Bound {
    lines: Lines,
    /// Languages, task and maximal length of the call.
    of: (Option<String>, Option<String>, Option<String>, Option<usize>),
    glossary: Arc<Glossary>,
}

impl Lines {
    /// Takes both options out of a call's.
    pub fn take(options: &mut Map<String, Value>) -> Result<Option<Self>, Failure> {
        let text: Option<String> =
            take(options, "glossary", "a text with a term in each line: SOURCE = TARGET")?;
        let mode: Option<String> =
            take(options, "glossaryMode", "\"hard\", \"soft\" or \"soft:\" and a weight")?;
        let mode = match mode.as_deref().map(str::parse) {
            None => ConstraintMode::Hard,
            Some(mode) => mode.map_err(|wrong| Failure::input(format!("\"glossaryMode\": {wrong}")))?,
        };
        Ok(text.filter(|text| !text.trim().is_empty()).map(|text| Self { text, mode }))
    }

    /// Binds the lines to a model, if the last call did not do so.
    pub fn bind(
        &self,
        translator: &Translator,
        options: &TranslateOptions,
        last: &mut Option<Bound>,
    ) -> Result<Arc<Glossary>, Failure> {
        let TranslateOptions { source_language, target_language, task, generation, .. } = options;
        let of = (source_language.clone(), target_language.clone(), task.clone(), generation.max_length);
        if let Some(known) = last.as_ref().filter(|known| known.lines == *self && known.of == of) {
            return Ok(known.glossary.clone());
        }
        let refused = |error: wordloom::translate::GlossaryError| Failure::input(error.to_string());
        let file = GlossaryFile::parse("glossary", self.text.as_bytes()).map_err(refused)?;
        let glossary = translator.glossary(&file, options, self.mode).map_err(refused)?;
        *last = Some(Bound { lines: self.clone(), of, glossary: glossary.clone() });
        Ok(glossary)
    }
}
