//! DeepL's `/v2/translate`: texts, and the options that mean something here.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Api;
use super::access::From;
use super::error::ApiError;
use super::glossaries::header_key;
use super::input::Input;
use super::json::Json;
use super::translation::{Ask, Wishes, language};

pub async fn translate(State(api): State<Arc<Api>>, request: Request) -> Response {
    let answer = translated(&api, request).await;
    answer.map_or_else(|error| error.respond_as("message"), |answer| Json(answer).into_response())
}

async fn translated(api: &Api, request: Request) -> Result<Value, ApiError> {
    let from = From::of(api, &request);
    let key = header_key(request.headers());
    let input = Input::read(request, api.limits.body).await?;
    let key = key.or(input.text("auth_key")?.map(str::to_owned));
    let client = api.client(from, key.as_deref())?;
    let html = match input.text("tag_handling")? {
        None => false,
        Some("html") => true,
        Some(_) => return Err(ApiError::bad("Value for 'tag_handling' not supported.")),
    };
    let glossary = input.text("glossary_id")?.map(|id| api.glossary(&client, id)).transpose()?;
    let texts = input.list("text")?;
    // its client for Python fails without them
    let billed: Vec<usize> = texts.iter().map(|text| text.chars().count()).collect();
    let target = language(input.required("target_lang")?)?;
    let source = input.text("source_lang")?.map(language).transpose()?;
    if glossary.is_some() && source.is_none() {
        return Err(ApiError::bad("Value for 'source_lang' is needed with 'glossary_id'."));
    }
    let given = source.clone();
    let wishes = Wishes { glossary, ..Wishes::default() };
    let answered = api.translate(&client, Ask { texts, source, target, html, wishes }).await?;
    let source = given.or(answered.detected.map(|found| found.language));
    let source = source.map(|source| source.base().to_uppercase());
    let translations = answered.translations.into_iter().zip(billed);
    let translations: Vec<Value> = translations
        .map(|(translated, billed)| {
            json!({
                "detected_source_language": source,
                "text": translated.text,
                "billed_characters": billed,
            })
        })
        .collect();
    Ok(json!({ "translations": translations }))
}
