//! Output for the developer. `anstream` shows colours on a terminal only, and respects `NO_COLOR`.

use std::time::Duration;

use anstyle::{AnsiColor, Style};

pub const HEADING: Style = Style::new().bold();
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const BAD: Style = AnsiColor::Red.on_default().bold();

pub fn heading(text: &str) {
    anstream::println!("\n{HEADING}==> {text}{HEADING:#}");
}

/// `0.8 s`, `41.2 s`, `2 min 03 s`.
pub fn seconds(duration: Duration) -> String {
    if duration.as_secs_f64() < 59.95 {
        format!("{:.1} s", duration.as_secs_f64())
    } else {
        let whole = duration.as_secs_f64().round() as u64;
        format!("{} min {:02} s", whole / 60, whole % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_turn_into_minutes_at_sixty() {
        for (milliseconds, text) in [
            (0, "0.0 s"),
            (849, "0.8 s"),
            (59_940, "59.9 s"),
            (59_960, "1 min 00 s"),
            (122_600, "2 min 03 s"),
            (3_600_000, "60 min 00 s"),
        ] {
            assert_eq!(seconds(Duration::from_millis(milliseconds)), text);
        }
    }
}
