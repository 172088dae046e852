//! Exponents of measured times, and the length at which two kinds are equally fast.

/// The exponent of a power law through points (size, value), by least squares of their logarithms; `None` for fewer than two.
pub fn exponent(points: &[[f64; 2]]) -> Option<f64> {
    let logarithms: Vec<[f64; 2]> = points
        .iter()
        .filter(|point| point.iter().all(|&value| value > 0.0))
        .map(|point| point.map(f64::ln))
        .collect();
    let count = logarithms.len() as f64;
    let mean = |axis: usize| logarithms.iter().map(|point| point[axis]).sum::<f64>() / count;
    let (x, y) = (mean(0), mean(1));
    let spread = logarithms.iter().map(|point| (point[0] - x).powi(2)).sum::<f64>();
    let common = logarithms.iter().map(|point| (point[0] - x) * (point[1] - y)).sum::<f64>();
    (spread > 0.0).then(|| common / spread)
}

/// Which of two is faster where.
#[derive(Debug, PartialEq)]
pub enum Crossing {
    /// The first is faster below this size, the second above.
    At(f64),
    /// One is faster at all sizes: whether it is the first.
    None { first: bool },
}

/// The first crossing from the first being faster to the second, between points of equal sizes, with straight lines between
/// logarithms. `None` without a common size.
pub fn crossing(first: &[[f64; 2]], second: &[[f64; 2]]) -> Option<Crossing> {
    let ratios: Vec<[f64; 2]> = first
        .iter()
        .filter_map(|&[size, time]| {
            let other = second.iter().find(|other| other[0] == size)?;
            Some([size.ln(), (time / other[1]).ln()])
        })
        .collect();
    for pair in ratios.windows(2) {
        let [[from, low], [to, high]] = [pair[0], pair[1]];
        if low <= 0.0 && high > 0.0 {
            return Some(Crossing::At((from - low * (to - from) / (high - low)).exp()));
        }
    }
    ratios.last().map(|last| Crossing::None { first: last[1] <= 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_those_of_power_laws() {
        let points = |power: f64| [64.0, 128.0, 1024.0].map(|size: f64| [size, 3.0 * size.powf(power)]);
        assert!((exponent(&points(2.0)).unwrap() - 2.0).abs() < 1e-12);
        assert!((exponent(&points(1.0)).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(exponent(&[[64.0, 1.0]]), None);
        assert_eq!(exponent(&[[64.0, 1.0], [64.0, 2.0]]), None);
    }

    #[test]
    fn kinds_cross_where_their_times_are_equal() {
        let sizes = [64.0, 256.0, 1024.0, 4096.0];
        let square = sizes.map(|size| [size, size * size]);
        let linear = sizes.map(|size| [size, 500.0 * size]);
        let Some(Crossing::At(length)) = crossing(&square, &linear) else { panic!("they cross") };
        assert!((length - 500.0).abs() < 1e-6, "{length}");
        assert_eq!(crossing(&square[..2], &linear[..2]), Some(Crossing::None { first: true }));
        assert_eq!(crossing(&square[2..], &linear[2..]), Some(Crossing::None { first: false }));
        assert_eq!(crossing(&square[..1], &linear[2..]), None);
    }
}
