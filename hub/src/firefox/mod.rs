//! Firefox's models: Mozilla's registry, and the folder of those that are here.
//!
//! A model lies in `firefox/FROM-TO/ARCHITECTURE/` under its published names, unpacked, beside `firefox.json` with its
//! entry of the registry and the SHA-256 of each file.

mod notes;
mod registry;
mod unpack;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cache::{entries, remove_folder};
use crate::cached::{CachedModel, Languages};
use crate::choose::is_safe;
use crate::download::Download;
use crate::http::{Answer, Client};
use crate::watch::Watch;
use crate::{HubError, Settings, lock};
use notes::{Notes, copied, is_whole, sha256_of};
pub use registry::FirefoxModel;
use registry::{Entry, Registry, RemoteFile};
use unpack::{UNPACKED, unpack};

/// Maximum length of the registry, bytes.
const REGISTRY: usize = 64 << 20;
/// The files of a model that Wordloom reads, by their keys in the registry.
const FILES: [&str; 5] = ["model", "lexicalShortlist", "vocab", "srcVocab", "trgVocab"];

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
                if let Some(Notes { entry, sha256 }) =
                    Notes::read(&folder).filter(|_| !architecture.contains('.'))
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
                        revision: entry.version().to_owned(),
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
        let whole = found.filter(|(notes, folder)| notes.gap(folder).is_none());
        Ok(whole.map(|(_, folder)| folder).next())
    }

    /// The first missing file of a model on disk.
    pub fn gap(&self, from: &str, to: &str, architecture: Option<&str>) -> Result<Option<String>, HubError> {
        let found = self.on_disk((from, to, architecture))?;
        Ok(found.first().and_then(|(notes, folder)| notes.gap(folder)))
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
                found.extend(Notes::read(&folder).map(|notes| (notes, folder)));
            }
        }
        found.retain(|(Notes { entry, .. }, _)| {
            entry.translates(from, to) && architecture.is_none_or(|wanted| wanted == entry.architecture)
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
        let entry = registry.chosen(pair)?;
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
        let files: Vec<&RemoteFile> = FILES.iter().filter_map(|key| entry.files.get(*key)).collect();
        let has = |key: &str| entry.files.contains_key(key);
        if !has("model") || !(has("vocab") || (has("srcVocab") && has("trgVocab"))) {
            let problem = format!("{} has no model or no vocabulary", entry.name());
            return Err(HubError::BadAnswer { url: self.settings.firefox_registry.clone(), problem });
        }
        if let Some(file) =
            files.iter().map(|file| file.name()).find(|file| !is_safe(file) || file.contains('/'))
        {
            return Err(HubError::UnsafeFileName { name: entry.name(), file: file.to_owned() });
        }
        // published sizes are those of unpacked files; each file's difference is added when it is unpacked
        let total = files.iter().filter_map(|file| file.uncompressed_size).sum();
        watch.start(&entry.name(), total, 0);
        let mut sha256 = BTreeMap::new();
        for file in files {
            let place = folder.join(file.name());
            let interrupted = sha256_of(&place).ok().filter(|digits| file.has_hash(digits));
            let digits = match interrupted.or_else(|| copied(older, file, &place)) {
                Some(digits) => digits,
                None => self.fetch_file(client, &format!("{base}/{}", file.path), file, &place, watch)?,
            };
            sha256.insert(file.name().to_owned(), digits);
        }
        Notes { entry: entry.clone(), sha256 }.write(folder)
    }

    /// Fetches a file, unpacks it and checks it. Returns its SHA-256.
    fn fetch_file(
        &self,
        client: &Client,
        url: &str,
        file: &RemoteFile,
        place: &Path,
        watch: &mut Watch,
    ) -> Result<String, HubError> {
        let packed = sibling(place, "packed");
        let download = Download {
            url: url.to_owned(),
            name: file.name(),
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
        let digits = unpack(&packed, &sibling(place, "unpacked"), file).inspect_err(|error| {
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
        let Some(notes) = Notes::read(folder) else {
            return Err(HubError::BadFile {
                name: folder.display().to_string(),
                file: notes::FILE.into(),
                problem: "it is damaged".into(),
            });
        };
        let size = |file: &String| fs::metadata(folder.join(file)).map_or(0, |file| file.len());
        let total = notes.sha256.keys().map(size).sum();
        let name = notes.entry.name();
        watch.start(&name, total, 0);
        for (file, promised) in &notes.sha256 {
            let path = folder.join(file);
            let found = sha256_of(&path).map_err(|error| HubError::io("read", &path, error))?;
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

/// Begins a download, or goes on with one of the same entry; parts of another one are thrown away.
fn begin(folder: &Path, entry: &Entry) -> Result<(), HubError> {
    let json = |entry: &Entry| serde_json::to_value(entry).ok();
    if Notes::read(folder).is_some_and(|notes| json(&notes.entry) == json(entry)) {
        return Ok(());
    }
    remove_folder(folder)?;
    Notes { entry: entry.clone(), sha256: BTreeMap::new() }.write(folder)
}

/// `PATH.END`.
fn sibling(path: &Path, end: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(end);
    path.with_file_name(name)
}
