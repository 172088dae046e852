//! Curves in a terminal: one row of block characters each.

use wordloom::train::session::{History, StepsEvent, TestEvent};

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Rows of the curves, at most `width` characters wide.
pub fn rows(history: &History, width: usize) -> Vec<String> {
    let steps = |value: fn(&StepsEvent) -> f64| history.steps.iter().map(value).collect::<Vec<f64>>();
    let tests =
        |value: fn(&TestEvent) -> Option<f64>| history.tests.iter().filter_map(value).collect::<Vec<f64>>();
    let curves = [
        ("loss", steps(|steps| steps.loss), 2),
        ("dev loss", tests(|test| Some(test.loss)), 2),
        ("BLEU", tests(|test| test.bleu), 1),
        ("tokens/s", steps(|steps| steps.tokens_per_second), 0),
    ];
    let curves = curves.into_iter().filter(|(_, values, _)| values.len() > 1);
    curves.map(|(name, values, digits)| row(name, &values, digits, width)).collect()
}

/// `loss      5.21 █▇▅▃▂▁ 1.43`
fn row(name: &str, values: &[f64], digits: usize, width: usize) -> String {
    let number = |value: Option<&f64>| format!("{:.digits$}", value.copied().unwrap_or_default());
    let (first, last) = (number(values.first()), number(values.last()));
    let room = width.saturating_sub(name.len().max(9) + 2 * 7 + 2).clamp(4, 60);
    format!("  {name:<9} {first:>6} {} {last}", sparkline(&means(values, room)))
}

/// Means of at most `count` runs of values of nearly equal length.
fn means(values: &[f64], count: usize) -> Vec<f64> {
    let count = count.min(values.len());
    (0..count)
        .map(|index| {
            let run = &values[index * values.len() / count..(index + 1) * values.len() / count];
            run.iter().sum::<f64>() / run.len() as f64
        })
        .collect()
}

fn sparkline(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let height = |value: f64| match most > least {
        true => ((value - least) / (most - least) * 7.0).round() as usize,
        false => 3,
    };
    values.iter().map(|&value| BARS[height(value).min(7)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_value_has_the_lowest_bar() {
        assert_eq!(sparkline(&[7.0, 0.0, 3.0, 1.0]), "█▁▄▂");
        assert_eq!(sparkline(&[2.0, 2.0]), "▄▄");
    }

    #[test]
    fn long_curves_are_means_that_fit() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        assert_eq!(means(&values, 4), [124.5, 374.5, 624.5, 874.5]);
        assert_eq!(means(&values[..3], 60), [0.0, 1.0, 2.0]);
        let row = row("loss", &values, 1, 40);
        assert!(row.starts_with("  loss         0.0 ▁") && row.ends_with("█ 999.0"), "{row}");
        assert!(row.chars().count() <= 42, "{row}");
    }
}
