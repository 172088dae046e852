//! Formats that are zip files: parts with text are cut into units, all others are copied without unpacking.
//!
//! Nothing is trusted: names, sizes and ratios are checked, and no part is unpacked beyond the limit.

mod namespaces;
mod opendocument;
mod runs;

use std::collections::HashSet;
use std::io::{Cursor, Read, Write};

use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::charset;
use super::error::DocumentError;
use super::format::Format;
use super::formats::{html, xml};
use super::unit::{Markup, Units};

/// Bytes of all unpacked parts of a file.
const MOST_BYTES: u64 = 256 << 20;
/// Ratio of the largest packing that a document has; larger ones are bombs.
const MOST_RATIO: u64 = 200;
/// Size in bytes from which on the ratio counts.
const RATIO_FROM: u64 = 1 << 20;
/// Number of parts of a file.
const MOST_PARTS: usize = 10_000;

/// Parts of a diagram: its texts, and the same texts as they were last drawn, which programs show.
const DIAGRAMS: &[&str] = &["diagrams/data", "diagrams/drawing"];

/// A zip file whose parts with text were cut.
#[derive(Clone, Debug)]
pub struct Package {
    bytes: Vec<u8>,
    /// Index of each part with text, and its pieces.
    parts: Vec<(usize, Markup)>,
}

/// What a part holds.
enum Content {
    Word,
    Slide,
    OpenDocument,
    Html,
    Xml,
}

impl Package {
    /// Cuts a file.
    pub fn read(bytes: Vec<u8>, format: Format, units: &mut Units) -> Result<Self, DocumentError> {
        let mut archive = open(&bytes)?;
        check_names(&mut archive)?;
        let mut parts = Vec::new();
        let mut left = MOST_BYTES;
        for index in order(&mut archive)? {
            let mut file = archive.by_index(index).map_err(invalid)?;
            let name = file.name().map_err(invalid)?.into_owned();
            let Some(content) = content(format, &name) else { continue };
            if !matches!(file.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
                let problem = "it is packed in a way that is not read; \
                               open the document in the program that made it, and save it again";
                return Err(DocumentError::Refused { part: name, problem });
            }
            let packed = file.compressed_size();
            let text = unpacked(&mut file, &name, packed, &mut left)?;
            // a part was read as UTF-8; a byte-order mark stays
            let text = match content {
                Content::Html => charset::utf8_html(&text),
                _ => charset::utf8_xml(&text),
            };
            let markup = match content {
                Content::Word => runs::read(&text, &runs::WORD, units),
                Content::Slide => runs::read(&text, &runs::SLIDE, units),
                Content::OpenDocument => opendocument::read(&text, units),
                Content::Html => Ok(html::read(&text, units)),
                Content::Xml => xml::read(&text, &[], units),
            };
            parts.push((index, markup.map_err(|error| within(&name, error))?));
        }
        if parts.is_empty() {
            return Err(DocumentError::invalid("document", "the file has no part with text of this format"));
        }
        Ok(Self { bytes, parts })
    }

    /// Writes the file.
    pub fn write(&self, render: &dyn Fn(&Markup) -> String) -> Result<Vec<u8>, DocumentError> {
        let mut archive = open(&self.bytes)?;
        let mut writer = ZipWriter::new(Cursor::new(Vec::with_capacity(self.bytes.len())));
        for index in 0..archive.len() {
            let file = archive.by_index_raw(index).map_err(invalid)?;
            match self.parts.iter().find(|(part, _)| *part == index) {
                None => writer.raw_copy_file(file).map_err(invalid)?,
                Some((_, markup)) => {
                    let name = file.name().map_err(invalid)?.into_owned();
                    writer.start_file(name, file.options()).map_err(invalid)?;
                    let text = render(markup);
                    writer.write_all(text.as_bytes()).map_err(|error| invalid(error.into()))?;
                }
            }
        }
        Ok(writer.finish().map_err(invalid)?.into_inner())
    }
}

fn open(bytes: &[u8]) -> Result<ZipArchive<Cursor<&[u8]>>, DocumentError> {
    ZipArchive::new(Cursor::new(bytes)).map_err(|error| match no_zip(bytes) {
        Some(problem) => DocumentError::invalid("document", problem),
        None => invalid(error),
    })
}

/// Why bytes are no zip file, where a look at them tells.
fn no_zip(bytes: &[u8]) -> Option<&'static str> {
    /// Length of the record at the end of a zip file.
    const END: usize = 22;
    let is_whole = || {
        let end = bytes.windows(4).rposition(|bytes| bytes == b"PK\x05\x06");
        end.is_some_and(|at| at + END <= bytes.len())
    };
    if bytes.is_empty() {
        Some("the file is empty")
    } else if bytes.starts_with(&[0xd0, 0xcf, 0x11, 0xe0]) {
        Some("it has a password or is of an older format; save it again without, in the format of its ending")
    } else if !bytes.starts_with(b"PK") {
        Some("it is no zip file, which documents of this format are")
    } else if !is_whole() {
        Some("the file is cut off: its end is missing; copy or load it again")
    } else {
        None
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn invalid(error: ZipError) -> DocumentError {
    DocumentError::invalid("zip file", error.to_string())
}

fn within(part: &str, error: DocumentError) -> DocumentError {
    match error {
        DocumentError::Invalid { format, problem } => {
            DocumentError::Invalid { format, problem: format!("{part}: {problem}") }
        }
        other => other,
    }
}

/// Refuses names that a program which unpacks the file could write elsewhere.
fn check_names(archive: &mut ZipArchive<Cursor<&[u8]>>) -> Result<(), DocumentError> {
    if archive.len() > MOST_PARTS {
        return Err(DocumentError::invalid("zip file", format!("it has more than {MOST_PARTS} parts")));
    }
    let mut names = HashSet::new();
    for index in 0..archive.len() {
        let file = archive.by_index_raw(index).map_err(invalid)?;
        let part = file.name().map_err(invalid)?.into_owned();
        let leaves = part.split('/').any(|folder| folder == "..") || part.starts_with('/');
        let problem = if leaves || part.contains(['\\', '\0']) || part.get(1..2) == Some(":") {
            "its name leads out of the file's own folder"
        } else if file.is_symlink() {
            "it is a link"
        } else if file.encrypted() {
            "it is encrypted; save the document without a password"
        } else if !names.insert(part.clone()) {
            "two parts have this name"
        } else {
            continue;
        };
        return Err(DocumentError::Refused { part, problem });
    }
    Ok(())
}

/// Indexes of the parts, the main text first: names sort pages and slides.
fn order(archive: &mut ZipArchive<Cursor<&[u8]>>) -> Result<Vec<usize>, DocumentError> {
    let mut names = Vec::with_capacity(archive.len());
    for index in 0..archive.len() {
        let name = archive.by_index_raw(index).map_err(invalid)?.name().map_err(invalid)?.into_owned();
        // slide2 comes before slide10
        names.push((name.len(), name, index));
    }
    names.sort();
    names.sort_by_key(|(_, name, _)| !matches!(name.as_str(), "word/document.xml" | "content.xml"));
    Ok(names.into_iter().map(|(_, _, index)| index).collect())
}

/// The text of a part, if it is within the limits.
fn unpacked(file: &mut impl Read, name: &str, packed: u64, left: &mut u64) -> Result<String, DocumentError> {
    let most = (*left).min((packed * MOST_RATIO).max(RATIO_FROM));
    let mut bytes = Vec::new();
    let read = file.take(most + 1).read_to_end(&mut bytes);
    read.map_err(|error| DocumentError::invalid("zip file", format!("{name}: {error}")))?;
    if bytes.len() as u64 > most {
        return Err(DocumentError::TooLarge { what: format!("{name}, unpacked,"), limit: most });
    }
    *left -= bytes.len() as u64;
    String::from_utf8(bytes).map_err(|error| {
        let byte = error.utf8_error().valid_up_to() + 1;
        DocumentError::invalid("document", format!("{name}: not UTF-8 at byte {byte}"))
    })
}

fn content(format: Format, name: &str) -> Option<Content> {
    let is_xml = name.ends_with(".xml");
    let ending = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    match format {
        Format::Docx if is_xml => {
            let part = name.strip_prefix("word/")?;
            if DIAGRAMS.iter().any(|start| part.starts_with(start)) {
                return Some(Content::Slide);
            }
            let starts = ["document", "header", "footer", "footnotes", "endnotes"];
            let is_text = !part.contains('/') && starts.iter().any(|start| part.starts_with(start));
            is_text.then_some(Content::Word)
        }
        Format::Pptx if is_xml => {
            let part = name.strip_prefix("ppt/")?;
            let mut starts = ["slides/slide", "notesSlides/notesSlide"].iter().chain(DIAGRAMS);
            starts.any(|start| part.starts_with(start)).then_some(Content::Slide)
        }
        Format::OpenDocument => matches!(name, "content.xml" | "styles.xml").then_some(Content::OpenDocument),
        Format::Epub => match &*ending {
            "xhtml" | "html" | "htm" => Some(Content::Html),
            "ncx" => Some(Content::Xml),
            _ => None,
        },
        _ => None,
    }
}
