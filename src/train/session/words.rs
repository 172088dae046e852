//! Numbers and times for readers.

/// `12,345`
pub fn grouped(number: u64) -> String {
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

/// `1 pair`, `12,345 pairs`
pub fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
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
        assert_eq!([40.4, 720.0, 12_600.0].map(duration), ["40 s", "12 min", "3.5 h"]);
    }
}
