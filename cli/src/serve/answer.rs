//! Answers to requests: methods, conditions, ranges, and security headers.

use std::io;

use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use percent_encoding::percent_decode_str;

use super::body::AnswerBody;
use super::content::Content;
use super::host::Hosts;
use super::range::{Wanted, wanted};
use super::site::{INDEX, Site};

/// Headers of every answer: a worker's policy comes with its own script, and no content is for other sites.
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

pub fn answer<Body>(request: &Request<Body>, site: &Site, hosts: Hosts) -> Response<AnswerBody> {
    let mut response = if !hosts.allow(request) {
        let text =
            "This server answers to the names of the machine it runs on only: localhost, 127.0.0.1, [::1].";
        message(StatusCode::MISDIRECTED_REQUEST, text)
    } else if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = message(StatusCode::METHOD_NOT_ALLOWED, "Only GET and HEAD are answered.");
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        response
    } else {
        found(request, site).unwrap_or_else(|error| {
            message(StatusCode::INTERNAL_SERVER_ERROR, &format!("This file cannot be read: {error}."))
        })
    };
    for (name, value) in SECURITY {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if request.method() == Method::HEAD {
        *response.body_mut() = AnswerBody::empty();
    }
    response
}

fn found<Body>(request: &Request<Body>, site: &Site) -> io::Result<Response<AnswerBody>> {
    let path = request.uri().path();
    let decoded = percent_decode_str(path.strip_prefix('/').unwrap_or(path)).decode_utf8();
    let path = match decoded.as_deref() {
        Ok("") => INDEX,
        Ok(path) => path,
        Err(_) => return Ok(nothing()),
    };
    match site.find(path)? {
        Some(content) => give(request, content, path),
        None => Ok(nothing()),
    }
}

fn nothing() -> Response<AnswerBody> {
    message(StatusCode::NOT_FOUND, "There is nothing under this address.")
}

/// Answers with the content, a part of it, or "not modified".
fn give<Body>(request: &Request<Body>, content: Content, path: &str) -> io::Result<Response<AnswerBody>> {
    let asked = |name: HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
    let mut response = Response::builder()
        .header(header::ETAG, &content.tag)
        .header(header::CACHE_CONTROL, caching(path))
        .header(header::ACCEPT_RANGES, "bytes");

    if asked(header::IF_NONE_MATCH).is_some_and(|tags| lists(tags, &content.tag)) {
        return Ok(finish(response.status(StatusCode::NOT_MODIFIED), AnswerBody::empty()));
    }
    // A part of changed content is useless. A date is no tag, so the answer is the whole content.
    let unchanged = asked(header::IF_RANGE).is_none_or(|tag| tag == content.tag);
    let len = content.len;
    let wanted = match asked(header::RANGE) {
        Some(range) if unchanged && request.method() == Method::GET => wanted(range, len),
        _ => Wanted::Whole,
    };
    response = response.header(header::CONTENT_TYPE, media_type(path));
    let range = match wanted {
        Wanted::Whole => 0..len,
        Wanted::Part(range) => {
            let place = format!("bytes {}-{}/{len}", range.start, range.end - 1);
            response = response.status(StatusCode::PARTIAL_CONTENT).header(header::CONTENT_RANGE, place);
            range
        }
        Wanted::Unsatisfiable => {
            let mut response = message(StatusCode::RANGE_NOT_SATISFIABLE, "The file has no such part.");
            let length = HeaderValue::try_from(format!("bytes */{len}")).map_err(io::Error::other)?;
            response.headers_mut().insert(header::CONTENT_RANGE, length);
            return Ok(response);
        }
    };
    response = response.header(header::CONTENT_LENGTH, range.end - range.start);
    Ok(finish(response, content.part(range)?))
}

/// Whether a browser's list of entity tags has this one, also as a weak tag.
fn lists(tags: &str, tag: &str) -> bool {
    tags.trim() == "*" || tags.split(',').any(|listed| listed.trim().trim_start_matches("W/") == tag)
}

/// Vite names files in `assets/` by content. The browser checks all others, mostly with the answer "not modified".
fn caching(path: &str) -> &'static str {
    if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" }
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "css" => "text/css; charset=utf-8",
        "html" => "text/html; charset=utf-8",
        "ico" => "image/x-icon",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" | "map" => "application/json",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain; charset=utf-8",
        "wasm" => "application/wasm",
        "webmanifest" => "application/manifest+json",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

/// An answer of one sentence.
fn message(status: StatusCode, text: &str) -> Response<AnswerBody> {
    let text = format!("{text}\n");
    let response = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, "text/plain; charset=utf-8")
        .header(header::CONTENT_LENGTH, text.len())
        .header(header::CACHE_CONTROL, "no-cache");
    finish(response, AnswerBody::bytes(text))
}

fn finish(response: hyper::http::response::Builder, body: AnswerBody) -> Response<AnswerBody> {
    response.body(body).expect("every header is made of plain ASCII")
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
