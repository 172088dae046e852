//! DeepL's `/v2/glossaries`: listing, making and removing glossaries; and `/v2/glossary-language-pairs`.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use wordloom_hub::Language;

use super::super::super::{CliError, notice};
use super::super::engine::blocking;
use super::super::glossaries::{Served, Unkept};
use super::Api;
use super::access::{Client, From};
use super::error::ApiError;
use super::input::Input;
use super::json::Json;
use super::translation::language;

impl Api {
    /// The glossary with an id, for a pair of languages.
    pub fn glossary(&self, client: &Client, id: &str) -> Result<Arc<Served>, ApiError> {
        let found = self.glossaries.find(&client.name, id).map_err(|error| unreadable(&error))?;
        found.ok_or_else(|| ApiError::new(StatusCode::NOT_FOUND, "Glossary not found"))
    }
}

fn unreadable(error: &CliError) -> ApiError {
    notice(&format!("warning: glossaries: {error}"));
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "Glossaries cannot be read")
}

/// The key of DeepL's header.
pub fn header_key(headers: &HeaderMap) -> Option<String> {
    let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok())?;
    let (scheme, key) = header.trim_start().split_once(' ')?;
    scheme.eq_ignore_ascii_case("DeepL-Auth-Key").then(|| key.trim().to_owned())
}

fn client(api: &Api, request: &Request) -> Result<Client, ApiError> {
    api.client_of_deepl(From::of(api, request), header_key(request.headers()).as_deref())
}

fn described(served: &Served) -> Value {
    let [from, to] = served.languages.each_ref().map(Language::to_string);
    json!({
        "glossary_id": served.id,
        "name": served.name,
        "ready": true,
        "source_lang": from.to_lowercase(),
        "target_lang": to.to_lowercase(),
        "creation_time": served.created,
        "entry_count": served.file.entries.len(),
    })
}

fn respond(answer: Result<impl IntoResponse, ApiError>) -> Response {
    answer.map_or_else(|error| error.respond_as("message"), IntoResponse::into_response)
}

/// The pairs of languages that a glossary can be used with: a single model has to translate them.
pub async fn pairs(State(api): State<Arc<Api>>, request: Request) -> Response {
    respond(described_pairs(api, request).await)
}

async fn described_pairs(api: Arc<Api>, request: Request) -> Result<Json<Value>, ApiError> {
    client(&api, &request)?;
    let pairs = blocking(move || api.pool.direct_pairs()).await?;
    let described = |pair: &[Language; 2]| {
        let [from, to] = pair.each_ref().map(|language| language.to_string().to_lowercase());
        json!({ "source_lang": from, "target_lang": to })
    };
    let all: Vec<Value> = pairs.iter().map(described).collect();
    Ok(Json(json!({ "supported_languages": all })))
}

pub async fn list(State(api): State<Arc<Api>>, request: Request) -> Response {
    let list = || {
        let client = client(&api, &request)?;
        let all = api.glossaries.list(&client.name).map_err(|error| unreadable(&error))?;
        let all: Vec<Value> = all.iter().map(|served| described(served)).collect();
        Ok(Json(json!({ "glossaries": all })))
    };
    respond(list())
}

pub async fn about(State(api): State<Arc<Api>>, Path(id): Path<String>, request: Request) -> Response {
    let about = || {
        let client = client(&api, &request)?;
        Ok(Json(described(&*api.glossary(&client, &id)?)))
    };
    respond(about())
}

pub async fn entries(State(api): State<Arc<Api>>, Path(id): Path<String>, request: Request) -> Response {
    let entries = || {
        let client = client(&api, &request)?;
        let served = api.glossary(&client, &id)?;
        Ok(([(CONTENT_TYPE, "text/tab-separated-values; charset=utf-8")], served.text.clone()))
    };
    respond(entries())
}

pub async fn remove(State(api): State<Arc<Api>>, Path(id): Path<String>, request: Request) -> Response {
    let remove = || {
        let client = client(&api, &request)?;
        match api.glossaries.remove(&client.name, &id).map_err(|error| unreadable(&error))? {
            true => Ok(StatusCode::NO_CONTENT),
            false => Err(ApiError::new(StatusCode::NOT_FOUND, "Glossary not found")),
        }
    };
    respond(remove())
}

pub async fn add(State(api): State<Arc<Api>>, request: Request) -> Response {
    respond(added(&api, request).await.map(|served| (StatusCode::CREATED, Json(described(&served)))))
}

async fn added(api: &Api, request: Request) -> Result<Arc<Served>, ApiError> {
    let client = client(api, &request)?;
    let input = Input::read(request, api.limits.body).await?;
    let name = input.required("name")?;
    if name.chars().count() > 1024 {
        return Err(ApiError::bad("Value for 'name' not supported."));
    }
    let languages = [language(input.required("source_lang")?)?, language(input.required("target_lang")?)?];
    if input.text("entries_format")?.is_some_and(|format| format != "tsv") {
        return Err(ApiError::bad("Value for 'entries_format' not supported."));
    }
    let entries = input.required("entries")?;
    api.spend(&client, 1)?;
    api.glossaries.add(&client.name, name, languages, entries).map_err(|unkept| match unkept {
        Unkept::NoStore => ApiError::forbidden(
            "This server keeps no glossaries: it was started without --api-keys, where they would be kept",
        ),
        Unkept::Wrong(problem) => ApiError::bad(problem),
        Unkept::Failed(error) => unreadable(&error),
    })
}
