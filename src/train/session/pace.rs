//! The time that a training still takes.

/// Where this process began in the training's time and budget. After a resume the speed of this process counts: an earlier
/// one may have run on another machine, or beside other work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    seconds: f64,
    progress: f64,
}

impl Pace {
    /// `seconds`: time of the training so far; `progress`: the used share of its budget, 0 to 1.
    pub fn new(seconds: f64, progress: f64) -> Self {
        Self { seconds, progress }
    }

    /// The seconds to the end; `None` before any progress.
    pub fn seconds_left(&self, seconds: f64, progress: f64) -> Option<f64> {
        (progress > self.progress)
            .then(|| (seconds - self.seconds) * (1.0 - progress) / (progress - self.progress))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_the_speed_of_this_process() {
        let (fresh, resumed) = (Pace::new(0.0, 0.0), Pace::new(8000.0, 0.5));
        assert_eq!([fresh.seconds_left(60.0, 0.5), fresh.seconds_left(0.0, 0.0)], [Some(60.0), None]);
        // a slow first half, then a tenth in a minute
        let left = resumed.seconds_left(8060.0, 0.6).unwrap();
        assert!((left - 240.0).abs() < 1e-6, "{left}");
        assert_eq!(resumed.seconds_left(8000.0, 0.5), None);
    }
}
