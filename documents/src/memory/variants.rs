//! A unit of a memory.

/// One text in several languages, by their codes; a table has a source and a target without codes.
pub type Variants = Vec<(Option<String>, String)>;
