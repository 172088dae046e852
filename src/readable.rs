//! Numbers and times for readers.

use std::fmt::Display;

/// A whole number with commas: `12,345`.
pub fn grouped(number: impl Display) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A whole number of things: `1 pair`, `12,345 pairs`, `2 hypotheses`.
pub fn counted(number: impl Display, one: &str) -> String {
    let number = grouped(number);
    match one.strip_suffix("sis") {
        _ if number == "1" => format!("1 {one}"),
        Some(stem) => format!("{number} {stem}ses"),
        None => format!("{number} {one}s"),
    }
}

/// `40 s`, `12 min`, `3.5 h`
pub fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 90.0 => format!("{seconds:.0} s"),
        seconds if seconds < 5400.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_readers() {
        assert_eq!([7, 123_456, 1_234_567].map(grouped), ["7", "123,456", "1,234,567"]);
        assert_eq!([1, 0, 2000].map(|pairs| counted(pairs, "pair")), ["1 pair", "0 pairs", "2,000 pairs"]);
        assert_eq!([1, 3].map(|count| counted(count, "hypothesis")), ["1 hypothesis", "3 hypotheses"]);
        assert_eq!([40.4, 720.0, 12_600.0].map(duration), ["40 s", "12 min", "3.5 h"]);
    }
}
