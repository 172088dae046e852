//! Means over seeds, differences between rows, and when a difference counts.

use serde::Serialize;

/// Student's t for a two-sided interval of 95 %, by degrees of freedom from 1.
const STUDENT: [f64; 9] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];

/// Student's t for a two-sided interval of 95 %. From the end of the table on: the expansion of Cornish and Fisher around the
/// normal distribution's 1.96, right to 0.003.
fn student(degrees: usize) -> f64 {
    let (n, z) = (degrees as f64, 1.959_964_f64);
    let expansion = |z: f64| {
        z + (z.powi(3) + z) / (4.0 * n) + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
    };
    STUDENT.get(degrees.saturating_sub(1)).copied().unwrap_or_else(|| expansion(z))
}

/// Mean and standard deviation of some values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub n: usize,
    pub mean: f64,
    /// With n - 1 in the denominator; `None` for one value.
    pub deviation: Option<f64>,
}

impl Summary {
    /// `None` without values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (n > 1).then(|| (squares / (n - 1) as f64).sqrt());
        Some(Self { n, mean, deviation })
    }

    /// The interval that has the true mean with a probability of 95 % if values are normal. `None` for one value.
    pub fn interval(&self) -> Option<[f64; 2]> {
        let half = student(self.n.max(2) - 1) * self.deviation? / (self.n as f64).sqrt();
        Some([self.mean - half, self.mean + half])
    }
}

/// A predicted difference from the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Higher,
    Lower,
    Same,
}

impl Direction {
    pub fn name(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::Same => "same",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Seen,
    NotSeen,
    NotDecidable,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Self::Seen => "seen here",
            Self::NotSeen => "not seen here",
            Self::NotDecidable => "not decidable",
        }
    }

    /// Compares a prediction with measured differences. `margin`: smaller differences are none.
    ///
    /// * A direction is seen if the interval of 95 % lies on its side of 0. It is not seen if the interval lies on the other side,
    ///   or within the margin.
    /// * "Same" is seen if the interval lies within the margin, and not seen if it excludes 0 and its mean is beyond the margin.
    /// * Anything else is not decidable: the seeds differ too much, or there is only one.
    pub fn of(predicted: Direction, differences: Option<Summary>, margin: f64) -> Self {
        let Some((summary, [low, high])) = differences.and_then(|all| Some((all, all.interval()?))) else {
            return Self::NotDecidable;
        };
        let is_within = -margin <= low && high <= margin;
        match predicted {
            Direction::Higher if low > 0.0 => Self::Seen,
            Direction::Lower if high < 0.0 => Self::Seen,
            Direction::Same if is_within => Self::Seen,
            Direction::Higher if high < 0.0 || is_within => Self::NotSeen,
            Direction::Lower if low > 0.0 || is_within => Self::NotSeen,
            Direction::Same if (low > 0.0 || high < 0.0) && summary.mean.abs() > margin => Self::NotSeen,
            _ => Self::NotDecidable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_student_s() {
        let summary = Summary::of(&[1.0, 2.0, 4.5]).unwrap();
        assert_eq!((summary.n, summary.mean), (3, 2.5));
        let deviation = summary.deviation.unwrap();
        assert!((deviation - 3.25_f64.sqrt()).abs() < 1e-12, "{deviation}");
        // 4.303 · √3.25 / √3
        let [low, high] = summary.interval().unwrap();
        assert!((high - 6.978_73).abs() < 1e-4 && (low + 1.978_73).abs() < 1e-4, "{low} {high}");
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[3.0]).unwrap().interval(), None);
        // SciPy: t.ppf(0.975, n)
        for (degrees, expected) in [(9, 2.2622), (10, 2.2281), (19, 2.0930), (99, 1.9842)] {
            assert!((student(degrees) - expected).abs() < 0.003, "{degrees}");
        }
        let many: Vec<f64> = (0..40).map(f64::from).collect();
        assert!(Summary::of(&many).unwrap().interval().is_some());
    }

    #[test]
    fn a_verdict_follows_from_the_interval() {
        let verdict = |predicted, differences: &[f64]| Verdict::of(predicted, Summary::of(differences), 0.02);
        use Direction::{Higher, Lower, Same};
        use Verdict::{NotDecidable, NotSeen, Seen};
        let (clear, none, wide) = ([0.10, 0.11, 0.12], [0.001, -0.002, 0.002], [0.3, -0.2, 0.1]);
        assert_eq!([Higher, Lower, Same].map(|to| verdict(to, &clear)), [Seen, NotSeen, NotSeen]);
        assert_eq!([Higher, Lower, Same].map(|to| verdict(to, &none)), [NotSeen, NotSeen, Seen]);
        assert_eq!([Higher, Lower, Same].map(|to| verdict(to, &wide)), [NotDecidable; 3]);
        assert_eq!([Higher, Lower, Same].map(|to| verdict(to, &clear[..1])), [NotDecidable; 3]);
        assert_eq!(verdict(Lower, &[-0.10, -0.11, -0.12]), Seen);
        // small, but certain
        assert_eq!(verdict(Higher, &[0.010, 0.011, 0.012]), Seen);
    }
}
