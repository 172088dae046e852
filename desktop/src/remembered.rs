//! State between starts.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use eframe::Storage;
use serde::{Deserialize, Serialize};
use wordloom::heatmap::{ColourMap, Scale};
use wordloom::trace::AttentionKind;

const KEY: &str = "wordloom";
/// Limit of the stored text, in bytes, because every save writes all of it.
pub const MOST_TEXT: usize = 1 << 20;

/// The stored state. It has names instead of the library's types, which may change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Remembered {
    pub text: String,
    /// Terms whose translation is prescribed.
    pub glossary: String,
    pub beams: usize,
    /// Folder that the user opened.
    pub model: Option<PathBuf>,
    /// Picked language of the text, `auto` if it is detected.
    pub from: Option<String>,
    /// Picked language of the translation.
    pub to: Option<String>,
    pub source_language: Option<String>,
    pub target_language: Option<String>,
    pub kind: String,
    pub scale: String,
    pub colours: String,
}

impl Default for Remembered {
    fn default() -> Self {
        Self {
            text: "Where is the train station?".into(),
            glossary: String::new(),
            beams: 4,
            model: None,
            from: None,
            to: None,
            source_language: None,
            target_language: None,
            kind: AttentionKind::Cross.to_string(),
            scale: Scale::default().to_string(),
            colours: ColourMap::default().to_string(),
        }
    }
}

/// The library's largest number of beams.
pub const MOST_BEAMS: usize = 16;

impl Remembered {
    /// Reads the stored state. Missing or damaged values get their defaults.
    pub fn read(storage: Option<&dyn Storage>) -> Self {
        let read: Self = storage.and_then(|storage| eframe::get_value(storage, KEY)).unwrap_or_default();
        Self { beams: read.beams.clamp(1, MOST_BEAMS), ..read }
    }

    pub fn write(mut self, storage: &mut dyn Storage) {
        if self.text.len() > MOST_TEXT {
            self.text.clear();
        }
        if self.glossary.len() > MOST_TEXT {
            self.glossary.clear();
        }
        eframe::set_value(storage, KEY, &self);
    }

    /// Why nothing can be kept in this file; `None` if it can. Without a file, it is the one of the window named `id`.
    pub fn obstacle(file: Option<&Path>, id: &str) -> Option<String> {
        const LOST: &str = "Text and choices are not kept for the next start";
        let usual = || Some(eframe::storage_dir(id)?.join("app.ron"));
        let Some(file) = file.map(Path::to_owned).or_else(usual) else {
            return Some(format!("{LOST}: this user has no folder for them."));
        };
        let is_new = !file.exists();
        let folder = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        let tried = folder.and_then(|()| OpenOptions::new().append(true).create(true).open(&file));
        if is_new && tried.is_ok() {
            let _ = std::fs::remove_file(&file); // an empty one does no harm
        }
        Some(format!("{LOST}: {}: {}.", file.display(), tried.err()?))
    }

    pub fn kind(&self) -> AttentionKind {
        self.kind.parse().unwrap_or(AttentionKind::Cross)
    }

    pub fn scale(&self) -> Scale {
        self.scale.parse().unwrap_or_default()
    }

    pub fn colours(&self) -> ColourMap {
        self.colours.parse().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[derive(Default)]
    struct Memory(HashMap<String, String>);

    impl Storage for Memory {
        fn get_string(&self, key: &str) -> Option<String> {
            self.0.get(key).cloned()
        }
        fn set_string(&mut self, key: &str, value: String) {
            self.0.insert(key.into(), value);
        }
        fn remove_string(&mut self, key: &str) {
            self.0.remove(key);
        }
        fn flush(&mut self) {}
    }

    #[test]
    fn what_was_written_is_read_again() {
        let text = "안녕하세요 🙂\n\"quoted\" \\ and so on".to_owned();
        let kept = Remembered {
            text,
            glossary: "ticket = Fahrschein".into(),
            beams: 7,
            model: Some("/a model".into()),
            from: Some("auto".into()),
            ..Remembered::default()
        };
        let mut memory = Memory::default();
        kept.clone().write(&mut memory);
        assert_eq!(Remembered::read(Some(&memory)), kept);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_told() {
        let folder = std::env::temp_dir().join(format!("wordloom-desktop-{}-kept", std::process::id()));
        let file = folder.join("state.ron");
        assert_eq!(Remembered::obstacle(Some(&file), "a"), None);
        assert!(!file.exists(), "only the window writes it");
        std::fs::write(&file, "(text:\"a\")").expect("a file");
        assert_eq!(Remembered::obstacle(Some(&file), "a"), None);
        assert_eq!(std::fs::read(&file).expect("it is there"), b"(text:\"a\")");
        let told = Remembered::obstacle(Some(&file.join("below")), "a").expect("a file is no folder");
        assert!(told.contains("not kept for the next start") && told.contains("state.ron"), "{told}");
        std::fs::remove_dir_all(folder).expect("it is there");
    }

    #[test]
    fn a_damaged_state_is_that_of_the_first_start() {
        let mut memory = Memory::default();
        for damaged in ["", "(text:", "(beams:\"many\")", "(text:\"a\",beams:99999999999999999999)"] {
            memory.set_string(KEY, damaged.into());
            assert_eq!(Remembered::read(Some(&memory)), Remembered::default(), "{damaged}");
        }
        memory.set_string(KEY, "(beams:900,kind:\"sideways\",scale:\"\",later:5)".into());
        let read = Remembered::read(Some(&memory));
        assert_eq!(
            (read.beams, read.kind(), read.scale()),
            (MOST_BEAMS, AttentionKind::Cross, Scale::Linear)
        );
    }
}
