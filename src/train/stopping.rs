//! Early stopping: the end of a training that no longer gets better.

use serde::{Deserialize, Serialize};

/// The number that is observed on the dev set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// Loss; lower is better.
    Loss,
    /// BLEU; higher is better.
    Bleu,
}

/// What an observation means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The best value so far: keep this checkpoint.
    Best,
    /// Not the best. Training goes on.
    Patience {
        /// Number of further observations without a best one after which training stops.
        left: usize,
    },
    /// Training stops.
    Stop,
}

/// The best observation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// Its step.
    pub step: u64,
    /// Its loss or BLEU.
    pub value: f64,
}

/// Whether a difference is more than what JSON may lose of a stored value, so that a resumed run judges as it would have.
fn is_beyond(difference: f64, value: f64) -> bool {
    difference > 1e-12 * value.abs()
}

/// Stops a training after a number of observations in a row that are not better than the best one. It can be stored and
/// resumed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EarlyStopping {
    goal: Goal,
    patience: usize,
    best: Option<Best>,
    worse: usize,
}

impl EarlyStopping {
    /// `patience`: number of observations in a row without a best one that stops the training; 0 never does.
    pub fn new(goal: Goal, patience: usize) -> Self {
        Self { goal, patience, best: None, worse: 0 }
    }

    /// The same observations with another patience, such as after a resume.
    pub fn with_patience(self, patience: usize) -> Self {
        Self { patience, ..self }
    }

    /// Takes an observation. One that is not a number is worse than any other.
    pub fn observe(&mut self, step: u64, value: f64) -> Verdict {
        let is_better = match (self.goal, self.best) {
            _ if value.is_nan() => false,
            (_, None) => true,
            (Goal::Loss, Some(best)) => is_beyond(best.value - value, value),
            (Goal::Bleu, Some(best)) => is_beyond(value - best.value, value),
        };
        if is_better {
            self.best = Some(Best { step, value });
            self.worse = 0;
            return Verdict::Best;
        }
        self.worse += 1;
        match self.patience.checked_sub(self.worse) {
            _ if self.patience == 0 => Verdict::Patience { left: usize::MAX },
            None | Some(0) => Verdict::Stop,
            Some(left) => Verdict::Patience { left },
        }
    }

    /// The best observation so far.
    pub fn best(&self) -> Option<Best> {
        self.best
    }

    /// The observed number.
    pub fn goal(&self) -> Goal {
        self.goal
    }
}

#[cfg(test)]
mod tests {
    use super::{EarlyStopping, Goal, Verdict};

    /// JSON's reader may miss the last bit of a stored best value; a tie must stay one.
    #[test]
    fn a_resumed_run_judges_a_tie_as_before() {
        let tie = 9.322_196_599_826_041_f64;
        for (goal, better) in [(Goal::Bleu, tie + 1e-6), (Goal::Loss, tie - 1e-6)] {
            for stored in [tie, tie.next_down(), tie.next_up()] {
                let mut stopping = EarlyStopping::new(goal, 5);
                assert_eq!(stopping.observe(1, stored), Verdict::Best);
                assert_eq!(stopping.observe(2, tie), Verdict::Patience { left: 4 });
                assert_eq!(stopping.observe(3, better), Verdict::Best);
            }
        }
        let mut stopping = EarlyStopping::new(Goal::Loss, 5);
        stopping.observe(1, f64::INFINITY);
        assert_eq!(stopping.observe(2, 7.0), Verdict::Best);
    }
}
