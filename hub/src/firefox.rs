//! Mozilla's registry of Firefox models.
//!
//! A model lies in `firefox/FROM-TO/ARCHITECTURE/` under its published names, unpacked, beside `firefox.json` with its
//! entry of the registry and the SHA-256 of each file.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cache::{entries, remove_folder};
use crate::cached::{CachedModel, Languages};
use crate::choose::is_safe;
use crate::download::Download;
use crate::hash::FileHash;
use crate::http::{Answer, Client};
use crate::record::write_at_once;
use crate::watch::Watch;
use crate::{HubError, Settings, lock};

/// Maximum length of the registry, bytes.
const REGISTRY: usize = 64 << 20;
/// Maximum length of an unpacked file whose size is not published, bytes.
const UNPACKED: u64 = 1 << 30;
/// Architectures, the better first: base-memory is what Firefox takes on computers; base is larger and little better.
const ORDER: [&str; 3] = ["base-memory", "base", "tiny"];
/// The files of a model that Wordloom reads, by their keys in the registry.
const FILES: [&str; 5] = ["model", "lexicalShortlist", "vocab", "srcVocab", "trgVocab"];
const NOTES: &str = "firefox.json";

/// The registry.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Registry {
    base_url: String,
    models: BTreeMap<String, Vec<Entry>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    architecture: String,
    #[serde(default)]
    release_status: Option<String>,
    source_language: String,
    target_language: String,
    files: BTreeMap<String, RemoteFile>,
    #[serde(default)]
    metrics: Value,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RemoteFile {
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uncompressed_size: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uncompressed_hash: Option<String>,
}

/// The notes beside a model.
#[derive(Serialize, Deserialize)]
struct Notes {
    /// The registry's entry.
    entry: Entry,
    /// SHA-256 of each file, as published, or as it came if none is published.
    sha256: BTreeMap<String, String>,
}

/// A Firefox model that can be fetched.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FirefoxModel {
    /// Source language.
    pub from: String,
    /// Target language.
    pub to: String,
    /// `tiny`, `base` or `base-memory`.
    pub architecture: String,
    /// Bytes of the unpacked weights, if published.
    pub bytes: Option<u64>,
    /// Whether Firefox gives it to its users.
    pub released: bool,
    /// Published BLEU on FLORES-200.
    pub bleu: Option<f64>,
    /// Published COMET on FLORES-200.
    pub comet: Option<f64>,
}

impl Entry {
    fn is_released(&self) -> bool {
        self.release_status.as_deref().is_some_and(|status| status.starts_with("Release"))
    }

    /// Its place in the order of preference: released ones first, then by architecture.
    fn rank(&self) -> (bool, usize) {
        let architecture = ORDER.iter().position(|name| *name == self.architecture).unwrap_or(ORDER.len());
        (!self.is_released(), architecture)
    }

    fn model(&self) -> FirefoxModel {
        let score =
            |name: &str| self.metrics.pointer(&format!("/flores200-plus/{name}")).and_then(Value::as_f64);
        FirefoxModel {
            from: self.source_language.clone(),
            to: self.target_language.clone(),
            architecture: self.architecture.clone(),
            bytes: self.files.get("model").and_then(|file| file.uncompressed_size),
            released: self.is_released(),
            bleu: score("bleu"),
            comet: score("comet"),
        }
    }

    fn name(&self) -> String {
        format!("firefox:{}-{}:{}", self.source_language, self.target_language, self.architecture)
    }
}

/// The Firefox models on disk and in the registry.
pub struct Firefox<'a> {
    settings: &'a Settings,
}

impl<'a> Firefox<'a> {
    pub fn new(settings: &'a Settings) -> Self {
        Self { settings }
    }

    fn root(&self) -> PathBuf {
        self.settings.own.join("firefox")
    }

    /// The complete models on disk, by name.
    pub fn cached(&self) -> Result<Vec<CachedModel>, HubError> {
        let mut models = Vec::new();
        for pair in entries(&self.root())? {
            for architecture in entries(&self.root().join(&pair))? {
                let folder = self.root().join(&pair).join(&architecture);
                if let Some(Notes { entry, sha256 }) = notes(&folder).filter(|_| !architecture.contains('.'))
                {
                    let size = |file: &String| fs::metadata(folder.join(file)).map_or(0, |file| file.len());
                    models.push(CachedModel {
                        name: entry.name(),
                        family: "firefox".into(),
                        languages: Languages {
                            from: vec![entry.source_language.clone()],
                            to: vec![entry.target_language.clone()],
                        },
                        bytes: sha256.keys().map(size).sum(),
                        licence: Some("mpl-2.0".into()),
                        revision: version(&entry),
                        folder,
                    });
                }
            }
        }
        Ok(models)
    }

    /// The folder of a complete model on disk: of this architecture, else of the best that is there.
    pub fn find(
        &self,
        from: &str,
        to: &str,
        architecture: Option<&str>,
    ) -> Result<Option<PathBuf>, HubError> {
        let found = self.on_disk((from, to, architecture))?.into_iter();
        let whole = found.filter(|(notes, folder)| gap(notes, folder).is_none());
        Ok(whole.map(|(_, folder)| folder).next())
    }

    /// The first missing file of a model on disk.
    pub fn gap(&self, from: &str, to: &str, architecture: Option<&str>) -> Result<Option<String>, HubError> {
        let found = self.on_disk((from, to, architecture))?;
        Ok(found.first().and_then(|(notes, folder)| gap(notes, folder)))
    }

    /// The models of a pair on disk, complete or not, the best first.
    fn on_disk(
        &self,
        (from, to, architecture): (&str, &str, Option<&str>),
    ) -> Result<Vec<(Notes, PathBuf)>, HubError> {
        let mut found: Vec<(Notes, PathBuf)> = Vec::new();
        for pair in entries(&self.root())? {
            for name in entries(&self.root().join(&pair))?.into_iter().filter(|name| !name.contains('.')) {
                let folder = self.root().join(&pair).join(name);
                found.extend(notes(&folder).map(|notes| (notes, folder)));
            }
        }
        found.retain(|(Notes { entry, .. }, _)| {
            is_pair(entry, from, to) && architecture.is_none_or(|wanted| wanted == entry.architecture)
        });
        found.sort_by_key(|(notes, _)| notes.entry.rank());
        Ok(found)
    }

    /// The models of the registry, and in which order it prefers them: the best of each pair first.
    pub fn available(&self, client: &Client, watch: &mut Watch) -> Result<Vec<FirefoxModel>, HubError> {
        let registry = self.registry(client, watch)?;
        let models = registry.models.into_values().map(|mut models| {
            models.sort_by_key(Entry::rank);
            models
        });
        Ok(models.flatten().map(|entry| entry.model()).collect())
    }

    fn registry(&self, client: &Client, watch: &mut Watch) -> Result<Registry, HubError> {
        let url = &self.settings.firefox_registry;
        let registry: Registry = client.json(url, REGISTRY, watch, Answer::into_error)?;
        let encrypted = |url: &str| url.starts_with("https://");
        match encrypted(&registry.base_url) || (registry.base_url.starts_with("http://") && !encrypted(url)) {
            true => Ok(registry),
            false => Err(HubError::BadAnswer {
                url: url.clone(),
                problem: format!("\"baseUrl\" is {:?}", registry.base_url),
            }),
        }
    }

    /// Fetches the newest model of a pair. Returns its folder.
    pub fn fetch(
        &self,
        client: &Client,
        pair: (&str, &str, Option<&str>),
        watch: &mut Watch,
    ) -> Result<PathBuf, HubError> {
        let registry = self.registry(client, watch)?;
        let entry = chosen(&registry, pair)?;
        if !entry.is_released() {
            let status = entry.release_status.as_deref().unwrap_or("not released");
            watch.notice(&format!("warning: {} is not released yet ({status})", entry.name()));
        }
        let name = format!("{}-{}", entry.source_language, entry.target_language);
        for part in [&name, &entry.architecture] {
            if !is_safe(part) || part.contains(['/', '.']) {
                return Err(HubError::UnsafeFileName { name: entry.name(), file: part.clone() });
            }
        }
        let place = self.root().join(&name).join(&entry.architecture);
        if is_whole(&place, entry) {
            return Ok(place); // needs no folder that can be written
        }
        let _lock = lock::take(&sibling(&place, "lock"), &entry.name(), watch)?;
        if is_whole(&place, entry) {
            return Ok(place); // by the other program
        }
        let new = sibling(&place, "incomplete");
        begin(&new, entry)?;
        self.fetch_files(client, (&registry.base_url, entry), (&new, &place), watch)?;
        // a folder is replaced by two renames: a reader finds the old one, the new one, or for a moment none
        let old = sibling(&place, "old");
        remove_folder(&old)?;
        let renamed =
            |from: &Path, to: &Path| fs::rename(from, to).map_err(|error| HubError::io("move", from, error));
        if place.exists() {
            renamed(&place, &old)?;
        }
        renamed(&new, &place)?;
        remove_folder(&old)?;
        Ok(place)
    }

    /// Brings the files of an entry into a folder: from the older folder what it has of them, the others from the server.
    fn fetch_files(
        &self,
        client: &Client,
        (base, entry): (&str, &Entry),
        (folder, older): (&Path, &Path),
        watch: &mut Watch,
    ) -> Result<(), HubError> {
        let files: Vec<(String, &RemoteFile)> = FILES
            .iter()
            .filter_map(|key| entry.files.get(*key))
            .map(|file| (published_name(file), file))
            .collect();
        let has = |key: &str| entry.files.contains_key(key);
        if !has("model") || !(has("vocab") || (has("srcVocab") && has("trgVocab"))) {
            let problem = format!("{} has no model or no vocabulary", entry.name());
            return Err(HubError::BadAnswer { url: self.settings.firefox_registry.clone(), problem });
        }
        if let Some((file, _)) = files.iter().find(|(file, _)| !is_safe(file) || file.contains('/')) {
            return Err(HubError::UnsafeFileName { name: entry.name(), file: file.clone() });
        }
        // published sizes are those of unpacked files; each file's difference is added when it is unpacked
        let total = files.iter().filter_map(|(_, file)| file.uncompressed_size).sum();
        watch.start(&entry.name(), total, 0);
        let mut sha256 = BTreeMap::new();
        for (name, file) in &files {
            let place = folder.join(name);
            let interrupted = digits_of(&place).ok().filter(|digits| is_published(file, digits));
            let digits = match interrupted.or_else(|| copied(older, (name, file), &place)) {
                Some(digits) => digits,
                None => {
                    self.fetch_file(client, &format!("{base}/{}", file.path), (name, file), &place, watch)?
                }
            };
            sha256.insert(name.clone(), digits);
        }
        write_notes(folder, entry, sha256)
    }

    /// Fetches a file, unpacks it and checks it. Returns its SHA-256.
    fn fetch_file(
        &self,
        client: &Client,
        url: &str,
        (name, file): (&str, &RemoteFile),
        place: &Path,
        watch: &mut Watch,
    ) -> Result<String, HubError> {
        let packed = sibling(place, "packed");
        let download = Download {
            url: url.to_owned(),
            name,
            part: sibling(place, "packed.incomplete"),
            place: packed.clone(),
            size: None,
            // packing never adds as much as that
            limit: file.uncompressed_size.unwrap_or(UNPACKED).saturating_add(1 << 20),
            hash: None,
            variable: "WORDLOOM_MODELS",
        };
        if !packed.exists() {
            download.run(client, watch, Answer::into_error)?;
        }
        watch.check()?;
        let digits = unpack(&packed, &sibling(place, "unpacked"), name, file).inspect_err(|error| {
            if !matches!(error, HubError::DiskFull { .. }) {
                let _ = fs::remove_file(&packed); // damaged: the next run fetches it anew
            }
        })?;
        fs::rename(sibling(place, "unpacked"), place)
            .map_err(|error| HubError::io("create", place, error))?;
        fs::remove_file(&packed).map_err(|error| HubError::io("remove", &packed, error))?;
        Ok(digits)
    }

    /// Removes a model. Returns the freed bytes; `None` if it is not there.
    pub fn remove(&self, from: &str, to: &str, architecture: Option<&str>) -> Result<Option<u64>, HubError> {
        let found = self.on_disk((from, to, architecture))?;
        let Some((_, folder)) = found.into_iter().next() else { return Ok(None) };
        let path = sibling(&folder, "lock");
        let Some(lock) = lock::try_take(&path)? else {
            return Err(HubError::InUse { name: format!("firefox:{from}-{to}") });
        };
        let sizes = entries(&folder)?
            .into_iter()
            .map(|name| fs::metadata(folder.join(name)).map_or(0, |file| file.len()));
        let freed = sizes.sum();
        remove_folder(&folder)?;
        drop(lock);
        let _ = fs::remove_file(path);
        if let Some(pair) = folder.parent() {
            let _ = fs::remove_dir(pair); // unless it holds another architecture
        }
        Ok(Some(freed))
    }

    /// Compares the files of a model with their hashes. Returns their bytes.
    pub fn verify(&self, folder: &Path, watch: &mut Watch) -> Result<u64, HubError> {
        let Some(notes) = notes(folder) else {
            return Err(HubError::BadFile {
                name: folder.display().to_string(),
                file: NOTES.into(),
                problem: "it is damaged".into(),
            });
        };
        let size = |file: &String| fs::metadata(folder.join(file)).map_or(0, |file| file.len());
        let total = notes.sha256.keys().map(size).sum();
        let name = notes.entry.name();
        watch.start(&name, total, 0);
        for (file, promised) in &notes.sha256 {
            let path = folder.join(file);
            let found = digits_of(&path).map_err(|error| HubError::io("read", &path, error))?;
            watch.check()?;
            watch.advance(size(file));
            if found != *promised {
                return Err(HubError::WrongHash {
                    file: path.display().to_string(),
                    kind: "sha-256",
                    found,
                    promised: promised.clone(),
                    advice: format!("`wordloom models remove {name}`, then `wordloom models get {name}`"),
                });
            }
        }
        Ok(total)
    }
}

/// The entry of a pair, or the reason why there is none.
fn chosen<'a>(
    registry: &'a Registry,
    (from, to, architecture): (&str, &str, Option<&str>),
) -> Result<&'a Entry, HubError> {
    let all = || registry.models.values().flatten();
    let direct: Vec<&Entry> = all().filter(|entry| is_pair(entry, from, to)).collect();
    let fitting =
        direct.iter().filter(|entry| architecture.is_none_or(|wanted| wanted == entry.architecture));
    if let Some(best) = fitting.min_by_key(|entry| entry.rank()) {
        return Ok(best);
    }
    if let (Some(architecture), false) = (architecture, direct.is_empty()) {
        let known: Vec<&str> = direct.iter().map(|entry| &*entry.architecture).collect();
        return Err(HubError::UnknownArchitecture {
            pair: format!("{from}-{to}"),
            architecture: architecture.to_owned(),
            known: known.join(", "),
        });
    }
    let has = |from: &str, to: &str| all().any(|entry| is_pair(entry, from, to));
    let (from_text, to_text) = (from.to_owned(), to.to_owned());
    if has(from, "en") && has("en", to) {
        return Err(HubError::NoDirectPair {
            from: from_text,
            to: to_text,
            first: format!("firefox:{from}-en"),
            second: format!("firefox:en-{to}"),
        });
    }
    let mut targets: Vec<String> = all()
        .filter(|entry| is_language(&entry.source_language, from))
        .map(|entry| entry.target_language.clone())
        .collect();
    targets.sort();
    targets.dedup();
    Err(HubError::UnknownPair { from: from_text, to: to_text, targets })
}

fn is_pair(entry: &Entry, from: &str, to: &str) -> bool {
    is_language(&entry.source_language, from) && is_language(&entry.target_language, to)
}

/// Whether two codes are the same, whatever separates their parts.
fn is_language(code: &str, other: &str) -> bool {
    code.replace('_', "-").eq_ignore_ascii_case(&other.replace('_', "-"))
}

/// What tells an entry from its successors: the hash of its weights, else their path.
fn version(entry: &Entry) -> String {
    let model = entry.files.get("model");
    model.map(|file| file.uncompressed_hash.clone().unwrap_or_else(|| file.path.clone())).unwrap_or_default()
}

/// The first file that a folder lacks.
fn gap(notes: &Notes, folder: &Path) -> Option<String> {
    notes.sha256.keys().find(|file| !folder.join(file).exists()).cloned()
}

/// Whether a folder has this version of an entry, and every file of it as noted.
fn is_whole(folder: &Path, entry: &Entry) -> bool {
    notes(folder).is_some_and(|notes| {
        version(&notes.entry) == version(entry)
            && notes
                .sha256
                .iter()
                .all(|(file, noted)| digits_of(&folder.join(file)).is_ok_and(|digits| digits == *noted))
    })
}

/// Begins a download, or goes on with one of the same entry; parts of another one are thrown away.
fn begin(folder: &Path, entry: &Entry) -> Result<(), HubError> {
    let json = |entry: &Entry| serde_json::to_value(entry).ok();
    if notes(folder).is_some_and(|notes| json(&notes.entry) == json(entry)) {
        return Ok(());
    }
    remove_folder(folder)?;
    write_notes(folder, entry, BTreeMap::new())
}

fn write_notes(folder: &Path, entry: &Entry, sha256: BTreeMap<String, String>) -> Result<(), HubError> {
    let notes = Notes { entry: entry.clone(), sha256 };
    let text = serde_json::to_vec_pretty(&notes).expect("texts and numbers only");
    write_at_once(&folder.join(NOTES), &text)
}

/// Copies a file from an older folder, if it has the same one undamaged. Returns its SHA-256.
fn copied(older: &Path, (name, file): (&str, &RemoteFile), place: &Path) -> Option<String> {
    let Notes { entry, sha256 } = notes(older)?;
    let noted = sha256.get(name)?;
    let is_same = entry.files.values().any(|known| known.path == file.path)
        && (file.uncompressed_hash.is_none() || is_published(file, noted))
        && digits_of(&older.join(name)).ok()? == *noted;
    (is_same && fs::copy(older.join(name), place).is_ok()).then(|| noted.clone())
}

fn notes(folder: &Path) -> Option<Notes> {
    serde_json::from_slice(&fs::read(folder.join(NOTES)).ok()?).ok()
}

/// The name of a file without its folder and `.gz`.
fn published_name(file: &RemoteFile) -> String {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    name.strip_suffix(".gz").unwrap_or(name).to_owned()
}

/// `PATH.END`.
fn sibling(path: &Path, end: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(end);
    path.with_file_name(name)
}

fn is_published(file: &RemoteFile, digits: &str) -> bool {
    file.uncompressed_hash.as_deref() == Some(digits)
}

/// SHA-256 of a file on disk.
fn digits_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = FileHash::Sha256(String::new()).hasher(0);
    hasher.update_from(&mut file, |_| true)?;
    Ok(hasher.finish())
}

/// Unpacks a file that may be packed, with a check of size and hash. Returns the SHA-256.
fn unpack(packed: &Path, place: &Path, name: &str, file: &RemoteFile) -> Result<String, HubError> {
    let failed = |error| HubError::io("read", packed, error);
    let mut start = [0; 2];
    let mut source = File::open(packed).map_err(failed)?;
    let is_packed = source.read_exact(&mut start).is_ok() && start == [0x1f, 0x8b];
    let source = File::open(packed).map_err(failed)?;
    let reader: Box<dyn Read> =
        if is_packed { Box::new(MultiGzDecoder::new(source)) } else { Box::new(source) };
    // one byte more tells that there is more; a small file can unpack to any size
    let limit = file.uncompressed_size.unwrap_or(UNPACKED);
    let mut reader = reader.take(limit + 1);
    let mut out = File::create(place).map_err(|error| HubError::io("create", place, error))?;
    let mut hasher = FileHash::Sha256(String::new()).hasher(0);
    let (mut length, mut buffer) = (0, vec![0; 1 << 16]);
    let advice = "try again, and if it stays so, tell the publisher";
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                let problem = format!("it cannot be unpacked ({error}); {advice}");
                return Err(HubError::BadFile {
                    name: "the download".into(),
                    file: name.to_owned(),
                    problem,
                });
            }
        };
        length += count as u64;
        hasher.update(&buffer[..count]);
        out.write_all(&buffer[..count]).map_err(|error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                HubError::DiskFull {
                    file: name.to_owned(),
                    folder: place.parent().unwrap_or(Path::new(".")).to_owned(),
                    missing: limit.saturating_sub(length),
                    variable: "WORDLOOM_MODELS",
                }
            }
            _ => HubError::io("write", place, error),
        })?;
    }
    out.sync_all().map_err(|error| HubError::io("write", place, error))?;
    if length > limit || file.uncompressed_size.is_some_and(|size| size != length) {
        let (promised, advice) = (limit, advice.into());
        return Err(HubError::WrongSize { file: name.to_owned(), found: length, promised, advice });
    }
    let found = hasher.finish();
    match &file.uncompressed_hash {
        Some(promised) if *promised != found => Err(HubError::WrongHash {
            file: name.to_owned(),
            kind: "sha-256",
            found,
            promised: promised.clone(),
            advice: advice.into(),
        }),
        _ => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry() -> Registry {
        let entry = |from: &str, to: &str, architecture: &str, status: &str| {
            serde_json::json!({"architecture": architecture, "releaseStatus": status, "sourceLanguage": from,
                "targetLanguage": to, "files": {"model": {"path": "m/model.bin.gz"}, "vocab": {"path": "v.spm.gz"}}})
        };
        serde_json::from_value(serde_json::json!({"generated": "", "baseUrl": "https://x", "models": {
            "en-fr": [entry("en", "fr", "base", "Release"), entry("en", "fr", "base-memory", "Release Desktop"),
                      entry("en", "fr", "tiny", "Release Android")],
            "de-en": [entry("de", "en", "base-memory", "Nightly"), entry("de", "en", "tiny", "Release")],
            "en-zh_hant": [entry("en", "zh_hant", "tiny", "Nightly")]}}))
        .expect("a registry")
    }

    #[test]
    fn released_models_come_first_and_then_base_memory() {
        let registry = registry();
        let architecture = |pair| chosen(&registry, pair).map(|entry| entry.architecture.clone()).ok();
        assert_eq!(architecture(("en", "fr", None)).as_deref(), Some("base-memory"));
        assert_eq!(architecture(("en", "fr", Some("tiny"))).as_deref(), Some("tiny"));
        assert_eq!(architecture(("de", "en", None)).as_deref(), Some("tiny"));
        assert_eq!(architecture(("en", "zh-Hant", None)).as_deref(), Some("tiny"));
    }

    #[test]
    fn what_there_is_not_is_said_with_the_way_out() {
        let registry = registry();
        let error = |pair| chosen(&registry, pair).expect_err("no model").to_string();
        let pivot = error(("de", "fr", None));
        assert!(
            pivot.contains("models get firefox:de-en") && pivot.contains("models get firefox:en-fr"),
            "{pivot}"
        );
        assert!(error(("en", "ja", None)).contains("from en there are fr, zh_hant"));
        assert!(error(("xx", "yy", None)).contains("nor any from xx"));
        assert!(
            error(("en", "fr", Some("huge"))).contains("comes as base, base-memory, tiny, not as \"huge\"")
        );
    }
}
