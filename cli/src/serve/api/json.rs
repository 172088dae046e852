//! Answers in JSON. axum's own type takes a feature of `serde_json` that the whole program would be compiled with.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        let text = serde_json::to_string(&self.0).unwrap_or_default(); // it holds texts and numbers only
        ([(CONTENT_TYPE, "application/json")], text).into_response()
    }
}
