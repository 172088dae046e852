//! Documents: their text is translated, and everything else stays byte for byte.
//!
//! [`Document::read`] cuts a document into [units](Document::units) of text. The caller translates them, in batches of any size and
//! with the links between words where [`Unit::needs_links`] says so. [`Document::write`] puts the translations in the units' places.
//!
//! | file | |
//! |---|---|
//! | `document`, `format`, `error` | a document of any format; formats by ending; errors |
//! | `unit` | text with tags inside and markup around |
//! | `inline` | makes units of text and tags |
//! | `placeholders` | names, URLs and the like, for which a word stands in |
//! | `places`, `write` | the places of tags in a translation, by word alignment |
//! | `lines` | where a text may be cut: lines, subtitles |
//! | `links` | links between words |
//! | `translation` | the texts of units through one model or two |
//! | `escape` | characters that a format writes in another way |
//! | `unescape` | strings of programs without their backslashes |
//! | `message` | strings of programs: tags, plurals |
//! | `xml` | elements and text of XML, with their places |
//! | `charset` | the encoding that HTML and XML name |
//! | `memory` | translations that people made: TMX files and tables |
//! | `formats` | a file for each format of text |
//! | `package` | formats that are zip files |

mod alternatives;
mod charset;
mod document;
mod error;
mod escape;
mod format;
mod formats;
mod inline;
mod lines;
mod links;
mod memory;
mod message;
mod package;
mod placeholders;
mod places;
mod tags;
#[cfg(feature = "translation")]
mod translation;
mod unescape;
mod unit;
mod write;
mod xml;

pub use document::{Document, Options, Translated};
pub use error::DocumentError;
pub use format::Format;
pub use formats::html::text_of_html;
#[cfg(feature = "translation")]
pub use links::links;
pub use links::{LinkedSentence, Links, chained, links_of_sentences};
pub use memory::{Match, MemoryPair, TranslationMemory};
#[cfg(feature = "translation")]
pub use translation::{Reached, translate};
pub use unit::Unit;
