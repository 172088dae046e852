//! Shortlists come from anywhere. Each is refused, or gives columns of the vocabulary. The checksum is mended, so that it
//! does not end every run.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wordloom::model::{Shortlist, ShortlistVocabularies};

fuzz_target!(|bytes: &[u8]| {
    let vocabularies = ShortlistVocabularies { source: 8, target: 64, shared: true };
    let mut bytes = bytes.to_vec();
    if bytes.len() >= 16 {
        let words = bytes[16..].chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
        let sum = words.fold(0u64, |seed, word| {
            seed ^ word.wrapping_add(0x9e37_79b9).wrapping_add(seed << 6).wrapping_add(seed >> 2)
        });
        bytes[8..16].copy_from_slice(&sum.to_le_bytes());
    }
    let Ok(shortlist) = Shortlist::from_bytes("fuzz", &bytes, vocabularies) else { return };
    let columns = shortlist.columns(&[0, 3, 7, 100]);
    assert!(columns.is_sorted_by(|one, next| one < next));
    assert!(columns.iter().all(|&id| id < 64));
});
