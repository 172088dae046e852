//! Packed batches: every pair once, within the capacity, in an order by seed.

use std::collections::HashSet;

use wordloom::train::batches::{BatchError, Batches, Capacity, Pair, Position, TooLong};

fn pair(source: usize, target: usize) -> Pair {
    Pair { source: vec![7; source], target: vec![7; target] }
}

/// Lengths of a corpus of short sentences: 2 to 40 tokens, the target about a fifth longer.
fn corpus(pairs: usize) -> Vec<Pair> {
    let mut state = 1_u64;
    let mut next = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    (0..pairs)
        .map(|_| {
            let source = 2 + next(13) + next(13) + next(14);
            pair(source, (source * 6 / 5 + next(5)).saturating_sub(2).max(1))
        })
        .collect()
}

const CAPACITY: Capacity = Capacity { source_rows: 512, target_rows: 608 };

fn batches(pairs: &[Pair], seed: u64) -> Batches {
    Batches::new(pairs, CAPACITY, seed, TooLong::Refuse).unwrap()
}

#[test]
fn every_pair_comes_once_in_an_epoch_and_every_batch_fits() {
    let pairs = corpus(5000);
    let batches = batches(&pairs, 3);
    for number in [0, 1, 77] {
        let epoch = batches.epoch(number);
        let mut seen: Vec<usize> = epoch.batches.iter().flatten().copied().collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..pairs.len()).collect::<Vec<_>>());
        for batch in &epoch.batches {
            let tokens =
                |side: fn(&Pair) -> &Vec<u32>| batch.iter().map(|&i| side(&pairs[i]).len()).sum::<usize>();
            assert!(!batch.is_empty());
            assert!(tokens(|pair| &pair.source) <= CAPACITY.source_rows);
            assert!(tokens(|pair| &pair.target) <= CAPACITY.target_rows);
        }
    }
}

#[test]
fn batches_are_nearly_full() {
    let pairs = corpus(5000);
    let capacity = Capacity::propose(&pairs, 600).unwrap();
    assert_eq!(capacity.target_rows, 608);
    assert!(capacity.source_rows.is_multiple_of(16) && capacity.source_rows < 600, "{capacity:?}");
    let epoch = Batches::new(&pairs, capacity, 1, TooLong::Refuse).unwrap().epoch(0);
    assert!(epoch.fill.target > 0.95 && epoch.fill.source > 0.9, "{:?}", epoch.fill);
    let tokens: usize = pairs.iter().map(|pair| pair.target.len()).sum();
    let share = tokens as f64 / (epoch.batches.len() * capacity.target_rows) as f64;
    assert!((share - epoch.fill.target).abs() < 1e-12);
}

#[test]
fn the_order_depends_on_seed_and_epoch_alone() {
    let pairs = corpus(1000);
    let epochs: Vec<_> = [(1, 0), (1, 1), (2, 0), (2, 1)]
        .map(|(seed, epoch)| batches(&pairs, seed).epoch(epoch).batches)
        .into_iter()
        .collect();
    assert_eq!(epochs.iter().collect::<HashSet<_>>().len(), 4, "no two are equal");
    assert_eq!(batches(&pairs, 1).epoch(1).batches, epochs[1]);
    // long and short pairs are mixed: a batch that held one length only would bias its step
    let mean = |batch: &Vec<usize>| {
        batch.iter().map(|&pair| pairs[pair].target.len()).sum::<usize>() as f64 / batch.len() as f64
    };
    let means: Vec<f64> = epochs[0].iter().map(mean).collect();
    let overall = pairs.iter().map(|pair| pair.target.len()).sum::<usize>() as f64 / 1000.0;
    let far = means.iter().filter(|&&mean| (mean / overall - 1.0).abs() > 0.5).count();
    assert!(far <= means.len() / 20, "{far} of {} batches are of unusual lengths", means.len());
}

#[test]
fn the_order_is_the_same_on_every_machine() {
    // ChaCha8 with the seed as key and the epoch as stream, by another implementation:
    // `tests/data/make_training_random.py`
    let pairs: Vec<Pair> = (0..10).map(|_| pair(10, 10)).collect();
    let one = Capacity { source_rows: 100, target_rows: 100 };
    let order =
        |seed, epoch| Batches::new(&pairs, one, seed, TooLong::Refuse).unwrap().epoch(epoch).batches.concat();
    assert_eq!(order(42, 0), SHUFFLED_42_0);
    assert_eq!(order(42, 3), SHUFFLED_42_3);
}

const SHUFFLED_42_0: [usize; 10] = [7, 6, 5, 1, 0, 4, 8, 9, 2, 3];
const SHUFFLED_42_3: [usize; 10] = [1, 5, 9, 3, 2, 0, 7, 8, 6, 4];

#[test]
fn a_stored_position_is_resumed() {
    let pairs = corpus(500);
    let batches = batches(&pairs, 9);
    let all = batches.epoch(4).batches;
    let stored = serde_json::to_string(&Position { epoch: 4, batch: 3 }).unwrap();
    let position: Position = serde_json::from_str(&stored).unwrap();
    assert_eq!(batches.epoch(position.epoch).batches[position.batch..], all[3..]);
    let end = Position { epoch: 4, batch: all.len() };
    assert!(batches.epoch(end.epoch).check(end).is_ok());
    let beyond = Position { epoch: 4, batch: all.len() + 1 };
    let error = batches.epoch(beyond.epoch).check(beyond).unwrap_err();
    assert_eq!(error, BatchError::Position { epoch: 4, batch: all.len() + 1, batches: all.len() });
}

#[test]
fn pairs_that_fit_no_batch_are_an_error_or_counted() {
    let mut pairs = corpus(100);
    pairs[40] = pair(513, 3);
    pairs[70] = pair(3, 609);
    let error = Batches::new(&pairs, CAPACITY, 1, TooLong::Refuse).unwrap_err();
    let (source_tokens, target_tokens) = (513, 3);
    assert_eq!(error, BatchError::TooLong { pair: 41, source_tokens, target_tokens, capacity: CAPACITY });
    let batches = Batches::new(&pairs, CAPACITY, 1, TooLong::LeaveOut).unwrap();
    assert_eq!(batches.left_out(), 2);
    let epoch = batches.epoch(0);
    assert_eq!(epoch.batches.iter().flatten().count(), 98);
    assert!(!epoch.batches.iter().flatten().any(|&pair| pair == 40 || pair == 70));

    let long = [pair(600, 1), pair(1, 700)];
    let error = Batches::new(&long, CAPACITY, 1, TooLong::LeaveOut).unwrap_err();
    assert_eq!(error, BatchError::NoneFits { pairs: 2, capacity: CAPACITY });
    assert_eq!(Batches::new(&[], CAPACITY, 1, TooLong::LeaveOut).unwrap_err(), BatchError::NoPairs);
    let empty = [pair(1, 1), pair(0, 1)];
    let error = Batches::new(&empty, CAPACITY, 1, TooLong::LeaveOut).unwrap_err();
    assert_eq!(error, BatchError::Empty { pair: 2 });
    assert_eq!(Capacity::propose(&corpus(3), 0), Err(BatchError::NoRoom(0)));
    // a batch has no more rows than the data can fill
    let pairs = corpus(2000);
    let tokens: usize = pairs.iter().map(|pair| pair.target.len()).sum();
    let huge = Capacity::propose(&pairs, 1 << 40).unwrap();
    assert!((2 * tokens..2 * tokens + 64).contains(&huge.target_rows), "{huge:?}");
    assert_eq!(Capacity::propose(&corpus(3), 1 << 40), Capacity::propose(&corpus(3), 1024));
}
