//! The times of subtitles: `00:00:01,000 --> 00:00:02,500 align:start`.

/// Milliseconds between two cues with one sentence.
const LONGEST_PAUSE: u64 = 3_000;
/// Milliseconds in which two cues with one sentence are seen at the same time.
const LONGEST_OVERLAP: u64 = 500;

/// Whether a cue comes right behind another one, in the same place of the picture.
///
/// * `before`, `time`: the lines with the times of the cues
pub fn follows(before: &str, time: &str) -> bool {
    let (Some([_, end, place]), Some([start, _, next_place])) = (fields(before), fields(time)) else {
        return false;
    };
    let (Some(end), Some(start)) = (milliseconds(end), milliseconds(start)) else { return false };
    start + LONGEST_OVERLAP >= end && start <= end + LONGEST_PAUSE && place == next_place
}

/// Start, end, and the settings behind.
fn fields(time: &str) -> Option<[&str; 3]> {
    let (start, rest) = time.split_once("-->")?;
    let rest = rest.trim();
    let (end, settings) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    Some([start.trim(), end, settings.trim()])
}

/// A time of at most a few digits in each field: `1:02:03,456`, `02:03.456`.
fn milliseconds(time: &str) -> Option<u64> {
    let (clock, thousandths) = time.split_once([',', '.']).unwrap_or((time, "0"));
    let number = |digits: &str| digits.trim().parse::<u32>().ok().map(u64::from);
    let fields: Option<Vec<u64>> = clock.split(':').map(number).collect();
    let fields = fields.filter(|fields| fields.len() <= 3)?;
    let seconds = fields.into_iter().fold(0, |seconds, field| seconds * 60 + field);
    Some(seconds * 1000 + number(thousandths)?)
}

#[cfg(test)]
mod tests {
    use super::follows;

    #[test]
    fn cues_follow_each_other() {
        let follow = |end: &str, start: &str| {
            follows(&format!("00:00:01,000 --> {end}\r\n"), &format!("{start} --> 01:00:00,000\n"))
        };
        assert!(follow("00:00:02,500", "00:00:02,500"));
        assert!(follow("00:00:02,500", "00:00:05,500"));
        assert!(!follow("00:00:02,500", "00:00:05,501"));
        assert!(follow("00:00:02,500", "00:00:02,000"));
        assert!(!follow("00:00:02,500", "00:00:01,999"));
        assert!(follow("59:59.000", "1:00:00,000"));
        assert!(follow("00:02.000 align:start", "00:03.000") != follow("00:02.000", "00:03.000"));
        assert!(!follow("x", "00:03.000") && !follow("4294967296:1", "4294967296:1"));
        assert!(!follow("1:1:1:1:1:1:1:1:1:1:1:1:1:1", "1:1:1:1:1:1:1:1:1:1:1:1:1:1"));
    }
}
