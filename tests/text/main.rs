//! Tokenizers against the libraries that they follow, id by id; sentences.

#[path = "../common/files.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod files;

mod byte_tokens;
mod families;
mod json;
mod marian;
mod sentencepiece;
mod sentences;

/// Numbers below the one that is asked for: Marsaglia's xorshift.
fn random_numbers() -> impl FnMut(usize) -> usize {
    let mut random = 1_u32;
    move |below| {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        random as usize % below
    }
}
