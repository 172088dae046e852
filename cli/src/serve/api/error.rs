//! Errors in the form of LibreTranslate: `{"error": "…"}`.

use axum::http::StatusCode;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::super::engine::Failure;
use super::json::Json;

#[derive(Debug, PartialEq)]
pub struct ApiError {
    pub status: StatusCode,
    pub message: String,
    /// Seconds after which the request may be repeated.
    pub retry_after: Option<u64>,
}

impl ApiError {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), retry_after: None }
    }

    pub fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    pub fn missing(name: &str) -> Self {
        Self::bad(format!("Invalid request: missing {name} parameter"))
    }

    /// The request comes too early.
    pub fn slow_down(reason: impl std::fmt::Display, seconds: u64) -> Self {
        let message = format!("Slowdown: {reason}");
        Self { retry_after: Some(seconds), ..Self::new(StatusCode::TOO_MANY_REQUESTS, message) }
    }

    /// The response, with the message under this name.
    pub fn respond_as(self, name: &str) -> Response {
        let mut response = (self.status, Json(json!({ (name): self.message }))).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(message) => Self::bad(message),
            Failure::Broken(message) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, format!("Cannot translate text: {message}"))
            }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.respond_as("error")
    }
}
