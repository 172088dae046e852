//! Attention that translations left, for those who ask for it.

use wordloom::trace::{Attended, TraceOptions};
use wordloom::translate::PartialTranslation;
use wordloom::{TranslateOptions, Translation, Translator};

use crate::failure::Failure;

/// Memory for it. A page asks for a sentence's soon after its translation, and often while the next ones are made.
const MOST_BYTES: u64 = 64 << 20;

/// That of one sentence and its best translation.
pub struct Looked {
    source_ids: Vec<u32>,
    target_ids: Vec<u32>,
    attended: Attended,
}

impl Looked {
    /// Translates a text, and keeps the attention of its sentences, as far as there is room.
    pub async fn translate(
        translator: &Translator,
        text: &str,
        options: &TranslateOptions,
        on_partial: &mut dyn FnMut(&PartialTranslation<'_>),
    ) -> Result<(Translation, Vec<Self>), Failure> {
        let kept = TraceOptions::default();
        let (translation, attended) = translator.translate_attended(text, options, &kept, on_partial).await?;
        let sentences = translation.sentences.iter().zip(attended);
        let looked = sentences.filter_map(|(sentence, attended)| {
            let target_ids = sentence.hypotheses.first()?.search.tokens.clone();
            Some(Self { source_ids: sentence.source_ids.clone(), target_ids, attended })
        });
        let looked = looked.collect();
        Ok((translation, looked))
    }

    /// Puts the newest behind the others, and forgets the oldest where there is no room.
    pub fn remember(all: &mut Vec<Self>, newest: Vec<Self>) {
        all.extend(newest);
        // the last stays, however large it is
        while all.len() > 1 && all.iter().map(|looked| looked.attended.bytes()).sum::<u64>() > MOST_BYTES {
            all.remove(0);
        }
    }

    pub fn is_of(&self, source_ids: &[u32], target_ids: &[u32]) -> bool {
        self.source_ids == source_ids && self.target_ids == target_ids
    }

    pub fn attended(&self) -> &Attended {
        &self.attended
    }
}
