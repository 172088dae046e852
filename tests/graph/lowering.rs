//! The launches of every family's programs, as text in `tests/data/launches`: a change of launches shows as a difference.
//! With `WORDLOOM_REWRITE=1` in the environment the test writes the files instead.

use wordloom::kernels::AdapterClass;
use wordloom::model::files::ModelFiles;
use wordloom::transformer::{LaunchOptions, launches};
use wordloom::{Model, WeightPrecision};

use crate::common::{data, model, read};

const FAMILIES: [&str; 11] = [
    "bart",
    "bert",
    "firefox",
    "gpt2",
    "m2m_100",
    "marian_tied",
    "mbart",
    "pegasus",
    "t5_gated_untied_bf16",
    "vanilla_postln",
    "vanilla_preln",
];

/// On hardware with two beams, and on software with one row.
fn text_of(model: &Model) -> String {
    let of = |class, beams| {
        let options =
            LaunchOptions { class, precision: WeightPrecision::F32, sentences: 1, beams, tokens: 6 };
        let lists = launches(model, &options).expect("launches");
        lists.iter().map(|list| format!("{class:?}, {list}\n")).collect::<String>()
    };
    of(AdapterClass::Hardware, 2) + &of(AdapterClass::Software, 1)
}

#[test]
fn launches_are_those_that_were_written_down() {
    let folder = data("launches");
    let rewrite = std::env::var_os("WORDLOOM_REWRITE").is_some();
    for family in FAMILIES {
        let text = text_of(&model(&data("models").join(family)));
        let file = folder.join(format!("{family}.txt"));
        if rewrite {
            std::fs::write(&file, &text).expect("written");
        }
        let want = std::fs::read_to_string(&file).unwrap_or_default();
        for (number, (got, want)) in text.lines().zip(want.lines()).enumerate() {
            assert_eq!(got, want, "{}:{}", file.display(), number + 1);
        }
        assert_eq!(text.len(), want.len(), "{} has more or fewer launches", file.display());
    }
}

/// Launches of a step on hardware: 8 for each of a base model's six layers, one for the embedding, two for the logits, and the
/// search's own.
#[test]
fn a_step_of_a_base_model_takes_as_many_launches_as_it_should() {
    let file = data("models").join("marian_tied/config.json");
    let mut config: serde_json::Value = serde_json::from_slice(&read(&file)).expect("JSON");
    for (name, value) in [
        ("d_model", 512),
        ("vocab_size", 58_101),
        ("pad_token_id", 58_100),
        ("decoder_start_token_id", 58_100),
        ("encoder_layers", 6),
        ("decoder_layers", 6),
        ("encoder_attention_heads", 8),
        ("decoder_attention_heads", 8),
        ("encoder_ffn_dim", 2048),
        ("decoder_ffn_dim", 2048),
    ] {
        config[name] = value.into();
    }
    let files = ModelFiles::memory("base", [("config.json", config.to_string().into_bytes())]);
    let base = Model::random(files, 0).expect("made up");
    for (beams, count) in [(1, 52), (4, 54)] {
        let class = AdapterClass::Hardware;
        let options =
            LaunchOptions { class, precision: WeightPrecision::F16, sentences: 1, beams, tokens: 16 };
        let lists = launches(&base, &options).expect("launches");
        let step = lists.iter().find(|list| list.label == "decode step").expect("a step");
        assert_eq!(step.launches.len(), count, "{beams} beams");
    }
}
