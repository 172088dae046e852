//! What the server can do, and how it does.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use wordloom_documents::Format;
use wordloom_hub::Language;

use super::Api;
use super::json::Json;

/// The OpenAPI document.
const SPECIFICATION: &str = include_str!("openapi.json");

/// Languages with the ones that each can be translated to. A language is also its own target, as in LibreTranslate.
pub async fn languages(State(api): State<Arc<Api>>) -> Json<Vec<Value>> {
    let [mut languages, written] = api.pool.languages();
    languages.extend(written);
    languages.sort();
    languages.dedup();
    let described = languages.iter().map(|language| {
        let mut targets = api.pool.targets(language);
        targets.push(language.clone());
        targets.sort();
        targets.dedup();
        let targets: Vec<String> = targets.iter().map(Language::to_string).collect();
        json!({ "code": language.to_string(), "name": language.name(), "targets": targets })
    });
    Json(described.collect())
}

pub async fn settings(State(api): State<Arc<Api>>) -> Json<Value> {
    let [read, written] = api.pool.languages();
    let target = read.iter().find_map(|from| api.pool.targets(from).into_iter().next());
    let target = target.or(written.into_iter().next()).unwrap_or_else(Language::english);
    let limit = api.limits.characters.map_or(-1, |most| i64::try_from(most).unwrap_or(i64::MAX));
    Json(json!({
        "charLimit": limit,
        "frontendTimeout": 500,
        "apiKeys": api.keys.is_some(),
        "keyRequired": api.needs_key(),
        "suggestions": api.suggestions.is_some(),
        "filesTranslation": true,
        "supportedFilesFormat": Format::all_endings().map(|ending| format!(".{ending}")).collect::<Vec<_>>(),
        "language": {
            "source": { "code": "auto", "name": "Auto Detect" },
            "target": { "code": target.to_string(), "name": target.name() },
        },
    }))
}

pub async fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

pub async fn metrics(State(api): State<Arc<Api>>) -> Response {
    let text = api.metrics.text(&api.pool.numbers(), api.under_way.count());
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

pub async fn specification() -> Response {
    ([(CONTENT_TYPE, "application/json")], SPECIFICATION).into_response()
}
