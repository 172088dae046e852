//! Models with parts that are changed, absent or of another size.

#[path = "../common/mod.rs"]
mod common;

mod linformer;
mod switches;
mod table_3;
