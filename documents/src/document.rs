//! A document of any format.

use std::borrow::Cow;

use super::charset;
use super::error::DocumentError;
use super::format::Format;
use super::formats::{html, json, markdown, po, strings, subtitles, table, text, xliff, xml};
use super::links::Links;
use super::package::Package;
use super::unit::{Markup, Part, Unit, Units};

/// Bytes of the largest document.
const MOST_BYTES: u64 = 256 << 20;

/// How a document is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Columns of a table, by name or by number from 1; all if empty.
    pub columns: Vec<String>,
    /// Names of elements of XML that are copied with their content.
    pub kept_elements: Vec<String>,
}

/// A translated text, with the links between its words.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Translated {
    /// The translation of [`Unit::text`].
    pub text: String,
    /// Links of the words; may be empty if [`Unit::needs_links`] is false.
    pub links: Links,
}

/// A document, cut into units of text.
#[derive(Clone, Debug)]
pub struct Document {
    body: Body,
    units: Units,
}

#[derive(Clone, Debug)]
enum Body {
    Text(Markup, Encoding),
    Package(Package),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Encoding {
    Utf8,
    /// With a byte-order mark.
    Utf16 {
        big_endian: bool,
    },
}

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    /// [`DocumentError`] if it is no valid file of its format, or too large.
    pub fn read(bytes: Vec<u8>, format: Format, options: &Options) -> Result<Self, DocumentError> {
        let mut units = Units::default();
        if bytes.len() as u64 > MOST_BYTES {
            return Err(DocumentError::TooLarge { what: "the document".into(), limit: MOST_BYTES });
        }
        if format.is_binary() {
            let package = Package::read(bytes, format, &mut units)?;
            return Ok(Self { body: Body::Package(package), units });
        }
        let (source, encoding) = decoded(bytes)?;
        // a byte-order mark is no part of a format
        let (mark, source) = match source.strip_prefix('\u{feff}') {
            Some(rest) => ("\u{feff}", rest),
            None => ("", &*source),
        };
        let mut markup = super::unit::copied(mark);
        let source = match format {
            // what is read as UTF-16 is written as UTF-16
            _ if encoding != Encoding::Utf8 => Cow::Borrowed(source),
            Format::Html => charset::utf8_html(source),
            Format::Xml | Format::Xliff => charset::utf8_xml(source),
            _ => Cow::Borrowed(source),
        };
        let source = &*source;
        let parts = match format {
            Format::Text => text::read(source, &mut units),
            Format::Markdown => markdown::read(source, &mut units),
            Format::Html => html::read(source, &mut units),
            Format::Xml => xml::read(source, &options.kept_elements, &mut units)?,
            Format::Srt => subtitles::read(source, false, &mut units),
            Format::Vtt => subtitles::read(source, true, &mut units),
            Format::Po => po::read(source, &mut units)?,
            Format::Xliff => xliff::read(source, &mut units)?,
            Format::Json => json::read(source, false, &mut units)?,
            Format::Arb => json::read(source, true, &mut units)?,
            Format::Strings => strings::read(source, &mut units)?,
            Format::Table => table::read(source, None, &options.columns, &mut units)?,
            Format::Tsv => table::read(source, Some('\t'), &options.columns, &mut units)?,
            Format::Docx | Format::Pptx | Format::OpenDocument | Format::Epub => Markup::new(), // read above
        };
        markup.extend(parts);
        Ok(Self { body: Body::Text(markup, encoding), units })
    }

    /// The texts to translate.
    pub fn units(&self) -> &[Unit] {
        &self.units.0
    }

    /// Writes the document with a translation for each unit.
    ///
    /// # Errors
    /// [`DocumentError::Count`] if there are more or fewer translations than units.
    pub fn write(&self, translations: &[Translated]) -> Result<Vec<u8>, DocumentError> {
        let needed = self.units.0.len();
        if translations.len() != needed {
            return Err(DocumentError::Count { given: translations.len(), needed });
        }
        let render = |markup: &Markup| render(markup, &self.units, translations);
        match &self.body {
            Body::Text(markup, encoding) => Ok(encoded(render(markup), *encoding)),
            Body::Package(package) => package.write(&render),
        }
    }
}

/// Markup with the translations of its units. Units within units come from notes and attributes; their depth is that of the markup,
/// which is limited when it is read.
fn render(markup: &Markup, units: &Units, translations: &[Translated]) -> String {
    let part = |part: &Part| match part {
        Part::Copied(text) => text.clone(),
        Part::Unit(index) => {
            let Translated { text, links } = &translations[*index];
            units.0[*index].write(text, links, &|markup| render(markup, units, translations))
        }
    };
    markup.iter().map(part).collect()
}

pub(crate) fn decoded(bytes: Vec<u8>) -> Result<(String, Encoding), DocumentError> {
    if bytes.starts_with(b"PK\x03\x04") {
        let known = Format::endings_of(Format::is_binary);
        return Err(DocumentError::invalid("text", format!("it is a zip file, as {known} are")));
    }
    let big_endian = match bytes.get(..2) {
        Some([0xff, 0xfe]) => false,
        Some([0xfe, 0xff]) => true,
        _ => {
            let text = String::from_utf8(bytes)
                .map_err(|error| DocumentError::NotText { byte: error.utf8_error().valid_up_to() + 1 })?;
            // UTF-16 of a European language is UTF-8, too, with a NUL at each second byte
            return match text.find('\0') {
                Some(at) => Err(DocumentError::NotText { byte: at + 1 }),
                None => Ok((text, Encoding::Utf8)),
            };
        }
    };
    // a byte without its other half is at the end
    if bytes.len() % 2 == 1 {
        return Err(DocumentError::NotText { byte: bytes.len() });
    }
    let unit = |pair: &[u8]| match big_endian {
        true => u16::from_be_bytes([pair[0], pair[1]]),
        false => u16::from_le_bytes([pair[0], pair[1]]),
    };
    let text: Result<String, _> = char::decode_utf16(bytes.chunks_exact(2).map(unit)).collect();
    let text = text.map_err(|_| DocumentError::NotText { byte: 1 })?;
    Ok((text, Encoding::Utf16 { big_endian }))
}

fn encoded(text: String, encoding: Encoding) -> Vec<u8> {
    match encoding {
        Encoding::Utf8 => text.into_bytes(),
        Encoding::Utf16 { big_endian: true } => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        Encoding::Utf16 { big_endian: false } => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
    }
}
