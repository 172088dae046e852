//! Two models in a row, for a pair of languages that no single model has.

use super::error::TranslateError;
use super::job::Update;
use super::options::TranslateOptions;
use super::texts::Texts;
use super::translation::Translation;
use super::translator::Translator;

/// Two translators: the first writes the language between, the second reads it.
///
/// The result is exactly that of two calls: the best translation of the first is the text of the second, which cuts it into
/// sentences anew. Lines and the space between sentences stay as they are in the source.
///
/// ```no_run
/// use wordloom::translate::{Pivot, PivotOptions};
/// use wordloom::{Device, DeviceChoice, Model, Translator};
///
/// # pollster::block_on(async {
/// let device = Device::open(&DeviceChoice::Auto).await?;
/// let korean = Translator::new(&device, &Model::load("opus-mt-ko-en")?)?;
/// let german = Translator::new(&device, &Model::embedded()?)?;
///
/// let pivot = Pivot::new(&korean, &german);
/// let translated = pivot.translate("기차역이 어디예요?", &PivotOptions::default()).await?;
/// println!("{} → {}", translated[0].between.text, translated[0].translation.text);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Copy)]
pub struct Pivot<'a> {
    first: &'a Translator,
    second: &'a Translator,
}

/// Options of both translations.
#[derive(Clone, Debug, Default)]
pub struct PivotOptions {
    /// Options of the translation into the language between. Only its best translation is used.
    pub first: TranslateOptions,
    /// Options of the translation into the target language.
    pub second: TranslateOptions,
}

/// The translation of one text through a third language.
#[derive(Clone, Debug, PartialEq)]
pub struct Pivoted {
    /// The text in the language between.
    pub between: Translation,
    /// Its translation. The sources of its sentences are in the language between.
    pub translation: Translation,
}

impl<'a> Pivot<'a> {
    /// Puts two translators behind each other.
    pub fn new(first: &'a Translator, second: &'a Translator) -> Self {
        Self { first, second }
    }

    /// The translator into the language between.
    pub fn first(&self) -> &'a Translator {
        self.first
    }

    /// The translator into the target language. A caller that shows progress passes it what
    /// [`between`](Self::between) returned.
    pub fn second(&self) -> &'a Translator {
        self.second
    }

    /// Translates one text or many.
    pub async fn translate<T: Texts + ?Sized>(
        &self,
        texts: &T,
        options: &PivotOptions,
    ) -> Result<Vec<Pivoted>, TranslateError> {
        let between = self.between(texts, &options.first, &mut |_| {}).await?;
        let read: Vec<&str> = between.iter().map(|translation| &*translation.text).collect();
        let translations = self.second.translate(&read, &options.second).await?;
        let both = between.into_iter().zip(translations);
        Ok(both.map(|(between, translation)| Pivoted { between, translation }).collect())
    }

    /// Translates one text or many into the language between. `watch` gets every update; the translations are taken out of
    /// it.
    pub async fn between<T: Texts + ?Sized>(
        &self,
        texts: &T,
        options: &TranslateOptions,
        watch: &mut dyn FnMut(&Update),
    ) -> Result<Vec<Translation>, TranslateError> {
        let texts = texts.texts();
        let mut options = options.clone();
        options.generation.num_return_sequences = Some(1);
        let mut stream = self.first.stream(&texts, &options)?;
        let mut between = Vec::with_capacity(texts.len());
        while let Some(mut update) = stream.next().await? {
            between.append(&mut update.translations);
            watch(&update);
        }
        Ok(between)
    }
}
