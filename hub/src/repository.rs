//! The fetching of a repository of the hub: its list of files, the choice of the needed ones, and each into the cache.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;
use wordloom::model::config::Family;

use crate::cache::{self, MAIN, Repository};
use crate::choose::{self, Weights};
use crate::download::Download;
use crate::hash::FileHash;
use crate::http::{Answer, Client, Method};
use crate::near::nearest;
use crate::record::{self, Record, plain};
use crate::watch::Watch;
use crate::{HubError, Settings, lock};

/// Maximum length of an answer in JSON, bytes: a list of files.
const ANSWER: usize = 32 << 20;
/// Maximum length of a file that is read during the choice, bytes.
const SMALL: u64 = 64 << 20;
/// Similar names that are asked for at the hub.
const SEARCHED: usize = 20;

/// The hub's answer about a repository at a revision.
#[derive(Deserialize)]
struct Info {
    sha: String,
    #[serde(default)]
    siblings: Vec<Sibling>,
    #[serde(default, rename = "cardData")]
    card: Value,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
    size: Option<u64>,
    #[serde(rename = "blobId")]
    blob: Option<String>,
    lfs: Option<LargeFile>,
}

#[derive(Deserialize)]
struct LargeFile {
    sha256: Option<String>,
}

/// A file to fetch, as it was published.
#[derive(Clone)]
struct Published {
    hash: FileHash,
    size: u64,
}

/// A repository that is being fetched.
pub struct Fetch<'a> {
    settings: &'a Settings,
    client: &'a Client,
    repository: Repository,
    /// As the user gave it; the main branch if `None`.
    revision: Option<&'a str>,
}

impl<'a> Fetch<'a> {
    pub fn new(settings: &'a Settings, client: &'a Client, name: &str, revision: Option<&'a str>) -> Self {
        Self { settings, client, repository: Repository::new(&settings.cache, name), revision }
    }

    /// Fetches what is missing of the newest commit. Returns its folder.
    pub fn run(&self, cached: &[String], watch: &mut Watch) -> Result<PathBuf, HubError> {
        let info = self.ask(cached, watch)?;
        let names: Vec<&str> = info.siblings.iter().map(|sibling| &*sibling.rfilename).collect();
        let commit = info.sha.as_str();
        if !names.contains(&"config.json") {
            return Err(HubError::MissingFiles {
                name: self.repository.name.clone(),
                wanted: "config.json",
                found: choose::found(&names),
                advice: "Wordloom reads repositories of transformers",
            });
        }
        let config = self.small(&info, "config.json", watch)?;
        let family = self.family(&config)?;
        let mut files: Vec<String> = choose::small(&family, &names).into_iter().map(str::to_owned).collect();
        match choose::weights(&self.repository.name, &names)? {
            Weights::Whole(file) => files.push(file),
            Weights::Shards(index) => {
                let content = self.small(&info, index, watch)?;
                files.push(index.to_owned());
                for shard in choose::shards(&self.repository.name, index, &content)? {
                    if !names.contains(&&*shard) {
                        let problem = format!("it lists {shard:?}, which the repository does not have");
                        return Err(self.bad_file(index, problem));
                    }
                    files.push(shard);
                }
            }
        }
        let published = self.published(&info, &files, watch)?;
        self.start(&published, watch)?;
        for (file, published) in &published {
            self.fetch(commit, file, published, watch)?;
        }
        self.remember(&info, &published, watch)?;
        Ok(self.repository.snapshot(commit))
    }

    /// Asks for the list of files.
    fn ask(&self, cached: &[String], watch: &mut Watch) -> Result<Info, HubError> {
        let (endpoint, name) = (&self.settings.endpoint, &self.repository.name);
        let revision = self.revision.unwrap_or(MAIN).replace('/', "%2F");
        let url = format!("{endpoint}/api/models/{name}/revision/{revision}?blobs=true");
        let answer = self.client.json(&url, ANSWER, watch, |answer| self.refused(answer, None));
        let info: Info = match answer {
            Err(HubError::UnknownModel { name, .. }) => {
                let names = self.similar(cached, watch);
                return Err(HubError::UnknownModel { name, names });
            }
            answer => answer?,
        };
        if !cache::is_commit(&info.sha) {
            return Err(HubError::BadAnswer { url, problem: "it names no commit".into() });
        }
        match info.siblings.iter().find(|sibling| !choose::is_safe(&sibling.rfilename)) {
            Some(Sibling { rfilename, .. }) => {
                Err(HubError::UnsafeFileName { name: name.clone(), file: rfilename.clone() })
            }
            None => Ok(info),
        }
    }

    /// The names near an unknown one: of the cache, and of the hub's search if it answers.
    fn similar(&self, cached: &[String], watch: &mut Watch) -> Vec<String> {
        #[derive(Deserialize)]
        struct Found {
            id: String,
        }
        let wanted = &self.repository.name;
        let mut names = cached.to_vec();
        // the search finds parts of names: the whole, and without its last word
        let repository = wanted.rsplit('/').next().unwrap_or(wanted);
        let shorter = repository.rsplit_once(['-', '_', '.']).map(|(shorter, _)| shorter);
        for text in [Some(repository), shorter].into_iter().flatten() {
            let url = format!("{}/api/models?search={text}&limit={SEARCHED}", self.settings.endpoint);
            let found: Result<Vec<Found>, _> = self.client.json(&url, ANSWER, watch, Answer::into_error);
            let before = names.len();
            names.extend(found.into_iter().flatten().map(|found| plain(&found.id)));
            if names.len() > before {
                break;
            }
        }
        nearest(wanted, names)
    }

    /// `model_type` of a configuration, if Wordloom runs it.
    fn family(&self, config: &[u8]) -> Result<String, HubError> {
        let config: Value = serde_json::from_slice(config)
            .map_err(|error| self.bad_file("config.json", error.to_string()))?;
        let family = config.get("model_type").and_then(Value::as_str).unwrap_or_default();
        if is_supported(family) {
            return Ok(family.to_owned());
        }
        let supported = Family::ALL.map(Family::model_type).join(", ");
        match family {
            "" => Err(self
                .bad_file("config.json", format!("it names no \"model_type\"; Wordloom runs {supported}"))),
            family => Err(HubError::UnsupportedFamily {
                name: self.repository.name.clone(),
                model_type: family.chars().take(100).collect(),
                supported,
            }),
        }
    }

    /// Fetches a small file, and reads it.
    fn small(&self, info: &Info, file: &str, watch: &mut Watch) -> Result<Vec<u8>, HubError> {
        let [(file, published)] = &self.published(info, &[file.to_owned()], watch)?[..] else {
            return Err(self.bad_file(file, "it is not there".into()));
        };
        if published.size > SMALL {
            return Err(self.bad_file(file, format!("{} bytes are too many", published.size)));
        }
        self.fetch(&info.sha, file, published, watch)?;
        let path = self.repository.snapshot(&info.sha).join(file);
        fs::read(&path).map_err(|error| HubError::io("read", &path, error))
    }

    /// Size and hash of each file: from the list, else asked for.
    fn published(
        &self,
        info: &Info,
        files: &[String],
        watch: &mut Watch,
    ) -> Result<Vec<(String, Published)>, HubError> {
        let mut found = Vec::new();
        for file in files {
            let sibling = info.siblings.iter().find(|sibling| sibling.rfilename == *file);
            let listed = sibling.and_then(|sibling| {
                let digits = match &sibling.lfs {
                    Some(large) => large.sha256.as_deref()?,
                    None => sibling.blob.as_deref()?,
                };
                Some(Published { hash: FileHash::from_etag(digits)?, size: sibling.size? })
            });
            let published = match listed {
                Some(published) => published,
                None => self.asked(&info.sha, file, watch)?,
            };
            found.push((file.clone(), published));
        }
        Ok(found)
    }

    /// Size and hash from the headers of a file, for servers that list neither.
    fn asked(&self, commit: &str, file: &str, watch: &mut Watch) -> Result<Published, HubError> {
        let url = self.url(commit, file);
        let answer = self.client.request(Method::Head, &url, 0, watch)?;
        if answer.status != 200 {
            return Err(self.refused(answer, Some(file)));
        }
        let bad = |problem: &str| HubError::BadAnswer { url: url.clone(), problem: problem.into() };
        let hash = answer.etag().and_then(|etag| FileHash::from_etag(&etag));
        let size = answer.header_on_the_way("x-linked-size").or_else(|| answer.header("content-length"));
        Ok(Published {
            hash: hash.ok_or_else(|| bad("its etag is no hash, so that nothing can be checked"))?,
            size: size.and_then(|size| size.parse().ok()).ok_or_else(|| bad("it tells no size"))?,
        })
    }

    /// Begins the view of the download, unless everything is there.
    fn start(&self, files: &[(String, Published)], watch: &mut Watch) -> Result<(), HubError> {
        let length = |path: PathBuf| fs::metadata(path).map_or(0, |file| file.len());
        let (mut total, mut present) = (0, 0);
        for (_, Published { hash, size }) in files {
            let there = length(self.repository.blob(hash.digits()));
            let part = if there == *size { there } else { length(self.repository.part(hash.digits())) };
            total += size;
            present += part.min(*size);
        }
        if present < total {
            watch.start(&self.repository.name, total, present);
        }
        Ok(())
    }

    /// Brings one file into the cache, and links it to its commit.
    fn fetch(
        &self,
        commit: &str,
        file: &str,
        published: &Published,
        watch: &mut Watch,
    ) -> Result<(), HubError> {
        watch.check()?;
        let Published { hash, size } = published;
        let blob = self.repository.blob(hash.digits());
        let is_there = || fs::metadata(&blob).is_ok_and(|found| found.len() == *size);
        if !is_there() {
            let what = format!("{} of {}", file, self.repository.name);
            let _lock = lock::take(&self.repository.lock(hash.digits()), &what, watch)?;
            if is_there() {
                watch.advance(*size); // by the other program
            } else {
                let download = Download {
                    url: self.url(commit, file),
                    name: file,
                    part: self.repository.part(hash.digits()),
                    place: blob.clone(),
                    size: Some(*size),
                    limit: *size,
                    hash: Some(hash.clone()),
                    variable: "HF_HOME",
                };
                download.run(self.client, watch, |answer| self.refused(answer, Some(file)))?;
            }
        }
        self.repository.link(commit, file, hash.digits())
    }

    /// Notes what the cache has no place for, and then that the revision is complete.
    fn remember(
        &self,
        info: &Info,
        files: &[(String, Published)],
        watch: &mut Watch,
    ) -> Result<(), HubError> {
        let texts = |key: &str| match info.card.get(key) {
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        let hashes = files.iter().map(|(file, published)| (file.clone(), published.hash.digits().to_owned()));
        let record = Record {
            licence: texts("license").first().map(|text| plain(text)),
            languages: texts("language").iter().map(|text| plain(text)).collect(),
            files: hashes.collect::<BTreeMap<_, _>>(),
        };
        let place = record::place(&self.settings.own, &self.repository.folder, &info.sha);
        if let Err(error) = record.write(&place) {
            watch.notice(&format!("licence and languages were not noted: {error}"));
        }
        let reference = self.revision.unwrap_or(MAIN);
        match cache::is_commit(reference) {
            true => Ok(()),
            false => self.repository.set_reference(reference, &info.sha),
        }
    }

    fn url(&self, commit: &str, file: &str) -> String {
        format!("{}/{}/resolve/{commit}/{}", self.settings.endpoint, self.repository.name, encoded(file))
    }

    fn bad_file(&self, file: &str, problem: String) -> HubError {
        HubError::BadFile { name: self.repository.name.clone(), file: file.to_owned(), problem }
    }

    /// The error of an answer about a file, or about the list, that is not a success.
    fn refused(&self, answer: Answer, file: Option<&str>) -> HubError {
        let name = self.repository.name.clone();
        let code = answer.header_on_the_way("x-error-code").unwrap_or_default();
        match (answer.status, code) {
            (401 | 403, "GatedRepo") => HubError::Gated {
                address: format!("{}/{name}", self.settings.endpoint),
                name,
                has_token: self.client.has_token(),
            },
            (404, "RevisionNotFound") => {
                HubError::UnknownRevision { name, revision: self.revision.unwrap_or(MAIN).to_owned() }
            }
            (401, _) if answer.message().is_some_and(|text| text.contains("Invalid credentials")) => {
                HubError::BadToken { problem: "the hub refuses it" }
            }
            (403, _) => HubError::Forbidden {
                message: answer.message(),
                url: answer.url,
                has_token: self.client.has_token(),
            },
            // mirrors tell no code
            (404, "EntryNotFound" | "") if let Some(file) = file => {
                self.bad_file(file, "the hub lists it, and does not have it".into())
            }
            (401 | 404, _) => HubError::UnknownModel { name, names: Vec::new() },
            _ => answer.into_error(),
        }
    }
}

/// Whether Wordloom runs models of this `model_type`.
pub fn is_supported(family: &str) -> bool {
    Family::ALL.into_iter().any(|known| known.model_type() == family)
}

/// A file's name in an address.
fn encoded(file: &str) -> String {
    let mut text = String::new();
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                text.push(byte.into())
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}
