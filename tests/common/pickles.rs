//! PyTorch's files of whole models, which are stored without the bytes of their storages.

use super::{data, read};
use safetensors::SafeTensors;

/// Puts a file of `tests/data/pickles` together, byte for byte as torch wrote it.
pub fn complete(name: &str) -> Vec<u8> {
    let file = |end: &str| read(&data("pickles").join(format!("{name}.{end}")));
    let (cut, gaps) = (file("cut"), file("gaps.json"));
    let gaps: serde_json::Value = serde_json::from_slice(&gaps).expect("sound JSON");
    let number = |value: &serde_json::Value| value.as_u64().expect("a number") as usize;
    let [model, older] = ["model", "model_legacy_keys"]
        .map(|file| read(&data("models/marian_tied").join(format!("{file}.safetensors"))));
    let [model, older] = [&model, &older].map(|file| SafeTensors::deserialize(file).expect("sound"));

    let (mut whole, mut rest) = (Vec::with_capacity(number(&gaps["length"])), &cut[..]);
    for gap in gaps["gaps"].as_array().expect("a list") {
        let (before, after) = rest.split_at(number(&gap["at"]) - whole.len());
        whole.extend(before);
        rest = after;
        let bytes = number(&gap["bytes"]);
        match gap["from"].as_str().expect("a name") {
            "arange" => whole.extend((0..bytes / 4).flat_map(|value| (value as f32).to_le_bytes())),
            name => {
                let tensor = model.tensor(name).or_else(|_| older.tensor(name)).expect(name);
                assert_eq!(tensor.data().len(), bytes, "{name}");
                whole.extend(tensor.data());
            }
        }
    }
    whole.extend(rest);
    assert_eq!(whole.len(), number(&gaps["length"]), "{name}");
    whole
}
