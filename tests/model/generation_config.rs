//! `generation_config.json` and requests: keys, precedence, and invalid values.

use serde_json::{Value, json};
use wordloom::decode::{DecodeError, DecodeOptions, Sampling};
use wordloom::model::ModelError;
use wordloom::model::config::ModelConfig;
use wordloom::model::files::ModelFiles;
use wordloom::model::generation_config::{
    EarlyStopping, GenerationConfig, JsonObject, TokenIds, UnknownKeys,
};
use wordloom::{Model, resolve};

use crate::{assert_refused, model};

fn memory(name: &'static str, content: impl ToString) -> ModelFiles {
    ModelFiles::memory("test", [(name, content.to_string().into_bytes())])
}

#[test]
fn generation_options_are_read() {
    let tied = GenerationConfig {
        num_beams: Some(4),
        max_length: Some(24),
        bad_words_ids: Some(vec![vec![644]]),
        renormalize_logits: Some(true),
        forced_eos_token_id: Some(TokenIds::One(0)),
        decoder_start_token_id: Some(644),
        eos_token_id: Some(TokenIds::One(0)),
        pad_token_id: Some(644),
        ..Default::default()
    };
    assert_eq!(GenerationConfig::from_files(&model("marian_tied")).unwrap(), tied);
    for name in
        ["marian_untied_swish", "marian_separate_head", "marian_f16", "vanilla_postln", "vanilla_preln"]
    {
        assert!(GenerationConfig::from_files(&model(name)).unwrap().num_beams.is_some(), "{name}");
    }
}

fn request(object: Value) -> Result<GenerationConfig, ModelError> {
    GenerationConfig::from_json(
        &JsonObject::parse("line 3", object.to_string().as_bytes())?,
        UnknownKeys::Reject,
    )
}

#[test]
fn a_request_goes_over_the_models_options() {
    let model = GenerationConfig { num_beams: Some(6), max_length: Some(512), ..Default::default() };
    let asked = request(
        json!({ "num_beams": 2, "early_stopping": "never", "length_penalty": 1, "max_length": null }),
    );
    let merged = asked.unwrap().merged_over(&model);
    let expected = GenerationConfig {
        num_beams: Some(2),
        max_length: Some(512),
        early_stopping: Some(EarlyStopping::Never),
        length_penalty: Some(1.0),
        ..Default::default()
    };
    assert_eq!(merged, expected);
    assert_eq!(
        serde_json::to_value(&merged).unwrap(),
        json!({
            "num_beams": 2, "max_length": 512, "early_stopping": "never", "length_penalty": 1.0
        })
    );

    for (value, meaning) in [(json!(true), EarlyStopping::Always), (json!(false), EarlyStopping::Heuristic)] {
        assert_eq!(request(json!({ "early_stopping": value })).unwrap().early_stopping, Some(meaning));
    }
    let several = request(json!({ "eos_token_id": [0, 7] })).unwrap().eos_token_id.unwrap();
    assert_eq!(several.as_slice(), [0, 7]);
}

#[test]
fn options_that_cannot_be_followed_are_refused_by_key() {
    for (object, message) in [
        (json!({ "num_beams": "4" }), "line 3: \"num_beams\" is \"4\"; expected a whole number"),
        (json!({ "num_beams": -1 }), "\"num_beams\" is -1"),
        (json!({ "num_beams": 2.5 }), "\"num_beams\" is 2.5"),
        (json!({ "early_stopping": "always" }), "expected true, false or \"never\""),
        (json!({ "length_penalty": [1] }), "\"length_penalty\" is [1]; expected a number"),
        (json!({ "bad_words_ids": [3] }), "\"bad_words_ids\" is [3]; expected a list of lists of token ids"),
        (json!({ "eos_token_id": "</s>" }), "expected a token id or a list of token ids"),
        (json!({ "eos_token_id": [1, -1] }), "expected a token id or a list of token ids"),
        (json!({ "bad_words_ids": vec![vec!["x"; 100]] }), "…; expected"),
        (json!({ "do_sample": 1 }), "line 3: \"do_sample\" is 1; expected true or false"),
        (json!({ "seed": -1 }), "\"seed\" is -1; expected a whole number, not negative"),
        (json!({ "top_k": 2.5 }), "\"top_k\" is 2.5; expected a whole number, not negative"),
        (json!({ "temperature": "hot" }), "\"temperature\" is \"hot\"; expected a number"),
        (json!({ "num_beam_groups": 2 }), "\"num_beam_groups\": 2 is not supported; supported: 1"),
        (json!({ "suppress_tokens": [5] }), "\"suppress_tokens\": [5] is not supported"),
        (json!({ "sequence_bias": [[[1], 0.5]] }), "\"sequence_bias\""),
        (json!({ "encoder_repetition_penalty": 3 }), "\"encoder_repetition_penalty\": 3"),
        (json!({ "num_beam": 4 }), "line 3: the key \"num_beam\" is unknown"),
    ] {
        assert_refused(request(object), message);
    }
    let off = json!({
        "num_beam_groups": 1, "diversity_penalty": 0.0, "encoder_repetition_penalty": 1.0,
        "suppress_tokens": [], "sequence_bias": null, "forced_decoder_ids": null, "guidance_scale": 1,
        "use_cache": true, "output_scores": true, "transformers_version": "5.23.0"
    });
    assert_eq!(request(off).unwrap(), GenerationConfig::default());

    let file = |content: Value| GenerationConfig::from_files(&memory("generation_config.json", content));
    assert_eq!(file(json!({ "note": "by hand" })).unwrap(), GenerationConfig::default());
    assert_refused(file(json!({ "guidance_scale": 2 })), "test/generation_config.json: \"guidance_scale\"");
}

#[test]
fn without_its_own_file_generation_follows_config_json() {
    let old = json!({
        "model_type": "marian", "d_model": 512, "num_beams": 6, "max_length": 512, "bad_words_ids": [[58100]]
    });
    let expected = GenerationConfig {
        num_beams: Some(6),
        max_length: Some(512),
        bad_words_ids: Some(vec![vec![58_100]]),
        ..Default::default()
    };
    assert_eq!(GenerationConfig::from_files(&memory("config.json", &old)).unwrap(), expected);
    // the first files of BART say it so, and the class has no end of its own to force
    let bart = json!({ "model_type": "bart", "bos_token_id": 0, "forced_bos_token_id": 7,
        "force_bos_token_to_be_generated": true });
    let bart = GenerationConfig::from_files(&memory("config.json", &bart)).unwrap();
    assert_eq!((bart.forced_bos_token_id, bart.forced_eos_token_id), (Some(0), None));

    // if the file exists, config.json is ignored
    let files = [("config.json", old.to_string()), ("generation_config.json", "{}".to_owned())];
    let files = ModelFiles::memory("test", files.map(|(name, text)| (name, text.into_bytes())));
    assert_eq!(GenerationConfig::from_files(&files).unwrap(), GenerationConfig::default());
}

#[test]
fn tokens_that_a_vocabulary_lacks_are_none_in_files_and_errors_in_requests() {
    // as `GPT2Config(vocab_size=60)` writes it
    let config = json!({ "model_type": "gpt2", "vocab_size": 60, "n_embd": 8, "n_head": 2, "n_layer": 1,
        "bos_token_id": 50256, "eos_token_id": 50256, "pad_token_id": -1 });
    let generation = json!({ "bos_token_id": 50256, "eos_token_id": [50256, 7, -1], "pad_token_id": -1 });
    let files = [("config.json", config.to_string()), ("generation_config.json", generation.to_string())];
    let files = files.map(|(name, text)| (name, text.into_bytes()));
    let model = Model::random(ModelFiles::memory("small", files), 1).unwrap();
    assert_eq!((model.config().tokens.eos, model.config().tokens.bos), (None, None));
    let expected = GenerationConfig { eos_token_id: Some(TokenIds::Several(vec![7])), ..Default::default() };
    assert_eq!(*model.generation_config(), expected);
    let asked = request(json!({ "eos_token_id": 60 })).unwrap();
    let options = resolve(&asked, model.generation_config(), model.config(), &[1]).unwrap();
    let error = options.validate(60, 1024).unwrap_err();
    assert!(matches!(error, DecodeError::Token { option: "eos_token_id", token: 60, .. }), "{error}");
}

#[test]
fn a_length_that_no_memory_holds_is_refused() {
    let config = ModelConfig::from_files(&model("t5_relu_tied")).unwrap();
    let asked = |new: u64| request(json!({ "max_new_tokens": new })).unwrap();
    for new in [1 << 30, 1 << 62, u64::MAX] {
        let options = resolve(&asked(new), &GenerationConfig::default(), &config, &[1]).unwrap();
        let error = options.validate(512, config.positions.count()).unwrap_err().to_string();
        assert!(error.contains("at most 16777216"), "{error}");
    }
    let error = resolve(&asked(0), &GenerationConfig::default(), &config, &[1]).unwrap_err().to_string();
    assert!(error.contains("max_new_tokens") && error.contains("at least 1"), "{error}");
}

fn marian(generation: Value, asked: Value) -> Result<DecodeOptions, DecodeError> {
    let config = ModelConfig::from_files(&model("marian_tied")).unwrap();
    let file = GenerationConfig::from_files(&memory("generation_config.json", generation)).unwrap();
    resolve(&request(asked).unwrap(), &file, &config, &[5, 6, 0])
}

#[test]
fn sampling_comes_from_the_request_and_the_file() {
    let hot = json!({ "do_sample": true, "temperature": 0.7, "top_k": 0, "top_p": 0.9, "min_p": null });
    let of = |generation: &Value, asked| marian(generation.clone(), asked).unwrap().sampling;
    let all = Sampling { temperature: 0.7, top_k: 0, top_p: 0.9, seed: 0 };
    assert_eq!(of(&hot, json!({})), Some(all));
    let asked = json!({ "temperature": 1.5, "seed": u64::MAX });
    assert_eq!(of(&hot, asked), Some(Sampling { temperature: 1.5, seed: u64::MAX, ..all }));
    assert_eq!(of(&hot, json!({ "do_sample": false })), None);
    assert_eq!(of(&json!({}), json!({ "do_sample": true })), Some(Sampling::default()));
    // a model's file may set sampling options without enabling sampling
    assert_eq!(of(&json!({ "temperature": 0.0, "top_p": 7, "top_h": 0.3 }), json!({})), None);

    for (generation, asked, option) in [
        (json!({ "min_p": 0.05 }), json!({ "do_sample": true }), "min_p is 0.05; it must be left out"),
        (json!({ "do_sample": true }), json!({ "typical_p": 0.9 }), "typical_p is 0.9"),
        (json!({ "epsilon_cutoff": 3e-4, "do_sample": true }), json!({}), "epsilon_cutoff is 0.0003"),
        (json!({ "eta_cutoff": 3e-4 }), json!({ "do_sample": true }), "eta_cutoff is 0.0003"),
        (json!({ "top_h": 0.4 }), json!({ "do_sample": true }), "top_h is 0.4"),
    ] {
        let error = marian(generation, asked).unwrap_err().to_string();
        assert!(error.starts_with(option), "{error}");
    }
    let off = json!({ "min_p": 0, "typical_p": 1.0, "epsilon_cutoff": 0.0, "eta_cutoff": 0.0 });
    assert_eq!(of(&off, json!({ "do_sample": true })), Some(Sampling::default()));
}

/// N-grams of the source are banned as words are.
#[test]
fn the_source_is_not_repeated() {
    let config = ModelConfig::from_files(&model("marian_tied")).unwrap();
    let (file, source) =
        (json!({ "encoder_no_repeat_ngram_size": 2, "bad_words_ids": [[9]] }), [5, 6, 5, 6, 0]);
    let file = GenerationConfig::from_files(&memory("generation_config.json", file)).unwrap();
    let banned =
        |asked, source: &[u32]| resolve(&request(asked).unwrap(), &file, &config, source).unwrap().bad_words;
    assert_eq!(banned(json!({}), &source), [vec![9], vec![5, 6], vec![6, 5], vec![5, 6], vec![6, 0]]);
    assert_eq!(
        banned(json!({ "encoder_no_repeat_ngram_size": 4 }), &source),
        [vec![9], vec![5, 6, 5, 6], vec![6, 5, 6, 0]]
    );
    assert_eq!(banned(json!({}), &[5]), [[9]], "it is shorter");
    assert_eq!(banned(json!({ "encoder_no_repeat_ngram_size": 0 }), &source), [[9]]);
    // the decoder of a model with two vocabularies cannot write what is only in the encoder's
    let outside = config.target_vocabulary as u32;
    assert_eq!(banned(json!({}), &[5, outside, 6, 7]), [vec![9], vec![6, 7]]);
}

/// Where the files do not name a start token, transformers takes the begin token, or refuses.
#[test]
fn a_missing_start_token_is_as_in_transformers() {
    let cases = std::fs::read(crate::common::data("start_tokens.json"));
    let cases: Vec<Value> = serde_json::from_slice(&cases.unwrap()).unwrap();
    assert_eq!(cases.len(), 36);
    for case in cases {
        let stored =
            model(case["model"].as_str().unwrap()).read("config.json", 1 << 20).unwrap().into_owned();
        let mut config: Value = serde_json::from_slice(&stored).unwrap();
        for (key, value) in case["changes"].as_object().unwrap() {
            config[key] = value.clone();
        }
        let mut files = vec![("config.json", config.to_string().into_bytes())];
        if !case["generation_config"].is_null() {
            files.push(("generation_config.json", case["generation_config"].to_string().into_bytes()));
        }
        let files = ModelFiles::memory("test", files);
        let (defaults, config) =
            (GenerationConfig::from_files(&files).unwrap(), ModelConfig::from_files(&files).unwrap());
        let options = resolve(&GenerationConfig::default(), &defaults, &config, &[5, 6]);
        match case["start"].as_u64() {
            Some(start) => assert_eq!(options.unwrap().prompt, [start as u32], "{case}"),
            None => {
                let error = options.map(|_| ()).expect_err(&case.to_string()).to_string();
                assert!(error.contains("decoder_start_token_id is not set"), "{error}");
            }
        }
    }
}

#[test]
fn an_encoder_decoder_starts_from_its_start_token() {
    let options = marian(json!({ "max_length": 30 }), json!({ "min_new_tokens": 4 })).unwrap();
    assert_eq!((options.prompt, options.max_length, options.min_length), (vec![644], 30, 5));
    let options = marian(json!({ "decoder_start_token_id": 7 }), json!({ "max_new_tokens": 9 })).unwrap();
    assert_eq!((options.prompt, options.max_length, options.min_length), (vec![7], 10, 0));
    assert_eq!(marian(json!({}), json!({})).unwrap().max_length, 53, "the source's 3 tokens and 50");
}
