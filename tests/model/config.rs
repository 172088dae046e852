//! `config.json`: its meaning in each family, and invalid values.

use std::fs;

use serde_json::{Value, json};
use wordloom::Model;
use wordloom::activation::Activation;
use wordloom::model::config::{
    AttentionScale, EmbeddingSharing, Family, Mixer, ModelConfig, NormKind, NormPlacement, OutputProjection,
    Positions, RelativePositions, SpecialTokens, StackConfig,
};
use wordloom::model::files::ModelFiles;
use wordloom::model::positions::SinusoidalLayout;
use wordloom::model::{Globals, ModelError, SelfAttentionChoice, SelfAttentionKind, TokenBlocks};

use crate::common::data;
use crate::{assert_refused, model};

fn memory(name: &'static str, content: impl ToString) -> ModelFiles {
    ModelFiles::memory("test", [(name, content.to_string().into_bytes())])
}

fn config(content: impl ToString) -> Result<ModelConfig, ModelError> {
    ModelConfig::from_files(&memory("config.json", content))
}

/// `base` with some keys replaced; `null` takes a key away.
fn changed(base: &Value, changes: Value) -> Value {
    let mut object = base.as_object().unwrap().clone();
    for (key, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => object.remove(key),
            _ => object.insert(key.clone(), value.clone()),
        };
    }
    Value::Object(object)
}

fn stack(layers: usize, heads: usize, width: usize, ffn_width: usize) -> StackConfig {
    StackConfig { layers, heads, d_k: width, d_v: width, ffn_width }
}

fn marian_tied() -> ModelConfig {
    let stack = stack(2, 4, 16, 128);
    ModelConfig {
        family: Family::Marian,
        d_model: 64,
        encoder: stack,
        decoder: stack,
        decoder_mixer: Mixer::Attention,
        source_vocabulary: 645,
        target_vocabulary: 645,
        embeddings: EmbeddingSharing::Shared,
        output: OutputProjection { tied: true, bias: true, scale: 1.0, transform: None },
        token_types: 0,
        embedding_scale: 8.0,
        embedding_norm: false,
        zero_start: false,
        encoder_kinds: Vec::new(),
        global_projections: false,
        block_tokens: None,
        encoder_positions: None,
        positions: Positions::Sinusoidal { layout: SinusoidalLayout::Halves, count: 64 },
        attention_scale: AttentionScale::PAPER,
        activation: Activation::Relu,
        gated: false,
        biases: true,
        attention_biases: true,
        norm: NormPlacement::Post,
        norm_kind: NormKind::Layer,
        final_norm: false,
        layer_norm_eps: 1e-5,
        tokens: SpecialTokens { pad: 644, eos: Some(0), bos: None, decoder_start: Some(644) },
    }
}

#[test]
fn marian_folders_are_understood() {
    assert_eq!(ModelConfig::from_files(&model("marian_tied")).unwrap(), marian_tied());

    let stack = stack(2, 3, 16, 80);
    let separate = ModelConfig {
        d_model: 48,
        encoder: stack,
        decoder: stack,
        source_vocabulary: 523,
        target_vocabulary: 437,
        embeddings: EmbeddingSharing::Separate,
        positions: Positions::Sinusoidal { layout: SinusoidalLayout::Halves, count: 48 },
        embedding_scale: 48f32.sqrt(),
        activation: Activation::Silu,
        tokens: SpecialTokens { pad: 436, eos: Some(0), bos: None, decoder_start: Some(436) },
        ..marian_tied()
    };
    assert_eq!(ModelConfig::from_files(&model("marian_untied_swish")).unwrap(), separate);

    let own_head = ModelConfig::from_files(&model("marian_separate_head")).unwrap();
    assert_eq!(own_head.output, OutputProjection { tied: false, bias: true, scale: 1.0, transform: None });
    assert_eq!((own_head.source_vocabulary, own_head.target_vocabulary), (260, 311));
}

#[test]
fn vanilla_folders_are_understood() {
    let stack = stack(2, 4, 12, 96);
    let pre_norm = ModelConfig {
        family: Family::Vanilla,
        d_model: 48,
        encoder: stack,
        decoder: stack,
        decoder_mixer: Mixer::Attention,
        source_vocabulary: 300,
        target_vocabulary: 300,
        output: OutputProjection { tied: true, bias: false, scale: 1.0, transform: None },
        zero_start: false,
        encoder_kinds: Vec::new(),
        global_projections: false,
        block_tokens: None,
        encoder_positions: None,
        positions: Positions::Sinusoidal { layout: SinusoidalLayout::Interleaved, count: 64 },
        embedding_scale: 48f32.sqrt(),
        norm: NormPlacement::Pre,
        final_norm: true,
        tokens: SpecialTokens { pad: 0, eos: Some(2), bos: Some(1), decoder_start: Some(1) },
        ..marian_tied()
    };
    assert_eq!(ModelConfig::from_files(&model("vanilla_preln")).unwrap(), pre_norm);

    let post_norm = ModelConfig::from_files(&model("vanilla_postln")).unwrap();
    assert_eq!((post_norm.norm, post_norm.final_norm), (NormPlacement::Post, false));
}

#[test]
fn the_parameter_count_is_the_number_of_stored_values() {
    for name in [
        "marian_tied",
        "marian_untied_swish",
        "marian_separate_head",
        "marian_f16",
        "vanilla_postln",
        "vanilla_preln",
        "bart",
        "mbart",
        "m2m_100",
        "t5_relu_tied",
        "t5_gated_untied_bf16",
        "mt5",
        "umt5",
        "bert",
        "roberta",
        "xlm_roberta",
        "distilbert",
        "gpt2",
    ] {
        let model = Model::from_files(model(name)).unwrap();
        let checkpoint = model.checkpoint();
        let stored: usize =
            checkpoint.names().map(|name| checkpoint.info(name).unwrap().element_count()).sum();
        assert_eq!(model.config().parameter_count(), stored as u64, "{name}");
    }
}

#[test]
fn marian_has_the_defaults_of_its_hugging_face_class() {
    let stack = stack(12, 16, 64, 4096);
    let defaults = ModelConfig {
        d_model: 1024,
        encoder: stack,
        decoder: stack,
        source_vocabulary: 58_101,
        target_vocabulary: 58_101,
        positions: Positions::Sinusoidal { layout: SinusoidalLayout::Halves, count: 1024 },
        embedding_scale: 1.0,
        activation: Activation::Gelu,
        tokens: SpecialTokens { pad: 58_100, eos: Some(0), bos: None, decoder_start: None },
        ..marian_tied()
    };
    assert_eq!(config(json!({ "model_type": "marian" })).unwrap(), defaults);
    let nulls =
        json!({ "model_type": "marian", "d_model": null, "decoder_vocab_size": null, "bos_token_id": null });
    assert_eq!(config(nulls).unwrap(), defaults);
}

#[test]
fn marian_switches_are_independent_of_each_other() {
    let base: Value =
        serde_json::from_slice(&fs::read(data("models/marian_tied/config.json")).unwrap()).unwrap();
    let with = |changes| config(changed(&base, changes)).unwrap();

    let lopsided = with(json!({ "encoder_attention_heads": 1, "encoder_layers": 1, "decoder_ffn_dim": 7 }));
    assert_eq!(lopsided.encoder, stack(1, 1, 64, 128));
    assert_eq!(lopsided.decoder, stack(2, 4, 16, 7));

    // a shared table has one size, so decoder_vocab_size is ignored
    assert_eq!(with(json!({ "decoder_vocab_size": 700 })).target_vocabulary, 645);
    let separate = with(json!({ "decoder_vocab_size": 700, "share_encoder_decoder_embeddings": false }));
    assert_eq!((separate.source_vocabulary, separate.target_vocabulary), (645, 700));
    assert_eq!(with(json!({ "tie_word_embeddings": false })).embeddings, EmbeddingSharing::Shared);

    // keys of another class have no effect
    let stale =
        ["normalize_before", "normalize_embedding", "static_position_embeddings", "add_final_layer_norm"];
    for key in stale {
        for value in [true, false] {
            assert_eq!(with(json!({ key: value })), marian_tied(), "{key}: {value}");
        }
    }
}

fn stored(name: &str) -> Value {
    serde_json::from_slice(&fs::read(data(&format!("models/{name}/config.json"))).unwrap()).unwrap()
}

#[test]
fn the_other_families_are_understood() {
    let of = |name: &str| ModelConfig::from_files(&model(name)).unwrap();
    let bart = of("bart");
    assert_eq!(bart.positions, Positions::Learned { count: 64, offset: 2 });
    assert_eq!((bart.norm, bart.final_norm, bart.embedding_norm), (NormPlacement::Post, false, true));
    let mbart = of("mbart");
    assert_eq!((mbart.norm, mbart.final_norm, mbart.embedding_norm), (NormPlacement::Pre, true, true));
    let m2m = of("m2m_100");
    assert_eq!(m2m.positions, Positions::SinusoidalWithoutPadding { count: 64, pad: 1 });
    assert!(!m2m.output.bias && !m2m.embedding_norm);
    let rows: Vec<u32> = m2m.position_rows(&[5, 1, 7, 1]).collect();
    assert_eq!(rows, [2, 1, 3, 1], "padding has no place");

    let t5 = of("t5_relu_tied");
    assert_eq!(t5.output.scale, 0.125);
    assert_eq!(
        t5.positions,
        Positions::Relative(RelativePositions { buckets: 32, max_distance: 128, of_each_layer: false })
    );
    assert_eq!((t5.norm_kind, t5.biases, t5.gated), (NormKind::Rms, false, false));
    let gated = of("t5_gated_untied_bf16");
    assert_eq!((gated.gated, gated.activation, gated.output.scale), (true, Activation::GeluTanh, 1.0));
    assert_eq!(gated.encoder, stack(3, 6, 12, 112));
    assert_eq!(gated.decoder, stack(2, 6, 12, 112));
    let (mt5, umt5) = (of("mt5"), of("umt5"));
    assert_eq!((mt5.family, mt5.gated, mt5.output.scale), (Family::MT5, true, 1.0));
    let defaults = config(json!({ "model_type": "mt5" })).unwrap();
    assert_eq!((defaults.encoder, defaults.target_vocabulary), (stack(8, 6, 64, 1024), 250_112));
    assert_eq!((defaults.gated, defaults.activation), (true, Activation::GeluTanh));
    let own = RelativePositions { buckets: 16, max_distance: 40, of_each_layer: true };
    assert_eq!((umt5.family, umt5.positions), (Family::UMT5, Positions::Relative(own)));
    assert_eq!(umt5.output.scale, (48f32).sqrt().recip());

    let bert = of("bert");
    assert_eq!((bert.decoder, bert.token_types, bert.layer_norm_eps), (StackConfig::NONE, 2, 1e-12));
    let roberta = of("roberta");
    assert_eq!(roberta.positions, Positions::LearnedWithoutPadding { count: 40, pad: 1 });
    assert_eq!((roberta.token_types, roberta.layer_norm_eps), (1, 1e-5));
    assert_eq!((roberta.tokens.pad, roberta.tokens.eos), (1, Some(2)));
    assert_eq!(of("xlm_roberta").encoder, stack(2, 3, 16, 80));
    let distilbert = of("distilbert");
    assert_eq!((distilbert.encoder, distilbert.token_types), (stack(3, 4, 12, 96), 0));
    assert_eq!(distilbert.positions, Positions::Learned { count: 36, offset: 0 });
    let gpt2 = of("gpt2");
    assert_eq!((gpt2.encoder, gpt2.decoder), (StackConfig::NONE, stack(2, 4, 16, 256)));
    assert_eq!((gpt2.tokens.pad, gpt2.tokens.eos), (399, Some(399)));
}

#[test]
fn the_other_families_have_the_defaults_of_their_hugging_face_classes() {
    let of = |model_type: &str| config(json!({ "model_type": model_type })).unwrap();
    assert_eq!(of("bart").decoder, stack(12, 16, 64, 4096));
    assert_eq!(of("mbart").tokens.decoder_start, None);
    assert_eq!(of("m2m_100").target_vocabulary, 128_112);
    assert_eq!(of("m2m_100").embedding_scale, 32.0);
    assert_eq!(of("pegasus").tokens, SpecialTokens { pad: 0, eos: Some(1), bos: None, decoder_start: None });
    assert_eq!(of("t5").encoder, stack(6, 8, 64, 2048));
    assert_eq!(of("bert").encoder, stack(12, 12, 64, 3072));
    assert_eq!((of("roberta").source_vocabulary, of("xlm-roberta").source_vocabulary), (50_265, 30_522));
    assert_eq!(of("roberta").positions.count(), 510);
    assert_eq!(of("distilbert").encoder, stack(6, 12, 64, 3072));
    assert_eq!(of("gpt2").decoder, stack(12, 12, 64, 3072));
    assert_eq!(of("gpt2").activation, Activation::GeluTanh);
}

/// Kinds of self-attention by layer, in the form in which users write them.
#[test]
fn kinds_of_attention_are_read_and_written() {
    let tokens = |tokens: &[usize]| Globals::Tokens(tokens.to_vec());
    for (text, kind) in [
        ("full", SelfAttentionKind::Full),
        ("uniform", SelfAttentionKind::Uniform),
        ("shared-qk", SelfAttentionKind::SharedQk),
        ("linformer:32", SelfAttentionKind::Linformer { rank: 32, is_learned: false }),
        ("additive", SelfAttentionKind::Additive),
        ("window:8", SelfAttentionKind::Window { radius: 8, globals: Globals::None }),
        ("window:8+global:0+5", SelfAttentionKind::Window { radius: 8, globals: tokens(&[0, 5]) }),
        ("transient-global:127", SelfAttentionKind::TransientGlobal { radius: 127 }),
        ("blocks:64", SelfAttentionKind::Blocks(TokenBlocks { size: 64, random: 0 })),
        ("blocks:1+random:3", SelfAttentionKind::Blocks(TokenBlocks { size: 1, random: 3 })),
    ] {
        assert_eq!(text.parse(), Ok(kind.clone()));
        assert_eq!(kind.to_string(), text);
    }
    for (text, message) in [
        ("windows:8", "there is no kind of attention \"windows:8\""),
        ("window", "has 1 neighbour on each side or more"),
        ("window:0", "\"window:0\": a window has 1 neighbour"),
        ("window:-1", "has 1 neighbour"),
        ("window:8+global:", "global tokens are numbers from 0"),
        ("window:8+global:1+x", "global tokens are numbers from 0"),
        ("blocks", "\"blocks\": a block has 1 to 4096 tokens"),
        ("blocks:0", "a block has 1 to 4096 tokens"),
        ("blocks:4097", "a block has 1 to 4096 tokens"),
        ("blocks:8+random:", "each block 0 to 4096 random ones"),
        ("blocks:8+random:-1", "each block 0 to 4096 random ones"),
        (
            "linformer",
            "\"linformer\": keys and values are projected to 1 dimension or more, linformer:32 for example",
        ),
        ("linformer:0", "projected to 1 dimension or more"),
        ("linformer:-2", "projected to 1 dimension or more"),
        ("additive:2", "there is no kind of attention \"additive:2\""),
        ("full:3", "there is no kind of attention \"full:3\""),
    ] {
        let error = text.parse::<SelfAttentionKind>().unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    for (text, message) in [
        ("", "LAYER=KIND is needed"),
        ("encoder.2", "LAYER=KIND is needed"),
        ("encoder.x=full", "LAYER=KIND is needed"),
        ("encoder.2=full,encoder.2=uniform", "the attention of encoder.2 is chosen twice"),
        ("decoder.0=window:8", "only an encoder's self-attention can have another kind"),
        ("encoder.0=window:0", "has 1 neighbour"),
    ] {
        let error = text.parse::<SelfAttentionChoice>().unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let choice: SelfAttentionChoice = "encoder.1=window:2,encoder.*=uniform".parse().unwrap();
    assert_eq!(choice.to_string(), "encoder.1=window:2,encoder.*=uniform");
    let config = ModelConfig::from_files(&model("bart")).unwrap().with_attention(&choice).unwrap();
    let kinds: Vec<String> =
        (0..config.encoder.layers).map(|layer| config.encoder_kind(layer).to_string()).collect();
    assert_eq!(kinds[..2], ["uniform", "window:2"], "a layer's own number goes before *");
}

#[test]
fn bigbird_has_blocks() {
    let small = ModelConfig::from_files(&model("bigbird_pegasus")).unwrap();
    let kinds: Vec<String> = small.encoder_kinds.iter().map(SelfAttentionKind::to_string).collect();
    assert_eq!(kinds, ["blocks:4+random:2"; 3]);
    let kind = small.encoder_kind(0);
    assert_eq!([36, 37].map(|length| kind.for_length(length).to_string()), ["full", "blocks:4+random:2"]);
    assert!(!small.attention_biases && small.biases && small.final_norm && !small.embedding_norm);
    let base = config(json!({ "model_type": "bigbird_pegasus" })).unwrap();
    let blocks = TokenBlocks { size: 64, random: 3 };
    assert_eq!((base.encoder_blocks(), blocks.full_length()), (Some(blocks), 704));
    assert_eq!((base.encoder.layers, base.decoder.layers, base.encoder.heads), (16, 16, 16));
    assert_eq!((base.source_vocabulary, base.positions.count()), (96_103, 4096));
    assert_eq!((base.activation, base.embedding_scale), (Activation::GeluTanh, 32.0));
    let with = |changes| config(changed(&stored("bigbird_pegasus"), changes));
    let full = with(json!({ "attention_type": "original_full", "use_bias": true })).unwrap();
    assert_eq!((full.encoder_blocks(), full.attention_biases), (None, true));
    assert_refused(with(json!({ "attention_type": "sparse" })), "block_sparse, original_full");
    assert_refused(with(json!({ "block_size": 0 })), "expected a whole number from 1 to 4096");
    assert_refused(with(json!({ "num_random_blocks": 5000 })), "expected a whole number from 0 to 4096");
    assert_refused(with(json!({ "num_random_blocks": -1 })), "num_random_blocks");
}

#[test]
fn families_for_long_texts_have_windows() {
    let led = ModelConfig::from_files(&model("led")).unwrap();
    let radii: Vec<_> = led.encoder_kinds.iter().map(SelfAttentionKind::radius).collect();
    assert_eq!(radii, [Some(2), Some(6), Some(3)]);
    assert_eq!(led.encoder_globals(), &Globals::Requested);
    assert_eq!((led.source_positions().count(), led.positions.count()), (64, 40));
    let base = config(json!({ "model_type": "led" })).unwrap();
    assert_eq!((base.source_positions().count(), base.positions.count()), (16_384, 1024));
    assert_eq!(base.encoder_kind(11).radius(), Some(256));
    for window in [json!(0), json!(7), json!(-2), json!([4, 4]), json!([4, 12, 5]), json!("4")] {
        let changes = json!({ "attention_window": window });
        assert_refused(config(changed(&stored("led"), changes)), "expected an even number from 2");
    }
    let local = ModelConfig::from_files(&model("longt5_local")).unwrap();
    assert_eq!((local.encoder_kind(0).to_string(), local.block_tokens), ("window:3".to_owned(), None));
    let global = ModelConfig::from_files(&model("longt5_tglobal")).unwrap();
    assert_eq!(global.encoder_kind(1).to_string(), "transient-global:5");
    assert_eq!(global.block_tokens, Some(4));
    let changes = json!({ "encoder_attention_type": "global" });
    assert_refused(config(changed(&stored("longt5_local"), changes)), "\"global\" is not supported");
    assert_refused(
        config(changed(&stored("longt5_local"), json!({ "local_radius": 0 }))),
        "\"local_radius\" is 0",
    );
}

#[test]
fn switches_of_the_other_families() {
    let with = |name: &str, changes| config(changed(&stored(name), changes)).unwrap();
    let t5 = |changes| with("t5_relu_tied", changes);
    let forward = |name: &str| {
        let t5 = t5(json!({ "feed_forward_proj": name, "dense_act_fn": null, "is_gated_act": null }));
        (t5.activation, t5.gated)
    };
    assert_eq!(forward("gated-silu"), (Activation::Silu, true));
    assert_eq!(forward("gated-gelu"), (Activation::GeluTanh, true));
    assert_eq!(forward("gelu"), (Activation::Gelu, false));
    assert_eq!(t5(json!({ "num_decoder_layers": 5 })).decoder.layers, 5);
    assert_eq!(t5(json!({ "scale_decoder_outputs": null, "tie_word_embeddings": false })).output.scale, 1.0);
    // what Hugging Face computes from `feed_forward_proj`, and stores beside it, wins
    let dense = t5(json!({ "dense_act_fn": "silu", "is_gated_act": true }));
    assert_eq!((dense.activation, dense.gated), (Activation::Silu, true));
    let roberta = with("roberta", json!({ "hidden_act": "relu" }));
    assert_eq!((roberta.activation, roberta.output.transform), (Activation::Relu, Some(Activation::Gelu)));
    let gpt2 = |changes| with("gpt2", changes).attention_scale.factor(16, 1);
    assert_eq!(gpt2(json!({})), 0.25);
    assert_eq!(gpt2(json!({ "scale_attn_weights": false })), 1.0);
    assert_eq!(gpt2(json!({ "scale_attn_by_inverse_layer_idx": true })), 0.125);
    let row_b = with("vanilla_preln", json!({ "d_k": 5, "d_v": 7, "position_embedding_type": "learned" }));
    assert_eq!((row_b.decoder.d_k, row_b.decoder.d_v), (5, 7));
    assert_eq!(row_b.positions, Positions::Learned { count: 64, offset: 0 });
}

/// `attribute_map` of Hugging Face's classes: a value under another name wins over the key's own.
#[test]
fn keys_have_other_names() {
    for (name, aliases) in [
        (
            "bart",
            &[
                "hidden_size=d_model",
                "num_attention_heads=encoder_attention_heads",
                "num_hidden_layers=encoder_layers",
            ][..],
        ),
        (
            "led",
            &[
                "hidden_size=d_model",
                "num_attention_heads=encoder_attention_heads",
                "num_hidden_layers=encoder_layers",
            ],
        ),
        (
            "t5_relu_tied",
            &[
                "hidden_size=d_model",
                "num_attention_heads=num_heads",
                "num_hidden_layers=num_layers",
                "head_dim=d_kv",
            ],
        ),
        ("longt5_local", &["hidden_size=d_model", "head_dim=d_kv"]),
        (
            "gpt2",
            &[
                "hidden_size=n_embd",
                "num_attention_heads=n_head",
                "num_hidden_layers=n_layer",
                "max_position_embeddings=n_positions",
            ],
        ),
        ("distilbert", &["hidden_size=dim", "num_attention_heads=n_heads", "num_hidden_layers=n_layers"]),
    ] {
        let own = stored(name);
        let (mut moved, mut both) = (own.clone(), own.clone());
        for alias in aliases {
            let (alias, key) = alias.split_once('=').unwrap();
            let value = own[key].clone();
            moved.as_object_mut().unwrap().remove(key);
            moved[alias] = value.clone();
            (both[alias], both[key]) = (value, 1.into());
        }
        let expected = config(&own).unwrap();
        assert_eq!(config(&moved).unwrap(), expected, "{name}");
        assert_eq!(config(&both).unwrap(), expected, "{name}");
    }
}

#[test]
fn impossible_configurations_of_the_other_families_are_refused_by_key() {
    for (name, changes, message) in [
        ("bart", json!({ "is_encoder_decoder": false }), "\"is_encoder_decoder\": false is not supported"),
        ("bart", json!({ "vocab_size": 2 }), "\"decoder_start_token_id\" is 2; expected a token id below"),
        (
            "m2m_100",
            json!({ "d_model": 2, "encoder_attention_heads": 1, "decoder_attention_heads": 1 }),
            "at least 4",
        ),
        (
            "t5_relu_tied",
            json!({ "feed_forward_proj": "gated-mish", "dense_act_fn": null }),
            "\"gated-mish\" is not supported",
        ),
        ("t5_relu_tied", json!({ "relative_attention_num_buckets": 3 }), "is 3; expected at least 4"),
        (
            "t5_relu_tied",
            json!({ "relative_attention_max_distance": 16 }),
            "is 16; expected more than half of the 32",
        ),
        ("t5_relu_tied", json!({ "relative_attention_max_distance": 1u64 << 40 }), "expected a whole number"),
        ("t5_relu_tied", json!({ "d_kv": 1 << 16 }), "\"d_kv\" is 65536"),
        ("bert", json!({ "is_decoder": true }), "\"is_decoder\": true is not supported; supported: false"),
        ("bert", json!({ "position_embedding_type": "relative_key" }), "supported: \"absolute\""),
        ("roberta", json!({ "is_decoder": true }), "\"is_decoder\": true is not supported; supported: false"),
        (
            "roberta",
            json!({ "hidden_act": "mish" }),
            "\"hidden_act\": \"mish\" is not supported; supported: ",
        ),
        ("xlm_roberta", json!({ "max_position_embeddings": 2 }), "is 2; expected more than 2, the padding"),
        ("distilbert", json!({ "n_heads": 5 }), "\"n_heads\" is 5; expected a divisor of d_model, 48"),
        ("gpt2", json!({ "add_cross_attention": true }), "\"add_cross_attention\": true is not supported"),
        ("gpt2", json!({ "n_head": 3 }), "\"n_head\" is 3; expected a divisor of n_embd, 64"),
        ("vanilla_preln", json!({ "d_k": 0 }), "\"d_k\" is 0"),
    ] {
        assert_refused(config(changed(&stored(name), changes)), message);
    }
}

#[test]
fn impossible_configurations_are_refused_by_key() {
    let marian: Value =
        serde_json::from_slice(&fs::read(data("models/marian_tied/config.json")).unwrap()).unwrap();
    let vanilla: Value =
        serde_json::from_slice(&fs::read(data("models/vanilla_preln/config.json")).unwrap()).unwrap();
    for (base, changes, message) in [
        (&marian, json!({ "model_type": null }), "test/config.json: the key \"model_type\" is missing"),
        (&marian, json!({ "model_type": 3 }), "\"model_type\" is 3; expected a string"),
        (
            &marian,
            json!({ "model_type": "t6" }),
            "\"t6\" is not supported; supported: marian, vanilla_transformer",
        ),
        (&marian, json!({ "is_encoder_decoder": false }), "\"is_encoder_decoder\": false is not supported"),
        (
            &marian,
            json!({ "activation_function": "mish" }),
            "\"mish\" is not supported; supported: linear, relu",
        ),
        (&marian, json!({ "activation_function": ["relu"] }), "expected a string"),
        (
            &marian,
            json!({ "scale_embedding": "yes" }),
            "\"scale_embedding\" is \"yes\"; expected true or false",
        ),
        (&marian, json!({ "scale_embedding": 1 }), "expected true or false"),
        (&marian, json!({ "d_model": 0 }), "\"d_model\" is 0; expected a whole number from 1 to 65536"),
        (&marian, json!({ "d_model": -64 }), "\"d_model\" is -64"),
        (&marian, json!({ "d_model": 64.5 }), "\"d_model\" is 64.5"),
        (&marian, json!({ "d_model": 1u64 << 60 }), "\"d_model\" is 1152921504606846976"),
        (&marian, json!({ "encoder_attention_heads": 0 }), "\"encoder_attention_heads\" is 0"),
        (
            &marian,
            json!({ "decoder_attention_heads": 5 }),
            "\"decoder_attention_heads\" is 5; expected a divisor of d_model, 64",
        ),
        (&marian, json!({ "encoder_layers": 0 }), "\"encoder_layers\" is 0"),
        (&marian, json!({ "decoder_layers": 1_000_000 }), "\"decoder_layers\" is 1000000"),
        (&marian, json!({ "encoder_ffn_dim": 0 }), "\"encoder_ffn_dim\" is 0"),
        (&marian, json!({ "vocab_size": 0 }), "\"vocab_size\" is 0"),
        (&marian, json!({ "vocab_size": 4_000_000_000u64 }), "\"vocab_size\" is 4000000000"),
        (&marian, json!({ "decoder_vocab_size": 0 }), "\"decoder_vocab_size\" is 0"),
        (
            &marian,
            json!({ "max_position_embeddings": 1u64 << 40 }),
            "\"max_position_embeddings\" is 1099511627776",
        ),
        (
            &marian,
            json!({ "pad_token_id": 645 }),
            "\"pad_token_id\" is 645; expected a token id below the vocabulary's size, 645",
        ),
        (&marian, json!({ "pad_token_id": null }), "\"pad_token_id\" is null; expected a token id below"),
        (&marian, json!({ "pad_token_id": -1 }), "\"pad_token_id\" is null; expected a token id below"),
        (&marian, json!({ "decoder_start_token_id": 1e9 }), "\"decoder_start_token_id\" is 1000000000.0"),
        (&vanilla, json!({ "d_model": null }), "the key \"d_model\" is missing"),
        (&vanilla, json!({ "nhead": 5 }), "\"nhead\" is 5; expected a divisor of d_model, 48"),
        (&vanilla, json!({ "norm_first": null }), "the key \"norm_first\" is missing"),
        (&vanilla, json!({ "eos_token_id": null }), "the key \"eos_token_id\" is missing"),
        (&vanilla, json!({ "bos_token_id": 300 }), "\"bos_token_id\" is 300"),
        (&vanilla, json!({ "layer_norm_eps": 1e300 }), "\"layer_norm_eps\" is"),
        (&vanilla, json!({ "layer_norm_eps": -1e-5 }), "\"layer_norm_eps\" is"),
        (
            &vanilla,
            json!({ "attention_bias": false }),
            "\"attention_bias\": false is not supported; supported: true",
        ),
        (&vanilla, json!({ "position_embedding_type": "rotary" }), "supported: \"sinusoidal_interleaved\""),
    ] {
        assert_refused(config(changed(base, changes)), message);
    }
}

#[test]
fn a_broken_file_is_refused_with_its_place() {
    for (text, message) in [
        ("", "test/config.json: it is empty at line 1 column 0"),
        ("{\"model_type\":\n \"marian\",,}", "at line 2 column 11"),
        ("{\"layer_norm_eps\": NaN}", "at line 1 column 20"),
        ("[\"marian\"]", "there is a list instead of an object"),
        ("null", "there is null instead of an object"),
        ("{\"model_type\": \"marian\"} trailing", "trailing characters at line 1 column 26"),
    ] {
        assert_refused(config(text), message);
    }
    let not_utf8 = ModelFiles::memory("test", [("config.json", &b"{\"model_type\": \"\xff\"}"[..])]);
    assert_refused(ModelConfig::from_files(&not_utf8), "test/config.json: invalid unicode");
    assert_refused(config("[".repeat(100_000)), "instead of an object");
    assert_refused(config(" ".repeat(9 << 20)), "is 9437184 bytes long; at most");
    assert_refused(ModelConfig::from_files(&memory("README.md", "")), "test: there is no \"config.json\"");

    let text = fs::read_to_string(data("models/marian_tied/config.json")).unwrap();
    for length in 0..text.trim_end().len() {
        assert_refused(config(&text[..length]), "test/config.json: ");
    }
}
