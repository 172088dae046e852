//! LibreTranslate's interface, and DeepL's `/v2`. The shapes, messages and status codes are those of LibreTranslate 1.7
//! (`libretranslate/app.py`), because its clients read them.
//!
//! | file | |
//! |---|---|
//! | `input`, `json`, `error` | parameters of a request; answers; errors |
//! | `access` | hosts, keys, limits |
//! | `detection` | the language of texts |
//! | `translation` | texts in, texts out, through one model or two |
//! | `libre`, `deepl`, `glossaries` | the two interfaces |
//! | `files`, `documents` | documents: uploaded, translated, fetched, as in LibreTranslate and as in DeepL |
//! | `about` | languages, settings, health, metrics, specification |
//! | `metrics` | numbers for Prometheus |

mod about;
mod access;
mod deepl;
mod detection;
mod documents;
mod error;
mod files;
mod glossaries;
mod input;
mod json;
mod libre;
mod metrics;
mod translation;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, delete, get, post};

use super::engine::Pool;
use super::glossaries::Glossaries;
use super::host::Hosts;
use super::limits::{Rate, UnderWay};
use super::memories::Memories;
use super::store::{Keys, Suggestions};
use documents::Documents;
use error::ApiError;
use files::Files;
use metrics::Metrics;

/// Limits of requests; `None` is no limit.
#[derive(Clone, Default)]
pub struct Limits {
    /// Characters of a text.
    pub characters: Option<usize>,
    /// Texts of a request.
    pub texts: Option<usize>,
    /// Requests of a client in a minute.
    pub requests: Option<u64>,
    /// Bytes of a body.
    pub body: usize,
    /// Texts that wait or are translated.
    pub queue: usize,
    /// Time of a request.
    pub time: Duration,
}

pub struct Api {
    pub pool: Arc<Pool>,
    pub hosts: Hosts,
    pub limits: Limits,
    pub keys: Option<Keys>,
    pub suggestions: Option<Suggestions>,
    pub glossaries: Glossaries,
    /// Translations that come before the models'.
    pub memory: Option<Memories>,
    /// Whether a proxy's `X-Forwarded-For` names the client.
    pub trusts_forwarded: bool,
    pub rate: Rate,
    pub under_way: UnderWay,
    pub metrics: Metrics,
    pub files: Files,
    pub documents: Documents,
}

/// Address of the other side of a connection.
#[derive(Clone, Copy)]
pub struct Peer(pub IpAddr);

/// Adds the routes. Everything else is answered by the page.
pub fn routes(api: Arc<Api>) -> Router {
    Router::new()
        .route("/translate", post(libre::translate))
        .route("/detect", post(libre::detect))
        .route("/suggest", post(libre::suggest))
        .route("/translate_file", post(files::translate))
        .route("/download_file/{name}", get(files::download))
        .route("/languages", get(about::languages))
        .route("/frontend/settings", get(about::settings))
        .route("/health", get(about::health))
        .route("/metrics", get(about::metrics))
        .route("/spec", get(about::specification))
        .route("/v2/translate", post(deepl::translate))
        .route("/v2/document", post(documents::upload))
        .route("/v2/document/{id}", post(documents::status))
        .route("/v2/document/{id}/result", post(documents::result))
        .route("/v2/languages", get(deepl::languages))
        .route("/v2/usage", get(deepl::usage))
        .route("/v2/{*path}", any(deepl::not_found))
        .route("/v2/glossary-language-pairs", get(glossaries::pairs))
        .route("/v2/glossaries", get(glossaries::list).post(glossaries::add))
        .route("/v2/glossaries/{id}", delete(glossaries::remove).get(glossaries::about))
        .route("/v2/glossaries/{id}/entries", get(glossaries::entries))
        .method_not_allowed_fallback(|address: Uri| async move {
            let error = ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed");
            error.respond_as(if address.path().starts_with("/v2/") { "message" } else { "error" })
        })
        .layer(axum::middleware::from_fn_with_state(api.clone(), around))
        .with_state(api)
}

/// Headers of every response: LibreTranslate's.
const CROSS_ORIGIN: [(HeaderName, &str); 5] = [
    (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    (header::ACCESS_CONTROL_ALLOW_HEADERS, "Authorization, Content-Type"),
    (header::ACCESS_CONTROL_EXPOSE_HEADERS, "Authorization, Retry-After"),
    (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
    (header::ACCESS_CONTROL_MAX_AGE, "1728000"),
];

/// Checks the host, answers preflights, counts and measures.
async fn around(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let started = Instant::now();
    let running = api.metrics.begin();
    let mut response = if !api.hosts.allow(&request) {
        let message = "This server answers to the names of the machine it runs on only";
        ApiError::new(StatusCode::MISDIRECTED_REQUEST, message).into_response()
    } else if request.method() == Method::OPTIONS {
        StatusCode::NO_CONTENT.into_response()
    } else {
        next.run(request).await
    };
    drop(running);
    api.metrics.end(&path, response.status(), started.elapsed());
    let headers: &mut HeaderMap = response.headers_mut();
    headers.extend(CROSS_ORIGIN.map(|(name, value)| (name, HeaderValue::from_static(value))));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
