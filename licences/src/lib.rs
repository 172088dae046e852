//! The licences of everything that Wordloom's programs and packages have from others: crates, npm packages, fonts.
//!
//! `cargo xtask licences` writes the text; a test compares it with the locked dependencies.

use std::io::Read;

use flate2::read::ZlibDecoder;

/// Compressed: a tenth of the text.
static COMPRESSED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/licences.zlib"));

/// The list of packages, each with its licence, and then the texts of the licences.
///
/// ```
/// assert!(wordloom_licences::text().contains("Permission is hereby granted"));
/// ```
///
/// # Panics
/// Never: the text is part of the program.
pub fn text() -> String {
    let mut text = String::new();
    let read = ZlibDecoder::new(COMPRESSED).read_to_string(&mut text);
    read.unwrap_or_else(|error| unreachable!("the licences are compressed when this is built: {error}"));
    text
}
