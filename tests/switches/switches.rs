//! Switches: against torch with the same modules patched; and the search against the forward pass, under each switch.

use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use crate::common::{Tensors, assert_close, data, device_test, devices, gpu_as, model};
use wordloom::decode::DecodeOptions;
use wordloom::kernels::AdapterClass;
use wordloom::model::config::Architecture;
use wordloom::model::{AttentionKind, HeadName, SelfAttentionChoice, Switches};
use wordloom::transformer::{
    Cancel, ForwardInput, ForwardOutput, GenerateOptions, GenerateRequest, Keep, KeepAttention, Transformer,
};
use wordloom::{Device, Model};

const TOLERANCE: (f32, f32) = (1e-4, 1e-4);

fn open(name: &str) -> Model {
    model(&data("models").join(name))
}

fn load(device: &Device, model: &Model) -> Transformer {
    Transformer::load(device, model, &mut |_| {}).expect("loads")
}

fn switches(text: &str) -> Switches {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The CPU, the adapter, and an adapter with the kernels of hardware, which fuse norms with what reads them.
async fn all_devices() -> Vec<Device> {
    let mut all = devices().await;
    all.push(gpu_as(AdapterClass::Hardware).await);
    all
}

#[device_test]
async fn logits_equal_those_of_patched_modules() {
    for device in all_devices().await {
        for name in ["marian_tied", "bart", "mbart", "t5_relu_tied", "gpt2"] {
            let model = open(name);
            let mut transformer = load(&device, &model);
            let tensors = Tensors::open(&data("switches").join(format!("{name}.safetensors")));
            let shape = tensors.shape("input_ids");
            let (batch, source_length) = (shape[0], shape[1]);
            let decoder_input_ids = match tensors.has("decoder_input_ids") {
                true => tensors.u32("decoder_input_ids"),
                false => Vec::new(),
            };
            let input = ForwardInput {
                batch,
                source_length,
                target_length: decoder_input_ids.len() / batch,
                input_ids: tensors.u32("input_ids"),
                attention_mask: tensors.u32("attention_mask"),
                decoder_input_ids,
                ..ForwardInput::default()
            };
            let own = transformer.forward(&input).await.expect("runs");
            let cases: Vec<String> = tensors.names().into_iter().filter(|name| name.contains('=')).collect();
            assert!(cases.len() >= 7, "{name}: {cases:?}");
            for case in &cases {
                let place = format!("{name}, {case}, on {device}");
                transformer
                    .set_switches(&model, &switches(case))
                    .unwrap_or_else(|error| panic!("{place}: {error}"));
                let output = transformer.forward(&input).await.expect("runs");
                compare_columns(&place, &output, &tensors, case);
            }
            transformer.set_switches(&model, &Switches::default()).expect("no switches");
            assert_eq!(transformer.forward(&input).await.expect("runs"), own, "{name} on {device}");
        }
    }
}

/// Compares the stored first columns of the logits.
fn compare_columns(place: &str, output: &ForwardOutput, tensors: &Tensors, case: &str) {
    let columns = *tensors.shape(case).last().expect("[batch, length, columns]");
    let width = *output.logits.shape.last().expect("[batch, length, vocabulary]");
    let got: Vec<f32> =
        output.logits.data.chunks_exact(width).flat_map(|row| row[..columns].to_vec()).collect();
    assert_close(place, &got, &tensors.f32(case), TOLERANCE);
}

/// Switches that each family is searched with.
const SEARCHED: [&str; 12] = [
    "",
    "residual=off",
    "decoder.0.norm=off",
    "positions=off",
    "feed-forward=off",
    "decoder.1.feed-forward=off,decoder.0.residual=off",
    "scale=0.3",
    "query=key",
    "decoder.self=off",
    "decoder.*.scale=0.5,decoder.1.norm=off",
    "head.1=mute",
    "positions=off,head.0=uniform",
];

#[device_test]
async fn a_search_takes_the_best_tokens_of_the_forward_pass() {
    for name in ["marian_tied", "mbart", "t5_relu_tied", "umt5", "longt5_tglobal", "gpt2", "firefox"] {
        let model = open(name);
        for device in all_devices().await {
            let mut transformer = load(&device, &model);
            let mut found = Vec::new();
            for text in SEARCHED {
                let place = format!("{name}, {text:?}, on {device}");
                transformer
                    .set_switches(&model, &switches(text))
                    .unwrap_or_else(|error| panic!("{place}: {error}"));
                let ids = check_search(&transformer, &place).await;
                found.push(ids);
            }
            found.dedup();
            assert!(found.len() > 3, "{name} on {device}: switches change what is found, {found:?}");
        }
    }
}

/// Searches after a prompt of several tokens, and compares each step with the forward pass over what was found, its
/// attention as well. Returns what was found.
async fn check_search(transformer: &Transformer, place: &str) -> Vec<u32> {
    let config = transformer.config();
    let one = config.architecture() == Architecture::DecoderOnly;
    let start = config.tokens.decoder_start.unwrap_or(0);
    let prompt = vec![start, 21, 38];
    let source = if one { prompt.clone() } else { vec![17, 9, 33, 60, 41, 9, 25] };
    let options = DecodeOptions {
        prompt: prompt.clone(),
        max_length: prompt.len() + 6,
        eos: Vec::new(),
        num_beams: 1,
        ..DecodeOptions::new(start, config.tokens.eos.unwrap_or(0), config.tokens.pad)
    };
    let requests = [GenerateRequest { input_ids: source.clone(), options, global_tokens: Vec::new() }];
    let keep = Keep { attention: (!one).then(KeepAttention::default), tree: false };
    let done = transformer.generate(&requests, GenerateOptions::default().keep(keep)).await;
    let done = done.unwrap_or_else(|error| panic!("{place}: {error}")).remove(0);
    let ids = done.hypotheses[0].tokens.clone();
    assert_eq!(ids.len(), prompt.len() + 6, "{place}");
    // the last token was found, but not read
    let read = ids[..ids.len() - 1].to_vec();
    let (input_ids, decoder_input_ids) = if one { (read, Vec::new()) } else { (source, read) };
    let input = ForwardInput {
        batch: 1,
        source_length: input_ids.len(),
        target_length: decoder_input_ids.len(),
        attention_mask: vec![1; input_ids.len()],
        input_ids,
        decoder_input_ids,
        ..ForwardInput::default()
    };
    let output = transformer.forward(&input).await.unwrap_or_else(|error| panic!("{place}: {error}"));
    let rows: Vec<&[f32]> = output.logits.data.chunks_exact(config.target_vocabulary).collect();
    for position in prompt.len()..ids.len() {
        let row = rows[position - 1];
        let best = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let chosen = row[ids[position] as usize];
        assert!(chosen >= best - 1e-4 * best.abs().max(1.0), "{place}, token {position}: {chosen} < {best}");
    }
    if let Some(attention) = done.attention {
        for kept in attention.read().await.expect("reads") {
            let of_kind = match kept.kind {
                AttentionKind::Encoder => &output.encoder_attentions,
                AttentionKind::Decoder => &output.decoder_attentions,
                AttentionKind::Cross => &output.cross_attentions,
            };
            let what = format!("{place}, {} attention {}", kept.kind, kept.layer);
            assert_close(&what, &kept.weights, &of_kind[kept.layer].data, TOLERANCE);
        }
    }
    ids
}

#[device_test]
async fn switches_go_together_with_muted_heads_and_kinds() {
    let model = open("marian_tied");
    let head: HeadName = "cross.1.2".parse().expect("sound");
    for device in devices().await {
        let mut both = load(&device, &model);
        both.mute(&model, &[head]).expect("has the head");
        both.set_attention(&"encoder.0=uniform".parse::<SelfAttentionChoice>().expect("sound"))
            .expect("has it");
        both.set_switches(&model, &switches("decoder.0.feed-forward=off")).expect("fits");
        let mut other = load(&device, &model);
        let same =
            switches("decoder.0.feed-forward=off,decoder.1.cross.head.2=mute,encoder.0.self.head.*=uniform");
        other.set_switches(&model, &same).expect("fits");
        let input = ForwardInput {
            batch: 1,
            source_length: 4,
            target_length: 3,
            input_ids: vec![17, 9, 33, 60],
            attention_mask: vec![1; 4],
            decoder_input_ids: vec![644, 21, 38],
            ..ForwardInput::default()
        };
        let [got, want] =
            [both.forward(&input).await.expect("runs"), other.forward(&input).await.expect("runs")];
        assert_close(&format!("on {device}"), &got.logits.data, &want.logits.data, TOLERANCE);
        let weights = &want.encoder_attentions[0].data;
        assert_close("uniform heads", weights, &vec![0.25; weights.len()], TOLERANCE);
        both.set_switches(&model, &Switches::default()).expect("fits");
        assert_eq!(both.muted(), [head]);
    }
}

#[test]
fn wrong_texts_are_refused() {
    for (text, message) in [
        ("residual", "\"residual\" is no switch"),
        ("encoder.2.skip=off", "is no switch; switches are [STACK.][LAYER.][BLOCK.]PART=VALUE"),
        ("2.residual=off", "is no switch"),
        ("encoder.2.positions=off", "is no switch"),
        ("encoder.99999999999999999999.norm=off", "is no switch"),
        ("encoder.2=off", "is no switch"),
        ("encoder.0.residual=no", "\"encoder.0.residual=no\": the value is off or on"),
        ("scale=-1", "the value is a number from 0 to 1000, off for 1, or on"),
        ("scale=nan", "the value is a number from 0 to 1000"),
        ("query=value", "the value is key or on"),
        ("decoder.self.head.3=off", "the value is mute, uniform or on"),
        ("encoder.2.self=window:8", "a kind of attention is chosen as such: --attention encoder.2=window:8"),
        ("norm=off,norm=on", "norm is switched twice"),
    ] {
        let error = text.parse::<Switches>().expect_err(text).to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
    assert!(" ".parse::<Switches>().expect("none").is_empty());
    let text = "encoder.*.residual=off,encoder.0.residual=on,decoder.2.cross.head.*=uniform";
    assert_eq!(switches(text).to_string(), text);
}

#[device_test]
async fn switches_that_do_not_fit_are_refused() {
    for (name, text, message) in [
        (
            "marian_tied",
            "encoder.2.norm=off",
            "encoder.2.norm=off: there is no such layer; the encoder has layers 0 to 1",
        ),
        ("marian_tied", "decoder.0.cross.head.4=mute", "there is no such head; the decoder has heads 0 to 3"),
        (
            "marian_tied",
            "encoder.0.cross=off",
            "the model has no such part; it has encoder.positions, encoder.LAYER.self,",
        ),
        ("marian_tied", "query=key,key=query", "query=key and key=query contradict each other"),
        (
            "marian_tied",
            "encoder.*.feed-forward=off,encoder.1.feed-forward.residual=off",
            "encoder.1.feed-forward.residual=off and encoder.*.feed-forward=off contradict each other",
        ),
        ("gpt2", "encoder.norm=off", "encoder.norm=off: the model has no encoder"),
        ("gpt2", "cross.scale=1", "the model has no such part"),
        ("bert", "decoder.0.residual=off", "the model has no decoder"),
        ("firefox", "decoder.0.self.scale=1", "the model has no such part"),
        ("firefox", "decoder.0.self.head.0=mute", "the model has no such part"),
        ("t5_relu_tied", "encoder.0.self.head.1=uniform", "switch encoder.positions=off, too"),
    ] {
        let model = open(name);
        let mut transformer = load(&Device::Cpu, &model);
        let error = transformer.set_switches(&model, &switches(text)).expect_err(text).to_string();
        assert!(error.contains(message), "{name}, {text}: {error}");
        assert!(transformer.switches().is_empty());
    }
    let (model, other) = (open("marian_tied"), open("bart"));
    let mut transformer = load(&Device::Cpu, &model);
    let error = transformer.set_switches(&other, &switches("norm=off")).expect_err("another").to_string();
    assert!(error.contains("is not the model that is loaded"), "{error}");
    transformer
        .set_attention(&"encoder.*=uniform".parse::<SelfAttentionChoice>().expect("sound"))
        .expect("has it");
    let error =
        transformer.set_switches(&model, &switches("encoder.0.scale=1")).expect_err("void").to_string();
    assert!(error.contains("contradict each other"), "{error}");
    // and in the other order
    transformer.set_attention(&SelfAttentionChoice::default()).expect("the model's own");
    for switch in ["encoder.0.scale=1", "encoder.1.self.head.2=uniform"] {
        transformer.set_switches(&model, &switches(switch)).expect("sound");
        let uniform = "encoder.*=uniform".parse().expect("sound");
        let error = transformer.set_attention(&uniform).expect_err("void").to_string();
        assert!(error.contains(&format!("the switch {switch} changes")), "{error}");
    }
}

#[test]
fn a_model_can_be_changed_after_a_generation_that_was_dropped() {
    let model = open("marian_tied");
    let mut transformer = load(&Device::Cpu, &model);
    let options = DecodeOptions { min_length: 50, max_length: 60, ..DecodeOptions::new(644, 0, 644) };
    // rows for a search on each of several cores
    let requests = vec![GenerateRequest::new(vec![5, 9, 17, 6, 0], options); 96];
    for switched in ["encoder.positions=off", "norm=off", "encoder.positions=off"] {
        let cancel = Cancel::with_turn(|| {
            let mut is_first = true;
            Box::pin(poll_fn(move |_| match std::mem::replace(&mut is_first, false) {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }))
        });
        let mut running =
            Box::pin(transformer.generate(&requests, GenerateOptions::default().cancel(&cancel)));
        assert!(running.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(running);
        transformer.set_switches(&model, &switches(switched)).expect("has these parts");
    }
}
