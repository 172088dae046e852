//! From wrong and slow answers to the kernels that gave them.

use std::collections::{BTreeMap, BTreeSet};

use super::Answer;
use crate::kernels::AdapterClass;

/// How many times slower than the other class's a kernel may be.
const SLOWNESS: f64 = 4.0;
/// Milliseconds below which a difference may be the clock's.
const LEAST: f64 = 0.5;

/// The wrong kernels. A case of several kernels does not tell which is wrong: innocent are those that some other list of
/// kernels has whose cases are all right, unless no kernel is left.
pub fn wrong(answers: &[Answer]) -> BTreeSet<&'static str> {
    let mut lists: BTreeMap<&[&'static str], bool> = BTreeMap::new();
    for answer in answers {
        *lists.entry(&answer.kernels).or_insert(true) &= answer.is_right();
    }
    let innocent: BTreeSet<_> =
        lists.iter().filter(|(_, right)| **right).flat_map(|(kernels, _)| kernels.iter().copied()).collect();
    let guilty = lists.iter().filter(|(_, right)| !**right).flat_map(|(kernels, _)| {
        let suspects: Vec<_> = kernels.iter().copied().filter(|kernel| !innocent.contains(kernel)).collect();
        if suspects.is_empty() { kernels.to_vec() } else { suspects }
    });
    guilty.collect()
}

/// The kernels of a class, the device's own, that are much slower than those of the other class for the same case.
pub fn slow(answers: &[Answer], own: AdapterClass) -> BTreeSet<&'static str> {
    let timed = || answers.iter().filter_map(|answer| Some((answer, answer.milliseconds?)));
    let mut found = BTreeSet::new();
    for (answer, time) in timed().filter(|(answer, _)| answer.class == own) {
        let same = |other: &Answer| {
            other.class != answer.class && (&other.case, other.precision) == (&answer.case, answer.precision)
        };
        for (other, other_time) in timed().filter(|(other, _)| same(other) && other.is_right()) {
            if time > SLOWNESS * other_time && time - other_time > LEAST {
                found.extend(answer.kernels.iter().copied().filter(|kernel| !other.kernels.contains(kernel)));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precision::WeightPrecision;

    fn answer(class: AdapterClass, kernels: &[&'static str], difference: f32, time: f64) -> Answer {
        Answer {
            case: "a case".into(),
            class,
            precision: WeightPrecision::F32,
            kernels: kernels.to_vec(),
            difference,
            repeats: true,
            milliseconds: Some(time),
        }
    }

    #[test]
    fn a_kernel_that_other_cases_clear_is_innocent() {
        let (hardware, software) = (AdapterClass::Hardware, AdapterClass::Software);
        let answers = [
            answer(hardware, &["chunks", "workgroup"], 0.1, 1.0),
            answer(software, &["chunks", "candidates", "merge"], 9.0, 1.0),
            answer(software, &["candidates", "elsewhere"], 0.0, 1.0),
        ];
        assert_eq!(wrong(&answers), BTreeSet::from(["merge"]));
        assert_eq!(wrong(&answers[..1]), BTreeSet::new());
        let unsure = [answer(hardware, &["chunks", "workgroup"], f32::NAN, 1.0)];
        assert_eq!(wrong(&unsure), BTreeSet::from(["chunks", "workgroup"]));
        let mut unstable = answer(hardware, &["alone"], 0.0, 1.0);
        unstable.repeats = false;
        assert_eq!(wrong(&[unstable]), BTreeSet::from(["alone"]));
    }

    #[test]
    fn a_kernel_is_slow_beside_a_right_one_of_the_other_class() {
        let (hardware, software) = (AdapterClass::Hardware, AdapterClass::Software);
        let pair = |time, other, difference| {
            [
                answer(hardware, &["both", "tile"], 0.0, time),
                answer(software, &["both", "row"], difference, other),
            ]
        };
        assert_eq!(slow(&pair(9.0, 2.0, 0.0), hardware), BTreeSet::from(["tile"]));
        assert_eq!(slow(&pair(7.0, 2.0, 0.0), hardware), BTreeSet::new());
        assert_eq!(slow(&pair(9.0, 2.0, 5.0), hardware), BTreeSet::new(), "the other kernel is wrong");
        assert_eq!(slow(&pair(0.4, 0.01, 0.0), hardware), BTreeSet::new(), "the clock's noise");
        assert_eq!(slow(&pair(2.0, 9.0, 0.0), hardware), BTreeSet::new(), "the other class's");
        assert_eq!(slow(&pair(2.0, 9.0, 0.0), software), BTreeSet::from(["row"]));
    }
}
