//! Responses: methods, conditions, ranges, security headers.

use std::io;

use axum::extract::Request;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use percent_encoding::percent_decode_str;

use super::content::Content;
use super::host::Hosts;
use super::range::{Wanted, wanted};
use super::site::{INDEX, Site};

/// Headers of every response: a worker's policy comes with its script, and other sites may use nothing.
const SECURITY: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; worker-src 'self'; \
         connect-src 'self' https:; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'; object-src 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
];

pub fn answer(request: &Request, site: &Site, hosts: Hosts) -> Response {
    let mut response = match *request.method() {
        _ if !hosts.allow(request) => message(
            StatusCode::MISDIRECTED_REQUEST,
            "This server answers to the names of the machine it runs on only: localhost, 127.0.0.1, [::1].",
        ),
        Method::GET | Method::HEAD => found(request, site).unwrap_or_else(|error| {
            message(StatusCode::INTERNAL_SERVER_ERROR, &format!("This file cannot be read: {error}."))
        }),
        _ => {
            let refusal = message(StatusCode::METHOD_NOT_ALLOWED, "Only GET and HEAD are answered.");
            ([(header::ALLOW, "GET, HEAD")], refusal).into_response()
        }
    };
    response.headers_mut().extend(SECURITY.map(|(name, value)| (name, HeaderValue::from_static(value))));
    response
}

fn found(request: &Request, site: &Site) -> io::Result<Response> {
    let path = request.uri().path();
    let decoded = percent_decode_str(path.strip_prefix('/').unwrap_or(path)).decode_utf8();
    let path = decoded.as_deref().map(|path| if path.is_empty() { INDEX } else { path });
    if let Ok(path) = path
        && let Some(content) = site.find(path)?
    {
        return give(request, content, path);
    }
    Ok(message(StatusCode::NOT_FOUND, "There is nothing under this address."))
}

/// Responds with the content, a part of it, or "not modified".
fn give(request: &Request, content: Content, path: &str) -> io::Result<Response> {
    let asked = |name: HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
    let (tag, len) = (content.tag.clone(), content.len);
    let about = [
        (header::ETAG, tag.as_str()),
        (header::CACHE_CONTROL, caching(path)),
        (header::ACCEPT_RANGES, "bytes"),
    ];
    if asked(header::IF_NONE_MATCH).is_some_and(|tags| lists(tags, &tag)) {
        return Ok((StatusCode::NOT_MODIFIED, about).into_response());
    }
    // A part of changed content is useless; a date is no tag. Both get the whole content.
    let unchanged = asked(header::IF_RANGE).is_none_or(|asked| asked == tag);
    let wanted = match asked(header::RANGE) {
        Some(range) if unchanged && request.method() == Method::GET => wanted(range, len),
        _ => Wanted::Whole,
    };
    let (status, place, range) = match wanted {
        Wanted::Whole => (StatusCode::OK, None, 0..len),
        Wanted::Part(range) => {
            let place = format!("bytes {}-{}/{len}", range.start, range.end - 1);
            (StatusCode::PARTIAL_CONTENT, Some([(header::CONTENT_RANGE, place)]), range)
        }
        Wanted::Unsatisfiable => {
            let refusal = message(StatusCode::RANGE_NOT_SATISFIABLE, "The file has no such part.");
            return Ok(([(header::CONTENT_RANGE, format!("bytes */{len}"))], refusal).into_response());
        }
    };
    let length = (range.end - range.start).to_string();
    let own = [(header::CONTENT_TYPE, media_type(path)), (header::CONTENT_LENGTH, length)];
    Ok((status, about, place, own, content.part(range)?).into_response())
}

/// Whether a list of entity tags has this one, also as a weak tag.
fn lists(tags: &str, tag: &str) -> bool {
    tags.trim() == "*" || tags.split(',').any(|listed| listed.trim().trim_start_matches("W/") == tag)
}

/// Vite names files in `assets/` by content. The browser revalidates all others.
fn caching(path: &str) -> &'static str {
    if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" }
}

fn media_type(path: &str) -> String {
    let media = mime_guess::from_path(path).first_or_octet_stream();
    let charset = if media.type_() == mime_guess::mime::TEXT { "; charset=utf-8" } else { "" };
    format!("{media}{charset}")
}

fn message(status: StatusCode, text: &str) -> Response {
    (status, [(header::CACHE_CONTROL, "no-cache")], format!("{text}\n")).into_response()
}

#[cfg(test)]
mod tests {
    use super::{lists, media_type};

    #[test]
    fn tags_are_found_in_their_list() {
        for tags in ["\"a\"", "W/\"a\"", "\"b\", \"a\"", "*", " \"b\",W/\"a\" "] {
            assert!(lists(tags, "\"a\""), "{tags}");
        }
        for tags in ["", "a", "\"aa\"", "\"A\"", "\"b\", \"c\""] {
            assert!(!lists(tags, "\"a\""), "{tags}");
        }
    }

    #[test]
    fn the_name_s_end_decides_the_type() {
        assert_eq!(media_type("assets/engine-1a2b.wasm"), "application/wasm");
        assert_eq!(media_type("manifest.webmanifest"), "application/manifest+json");
        assert_eq!(media_type("model/model.safetensors"), "application/octet-stream");
    }
}
