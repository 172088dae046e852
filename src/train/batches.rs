//! Packed batches in an order by seed.
//!
//! The sentences of a batch are rows of one value, one after the other, without padding. So sentences of any lengths may share
//! a batch, and only the numbers of tokens count.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

pub use super::packed::{Capacity, Pair};
use super::random::below;

/// Number of batches that are filled at the same time. A pair goes to the first one that has room for it.
const OPEN_BATCHES: usize = 8;

/// Capacities are multiples of this number of rows, as tiles of kernels are.
const ROW_STEP: usize = 16;

/// Room for sources beyond the mean ratio, in percent: a batch is full when either side is.
const SLACK_PERCENT: usize = 3;

/// The treatment of pairs that fit no batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooLong {
    /// An error.
    Refuse,
    /// They are left out, and counted.
    LeaveOut,
}

/// The reason why there are no batches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum BatchError {
    /// `pair` counts from 1.
    #[error(
        "pair {pair} has {source_tokens} source and {target_tokens} target tokens; a batch holds {} and {}; take larger \
         batches (`--batch-tokens`), or leave long pairs out",
        capacity.source_rows, capacity.target_rows
    )]
    TooLong { pair: usize, source_tokens: usize, target_tokens: usize, capacity: Capacity },
    /// `pair` counts from 1.
    #[error("pair {pair} has a side without tokens")]
    Empty { pair: usize },
    #[error("there are no pairs")]
    NoPairs,
    #[error(
        "none of the {pairs} pairs fits into a batch of {} source and {} target tokens; take larger batches (`--batch-tokens`)",
        capacity.source_rows, capacity.target_rows
    )]
    NoneFits { pairs: usize, capacity: Capacity },
    #[error("{0} tokens in a batch; give at least 1")]
    NoRoom(usize),
    #[error(
        "the training was stopped before batch {batch} of epoch {epoch}, which has only {batches}; the data or the size of \
         batches was changed"
    )]
    Position { epoch: u64, batch: usize, batches: usize },
}

/// Tokens of a batch that any data may have.
const LEAST_BOUND: usize = 1024;

impl Capacity {
    /// The capacity for batches of about `batch_tokens` target tokens and as many source tokens as come with them.
    ///
    /// # Errors
    /// [`BatchError::NoRoom`], [`BatchError::NoPairs`], [`BatchError::Empty`]
    pub fn propose(pairs: &[Pair], batch_tokens: usize) -> Result<Self, BatchError> {
        if batch_tokens == 0 {
            return Err(BatchError::NoRoom(batch_tokens));
        }
        let [source, target] = tokens(pairs)?;
        // Rows beyond those of all pairs would stay empty, and take memory and time. Twice as many leave room for other epochs,
        // whose words may be cut into more tokens, and for longer pairs of a dev set.
        let batch_tokens = batch_tokens.min((2 * target).max(LEAST_BOUND));
        // u128: no overflow, however many tokens are asked for
        let rows = batch_tokens as u128 * source as u128 * (100 + SLACK_PERCENT as u128);
        let rows = rows.div_ceil(target as u128 * 100);
        let rounded = |rows: u128| rows.next_multiple_of(ROW_STEP as u128).try_into().unwrap_or(usize::MAX);
        Ok(Self { source_rows: rounded(rows), target_rows: rounded(batch_tokens as u128) })
    }

    fn holds(&self, [source, target]: [usize; 2]) -> bool {
        source <= self.source_rows && target <= self.target_rows
    }
}

/// A place in a training: the next batch. Both count from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Number of complete passes over the data.
    pub epoch: u64,
    /// Index of the batch in the epoch.
    pub batch: usize,
}

/// The used share of a capacity, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fill {
    /// Of the source rows.
    pub source: f64,
    /// Of the target rows.
    pub target: f64,
}

/// The batches of one pass over the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Epoch {
    /// Indices of pairs, for each batch.
    pub batches: Vec<Vec<usize>>,
    /// The used share of the batches' rows.
    pub fill: Fill,
}

impl Epoch {
    /// Checks a stored position of this epoch, which may be its end.
    ///
    /// # Errors
    /// [`BatchError::Position`] if the epoch has fewer batches.
    pub fn check(&self, position: Position) -> Result<(), BatchError> {
        let (Position { epoch, batch }, batches) = (position, self.batches.len());
        match batch <= batches {
            true => Ok(()),
            false => Err(BatchError::Position { epoch, batch, batches }),
        }
    }
}

/// Makes the batches of every epoch. An epoch depends on the lengths of the pairs, the seed and its number alone.
#[derive(Clone, Debug)]
pub struct Batches {
    /// Tokens of each pair: source, target.
    lengths: Vec<[usize; 2]>,
    /// Indices of the pairs that fit.
    kept: Vec<usize>,
    capacity: Capacity,
    seed: u64,
}

impl Batches {
    /// # Errors
    /// [`BatchError`]
    pub fn new(pairs: &[Pair], capacity: Capacity, seed: u64, too_long: TooLong) -> Result<Self, BatchError> {
        tokens(pairs)?;
        let lengths: Vec<[usize; 2]> =
            pairs.iter().map(|pair| [pair.source.len(), pair.target.len()]).collect();
        let (kept, long): (Vec<usize>, Vec<usize>) =
            (0..pairs.len()).partition(|&pair| capacity.holds(lengths[pair]));
        match long.first() {
            Some(&pair) if too_long == TooLong::Refuse => {
                let [source_tokens, target_tokens] = lengths[pair];
                Err(BatchError::TooLong { pair: pair + 1, source_tokens, target_tokens, capacity })
            }
            Some(_) if kept.is_empty() => Err(BatchError::NoneFits { pairs: pairs.len(), capacity }),
            _ => Ok(Self { lengths, kept, capacity, seed }),
        }
    }

    /// Number of pairs that are left out because they fit no batch.
    pub fn left_out(&self) -> usize {
        self.lengths.len() - self.kept.len()
    }

    /// The largest numbers of tokens in a batch.
    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// The batches of an epoch: all pairs that fit, each once, shuffled and packed.
    pub fn epoch(&self, epoch: u64) -> Epoch {
        let mut order = self.kept.clone();
        shuffle(&mut order, self.seed, epoch);
        let batches = self.pack(&order);
        let fill = self.fill(&batches);
        Epoch { batches, fill }
    }

    /// First fit into a few open batches. If no open batch has room, the one with the most tokens is complete.
    fn pack(&self, order: &[usize]) -> Vec<Vec<usize>> {
        let mut complete = Vec::new();
        let mut open: Vec<([usize; 2], Vec<usize>)> = Vec::new();
        for &pair in order {
            let [source, target] = self.lengths[pair];
            let with = |used: &[usize; 2]| [used[0] + source, used[1] + target];
            let place = open.iter().position(|(used, _)| self.capacity.holds(with(used)));
            let place = place.unwrap_or_else(|| {
                if open.len() == OPEN_BATCHES {
                    let fullest = (0..open.len()).max_by_key(|&place| open[place].0.iter().sum::<usize>());
                    complete.push(open.remove(fullest.unwrap_or_default()).1);
                }
                open.push(([0, 0], Vec::new()));
                open.len() - 1
            });
            let (used, batch) = &mut open[place];
            *used = with(used);
            batch.push(pair);
        }
        complete.extend(open.into_iter().map(|(_, batch)| batch));
        complete
    }

    fn fill(&self, batches: &[Vec<usize>]) -> Fill {
        let used = |side: usize| {
            batches.iter().flatten().map(|&pair| self.lengths[pair][side] as u64).sum::<u64>() as f64
        };
        let rows = |rows: usize| rows as f64 * batches.len() as f64;
        Fill {
            source: used(0) / rows(self.capacity.source_rows),
            target: used(1) / rows(self.capacity.target_rows),
        }
    }
}

/// Numbers of source and target tokens of all pairs. Errors if there is no pair, or one has an empty side.
fn tokens(pairs: &[Pair]) -> Result<[usize; 2], BatchError> {
    if pairs.is_empty() {
        return Err(BatchError::NoPairs);
    }
    let mut sums = [0, 0];
    for (index, Pair { source, target }) in pairs.iter().enumerate() {
        if source.is_empty() || target.is_empty() {
            return Err(BatchError::Empty { pair: index + 1 });
        }
        sums[0] += source.len();
        sums[1] += target.len();
    }
    Ok(sums)
}

/// Shuffles (Fisher and Yates) by a seed and the number of the epoch; the same on every machine.
fn shuffle(order: &mut [usize], seed: u64, epoch: u64) {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut random = ChaCha8Rng::from_seed(key);
    random.set_stream(epoch);
    for last in (1..order.len()).rev() {
        order.swap(last, below(&mut random, last as u64 + 1) as usize);
    }
}
