//! A document that is translated, a few texts at a time, so that typed texts need not wait for its end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use wordloom::transformer::GenerateError;
use wordloom::translate::GlossaryFile;
use wordloom::{TranslateError, TranslateOptions, Translator};
use wordloom_documents::{Document, Format, Options, Translated, translate};

/// Texts of the first round.
const FIRST: usize = 4;
/// Time that a round should take: typed texts wait so long.
const ROUND: Duration = Duration::from_millis(300);

/// A document to translate.
pub struct Order {
    pub path: PathBuf,
    pub options: TranslateOptions,
    pub glossary: Option<Arc<GlossaryFile>>,
}

/// A document on its way.
pub struct Work {
    pub order: Order,
    document: Document,
    /// Texts that are left, by their index: those without tags first, because the others need attention.
    left: Vec<usize>,
    done: Vec<Option<Translated>>,
    texts: usize,
}

impl Work {
    /// Reads a document.
    pub fn begin(order: Order) -> Result<Self, String> {
        let name = order.path.display();
        let format = Format::required(&order.path.to_string_lossy()).map_err(|error| error.to_string())?;
        let bytes =
            std::fs::read(&order.path).map_err(|error| format!("{name} could not be read: {error}"))?;
        let document = Document::read(bytes, format, &Options::default());
        let document = document.map_err(|error| format!("{name}: {error}"))?;
        let units = document.units();
        let mut left: Vec<usize> = (0..units.len()).collect();
        left.sort_by_key(|&index| units[index].needs_links());
        left.reverse(); // the next ones are at the end
        let done = vec![None; units.len()];
        Ok(Self { order, document, left, done, texts: FIRST })
    }

    /// The part that is translated: 0 to 1.
    pub fn fraction(&self) -> f32 {
        let bytes = |index: usize| self.document.units()[index].text().len();
        let all: usize = (0..self.done.len()).map(bytes).sum();
        let left: usize = self.left.iter().copied().map(bytes).sum();
        if all == 0 { 1.0 } else { (all - left) as f32 / all as f32 }
    }

    /// Translates the next texts. Returns the document if they were the last ones. An error says why it is not translated, unless
    /// it was cancelled.
    pub fn go_on(
        &mut self,
        models: &[(&Translator, &TranslateOptions)],
    ) -> Result<Option<Vec<u8>>, Option<String>> {
        let failed = |error: &dyn std::fmt::Display| {
            Some(format!("{} is not translated: {error}", self.order.path.display()))
        };
        let units = self.document.units();
        let linked = |index: &usize| units[*index].needs_links();
        let began = Instant::now();
        if let Some(kind) = self.left.last().map(linked) {
            let round = self.left.iter().rev().take(self.texts).take_while(|&index| linked(index) == kind);
            let round: Vec<usize> = round.copied().collect();
            let texts: Vec<&str> = round.iter().map(|&index| units[index].text()).collect();
            let found = pollster::block_on(translate(models, &texts, kind, &mut |_| {}));
            let found = found.map_err(|error| match error {
                TranslateError::Generate(GenerateError::Cancelled) => None,
                error => failed(&error),
            })?;
            for (&index, translated) in round.iter().zip(found) {
                self.done[index] = Some(translated);
            }
            self.left.truncate(self.left.len() - round.len());
            self.texts = match began.elapsed() {
                took if took < ROUND / 2 => 2 * self.texts,
                took if took > ROUND => (self.texts / 2).max(1),
                _ => self.texts,
            };
        }
        if !self.left.is_empty() {
            return Ok(None);
        }
        let translations: Vec<Translated> =
            self.done.iter_mut().map(|translated| translated.take().unwrap_or_default()).collect();
        self.document.write(&translations).map(Some).map_err(|error| failed(&error))
    }
}

/// The name of a translated file: `letter.docx` becomes `letter.de.docx`.
pub fn name_of_translation(path: &Path, language: Option<&str>) -> String {
    let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let language = language.unwrap_or("translated");
    format!("{}.{language}.{}", part(path.file_stem()), part(path.extension()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_translated_file_is_named_after_its_language() {
        let name = |path: &str, language| name_of_translation(Path::new(path), language);
        assert_eq!(name("/home/ann/letter.docx", Some("de")), "letter.de.docx");
        assert_eq!(name("편지.odt", None), "편지.translated.odt");
    }
}
