//! Sorting that is compiled once.
//!
//! `slice::sort_by` and its kin are compiled for every type and every order, into about 6 kB of WebAssembly each. A page
//! downloads all of them. These functions sort positions, which is the same code for all, and then move the values.
//! They allocate four bytes a value, and a comparison is a call, so the loops of a search sort by themselves.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// [`slice::sort_by`]: equal values keep their order.
pub fn sort_by<T>(values: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let mut order = positions(values.len(), &mut |a, b| compare(&values[a], &values[b]));
    arrange(values, &mut order);
}

/// [`slice::sort`]: equal values keep their order.
pub fn sort<T: Ord>(values: &mut [T]) {
    sort_by(values, T::cmp);
}

/// [`slice::sort_by_cached_key`]: equal keys keep their order. Each key is computed once.
pub fn sort_by_key<T, K: Ord>(values: &mut [T], key: impl FnMut(&T) -> K) {
    let keys: Vec<K> = values.iter().map(key).collect();
    let mut order = positions(keys.len(), &mut |a, b| keys[a].cmp(&keys[b]));
    arrange(values, &mut order);
}

/// `collect` into a map, which would sort all pairs first. Of equal keys the last one counts.
pub fn map_of<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(pairs);
    map
}

/// The positions `0..length`, sorted.
fn positions(length: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<u32> {
    let length = u32::try_from(length).expect("at most 2³² values are sorted");
    let mut order: Vec<u32> = (0..length).collect();
    order.sort_by(|a, b| compare(*a as usize, *b as usize));
    order
}

/// Moves the value at position `order[i]` to position `i`. Each cycle of the permutation is one walk.
fn arrange<T>(values: &mut [T], order: &mut [u32]) {
    for start in 0..order.len() {
        let mut at = start;
        loop {
            let from = order[at] as usize;
            order[at] = at as u32;
            if from == start {
                break;
            }
            values.swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use super::*;

    /// Numbers with many equal ones, by a linear congruential generator.
    fn numbers(count: usize, below: u64) -> Vec<u64> {
        let mut state = count as u64 + 1;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn the_order_is_that_of_the_standard_library() {
        for count in [0, 1, 2, 3, 7, 20, 21, 100, 1000] {
            for below in [1, 3, 10, 1_000_000] {
                let pairs: Vec<(u64, String)> = numbers(count, below)
                    .into_iter()
                    .zip((0..).map(|place| format!("value {place}")))
                    .collect();

                let (mut got, mut want) = (pairs.clone(), pairs.clone());
                sort_by_key(&mut got, |(number, _)| Reverse(*number));
                want.sort_by_key(|(number, _)| Reverse(*number));
                assert_eq!(got, want);

                let (mut got, mut want) = (pairs.clone(), pairs.clone());
                // the largest first, and of equal numbers the shorter text
                let order =
                    |a: &(u64, String), b: &(u64, String)| b.0.cmp(&a.0).then(a.1.len().cmp(&b.1.len()));
                sort_by(&mut got, order);
                want.sort_by(order);
                assert_eq!(got, want);

                let (mut got, mut want) = (pairs.clone(), pairs);
                sort(&mut got);
                want.sort();
                assert_eq!(got, want);
            }
        }
    }

    #[test]
    fn a_key_is_computed_once() {
        let mut calls = 0;
        sort_by_key(&mut [3, 1, 2], |value| {
            calls += 1;
            *value
        });
        assert_eq!(calls, 3);
    }
}
