//! LibreTranslate's requests.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde_json::{Map, Value, json};
use wordloom_documents::{Format, Options};

use super::Api;
use super::access::From;
use super::detection::{self, detected};
use super::error::ApiError;
use super::input::Input;
use super::json::Json;
use super::translation::{Ask, Wishes, language, one_or_all};

pub async fn translate(
    State(api): State<Arc<Api>>,
    request: Request,
) -> Result<Json<Map<String, Value>>, ApiError> {
    let from = From::of(&api, &request);
    let input = Input::read(request, api.limits.body).await?;
    let client = api.client(from, input.text("api_key")?)?;
    let (texts, is_list) = input.texts("q")?;
    let source = match input.required("source")? {
        "auto" => None,
        code => Some(language(code)?),
    };
    let target = language(input.required("target")?)?;
    let alternatives = input.count("alternatives")?;
    let quality = input.is_true("quality")?;
    let glossary = input.text("glossary")?.map(|id| api.glossary(&client, id)).transpose()?;
    let markup = match input.text("format")? {
        None | Some("text") => None,
        Some("html") => Some((Format::Html, Options::default())),
        Some(_) => return Err(ApiError::bad("Invalid request: format is text or html")),
    };
    let wishes = Wishes { alternatives, glossary, quality };
    // as LibreTranslate does: the texts of a list are those of one page
    let apart = false;
    let answered = api.translate(&client, Ask { texts, source, apart, target, markup, wishes }).await?;
    let mut result = Map::new();
    let translations = answered.translations;
    if alternatives > 0 {
        let others = translations.iter().map(|translated| json!(translated.alternatives)).collect();
        result.insert("alternatives".into(), one_or_all(others, is_list));
    }
    if !answered.detected.is_empty() {
        let found = answered.detected.iter().map(detection::Answer::json).collect();
        result.insert("detectedLanguage".into(), one_or_all(found, is_list));
    }
    if quality {
        let all = translations.iter().map(|translated| translated.quality.clone().unwrap_or_default());
        result.insert("quality".into(), one_or_all(all.collect(), is_list));
    }
    let texts = translations.into_iter().map(|translated| Value::String(translated.text)).collect();
    result.insert("translatedText".into(), one_or_all(texts, is_list));
    Ok(Json(result))
}

pub async fn detect(State(api): State<Arc<Api>>, request: Request) -> Result<Json<Vec<Value>>, ApiError> {
    let from = From::of(&api, &request);
    let input = Input::read(request, api.limits.body).await?;
    let client = api.client(from, input.text("api_key")?)?;
    let (texts, _) = input.texts("q")?;
    api.spend(&client, 1)?;
    let found = detected(&texts, &api.pool, None);
    let other = found.other.as_ref();
    let other = other
        .map(|(language, confidence)| json!({ "confidence": confidence, "language": language.to_string() }));
    Ok(Json([found.json()].into_iter().chain(other).collect()))
}

pub async fn suggest(State(api): State<Arc<Api>>, request: Request) -> Result<Json<Value>, ApiError> {
    let from = From::of(&api, &request);
    let Some(suggestions) = &api.suggestions else {
        return Err(ApiError::forbidden("Suggestions are disabled on this server."));
    };
    let input = Input::read(request, api.limits.body).await?;
    let client = api.client(from, input.text("api_key")?)?;
    let names = ["q", "s", "source", "target"];
    let mut values = [""; 4];
    for (value, name) in values.iter_mut().zip(names) {
        *value = input.required(name)?;
    }
    let languages = [language(values[2])?.to_string(), language(values[3])?.to_string()];
    if let Some(limit) = client.characters
        && let Some(text) = values[..2].iter().find(|text| text.chars().count() > limit)
    {
        let size = text.chars().count();
        return Err(ApiError::bad(format!("Invalid request: request ({size}) exceeds text limit ({limit})")));
    }
    api.spend(&client, 1)?;
    let added = suggestions.add([values[0], values[1], &languages[0], &languages[1]]);
    added.map_err(|error| {
        super::super::super::notice(&format!("warning: suggestions: {error}"));
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "The suggestion cannot be kept")
    })?;
    Ok(Json(json!({ "success": true })))
}
