//! The files of a repository that a family needs.

use crate::HubError;

/// Files that every family has, or may have.
const COMMON: [&str; 5] = [
    "added_tokens.json",
    "config.json",
    "generation_config.json",
    "special_tokens_map.json",
    "tokenizer_config.json",
];

/// Weights of one file, the better format first; and their shards, by the index.
pub const WHOLE: [&str; 2] = ["model.safetensors", "pytorch_model.bin"];
/// The indices of shards, in the same order.
pub const INDICES: [&str; 2] = ["model.safetensors.index.json", "pytorch_model.bin.index.json"];

/// The weights of a repository.
#[derive(Debug, PartialEq, Eq)]
pub enum Weights {
    /// One file.
    Whole(String),
    /// Shards, which this index lists.
    Shards(&'static str),
}

/// The small files that a family needs of those that there are: configuration and tokenizer.
///
/// Where a family has both a SentencePiece model and `tokenizer.json`, both are needed: programs read the one, pages the
/// other.
pub fn small<'a>(family: &str, files: &[&'a str]) -> Vec<&'a str> {
    let has = |name: &str| files.contains(&name);
    let tokenizer: &[&str] = match family {
        "marian" | "vanilla_transformer" if has("source.spm") => {
            &["source.spm", "target.spm", "target_vocab.json", "vocab.json"]
        }
        "m2m_100" => &["sentencepiece.bpe.model", "tokenizer.json", "vocab.json"],
        "mbart" | "xlm-roberta" => &["sentencepiece.bpe.model", "tokenizer.json"],
        "t5" | "longt5" | "mt5" | "umt5" | "pegasus" | "bigbird_pegasus" => {
            &["spiece.model", "tokenizer.json"]
        }
        _ if has("tokenizer.json") => &["tokenizer.json"],
        _ => &["merges.txt", "vocab.json", "vocab.txt"],
    };
    let wanted = |name: &str| COMMON.contains(&name) || tokenizer.contains(&name);
    files.iter().copied().filter(|name| wanted(name)).collect()
}

/// The first file that a family's tokenizer lacks in a folder; `None` if the tokenizer can be read.
pub fn lacking_tokenizer(family: &str, has: impl Fn(&str) -> bool) -> Option<&'static str> {
    if has("tokenizer.json") {
        return None;
    }
    let all: &[&str] = match family {
        "marian" | "vanilla_transformer" => &["source.spm", "target.spm", "vocab.json"],
        "m2m_100" => &["sentencepiece.bpe.model", "vocab.json"],
        "mbart" | "xlm-roberta" => &["sentencepiece.bpe.model"],
        "t5" | "longt5" | "mt5" | "umt5" | "pegasus" | "bigbird_pegasus" => &["spiece.model"],
        _ if has("vocab.txt") => &[],
        _ if has("vocab.json") => &["merges.txt"],
        _ => &["tokenizer.json"],
    };
    all.iter().copied().find(|file| !has(file))
}

/// The weights, in the best format that there is.
pub fn weights(name: &str, files: &[&str]) -> Result<Weights, HubError> {
    let has = |name: &str| files.contains(&name);
    for (whole, index) in WHOLE.into_iter().zip(INDICES) {
        if has(whole) {
            return Ok(Weights::Whole(whole.to_owned()));
        }
        if has(index) {
            return Ok(Weights::Shards(index));
        }
    }
    // one file of another name, as `model.fp16.safetensors`
    let mut others = files.iter().filter(|file| {
        file.ends_with(".safetensors") && !file.starts_with("adapter_") && !file.contains('/')
    });
    if let (Some(only), None) = (others.next(), others.next()) {
        return Ok(Weights::Whole((*only).to_owned()));
    }
    let advice = match () {
        () if has("adapter_config.json") || has("adapter_model.safetensors") => {
            "it is an adapter (LoRA): merge it into its base model with `peft`, and give that folder"
        }
        () if files.iter().any(|file| file.ends_with(".gguf")) => {
            "name the repository from which the gguf was made"
        }
        () => "open it with transformers and write it with `save_pretrained`",
    };
    Err(HubError::MissingFiles {
        name: name.to_owned(),
        wanted: "model.safetensors or pytorch_model.bin",
        found: found(files),
        advice,
    })
}

/// The shards that an index lists, in order.
pub fn shards(name: &str, index: &str, content: &[u8]) -> Result<Vec<String>, HubError> {
    let bad = |problem: String| HubError::BadFile { name: name.to_owned(), file: index.to_owned(), problem };
    let json: serde_json::Value = serde_json::from_slice(content).map_err(|error| bad(error.to_string()))?;
    let map = json.get("weight_map").and_then(|map| map.as_object());
    let map = map.ok_or_else(|| bad("it has no \"weight_map\"".into()))?;
    let mut files = Vec::new();
    for file in map.values() {
        let file = file.as_str().ok_or_else(|| bad("a file in \"weight_map\" is not a text".into()))?;
        if !is_safe(file) {
            return Err(HubError::UnsafeFileName { name: name.to_owned(), file: file.to_owned() });
        }
        files.push(file.to_owned());
    }
    files.sort();
    files.dedup();
    match files.is_empty() {
        true => Err(bad("its \"weight_map\" is empty".into())),
        false => Ok(files),
    }
}

/// Some names of a repository, in words.
pub fn found(files: &[&str]) -> String {
    const SHOWN: usize = 8;
    let boring = |file: &&&str| !["README.md", ".gitattributes", ".gitignore"].contains(*file);
    let all: Vec<&str> = files.iter().filter(boring).copied().collect();
    match all.len() {
        0 => "no files".into(),
        count if count > SHOWN => format!("{} and {} more", all[..SHOWN].join(", "), count - SHOWN),
        _ => all.join(", "),
    }
}

/// Whether a relative name with forward slashes stays inside its folder on every system.
pub fn is_safe(name: &str) -> bool {
    name.len() <= 512
        && !name.contains(['\\', ':', '\0'])
        && !name.chars().any(char::is_control)
        && !name.split('/').any(|part| matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As published: Helsinki-NLP/opus-mt-en-fr.
    const OPUS: [&str; 14] = [
        ".gitattributes",
        "README.md",
        "config.json",
        "flax_model.msgpack",
        "generation_config.json",
        "metadata.json",
        "pytorch_model.bin",
        "rust_model.ot",
        "source.spm",
        "target.spm",
        "tf_model.h5",
        "tokenizer_config.json",
        "vocab.json",
        "onnx/decoder_model.onnx",
    ];

    #[test]
    fn a_marian_model_needs_seven_files() {
        assert_eq!(
            small("marian", &OPUS),
            [
                "config.json",
                "generation_config.json",
                "source.spm",
                "target.spm",
                "tokenizer_config.json",
                "vocab.json"
            ]
        );
        assert_eq!(weights("x/y", &OPUS).expect("weights"), Weights::Whole("pytorch_model.bin".into()));
    }

    #[test]
    fn a_tokenizer_needs_all_files_of_its_family() {
        let lacking = |family, files: &[&str]| lacking_tokenizer(family, |name| files.contains(&name));
        assert_eq!(lacking("marian", &["vocab.json"]), Some("source.spm"));
        assert_eq!(lacking("marian", &["source.spm", "target.spm", "vocab.json"]), None);
        assert_eq!(lacking("m2m_100", &["sentencepiece.bpe.model"]), Some("vocab.json"));
        assert_eq!(lacking("t5", &["tokenizer.json"]), None);
        assert_eq!(lacking("umt5", &["config.json"]), Some("spiece.model"));
        assert_eq!(lacking("t5", &["tokenizer_config.json"]), Some("spiece.model"));
        assert_eq!(lacking("bart", &["vocab.json"]), Some("merges.txt"));
        assert_eq!(lacking("bert", &["vocab.txt"]), None);
        assert_eq!(lacking("bart", &[]), Some("tokenizer.json"));
    }

    #[test]
    fn older_vocabularies_are_taken_where_there_is_no_tokenizer_json() {
        // as published: sshleifer/distilbart-cnn-12-6, and bert-base-cased before 2021
        let bart = ["config.json", "flax_model.msgpack", "merges.txt", "pytorch_model.bin", "vocab.json"];
        assert_eq!(small("bart", &bart), ["config.json", "merges.txt", "vocab.json"]);
        assert_eq!(small("bert", &["config.json", "vocab.txt"]), ["config.json", "vocab.txt"]);
        let both = [&bart[..], &["tokenizer.json"]].concat();
        assert_eq!(small("bart", &both), ["config.json", "tokenizer.json"]);
    }

    #[test]
    fn safetensors_are_taken_first_and_then_variants() {
        let both = ["model.safetensors", "pytorch_model.bin", "model.fp16.safetensors"];
        assert_eq!(weights("x/y", &both).expect("weights"), Weights::Whole("model.safetensors".into()));
        let shards =
            ["pytorch_model.bin", "model.safetensors.index.json", "model-00001-of-00002.safetensors"];
        assert_eq!(
            weights("x/y", &shards).expect("weights"),
            Weights::Shards("model.safetensors.index.json")
        );
        let variant = ["tf_model.h5", "model.fp16.safetensors"];
        assert_eq!(
            weights("x/y", &variant).expect("weights"),
            Weights::Whole("model.fp16.safetensors".into())
        );
        let none = weights("x/y", &["tf_model.h5", "rust_model.ot"]).expect_err("no weights").to_string();
        assert!(none.contains("it has tf_model.h5, rust_model.ot"), "{none}");
        let adapter = weights("x/y", &["adapter_model.safetensors"]).expect_err("an adapter").to_string();
        assert!(adapter.contains("LoRA"), "{adapter}");
    }

    #[test]
    fn an_index_names_its_shards_and_none_outside() {
        let index = br#"{"weight_map": {"a": "model-2.safetensors", "b": "model-1.safetensors", "c": "model-2.safetensors"}}"#;
        assert_eq!(
            shards("x/y", "i", index).expect("shards"),
            ["model-1.safetensors", "model-2.safetensors"]
        );
        for hostile in ["../../x", "/etc/passwd", "a\\b", "C:x", "a//b", "."] {
            let index = serde_json::json!({"weight_map": {"a": hostile}}).to_string();
            assert!(
                matches!(shards("x/y", "i", index.as_bytes()), Err(HubError::UnsafeFileName { .. })),
                "{hostile}"
            );
        }
        for bad in ["", "[]", r#"{"weight_map": {}}"#, r#"{"weight_map": {"a": 1}}"#] {
            assert!(matches!(shards("x/y", "i", bad.as_bytes()), Err(HubError::BadFile { .. })), "{bad}");
        }
    }
}
