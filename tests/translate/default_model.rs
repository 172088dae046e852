//! The embedded model, its source in f16, and the model of the other direction: their stored translations, id by id; independence of a sentence from its batch; allocations of a
//! translation.
#![cfg(feature = "embedded-model")]

use crate::common::{assert_close, device_test, devices, gpu, gpu_as, read, repository};
use serde_json::Value;
use wordloom::decode::Hypothesis;
use wordloom::kernels::AdapterClass;
use wordloom::model::generation_config::GenerationConfig;
use wordloom::precision::{PrecisionChoice, WeightPrecision};
use wordloom::transformer::{GenerateOptions, GenerateRequest, Transformer, resolve};
use wordloom::{Device, Model, TranslateOptions, Translator};

/// The embedded model's stored translations.
fn cases() -> Vec<Value> {
    cases_of("models/tatoeba-en-de-q8")
}

fn cases_of(folder: &str) -> Vec<Value> {
    let text = read(&repository(folder).join("expected.json"));
    let json: Value = serde_json::from_slice(&text).expect("sound JSON");
    let cases = json["cases"].as_array().expect("cases");
    assert!(cases.len() >= 40);
    cases.clone()
}

fn ids(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).expect("token ids")
}

fn translator(device: &Device) -> Translator {
    Translator::new(device, &Model::embedded().expect("sound")).expect("loads")
}

async fn generate(
    transformer: &Transformer,
    sources: &[Vec<u32>],
    config: &GenerationConfig,
) -> Vec<Vec<Hypothesis>> {
    let requests: Vec<GenerateRequest> = sources
        .iter()
        .map(|source| GenerateRequest {
            input_ids: source.clone(),
            options: resolve(config, transformer.generation_config(), transformer.config(), source).unwrap(),
            global_tokens: Vec::new(),
        })
        .collect();
    let found = transformer.generate(&requests, GenerateOptions::default()).await.unwrap();
    found.into_iter().map(|found| found.hypotheses).collect()
}

fn with_beams(beams: usize) -> GenerationConfig {
    GenerationConfig { num_beams: Some(beams), ..GenerationConfig::default() }
}

#[device_test]
async fn every_stored_translation_is_found() {
    for device in devices().await {
        finds_all(&device, &Model::embedded().expect("sound"), PrecisionChoice::Auto, &cases()).await;
    }
}

/// As hardware takes it by default.
#[device_test]
async fn numbers_in_8_bits_give_the_same_on_a_gpu() {
    let (device, q8) = (Device::Gpu(gpu().await), PrecisionChoice::Is(WeightPrecision::Q8));
    finds_all(&device, &Model::embedded().expect("sound"), q8, &cases()).await;
}

#[device_test]
async fn every_stored_translation_of_other_models_is_found() {
    for folder in [
        "models/tatoeba-en-de",
        "models/tatoeba-de-en-q8",
        "models/tatoeba-en-fr-q8",
        "models/tatoeba-fr-en-q8",
    ] {
        let model = Model::load(repository(folder)).expect("sound");
        let cases = cases_of(folder);
        finds_all(&Device::Cpu, &model, PrecisionChoice::Auto, &cases).await;
        // in the shapes of the embedded model, of which a software adapter translates all
        let some: Vec<Value> = cases.into_iter().step_by(4).collect();
        finds_all(&Device::Gpu(gpu().await), &model, PrecisionChoice::Auto, &some).await;
    }
}

async fn finds_all(device: &Device, model: &Model, precision: PrecisionChoice, cases: &[Value]) {
    let sources: Vec<_> = cases.iter().map(|case| ids(&case["source_ids"])).collect();
    let transformer = &Transformer::load_with_weights(device, model, precision, &mut |_| {}).expect("loads");
    let tokenizer = model.tokenizer().expect("sound");
    let greedy = generate(transformer, &sources, &with_beams(1)).await;
    let beam = generate(transformer, &sources, &GenerationConfig::default()).await;
    for ((case, greedy), beam) in cases.iter().zip(greedy).zip(beam) {
        let place = format!("{} on {device}", case["source"]);
        let text = case["source"].as_str().unwrap();
        assert_eq!(tokenizer.encode(text).unwrap(), ids(&case["source_ids"]), "{place}");
        assert_eq!(greedy[0].tokens, ids(&case["greedy_ids"]), "greedy: {place}");
        assert_eq!(beam[0].tokens, ids(&case["beam_ids"]), "beam: {place}");
        let score = case["beam_score"].as_f64().unwrap() as f32;
        assert_close(&place, &[beam[0].score], &[score], (1e-3, 0.0));
        assert_eq!(tokenizer.decode(&beam[0].tokens, true).unwrap(), case["beam_text"]);
    }
}

/// A sentence gives the same ids alone and among 40 others. Scores may differ in the last bits, because on the CPU a library
/// multiplies many rows, and other code multiplies few.
#[device_test]
async fn a_sentence_does_not_depend_on_its_neighbours() {
    let sources: Vec<_> = cases().iter().map(|case| ids(&case["source_ids"])).collect();
    for device in devices().await {
        let translator = translator(&device);
        for beams in [1, 3] {
            let together = generate(translator.transformer(), &sources, &with_beams(beams)).await;
            for (source, expected) in sources.iter().zip(&together).step_by(8) {
                let alone =
                    generate(translator.transformer(), std::slice::from_ref(source), &with_beams(beams))
                        .await;
                assert_eq!(alone[0][0].tokens, expected[0].tokens, "{beams} beams on {device}");
                assert_close("score", &[alone[0][0].score], &[expected[0].score], (1e-4, 0.0));
            }
        }
    }
}

#[device_test]
async fn a_token_allocates_no_device_buffer() {
    let gpu = gpu().await;
    let translator = translator(&Device::Gpu(gpu.clone()));
    let source = [ids(&cases()[0]["source_ids"])];
    let of_length = |tokens| GenerationConfig {
        max_new_tokens: Some(tokens),
        min_new_tokens: Some(tokens),
        ..GenerationConfig::default()
    };
    let created = async |tokens| {
        let before = gpu.buffers_created();
        let hypotheses = generate(translator.transformer(), &source, &of_length(tokens)).await;
        assert_eq!(hypotheses[0][0].tokens.len(), tokens + 1);
        gpu.buffers_created() - before
    };
    let first = created(20).await; // the session's own buffers
    assert!(first > 0);
    assert_eq!(created(20).await, 0, "a session of the same shape is used again");
    assert_eq!(created(30).await, 0, "more tokens within its capacity need nothing more");

    // a repeated text of some sentences, as while a user types, with a capacity for any length
    let some = &vec![ids(&cases()[0]["source_ids"]); 12][..];
    let again = async || {
        let before = gpu.buffers_created();
        generate(translator.transformer(), some, &with_beams(4)).await;
        gpu.buffers_created() - before
    };
    let own = gpu.bytes_in_use();
    assert!(again().await > 0 && again().await == 0, "the newest session is kept");
    let with_newest = gpu.bytes_in_use();
    assert!(with_newest - own > 32 << 20, "{with_newest} bytes, {own} before: so large that it goes first");
    generate(translator.transformer(), &some[..1], &with_beams(4)).await;
    assert!(gpu.bytes_in_use() < with_newest - (16 << 20), "it makes room for the next");
}

/// Launches of a step, as in docs/performance.md: some for each of the three layers, one for the embedding, one or two for the
/// logits, and the search's own.
#[device_test]
async fn a_step_takes_as_many_launches_as_it_should() {
    let source = [ids(&cases()[0]["source_ids"])];
    for (class, layer, output, searches) in
        [(AdapterClass::Software, 11, 1, [(1, 2), (4, 5)]), (AdapterClass::Hardware, 8, 2, [(1, 1), (4, 3)])]
    {
        let device = gpu_as(class).await;
        let Device::Gpu(gpu) = &device else { unreachable!("a GPU was asked for") };
        let translator = translator(&device);
        for (beams, search) in searches {
            let launches = async |tokens| {
                let before = gpu.counters();
                let of_length = GenerationConfig {
                    max_new_tokens: Some(tokens),
                    min_new_tokens: Some(tokens),
                    ..with_beams(beams)
                };
                generate(translator.transformer(), &source, &of_length).await;
                gpu.counters().since(before).dispatches
            };
            // both numbers are whole submits, for any number of steps in a submit
            let steps = launches(48).await - launches(16).await;
            assert_eq!(steps, 32 * (1 + 3 * layer + output + search), "{beams} beams, {class:?}");
        }
    }
}

#[device_test]
async fn lines_and_spaces_are_kept() {
    let translator = translator(&Device::Cpu);
    let translate = async |text: &str| {
        translator.translate(text, &TranslateOptions::default().beams(1)).await.expect("translates").text
    };
    assert_eq!(translate("").await, "");
    assert_eq!(translate(" \t ").await, " \t ");
    assert_eq!(translate("\n\n").await, "\n\n");
    let (hello, thanks) = (translate("Hello!").await, translate("Thank you very much.").await);
    assert_eq!(
        translate("  Hello!  Thank you very much.\r\n\r\nHello!\n").await,
        format!("  {hello}  {thanks}\r\n\r\n{hello}\n")
    );
}

#[device_test]
async fn n_best_comes_best_first() {
    let translator = translator(&Device::Cpu);
    let options = TranslateOptions::default().beams(6).n_best(4);
    let translation = translator.translate("I am learning German.", &options).await.expect("translates");
    let scores: Vec<f32> = translation.hypotheses.iter().map(|hypothesis| hypothesis.score).collect();
    assert_eq!(scores.len(), 4);
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert_eq!(translation.hypotheses[0].text, translation.text);
}

/// A sentence of 600 words is cut into parts that fit the model, without loss.
#[device_test]
async fn long_sentences_are_cut_not_truncated() {
    let translator = translator(&Device::Cpu);
    let text = "the cat is sleeping on the sofa, and ".repeat(75);
    let options = TranslateOptions::default().beams(1);
    let translation = translator.translate(&text, &options).await.expect("translates");
    assert!(translation.sentences.len() > 5);
    let sources: Vec<&str> = translation.sentences.iter().map(|sentence| sentence.source.as_str()).collect();
    assert_eq!(sources.join(" "), text.trim_end());
}
