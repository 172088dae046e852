//! A server for tests that speaks the hub's protocol, with the faults of networks.
//!
//! Large files redirect to another port, as the hub redirects to its storage; small ones to another path. Every
//! connection serves one request.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::hash::FileHash;

/// The server. It ends when it is dropped.
pub struct TestHub {
    address: String,
    storage: String,
    state: Arc<Mutex<State>>,
    stop: Arc<AtomicBool>,
}

#[derive(Default)]
struct State {
    repositories: BTreeMap<String, Repository>,
    /// Other files, by path.
    pages: BTreeMap<String, Arc<Vec<u8>>>,
    moved: BTreeMap<String, String>,
    faults: Vec<(String, usize, Fault)>,
    requests: Vec<Request>,
}

#[derive(Clone, Default)]
struct Repository {
    options: Options,
    commits: BTreeMap<String, BTreeMap<String, Stored>>,
    branches: BTreeMap<String, String>,
}

/// What a repository is like.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether its files need this token.
    pub gated: Option<String>,
    /// Whether it is visible to this token alone.
    pub private: Option<String>,
    /// Whether the list of files has no hashes, as mirrors have it.
    pub bare_list: bool,
    /// Names in the list that no file has.
    pub extra_names: Vec<String>,
    /// Sizes in the list that are not those of the files.
    pub sizes: BTreeMap<String, usize>,
    /// `cardData`: licence and languages.
    pub card: Value,
}

#[derive(Clone)]
struct Stored {
    bytes: Arc<Vec<u8>>,
    large: bool,
    etag: String,
}

/// A fault of the network or of the server.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The connection ends after so many bytes of the body.
    Cut(usize),
    /// The server answers with this status and these headers.
    Status(u16, Vec<(String, String)>),
    /// A byte of the body is wrong.
    Damage,
    /// The server sends the whole file, whatever range is asked.
    IgnoreRange,
    /// The server waits before it answers.
    Delay(Duration),
}

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET` or `HEAD`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// First byte of the asked range.
    pub from: u64,
    /// Token, if one was sent.
    pub token: Option<String>,
    /// Whether the storage was asked.
    pub storage: bool,
}

impl TestHub {
    /// Starts a server on two free ports of the loopback interface.
    ///
    /// # Panics
    /// If there is none.
    pub fn start() -> Self {
        let listen = || TcpListener::bind("127.0.0.1:0").expect("a free port");
        let (hub, storage) = (listen(), listen());
        let url = |listener: &TcpListener| format!("http://{}", listener.local_addr().expect("an address"));
        let server =
            Self { address: url(&hub), storage: url(&storage), state: Arc::default(), stop: Arc::default() };
        for (listener, is_storage) in [(hub, false), (storage, true)] {
            let (state, stop) = (Arc::clone(&server.state), Arc::clone(&server.stop));
            let storage = server.storage.clone();
            thread::spawn(move || {
                for stream in listener.incoming() {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let (state, storage) = (Arc::clone(&state), storage.clone());
                    if let Ok(stream) = stream {
                        thread::spawn(move || serve(stream, &state, &storage, is_storage));
                    }
                }
            });
        }
        server
    }

    /// Address for `HF_ENDPOINT`.
    pub fn url(&self) -> &str {
        &self.address
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a commit to the main branch of a repository. Returns the commit.
    pub fn add(
        &self,
        name: &str,
        files: impl IntoIterator<Item = (impl Into<String>, impl Into<Vec<u8>>)>,
    ) -> String {
        let files: BTreeMap<String, Stored> =
            files.into_iter().map(|(name, bytes)| stored(name.into(), bytes.into())).collect();
        let list: String = files.iter().fold(String::new(), |mut list, (name, file)| {
            let _ = writeln!(list, "{} {name}", file.etag); // a string takes everything
            list
        });
        let mut hasher = FileHash::Git(String::new()).hasher(list.len() as u64);
        hasher.update(list.as_bytes());
        let commit = hasher.finish();
        let mut state = self.state();
        let repository = state.repositories.entry(name.to_owned()).or_default();
        repository.commits.insert(commit.clone(), files);
        repository.branches.insert("main".into(), commit.clone());
        commit
    }

    /// Adds a commit with the files of a folder, and of others if any. Returns the commit.
    ///
    /// # Panics
    /// If the folder cannot be read.
    pub fn add_folder(&self, name: &str, folder: &Path, others: &[(&str, &[u8])]) -> String {
        let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        let files = entries.filter(|path| path.is_file()).map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, fs::read(&path).expect("a file"))
        });
        let others = others.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec()));
        self.add(name, files.chain(others).collect::<Vec<_>>())
    }

    /// Lets a branch or a tag point to a commit.
    ///
    /// # Panics
    /// If there is no such repository.
    pub fn set_branch(&self, name: &str, branch: &str, commit: &str) {
        let mut state = self.state();
        let repository = state.repositories.get_mut(name).expect("a repository");
        repository.branches.insert(branch.to_owned(), commit.to_owned());
    }

    /// Sets what a repository is like.
    ///
    /// # Panics
    /// If there is no such repository.
    pub fn set_options(&self, name: &str, options: Options) {
        self.state().repositories.get_mut(name).expect("a repository").options = options;
    }

    /// Serves bytes under a path of their own.
    pub fn add_page(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.state().pages.insert(path.to_owned(), Arc::new(bytes.into()));
    }

    /// Redirects an old name to a new one.
    pub fn rename(&self, old: &str, new: &str) {
        self.state().moved.insert(old.to_owned(), new.to_owned());
    }

    /// Lets the next `times` requests fail whose path has `part` in it, on the hub or on the storage. A request has the
    /// first fault that fits.
    pub fn fail(&self, part: &str, times: usize, fault: Fault) {
        self.state().faults.push((part.to_owned(), times, fault));
    }

    /// Ends all faults.
    pub fn heal(&self) {
        self.state().faults.clear();
    }

    /// The requests so far, and forgets them.
    pub fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.state().requests)
    }

    /// The hash under which a file of the main branch is published.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn etag(&self, name: &str, file: &str) -> String {
        let state = self.state();
        let repository = &state.repositories[name];
        repository.commits[&repository.branches["main"]][file].etag.clone()
    }
}

impl Drop for TestHub {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for address in [&self.address, &self.storage] {
            let _ = TcpStream::connect(address.trim_start_matches("http://")); // wakes the listener
        }
    }
}

/// A file with its hash; files of weights and SentencePiece models are large ones.
fn stored(name: String, bytes: Vec<u8>) -> (String, Stored) {
    let large = [".safetensors", ".bin", ".h5", ".model"].iter().any(|end| name.ends_with(end));
    let kind = if large { FileHash::Sha256(String::new()) } else { FileHash::Git(String::new()) };
    let mut hasher = kind.hasher(bytes.len() as u64);
    hasher.update(&bytes);
    (name, Stored { bytes: Arc::new(bytes), large, etag: hasher.finish() })
}

/// An answer under way.
struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Arc<Vec<u8>>,
}

impl Reply {
    fn new(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { status, headers, body: Arc::new(body.into()) }
    }

    fn error(status: u16, code: &str, message: &str) -> Self {
        let text = json!({ "error": message }).to_string();
        Self::new(status, &[("X-Error-Code", code), ("X-Error-Message", message)], text)
    }
}

fn serve(stream: TcpStream, state: &Mutex<State>, storage: &str, is_storage: bool) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
    let Some(request) = read(&stream, is_storage) else { return };
    let (reply, fault) = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.requests.push(request.clone());
        let fits =
            |(part, times, _): &&mut (String, usize, Fault)| *times > 0 && request.path.contains(&**part);
        let fault = state.faults.iter_mut().find(fits).map(|(_, times, fault)| {
            *times -= 1;
            fault.clone()
        });
        (answer(&state, &request, storage), fault)
    };
    let _ = send(stream, &request, reply, fault); // a client may hang up
}

/// Reads a request's head; `None` if it is none.
fn read(stream: &TcpStream, storage: bool) -> Option<Request> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut request = Request { method, path, from: 0, token: None, storage };
    for line in lines {
        let line = line.ok()?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        match &*name.to_lowercase() {
            "range" => request.from = value.trim().strip_prefix("bytes=")?.split('-').next()?.parse().ok()?,
            "authorization" => request.token = value.trim().strip_prefix("Bearer ").map(str::to_owned),
            _ => {}
        }
    }
    Some(request)
}

fn answer(state: &State, request: &Request, storage: &str) -> Reply {
    let path = request.path.split('?').next().unwrap_or_default();
    if let Some(page) = state.pages.get(path) {
        let mut hasher = FileHash::Git(String::new()).hasher(page.len() as u64);
        hasher.update(page);
        let headers = vec![("ETag".to_owned(), format!("\"{}\"", hasher.finish()))];
        return Reply { status: 200, headers, body: Arc::clone(page) };
    }
    if request.storage {
        let all = state.repositories.values().flat_map(|repository| repository.commits.values()).flatten();
        let file = all.map(|(_, file)| file).find(|file| path.strip_prefix("/blob/") == Some(&file.etag));
        return file.map_or_else(
            || Reply::new(404, &[], ""),
            |file| Reply {
                status: 200,
                headers: vec![("ETag".into(), "\"of-the-storage\"".into())],
                body: Arc::clone(&file.bytes),
            },
        );
    }
    if path == "/api/models" {
        return search(state, &request.path);
    }
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    match &parts[..] {
        ["api", "models", owner, name, "revision", revision] => {
            let name = format!("{owner}/{name}");
            let moved = state.moved.get(&name);
            if let Some(new) = moved {
                let to = request.path.replacen(&name, new, 1);
                return Reply::new(307, &[("Location", &to)], "");
            }
            about(state, request, &name, &revision.replace("%2F", "/"))
        }
        ["api", "resolve-cache", "models", owner, name, revision, file @ ..] => {
            resolve(state, request, &format!("{owner}/{name}"), revision, &file.join("/"), None)
        }
        [owner, name, "resolve", revision, file @ ..] => {
            resolve(state, request, &format!("{owner}/{name}"), revision, &file.join("/"), Some(storage))
        }
        _ => Reply::error(404, "", "no such page"),
    }
}

fn search(state: &State, path: &str) -> Reply {
    let text = path.split("search=").nth(1).and_then(|rest| rest.split('&').next()).unwrap_or_default();
    let found = state.repositories.keys().filter(|name| name.contains(text));
    let found: Vec<Value> = found.map(|name| json!({"id": name, "modelId": name})).collect();
    Reply::new(200, &[("Content-Type", "application/json")], Value::Array(found).to_string())
}

/// A repository that the request may see.
fn visible<'a>(state: &'a State, request: &Request, name: &str) -> Result<&'a Repository, Reply> {
    let known = ["", "hf_good"].map(str::to_owned);
    if request.token.as_ref().is_some_and(|token| !known.contains(token)) {
        return Err(Reply::error(401, "", "Invalid credentials in Authorization header"));
    }
    let repository = state.repositories.get(name);
    let repository = repository.filter(|repository| {
        repository.options.private.is_none() || repository.options.private == request.token
    });
    // without a token, the hub does not say whether a private repository exists
    let status = if request.token.is_some() { 404 } else { 401 };
    repository.ok_or_else(|| Reply::error(status, "RepoNotFound", "Repository not found"))
}

/// The answer of `api/models/NAME/revision/REVISION`.
fn about(state: &State, request: &Request, name: &str, revision: &str) -> Reply {
    let repository = match visible(state, request, name) {
        Ok(repository) => repository,
        Err(reply) => return reply,
    };
    let Some((commit, files)) = at(repository, revision) else {
        return Reply::error(404, "RevisionNotFound", "Invalid rev id");
    };
    let Options { bare_list, extra_names, card, gated, sizes, .. } = &repository.options;
    let listed = files.iter().map(|(name, file)| {
        let size = sizes.get(name).copied().unwrap_or(file.bytes.len());
        match (bare_list, file.large) {
            (true, _) => json!({ "rfilename": name }),
            (false, true) => json!({"rfilename": name, "size": size, "blobId": "0".repeat(40),
                "lfs": {"sha256": file.etag, "size": size, "pointerSize": 134}}),
            (false, false) => json!({"rfilename": name, "size": size, "blobId": file.etag}),
        }
    });
    let extra = extra_names.iter().map(|name| json!({ "rfilename": name }));
    let siblings: Vec<Value> = listed.chain(extra).collect();
    let gated = gated.as_ref().map_or(json!(false), |_| json!("auto"));
    let text = json!({"id": name, "modelId": name, "sha": commit, "siblings": siblings, "cardData": card,
        "gated": gated, "private": false, "tags": [], "downloads": 1});
    Reply::new(200, &[("Content-Type", "application/json")], text.to_string())
}

fn at<'a>(repository: &'a Repository, revision: &str) -> Option<(&'a str, &'a BTreeMap<String, Stored>)> {
    let commit = repository.branches.get(revision).map_or(revision, |commit| commit);
    repository.commits.get_key_value(commit).map(|(commit, files)| (&**commit, files))
}

/// The answer of `NAME/resolve/REVISION/FILE`, which redirects unless `storage` is `None`.
fn resolve(
    state: &State,
    request: &Request,
    name: &str,
    revision: &str,
    file: &str,
    storage: Option<&str>,
) -> Reply {
    let repository = match visible(state, request, name) {
        Ok(repository) => repository,
        Err(reply) => return reply,
    };
    if let Some(token) = &repository.options.gated
        && request.token.as_ref() != Some(token)
    {
        let status = if request.token.is_some() { 403 } else { 401 };
        return Reply::error(status, "GatedRepo", "Access to this model is restricted");
    }
    let Some((commit, files)) = at(repository, revision) else {
        return Reply::error(404, "RevisionNotFound", "Invalid rev id");
    };
    let Some(stored) = files.get(file) else {
        return Reply::error(404, "EntryNotFound", "Entry not found");
    };
    let (etag, size) = (format!("\"{}\"", stored.etag), stored.bytes.len().to_string());
    let mut reply = match (storage, stored.large) {
        (Some(storage), true) => {
            let to = format!("{storage}/blob/{}", stored.etag);
            let headers = [("Location", &*to), ("X-Linked-Etag", &etag), ("X-Linked-Size", &size)];
            Reply::new(302, &headers, "Found. Redirecting")
        }
        (Some(_), false) => {
            let to = format!("/api/resolve-cache/models/{name}/{commit}/{file}");
            Reply::new(307, &[("Location", &to)], "")
        }
        (None, _) => {
            let headers = vec![("ETag".to_owned(), etag)];
            Reply { status: 200, headers, body: Arc::clone(&stored.bytes) }
        }
    };
    reply.headers.push(("X-Repo-Commit".into(), commit.to_owned()));
    reply
}

fn send(mut stream: TcpStream, request: &Request, reply: Reply, fault: Option<Fault>) -> std::io::Result<()> {
    let Reply { mut status, mut headers, body } = reply;
    let mut body = body.to_vec();
    let mut from = request.from as usize;
    let mut cut = None;
    match fault {
        None => {}
        Some(Fault::Cut(bytes)) => cut = Some(bytes),
        Some(Fault::Damage) => body.iter_mut().rev().take(1).for_each(|byte| *byte ^= 1),
        Some(Fault::IgnoreRange) => from = 0,
        Some(Fault::Delay(time)) => thread::sleep(time),
        Some(Fault::Status(code, more)) => {
            (status, body) = (code, b"a fault".to_vec());
            headers = more;
        }
    }
    if status == 200 && from > 0 {
        let total = body.len();
        if from >= total {
            (status, body) = (416, Vec::new());
            headers.push(("Content-Range".into(), format!("bytes */{total}")));
        } else {
            (status, body) = (206, body.split_off(from));
            headers.push(("Content-Range".into(), format!("bytes {from}-{}/{total}", total - 1)));
        }
    }
    let mut head =
        format!("HTTP/1.1 {status} Test\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n"); // a string takes everything
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    if request.method != "HEAD" {
        let end = cut.unwrap_or(body.len()).min(body.len());
        stream.write_all(&body[..end])?;
    }
    stream.flush()
}
