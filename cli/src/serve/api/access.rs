//! Who may ask, and how much.

use std::time::Instant;

use axum::http::{HeaderMap, Request, StatusCode};

use super::super::host::Hosts;
use super::error::ApiError;
use super::{Api, Limits, Peer};

/// A client: its name in the queue, and its limits.
#[derive(Clone)]
pub struct Client {
    /// A key, or an address.
    pub name: String,
    pub requests: Option<u64>,
    pub characters: Option<usize>,
}

/// The address of a client.
#[derive(Clone)]
pub struct From(String);

impl From {
    pub fn of<Body>(api: &Api, request: &Request<Body>) -> Self {
        let peer = request.extensions().get::<Peer>().map_or_else(String::new, |peer| peer.0.to_string());
        Self(forwarded(request.headers()).filter(|_| api.trusts_forwarded).unwrap_or(peer))
    }
}

/// The address that the nearest proxy saw: the last one, because a client can send others itself.
fn forwarded(headers: &HeaderMap) -> Option<String> {
    let last = headers.get_all("x-forwarded-for").iter().next_back()?;
    let address = last.to_str().ok()?.rsplit(',').next()?.trim();
    (!address.is_empty() && address.len() <= 64).then(|| address.to_owned())
}

impl Api {
    /// Whether a request has to bring a key.
    pub fn needs_key(&self) -> bool {
        self.hosts == Hosts::Any
    }

    /// The client of a request.
    ///
    /// # Errors
    /// 403 for a wrong key, or if the server has no keys; 400 if a key is needed and missing.
    pub fn client(&self, From(address): From, key: Option<&str>) -> Result<Client, ApiError> {
        let Limits { requests, characters, .. } = self.limits.clone();
        let by_address = Client { name: address, requests, characters };
        let Some(keys) = &self.keys else {
            return match self.needs_key() {
                true => Err(ApiError::forbidden(
                    "This server translates for its own machine only: it was started without API keys",
                )),
                false => Ok(by_address),
            };
        };
        let Some(key) = key.filter(|key| !key.is_empty()) else {
            return match self.needs_key() {
                true => Err(ApiError::bad("Please contact the server operator to get an API key")),
                false => Ok(by_address),
            };
        };
        let found = keys.find(key).map_err(|error| {
            super::super::super::notice(&format!("warning: API keys: {error}"));
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "API keys cannot be read")
        })?;
        let limits = found.ok_or_else(|| ApiError::forbidden("Invalid API key"))?;
        Ok(Client {
            name: format!("key {key}"),
            requests: Some(limits.requests),
            characters: limits.characters.or(characters),
        })
    }

    /// The client of a request in DeepL's shape, which has 403 for a missing key, too.
    pub fn client_of_deepl(&self, from: From, key: Option<&str>) -> Result<Client, ApiError> {
        self.client(from, key).map_err(|error| match error.status {
            StatusCode::BAD_REQUEST => ApiError::forbidden(error.message),
            _ => error,
        })
    }

    /// Counts a request against its client's limit.
    pub fn spend(&self, client: &Client, cost: usize) -> Result<(), ApiError> {
        let Some(per_minute) = client.requests else { return Ok(()) };
        let spent = self.rate.spend(&client.name, cost.max(1), per_minute, Instant::now());
        spent.map_err(|seconds| ApiError::slow_down(format!("{per_minute} per 1 minute"), seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_cannot_name_itself() {
        let mut headers = HeaderMap::new();
        assert_eq!(forwarded(&headers), None);
        headers.append("x-forwarded-for", "1.1.1.1, 2.2.2.2".parse().unwrap());
        assert_eq!(forwarded(&headers).as_deref(), Some("2.2.2.2"));
        headers.append("x-forwarded-for", "3.3.3.3".parse().unwrap());
        assert_eq!(forwarded(&headers).as_deref(), Some("3.3.3.3"));
    }
}
