//! The directory at the end of a zip archive (PKWARE, APPNOTE 6.3), also with 64-bit lengths.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::invalid;
use crate::model::error::ModelError;
use crate::model::files::ByteSource;

/// Maximum length of a directory, bytes. An entry has about 100.
const DIRECTORY_LIMIT: u64 = 16 << 20;
/// Marks a number that is in the 64-bit field.
const IN_64_BITS: u32 = u32::MAX;

const END: (&[u8], usize) = (b"PK\x05\x06", 22);
const LOCATOR_64: (&[u8], usize) = (b"PK\x06\x07", 20);
const END_64: (&[u8], usize) = (b"PK\x06\x06", 56);
const ENTRY: (&[u8], usize) = (b"PK\x01\x02", 46);
const HEADER: (&[u8], usize) = (b"PK\x03\x04", 30);

pub struct Directory<'a> {
    file: &'a ByteSource,
    entries: BTreeMap<String, Entry>,
    /// First byte of the directory: the end of all entries.
    start: u64,
}

#[derive(Clone, Copy)]
struct Entry {
    /// Place of the entry's own header.
    header: u64,
    size: u64,
    /// Whether the content stands in the file as it is.
    is_plain: bool,
}

impl<'a> Directory<'a> {
    pub fn read(file: &'a ByteSource) -> Result<Self, ModelError> {
        let place = place(file)?;
        let mut bytes = vec![0; (place.end - place.start) as usize];
        file.read_at(place.start, &mut bytes)?;
        let mut entries = BTreeMap::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (name, entry, after) = entry(rest).ok_or_else(|| damaged(file))?;
            if entries.insert(name.to_owned(), entry).is_some() {
                return Err(invalid(file, format!("its archive has the entry {name:?} twice")));
            }
            rest = after;
        }
        Ok(Self { file, entries, start: place.start })
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    pub fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// The bytes of an entry in the file.
    pub fn place(&self, name: &str) -> Result<Range<u64>, ModelError> {
        let Some(&Entry { header, size, is_plain }) = self.entries.get(name) else {
            return Err(invalid(self.file, format!("its archive has no entry {name:?}")));
        };
        if !is_plain {
            let problem = format!(
                "the entry {name:?} of its archive is compressed or encrypted, as torch.save never does; \
                 write the file again: torch.save(torch.load(FILE), FILE)"
            );
            return Err(invalid(self.file, problem));
        }
        let mut bytes = [0; HEADER.1];
        if header.checked_add(HEADER.1 as u64).is_none_or(|end| end > self.start) {
            return Err(damaged(self.file));
        }
        self.file.read_at(header, &mut bytes)?;
        if !bytes.starts_with(HEADER.0) {
            return Err(damaged(self.file));
        }
        let start = header + HEADER.1 as u64 + u64::from(u16_at(&bytes, 26)) + u64::from(u16_at(&bytes, 28));
        match start.checked_add(size) {
            Some(end) if end <= self.start => Ok(start..end),
            _ => Err(damaged(self.file)),
        }
    }
}

fn damaged(file: &ByteSource) -> ModelError {
    invalid(file, "its zip archive is damaged; the file may be incomplete")
}

/// The bytes of the directory's entries.
fn place(file: &ByteSource) -> Result<Range<u64>, ModelError> {
    let tail_len = file.len().min((LOCATOR_64.1 + END.1 + usize::from(u16::MAX)) as u64) as usize;
    // most archives have no comment: do not read for one
    let short = tail_len.min(LOCATOR_64.1 + END.1);
    let mut tail = vec![0; short];
    file.read_at(file.len() - short as u64, &mut tail)?;
    if find_end(&tail).is_none() && tail_len > short {
        tail = vec![0; tail_len];
        file.read_at(file.len() - tail_len as u64, &mut tail)?;
    }
    let at = find_end(&tail).ok_or_else(|| {
        invalid(file, "it begins as a zip archive, but has no end of one; the file may be incomplete")
    })?;
    let end = &tail[at..];
    let (mut len, mut start) = (u64::from(u32_at(end, 12)), u64::from(u32_at(end, 16)));
    let mut limit = file.len() - (tail.len() - at) as u64;
    let locator = at.checked_sub(LOCATOR_64.1).map(|before| &tail[before..at]);
    if let Some(locator) = locator.filter(|locator| locator.starts_with(LOCATOR_64.0)) {
        limit = u64_at(locator, 8);
        let mut end = [0; END_64.1];
        if limit.checked_add(END_64.1 as u64).is_none_or(|after| after > file.len()) {
            return Err(damaged(file));
        }
        file.read_at(limit, &mut end)?;
        if !end.starts_with(END_64.0) {
            return Err(damaged(file));
        }
        (len, start) = (u64_at(&end, 40), u64_at(&end, 48));
    }
    match start.checked_add(len) {
        Some(end) if end <= limit && len <= DIRECTORY_LIMIT => Ok(start..end),
        Some(end) if end <= limit => Err(invalid(
            file,
            format!("the directory of its zip archive is longer than {DIRECTORY_LIMIT} bytes"),
        )),
        _ => Err(damaged(file)),
    }
}

/// The end record, which is followed by a comment of the length that it says.
fn find_end(tail: &[u8]) -> Option<usize> {
    let last = tail.len().checked_sub(END.1)?;
    (0..=last).rev().find(|&at| {
        tail[at..].starts_with(END.0) && at + END.1 + usize::from(u16_at(&tail[at..], 20)) == tail.len()
    })
}

/// The first entry of a directory, and the bytes behind it.
fn entry(bytes: &[u8]) -> Option<(&str, Entry, &[u8])> {
    if bytes.len() < ENTRY.1 || !bytes.starts_with(ENTRY.0) {
        return None;
    }
    let (flags, method) = (u16_at(bytes, 8), u16_at(bytes, 10));
    let lengths = [28, 30, 32].map(|at| usize::from(u16_at(bytes, at)));
    let rest = &bytes[ENTRY.1..];
    let (name, rest) = rest.split_at_checked(lengths[0])?;
    let (extra, rest) = rest.split_at_checked(lengths[1])?;
    let rest = rest.get(lengths[2]..)?;
    let [packed, size, header] = in_64_bits(extra, [20, 24, 42].map(|at| u32_at(bytes, at)))?;
    let is_plain = method == 0 && flags & 1 == 0 && packed == size;
    Some((std::str::from_utf8(name).ok()?, Entry { header, size, is_plain }, rest))
}

/// Packed size, size and place of an entry. The extra field has those that need 64 bits, sizes in the other order.
fn in_64_bits(extra: &[u8], [packed, size, header]: [u32; 3]) -> Option<[u64; 3]> {
    const KIND: u16 = 1;
    let mut numbers = [size, packed, header].map(u64::from);
    if !numbers.contains(&u64::from(IN_64_BITS)) {
        let [size, packed, header] = numbers;
        return Some([packed, size, header]);
    }
    let mut rest = extra;
    while let Some((head, after)) = rest.split_at_checked(4) {
        let (field, after) = after.split_at_checked(usize::from(u16_at(head, 2)))?;
        if u16_at(head, 0) == KIND {
            let mut given = field.as_chunks().0.iter();
            for number in numbers.iter_mut().filter(|number| **number == u64::from(IN_64_BITS)) {
                *number = u64::from_le_bytes(*given.next()?);
            }
            break;
        }
        rest = after;
    }
    let [size, packed, header] = numbers;
    Some([packed, size, header])
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(std::array::from_fn(|index| bytes[at + index]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|index| bytes[at + index]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]))
}
