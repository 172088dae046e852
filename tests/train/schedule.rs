//! The learning rate against the paper's formula in float64, the budget, and early stopping.

use std::time::Duration;

use serde::Deserialize;
use wordloom::train::schedule::{Budget, Height, LearningRate, ScheduleError};
use wordloom::train::stopping::{Best, EarlyStopping, Goal, Verdict};

#[derive(Deserialize)]
struct Expected {
    lr_factor: f64,
    warmup: u64,
    d_model: usize,
    learning_rates: Vec<f64>,
}

/// Within two roundings of a number: powers of two libraries can differ in the last bit.
fn assert_same(got: f64, want: f64, what: &str) {
    assert!((got - want).abs() <= 2.0 * f64::EPSILON * want.abs(), "{what}: got {got:e}, want {want:e}");
}

#[test]
fn the_rate_is_that_of_section_5_3() {
    let Expected { lr_factor: factor, warmup, d_model, learning_rates } =
        serde_json::from_slice(&crate::common::read(&crate::common::data("training/learning_rates.json")))
            .unwrap();
    let rate = LearningRate::new(Height::Factor { factor, d_model }, warmup).unwrap();
    assert!(learning_rates.len() > warmup as usize);
    for (step, want) in (1..).zip(learning_rates) {
        assert_same(rate.at(step, 0.0), want, &format!("step {step}"));
        // the cool-down alone reads the progress
        assert_eq!(rate.at(step, 0.9), rate.at(step, 0.0));
    }
}

#[test]
fn a_peak_is_reached_at_the_end_of_the_warm_up() {
    let rate = LearningRate::new(Height::Peak(9e-4), 800).unwrap();
    assert_same(rate.at(800, 0.0), 9e-4, "peak");
    assert_same(rate.at(1, 0.0), 9e-4 / 800.0, "first step");
    assert_same(rate.at(3200, 0.0), 4.5e-4, "four times the warm-up");
    // the same curve as the paper's with the same height
    let factor = 9e-4 * (512.0_f64 * 800.0).sqrt();
    let paper = LearningRate::new(Height::Factor { factor, d_model: 512 }, 800).unwrap();
    for step in [1, 799, 800, 801, 100_000] {
        let (one, other) = (rate.at(step, 0.0), paper.at(step, 0.0));
        assert!((one - other).abs() < 1e-15, "step {step}: {one} and {other}");
    }
}

#[test]
fn without_a_rise_the_warm_up_has_the_peak_rate() {
    let with = LearningRate::new(Height::Peak(9e-4), 800).unwrap().with_cooldown(0.5).unwrap();
    let without = with.starting_at_peak();
    for step in [1, 2, 400, 800] {
        assert_same(without.at(step, 0.0), 9e-4, &format!("step {step}"));
    }
    for step in [800, 801, 3200] {
        assert_eq!(without.at(step, 0.75), with.at(step, 0.75), "step {step}");
    }
}

#[test]
fn the_cool_down_is_linear_over_the_last_share() {
    let rate = LearningRate::new(Height::Peak(1.0), 1).unwrap().with_cooldown(0.25).unwrap();
    for (progress, want) in [(0.0, 1.0), (0.75, 1.0), (0.8125, 0.75), (0.875, 0.5), (1.0, 0.02)] {
        assert_same(rate.at(1, progress), want, &format!("at {progress}"));
    }
}

#[test]
fn wrong_options_are_refused() {
    let height = |height, warmup| LearningRate::new(height, warmup).unwrap_err();
    assert_eq!(height(Height::Peak(0.0), 10), ScheduleError::Height(0.0));
    assert_eq!(height(Height::Peak(f64::INFINITY), 10), ScheduleError::Height(f64::INFINITY));
    assert!(matches!(height(Height::Peak(f64::NAN), 10), ScheduleError::Height(_)));
    assert_eq!(height(Height::Peak(1.0), 0), ScheduleError::Warmup);
    assert_eq!(height(Height::Factor { factor: 1.0, d_model: 0 }, 10), ScheduleError::Width);
    let rate = LearningRate::new(Height::Peak(1.0), 1).unwrap();
    assert_eq!(rate.with_cooldown(1.5), Err(ScheduleError::Cooldown(1.5)));
    assert!(rate.with_cooldown(f64::NAN).is_err());
    assert_eq!(Budget::new(None, None), Err(ScheduleError::NoEnd));
    assert_eq!(Budget::new(Some(0), None), Err(ScheduleError::NoEnd));
    assert_eq!(Budget::new(None, Some(-1.0)), Err(ScheduleError::Minutes(-1.0)));
}

#[test]
fn the_first_end_of_a_budget_counts() {
    let minute = Duration::from_secs(60);
    let budget = Budget::new(Some(100), Some(10.0)).unwrap();
    assert_eq!(budget.progress(50, minute), 0.5);
    assert_eq!(budget.progress(50, 8 * minute), 0.8);
    assert_eq!(budget.progress(200, minute), 1.0);
    assert_eq!(Budget::new(Some(4), None).unwrap().progress(1, 1000 * minute), 0.25);
    assert_eq!(Budget::new(None, Some(4.0)).unwrap().progress(1 << 40, minute), 0.25);
}

#[test]
fn patience_counts_observations_that_are_not_better() {
    let mut stopping = EarlyStopping::new(Goal::Loss, 2);
    assert_eq!(stopping.observe(1, f64::NAN), Verdict::Patience { left: 1 });
    assert_eq!(stopping.observe(2, 2.0), Verdict::Best);
    assert_eq!(stopping.observe(3, 2.0), Verdict::Patience { left: 1 });
    assert_eq!(stopping.observe(4, 1.5), Verdict::Best);
    // stored and resumed
    let stored = serde_json::to_string(&stopping).unwrap();
    let mut stopping: EarlyStopping = serde_json::from_str(&stored).unwrap();
    assert_eq!(stopping.observe(5, 1.6), Verdict::Patience { left: 1 });
    assert_eq!(stopping.observe(6, 1.55), Verdict::Stop);
    assert_eq!(stopping.best(), Some(Best { step: 4, value: 1.5 }));

    let mut stopping = EarlyStopping::new(Goal::Bleu, 1);
    assert_eq!(stopping.observe(1, 20.0), Verdict::Best);
    assert_eq!(stopping.observe(2, 30.0), Verdict::Best);
    assert_eq!(stopping.observe(3, 25.0), Verdict::Stop);
    let mut without_end = EarlyStopping::new(Goal::Bleu, 0);
    assert_eq!(without_end.observe(1, 20.0), Verdict::Best);
    for step in 2..100 {
        assert!(matches!(without_end.observe(step, 1.0), Verdict::Patience { .. }));
    }
}
