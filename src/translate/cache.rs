//! Results of earlier searches.

use lru::LruCache;

use crate::decode::{DecodeOptions, Hypothesis};
use crate::transformer::GenerateRequest;

/// Results of one model's searches by token ids and options, languages included. The least recently used go first.
pub(super) struct SentenceCache {
    entries: LruCache<Vec<u32>, Entry>,
    bytes: usize,
    max_bytes: usize,
}

struct Entry {
    options: DecodeOptions,
    hypotheses: Vec<Hypothesis>,
    bytes: usize,
}

/// Bytes of an entry besides its tokens and scores: place in the table, options, headers of vectors.
const ENTRY_BYTES: usize = 512;

impl SentenceCache {
    /// * `max_bytes`: approximate limit; 0: nothing is kept
    pub fn new(max_bytes: usize) -> Self {
        Self { entries: LruCache::unbounded(), bytes: 0, max_bytes }
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.bytes = 0;
    }

    pub fn get(&mut self, request: &GenerateRequest) -> Option<Vec<Hypothesis>> {
        let entry = self.entries.get(&request.input_ids)?;
        (entry.options == request.options).then(|| entry.hypotheses.clone())
    }

    /// Keeps a result. Of requests that differ only in options the last one stays.
    pub fn put(&mut self, request: &GenerateRequest, hypotheses: &[Hypothesis]) {
        let bytes = entry_bytes(request, hypotheses);
        if bytes > self.max_bytes {
            return; // it would drive out all others
        }
        let entry = Entry { options: request.options.clone(), hypotheses: hypotheses.to_vec(), bytes };
        self.bytes += bytes;
        if let Some(before) = self.entries.put(request.input_ids.clone(), entry) {
            self.bytes -= before.bytes;
        }
        while self.bytes > self.max_bytes {
            let Some((_, oldest)) = self.entries.pop_lru() else { break };
            self.bytes -= oldest.bytes;
        }
    }
}

fn entry_bytes(
    GenerateRequest { input_ids, options, .. }: &GenerateRequest,
    hypotheses: &[Hypothesis],
) -> usize {
    let banned =
        options.bad_words.iter().map(|word| size_of_val(word) + size_of_val(&word[..])).sum::<usize>();
    let found = hypotheses.iter().map(|hypothesis| {
        size_of_val(hypothesis)
            + size_of_val(&hypothesis.tokens[..])
            + size_of_val(&hypothesis.step_logprobs[..])
    });
    ENTRY_BYTES
        + size_of_val(&input_ids[..])
        + size_of_val(&options.prompt[..])
        + size_of_val(&options.eos[..])
        + banned
        + found.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(id: u32) -> GenerateRequest {
        GenerateRequest::new(vec![id, 0], DecodeOptions::new(1, 0, 1))
    }

    fn result(token: u32) -> Vec<Hypothesis> {
        vec![Hypothesis { tokens: vec![1, token, 0], score: -0.5, step_logprobs: vec![-0.25, -0.25] }]
    }

    #[test]
    fn only_equal_requests_have_a_result() {
        let mut cache = SentenceCache::new(1 << 20);
        cache.put(&request(7), &result(70));
        assert_eq!(cache.get(&request(7)), Some(result(70)));
        assert_eq!(cache.get(&request(8)), None);
        let mut other = request(7);
        other.options.forced_bos = Some(3); // another language
        assert_eq!(cache.get(&other), None);
        cache.put(&other, &result(71));
        assert_eq!((cache.get(&other), cache.get(&request(7))), (Some(result(71)), None));
    }

    #[test]
    fn its_size_is_bounded_and_what_is_used_stays() {
        let each = entry_bytes(&request(0), &result(0));
        let mut cache = SentenceCache::new(10 * each);
        for id in 0..1000 {
            cache.put(&request(id), &result(id));
            assert_eq!(cache.get(&request(0)), Some(result(0)), "after {id}");
            assert!(cache.bytes <= cache.max_bytes && cache.bytes == cache.entries.len() * each);
        }
        assert_eq!(cache.entries.len(), 10);
        assert_eq!(cache.get(&request(500)), None);
        let mut long = request(1);
        long.input_ids = vec![1; 10 * each];
        cache.put(&long, &result(1));
        assert_eq!((cache.get(&long), cache.entries.len()), (None, 10), "too long to be kept");
        let mut nothing = SentenceCache::new(0);
        nothing.put(&request(1), &result(1));
        assert_eq!(nothing.get(&request(1)), None);
    }
}
