//! Small tasks that a model of two layers learns in a minute, made up or pasted.

use std::str::FromStr;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::Pair;
use super::spanish;
use super::symbols::{Symbols, character_piece, tidy, word_piece};

/// Most symbols of an alphabet that is made up: `a` to `z`.
const LETTERS: usize = 26;
/// Most symbols of a sequence that is made up.
const LONGEST: usize = 64;
/// Most characters of a pasted text, either side.
pub const LONGEST_TEXT: usize = 120;
/// Most pasted pairs.
pub const MOST_PAIRS: usize = 20_000;
/// Most different characters of pasted pairs.
pub const MOST_CHARACTERS: usize = 1_000;
/// One in this number of pasted pairs, and of numbers, is kept for validation.
const HELD_OUT: u32 = 10;
/// Pasted pairs below which none is held out.
const FEW_PAIRS: usize = 20;

/// What is done with a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The same symbols.
    Copy,
    /// The last symbol first.
    Reverse,
    /// In alphabetical order.
    Sort,
    /// A number in Spanish words.
    Numbers,
}

impl FromStr for Rule {
    type Err = TaskError;

    fn from_str(name: &str) -> Result<Self, TaskError> {
        Ok(match name {
            "copy" => Self::Copy,
            "reverse" => Self::Reverse,
            "sort" => Self::Sort,
            "numbers" => Self::Numbers,
            _ => return Err(TaskError::Rule { name: name.to_owned() }),
        })
    }
}

/// An error of a task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// No task has this name.
    #[error("there is no task {name:?}; the tasks are copy, reverse, sort and numbers")]
    Rule {
        /// The given name.
        name: String,
    },
    /// A size is out of range.
    #[error("{option} is {value}; it must be {least} to {most}")]
    Size {
        /// Name of the option.
        option: &'static str,
        /// Given value.
        value: usize,
        /// Smallest value.
        least: usize,
        /// Largest value.
        most: usize,
    },
    /// Heads do not share the width equally.
    #[error("d_model is {d_model}; it must be even, and a multiple of the {heads} heads")]
    Heads {
        /// Width of the model.
        d_model: usize,
        /// Number of heads.
        heads: usize,
    },
    /// A batch is too large.
    #[error(
        "a batch of {batch} pairs has up to {tokens} tokens; at most {most} are learned at once, so take fewer pairs"
    )]
    Batch {
        /// Pairs of a batch.
        batch: usize,
        /// Tokens of the longest ones.
        tokens: usize,
        /// Largest number of tokens.
        most: usize,
    },
    /// A stored training cannot be read.
    #[error("{file} of the stored training cannot be read: {problem}; start anew")]
    Stored {
        /// Name of the file.
        file: &'static str,
        /// The reason.
        problem: String,
    },
    /// A line is no pair.
    #[error(
        "line {line} has {found} tabs; each line has a source, one tab and a target, as a spreadsheet's two columns \
         are copied"
    )]
    Columns {
        /// Number of the line, from 1.
        line: usize,
        /// Tabs of the line.
        found: usize,
    },
    /// A side of a pair is empty.
    #[error("line {line} has no {side}")]
    Empty {
        /// Number of the line, from 1.
        line: usize,
        /// `source` or `target`.
        side: &'static str,
    },
    /// A side of a pair is too long.
    #[error("the {side} of line {line} has {characters} characters; at most {LONGEST_TEXT} are learned here")]
    Long {
        /// Number of the line, from 1.
        line: usize,
        /// `source` or `target`.
        side: &'static str,
        /// Its characters.
        characters: usize,
    },
    /// No pair.
    #[error("there is no pair to learn from; paste lines of a source, a tab and a target")]
    NoPairs,
    /// Too many pairs.
    #[error(
        "there are {found} pairs; at most {MOST_PAIRS} are learned here (the command `wordloom train` takes more)"
    )]
    Many {
        /// Number of pairs.
        found: usize,
    },
    /// Too many characters.
    #[error("the pairs have {found} different characters; at most {MOST_CHARACTERS} are learned here")]
    Characters {
        /// Number of different characters.
        found: usize,
    },
    /// An input has a character that the task does not have.
    #[error("{character:?} is no symbol of this task")]
    Unknown {
        /// The character.
        character: char,
    },
}

/// A task: symbols, and pairs that are drawn by seed.
#[derive(Clone, Debug)]
pub struct Task {
    symbols: Symbols,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Sequences {
        rule: Rule,
        alphabet: u32,
        lengths: [u32; 2],
    },
    Numbers,
    /// Pairs to train on, and others for validation.
    Pasted {
        train: Vec<Pair>,
        dev: Vec<Pair>,
    },
}

/// Random numbers of a task: the same on every machine.
#[derive(Clone, Debug)]
pub struct Draws(ChaCha8Rng);

impl Draws {
    /// Numbers of a seed. Other streams have other numbers.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut random = ChaCha8Rng::from_seed(key);
        random.set_stream(stream);
        Self(random)
    }

    /// A number below `end`.
    fn below(&mut self, end: u32) -> u32 {
        ((u64::from(self.0.next_u32()) * u64::from(end)) >> 32) as u32
    }

    /// Position in the stream, to go on from later.
    pub fn position(&self) -> u64 {
        self.0.get_word_pos() as u64
    }

    /// Goes on from a position.
    pub fn go_to(&mut self, position: u64) {
        self.0.set_word_pos(u128::from(position));
    }
}

impl Task {
    /// A rule over sequences of `lengths` (least and most) letters of an alphabet. [`Rule::Numbers`] has its own sizes.
    ///
    /// # Errors
    /// [`TaskError::Size`]
    pub fn of_rule(rule: Rule, alphabet: usize, lengths: [usize; 2]) -> Result<Self, TaskError> {
        if rule == Rule::Numbers {
            let digits = ('0'..='9').map(character_piece);
            let symbols = Symbols::new(digits.chain(spanish::all_words().map(word_piece)));
            return Ok(Self { symbols, source: Source::Numbers });
        }
        let [least, most] = lengths;
        for (option, value, least, most) in [
            ("the number of symbols", alphabet, 2, LETTERS),
            ("the longest sequence", most, 1, LONGEST),
            ("the shortest sequence", least, 1, most),
        ] {
            if !(least..=most).contains(&value) {
                return Err(TaskError::Size { option, value, least, most });
            }
        }
        let symbols = Symbols::new(('a'..='z').take(alphabet).map(character_piece));
        let lengths = lengths.map(|length| length as u32);
        Ok(Self { symbols, source: Source::Sequences { rule, alphabet: alphabet as u32, lengths } })
    }

    /// Pairs of a text with a source, a tab and a target on each line; empty lines are left out. A character is a
    /// symbol. From twenty pairs on, each tenth is kept for validation.
    ///
    /// # Errors
    /// [`TaskError`] with the number of the line.
    pub fn of_lines(text: &str) -> Result<Self, TaskError> {
        let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
        let pairs = lines.map(|(line, number)| sides(line, number)).collect::<Result<Vec<_>, _>>()?;
        match pairs.len() {
            0 => return Err(TaskError::NoPairs),
            found if found > MOST_PAIRS => return Err(TaskError::Many { found }),
            _ => {}
        }
        let mut characters: Vec<char> = pairs.iter().flatten().flat_map(|side| side.chars()).collect();
        characters.sort_unstable();
        characters.dedup();
        if characters.len() > MOST_CHARACTERS {
            return Err(TaskError::Characters { found: characters.len() });
        }
        let symbols = Symbols::new(characters.into_iter().map(character_piece));
        let ids = |side: &str| symbols.ids(side).map_err(|character| TaskError::Unknown { character });
        let (mut train, mut dev) = (Vec::new(), Vec::new());
        for (index, [source, target]) in (0..).zip(&pairs) {
            let pair = Pair { source: ids(source)?, target: ids(target)? };
            let held_out = pairs.len() >= FEW_PAIRS && index % HELD_OUT == HELD_OUT - 1;
            if held_out { dev.push(pair) } else { train.push(pair) }
        }
        Ok(Self { symbols, source: Source::Pasted { train, dev } })
    }

    /// The symbols.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Tokens of the longest side, the end token included.
    pub fn longest(&self) -> usize {
        let pasted = |pairs: &[Pair]| {
            pairs.iter().map(|pair| pair.source.len().max(pair.target.len())).max().unwrap_or(1)
        };
        match &self.source {
            Source::Sequences { lengths, .. } => lengths[1] as usize + 1,
            // "nueve mil novecientos noventa y nueve"
            Source::Numbers => 7,
            Source::Pasted { train, dev } => pasted(train).max(pasted(dev)),
        }
    }

    /// Whether no pair of [`Task::validation`] is trained on.
    pub fn holds_out(&self) -> bool {
        !matches!(&self.source, Source::Pasted { dev, .. } if dev.is_empty())
    }

    /// Draws a pair to train on.
    pub fn pair(&self, draws: &mut Draws) -> Pair {
        match &self.source {
            Source::Sequences { rule, alphabet, lengths: [least, most] } => {
                let length = least + draws.below(most - least + 1);
                self.sequence(*rule, (0..length).map(|_| draws.below(*alphabet)).collect())
            }
            Source::Numbers => loop {
                let number = draw_number(draws);
                if !is_held_out(number) {
                    return self.number(number);
                }
            },
            Source::Pasted { train, .. } => train[draws.below(train.len() as u32) as usize].clone(),
        }
    }

    /// Pairs for validation, at most `count`. Sequences have the longest length. Few pasted pairs are those that are
    /// trained on; see [`Task::holds_out`].
    pub fn validation(&self, count: usize, seed: u64) -> Vec<Pair> {
        let mut draws = Draws::new(seed, u64::MAX);
        match &self.source {
            Source::Sequences { rule, alphabet, lengths: [_, most] } => (0..count)
                .map(|_| self.sequence(*rule, (0..*most).map(|_| draws.below(*alphabet)).collect()))
                .collect(),
            Source::Numbers => {
                let numbers = std::iter::repeat_with(|| draw_number(&mut draws));
                numbers
                    .filter(|number| is_held_out(*number))
                    .take(count)
                    .map(|number| self.number(number))
                    .collect()
            }
            Source::Pasted { train, dev } if dev.is_empty() => train.iter().take(count).cloned().collect(),
            Source::Pasted { dev, .. } => dev.iter().take(count).cloned().collect(),
        }
    }

    /// The ids of an input that a user typed.
    ///
    /// # Errors
    /// [`TaskError::Unknown`], [`TaskError::Size`]
    pub fn input(&self, text: &str) -> Result<Vec<u32>, TaskError> {
        let ids = self.symbols.ids(text).map_err(|character| TaskError::Unknown { character })?;
        let most = self.longest() - 1;
        match ids.len() - 1 {
            value if value < 1 || value > most => {
                Err(TaskError::Size { option: "the length of the input", value, least: 1, most })
            }
            _ => Ok(ids),
        }
    }

    fn sequence(&self, rule: Rule, letters: Vec<u32>) -> Pair {
        let mut target = letters.clone();
        match rule {
            Rule::Reverse => target.reverse(),
            Rule::Sort => target.sort_unstable(),
            Rule::Copy | Rule::Numbers => {}
        }
        let text = |letters: Vec<u32>| {
            letters.iter().map(|letter| (b'a' + *letter as u8) as char).collect::<String>()
        };
        let ids = |letters| self.symbols.ids(&text(letters)).expect("letters are symbols");
        Pair { source: ids(letters), target: ids(target) }
    }

    fn number(&self, number: u32) -> Pair {
        let source = self.symbols.ids(&number.to_string()).expect("digits are symbols");
        Pair { source, target: self.symbols.ids_of_words(&spanish::words(number)) }
    }
}

/// Small numbers are drawn more often, else there were few of one to three digits.
fn draw_number(draws: &mut Draws) -> u32 {
    let end = [100, 1_000, spanish::LARGEST + 1, spanish::LARGEST + 1][draws.below(4) as usize];
    draws.below(end)
}

/// Whether a number is for validation. Those below 30 have words of their own and must all be seen.
fn is_held_out(number: u32) -> bool {
    number >= 30 && number.wrapping_mul(2_654_435_761).is_multiple_of(HELD_OUT)
}

fn sides(line: &str, number: usize) -> Result<[String; 2], TaskError> {
    let mut columns = line.split('\t');
    let (Some(source), Some(target), None) = (columns.next(), columns.next(), columns.next()) else {
        return Err(TaskError::Columns { line: number, found: line.matches('\t').count() });
    };
    let sides = [tidy(source), tidy(target)];
    for (side, text) in ["source", "target"].into_iter().zip(&sides) {
        match text.chars().count() {
            0 => return Err(TaskError::Empty { line: number, side }),
            characters if characters > LONGEST_TEXT => {
                return Err(TaskError::Long { line: number, side, characters });
            }
            _ => {}
        }
    }
    Ok(sides)
}
