//! The sentence pairs of a training, as text and as token ids.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use wordloom::Model;
use wordloom::text::{Direction, TargetRole, TextError, Tokenizer};
use wordloom::train::Pair;
use wordloom::train::pairs::{
    PairsError, PairsOptions, Rows, SentencePair, load_rows, load_two, without_overlap,
};

use super::arguments::Arguments;
use super::defaults;
use crate::digest::Digest;
use crate::{CliError, notice};

/// Training and dev pairs.
pub struct Corpus {
    pub train: Vec<SentencePair>,
    pub dev: Vec<SentencePair>,
    /// Lines for the model card.
    pub notes: Vec<String>,
}

impl Corpus {
    pub fn load(arguments: &Arguments) -> Result<Self, CliError> {
        let options = PairsOptions {
            ignore_columns: arguments.numbers.ignore_columns,
            tags: arguments.examples.tags.clone(),
            ..PairsOptions::default()
        };
        Self::of_files(&arguments.pairs.0, &arguments.dev, arguments.examples.swap, &options)
    }

    /// Reads the files of each `--pairs` and those of `--dev`; without the latter, some pairs are held back. `swaps`: whether
    /// source and target change places.
    pub fn of_files(
        pairs: &[Vec<PathBuf>],
        dev_files: &[PathBuf],
        swaps: bool,
        options: &PairsOptions,
    ) -> Result<Self, CliError> {
        let (all, mut notes) = load_all(pairs, options)?;
        let files: Vec<PathBuf> = pairs.concat();
        let (mut train, mut dev) = match dev_files.is_empty() {
            true => hold_back(all, &files)?,
            false => (all, load(dev_files, options)?.pairs),
        };
        if swaps {
            swap(&mut train);
            swap(&mut dev);
        }
        match dev_files.is_empty() {
            true => notes.push(format!("{} of them held back as the dev set", dev.len())),
            false => notes.push(format!("{}: {} pairs, the dev set", names(dev_files), dev.len())),
        }
        let kept = without_overlap(train, &dev);
        if kept.removed > 0 {
            let line =
                format!("{} pairs left out, because their source is also in the dev set", kept.removed);
            notes.push(line);
        }
        if kept.pairs.is_empty() {
            let problem = "no pair is left to train on; every source is also in the dev set";
            return Err(CliError::Input(format!("{}: {problem}", names(&files))));
        }
        notes.iter().for_each(|line| notice(line));
        Ok(Self { train: kept.pairs, dev, notes })
    }

    /// Number and hash of the pairs, for the record of a run.
    pub fn digest(pairs: &[SentencePair]) -> String {
        let mut digest = Digest::default();
        for SentencePair { source, target } in pairs {
            for text in [source, "\t", target, "\n"] {
                digest.update(text.as_bytes());
            }
        }
        format!("{} pairs, {}", pairs.len(), digest.summary().hash)
    }
}

/// The pairs of all `--pairs`, and a note for each.
fn load_all(
    all_files: &[Vec<PathBuf>],
    options: &PairsOptions,
) -> Result<(Vec<SentencePair>, Vec<String>), CliError> {
    let (mut all, mut tags, mut notes) = (Vec::new(), BTreeSet::new(), Vec::new());
    for files in all_files {
        let rows = load(files, options)?;
        let with_tags = if rows.tags.is_empty() { "" } else { " with these tags" };
        notes.push(format!("{}: {} pairs{with_tags}", names(files), rows.pairs.len()));
        all.extend(rows.pairs);
        tags.extend(rows.tags);
    }
    if let Some(unknown) = options.tags.iter().find(|tag| !tags.contains(*tag)) {
        let files = names(&all_files.concat());
        let known: Vec<&str> = tags.iter().take(30).map(String::as_str).collect();
        let known = match known.is_empty() {
            true => "no row has a third column".to_owned(),
            false => format!("there are {}", known.join(", ")),
        };
        return Err(CliError::Input(format!("{files}: no row has the tag {unknown:?}; {known}")));
    }
    Ok((all, notes))
}

fn load(files: &[PathBuf], options: &PairsOptions) -> Result<Rows, PairsError> {
    match files {
        [source, target] => {
            load_two(source, target, options).map(|pairs| Rows { pairs, tags: BTreeSet::new() })
        }
        files => load_rows(files.first().map_or(Path::new(""), PathBuf::as_path), options),
    }
}

fn swap(pairs: &mut [SentencePair]) {
    pairs.iter_mut().for_each(|pair| std::mem::swap(&mut pair.source, &mut pair.target));
}

fn names(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" and ")
}

/// Takes pairs at equal distances out as the dev set: files are often sorted by length.
fn hold_back(
    all: Vec<SentencePair>,
    files: &[PathBuf],
) -> Result<(Vec<SentencePair>, Vec<SentencePair>), CliError> {
    if all.len() < 2 {
        let problem = "one pair cannot both be trained on and tested with; give more, or a --dev file";
        return Err(CliError::Input(format!("{}: {problem}", names(files))));
    }
    let distance = all.len() / defaults::held_back(all.len());
    let count = defaults::held_back(all.len());
    let (dev, train): (Vec<_>, Vec<_>) = all
        .into_iter()
        .enumerate()
        .partition(|(index, _)| index % distance == distance / 2 && index / distance < count);
    let texts = |pairs: Vec<(usize, SentencePair)>| pairs.into_iter().map(|(_, pair)| pair).collect();
    Ok((texts(train), texts(dev)))
}

/// The languages of `--from` and `--to` in so far as they choose the tokens of a model. A new model, and one for a single pair of
/// languages that its folder does not name, has no such tokens.
pub fn chosen_languages<'a>(arguments: &'a Arguments, tokenizer: &Tokenizer) -> [Option<&'a str>; 2] {
    let languages = [&arguments.from, &arguments.to].map(Option::as_deref);
    let has_none =
        || matches!(tokenizer.direction(languages[0], languages[1]), Err(TextError::NoLanguages { .. }));
    match arguments.model.is_none() || (tokenizer.languages().is_empty() && has_none()) {
        true => [None; 2],
        false => languages,
    }
}

/// Pairs as ids, without those that are longer than the model's positions, and the indices of the kept ones.
pub type Encoded = (Vec<Pair>, Vec<usize>);

/// Turns sentence pairs into the ids that a model reads and learns to say.
pub struct Encoder {
    tokenizer: Tokenizer,
    direction: Direction,
    /// The model's positions.
    limit: usize,
}

impl Encoder {
    pub fn new(model: &Model, tokenizer: Tokenizer, languages: [Option<&str>; 2]) -> Result<Self, CliError> {
        let [from, to] = languages;
        let direction = tokenizer.direction(from, to)?;
        if direction.target.is_some_and(|target| target.token.is_none()) {
            let languages = tokenizer.languages();
            let some = languages[..languages.len().min(6)].join(", ");
            return Err(TextError::NoTargetLanguage { some, count: languages.len() }.into());
        }
        Ok(Self { tokenizer, direction, limit: model.config().positions.longest_input() })
    }

    /// The ids of pairs.
    pub fn encode(&self, pairs: &[SentencePair]) -> Result<Encoded, TextError> {
        let encoded: Result<Vec<Pair>, TextError> = pairs.par_iter().map(|pair| self.pair(pair)).collect();
        let fits = |pair: &Pair| {
            let lengths = [pair.source.len(), pair.target.len()];
            lengths.iter().all(|length| (1..=self.limit).contains(length))
        };
        let (kept, indices) = encoded?
            .into_iter()
            .enumerate()
            .filter(|(_, pair)| fits(pair))
            .map(|(index, pair)| (pair, index))
            .unzip();
        Ok((kept, indices))
    }

    /// A target begins or ends with its language, as the family's decoder expects it.
    fn pair(&self, SentencePair { source, target }: &SentencePair) -> Result<Pair, TextError> {
        let source = self.tokenizer.encode_source(source, &self.direction)?;
        let mut ids = self.tokenizer.encode_target(target, &self.direction)?;
        if let Some(language) = self.direction.target
            && let Some(token) = language.token
        {
            match language.role {
                TargetRole::ForcedBos => ids.insert(0, token),
                TargetRole::DecoderStart => ids.push(token),
            }
        }
        Ok(Pair { source, target: ids })
    }
}
