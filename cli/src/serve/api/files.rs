//! Documents: uploaded, translated and fetched, as in LibreTranslate.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wordloom_documents::{Document, Format, Options};

use super::super::engine::blocking;
use super::Api;
use super::access::From;
use super::error::ApiError;
use super::input::{File, Input};
use super::json::Json;
use super::translation::{Wishes, language};

/// Time that a translated document can be fetched.
pub const KEPT: Duration = Duration::from_secs(30 * 60);
/// Bytes of all documents that can be fetched; beyond, the oldest go.
const MOST_BYTES: usize = 256 << 20;
/// Documents that are translated at a time.
const MOST_DOCUMENTS: usize = 8;

/// Translated documents, which wait to be fetched.
pub struct Files {
    kept: Mutex<VecDeque<Kept>>,
    room: Arc<Semaphore>,
}

impl Default for Files {
    fn default() -> Self {
        Self { kept: Mutex::default(), room: Arc::new(Semaphore::new(MOST_DOCUMENTS)) }
    }
}

struct Kept {
    /// Name that only the client knows: random digits, and the document's name.
    name: String,
    content: Bytes,
    since: Instant,
}

impl Files {
    pub fn keep(&self, name: String, content: Bytes) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back(Kept { name, content, since: Instant::now() });
        let mut bytes: usize = kept.iter().map(|file| file.content.len()).sum();
        while let Some(oldest) = kept.front()
            && (oldest.since.elapsed() > KEPT || (bytes > MOST_BYTES && kept.len() > 1))
        {
            bytes -= oldest.content.len();
            kept.pop_front();
        }
    }

    pub fn get(&self, name: &str) -> Option<Bytes> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let file = kept.iter().find(|file| file.name == name && file.since.elapsed() <= KEPT)?;
        Some(file.content.clone())
    }
}

/// A document to translate, as a client sent it.
pub struct Upload {
    /// Held until it is translated.
    pub room: OwnedSemaphorePermit,
    pub file: File,
    pub document: Document,
}

impl Upload {
    /// Reads the parameter `file`.
    ///
    /// * `name`: the document's name, if it is another one than the file's
    ///
    /// # Errors
    /// 400 without a file, for an empty one and one that is no document; 429 if many documents are being translated.
    pub async fn read(api: &Api, input: &mut Input, name: Option<String>) -> Result<Self, ApiError> {
        let file = input.take_file("file");
        let mut file = file.ok_or_else(|| ApiError::bad("Invalid request: missing file parameter"))?;
        file.name = name.unwrap_or(file.name);
        if file.name.is_empty() || file.content.is_empty() {
            return Err(ApiError::bad("Invalid request: empty file"));
        }
        let format = Format::of_name(&file.name)
            .ok_or_else(|| ApiError::bad("Invalid request: file format not supported"))?;
        let room = Arc::clone(&api.files.room).try_acquire_owned().map_err(|_| {
            let reason = format!("{MOST_DOCUMENTS} documents are translated already; try again later");
            ApiError::slow_down(reason, 5)
        })?;
        let content = file.content.clone();
        let read = move || Document::read(content.to_vec(), format, &Options::default());
        let document =
            blocking(read).await?.map_err(|error| ApiError::bad(format!("Invalid request: {error}")))?;
        Ok(Self { room, file, document })
    }
}

pub async fn translate(State(api): State<Arc<Api>>, request: Request) -> Result<Json<Value>, ApiError> {
    let from = From::of(&api, &request);
    let address = address(&api, request.headers());
    let mut input = Input::read(request, api.limits.body).await?;
    let client = api.client(from, input.text("api_key")?)?;
    let source = match input.required("source")? {
        "auto" => None,
        code => Some(language(code)?),
    };
    let target = language(input.required("target")?)?;
    let Upload { room: _room, file, document } = Upload::read(&api, &mut input, None).await?;
    api.admit(&client, &document)?;
    let name = format!("{}.{}", random_name()?, translated_name(&file.name, &target.to_string()));
    let wishes = Wishes::default();
    let work = api.translate_document(&client, document, (source, target), &wishes);
    let written = api.in_time(work).await?;
    let url = format!("{address}/download_file/{}", utf8_percent_encode(&name, NAME));
    api.files.keep(name, written.map_or(file.content, Bytes::from));
    Ok(Json(json!({ "translatedFileUrl": url })))
}

/// A name that nobody guesses: 32 hexadecimal digits.
pub fn random_name() -> Result<String, ApiError> {
    let mut secret = [0; 16];
    getrandom::fill(&mut secret)
        .map_err(|_| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "The system has no random numbers"))?;
    Ok(format!("{:032x}", u128::from_le_bytes(secret)))
}

/// Characters of a name that an address has as they are.
const NAME: &percent_encoding::AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

pub async fn download(State(api): State<Arc<Api>>, name: Result<Path<String>, PathRejection>) -> Response {
    // a name that is no UTF-8 is no file's
    let name = name.map_or_else(|_| String::new(), |Path(name)| name);
    let Some(content) = api.files.get(&name) else {
        return ApiError::new(StatusCode::NOT_FOUND, "There is no such file, or no longer").into_response();
    };
    attachment(&name, content)
}

/// A translated document.
///
/// * `name`: its name in [`Files`]
pub fn attachment(name: &str, content: Bytes) -> Response {
    let shown = name.split_once('.').map_or(name, |(_, shown)| shown);
    let disposition = format!("attachment; filename*=UTF-8''{}", utf8_percent_encode(shown, NAME));
    let mut response = content.into_response();
    let headers = response.headers_mut();
    // a document is never shown on this site: it may have scripts
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    if let Ok(value) = HeaderValue::from_str(&disposition) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    response
}

/// The address at which the client reached the server.
fn address(api: &Api, headers: &HeaderMap) -> String {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let scheme = text("x-forwarded-proto").filter(|scheme| api.trusts_forwarded && *scheme == "https");
    let host = text("x-forwarded-host").filter(|_| api.trusts_forwarded).or(text("host"));
    format!("{}://{}", scheme.unwrap_or("http"), host.unwrap_or("127.0.0.1"))
}

/// `letter.docx` becomes `letter_de.docx`; folders and characters that systems forbid go.
pub fn translated_name(name: &str, target: &str) -> String {
    let file = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let allowed = |c: &char| !c.is_control() && !"<>:\"|?*".contains(*c);
    let part = |text: &str, most| text.chars().filter(allowed).take(most).collect::<String>();
    match file.rsplit_once('.') {
        Some((stem, ending)) => format!("{}_{target}.{}", part(stem, 110), part(ending, 10)),
        None => format!("{}_{target}", part(file, 120)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere() {
        assert_eq!(translated_name("letter.docx", "de"), "letter_de.docx");
        assert_eq!(translated_name(&("a".repeat(300) + ".txt"), "de"), "a".repeat(110) + "_de.txt");
        assert_eq!(translated_name("../../etc/pass:wd", "de"), "passwd_de");
        assert_eq!(translated_name("C:\\a\\b.txt", "fr"), "b_fr.txt");
    }

    #[test]
    fn old_documents_make_room() {
        let files = Files::default();
        let content = |bytes| Bytes::from(vec![0; bytes]);
        files.keep("a".into(), content(MOST_BYTES / 2));
        files.keep("b".into(), content(MOST_BYTES / 2));
        assert!(files.get("a").is_some() && files.get("b").is_some() && files.get("c").is_none());
        files.keep("c".into(), content(1));
        assert!(files.get("a").is_none() && files.get("b").is_some() && files.get("c").is_some());
    }
}
