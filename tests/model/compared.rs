//! What the README says of `tests/model_parity.rs`.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::common::data;

#[test]
fn the_readme_counts_models_families_and_searches() {
    let read = |path| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    let (mut models, mut families, mut searches) = (0, BTreeSet::new(), 0);
    for folder in fs::read_dir(data("models")).unwrap().map(|entry| entry.unwrap().path()) {
        let family = read(folder.join("config.json"))["model_type"].as_str().unwrap().to_owned();
        // compared with Firefox's own engine
        if family == "firefox" {
            continue;
        }
        searches += read(folder.join("expected.json"))["cases"].as_array().unwrap().len();
        families.insert(family);
        models += 1;
    }
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    for claim in [
        format!("{models} models of {} families", families.len()),
        format!("every id of {searches} searches"),
    ] {
        assert!(readme.contains(&claim), "README.md does not say {claim:?}");
    }
}
