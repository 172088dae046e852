//! Stored attention of translations, until a page requests it.

use wordloom::Translation;
use wordloom::trace::KeptAttention;

/// Memory limit in bytes. A page requests a sentence's attention soon after its translation, often while the next ones run.
const MOST_BYTES: u64 = 64 << 20;

/// The attention of one sentence and its best translation.
pub struct Remembered {
    source_ids: Vec<u32>,
    target_ids: Vec<u32>,
    attention: KeptAttention,
}

impl Remembered {
    /// Appends the sentences of a translation and drops the oldest beyond the memory limit.
    pub fn add(all: &mut Vec<Self>, translation: &Translation) {
        all.extend(translation.sentences.iter().filter_map(|sentence| {
            let target_ids = sentence.hypotheses.first()?.search.tokens.clone();
            Some(Self {
                source_ids: sentence.source_ids.clone(),
                target_ids,
                attention: sentence.attention.clone()?,
            })
        }));
        // the last stays, whatever its size
        while all.len() > 1 && all.iter().map(|one| one.attention.bytes()).sum::<u64>() > MOST_BYTES {
            all.remove(0);
        }
    }

    pub fn is_of(&self, source_ids: &[u32], target_ids: &[u32]) -> bool {
        self.source_ids == source_ids && self.target_ids == target_ids
    }

    pub fn attention(&self) -> &KeptAttention {
        &self.attention
    }
}
