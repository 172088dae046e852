//! The header `Range`, which resumes an interrupted download.

use std::ops::Range;

#[derive(Debug, PartialEq)]
pub enum Wanted {
    /// The whole content: the server may ignore a range, or several.
    Whole,
    Part(Range<u64>),
    Unsatisfiable,
}

/// Requested part of a content of `len` bytes (RFC 9110, 14.1).
pub fn wanted(header: &str, len: u64) -> Wanted {
    let Some((first, last)) = single(header) else { return Wanted::Whole };
    let range = match (position(first), position(last)) {
        (Some(first), Some(last)) if first > last => return Wanted::Whole, // not a range
        (Some(first), Some(last)) => first..last.saturating_add(1).min(len),
        (Some(first), None) if last.is_empty() => first..len,
        (None, Some(suffix)) if first.is_empty() => len.saturating_sub(suffix)..len,
        _ => return Wanted::Whole,
    };
    if range.is_empty() { Wanted::Unsatisfiable } else { Wanted::Part(range) }
}

fn single(header: &str) -> Option<(&str, &str)> {
    let (unit, ranges) = header.split_once('=')?;
    let (first, last) = ranges.trim().split_once('-')?;
    unit.trim().eq_ignore_ascii_case("bytes").then_some((first, last))
}

/// Digits as a number; too large ones become the maximum.
fn position(digits: &str) -> Option<u64> {
    let digits_only = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits_only.then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_cut_to_the_content() {
        for (header, range) in [
            ("bytes=0-0", 0..1),
            ("bytes=2-5", 2..6),
            ("bytes=7-", 7..10),
            ("bytes=7-999", 7..10),
            ("bytes=7-99999999999999999999999", 7..10),
            ("bytes=-3", 7..10),
            ("bytes=-99", 0..10),
            ("Bytes=0-9", 0..10),
        ] {
            assert_eq!(wanted(header, 10), Wanted::Part(range), "{header}");
        }
    }

    #[test]
    fn what_lies_outside_cannot_be_had() {
        for header in ["bytes=10-", "bytes=10-12", "bytes=-0", "bytes=99999999999999999999999-"] {
            assert_eq!(wanted(header, 10), Wanted::Unsatisfiable, "{header}");
        }
        assert_eq!(wanted("bytes=0-", 0), Wanted::Unsatisfiable);
        assert_eq!(wanted("bytes=-5", 0), Wanted::Unsatisfiable);
    }

    #[test]
    fn what_is_no_single_range_is_ignored() {
        for header in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=5-2",
            "bytes=+1-2",
            "bytes=1-x",
            "bytes=0-1,3-4",
            "lines=0-1",
        ] {
            assert_eq!(wanted(header, 10), Wanted::Whole, "{header}");
        }
    }
}
