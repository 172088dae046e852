//! The lexical shortlist of a Firefox student: the few target tokens that a source sentence's tokens can become.
//!
//! The output projection then computes these columns instead of the complete vocabulary. The file has the numbers
//! `first` and `best`, a table of offsets by source token, and target tokens, all little endian:
//! `u64` magic, `u64` checksum of the rest, `u64` first, `u64` best, `u64` offsets, `u64` tokens, `u64` × offsets,
//! `u32` × tokens.

use super::error::ModelError;

/// First eight bytes of a binary shortlist.
const MAGIC: u64 = 0xF11A_48D5_0134_17F5;
/// Bytes before the offsets.
const HEADER: usize = 48;
/// Bytes that the checksum leaves out: magic and checksum.
const UNCHECKED: usize = 16;
/// The number of columns is a multiple of this, as in the engine of these models.
const MULTIPLE: usize = 8;

/// Sizes of the vocabularies that a shortlist belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortlistVocabularies {
    /// Number of source tokens.
    pub source: usize,
    /// Number of target tokens.
    pub target: usize,
    /// Whether source and target share one vocabulary. If so, the source's own tokens are columns too.
    pub shared: bool,
}

/// The target tokens that each source token can become, and those that any sentence can contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortlist {
    vocabularies: ShortlistVocabularies,
    /// Number of first ids that are columns of every sentence.
    first: usize,
    /// Place of each source token's targets in `tokens`, and the end of the last.
    offsets: Vec<u32>,
    tokens: Vec<u32>,
}

impl Shortlist {
    /// Reads a binary shortlist (`lex.50.50.*.s2t.bin`). `file` is its name in messages.
    ///
    /// Returns [`ModelError::InvalidShortlist`] unless magic, checksum and sizes are right, the offsets ascend, and all
    /// tokens are in the vocabulary.
    pub fn from_bytes(
        file: &str,
        bytes: &[u8],
        vocabularies: ShortlistVocabularies,
    ) -> Result<Self, ModelError> {
        read(bytes, vocabularies)
            .map_err(|problem| ModelError::InvalidShortlist { file: file.to_owned(), problem })
    }

    /// The columns of the output projection for one sentence: sorted target ids.
    ///
    /// `source` are the sentence's ids with the end token. Ids beyond the source vocabulary count for nothing. The
    /// columns are the first ids, the targets of each source id, the source ids themselves if the vocabulary is shared,
    /// and then the lowest further ids until the number is a multiple of 8.
    pub fn columns(&self, source: &[u32]) -> Vec<u32> {
        let mut chosen = vec![false; self.vocabularies.target];
        chosen[..self.first].fill(true);
        for &id in source {
            let id = id as usize;
            if self.vocabularies.shared
                && let Some(chosen) = chosen.get_mut(id)
            {
                *chosen = true;
            }
            for &token in self.targets(id) {
                chosen[token as usize] = true;
            }
        }
        let count = chosen.iter().filter(|&&chosen| chosen).count();
        let lacking = count.next_multiple_of(MULTIPLE) - count;
        chosen[self.first..]
            .iter_mut()
            .filter(|chosen| !**chosen)
            .take(lacking)
            .for_each(|more| *more = true);
        let ids = (0..).zip(chosen).filter(|&(_, chosen)| chosen);
        ids.map(|(id, _)| id).collect()
    }

    /// The targets of one source token, ascending; none for a token beyond the vocabulary.
    fn targets(&self, id: usize) -> &[u32] {
        match (self.offsets.get(id), self.offsets.get(id + 1)) {
            (Some(&start), Some(&end)) => &self.tokens[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Number of first ids that are columns of every sentence.
    pub fn first(&self) -> usize {
        self.first
    }

    /// Number of pairs of source and target token.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether no source token has a target.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }
}

/// The error is a message.
fn read(bytes: &[u8], vocabularies: ShortlistVocabularies) -> Result<Shortlist, String> {
    let Some((header, data)) = bytes.split_at_checked(HEADER) else {
        return Err(format!("it is {} bytes long, too short for a header", bytes.len()));
    };
    let word = |index: usize| u64::from_le_bytes(header.as_chunks().0[index]);
    if word(0) != MAGIC {
        return Err("it does not begin as a binary shortlist".to_owned());
    }
    let [first, offset_count, token_count] = [word(2), word(4), word(5)];
    let length =
        offset_count.checked_mul(8).zip(token_count.checked_mul(4)).and_then(|(a, b)| a.checked_add(b));
    if length != Some(data.len() as u64) {
        return Err(format!(
            "its header claims {offset_count} offsets and {token_count} tokens, but {} bytes follow (it may be \
             incomplete)",
            data.len()
        ));
    }
    if checksum(&bytes[UNCHECKED..]) != word(1) {
        return Err("its checksum is wrong; download the file again".to_owned());
    }
    if offset_count != vocabularies.source as u64 + 1 {
        return Err(format!(
            "it has {offset_count} offsets, but the source vocabulary has {} tokens; it belongs to another model",
            vocabularies.source
        ));
    }
    let (offsets, tokens) = data.split_at(8 * offset_count as usize);
    let mut checked: Vec<u32> = Vec::with_capacity(offset_count as usize);
    for &offset in offsets.as_chunks().0 {
        let offset = u64::from_le_bytes(offset);
        let ascends = checked.last().is_none_or(|&last| u64::from(last) <= offset);
        match u32::try_from(offset) {
            Ok(small) if ascends && offset <= token_count => checked.push(small),
            _ => {
                return Err(format!("the offset {offset} of source token {} is out of order", checked.len()));
            }
        }
    }
    if checked.first() != Some(&0) || checked.last().map(|&end| u64::from(end)) != Some(token_count) {
        return Err("its offsets do not cover its tokens".to_owned());
    }
    let tokens: Vec<u32> = tokens.as_chunks().0.iter().map(|&token| u32::from_le_bytes(token)).collect();
    match tokens.iter().find(|&&token| token as usize >= vocabularies.target) {
        Some(token) => Err(format!(
            "it has the target token {token}, but the target vocabulary has {} tokens; it belongs to another model",
            vocabularies.target
        )),
        None => {
            let first = usize::try_from(first).unwrap_or(usize::MAX).min(vocabularies.target);
            Ok(Shortlist { vocabularies, first, offsets: checked, tokens })
        }
    }
}

/// Checksum of the complete 64-bit words, as `boost::hash_combine` mixes them.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.as_chunks().0.iter().fold(0, |seed: u64, &word| {
        let mixed = u64::from_le_bytes(word).wrapping_add(0x9E37_79B9);
        seed ^ mixed.wrapping_add(seed << 6).wrapping_add(seed >> 2)
    })
}
