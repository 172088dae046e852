//! Errors of the hub, each in one line with the way out.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use wordloom::ModelError;

/// The reason why a model could not be found, fetched, checked or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// A name that begins with `firefox:` and names no pair.
    #[error("{text:?} names no pair of languages; write firefox:en-fr, or firefox:en-fr:tiny")]
    NoPair {
        /// The text.
        text: String,
    },
    /// No such model is part of the program.
    #[error("{name} is not part of this program; {}", built_in(there))]
    NotBuiltIn {
        /// Name of the model.
        name: String,
        /// Names of those that are.
        there: Vec<String>,
    },
    /// A folder that is no model.
    #[error(transparent)]
    Folder(#[from] ModelError),
    /// The user has no home folder.
    #[error("the cache has no place: there is no home folder; set HF_HOME and WORDLOOM_MODELS")]
    NoHome,
    /// A variable of the environment holds no address.
    #[error("{variable} is {:?}; it must begin with https:// or http://", without_password(address))]
    BadAddress {
        /// Name of the variable.
        variable: &'static str,
        /// Its value.
        address: String,
    },
    /// The token cannot be used, or the hub refuses it.
    #[error(
        "the hub's token is not valid: {problem}; mend HF_TOKEN or log in again (https://huggingface.co/settings/tokens)"
    )]
    BadToken {
        /// The problem.
        problem: &'static str,
    },
    /// The file of certificates cannot be used.
    #[error("SSL_CERT_FILE: {file}: {problem}")]
    BadCertificates {
        /// Path of the file.
        file: PathBuf,
        /// The problem.
        problem: String,
    },
    /// The network may not be asked, or does not answer, and the model is not in the cache.
    #[error("offline: {name} is not in the cache ({reason}); {}", here(cached))]
    Offline {
        /// Name of the model.
        name: String,
        /// The reason why the network is not asked, or its failure.
        reason: String,
        /// Names of the models in the cache.
        cached: Vec<String>,
    },
    /// The model is not in the cache, and the call asks no network.
    #[error("{name} is not in the cache; {}", here(cached))]
    NotCached {
        /// Name of the model.
        name: String,
        /// Names of the models in the cache.
        cached: Vec<String>,
    },
    /// The model is in the cache without one of its files.
    #[error("{name} is in the cache without {file}{}; `wordloom models get {name}` fetches it{}", said(offline.as_deref()), if offline.is_some() { " with a network" } else { "" })]
    Incomplete {
        /// Name of the model.
        name: String,
        /// Name of the missing file.
        file: String,
        /// The reason why the network is not asked, or its failure; `None` if the call asks none.
        offline: Option<String>,
    },
    /// A server cannot be reached.
    #[error("{host} does not answer: {reason}")]
    Unreachable {
        /// Name of the server.
        host: String,
        /// The system's words.
        reason: String,
    },
    /// A server's certificate is not trusted.
    #[error(
        "{host}: the connection is not safe: {reason}; if a proxy inspects connections here, name its certificates in SSL_CERT_FILE"
    )]
    Unsafe {
        /// Name of the server.
        host: String,
        /// The library's words.
        reason: String,
    },
    /// The hub has no such repository, or shows it to nobody without the right token.
    #[error("the hub has no model {name:?}, or it is private{}", near(names))]
    UnknownModel {
        /// Name of the model.
        name: String,
        /// Similar names.
        names: Vec<String>,
    },
    /// The repository has no such branch, tag or commit.
    #[error("{name} has no revision {revision:?}; without @{revision}, its main branch is taken")]
    UnknownRevision {
        /// Name of the model.
        name: String,
        /// The revision.
        revision: String,
    },
    /// The owner of the repository asks readers to accept conditions.
    #[error("{name} asks its readers to accept conditions: do so at {}, then {}", without_password(address), token_advice(*has_token))]
    Gated {
        /// Name of the model.
        name: String,
        /// Page of the model.
        address: String,
        /// Whether a token was sent.
        has_token: bool,
    },
    /// A server asks for a longer pause than a user waits.
    #[error("{host} asks to wait {seconds} s (too many requests); try again then{}", if *.has_token { "" } else { ", or set HF_TOKEN for a higher limit" })]
    TooManyRequests {
        /// Name of the server.
        host: String,
        /// Asked pause, seconds.
        seconds: u64,
        /// Whether a token was sent.
        has_token: bool,
    },
    /// A server answers with an error.
    #[error("{}: the server answers {status}{}", without_password(url), said(message.as_deref()))]
    Status {
        /// Address.
        url: String,
        /// HTTP status.
        status: u16,
        /// The server's words, if any.
        message: Option<String>,
    },
    /// A server refuses a file or a list.
    #[error("{}: the server refuses it (403){}; if the model is private, {}", without_password(url), said(message.as_deref()), token_advice(*has_token))]
    Forbidden {
        /// Address.
        url: String,
        /// The server's words, if any.
        message: Option<String>,
        /// Whether a token was sent.
        has_token: bool,
    },
    /// A server's answer is not what its protocol promises.
    #[error("{}: the server's answer is not valid: {problem}", without_password(url))]
    BadAnswer {
        /// Address.
        url: String,
        /// The problem.
        problem: String,
    },
    /// A name in a server's answer leads out of the cache.
    #[error("{name} has a file with an unsafe name, {file:?}; nothing was fetched")]
    UnsafeFileName {
        /// Name of the model.
        name: String,
        /// Name of the file.
        file: String,
    },
    /// Wordloom does not run this family.
    #[error("{name} is a {model_type:?} model, which Wordloom does not run; it runs {supported}")]
    UnsupportedFamily {
        /// Name of the model.
        name: String,
        /// `model_type` of its `config.json`.
        model_type: String,
        /// The supported ones, joined.
        supported: String,
    },
    /// The repository has no `config.json`, or no weights in a known format.
    #[error("{name} has no {wanted}; it has {found}; {advice}")]
    MissingFiles {
        /// Name of the model.
        name: String,
        /// The missing file.
        wanted: &'static str,
        /// Files of the repository, shortened.
        found: String,
        /// The way out.
        advice: &'static str,
    },
    /// A file of a model is damaged.
    #[error("{name}: {file} is not valid: {problem}")]
    BadFile {
        /// Name of the model.
        name: String,
        /// Name of the file.
        file: String,
        /// The problem.
        problem: String,
    },
    /// A file does not have the hash that its publisher promises.
    #[error(
        "{file}: the bytes are not those that were published ({kind} {found}, promised {promised}); {advice}"
    )]
    WrongHash {
        /// Name of the file.
        file: String,
        /// Kind of the hash.
        kind: &'static str,
        /// Hash of the bytes.
        found: String,
        /// Published hash.
        promised: String,
        /// The way out.
        advice: String,
    },
    /// A file does not have its published size.
    #[error("{file}: {found} bytes, but {promised} were promised; {advice}")]
    WrongSize {
        /// Name of the file.
        file: String,
        /// Received bytes.
        found: u64,
        /// Published size, bytes.
        promised: u64,
        /// The way out.
        advice: String,
    },
    /// A download was cut again and again.
    #[error(
        "{file}: the connection was cut at {received} of {total} bytes ({reason}); they are kept: the same command goes on there"
    )]
    Cut {
        /// Name of the file.
        file: String,
        /// Bytes that are kept.
        received: u64,
        /// Bytes of the file; "?" if unknown.
        total: String,
        /// Reason of the last cut.
        reason: String,
    },
    /// The disk is full.
    #[error(
        "no space for {file} in {folder}{}; free some (`wordloom models remove NAME`) or set {variable} to a folder on another disk; what has arrived is kept, and the same command goes on there", needed(*missing)
    )]
    DiskFull {
        /// Name of the file.
        file: String,
        /// Folder of the cache.
        folder: PathBuf,
        /// Bytes that did not fit; 0 if unknown.
        missing: u64,
        /// The variable that moves the folder.
        variable: &'static str,
    },
    /// The system refuses an action on a file.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// The action.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// Another process is at work on the model.
    #[error("{name} is being fetched by another program; stop it first")]
    InUse {
        /// Name of the model.
        name: String,
    },
    /// The registry has no model for a pair, but one into English and one out of it.
    #[error(
        "there is no Firefox model from {from} to {to}; two translate through English: `wordloom models get {first}` and `wordloom models get {second}`"
    )]
    NoDirectPair {
        /// Source language.
        from: String,
        /// Target language.
        to: String,
        /// Name of the model into English.
        first: String,
        /// Name of the model out of English.
        second: String,
    },
    /// The registry has no model for a pair.
    #[error("there is no Firefox model from {from} to {to}{}", known(from, targets))]
    UnknownPair {
        /// Source language.
        from: String,
        /// Target language.
        to: String,
        /// Languages into which the registry translates `from`.
        targets: Vec<String>,
    },
    /// The registry has a pair in other architectures.
    #[error("firefox:{pair} comes as {known}, not as {architecture:?}")]
    UnknownArchitecture {
        /// The pair.
        pair: String,
        /// The asked architecture.
        architecture: String,
        /// The published ones, joined.
        known: String,
    },
    /// The caller cancelled.
    #[error("interrupted; what has arrived is kept, and the same command goes on there")]
    Cancelled,
}

impl HubError {
    /// An error of the system.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}

/// The models of the program.
fn built_in(names: &[String]) -> String {
    match names {
        [] => "no model is: choose a folder or a name".to_owned(),
        names => format!("there are {}", names.join(", ")),
    }
}

/// The models in the cache, in words.
fn here(cached: &[String]) -> String {
    match cached {
        [] => "no models of the hub are here".into(),
        names => format!("these models are here: {}", list(names)),
    }
}

fn near(names: &[String]) -> String {
    match names {
        [] => "; for a folder, write ./OWNER/NAME".into(),
        names => format!("; near it: {}", list(names)),
    }
}

fn known(from: &str, targets: &[String]) -> String {
    match targets {
        [] => format!(", nor any from {from}"),
        names => format!("; from {from} there are {}", list(names)),
    }
}

fn list(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let rest = names.len().saturating_sub(SHOWN);
    let shown = names[..names.len() - rest].join(", ");
    if rest == 0 { shown } else { format!("{shown} and {rest} more") }
}

fn needed(missing: u64) -> String {
    if missing == 0 { String::new() } else { format!(": {missing} more bytes are needed") }
}

/// A reason or a server's words in brackets.
fn said(words: Option<&str>) -> String {
    words.map(|text| format!(" ({text})")).unwrap_or_default()
}

/// An address without user and password, which stand before the host in some.
pub(crate) fn without_password(url: &str) -> Cow<'_, str> {
    let start = url.find("://").map_or(0, |scheme| scheme + 3);
    let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |length| start + length);
    match url[start..end].rfind('@') {
        Some(at) => Cow::Owned(format!("{}{}", &url[..start], &url[start + at + 1..])),
        None => Cow::Borrowed(url),
    }
}

fn token_advice(has_token: bool) -> &'static str {
    match has_token {
        true => "use the token of that account in HF_TOKEN",
        false => "set HF_TOKEN (https://huggingface.co/settings/tokens), or run `hf auth login`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_show_no_password() {
        let url = "https://joe:s3cret@hub.example/a@b".to_owned();
        let status = HubError::Status { url: url.clone(), status: 500, message: None };
        assert_eq!(status.to_string(), "https://hub.example/a@b: the server answers 500");
        let address =
            HubError::BadAddress { variable: "HF_ENDPOINT", address: "joe:s3cret@hub.example".into() };
        assert!(!address.to_string().contains("s3cret"), "{address}");
        assert_eq!(without_password("http://127.0.0.1:1/x?y=a@b"), "http://127.0.0.1:1/x?y=a@b");
    }
}
