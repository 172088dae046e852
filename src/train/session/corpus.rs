//! The sentence pairs of a training.

use std::collections::BTreeSet;

use super::super::pairs::{
    PairsError, PairsOptions, Rows, SentencePair, load_rows, load_two, without_overlap,
};
use super::defaults;
use super::error::SessionError;
use super::hash::hash;
use super::options::PairSource;
use crate::readable::counted;

/// Training and dev pairs.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// Pairs to train on, none of whose sources is in the dev set.
    pub train: Vec<SentencePair>,
    /// Pairs to test with.
    pub dev: Vec<SentencePair>,
    /// What was read and left out, one entry a line.
    pub notes: Vec<String>,
}

impl Corpus {
    /// Reads all sources. Without a dev set, some pairs are held back. `swaps`: whether source and target change places.
    ///
    /// # Errors
    /// [`SessionError::Pairs`]; [`SessionError::Input`] if no pair is left, or a tag is not there
    pub fn load(
        pairs: Vec<PairSource>,
        dev: Vec<PairSource>,
        swaps: bool,
        options: &PairsOptions,
    ) -> Result<Self, SessionError> {
        let [name, dev_name] = [&pairs, &dev].map(|sources| names(sources));
        let is_held_back = dev.is_empty();
        let (all, mut notes) = load_all(pairs, options)?;
        let (mut train, mut dev) = match is_held_back {
            true => hold_back(all, &name)?,
            false => {
                let load = |source| load(source, options).map(|rows| rows.pairs);
                let dev = dev.into_iter().map(load).collect::<Result<Vec<_>, _>>()?.concat();
                if dev.is_empty() {
                    let problem = "no pair of the dev set has one of the tags (--tags)";
                    return Err(SessionError::Input(format!("{dev_name}: {problem}")));
                }
                (all, dev)
            }
        };
        if swaps {
            swap(&mut train);
            swap(&mut dev);
        }
        match is_held_back {
            true => notes.push(format!("{} of them held back as the dev set", dev.len())),
            false => notes.push(format!("{dev_name}: {} pairs, the dev set", dev.len())),
        }
        let kept = without_overlap(train, &dev);
        if kept.removed > 0 {
            let left_out = counted(kept.removed, "pair");
            notes.push(format!("{left_out} left out, because the source is also in the dev set"));
        }
        if kept.pairs.is_empty() {
            let problem = "no pair is left to train on; every source is also in the dev set";
            return Err(SessionError::Input(format!("{name}: {problem}")));
        }
        Ok(Self { train: kept.pairs, dev, notes })
    }

    /// Number and hash of pairs, for the record of a run.
    pub fn digest(pairs: &[SentencePair]) -> String {
        let parts = pairs.iter().flat_map(|SentencePair { source, target }| [source, "\t", target, "\n"]);
        format!("{} pairs, {}", pairs.len(), hash(parts.map(str::as_bytes)))
    }
}

/// The pairs of all sources, and a note for each.
fn load_all(
    sources: Vec<PairSource>,
    options: &PairsOptions,
) -> Result<(Vec<SentencePair>, Vec<String>), SessionError> {
    let (mut all, mut tags, mut notes) = (Vec::new(), BTreeSet::new(), Vec::new());
    let names = names(&sources);
    for source in sources {
        let name = name(&source);
        let rows = load(source, options)?;
        let with_tags = if rows.tags.is_empty() { "" } else { " with these tags" };
        notes.push(format!("{name}: {} pairs{with_tags}", rows.pairs.len()));
        all.extend(rows.pairs);
        tags.extend(rows.tags);
    }
    if let Some(unknown) = options.tags.iter().find(|tag| !tags.contains(*tag)) {
        let known: Vec<&str> = tags.iter().take(30).map(String::as_str).collect();
        let known = match known.is_empty() {
            true => "no row has a third column".to_owned(),
            false => format!("there are {}", known.join(", ")),
        };
        return Err(SessionError::Input(format!("{names}: no row has the tag {unknown:?}; {known}")));
    }
    Ok((all, notes))
}

fn load(source: PairSource, options: &PairsOptions) -> Result<Rows, PairsError> {
    let without_tags = |pairs| Rows { pairs, tags: BTreeSet::new() };
    match source {
        PairSource::File(file) => load_rows(&file, options),
        PairSource::TwoFiles([source, target]) => load_two(&source, &target, options).map(without_tags),
        PairSource::Pairs { name, pairs } if pairs.is_empty() => Err(PairsError::NoPairs { file: name }),
        PairSource::Pairs { pairs, .. } => Ok(without_tags(pairs)),
    }
}

fn swap(pairs: &mut [SentencePair]) {
    pairs.iter_mut().for_each(|pair| std::mem::swap(&mut pair.source, &mut pair.target));
}

fn name(source: &PairSource) -> String {
    match source {
        PairSource::File(file) => file.display().to_string(),
        PairSource::TwoFiles([source, target]) => format!("{} and {}", source.display(), target.display()),
        PairSource::Pairs { name, .. } => name.clone(),
    }
}

fn names(sources: &[PairSource]) -> String {
    sources.iter().map(name).collect::<Vec<_>>().join(" and ")
}

/// Takes pairs at equal distances out as the dev set: files are often sorted by length.
fn hold_back(
    all: Vec<SentencePair>,
    name: &str,
) -> Result<(Vec<SentencePair>, Vec<SentencePair>), SessionError> {
    if all.len() < 2 {
        let problem = "one pair cannot both be trained on and tested with; give more, or a --dev file";
        return Err(SessionError::Input(format!("{name}: {problem}")));
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
