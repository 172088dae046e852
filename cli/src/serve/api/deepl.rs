//! DeepL's `/v2/translate`: texts, and the options that mean something here; `/v2/languages` and `/v2/usage`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use wordloom_documents::{Format, Options};
use wordloom_hub::Language;

use super::super::glossaries::Served;
use super::Api;
use super::access::{Client, From};
use super::error::ApiError;
use super::glossaries::header_key;
use super::input::Input;
use super::json::Json;
use super::translation::{Ask, Wishes, language};

pub async fn translate(State(api): State<Arc<Api>>, request: Request) -> Response {
    let answer = translated(&api, request).await;
    answer.map_or_else(|error| error.respond_as("message"), |answer| Json(answer).into_response())
}

pub async fn languages(State(api): State<Arc<Api>>, request: Request) -> Response {
    let answer = described_languages(&api, request).await;
    answer.map_or_else(|error| error.respond_as("message"), |answer| Json(answer).into_response())
}

/// The languages of sources (the default), or of targets.
async fn described_languages(api: &Api, request: Request) -> Result<Vec<Value>, ApiError> {
    let input = Input::read(request, api.limits.body).await?;
    let [read, written] = api.pool.languages();
    let languages = match input.text("type")? {
        None | Some("source") => read,
        Some("target") => written,
        Some(_) => return Err(ApiError::bad("Value for 'type' not supported.")),
    };
    let described = languages.iter().map(|language| {
        json!({
            "language": language.to_string().to_uppercase(),
            "name": language.name(),
            "supports_formality": false,
        })
    });
    Ok(described.collect())
}

/// By which programs check their key. Nothing is counted, and the limit is the one that DeepL names where there is none.
pub async fn usage(State(api): State<Arc<Api>>, request: Request) -> Response {
    const NO_LIMIT: u64 = 1_000_000_000_000;
    match api.client_of_deepl(From::of(&api, &request), header_key(request.headers()).as_deref()) {
        Ok(_) => Json(json!({ "character_count": 0, "character_limit": NO_LIMIT })).into_response(),
        Err(error) => error.respond_as("message"),
    }
}

/// What else DeepL has.
pub async fn not_found() -> Response {
    ApiError::new(StatusCode::NOT_FOUND, "Not found").respond_as("message")
}

/// How the texts are marked up, by `tag_handling` and what belongs to it.
fn markup(input: &Input) -> Result<Option<(Format, Options)>, ApiError> {
    let not_supported = |name: &str| ApiError::bad(format!("Value for '{name}' not supported."));
    let format = match input.text("tag_handling")? {
        None => return Ok(None),
        Some("html") => return Ok(Some((Format::Html, Options::default()))),
        Some("xml") => Format::Xml,
        Some(_) => return Err(not_supported("tag_handling")),
    };
    if let Some(name) = ["splitting_tags", "non_splitting_tags"].into_iter().find(|name| input.has(name)) {
        return Err(not_supported(name));
    }
    let mut kept_elements = Vec::new();
    if input.has("ignore_tags") {
        let names = input.list("ignore_tags")?;
        kept_elements
            .extend(names.iter().flat_map(|names| names.split(',')).map(|name| name.trim().to_owned()));
    }
    Ok(Some((format, Options { kept_elements, ..Options::default() })))
}

/// The parameters of a request and its client, whose key is in the header or the parameter `auth_key`.
pub async fn read(api: &Api, request: Request) -> Result<(Input, Client), ApiError> {
    let (from, key) = (From::of(api, &request), header_key(request.headers()));
    let input = Input::read(request, api.limits.body).await?;
    let key = key.or(input.text("auth_key")?.map(str::to_owned));
    let client = api.client_of_deepl(from, key.as_deref())?;
    Ok((input, client))
}

/// From which language into which, and with which terms.
pub struct Pair {
    pub source: Option<Language>,
    pub target: Language,
    pub glossary: Option<Arc<Served>>,
}

impl Pair {
    pub fn read(api: &Api, client: &Client, input: &Input) -> Result<Self, ApiError> {
        let glossary = input.text("glossary_id")?.map(|id| api.glossary(client, id)).transpose()?;
        let target = language(input.required("target_lang")?)?;
        let source = input.text("source_lang")?.map(language).transpose()?;
        if glossary.is_some() && source.is_none() {
            return Err(ApiError::bad("Value for 'source_lang' is needed with 'glossary_id'."));
        }
        Ok(Self { source, target, glossary })
    }
}

async fn translated(api: &Api, request: Request) -> Result<Value, ApiError> {
    let (input, client) = read(api, request).await?;
    let markup = markup(&input)?;
    let texts = input.list("text")?;
    // its client for Python fails without them
    let billed: Vec<usize> = texts.iter().map(|text| text.chars().count()).collect();
    let Pair { source, target, glossary } = Pair::read(api, &client, &input)?;
    let given = source.clone();
    let wishes = Wishes { glossary, ..Wishes::default() };
    let asked = Ask { texts, source, apart: true, target, markup, wishes };
    let answered = api.translate(&client, asked).await?;
    let mut detected = answered.detected.into_iter();
    let translations = answered.translations.into_iter().zip(billed);
    let translations: Vec<Value> = translations
        .map(|(translated, billed)| {
            let source = given.clone().or_else(|| detected.next().map(|found| found.language));
            json!({
                "detected_source_language": source.map(|source| source.base().to_uppercase()),
                "text": translated.text,
                "billed_characters": billed,
            })
        })
        .collect();
    Ok(json!({ "translations": translations }))
}
