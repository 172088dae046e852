//! Requests: redirects, repetitions, and waits that a caller can end.
//!
//! Every request runs on a thread of its own, because a read that waits for a server cannot be stopped; the thread ends
//! with its connection.

use std::fs;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use ureq::Agent;
use ureq::http::Uri;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use crate::error::without_password;
use crate::watch::Watch;
use crate::{HubError, Settings};

const AGENT: &str = concat!("wordloom/", env!("CARGO_PKG_VERSION"));
/// Bytes of one read.
const CHUNK: usize = 1 << 17;
/// Attempts of one request that a server does not answer well.
const ATTEMPTS: u32 = 5;
/// Attempts to reach a server that does not answer at all.
const CONNECTIONS: u32 = 2;
const REDIRECTS: usize = 10;

/// Sends requests to the hub and to the servers that it names.
#[derive(Clone)]
pub struct Client {
    agent: Agent,
    /// Scheme and host of the hub, which alone gets the token.
    home: String,
    token: Option<String>,
    pause: Duration,
    patience: Duration,
}

/// The way of a request.
#[derive(Clone, Copy, PartialEq)]
pub enum Method {
    Get,
    Head,
}

/// The answer to a request, after all redirects.
pub struct Answer {
    /// Address that was asked for.
    pub url: String,
    /// HTTP status.
    pub status: u16,
    /// Headers of all answers on the way, the last answer first; names in lower case.
    headers: Vec<(String, String)>,
    /// Number of headers of the last answer.
    last: usize,
    events: Receiver<Event>,
}

/// The reason why a body or an answer did not come.
pub enum Failure {
    /// A connection that ended too early, which another attempt may mend.
    Cut(String),
    /// No connection.
    Unreachable(HubError),
    Other(HubError),
}

impl From<HubError> for Failure {
    fn from(error: HubError) -> Self {
        Self::Other(error)
    }
}

enum Event {
    Head(u16, Vec<(String, String)>),
    Data(Vec<u8>),
    End,
    Failed(Failure),
}

impl Answer {
    /// A header of the last answer.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers[..self.last], name)
    }

    /// A header of the last answer that has it: the hub names hashes before it redirects to another server.
    pub fn header_on_the_way(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// The etag and its like, without quotes and the mark of weak ones.
    pub fn etag(&self) -> Option<String> {
        let etag = self.header_on_the_way("x-linked-etag").or_else(|| self.header_on_the_way("etag"))?;
        Some(etag.trim_start_matches("W/").trim_matches('"').to_owned())
    }

    /// The next bytes of the body; `None` at its end.
    pub fn next(&self, watch: &Watch) -> Result<Option<Vec<u8>>, Failure> {
        match listen(&self.events, watch)? {
            Event::Data(bytes) => Ok(Some(bytes)),
            Event::Failed(failure) => Err(failure),
            Event::End | Event::Head(..) => Ok(None),
        }
    }

    /// The server's words about an error, shortened.
    pub fn message(&self) -> Option<String> {
        let text = self.header("x-error-message")?;
        Some(text.chars().filter(|character| !character.is_control()).take(200).collect())
    }

    /// The error of an answer whose status tells nothing about a model.
    pub fn into_error(self) -> HubError {
        HubError::Status { message: self.message(), url: self.url, status: self.status }
    }
}

fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
}

impl Client {
    pub fn new(settings: &Settings) -> Result<Self, HubError> {
        let mut tls = TlsConfig::builder();
        if let Some(file) = &settings.certificates {
            let bad = |problem| HubError::BadCertificates { file: file.clone(), problem };
            let text = fs::read(file).map_err(|error| bad(error.to_string()))?;
            let certificates: Vec<Certificate> = parse_pem(&text)
                .filter_map(|item| match item {
                    Ok(PemItem::Certificate(certificate)) => Some(certificate),
                    _ => None,
                })
                .collect();
            if certificates.is_empty() {
                return Err(bad("there is no certificate in PEM".into()));
            }
            tls = tls.root_certs(RootCerts::from(certificates.into_iter()));
        }
        let config = Agent::config_builder()
            .tls_config(tls.build())
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(AGENT)
            .timeout_connect(Some(settings.silence.min(Duration::from_secs(15))))
            .timeout_per_read(Some(settings.silence))
            .timeout_per_write(Some(settings.silence));
        Ok(Self {
            agent: config.build().into(),
            home: origin(&settings.endpoint).unwrap_or_default(),
            token: settings.token.clone(),
            pause: settings.pause,
            patience: settings.patience,
        })
    }

    pub fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// The pause before an attempt, seconds doubling.
    pub fn pause(&self, attempt: u32) -> Duration {
        self.pause * 2_u32.pow(attempt.min(6))
    }

    /// Asks for an address from byte `from` on. Repeats the request if the server is busy or the connection fails.
    pub fn request(
        &self,
        method: Method,
        url: &str,
        from: u64,
        watch: &mut Watch,
    ) -> Result<Answer, HubError> {
        let mut attempt = 0;
        loop {
            let host = self.server(url);
            let (limit, pause, reason, failed) = match self.follow(method, url, from, watch) {
                Ok(answer) => match self.asked_pause(&answer, attempt)? {
                    None => return Ok(answer),
                    Some(pause) => {
                        let reason = match answer.status {
                            429 => format!("{host} asks for a pause (too many requests)"),
                            status => format!("{host} is busy (status {status})"),
                        };
                        (ATTEMPTS, pause, reason, answer.into_error())
                    }
                },
                Err(Failure::Other(error)) => return Err(error),
                Err(Failure::Unreachable(error)) => {
                    (CONNECTIONS, self.pause(attempt), error.to_string(), error)
                }
                Err(Failure::Cut(reason)) => {
                    let error = HubError::Unreachable { host: host.clone(), reason: reason.clone() };
                    (ATTEMPTS, self.pause(attempt), format!("{host}: {reason}"), error)
                }
            };
            attempt += 1;
            if attempt >= limit {
                return Err(failed);
            }
            if pause >= Duration::from_secs(1) {
                watch.notice(&format!("{reason}; trying again in {} s", pause.as_secs()));
            }
            watch.sleep(pause)?;
        }
    }

    /// Asks for a small answer in JSON, of at most `limit` bytes. Calls `refused` for a status other than 200.
    pub fn json<T: serde::de::DeserializeOwned>(
        &self,
        url: &str,
        limit: usize,
        watch: &mut Watch,
        refused: impl Fn(Answer) -> HubError,
    ) -> Result<T, HubError> {
        let mut attempt = 0;
        let body = loop {
            let answer = self.request(Method::Get, url, 0, watch)?;
            if answer.status != 200 {
                return Err(refused(answer));
            }
            match read(&answer, limit, watch) {
                Ok(body) => break body,
                Err(Failure::Other(error) | Failure::Unreachable(error)) => return Err(error),
                Err(Failure::Cut(reason)) if attempt + 1 >= ATTEMPTS => {
                    return Err(HubError::Unreachable { host: self.server(url), reason });
                }
                Err(Failure::Cut(_)) => watch.sleep(self.pause(attempt))?,
            }
            attempt += 1;
        };
        serde_json::from_slice(&body)
            .map_err(|error| HubError::BadAnswer { url: url.to_owned(), problem: error.to_string() })
    }

    /// The pause before another attempt; `None` for an answer that is final.
    fn asked_pause(&self, answer: &Answer, attempt: u32) -> Result<Option<Duration>, HubError> {
        if !matches!(answer.status, 408 | 429 | 500 | 502..=504) {
            return Ok(None);
        }
        // the hub's own header tells the seconds until its window ends: `"api";r=0;t=55`
        let window = || {
            answer
                .header("ratelimit")?
                .split(';')
                .find_map(|part| part.trim().strip_prefix("t=")?.parse().ok())
        };
        let seconds = answer.header("retry-after").and_then(|text| text.trim().parse().ok()).or_else(window);
        let pause = seconds.map_or_else(|| self.pause(attempt), Duration::from_secs);
        if pause > self.patience {
            return Err(match answer.status {
                429 => HubError::TooManyRequests {
                    host: host(&answer.url),
                    seconds: pause.as_secs(),
                    has_token: self.has_token(),
                },
                status => {
                    let message = Some(format!("it asks to wait {} s", pause.as_secs()));
                    HubError::Status { url: answer.url.clone(), status, message }
                }
            });
        }
        Ok(Some(pause))
    }

    /// One attempt, with its redirects.
    fn follow(&self, method: Method, url: &str, from: u64, watch: &Watch) -> Result<Answer, Failure> {
        let mut at = url.to_owned();
        let mut headers: Vec<(String, String)> = Vec::new();
        for _ in 0..=REDIRECTS {
            let events = self.send(method, &at, from);
            let (status, mut last) = match listen(&events, watch)? {
                Event::Head(status, headers) => (status, headers),
                Event::Failed(failure) => return Err(failure),
                Event::Data(_) | Event::End => return Err(Failure::Cut("an empty answer".into())),
            };
            let location = find(&last, "location").map(str::to_owned);
            let count = last.len();
            last.append(&mut headers);
            headers = last;
            match location.filter(|_| matches!(status, 301 | 302 | 303 | 307 | 308)) {
                None => {
                    return Ok(Answer { url: url.to_owned(), status, headers, last: count, events });
                }
                Some(location) => at = redirected(&at, &location)?,
            }
        }
        let problem = format!("more than {REDIRECTS} redirects");
        Err(HubError::BadAnswer { url: url.to_owned(), problem }.into())
    }

    /// Host of an address for messages about the connection, with the proxy on the way.
    fn server(&self, url: &str) -> String {
        let proxy = self.agent.config().proxy().filter(|proxy| {
            let uri = url.parse::<Uri>();
            !uri.is_ok_and(|uri| proxy.is_no_proxy(&uri))
        });
        match proxy {
            Some(proxy) => format!("{} (through the proxy {}:{})", host(url), proxy.host(), proxy.port()),
            None => host(url),
        }
    }

    /// Starts a request on a thread.
    fn send(&self, method: Method, url: &str, from: u64) -> Receiver<Event> {
        let (sender, events) = sync_channel(8);
        let mut request = match method {
            Method::Get => self.agent.get(url),
            Method::Head => self.agent.head(url),
        };
        if from > 0 {
            request = request.header("range", format!("bytes={from}-"));
        }
        if let Some(token) = self.token.as_ref().filter(|_| origin(url).as_ref() == Some(&self.home)) {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let host = self.server(url);
        let job = move || match request.call() {
            Ok(response) => {
                let (parts, body) = response.into_parts();
                let text =
                    |value: &ureq::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
                let headers =
                    parts.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value)));
                if sender.send(Event::Head(parts.status.as_u16(), headers.collect())).is_ok() {
                    pass_on(body.into_reader(), &sender);
                }
            }
            Err(error) => _ = sender.send(Event::Failed(classified(host, error))),
        };
        // without a thread, the channel closes, and the caller reads that as a cut
        let _ = thread::Builder::new().name("download".into()).spawn(job);
        events
    }
}

/// Sends a body in pieces, until its end or until no receiver is left.
fn pass_on(mut body: impl Read, sender: &SyncSender<Event>) {
    loop {
        let mut bytes = vec![0; CHUNK];
        let event = match body.read(&mut bytes) {
            Ok(0) => Event::End,
            Ok(length) => {
                bytes.truncate(length);
                Event::Data(bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Event::Failed(Failure::Cut(words(&error))),
        };
        let is_last = !matches!(event, Event::Data(_));
        if sender.send(event).is_err() || is_last {
            return;
        }
    }
}

/// Waits for an event, or for the caller's wish to stop.
fn listen(events: &Receiver<Event>, watch: &Watch) -> Result<Event, Failure> {
    loop {
        watch.check()?;
        match events.recv_timeout(Duration::from_millis(50)) {
            Ok(event) => return Ok(event),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(Failure::Cut("the request ended".into())),
        }
    }
}

/// Reads a whole body of at most `limit` bytes.
pub fn read(answer: &Answer, limit: usize, watch: &Watch) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    while let Some(bytes) = answer.next(watch)? {
        if body.len() + bytes.len() > limit {
            let problem = format!("it is longer than {limit} bytes");
            return Err(HubError::BadAnswer { url: answer.url.clone(), problem }.into());
        }
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}

fn classified(host: String, error: ureq::Error) -> Failure {
    use io::ErrorKind::{
        AddrNotAvailable, ConnectionRefused, HostUnreachable, NetworkDown, NetworkUnreachable, NotFound,
    };
    let unreachable =
        |reason: String| Failure::Unreachable(HubError::Unreachable { host: host.clone(), reason });
    match error {
        ureq::Error::HostNotFound => unreachable("no such host, or no network".into()),
        ureq::Error::ConnectionFailed => unreachable("no connection".into()),
        ureq::Error::Timeout(ureq::Timeout::Resolve | ureq::Timeout::Connect) => {
            unreachable("no answer in time".into())
        }
        ureq::Error::Io(error)
            if matches!(
                error.kind(),
                AddrNotAvailable
                    | ConnectionRefused
                    | HostUnreachable
                    | NetworkDown
                    | NetworkUnreachable
                    | NotFound
            ) =>
        {
            unreachable(words(&error))
        }
        ureq::Error::Io(error) if error.to_string().contains("certificate") => {
            HubError::Unsafe { host, reason: error.to_string() }.into()
        }
        ureq::Error::Io(error) => Failure::Cut(words(&error)),
        ureq::Error::Timeout(_) => Failure::Cut("silence".into()),
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) | ureq::Error::Pem(_) => {
            HubError::Unsafe { host, reason: error.to_string() }.into()
        }
        ureq::Error::BadUri(_)
        | ureq::Error::Http(_)
        | ureq::Error::InvalidProxyUrl
        | ureq::Error::ConnectProxyFailed(_) => unreachable(error.to_string()),
        other => Failure::Cut(other.to_string()),
    }
}

/// An error in plain words.
fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "silence".into(),
        io::ErrorKind::UnexpectedEof => "the server hung up".into(),
        io::ErrorKind::ConnectionReset => "connection reset".into(),
        io::ErrorKind::ConnectionRefused => "connection refused".into(),
        _ => error.to_string(),
    }
}

/// Scheme and host of an address.
fn origin(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    Some(format!("{}://{}", uri.scheme_str()?, uri.authority()?))
}

/// Host and port of an address, for messages.
fn host(url: &str) -> String {
    let url = without_password(url);
    url.parse::<Uri>()
        .ok()
        .and_then(|uri| Some(uri.authority()?.to_string()))
        .unwrap_or_else(|| url.into_owned())
}

/// The address to which a server redirects.
fn redirected(from: &str, location: &str) -> Result<String, HubError> {
    let bad = |problem: String| HubError::BadAnswer { url: from.to_owned(), problem };
    let origin = origin(from).ok_or_else(|| bad("it has no host".into()))?;
    let scheme = origin.split("//").next().unwrap_or_default();
    let to = match location {
        _ if location.starts_with("//") => format!("{scheme}{location}"),
        _ if location.starts_with('/') => format!("{origin}{location}"),
        _ if location.contains("://") => location.to_owned(),
        _ => format!("{}/{location}", from.rsplit_once('/').map_or(from, |(folder, _)| folder)),
    };
    match from.starts_with("https://") && !to.starts_with("https://") {
        true => Err(bad("it redirects to an address without encryption".into())),
        false => Ok(to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_resolved_and_stay_encrypted() {
        let to =
            |location| redirected("https://hub.example/a/b/c", location).map_err(|error| error.to_string());
        assert_eq!(to("/x/y").as_deref(), Ok("https://hub.example/x/y"));
        assert_eq!(to("//cdn.example/y").as_deref(), Ok("https://cdn.example/y"));
        assert_eq!(to("https://cdn.example/y?q=1").as_deref(), Ok("https://cdn.example/y?q=1"));
        assert_eq!(to("d").as_deref(), Ok("https://hub.example/a/b/d"));
        assert!(to("http://cdn.example/y").is_err_and(|error| error.contains("without encryption")));
    }

    #[test]
    fn hosts_are_named_without_user_and_password() {
        assert_eq!(host("http://joe:s3cret@127.0.0.1:1/a@b"), "127.0.0.1:1");
        assert_eq!(host("https://hub.example/a"), "hub.example");
    }

    #[test]
    fn the_token_is_for_one_origin() {
        assert_eq!(origin("https://hub.example/a"), origin("https://hub.example/b?c"));
        assert_ne!(origin("https://hub.example/a"), origin("https://hub.example.evil/a"));
        assert_ne!(origin("https://hub.example/a"), origin("http://hub.example/a"));
        assert_ne!(origin("http://127.0.0.1:1/a"), origin("http://127.0.0.1:2/a"));
    }
}
