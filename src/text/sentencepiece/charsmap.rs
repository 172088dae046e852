//! The compiled normalization rules of a model: `NormalizerSpec.precompiled_charsmap`.

/// The longest accepted replacement, in bytes; Unicode's longest (NFKC of U+FDFA) has 33. Without a limit, a damaged file
/// could turn every character into a megabyte.
const MAX_REPLACEMENT_BYTES: usize = 4096;

/// Replacement rules `text -> text` in a double-array trie.
///
/// Layout of the blob: size of the trie in bytes (`u32`, little-endian), the trie, the replacements, each ended by NUL.
/// A trie unit is a packed `u32` of the darts-clone library: label or value, offset of the children, leaf flag.
#[derive(Debug)]
pub(in crate::text) struct CharsMap {
    units: Vec<u32>,
    replacements: String,
}

impl CharsMap {
    pub(in crate::text) fn parse(blob: &[u8]) -> Result<Self, String> {
        let damaged = || "the normalization rules are damaged".to_owned();
        let (size, rest) = blob.split_first_chunk().ok_or_else(damaged)?;
        let size = u32::from_le_bytes(*size) as usize;
        let (units, replacements) = rest.split_at_checked(size).ok_or_else(damaged)?;
        // the trie comes in blocks of 256 units
        if size == 0 || !size.is_multiple_of(1024) || replacements.last() != Some(&0) {
            return Err(damaged());
        }
        let replacements = std::str::from_utf8(replacements).map_err(|_| damaged())?;
        if replacements.split('\0').any(|replacement| replacement.len() > MAX_REPLACEMENT_BYTES) {
            return Err(damaged());
        }
        let (units, _) = units.as_chunks();
        Ok(Self {
            units: units.iter().map(|unit| u32::from_le_bytes(*unit)).collect(),
            replacements: replacements.to_owned(),
        })
    }

    /// Characters of the longest replacement.
    #[cfg(feature = "tokenizers")]
    pub(in crate::text) fn longest_replacement(&self) -> usize {
        self.replacements.split('\0').map(|replacement| replacement.chars().count()).max().unwrap_or(0)
    }

    /// The rule with the longest left side that `text` begins with: (replacement, length of the left side).
    pub(super) fn longest_match(&self, text: &str) -> Option<(&str, usize)> {
        let mut best = None;
        let mut node = children(*self.units.first()?);
        for (index, byte) in text.bytes().enumerate() {
            node ^= usize::from(byte);
            // the index is out of range only in a damaged file
            let Some(&unit) = self.units.get(node).filter(|&&unit| label(unit) == u32::from(byte)) else {
                break;
            };
            node ^= children(unit);
            if has_value(unit) {
                best = self.units.get(node).map(|&unit| (index + 1, value(unit)));
            }
        }
        let (length, start) = best?;
        let replacement = self.replacements.get(start..)?.split('\0').next()?;
        text.is_char_boundary(length).then_some((replacement, length))
    }
}

fn has_value(unit: u32) -> bool {
    unit >> 8 & 1 == 1
}

/// Start of a replacement, in a unit that another unit's leaf flag points to.
fn value(unit: u32) -> usize {
    (unit & 0x7fff_ffff) as usize
}

/// The label; the top bit of a value unit keeps it from matching a byte.
fn label(unit: u32) -> u32 {
    unit & 0x8000_00ff
}

/// Offset from a unit to its children, to be combined with its index by exclusive or.
fn children(unit: u32) -> usize {
    ((unit >> 10) << ((unit & 0x200) >> 6)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_it_cannot_read() {
        let mut blob = 1024_u32.to_le_bytes().to_vec();
        blob.resize(4 + 1024, 0);
        assert!(CharsMap::parse(&blob).is_err(), "no replacements");
        blob.extend(b"a\0");
        assert!(CharsMap::parse(&blob).is_ok());
        for length in 0..blob.len() {
            assert!(CharsMap::parse(&blob[..length]).is_err(), "cut to {length} bytes");
        }
        blob.extend(vec![b'a'; MAX_REPLACEMENT_BYTES + 1]);
        blob.push(0);
        assert!(CharsMap::parse(&blob).is_err(), "a replacement of {MAX_REPLACEMENT_BYTES} bytes");
    }
}
