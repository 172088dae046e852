//! Results that are promised to be the same to the last bit; docs/reliability.md lists all such promises.
#![cfg(all(feature = "embedded-model", not(target_arch = "wasm32")))]

use crate::common::gpu;
use wordloom::precision::PrecisionChoice;
use wordloom::transformer::{ForwardInput, ForwardSelection, Transformer};
use wordloom::{Device, Model, TranslateOptions, Translator, WeightPrecision};

/// Logits of more rows than any tile of the CPU's kernels has, as bits.
fn logits(transformer: &Transformer) -> Vec<u32> {
    let (batch, source_length, target_length) = (2, 30, 25);
    let ids = |count: usize, step: usize| (0..count).map(|at| 5 + (at * step % 3000) as u32).collect();
    let input = ForwardInput {
        batch,
        source_length,
        target_length,
        input_ids: ids(batch * source_length, 37),
        attention_mask: vec![1; batch * source_length],
        decoder_input_ids: ids(batch * target_length, 53),
        ..ForwardInput::default()
    };
    let selection = ForwardSelection { logits: true, ..ForwardSelection::default() };
    let output = pollster::block_on(transformer.forward_selected(&input, &selection)).expect("runs");
    output.logits.data.iter().map(|value| value.to_bits()).collect()
}

const CHOICES: [PrecisionChoice; 4] = [
    PrecisionChoice::Is(WeightPrecision::F32),
    PrecisionChoice::Is(WeightPrecision::F16),
    PrecisionChoice::Is(WeightPrecision::Q8),
    PrecisionChoice::W8A8,
];

/// Translations of many sentences in one batch, with their scores as bits.
fn translations(translator: &Translator) -> Vec<(String, u32)> {
    let texts: Vec<String> = (0..26).map(|number| format!("I have {number} books in my room.")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let options = TranslateOptions::default().beams(2).max_length(6);
    let found = pollster::block_on(translator.translate(&texts, &options)).expect("translates");
    found.into_iter().map(|found| (found.text, found.hypotheses[0].score.to_bits())).collect()
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let model = Model::embedded().expect("sound");
    for choice in CHOICES {
        let load =
            || Transformer::load_with_weights(&Device::Cpu, &model, choice, &mut |_| {}).expect("loads");
        let transformer = load();
        let translator = Translator::from_parts(load(), model.tokenizer().expect("a tokenizer"));
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| (logits(&transformer), translations(&translator)))
        };
        let want = on(1);
        for threads in [2, 5] {
            let got = on(threads);
            assert!(got.0 == want.0, "logits of {threads} threads in {choice}");
            assert_eq!(got.1, want.1, "{threads} threads in {choice}");
        }
    }
}

/// Searches side by side take sentences as they come, so nothing may depend on a sentence's neighbours or its padding.
#[test]
fn a_sentence_has_the_same_bits_alone_and_among_others_on_the_cpu() {
    let model = Model::embedded().expect("sound");
    let texts: Vec<String> =
        (0..70).map(|number| format!("I have {number} books{}.", " and a cat".repeat(number % 9))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let options = TranslateOptions::default().beams(2).max_length(12);
    for choice in CHOICES {
        let transformer = Transformer::load_with_weights(&Device::Cpu, &model, choice, &mut |_| {});
        let transformer = transformer.expect("loads");
        let translator = Translator::from_parts(transformer, model.tokenizer().expect("a tokenizer"));
        let translate = |texts: &[&str]| {
            let found = pollster::block_on(translator.translate(texts, &options)).expect("translates");
            let found = found.into_iter().map(|found| (found.text, found.hypotheses[0].score.to_bits()));
            found.collect::<Vec<_>>()
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
        let together = pool.install(|| translate(&texts));
        for (text, together) in texts.iter().zip(together) {
            assert_eq!(translate(&[text]), [together], "{text} in {choice}");
        }
    }
}

/// A second run, and a run on the device that another load opens, give the bits of the first.
#[pollster::test]
async fn a_run_again_has_the_same_bits() {
    let model = Model::embedded().expect("sound");
    for device in [Device::Cpu, Device::Gpu(gpu().await)] {
        let load = |device: &Device| Transformer::load(device, &model, &mut |_| {}).expect("loads");
        let transformer = load(&device);
        let want = logits(&transformer);
        assert!(logits(&transformer) == want, "again on {device}");
        let device = match device {
            Device::Cpu => Device::Cpu,
            Device::Gpu(_) => Device::Gpu(gpu().await),
        };
        assert!(logits(&load(&device)) == want, "loaded again on {device}");
    }
}
