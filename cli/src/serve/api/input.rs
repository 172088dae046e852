//! The parameters of a request: JSON, a form, a form with files, or the query.

use std::time::Duration;

use axum::body::{Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use serde_json::{Map, Value};

use super::error::ApiError;

/// Time for a body to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);

pub struct Input {
    values: Map<String, Value>,
    is_json: bool,
    files: Vec<File>,
}

/// A file of a form.
pub struct File {
    /// Name of the parameter.
    parameter: String,
    /// Name of the file.
    pub name: String,
    pub content: Bytes,
}

impl Input {
    /// Reads the parameters.
    ///
    /// * `most`: bytes of a body
    pub async fn read(request: Request, most: usize) -> Result<Self, ApiError> {
        let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let media = content_type.split(';').next().unwrap_or_default().trim().to_lowercase();
        let query = request.uri().query().unwrap_or_default().to_owned();
        let packed = request.headers().get(header::CONTENT_ENCODING).filter(|packing| *packing != "identity");
        if let Some(packing) = packed {
            let packing = packing.to_str().unwrap_or("?");
            let message =
                format!("Invalid request: Content-Encoding {packing} is not read; send the body unpacked");
            return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
        }
        let too_large = || {
            let message = format!("Invalid request: the body exceeds {most} bytes");
            ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message)
        };
        let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        if length.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > most as u64) {
            return Err(too_large());
        }
        let body = tokio::time::timeout(BODY_TIME, to_bytes(request.into_body(), most)).await;
        let body = body.map_err(|_| {
            ApiError::new(StatusCode::REQUEST_TIMEOUT, "Invalid request: the body did not arrive in time")
        })?;
        let body = body.map_err(|error| match error.to_string().contains("length limit") {
            true => too_large(),
            false => ApiError::bad("Invalid request: the body broke off"),
        })?;
        if media == "application/json" || media.ends_with("+json") {
            return match serde_json::from_slice(&body) {
                Ok(Value::Object(values)) => Ok(Self { values, is_json: true, files: Vec::new() }),
                _ => Err(ApiError::bad("Invalid JSON format")),
            };
        }
        let mut values = form(query.as_bytes())?;
        let mut files = Vec::new();
        if media == "multipart/form-data" {
            let wrong = |error: multer::Error| ApiError::bad(format!("Invalid request: {error}"));
            let boundary = multer::parse_boundary(&content_type).map_err(wrong)?;
            let mut parts = multer::Multipart::with_reader(&body[..], boundary);
            while let Some(part) = parts.next_field().await.map_err(wrong)? {
                let parameter = part.name().unwrap_or_default().to_owned();
                match part.file_name().map(str::to_owned) {
                    Some(name) => {
                        files.push(File { parameter, name, content: part.bytes().await.map_err(wrong)? })
                    }
                    None => add(&mut values, parameter, part.text().await.map_err(wrong)?.into()),
                }
            }
        } else {
            form(&body)?.into_iter().for_each(|(name, value)| match value {
                Value::Array(several) => {
                    several.into_iter().for_each(|value| add(&mut values, name.clone(), value))
                }
                one => add(&mut values, name, one),
            });
        }
        Ok(Self { values, is_json: false, files })
    }

    /// Takes the file of a parameter.
    pub fn take_file(&mut self, parameter: &str) -> Option<File> {
        let index = self.files.iter().position(|file| file.parameter == parameter)?;
        Some(self.files.swap_remove(index))
    }

    /// Whether a parameter is there, and neither null nor empty.
    pub fn has(&self, name: &str) -> bool {
        match self.values.get(name) {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(values)) => !values.is_empty(),
            Some(_) => true,
        }
    }

    /// A parameter that is a text; `None` if it is missing or empty.
    pub fn text(&self, name: &str) -> Result<Option<&str>, ApiError> {
        match self.values.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(&**text).filter(|text| !text.is_empty())),
            // a form may repeat a name: the first counts
            Some(Value::Array(several)) if !self.is_json => Ok(several.first().and_then(Value::as_str)),
            Some(_) => Err(ApiError::bad(format!("Invalid request: {name} parameter is not a string"))),
        }
    }

    pub fn required(&self, name: &str) -> Result<&str, ApiError> {
        self.text(name)?.ok_or_else(|| ApiError::missing(name))
    }

    /// A parameter that is a text or a list of texts. Returns whether it is a list.
    pub fn texts(&self, name: &str) -> Result<(Vec<String>, bool), ApiError> {
        let not_texts = || {
            ApiError::bad(format!("Invalid request: {name} parameter is not a string or a list of strings"))
        };
        match self.values.get(name) {
            Some(Value::Array(texts)) if self.is_json => {
                let texts: Option<Vec<String>> =
                    texts.iter().map(|text| text.as_str().map(str::to_owned)).collect();
                match texts.ok_or_else(not_texts)? {
                    texts if texts.is_empty() => Err(ApiError::missing(name)),
                    texts => Ok((texts, true)),
                }
            }
            Some(Value::Object(_) | Value::Number(_) | Value::Bool(true)) => Err(not_texts()),
            _ => {
                let text = self.required(name)?;
                // browsers send forms with \r\n
                let text = if self.is_json { text.to_owned() } else { text.replace("\r\n", "\n") };
                Ok((vec![text], false))
            }
        }
    }

    /// All values of a parameter, which a form repeats.
    pub fn list(&self, name: &str) -> Result<Vec<String>, ApiError> {
        match self.values.get(name) {
            Some(Value::Array(texts)) => {
                let texts: Option<Vec<String>> =
                    texts.iter().map(|text| text.as_str().map(str::to_owned)).collect();
                let not_texts =
                    || ApiError::bad(format!("Invalid request: {name} parameter is not a list of strings"));
                texts.filter(|texts| !texts.is_empty()).ok_or_else(not_texts)
            }
            _ => Ok(vec![self.required(name)?.to_owned()]),
        }
    }

    /// A parameter that is true or false, or a text that says so.
    pub fn is_true(&self, name: &str) -> Result<bool, ApiError> {
        match self.values.get(name) {
            None | Some(Value::Null | Value::Bool(false)) => Ok(false),
            Some(Value::Bool(true)) => Ok(true),
            Some(Value::String(text)) if matches!(&**text, "true" | "1") => Ok(true),
            Some(Value::String(text)) if matches!(&**text, "" | "false" | "0") => Ok(false),
            Some(_) => Err(ApiError::bad(format!("Invalid request: {name} parameter is not true or false"))),
        }
    }

    /// A parameter that is a number, or a text with one. Negative ones count as 0.
    pub fn count(&self, name: &str) -> Result<usize, ApiError> {
        let number = match self.values.get(name) {
            None | Some(Value::Null) => Some(0),
            Some(Value::Number(number)) => number.as_i64(),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(_) => None,
        };
        let number = number
            .ok_or_else(|| ApiError::bad(format!("Invalid request: {name} parameter is not a number")))?;
        Ok(usize::try_from(number).unwrap_or(0))
    }
}

/// The values of a form; a repeated name has a list.
fn form(form: &[u8]) -> Result<Map<String, Value>, ApiError> {
    /// Stands for bytes that are not UTF-8.
    const REPLACED: char = '\u{fffd}';
    let text = String::from_utf8_lossy(form).to_ascii_uppercase();
    // the character itself may be sent
    let is_sent =
        text.contains("%EF%BF%BD") || std::str::from_utf8(form).is_ok_and(|text| text.contains(REPLACED));
    let mut values = Map::new();
    for (name, value) in form_urlencoded::parse(form) {
        if value.contains(REPLACED) && !is_sent {
            return Err(ApiError::bad(format!("Invalid request: {name} parameter is not UTF-8")));
        }
        add(&mut values, name.into_owned(), value.into_owned().into());
    }
    Ok(values)
}

fn add(values: &mut Map<String, Value>, name: String, value: Value) {
    match values.get_mut(&name) {
        None => _ = values.insert(name, value),
        Some(Value::Array(several)) => several.push(value),
        Some(one) => *one = Value::Array(vec![one.take(), value]),
    }
}
