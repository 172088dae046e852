//! The choice of a model for a pair of languages.
//!
//! 1. A model of exactly this pair comes before a model of many languages, and both come before a pivot: two models
//!    through a third language.
//! 2. A pivot goes through English if it can, and through models of exactly one pair if it can.
//! 3. Of models that are equal so far, the larger comes first, then the one that was fetched later, then the name.

use std::cmp::Reverse;
use std::time::SystemTime;

use crate::{BuiltIn, CachedModel, Language, Languages, Place};

/// A model to choose from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choosable {
    /// Name in messages, and the last tie breaker.
    pub name: String,
    /// Where it is.
    pub place: Place,
    /// Languages that the model reads and writes.
    pub languages: Languages,
    /// Bytes of the model.
    pub bytes: u64,
    /// When the model was fetched, if known.
    pub fetched: Option<SystemTime>,
}

impl From<&CachedModel> for Choosable {
    fn from(model: &CachedModel) -> Self {
        let fetched = std::fs::metadata(&model.folder).and_then(|found| found.modified()).ok();
        Self {
            name: model.name.clone(),
            place: Place::Folder(model.folder.clone()),
            languages: model.languages.clone(),
            bytes: model.bytes,
            fetched,
        }
    }
}

impl From<&BuiltIn> for Choosable {
    fn from(model: &BuiltIn) -> Self {
        let [from, to] = model.pair.map(|code| vec![code.to_owned()]);
        let languages = Languages { from, to };
        Self { name: model.name(), place: model.place(), languages, bytes: model.bytes(), fetched: None }
    }
}

/// A model for one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index of the model.
    pub model: usize,
    /// Whether the model is of exactly this pair.
    pub exact: bool,
}

/// A way from one language to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// One model.
    Direct(Step),
    /// Two models.
    Pivot {
        /// The model of the source language.
        first: Step,
        /// The language between.
        through: Language,
        /// The model of the target language.
        second: Step,
    },
}

impl Route {
    /// The steps: one or two.
    pub fn steps(&self) -> Vec<&Step> {
        match self {
            Self::Direct(step) => vec![step],
            Self::Pivot { first, second, .. } => vec![first, second],
        }
    }
}

/// Chooses the way from one language to another. `None` if the models have none.
///
/// ```
/// use wordloom_hub::{Choosable, Language, Languages, Place, Route, choose};
///
/// let model = |name: &str, from: &str, to: &str| Choosable {
///     name: name.into(),
///     place: Place::Folder(name.into()),
///     languages: Languages { from: vec![from.into()], to: vec![to.into()] },
///     bytes: 1,
///     fetched: None,
/// };
/// let models = [model("en-de", "en", "de"), model("fr-en", "fra", "eng")];
/// let (french, german) = ("fr".parse::<Language>()?, "de".parse()?);
/// assert!(matches!(choose(&models, &french, &german), Some(Route::Pivot { .. })));
/// # Ok::<_, wordloom_hub::NoLanguage>(())
/// ```
pub fn choose(models: &[Choosable], from: &Language, to: &Language) -> Option<Route> {
    if from.fits(to) {
        return None;
    }
    direct(models, from, to).map(Route::Direct).or_else(|| pivot(models, from, to))
}

/// The best single model for a pair.
pub fn direct(models: &[Choosable], from: &Language, to: &Language) -> Option<Step> {
    let steps = models.iter().enumerate().filter_map(|(model, choosable)| {
        let languages = &choosable.languages;
        code_for(&languages.from, from)?;
        code_for(&languages.to, to)?;
        let exact = one_language(&languages.from) && one_language(&languages.to);
        Some(Step { model, exact })
    });
    steps.min_by_key(|step| rank(models, step))
}

fn rank<'a>(
    models: &'a [Choosable],
    step: &Step,
) -> (bool, Reverse<u64>, Reverse<Option<SystemTime>>, &'a str) {
    let Choosable { name, bytes, fetched, .. } = &models[step.model];
    (!step.exact, Reverse(*bytes), Reverse(*fetched), name)
}

fn pivot(models: &[Choosable], from: &Language, to: &Language) -> Option<Route> {
    let written = models.iter().filter(|model| code_for(&model.languages.from, from).is_some());
    let mut between: Vec<Language> = written.flat_map(|model| parsed(&model.languages.to)).collect();
    between.sort();
    between.dedup();
    let english = Language::english();
    let ways = between.into_iter().filter(|through| !through.fits(from) && !through.fits(to)).filter_map(
        |through| {
            let (first, second) = (direct(models, from, &through)?, direct(models, &through, to)?);
            Some((first, through, second))
        },
    );
    let best = ways.min_by_key(|(first, through, second)| {
        let multilingual = usize::from(!first.exact) + usize::from(!second.exact);
        let bytes = models[first.model].bytes.saturating_add(models[second.model].bytes);
        (!through.fits(&english), multilingual, Reverse(bytes), through.clone())
    });
    best.map(|(first, through, second)| Route::Pivot { first, through, second })
}

/// The languages that the models read.
pub fn sources(models: &[Choosable]) -> Vec<Language> {
    distinct(models.iter().flat_map(|model| parsed(&model.languages.from)))
}

/// The languages that the models write.
pub fn written(models: &[Choosable]) -> Vec<Language> {
    distinct(models.iter().flat_map(|model| parsed(&model.languages.to)))
}

/// The languages that can be reached from a language, with one model or with two.
pub fn targets(models: &[Choosable], from: &Language) -> Vec<Language> {
    written(models).into_iter().filter(|to| choose(models, from, to).is_some()).collect()
}

/// Languages in order. One without a script stands for those with one, unless they differ.
fn distinct(languages: impl Iterator<Item = Language>) -> Vec<Language> {
    let all: std::collections::BTreeSet<Language> = languages.collect();
    let several = |language: &Language| {
        let scripts: std::collections::BTreeSet<_> =
            all.iter().filter(|other| other.base() == language.base()).filter_map(Language::script).collect();
        scripts.len() > 1
    };
    let short = |language: &Language| match several(language) {
        true => language.clone().without_region(),
        false => language.clone().without_details(),
    };
    let short: std::collections::BTreeSet<Language> = all.iter().map(short).collect();
    short.into_iter().collect()
}

fn parsed(codes: &[String]) -> impl Iterator<Item = Language> {
    codes.iter().filter_map(|code| Language::of_model(code)).map(Language::without_region)
}

fn one_language(codes: &[String]) -> bool {
    let mut bases =
        codes.iter().map(|code| Language::of_model(code).map(|language| language.base().to_owned()));
    match bases.next() {
        Some(Some(first)) => bases.all(|base| base.as_ref() == Some(&first)),
        _ => false,
    }
}

/// The code in a model's list that stands for a language: the one that agrees in most, then the first. `None` if the
/// model does not have the language.
pub fn code_for<'a, Code: AsRef<str>>(codes: &'a [Code], wanted: &Language) -> Option<&'a str> {
    let known: Vec<(&str, Language)> =
        codes.iter().filter_map(|code| Some((code.as_ref(), Language::of_model(code.as_ref())?))).collect();
    let fitting = known.iter().enumerate().filter_map(|(place, (code, language))| {
        // mBART's codes have a region each, by which nothing is chosen: de_DE is the only German
        let alone = known.iter().filter(|(_, other)| other.base() == language.base()).count() == 1;
        let language = match alone && known.len() > 1 {
            true => language.clone().without_region(),
            false => language.clone(),
        };
        language.fits(wanted).then(|| (language.distance(wanted), place, *code))
    });
    fitting.min().map(|(_, _, code)| code)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NLLB: [&str; 6] = ["eng_Latn", "deu_Latn", "fra_Latn", "kor_Hang", "zho_Hant", "zho_Hans"];

    fn model(name: &str, from: &[&str], to: &[&str], bytes: u64) -> Choosable {
        let list = |codes: &[&str]| codes.iter().map(|code| (*code).to_owned()).collect();
        let languages = Languages { from: list(from), to: list(to) };
        Choosable { name: name.into(), place: Place::Folder(name.into()), languages, bytes, fetched: None }
    }

    fn way(models: &[Choosable], from: &str, to: &str) -> String {
        let [from, to] = [from, to].map(|code| code.parse::<Language>().expect("a code"));
        let Some(route) = choose(models, &from, &to) else { return "none".into() };
        let names: Vec<&str> = route.steps().iter().map(|step| &*models[step.model].name).collect();
        match &route {
            Route::Direct(_) => names.join(""),
            Route::Pivot { through, .. } => format!("{} through {through}", names.join(" + ")),
        }
    }

    #[test]
    fn an_exact_pair_comes_before_many_languages_and_these_before_a_pivot() {
        let nllb = model("nllb", &NLLB, &NLLB, 2400);
        let (en_de, de_en) = (model("en-de", &["en"], &["de"], 10), model("de-en", &["de"], &["en"], 10));
        let (en_fr, de_fr) = (model("en-fr", &["en"], &["fr"], 10), model("de-fr", &["de"], &["fr"], 1));
        let mut models = vec![en_de, de_en, en_fr];
        assert_eq!(way(&models, "en", "de"), "en-de");
        assert_eq!(way(&models, "de", "fr"), "de-en + en-fr through en");
        assert_eq!(way(&models, "fr", "de"), "none");
        models.push(nllb);
        assert_eq!(way(&models, "eng_Latn", "de-AT"), "en-de", "codes of any kind");
        assert_eq!(way(&models, "de", "fr"), "nllb");
        models.push(de_fr);
        assert_eq!(way(&models, "de", "fr"), "de-fr", "small as it is");
        assert_eq!(way(&models, "de", "ja"), "none");
        assert_eq!(way(&models, "de", "de"), "none");
    }

    #[test]
    fn a_pivot_goes_through_english_and_then_through_exact_pairs() {
        let models = [
            model("ko-de", &["ko"], &["de"], 500),
            model("de-fr", &["de"], &["fr"], 500),
            model("ko-en", &["kor"], &["eng"], 10),
            model("en-fr", &["en"], &["fr"], 10),
        ];
        assert_eq!(way(&models, "ko", "fr"), "ko-en + en-fr through en");
        assert_eq!(way(&models[..2], "ko", "fr"), "ko-de + de-fr through de");
        let many = model("many", &["ko", "es"], &["es", "it"], 9000);
        let models = [&models[..2], &[many, model("es-fr", &["es"], &["fr"], 9000)]].concat();
        assert_eq!(way(&models, "ko", "fr"), "ko-de + de-fr through de", "no model of many languages");
    }

    #[test]
    fn of_equal_models_the_larger_comes_first_then_the_newer_then_the_name() {
        let day = |days: u64| Some(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(86_400 * days));
        let old = Choosable { fetched: day(1), ..model("a", &["en"], &["de"], 5) };
        let new = Choosable { fetched: day(2), ..model("z", &["en"], &["de"], 5) };
        let same = Choosable { fetched: day(2), ..model("b", &["en"], &["de"], 5) };
        let large = model("large", &["en"], &["de"], 6);
        assert_eq!(way(&[old.clone(), new.clone()], "en", "de"), "z");
        assert_eq!(way(&[old.clone(), new.clone(), same.clone()], "en", "de"), "b");
        assert_eq!(way(&[old, new, same, large], "en", "de"), "large");
    }

    #[test]
    fn scripts_decide_where_both_sides_have_one() {
        let models = [model("hant", &["en"], &["zh-Hant"], 9), model("nllb", &NLLB, &NLLB, 1)];
        assert_eq!(way(&models, "en", "zh-Hans"), "nllb");
        assert_eq!(way(&models, "en", "zh-TW"), "hant");
        assert_eq!(way(&models, "en", "zh"), "hant", "no script was asked for");
        assert_eq!(way(&models[..1], "en", "zh-CN"), "none");
        let portuguese = [model("pt", &["en"], &["pt_BR"], 9)];
        assert_eq!([way(&portuguese, "en", "pt"), way(&portuguese, "en", "pt-PT")], ["pt", "none"]);
        let tags = ["cmn", "cmn_Hans", "cmn_Hant", "yue"];
        assert_eq!(way(&[model("tags", &["en"], &tags, 1)], "en", "yue"), "tags");
    }

    #[test]
    fn a_code_for_the_model_is_the_one_that_agrees_most() {
        let code = |codes: &[&str], wanted: &str| {
            code_for(codes, &wanted.parse::<Language>().expect("a code"))
                .map(str::to_owned)
                .unwrap_or_default()
        };
        assert_eq!(code(&NLLB, "ko"), "kor_Hang");
        assert_eq!(code(&NLLB, "zh"), "zho_Hans", "simplified, if nothing is said");
        assert_eq!(code(&NLLB, "zh-HK"), "zho_Hant");
        assert_eq!(code(&NLLB, "ja"), "");
        assert_eq!(code(&["en_XX", "de_DE", "fr_XX"], "de-AT"), "de_DE");
        assert_eq!(code(&["cmn", "cmn_Hans", "cmn_Hant"], "zh"), "cmn");
        assert_eq!(code(&["cmn", "cmn_Hans", "cmn_Hant"], "zh-Hans"), "cmn_Hans");
        assert_eq!(code(&["pt", "pt_BR"], "pt-BR"), "pt_BR");
        assert_eq!(code(&["pt", "pt_BR"], "pt-PT"), "pt");
        assert_eq!(code(&["ROMANCE", "mul"], "fr"), "");
    }

    #[test]
    fn the_languages_to_pick_from_can_be_reached() {
        let models = [
            model("en-de", &["en"], &["de"], 1),
            model("fr-en", &["fra"], &["eng"], 1),
            model("chinese", &["eng_Latn"], &["zho_Hans", "zho_Hant"], 1),
        ];
        let shown = |languages: Vec<Language>| {
            languages.iter().map(Language::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(sources(&models)), "en fr");
        let from = |code: &str| targets(&models, &code.parse::<Language>().expect("a code"));
        assert_eq!(shown(from("fr")), "de en zh-Hans zh-Hant");
        assert_eq!(shown(from("en")), "de zh-Hans zh-Hant");
        assert_eq!(shown(from("ko")), "");
    }
}
