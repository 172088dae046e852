//! The models that are part of the program: each is a package of its own, and features decide which are in.

use std::fmt;
use std::path::PathBuf;

use wordloom::model::files::ModelFiles;

use crate::HubError;

/// A model that is part of the program.
#[derive(Debug)]
pub struct BuiltIn {
    /// Its package's name for it, such as `tatoeba-en-de`.
    pub title: &'static str,
    /// Source and target language.
    pub pair: [&'static str; 2],
    /// Its licence, in the words of SPDX as far as these go.
    pub licence: &'static str,
    files: &'static [(&'static str, &'static [u8])],
}

#[cfg(feature = "embedded-model")]
const CC_BY: &str = "CC-BY-2.0-FR";

/// The default model first.
#[rustfmt::skip]
static MODELS: &[BuiltIn] = &[
    #[cfg(feature = "embedded-model")]
    BuiltIn { title: wordloom_model_en_de::NAME, pair: ["en", "de"], licence: CC_BY, files: &wordloom_model_en_de::FILES },
    #[cfg(feature = "embedded-models")]
    BuiltIn { title: wordloom_model_de_en::NAME, pair: ["de", "en"], licence: CC_BY, files: &wordloom_model_de_en::FILES },
    #[cfg(feature = "embedded-models")]
    BuiltIn { title: wordloom_model_en_fr::NAME, pair: ["en", "fr"], licence: CC_BY, files: &wordloom_model_en_fr::FILES },
    #[cfg(feature = "embedded-models")]
    BuiltIn { title: wordloom_model_fr_en::NAME, pair: ["fr", "en"], licence: CC_BY, files: &wordloom_model_fr_en::FILES },
];

impl BuiltIn {
    /// All of them, the default one first.
    pub fn all() -> &'static [Self] {
        MODELS
    }

    /// The one at a place.
    pub fn at(place: &Place) -> Option<&'static Self> {
        MODELS.iter().find(|model| model.place() == *place)
    }

    /// Name for `--model`: `built-in:de-en`.
    pub fn name(&self) -> String {
        self.place().to_string()
    }

    /// Where it is.
    pub fn place(&self) -> Place {
        Place::BuiltIn(self.pair.join("-"))
    }

    /// `model_type` of its `config.json`.
    pub fn family(&self) -> &'static str {
        "marian"
    }

    /// Bytes of its files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }

    /// Its files, which stay where they are.
    pub fn files(&self) -> ModelFiles {
        ModelFiles::memory(self.name(), self.files.iter().copied())
    }
}

/// Where a model's files are. The default is the default model, if it is part of the program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A model that is part of the program, by its languages: `en-de`.
    BuiltIn(String),
    /// A folder.
    Folder(PathBuf),
}

impl Default for Place {
    fn default() -> Self {
        Self::BuiltIn("en-de".into())
    }
}

impl Place {
    /// Reads `built-in` or `built-in:de-en`; `None` for any other text.
    pub fn built_in(text: &str) -> Option<Self> {
        match text.strip_prefix("built-in")? {
            "" => Some(Self::default()),
            pair => pair.strip_prefix(':').map(|pair| Self::BuiltIn(pair.to_owned())),
        }
    }

    /// The model's files.
    ///
    /// # Errors
    /// [`HubError::NotBuiltIn`], or [`HubError::Folder`] for a folder that cannot be opened.
    pub fn files(&self) -> Result<ModelFiles, HubError> {
        match self {
            Self::Folder(folder) => Ok(ModelFiles::directory(folder)?),
            Self::BuiltIn(_) => match BuiltIn::at(self) {
                Some(model) => Ok(model.files()),
                None => Err(HubError::NotBuiltIn {
                    name: self.to_string(),
                    there: MODELS.iter().map(BuiltIn::name).collect(),
                }),
            },
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(pair) => write!(f, "built-in:{pair}"),
            Self::Folder(folder) => write!(f, "{}", folder.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_written() {
        assert_eq!(Place::built_in("built-in"), Some(Place::default()));
        let german = Place::built_in("built-in:de-en").expect("a place");
        assert_eq!((german.to_string(), &german), ("built-in:de-en".into(), &Place::BuiltIn("de-en".into())));
        for text in ["", "built-ins", "./built-in", "firefox:de-en"] {
            assert_eq!(Place::built_in(text), None, "{text}");
        }
        let error = Place::BuiltIn("de-xx".into()).files().map(|_| ()).expect_err("there is none");
        assert!(matches!(error, HubError::NotBuiltIn { .. }), "{error}");
    }

    /// The page and the npm packages take them from there.
    #[cfg(feature = "embedded-models")]
    #[test]
    fn the_list_has_every_package_of_the_folder() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../models");
        let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut there: Vec<String> =
            names.filter_map(|name| name.strip_suffix("-q8").map(str::to_owned)).collect();
        let mut listed: Vec<&str> = MODELS.iter().map(|model| model.title).collect();
        there.sort();
        listed.sort();
        assert_eq!(listed, there);
    }

    /// Each package's files, languages and licence are those of the list.
    #[test]
    fn the_list_says_what_the_packages_hold() {
        for model in BuiltIn::all() {
            let files = model.place().files().expect("it is there");
            let json = |name: &str| -> serde_json::Value {
                serde_json::from_slice(&files.read(name, 1 << 20).expect("it is there")).expect("JSON")
            };
            let config = json("tokenizer_config.json");
            for (side, code) in ["source_lang", "target_lang"].into_iter().zip(model.pair) {
                let language = config[side].as_str().and_then(crate::Language::of_model).expect("a language");
                assert_eq!(language.to_string(), code, "{}", model.title);
            }
            assert_eq!(json("config.json")["model_type"], model.family());
            assert!(model.title.ends_with(&model.pair.join("-")));
            assert!(model.bytes() < 11_000_000, "{}: {}", model.title, model.bytes());
        }
    }
}
