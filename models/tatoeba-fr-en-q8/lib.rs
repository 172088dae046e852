//! A small French–English Transformer for Wordloom, with 8-bit weights, as bytes:
//! `Model::from_files(ModelFiles::memory("tatoeba-fr-en", wordloom_model_fr_en::FILES))`.
//! Its card ([`CARD`]) says how well it translates and what it was trained on.

#![no_std]

/// The model's name.
pub const NAME: &str = "tatoeba-fr-en";

/// The model's card, in Markdown.
pub const CARD: &str = include_str!("MODEL_CARD.md");

/// The licence of the weights and of the tokenizer, with the attribution that it asks for, in Markdown.
pub const LICENSE: &str = include_str!("LICENSE.md");

/// The files of the model's folder, each with its name.
pub static FILES: [(&str, &[u8]); 7] = [
    ("config.json", include_bytes!("config.json")),
    ("generation_config.json", include_bytes!("generation_config.json")),
    ("model.safetensors", include_bytes!("model.safetensors")),
    ("source.spm", include_bytes!("source.spm")),
    ("target.spm", include_bytes!("target.spm")),
    ("tokenizer_config.json", include_bytes!("tokenizer_config.json")),
    ("vocab.json", include_bytes!("vocab.json")),
];
