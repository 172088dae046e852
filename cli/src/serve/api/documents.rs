//! DeepL's `/v2/document`: a document is uploaded, translated while its client does other things, asked for and fetched.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::sync::watch;
use wordloom_documents::Format;

use super::Api;
use super::deepl::{self, Pair};
use super::error::ApiError;
use super::files::{KEPT, Upload, attachment, random_name, translated_name};
use super::json::Json;
use super::translation::{Wishes, characters};

/// Time for which the answer about a document waits for its end: DeepL's clients ask again only after five seconds.
const WAIT: Duration = Duration::from_secs(3);
/// Documents that can be asked about; beyond, the oldest go.
const MOST_KNOWN: usize = 1000;

/// Documents that are translated, or were lately.
#[derive(Default)]
pub struct Documents(Mutex<VecDeque<Known>>);

struct Known {
    id: String,
    /// What only the client knows.
    key: String,
    progress: watch::Receiver<Progress>,
    since: Instant,
}

#[derive(Clone)]
enum Progress {
    Translating,
    /// Its name in [`super::files::Files`], and the characters of its source.
    Done {
        name: String,
        characters: usize,
    },
    Failed(String),
}

impl Documents {
    fn add(&self, known: Known) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| known.since.elapsed() <= KEPT);
        if all.len() >= MOST_KNOWN {
            all.pop_front();
        }
        all.push_back(known);
    }

    fn find(&self, id: &str, key: &str) -> Result<watch::Receiver<Progress>, ApiError> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found =
            all.iter().find(|known| known.id == id && known.key == key && known.since.elapsed() <= KEPT);
        found.map(|known| known.progress.clone()).ok_or_else(no_document)
    }
}

fn no_document() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "There is no such document, or no longer")
}

/// The part of an address that names a document; it may be no UTF-8.
type Id = Result<Path<String>, PathRejection>;

pub async fn upload(State(api): State<Arc<Api>>, request: Request) -> Response {
    let answer = uploaded(&api, request).await;
    answer.map_or_else(|error| error.respond_as("message"), |answer| Json(answer).into_response())
}

pub async fn status(State(api): State<Arc<Api>>, id: Id, request: Request) -> Response {
    let answer = described(&api, id, request).await;
    answer.map_or_else(|error| error.respond_as("message"), |answer| Json(answer).into_response())
}

pub async fn result(State(api): State<Arc<Api>>, id: Id, request: Request) -> Response {
    let answer = fetched(&api, id, request).await;
    answer.unwrap_or_else(|error| error.respond_as("message"))
}

async fn uploaded(api: &Arc<Api>, request: Request) -> Result<Value, ApiError> {
    let (mut input, client) = deepl::read(api, request).await?;
    let Pair { source, target, glossary } = Pair::read(api, &client, &input)?;
    let name = input.text("filename")?.map(str::to_owned);
    let format = input.text("output_format")?.map(str::to_owned);
    let Upload { room, file, document } = Upload::read(api, &mut input, name).await?;
    let is_another =
        |ending: String| Format::of_ending(&ending.to_ascii_lowercase()) != Format::of_name(&file.name);
    if format.is_some_and(is_another) {
        return Err(ApiError::bad("Value for 'output_format' not supported."));
    }
    api.admit(&client, &document)?;
    let (id, key) = (random_name()?, random_name()?);
    let kept = format!("{key}.{}", translated_name(&file.name, &target.to_string()));
    let (tell, progress) = watch::channel(Progress::Translating);
    api.documents.add(Known { id: id.clone(), key: key.clone(), progress, since: Instant::now() });
    let api = Arc::clone(api);
    tokio::spawn(async move {
        let _room = room;
        let characters = characters(&document);
        let wishes = Wishes { glossary, ..Wishes::default() };
        let done = match api.translate_document(&client, document, (source, target), &wishes).await {
            Ok(written) => {
                api.files.keep(kept.clone(), written.map_or(file.content, Into::into));
                Progress::Done { name: kept, characters }
            }
            Err(error) => Progress::Failed(error.message),
        };
        // the server may end
        let _ = tell.send(done);
    });
    Ok(json!({ "document_id": *id, "document_key": key }))
}

/// How far a document is.
async fn progress(api: &Api, id: &str, request: Request, wait: Duration) -> Result<Progress, ApiError> {
    let (input, _) = deepl::read(api, request).await?;
    let mut known = api.documents.find(id, input.required("document_key")?)?;
    let ended = known.wait_for(|progress| !matches!(progress, Progress::Translating));
    match tokio::time::timeout(wait, ended).await {
        Ok(Ok(progress)) => Ok(progress.clone()),
        Ok(Err(_)) => Ok(Progress::Failed("the translation broke off: a defect of this program".into())),
        Err(_) => Ok(Progress::Translating),
    }
}

async fn described(api: &Api, id: Id, request: Request) -> Result<Value, ApiError> {
    let id = id.map_err(|_| no_document())?;
    Ok(match progress(api, &id, request, WAIT).await? {
        Progress::Translating => json!({ "document_id": *id, "status": "translating" }),
        Progress::Done { characters, .. } => {
            json!({ "document_id": *id, "status": "done", "billed_characters": characters })
        }
        Progress::Failed(message) => {
            json!({ "document_id": *id, "status": "error", "error_message": message })
        }
    })
}

async fn fetched(api: &Api, id: Id, request: Request) -> Result<Response, ApiError> {
    let id = id.map_err(|_| no_document())?;
    match progress(api, &id, request, Duration::ZERO).await? {
        Progress::Done { name, .. } => {
            let content = api.files.get(&name).ok_or_else(no_document)?;
            Ok(attachment(&name, content))
        }
        // as DeepL says it: its clients ask again
        Progress::Translating => Err(ApiError {
            retry_after: Some(WAIT.as_secs()),
            ..ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "The document is being translated")
        }),
        Progress::Failed(message) => Err(ApiError::bad(message)),
    }
}
