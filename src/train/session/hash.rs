//! The hash of data, by which a run that goes on knows it again.

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

/// Hash of the parts, one after the other: the same on every machine and in every version.
pub fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = SipHasher13::default();
    parts.into_iter().for_each(|part| hasher.write(part));
    format!("{:032x}", hasher.finish128().as_u128())
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn the_hash_never_changes() {
        assert_eq!(hash([&b"word"[..], b"loom"]), "e154974d572b265e4ca221fbfc464383");
    }
}
