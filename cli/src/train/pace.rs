//! The time that a training still takes.

use super::text::duration;

/// Where this process began in the training's time and budget. After a resume the speed of this process counts: an earlier
/// one may have run on another machine, or beside other work.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    seconds: f64,
    progress: f64,
}

impl Pace {
    /// `seconds`: time of the training so far; `progress`: the used share of its budget, 0 to 1.
    pub fn new(seconds: f64, progress: f64) -> Self {
        Self { seconds, progress }
    }

    /// The time to the end, for readers: `40 min`, or `?` before any progress.
    pub fn time_left(&self, seconds: f64, progress: f64) -> String {
        match progress > self.progress {
            true => duration((seconds - self.seconds) * (1.0 - progress) / (progress - self.progress)),
            false => "?".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_the_speed_of_this_process() {
        let (fresh, resumed) = (Pace::new(0.0, 0.0), Pace::new(8000.0, 0.5));
        assert_eq!([fresh.time_left(60.0, 0.5), fresh.time_left(0.0, 0.0)], ["60 s", "?"]);
        // a slow first half, then a tenth in a minute
        assert_eq!([resumed.time_left(8060.0, 0.6), resumed.time_left(8000.0, 0.5)], ["4 min", "?"]);
    }
}
