//! Numbers in Prometheus' text format. No label has an address, a key or a text.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;

use super::super::engine::Numbers;

/// The counted paths. Any other one is not counted, so that clients cannot make labels.
const PATHS: [&str; 5] = ["/translate", "/detect", "/suggest", "/translate_file", "/v2/translate"];
/// Upper bounds of the durations, in seconds.
const BOUNDS: [f64; 10] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 120.0];

#[derive(Default)]
pub struct Metrics {
    running: AtomicU64,
    texts: AtomicU64,
    bytes: AtomicU64,
    requests: Mutex<BTreeMap<(&'static str, u16), Durations>>,
}

#[derive(Default)]
struct Durations {
    /// Number of requests up to each bound.
    counts: [u64; BOUNDS.len()],
    count: u64,
    seconds: f64,
}

/// A request that is under way.
pub struct Running<'a>(&'a AtomicU64);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    pub fn begin(&self) -> Running<'_> {
        self.running.fetch_add(1, Ordering::Relaxed);
        Running(&self.running)
    }

    pub fn end(&self, path: &str, status: StatusCode, took: Duration) {
        let Some(path) = PATHS.into_iter().find(|&known| known == path) else { return };
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let durations = requests.entry((path, status.as_u16())).or_default();
        let seconds = took.as_secs_f64();
        for (count, bound) in durations.counts.iter_mut().zip(BOUNDS) {
            *count += u64::from(seconds <= bound);
        }
        durations.count += 1;
        durations.seconds += seconds;
    }

    /// Counts translated texts, and the bytes of their translations.
    pub fn translated(&self, texts: usize, bytes: usize) {
        self.texts.fetch_add(texts as u64, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub fn text(&self, models: &Numbers, texts_under_way: usize) -> String {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed).to_string();
        let mut text = String::new();
        for (name, kind, help, value) in [
            ("libretranslate_http_requests_in_flight", "gauge", "Active requests", load(&self.running)),
            ("wordloom_texts_total", "counter", "Translated texts", load(&self.texts)),
            ("wordloom_translated_bytes_total", "counter", "Bytes of translations", load(&self.bytes)),
            (
                "wordloom_texts_under_way",
                "gauge",
                "Texts that wait or are translated",
                texts_under_way.to_string(),
            ),
            ("wordloom_sentences_waiting", "gauge", "Sentences without a row", models.waiting.to_string()),
            ("wordloom_sentences_running", "gauge", "Sentences in a batch", models.running.to_string()),
            ("wordloom_models_loaded", "gauge", "Models in memory", models.loaded.to_string()),
            ("wordloom_models_bytes", "gauge", "Bytes of their weights", models.bytes.to_string()),
            ("wordloom_model_loads_total", "counter", "Loads of models", models.loads.to_string()),
        ] {
            _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
        }
        let name = "libretranslate_http_request_duration_seconds";
        _ = writeln!(text, "# HELP {name} Time spent on request\n# TYPE {name} histogram");
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        for ((path, status), durations) in requests.iter() {
            let labels = format!("endpoint=\"{path}\",status=\"{status}\"");
            for (count, bound) in durations.counts.iter().zip(BOUNDS) {
                _ = writeln!(text, "{name}_bucket{{{labels},le=\"{bound}\"}} {count}");
            }
            let Durations { count, seconds, .. } = durations;
            _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
            _ = writeln!(text, "{name}_sum{{{labels}}} {seconds}\n{name}_count{{{labels}}} {count}");
        }
        text
    }
}
