//! The formats, by the ending of a file's name.

use std::path::Path;

use super::error::DocumentError;

/// A format of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Plain text, a text in each line.
    Text,
    /// Markdown with tables, footnotes, strikethrough and front matter.
    Markdown,
    /// HTML, and XHTML.
    Html,
    /// XML of any kind.
    Xml,
    /// SubRip subtitles.
    Srt,
    /// WebVTT subtitles.
    Vtt,
    /// gettext's translations.
    Po,
    /// XLIFF 1.2 and 2.
    Xliff,
    /// Strings of a program in JSON.
    Json,
    /// Flutter's application resource bundle.
    Arb,
    /// Apple's strings.
    Strings,
    /// A table, with commas, semicolons or tabs.
    Table,
    /// A table with tabs.
    Tsv,
    /// Word's documents.
    Docx,
    /// PowerPoint's presentations.
    Pptx,
    /// OpenDocument's texts, presentations and tables.
    OpenDocument,
    /// Books.
    Epub,
}

/// Endings of each format.
const ENDINGS: &[(Format, &[&str])] = &[
    (Format::Text, &["txt"]),
    (Format::Markdown, &["md", "markdown"]),
    (Format::Html, &["html", "htm", "xhtml"]),
    (Format::Xml, &["xml"]),
    (Format::Srt, &["srt"]),
    (Format::Vtt, &["vtt"]),
    (Format::Po, &["po", "pot"]),
    (Format::Xliff, &["xliff", "xlf"]),
    (Format::Json, &["json"]),
    (Format::Arb, &["arb"]),
    (Format::Strings, &["strings"]),
    (Format::Table, &["csv"]),
    (Format::Tsv, &["tsv"]),
    (Format::Docx, &["docx"]),
    (Format::Pptx, &["pptx"]),
    (Format::OpenDocument, &["odt", "odp"]),
    (Format::Epub, &["epub"]),
];

impl Format {
    /// The format of a file by its name's ending; capitals do not matter.
    pub fn of_name(name: &str) -> Option<Self> {
        let ending = Path::new(name).extension()?.to_str()?.to_ascii_lowercase();
        Self::of_ending(&ending)
    }

    /// The format of an ending without its dot.
    pub fn of_ending(ending: &str) -> Option<Self> {
        ENDINGS.iter().find(|(_, endings)| endings.contains(&ending)).map(|&(format, _)| format)
    }

    /// As [`of_name`](Self::of_name).
    ///
    /// # Errors
    /// [`DocumentError::UnknownFormat`]
    pub fn required(name: &str) -> Result<Self, DocumentError> {
        Self::of_name(name).ok_or_else(|| DocumentError::UnknownFormat { name: name.to_owned() })
    }

    /// All endings, without dots.
    pub fn all_endings() -> impl Iterator<Item = &'static str> {
        ENDINGS.iter().flat_map(|(_, endings)| endings.iter().copied())
    }

    /// All endings in a sentence.
    pub fn endings() -> String {
        Self::endings_of(|_| true)
    }

    /// The endings of some formats in a sentence.
    pub fn endings_of(is_one: fn(Self) -> bool) -> String {
        let formats = ENDINGS.iter().filter(|(format, _)| is_one(*format));
        let endings = formats.flat_map(|(_, endings)| endings.iter().map(|ending| format!(".{ending}")));
        endings.collect::<Vec<_>>().join(" ")
    }

    /// Whether a document has columns.
    pub fn is_table(self) -> bool {
        matches!(self, Self::Table | Self::Tsv)
    }

    /// Whether a document is bytes that a terminal cannot show.
    pub fn is_binary(self) -> bool {
        matches!(self, Self::Docx | Self::Pptx | Self::OpenDocument | Self::Epub)
    }
}
