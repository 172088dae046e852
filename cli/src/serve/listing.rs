//! `models.json`: the models that a page offers (docs/models-json.md).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use wordloom::model::files::ModelFiles;
use wordloom::model::firefox_files;
use wordloom::text::Tokenizer;
use wordloom::{Model, TextError};
use wordloom_hub::{CachedModel, Languages};

use super::super::CliError;

pub const NAME: &str = "models.json";
/// Bytes of a small file that is read whole.
const MOST_BYTES: u64 = 16 << 20;
/// Bytes that are hashed at once.
const CHUNK: u64 = 1 << 20;

/// The files of a model besides its weights and its vocabulary.
const SMALL: [&str; 3] = ["config.json", "generation_config.json", "tokenizer_config.json"];
/// SentencePiece models. A page takes them first, because it reads them without another module.
const PIECES: [&str; 3] = ["source.spm", "spiece.model", "sentencepiece.bpe.model"];
/// What belongs to them.
const BESIDE_PIECES: [&str; 3] = ["target.spm", "target_vocab.json", "vocab.json"];
const TOKENIZER: &str = "tokenizer.json";
/// Vocabularies of older folders.
const OLDER: [&str; 3] = ["vocab.json", "merges.txt", "vocab.txt"];
/// Added tokens of tokenizers that are not SentencePiece's.
const ADDED: [&str; 2] = ["special_tokens_map.json", "added_tokens.json"];
/// The forms of weights, best first: one file, or several with an index.
const WEIGHTS: [[&str; 2]; 2] = [
    ["model.safetensors", "model.safetensors.index.json"],
    ["pytorch_model.bin", "pytorch_model.bin.index.json"],
];

#[derive(Serialize)]
struct List {
    version: u32,
    models: Vec<Entry>,
}

#[derive(Serialize)]
pub struct Entry {
    name: String,
    family: &'static str,
    pairs: Vec<[String; 2]>,
    /// The languages of a model that translates each into each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    languages: Vec<String>,
    bytes: u64,
    licence: String,
    url: String,
    files: BTreeMap<String, ListedFile>,
}

#[derive(Serialize)]
struct ListedFile {
    bytes: u64,
    sha256: String,
}

impl Entry {
    /// The languages that the model reads and writes.
    pub fn read_and_written(&self) -> Languages {
        if !self.languages.is_empty() {
            return Languages { from: self.languages.clone(), to: self.languages.clone() };
        }
        let side = |side: usize| {
            let mut codes: Vec<String> = self.pairs.iter().map(|pair| pair[side].clone()).collect();
            codes.sort();
            codes.dedup();
            codes
        };
        Languages { from: side(0), to: side(1) }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

pub fn write(models: Vec<Entry>) -> Vec<u8> {
    serde_json::to_vec_pretty(&List { version: 1, models }).unwrap_or_default() // it holds texts and numbers only
}

/// What is known of a model besides its files.
#[derive(Default)]
pub struct About {
    pub name: String,
    pub licence: Option<String>,
    /// The languages of a model of one pair.
    pub pair: Option<[String; 2]>,
}

/// Describes and hashes a model. `url` is the address of its folder, relative to the list.
///
/// * `hashes`: whether the files are read for their sums, which a list needs
pub fn entry(about: About, files: ModelFiles, url: &str, hashes: bool) -> Result<Entry, CliError> {
    let About { name, licence, pair } = about;
    let label = files.label().to_owned();
    let mut listed = BTreeMap::new();
    for file in names(&files)? {
        listed.insert(file.clone(), describe(&files, &file, hashes)?);
    }
    let pair = pair
        .or_else(|| tokenizer_config(&files).pair(&name))
        .or_else(|| listed.keys().find_map(|file| pair_of_weights(file)));
    let model = Model::from_files(files)?;
    if !listed.keys().any(|name| name.ends_with(".safetensors") || name.ends_with(".bin")) {
        let advice = "a page finds weights by their usual names; rename them to model.safetensors or pytorch_model.bin";
        return Err(CliError::Input(format!("{label}: {advice}")));
    }
    let tokenizer = model.tokenizer()?;
    let (pairs, languages) = languages(&tokenizer, pair).ok_or_else(|| {
        CliError::Input(format!(
            "{label}: its languages are not known; name the folder as in opus-mt-en-fr, or give source_lang and \
             target_lang in its tokenizer_config.json"
        ))
    })?;
    Ok(Entry {
        name,
        family: model.config().family.model_type(),
        pairs,
        languages,
        bytes: listed.values().map(|file| file.bytes).sum(),
        licence: licence.unwrap_or_else(|| "licence not stated".to_owned()),
        url: url.to_owned(),
        files: listed,
    })
}

/// The files that a page downloads.
fn names(files: &ModelFiles) -> Result<Vec<String>, CliError> {
    if let Some(names) = firefox_files(files)? {
        return match names.iter().find(|name| name.ends_with(".gz")) {
            None => Ok(names),
            Some(packed) => Err(CliError::Input(format!(
                "{}: a page takes plain files; unpack it with gunzip",
                files.file_label(packed)
            ))),
        };
    }
    let has_pieces = PIECES.iter().any(|name| files.has(name));
    let text: Vec<&str> = match has_pieces {
        true => [PIECES, BESIDE_PIECES].concat(),
        false if files.has(TOKENIZER) => [&[TOKENIZER][..], &ADDED].concat(),
        false => [OLDER, ["", ADDED[0], ADDED[1]]].concat(),
    };
    let small = SMALL.into_iter().chain(text).filter(|name| !name.is_empty() && files.has(name));
    let mut names: Vec<String> = small.map(str::to_owned).collect();
    for [single, index] in WEIGHTS {
        if files.has(single) {
            names.push(single.to_owned());
            return Ok(names);
        }
        if files.has(index) {
            names.push(index.to_owned());
            names.extend(shards(&files.read(index, MOST_BYTES)?));
            return Ok(names);
        }
    }
    Ok(names) // weights of another name, or none
}

fn shards(index: &[u8]) -> Vec<String> {
    #[derive(Deserialize)]
    struct Index {
        weight_map: BTreeMap<String, String>,
    }
    let Ok(index) = serde_json::from_slice::<Index>(index) else { return Vec::new() };
    let mut names: Vec<String> = index.weight_map.into_values().collect();
    names.sort();
    names.dedup();
    names
}

fn describe(files: &ModelFiles, name: &str, hashes: bool) -> Result<ListedFile, CliError> {
    let file = files.open(name)?;
    if !hashes {
        return Ok(ListedFile { bytes: file.len(), sha256: String::new() });
    }
    let mut hash = Sha256::new();
    let mut buffer = Vec::new();
    let mut at = 0;
    while at < file.len() {
        buffer.resize(CHUNK.min(file.len() - at) as usize, 0);
        file.read_at(at, &mut buffer)?;
        hash.update(&buffer);
        at += buffer.len() as u64;
    }
    let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(ListedFile { bytes: file.len(), sha256 })
}

#[derive(Default, Deserialize)]
struct TokenizerConfig {
    source_lang: Option<String>,
    target_lang: Option<String>,
}

fn tokenizer_config(files: &ModelFiles) -> TokenizerConfig {
    let content = files.read("tokenizer_config.json", MOST_BYTES).ok();
    content.and_then(|content| serde_json::from_slice(&content).ok()).unwrap_or_default()
}

impl TokenizerConfig {
    /// Source and target language, by this file, or else by a folder's name such as `opus-mt-en-fr`.
    fn pair(self, name: &str) -> Option<[String; 2]> {
        if let (Some(source), Some(target)) = (self.source_lang, self.target_lang)
            && is_code(&source)
            && is_code(&target)
        {
            return Some([source, target]);
        }
        let (rest, target) = name.rsplit_once(['-', '_'])?;
        let (_, source) = rest.rsplit_once(['-', '_'])?;
        (is_code(source) && is_code(target)).then(|| [source.to_owned(), target.to_owned()])
    }
}

/// Source and target language by the name of a Firefox model's weights: `model.ende.intgemm.alphas.bin`.
fn pair_of_weights(file: &str) -> Option<[String; 2]> {
    let (languages, rest) = file.strip_prefix("model.")?.split_once('.')?;
    let pair = [languages.get(..2)?, languages.get(2..)?];
    let is_pair = rest.ends_with("bin") && pair[1].len() == 2 && pair.iter().all(|code| is_code(code));
    is_pair.then(|| pair.map(str::to_owned))
}

/// Whether this is a language by its shape, such as `en`, `deu` or `zho_Hans`.
fn is_code(code: &str) -> bool {
    let mut parts = code.split(['-', '_']);
    let first = parts.next().unwrap_or_default();
    (2..=3).contains(&first.len())
        && first.bytes().all(|byte| byte.is_ascii_lowercase())
        && parts.all(|part| {
            (2..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
}

/// The pairs of a model, and the languages of a model that translates each into each other.
fn languages(tokenizer: &Tokenizer, named: Option<[String; 2]>) -> Option<(Vec<[String; 2]>, Vec<String>)> {
    let codes: Vec<&str> = tokenizer.languages().into_iter().filter(|code| is_code(code)).collect();
    let Some(&first) = codes.first() else { return Some((vec![named?], Vec::new())) };
    match tokenizer.direction(Some(first), None) {
        // a tag selects the target language
        Err(TextError::NoLanguages { .. }) => {
            let [source, _] = named?;
            Some((codes.iter().map(|&target| [source.clone(), target.to_owned()]).collect(), Vec::new()))
        }
        Ok(direction) if direction.target.is_some() => {
            Some((Vec::new(), codes.into_iter().map(str::to_owned).collect()))
        }
        // the tasks of a T5 model
        _ => {
            let pairs: Vec<[String; 2]> = codes
                .iter()
                .flat_map(|&source| codes.iter().map(move |&target| [source, target]))
                .filter(|&[source, target]| tokenizer.direction(Some(source), Some(target)).is_ok())
                .map(|pair| pair.map(str::to_owned))
                .collect();
            (!pairs.is_empty()).then_some((pairs, Vec::new()))
        }
    }
}

/// The folders of models in `folder`: itself, or those directly in it.
pub fn folders(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let failed =
        |source: io::Error| CliError::Io { what: format!("cannot read {}", folder.display()), source };
    let folder = fs::canonicalize(folder).map_err(failed)?;
    if is_model(&folder) {
        return Ok(vec![folder]);
    }
    let mut found = Vec::new();
    for path in folders_in(&folder).map_err(failed)? {
        match is_model(&path) {
            true => found.push(path),
            // Firefox's models lie one folder deeper: `en-fr/tiny/`
            false => {
                found.extend(folders_in(&path).map_err(failed)?.into_iter().filter(|path| is_model(path)))
            }
        }
    }
    if found.is_empty() {
        let what =
            "neither it nor a folder in it has a config.json or a Firefox model; give the folder of a model";
        return Err(CliError::Input(format!("{}: {what}", folder.display())));
    }
    Ok(found)
}

/// Whether a folder is a model's: it has a configuration, or the weights of a Firefox model.
fn is_model(folder: &Path) -> bool {
    folder.join("config.json").is_file()
        || ModelFiles::directory(folder).is_ok_and(|files| !matches!(firefox_files(&files), Ok(None)))
}

fn folders_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut folders = entries
        .filter(|path| path.as_ref().map_or(true, |path| path.is_dir()))
        .collect::<io::Result<Vec<_>>>()?;
    folders.sort();
    Ok(folders)
}

/// The name of a model by its folder. In the hub's cache, the folder's own name is a commit.
fn name_of(folder: &Path) -> String {
    let own = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let repository = folder.parent().and_then(Path::parent).and_then(own);
    let cached = repository.as_deref().and_then(|name| name.strip_prefix("models--"));
    let name = match cached.and_then(|name| name.rsplit_once("--")) {
        Some((_, name)) => name.to_owned(),
        None => own(folder).unwrap_or_default(),
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let name: String = name.chars().map(plain).take(80).collect();
    let name = name.trim_matches(['-', '.']);
    if name.is_empty() { "model".into() } else { name.into() }
}

/// What is known of the model in a folder. `fetched`: the models that were fetched by name.
pub fn about(folder: &Path, fetched: &[CachedModel]) -> About {
    let path = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let is_this = |model: &&CachedModel| fs::canonicalize(&model.folder).is_ok_and(|folder| folder == path);
    let known = fetched.iter().find(is_this);
    match known {
        Some(model) if model.family == "firefox" => About {
            name: model.name.clone(),
            licence: model.licence.clone(),
            pair: match (&model.languages.from[..], &model.languages.to[..]) {
                ([from], [to]) => Some([from.clone(), to.clone()]),
                _ => None,
            },
        },
        _ => About {
            name: name_of(&path),
            licence: licence(folder).or_else(|| known.and_then(|model| model.licence.clone())),
            pair: None,
        },
    }
}

/// The licence that the header of a model card states.
fn licence(folder: &Path) -> Option<String> {
    let card = ["README.md", "MODEL_CARD.md"].iter().find_map(|name| fs::read(folder.join(name)).ok())?;
    let card = String::from_utf8_lossy(&card[..card.len().min(64 << 10)]).into_owned();
    let header = card.strip_prefix("---")?.split("\n---").next()?;
    let line = header.lines().find_map(|line| line.strip_prefix("license:"))?;
    let licence = line.trim().trim_matches(['"', '\'']);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ' ' | '+');
    (!licence.is_empty() && licence.len() <= 64 && licence.chars().all(plain)).then(|| licence.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_known_by_their_shape() {
        for code in ["en", "deu", "zho_Hans", "pt-BR"] {
            assert!(is_code(code), "{code}");
        }
        for code in ["", "e", "ROMANCE", "EN", "mt4x", "en_", "en_\"><b>"] {
            assert!(!is_code(code), "{code}");
        }
        let pair = |name: &str| TokenizerConfig::default().pair(name);
        assert_eq!(pair("opus-mt-en-fr"), Some(["en".into(), "fr".into()]));
        assert_eq!(pair("opus-mt-ROMANCE-en"), None);
        assert_eq!(pair("nllb"), None);
    }

    #[test]
    fn a_folder_of_the_hub_s_cache_has_the_repository_s_name() {
        let name = |path: &str| name_of(Path::new(path));
        assert_eq!(name("/hub/models--Helsinki-NLP--opus-mt-en-fr/snapshots/0123"), "opus-mt-en-fr");
        assert_eq!(name("/models/opus mt <en>"), "opus-mt--en");
        assert_eq!(name("/"), "model");
    }
}
