//! The cache and the registries behind one door.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use wordloom::transformer::Cancel;

use crate::cache::{MAIN, Repository};
use crate::cached::CachedModel;
use crate::firefox::{Firefox, FirefoxModel};
use crate::hash::FileHash;
use crate::http::Client;
use crate::record::{self, Record, plain};
use crate::reference::is_part;
use crate::repository::{Fetch, is_supported};
use crate::watch::Watch;
use crate::{HubError, ModelReference, Progress, Settings, gaps, languages};

/// The cache and the registries, with settings.
#[derive(Clone, Debug)]
pub struct Hub {
    settings: Settings,
}

/// A model of which only a part has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Name of the model.
    pub name: String,
    /// Bytes that are there.
    pub bytes: u64,
}

impl Hub {
    /// A hub with these settings.
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// A hub with the settings of the environment.
    pub fn from_environment() -> Result<Self, HubError> {
        Ok(Self::new(Settings::from_environment()?))
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The complete models in the cache that Wordloom runs, by name; Firefox's last. Asks no network, reads no weights.
    pub fn cached_models(&self) -> Result<Vec<CachedModel>, HubError> {
        let mut models = Vec::new();
        for repository in Repository::all(&self.settings.cache)? {
            let references = repository.references()?;
            for commit in repository.commits()?.into_iter().filter(|commit| repository.has_weights(commit)) {
                let mut names = references.iter().filter(|(_, of)| **of == commit).map(|(name, _)| &**name);
                let name = match () {
                    () if references.get(MAIN) == Some(&commit) => repository.name.clone(),
                    () => format!("{}@{}", repository.name, names.next().unwrap_or(&commit)),
                };
                models.extend(self.describe(&repository, &commit, name)?);
            }
        }
        models.extend(Firefox::new(&self.settings).cached()?);
        Ok(models)
    }

    /// A commit of a family that Wordloom runs.
    fn describe(
        &self,
        repository: &Repository,
        commit: &str,
        name: String,
    ) -> Result<Option<CachedModel>, HubError> {
        let folder = repository.snapshot(commit);
        let config = fs::read(folder.join("config.json")).ok();
        let config: Value = config.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let family = config.get("model_type").and_then(Value::as_str).unwrap_or_default().to_owned();
        if !is_supported(&family) {
            return Ok(None);
        }
        let record = self.record(repository, commit);
        let card = record.as_ref().map(|record| &record.languages[..]).unwrap_or_default();
        Ok(Some(CachedModel {
            languages: languages::of(&folder, &family, &repository.name, card),
            bytes: repository.bytes(commit)?,
            licence: record
                .and_then(|record| record.licence)
                .or_else(|| licence_of(&folder.join("README.md")))
                .map(|licence| plain(&licence)), // older notes have it as it came
            revision: commit.to_owned(),
            name,
            family,
            folder,
        }))
    }

    fn record(&self, repository: &Repository, commit: &str) -> Option<Record> {
        Record::read(&record::place(&self.settings.own, &repository.folder, commit))
    }

    /// The models of which only a part has arrived, or only a part is left: they are none of
    /// [`cached_models`](Self::cached_models).
    pub fn unfinished(&self) -> Result<Vec<Unfinished>, HubError> {
        let mut found = Vec::new();
        for repository in Repository::all(&self.settings.cache)? {
            // with notes, it was complete
            let noted = |commit: &String| self.record(&repository, commit).is_some();
            let left = repository.commit(MAIN).filter(noted).filter(|commit| !repository.has_weights(commit));
            let left = left.map_or(Ok(0), |commit| repository.bytes(&commit))?;
            let bytes = repository.partial_bytes()? + left;
            if bytes > 0 {
                found.push(Unfinished { name: repository.name, bytes });
            }
        }
        Ok(found)
    }

    /// The folder of a model in the cache; `None` if it is not there, or not complete. Asks no network.
    pub fn find(&self, reference: &ModelReference) -> Result<Option<PathBuf>, HubError> {
        match reference {
            ModelReference::Folder(folder) => Ok(Some(folder.clone())),
            ModelReference::Hub { repository, revision } => {
                let (repository, commit) = self.present(repository, revision.as_deref());
                let Some(commit) = commit else { return Ok(None) };
                Ok(self.gap(reference)?.is_none().then(|| repository.snapshot(&commit)))
            }
            ModelReference::Firefox { from, to, architecture } => {
                Firefox::new(&self.settings).find(from, to, architecture.as_deref())
            }
        }
    }

    /// A model of the cache whose name has no owner: `t5-small`, as other programs have fetched it under the hub's older
    /// names. `None` if none is called so.
    pub fn without_owner(&self, name: &str) -> Option<ModelReference> {
        let is_here = is_part(name) && Repository::new(&self.settings.cache, name).exists();
        is_here.then(|| ModelReference::Hub { repository: name.to_owned(), revision: None })
    }

    /// A repository, and its commit at a revision if there is a folder of it.
    fn present(&self, name: &str, revision: Option<&str>) -> (Repository, Option<String>) {
        let repository = Repository::new(&self.settings.cache, name);
        let commit = repository.commit(revision.unwrap_or(MAIN));
        let commit = commit.filter(|commit| repository.snapshot(commit).is_dir());
        (repository, commit)
    }

    /// The first missing file of a model that is in the cache in part.
    fn gap(&self, reference: &ModelReference) -> Result<Option<String>, HubError> {
        match reference {
            ModelReference::Folder(_) => Ok(None),
            ModelReference::Hub { repository, revision } => {
                let (repository, commit) = self.present(repository, revision.as_deref());
                let Some(commit) = commit else { return Ok(None) };
                gaps::first(&repository, &commit, self.record(&repository, &commit).as_ref())
            }
            ModelReference::Firefox { from, to, architecture } => {
                Firefox::new(&self.settings).gap(from, to, architecture.as_deref())
            }
        }
    }

    /// The folder of a model, which is fetched first if it is not in the cache. What is in the cache is taken as it is,
    /// without a network.
    pub fn get(
        &self,
        reference: &ModelReference,
        progress: &mut dyn Progress,
        cancel: &Cancel,
    ) -> Result<PathBuf, HubError> {
        match self.find(reference)? {
            Some(folder) => Ok(folder),
            None => self.fetch(reference, progress, cancel),
        }
    }

    /// Fetches what is missing of a model's newest version, and returns its folder. Asks the network even if the model
    /// is in the cache.
    pub fn fetch(
        &self,
        reference: &ModelReference,
        progress: &mut dyn Progress,
        cancel: &Cancel,
    ) -> Result<PathBuf, HubError> {
        let mut watch = Watch::new(progress, cancel);
        let result = self.fetched(reference, &mut watch);
        watch.finish();
        match result {
            Err(HubError::Unreachable { host, reason }) => {
                self.offline(reference, format!("{host} does not answer: {reason}"), &mut watch)
            }
            result => result,
        }
    }

    fn fetched(&self, reference: &ModelReference, watch: &mut Watch) -> Result<PathBuf, HubError> {
        if let ModelReference::Folder(folder) = reference {
            return Ok(folder.clone());
        }
        if self.settings.offline {
            return self.offline(reference, "HF_HUB_OFFLINE is set".into(), watch);
        }
        match reference {
            ModelReference::Firefox { .. } => self.settings.check_registry()?,
            _ => self.settings.check_hub()?,
        }
        let client = Client::new(&self.settings)?;
        match reference {
            ModelReference::Folder(folder) => Ok(folder.clone()),
            ModelReference::Hub { repository, revision } => {
                let fetch = Fetch::new(&self.settings, &client, repository, revision.as_deref());
                fetch.run(&self.names()?, watch)
            }
            ModelReference::Firefox { from, to, architecture } => {
                Firefox::new(&self.settings).fetch(&client, (from, to, architecture.as_deref()), watch)
            }
        }
    }

    /// What there is without a network.
    fn offline(
        &self,
        reference: &ModelReference,
        reason: String,
        watch: &mut Watch,
    ) -> Result<PathBuf, HubError> {
        if let Some(folder) = self.find(reference)? {
            watch
                .notice(&format!("{reference}: no newer version was asked for ({reason}); this one is here"));
            return Ok(folder);
        }
        let gap = self.gap(reference)?;
        if let (Some(file), ModelReference::Hub { repository, revision }) = (&gap, reference) {
            let (repository, commit) = self.present(repository, revision.as_deref());
            // of another program: weights without a tokenizer are enough for some commands
            let is_usable = |commit: &String| {
                self.record(&repository, commit).is_none() && repository.has_weights(commit)
            };
            if let Some(commit) = commit.filter(is_usable) {
                watch.notice(&format!(
                    "{reference} is in the cache without {file} ({reason}); \
                     `wordloom models get {reference}` fetches it with a network"
                ));
                return Ok(repository.snapshot(&commit));
            }
        }
        let name = reference.to_string();
        Err(match gap {
            Some(file) => HubError::Incomplete { name, file, offline: Some(format!("offline: {reason}")) },
            None => HubError::Offline { name, reason, cached: self.names()? },
        })
    }

    fn names(&self) -> Result<Vec<String>, HubError> {
        Ok(self.cached_models()?.into_iter().map(|model| model.name).collect())
    }

    fn not_cached(&self, reference: &ModelReference) -> HubError {
        match self.names() {
            Ok(cached) => HubError::NotCached { name: reference.to_string(), cached },
            Err(error) => error,
        }
    }

    /// The Firefox models that can be fetched: pair by pair, the preferred one first.
    pub fn firefox_models(
        &self,
        progress: &mut dyn Progress,
        cancel: &Cancel,
    ) -> Result<Vec<FirefoxModel>, HubError> {
        if self.settings.offline {
            return Err(HubError::Offline {
                name: "the list of Firefox models".into(),
                reason: "HF_HUB_OFFLINE is set".into(),
                cached: self.names()?,
            });
        }
        self.settings.check_registry()?;
        let client = Client::new(&self.settings)?;
        Firefox::new(&self.settings).available(&client, &mut Watch::new(progress, cancel))
    }

    /// Removes a model from the cache. Returns the freed bytes. Files that another revision uses stay, and so do all
    /// files of a commit that another branch or tag names: then only the given name goes. A commit goes with all its
    /// names.
    pub fn remove(&self, reference: &ModelReference) -> Result<u64, HubError> {
        match reference {
            ModelReference::Folder(_) => Err(self.not_cached(reference)),
            ModelReference::Firefox { from, to, architecture } => {
                let freed = Firefox::new(&self.settings).remove(from, to, architecture.as_deref())?;
                freed.ok_or_else(|| self.not_cached(reference))
            }
            ModelReference::Hub { repository, revision } => {
                let repository = Repository::new(&self.settings.cache, repository);
                let commit = self.removable(&repository, revision.as_deref())?;
                let commit = commit.ok_or_else(|| self.not_cached(reference))?;
                if repository.is_locked()? {
                    return Err(HubError::InUse { name: repository.name });
                }
                let name = revision.as_deref().unwrap_or(MAIN);
                if repository.is_named_otherwise(&commit, name)? {
                    repository.remove_reference(name)?;
                    return Ok(0); // the files are the other name's, too
                }
                let freed = repository.remove(&commit)?;
                let notes = record::place(&self.settings.own, &repository.folder, &commit);
                let _ = fs::remove_file(&notes); // there may be none
                if let Some(folder) = notes.parent() {
                    let _ = fs::remove_dir(folder); // unless it holds another revision's
                }
                Ok(freed)
            }
        }
    }

    /// The commit to remove: that of the revision; without one, an interrupted download's, which no branch names yet.
    fn removable(&self, repository: &Repository, revision: Option<&str>) -> Result<Option<String>, HubError> {
        let commits = repository.commits()?;
        if let Some(commit) = repository.commit(revision.unwrap_or(MAIN)) {
            return Ok(Some(commit).filter(|commit| commits.contains(commit)));
        }
        match (&commits[..], revision) {
            ([only], None) => Ok(Some(only.clone())),
            // nothing is linked yet, so that any commit names the same files: all of them
            ([], None) if repository.partial_bytes()? > 0 => Ok(Some(String::new())),
            _ => Ok(None),
        }
    }

    /// Compares the files of a model in the cache with the hashes under which they were published. Returns the number
    /// of checked bytes.
    pub fn verify(
        &self,
        reference: &ModelReference,
        progress: &mut dyn Progress,
        cancel: &Cancel,
    ) -> Result<u64, HubError> {
        let mut watch = Watch::new(progress, cancel);
        let Some(folder) = self.find(reference)? else {
            return Err(match self.gap(reference)? {
                Some(file) => HubError::Incomplete { name: reference.to_string(), file, offline: None },
                None => self.not_cached(reference),
            });
        };
        let result = match reference {
            ModelReference::Folder(_) => Err(self.not_cached(reference)),
            ModelReference::Firefox { .. } => Firefox::new(&self.settings).verify(&folder, &mut watch),
            ModelReference::Hub { repository, .. } => {
                let repository = Repository::new(&self.settings.cache, repository);
                let commit = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
                self.verify_commit(&repository, &commit, &reference.to_string(), &mut watch)
            }
        };
        watch.finish();
        result
    }

    fn verify_commit(
        &self,
        repository: &Repository,
        commit: &str,
        name: &str,
        watch: &mut Watch,
    ) -> Result<u64, HubError> {
        let record = self.record(repository, commit).unwrap_or_default();
        let total = repository.bytes(commit)?;
        watch.start(name, total, 0);
        let mut checked = 0;
        for file in repository.files(commit)? {
            let digits = record.files.get(&file).cloned().or_else(|| repository.linked(commit, &file));
            let Some(hash) = digits.and_then(|digits| FileHash::from_etag(&digits)) else {
                watch.notice(&format!("{name}: {file}: no published hash is known; it was not checked"));
                continue;
            };
            let path = repository.snapshot(commit).join(&file);
            let failed = |error| HubError::io("read", &path, error);
            let mut content = fs::File::open(&path).map_err(failed)?;
            let length = content.metadata().map_err(failed)?.len();
            let mut hasher = hash.hasher(length);
            let read = hasher.update_from(&mut content, |bytes| {
                watch.advance(bytes);
                !watch.is_cancelled()
            });
            if !read.map_err(failed)? {
                return Err(HubError::Cancelled);
            }
            let found = hasher.finish();
            if found != hash.digits() {
                return Err(HubError::WrongHash {
                    file: path.display().to_string(),
                    kind: hash.kind(),
                    found,
                    promised: hash.digits().to_owned(),
                    advice: format!("`wordloom models remove {name}`, then `wordloom models get {name}`"),
                });
            }
            checked += length;
        }
        Ok(checked)
    }
}

/// The licence in the head of a model's page, if another program has fetched it.
fn licence_of(page: &std::path::Path) -> Option<String> {
    let text = fs::read_to_string(page).ok()?;
    let head = text.strip_prefix("---")?.split("\n---").next()?;
    let licence =
        head.lines().find_map(|line| line.strip_prefix("license:"))?.trim().trim_matches(['"', '\'']);
    (!licence.is_empty() && licence.len() < 64).then(|| licence.to_owned())
}
