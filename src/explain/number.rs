//! Numbers of an explanation in few characters.

/// A number in at most eight characters: three places, fewer of large ones; powers of ten where these would say nothing.
#[must_use]
pub fn short_number(value: f32) -> String {
    match value.abs() {
        _ if value == f32::NEG_INFINITY => "−∞".to_owned(),
        0.0 => "0".to_owned(),
        size if size < 0.0005 => format!("{value:.1e}"),
        size if size < 100.0 => format!("{value:.3}"),
        size if size < 100_000.0 => format!("{value:.1}"),
        _ => format!("{value:.1e}"),
    }
}
