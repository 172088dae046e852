//! A file for each format of text. Each cuts a text into copied markup and units.

pub mod android;
mod cue_times;
mod formulas;
pub mod html;
pub mod indices;
pub mod json;
pub mod markdown;
pub mod po;
mod speakers;
pub mod strings;
pub mod subtitles;
pub mod table;
pub mod text;
pub mod xliff;
pub mod xml;
