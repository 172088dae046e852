//! Traces: their attention against Hugging Face's, on the CPU and on the GPU; statistics and alignments against numbers worked
//! out by hand; valid and damaged files.

use crate::common::{Tensors, assert_close, data, devices, edited, gpu_as, gpu_with_buffers_of, model};
use wordloom::decode::{Fate, Hypothesis};
use wordloom::heatmap::{ColourMap, Painter, Scale, View};
use wordloom::kernels::AdapterClass;
use wordloom::model::generation_config::GenerationConfig;
use wordloom::precision::{PrecisionChoice, WeightPrecision};
use wordloom::trace::alignment::{Alignment, link};
use wordloom::trace::spectrum::Spectrum;
use wordloom::trace::statistics::{Label, Numbers};
use wordloom::trace::{
    AttentionKind, Depth, KeptAttention, LayerAttention, LeftOut, Map, Stack, TargetToken, Token, Trace,
    TraceError, TraceFileError, TraceOptions, TraceRequest, TracedSentence, attend, record,
};
use wordloom::transformer::{
    Cancel, ForwardInput, ForwardSelection, GenerateError, GenerateOptions, GenerateRequest, Generation,
    Keep, KeepAttention, MuteError, Transformer,
};
use wordloom::translate::Sentence;
use wordloom::{TranslateError, TranslateOptions, Translation, Translator, resolve};

const TOLERANCE: (f32, f32) = (1e-4, 1e-4);

/// Options that trace everything within `memory` bytes.
fn options(memory: u64, alternatives: usize) -> TraceOptions {
    TraceOptions { memory, alternatives, ..TraceOptions::default() }
}

fn all(alternatives: usize) -> TraceOptions {
    options(256 << 20, alternatives)
}

/// The attention of a given target.
async fn attend_one(
    transformer: &Transformer,
    request: &TraceRequest,
    options: &TraceOptions,
) -> KeptAttention {
    let kept = attend(transformer, std::slice::from_ref(request), options, &Cancel::default()).await;
    kept.expect("fits").remove(0)
}

/// What is generated, and its attention.
async fn generate_attended(
    transformer: &Transformer,
    requests: &[GenerateRequest],
    options: &TraceOptions,
) -> (Vec<Vec<Hypothesis>>, Vec<KeptAttention>) {
    let keep = Keep { attention: Some(options.keep_attention()), ..Keep::default() };
    let found = transformer.generate(requests, GenerateOptions::default().keep(keep)).await;
    let found = found.expect("generates").into_iter();
    found.map(|found| (found.hypotheses, found.attention.expect("is kept"))).unzip()
}

/// A translation with its attention, of which `stable` was shown last.
async fn translate_attended(
    translator: &Translator,
    text: &str,
    options: &TranslateOptions,
    kept: &TraceOptions,
    stable: &mut String,
) -> Result<Translation, TranslateError> {
    let options = options.clone().keep_attention(kept.keep_attention());
    let mut translations = Vec::new();
    let mut stream = translator.stream(text, &options)?;
    while let Some(update) = stream.next().await? {
        *stable = stream.text().0;
        translations.extend(update.translations);
    }
    Ok(translations.remove(0))
}

fn attention_of(translation: &Translation) -> Vec<KeptAttention> {
    let kept = translation.sentences.iter().map(|sentence| sentence.attention.clone());
    kept.map(|attention| attention.expect("is kept")).collect()
}

/// Every sentence of the fixtures' padded batch, alone and without padding: attention, and probabilities of its tokens.
#[pollster::test]
async fn attention_equals_hugging_face_s() {
    for device in devices().await {
        for (name, input) in [
            ("marian_tied", "main"),
            ("marian_f16", "main"),
            ("bart", "main"),
            ("mbart", "main"),
            ("m2m_100", "main"),
            ("pegasus", "main"),
            // attends in full to so few blocks
            ("bigbird_pegasus", "short"),
            ("t5_relu_tied", "main"),
            ("vanilla_preln", "main"),
        ] {
            let folder = data("models").join(name);
            let transformer = Transformer::load(&device, &model(&folder), &mut |_| {}).expect("is sound");
            let tensors = Tensors::open(&folder.join("expected.safetensors"));
            check_batch(&transformer, &tensors, input, &format!("{name} on {device}")).await;
        }
    }
}

async fn check_batch(transformer: &Transformer, tensors: &Tensors, input: &str, place: &str) {
    let [ids, mask, decoder] = ["input_ids", "attention_mask", "decoder_input_ids"]
        .map(|name| tensors.u32(&format!("{input}.{name}")));
    let shape = tensors.shape(&format!("{input}.input_ids"));
    let (batch, source) = (shape[0], shape[1]);
    let target = decoder.len() / batch;
    let requests: Vec<TraceRequest> = (0..batch)
        .map(|row| {
            let real = (0..source).filter(|column| mask[row * source + column] == 1);
            let last = decoder[row * target + target - 1]; // there is no token after the last
            TraceRequest {
                input_ids: real.map(|column| ids[row * source + column]).collect(),
                target_ids: [&decoder[row * target..][..target], &[last]].concat(),
                prompt: 1,
            }
        })
        .collect();
    let recordings = record(transformer, &requests, &all(3), &Cancel::default()).await.expect("fits");
    let logits = tensors.f32(&format!("{input}.logits"));
    let vocabulary = transformer.config().target_vocabulary;
    for (row, (recording, request)) in recordings.iter().zip(&requests).enumerate() {
        assert!(recording.left_out.is_empty(), "{place}");
        let (encoder, decoder) = (transformer.config().encoder.layers, transformer.config().decoder.layers);
        assert_eq!(recording.attention.len(), encoder + 2 * decoder, "{place}");
        for layer in &recording.attention {
            let name = match layer.kind {
                AttentionKind::Encoder => "encoder_attentions",
                AttentionKind::Decoder => "decoder_attentions",
                AttentionKind::Cross => "cross_attentions",
            };
            let name = format!("{input}.{name}.{}", layer.layer);
            let ([_, heads, queries, keys], whole) =
                (<[usize; 4]>::try_from(tensors.shape(&name)).unwrap(), tensors.f32(&name));
            let mut expected = Vec::new();
            for head in 0..heads {
                for query in 0..layer.queries {
                    let first = ((row * heads + head) * queries + query) * keys;
                    expected.extend_from_slice(&whole[first..first + layer.keys]);
                }
            }
            let place = format!("{place}: sentence {row}, {name}");
            assert_close(&place, &layer.weights, &expected, TOLERANCE);
        }
        // against the stored logits, in float64
        for (step, (&got, best)) in
            recording.log_probabilities.iter().zip(&recording.alternatives).enumerate()
        {
            let row: Vec<f64> = logits[(row * target + step) * vocabulary..][..vocabulary]
                .iter()
                .map(|&x| f64::from(x))
                .collect();
            let sum = row.iter().map(|x| x.exp()).sum::<f64>().ln();
            let log_probability = |id: u32| row[id as usize] - sum;
            let chosen = log_probability(request.target_ids[step + 1]);
            assert!(
                (f64::from(got) - chosen).abs() < 1e-4 * (1.0 + chosen.abs()),
                "{place}: {got}, not {chosen}"
            );
            assert_eq!(best.len(), 3);
            assert!(best.windows(2).all(|pair| pair[0].1 >= pair[1].1), "{place}");
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max) - sum;
            assert!((f64::from(best[0].1) - largest).abs() < 1e-4 * (1.0 + largest.abs()), "{place}");
        }
    }
}

#[pollster::test]
async fn memory_decides_what_is_kept_and_the_rest_is_listed() {
    let folder = data("models/marian_tied");
    let transformer =
        Transformer::load(&wordloom::Device::Cpu, &model(&folder), &mut |_| {}).expect("is sound");
    let request = TraceRequest { input_ids: vec![5, 6, 7, 0], target_ids: vec![644, 8, 9, 0], prompt: 1 };
    let config = transformer.config();
    let (encoder, decoder, heads) =
        (config.encoder.layers, config.decoder.layers, config.decoder.heads as u64);
    // one layer of cross-attention has 3 x 4 weights per head
    let one = 4 * heads * 12;
    for (memory, kept) in [(0, 0), (one - 1, 0), (one, 1), (decoder as u64 * one, decoder)] {
        let one = std::slice::from_ref(&request);
        let recordings = record(&transformer, one, &options(memory, 2), &Cancel::default()).await.unwrap();
        let [recording] = &recordings[..] else { panic!("one request") };
        let all: Vec<_> = recording.attention.iter().map(|layer| (layer.kind, layer.layer)).collect();
        // the decoder's self-attention has 3 x 3 weights per head, so it may fit when cross-attention does not
        let cross: Vec<usize> =
            all.iter().filter(|(kind, _)| *kind == AttentionKind::Cross).map(|&(_, layer)| layer).collect();
        assert_eq!(cross, (decoder - kept..decoder).collect::<Vec<_>>(), "the last layers");
        assert_eq!(all.len() + recording.left_out.len(), encoder + 2 * decoder);
        assert!(recording.left_out.iter().all(|left_out| left_out.bytes > 0 && !left_out.reason.is_empty()));
        let bytes: usize = recording.attention.iter().map(|layer| 4 * layer.weights.len()).sum();
        assert!(bytes as u64 <= memory);
    }
    // a kind that was not requested is not reported as left out
    let cross = TraceOptions { kinds: vec![AttentionKind::Cross], scores: false, ..all(5) };
    let recordings =
        record(&transformer, std::slice::from_ref(&request), &cross, &Cancel::default()).await.unwrap();
    assert_eq!(recordings[0].attention.len(), decoder);
    assert!(recordings[0].left_out.is_empty() && recordings[0].log_probabilities.is_empty());
    let cancel = Cancel::default();
    cancel.cancel();
    let error = record(&transformer, std::slice::from_ref(&request), &all(0), &cancel).await.unwrap_err();
    assert!(matches!(error, TraceError::Cancelled));
    let nothing = [TraceRequest { input_ids: vec![0], target_ids: vec![644], prompt: 1 }];
    let error = record(&transformer, &nothing, &all(0), &Cancel::default()).await.unwrap_err();
    assert!(matches!(error, TraceError::NoTarget { tokens: 1, prompt: 1 }));
}

#[cfg(feature = "embedded-model")]
#[pollster::test]
async fn a_text_becomes_sentences_with_their_tokens() {
    let translator =
        Translator::new(&wordloom::Device::Cpu, &wordloom::Model::embedded().unwrap()).expect("is sound");
    let options = TranslateOptions::default();
    let text = "Where is the train station?  I like 🎉 a lot.\n";
    let translation = translator.translate(text, &options).await.unwrap();
    let trace = Trace::of(&translator, text, &translation, &options, &TraceOptions::default()).await.unwrap();
    assert_eq!(trace.sentences.len(), 2);
    for (traced, sentence) in trace.sentences.iter().zip(&translation.sentences) {
        assert_eq!(text[traced.offset..][..traced.source.len()], sentence.source);
        assert_eq!(traced.target, sentence.hypotheses[0].text);
        let ids: Vec<u32> = traced.source_tokens.iter().map(|token| token.id).collect();
        assert_eq!(ids, sentence.source_ids);
        assert!(traced.target_tokens[0].log_probability.is_none() && traced.prompt == 1);
        // the search's tokens have the search's probabilities
        for (token, &expected) in
            traced.target_tokens[1..].iter().zip(&sentence.hypotheses[0].search.step_logprobs)
        {
            let got = token.log_probability.unwrap();
            assert!((got - expected).abs() < 2e-3, "{got} {expected}");
            assert_eq!(token.alternatives.len(), 5);
        }
        for layer in &traced.attention {
            assert_eq!(traced.query_labels(layer.kind).len(), layer.queries);
            assert_eq!(traced.key_labels(layer.kind).len(), layer.keys);
            for row in layer.weights.chunks_exact(layer.keys) {
                assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-4);
            }
        }
    }
    let labels = trace.sentences[0].key_labels(AttentionKind::Cross);
    assert_eq!(labels.concat().replace('·', ""), "Whereisthetrainstation?</s>");
    assert!(trace.sentences[1].key_labels(AttentionKind::Cross).contains(&"🎉".to_owned()));
    assert_eq!(trace.sentences[0].alignment().pharaoh(), "0-0 1-1 2-2 3-3");

    let kept = TraceOptions::default();
    let pair = Trace::of_pair(&translator, "Where is it?", " Wo ist es? ", &options, &kept).await.unwrap();
    assert_eq!((pair.sentences.len(), &*pair.sentences[0].target), (1, "Wo ist es?"));
    assert!(pair.sentences[0].target_tokens.last().unwrap().token.special);
}

// ---- statistics, by hand

fn keys(pieces: &[&str]) -> Vec<Token> {
    let token = |(id, piece): (u32, &&str)| Token {
        id,
        piece: (*piece).to_owned(),
        special: *piece == "</s>",
        range: None,
    };
    (10..).zip(pieces).map(token).collect()
}

fn numbers(kind: AttentionKind, weights: &[f32], keys: &[Token]) -> Numbers {
    let map = Map { queries: weights.len() / keys.len(), keys: keys.len(), weights };
    Numbers::of(kind, map, &keys.iter().collect::<Vec<_>>())
}

fn near(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-6, "{got}, not {expected}");
}

#[test]
fn a_uniform_head_is_broad() {
    let keys = keys(&["▁a", "▁b", ".", "</s>"]);
    let uniform = numbers(AttentionKind::Encoder, &[0.25; 16], &keys);
    near(uniform.entropy, 4_f64.ln());
    near(uniform.relative_entropy, 1.0);
    near(uniform.confidence, 0.25);
    // |i - j| over 4 x 4 is 20, and each weight is a quarter: 20 / 4 / 4 rows
    near(uniform.distance, 1.25);
    for mass in
        [uniform.diagonal, uniform.previous, uniform.next, uniform.special, uniform.punctuation, uniform.rare]
    {
        near(mass, 0.25);
    }
    assert_eq!((uniform.components, uniform.full_rank, uniform.queries), (1, 4, 4));
    assert_eq!(uniform.label(AttentionKind::Encoder), Label::Broad);
}

#[test]
fn positional_heads_are_named() {
    let keys = keys(&["▁a", "▁b", "▁c", "</s>"]);
    let shifted = |shift: isize| {
        let at = |i: usize| (i as isize + shift).clamp(0, 3) as usize;
        (0..16).map(|i| f32::from(u8::from(i % 4 == at(i / 4)))).collect::<Vec<f32>>()
    };
    let diagonal = numbers(AttentionKind::Encoder, &shifted(0), &keys);
    near(diagonal.entropy, 0.0);
    near(diagonal.diagonal, 1.0);
    near(diagonal.distance, 0.0);
    near(diagonal.confidence, 1.0);
    assert_eq!((diagonal.components, diagonal.label(AttentionKind::Encoder)), (4, Label::Diagonal));
    let previous = numbers(AttentionKind::Encoder, &shifted(-1), &keys);
    near(previous.previous, 1.0); // the mean over the three rows with a previous key
    near(previous.diagonal, 0.25);
    near(previous.distance, 0.75);
    // two rows are equal: the squares of the singular values are 2, 1, 1 of 4, and three are needed for 90 %
    assert_eq!((previous.components, previous.label(AttentionKind::Encoder)), (3, Label::PreviousToken));
    near(previous.spectrum[0], 0.5);
    near(previous.spectrum[2], 1.0);
    let next = numbers(AttentionKind::Encoder, &shifted(1), &keys);
    assert_eq!((next.components, next.label(AttentionKind::Encoder)), (3, Label::NextToken));
    assert_eq!(next.label(AttentionKind::Encoder).to_string(), "positional: next token");
    // the positions of two queries over four keys are 0 and 3
    let cross = numbers(AttentionKind::Cross, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], &keys);
    near(cross.diagonal, 1.0);
    near(cross.distance, 0.0);
}

#[test]
fn sinks_and_rare_words_are_named() {
    let keys = keys(&["▁a", "▁rare", ".", "</s>"]);
    let column = |column: usize| (0..16).map(|i| f32::from(u8::from(i % 4 == column))).collect::<Vec<f32>>();
    let labels = [(3, Label::EndSink), (2, Label::PunctuationSink), (1, Label::RareWord)];
    for (place, label) in labels {
        let numbers = numbers(AttentionKind::Encoder, &column(place), &keys);
        assert_eq!((numbers.components, numbers.label(AttentionKind::Encoder)), (1, label));
        near(numbers.confidence, 1.0);
    }
    // one key after the other, without a pattern
    let scattered = [0., 0., 0.9, 0.1, 0.9, 0.1, 0., 0., 0.9, 0.1, 0., 0., 0., 0.9, 0., 0.1];
    assert_eq!(
        numbers(AttentionKind::Encoder, &scattered, &keys).label(AttentionKind::Encoder),
        Label::Focused
    );
}

#[test]
fn a_decoder_s_rows_see_what_came_before() {
    let keys = keys(&["<s>", "▁a", "▁b"]);
    let third = 1.0 / 3.0;
    let causal = [1.0, 0.0, 0.0, 0.5, 0.5, 0.0, third, third, third];
    let numbers = numbers(AttentionKind::Decoder, &causal, &keys);
    assert_eq!((numbers.queries, numbers.maps), (2, 1)); // the first row has a single key
    // NumPy: the singular values are 1.222, 0.523 and 0.261
    assert_eq!((numbers.components, numbers.full_rank), (2, 3));
    near(numbers.relative_entropy, 1.0);
    near(numbers.entropy, f64::midpoint(2_f64.ln(), 3_f64.ln()));
    near(numbers.diagonal, (0.5 + 1.0 / 3.0) / 2.0);
    near(numbers.next, 0.0); // the next key is masked
    assert_eq!(numbers.label(AttentionKind::Decoder), Label::Broad);
    let start = [1., 0., 0., 1., 0., 0., 1., 0., 0.];
    let keys = self::keys(&["</s>", "▁a", "▁b"]);
    let numbers = self::numbers(AttentionKind::Decoder, &start, &keys);
    assert_eq!(numbers.label(AttentionKind::Decoder), Label::StartSink);
}

#[test]
fn components_are_those_of_known_matrices() {
    let of = |queries: usize, keys: usize, weights: &[f32]| Spectrum::of(Map { queries, keys, weights });
    // diagonal: the singular values are known, and 16 + 4 of 21 are more than 90 %
    let diagonal = of(3, 3, &[0.0, 4.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0]);
    assert_eq!(diagonal.values.len(), 3);
    diagonal.values.iter().zip([4.0, 2.0, 1.0]).for_each(|(&value, known)| near(value, known));
    assert_eq!((diagonal.components_for_most(), diagonal.components(0.99)), (2, 3));
    near(diagonal.cumulative()[0], 16.0 / 21.0);
    near(diagonal.cumulative_values()[1], 6.0 / 7.0);
    // a small difference makes the numerical rank full, but no component
    let nearly = of(3, 3, &[0.4, 0.3, 0.3, 0.3, 0.4, 0.3, 0.3, 0.3, 0.4]);
    assert_eq!(
        (nearly.components_for_most(), nearly.values.iter().filter(|value| **value > 0.01).count()),
        (1, 3)
    );
    assert_eq!(of(0, 3, &[]).components_for_most(), 0);
}

// ---- alignment

/// Kept alignments are those of a trace of the same search, whatever else is kept, and change no translation.
#[cfg(feature = "embedded-model")]
#[pollster::test]
async fn a_translation_keeps_its_alignments() {
    for device in devices().await {
        let model = wordloom::Model::embedded().unwrap();
        let translator = Translator::new(&device, &model).expect("is sound");
        let texts = ["Where is the train station?  I like 🎉 a lot.\n", "", "Good morning! Good morning!"];
        for beams in [1, 4] {
            let plain = TranslateOptions::default().beams(beams);
            let aligned = plain.clone().keep_alignments();
            let trace = TraceOptions { scores: false, ..TraceOptions::default() };
            let both = aligned.clone().keep_attention(trace.keep_attention());
            let expected = translator.translate(&texts[..], &plain).await.unwrap();
            let alone = translator.translate(&texts[..], &aligned).await.unwrap();
            let found = translator.translate(&texts[..], &both).await.unwrap();
            for (((text, expected), alone), found) in texts.iter().zip(&expected).zip(&alone).zip(&found) {
                assert_eq!([&alone.text, &found.text], [&expected.text; 2]);
                let traced = Trace::of_search(&translator, text, found, &both, &trace).unwrap();
                let kept: Vec<_> = found.sentences.iter().filter_map(|one| one.attention.clone()).collect();
                let traced = traced.with_weights(&kept).await.unwrap();
                assert_eq!(traced.sentences.len(), found.sentences.len());
                for (index, traced) in traced.sentences.iter().enumerate() {
                    let [plain, alone, found] =
                        [expected, alone, found].map(|translation| &translation.sentences[index]);
                    assert!(plain.alignment.is_none() && alone.attention.is_none());
                    assert_eq!(alone.alignment, found.alignment);
                    let alignment = alone.alignment.as_ref().unwrap();
                    assert_eq!(alignment.words, traced.alignment());
                    assert_eq!(alignment.source_tokens, traced.source_tokens);
                    let produced = traced.target_tokens[1..].iter().map(|target| &target.token);
                    assert!(produced.eq(&alignment.target_tokens));
                    let layer =
                        alignment.words.layer.and_then(|layer| traced.layer(AttentionKind::Cross, layer));
                    assert_eq!(alignment.masses, layer.unwrap().mean());
                }
            }
            assert_eq!(alone[0].sentences[0].alignment.as_ref().unwrap().words.pharaoh(), "0-0 1-1 2-2 3-3");
        }
        let mut without_memory = TranslateOptions::default().keep_alignments();
        without_memory.keep.attention = Some(KeepAttention { memory: 0, ..KeepAttention::default() });
        let found = translator.translate(texts[0], &without_memory).await.unwrap();
        let alignment = found.sentences[0].alignment.as_ref().unwrap();
        assert_eq!((&alignment.words, alignment.masses.len()), (&Alignment::default(), 0));
    }
}

#[test]
fn words_are_linked_to_their_best() {
    // target words as rows, source words as columns
    assert_eq!(link(&[0.9, 0.1, 0.2, 0.8], 2), [(0, 0), (1, 1)]);
    // a source word that is no target word's best is linked to its own best, if that has at least half
    assert_eq!(link(&[0.5, 0.4], 2), [(0, 0), (1, 0)]);
    assert_eq!(link(&[0.7, 0.2], 2), [(0, 0)]);
    // ties link both, and words without mass have no link
    assert_eq!(link(&[0.5, 0.5, 0.0], 3), [(0, 0), (1, 0)]);
    assert_eq!(link(&[0.5, 0.5], 1), [(0, 0), (0, 1)]);
    assert_eq!(link(&[0.0, 0.0], 2), []);
    assert_eq!(link(&[], 0), []);
}

/// `b a` for `a b`, in pieces.
fn crossing() -> TracedSentence {
    let token = |id, piece: &str, range| Token { id, piece: piece.into(), special: false, range };
    let end = || Token { id: 0, piece: "</s>".into(), special: true, range: None };
    let target = |token| TargetToken { token, log_probability: Some(-0.5), alternatives: Vec::new() };
    TracedSentence {
        source: "one twofold".into(),
        target: "zweifach eins".into(),
        source_tokens: vec![
            token(3, "▁one", Some([0, 3])),
            token(4, "▁two", Some([4, 7])),
            token(5, "fold", Some([7, 11])),
            end(),
        ],
        target_tokens: vec![
            TargetToken { token: end(), ..TargetToken::default() },
            target(token(6, "▁zwei", Some([0, 4]))),
            target(token(7, "fach", Some([4, 8]))),
            target(token(8, "▁eins", Some([9, 13]))),
            target(end()),
        ],
        prompt: 1,
        attention: vec![
            LayerAttention {
                kind: AttentionKind::Cross,
                layer: 0,
                heads: 1,
                queries: 4,
                keys: 4,
                weights: vec![0.25; 16],
                bands: None,
            },
            LayerAttention {
                kind: AttentionKind::Cross,
                layer: 1,
                heads: 2,
                queries: 4,
                keys: 4,
                weights: [
                    [0.0, 0.8, 0.1, 0.1, 0.1, 0.1, 0.7, 0.1, 0.6, 0.1, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0],
                    [0.0, 0.6, 0.3, 0.1, 0.1, 0.3, 0.5, 0.1, 0.6, 0.1, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0],
                ]
                .concat(),
                bands: None,
            },
        ],
        left_out: vec![LeftOut {
            attention: Some((AttentionKind::Encoder, 0)),
            bytes: 64,
            reason: "a test".into(),
        }],
        ..TracedSentence::default()
    }
}

#[test]
fn pieces_become_words() {
    let alignment = crossing().alignment();
    assert_eq!(alignment, Alignment { links: vec![(0, 1), (1, 0)], layer: Some(1) });
    assert_eq!(alignment.pharaoh(), "0-1 1-0");
    let labels = crossing().query_labels(AttentionKind::Cross);
    assert_eq!(labels, ["zwei", "·fach", "eins", "</s>"]);
    let nothing = TracedSentence { attention: Vec::new(), ..crossing() };
    assert_eq!(nothing.alignment(), Alignment::default());
}

// ---- files

fn sound() -> Trace {
    let mut hostile = crossing();
    hostile.source = "</script><img src=x onerror=alert(1)>".into();
    hostile.source_tokens[0].piece = "\u{0}\u{1b}[31m\"<&>'\u{202e}".into();
    Trace { model: "a model".into(), sentences: vec![crossing(), hostile, crossing()], anatomy: None }
}

#[test]
fn files_come_back_as_they_were() {
    let trace = sound();
    let (json, tensors) = (trace.to_json().unwrap(), trace.to_safetensors().unwrap());
    assert_eq!(Trace::from_bytes(json.as_bytes()).unwrap(), trace);
    assert_eq!(Trace::from_bytes(&tensors).unwrap(), trace);
    let pretty =
        serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(&json).unwrap()).unwrap();
    assert_eq!(Trace::from_bytes(format!("\n  {pretty}\n").as_bytes()).unwrap(), trace);
    let file = safetensors::SafeTensors::deserialize(&tensors).unwrap();
    assert_eq!(file.tensor("2.cross.1").unwrap().shape(), [2, 4, 4]);
}

/// A valid file with one value changed.
fn changed(change: impl FnOnce(&mut serde_json::Value)) -> Result<Trace, TraceFileError> {
    let mut json = serde_json::from_str(&sound().to_json().unwrap()).unwrap();
    change(&mut json);
    Trace::from_bytes(json.to_string().as_bytes())
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    use serde_json::json;
    let check = |result: Result<Trace, TraceFileError>, part: &str| {
        let error = result.expect_err(part).to_string();
        assert!(error.contains(part), "{part:?} is not in: {error}");
    };
    check(Trace::from_bytes(b""), "is not a trace");
    check(Trace::from_bytes(b"{}"), "\"format\" is \"\"");
    check(Trace::from_bytes(b"[1]"), "is not a trace");
    check(changed(|json| json["format"] = json!("else")), "\"else\"");
    check(changed(|json| json["version"] = json!(4)), "version 4");
    check(changed(|json| json["version"] = json!(-1)), "is not a trace");
    let other =
        safetensors::serialize(Vec::<(&str, safetensors::tensor::TensorView<'_>)>::new(), None).unwrap();
    check(Trace::from_bytes(&other), "no \"wordloom.trace\"");
    type Change = fn(&mut serde_json::Value);
    let cases: [(Change, &str); 14] = [
        (|sentence| sentence["prompt"] = json!(0), "a prompt of 0"),
        (|sentence| sentence["prompt"] = json!(5), "a prompt of 5"),
        (|sentence| sentence["source_tokens"] = json!([]), "0 and 5 tokens"),
        (|sentence| sentence["source_tokens"][0]["range"] = json!([0, 99]), "0 to 99"),
        (|sentence| sentence["source_tokens"][0]["range"] = json!([3, 0]), "3 to 0"),
        (|sentence| sentence["target_tokens"][1]["log_probability"] = json!(1.5), "above 0"),
        (|sentence| sentence["target_tokens"][1]["log_probability"] = json!(-1e300), "no number"),
        (
            |sentence| {
                let tree = json!({"beams": 1, "length_penalty": 1e300, "nodes": []});
                sentence["search"] = json!({"tree": tree, "pieces": {}});
            },
            "no numbers",
        ),
        (|sentence| sentence["attention"][0]["shape"] = json!([2, 4, 4]), "[2, 4, 4]"),
        (|sentence| sentence["attention"][0]["shape"] = json!([u64::MAX, 4, 4]), "with 16 weights"),
        (|sentence| sentence["attention"][0]["weights"][0] = json!(7.0), "the weight 7"),
        (|sentence| sentence["attention"][0]["layer"] = json!(1), "twice"),
        (|sentence| sentence["attention"][0]["layer"] = json!(1_u64 << 40), "more than layer"),
        (|sentence| _ = sentence["attention"][0].as_object_mut().unwrap().remove("weights"), "no weights"),
    ];
    for (change, part) in cases {
        let result = changed(|json| change(&mut json["sentences"][1]));
        assert!(
            matches!(&result, Err(TraceFileError::Inconsistent { sentence: 1, .. })),
            "{part}: {result:?}"
        );
        check(result, part);
    }
}

/// A truncated or randomly changed file is rejected, or is another valid trace. No analysis panics.
#[test]
fn damaged_files_do_no_harm() {
    let trace = sound();
    let mut random = 1_u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    let mut read = 0;
    for file in [trace.to_json().unwrap().into_bytes(), trace.to_safetensors().unwrap()] {
        for cut in (0..file.len()).step_by(7) {
            assert!(Trace::from_bytes(&file[..cut]).is_err(), "cut at {cut}");
        }
        for round in 0..4000 {
            let mut damaged = file.clone();
            for _ in 0..=round % 3 {
                let place = next(damaged.len());
                match next(4) {
                    0 => damaged[place] = next(256) as u8,
                    1 => damaged[place] ^= 1 << next(8),
                    2 => damaged[place] = b"0123456789-e[]{}\","[next(18)],
                    _ => _ = damaged.remove(place),
                }
            }
            if let Ok(trace) = Trace::from_bytes(&damaged) {
                read += 1;
                use_all(&trace);
            }
        }
    }
    assert!(read > 100, "most changes of weights are sound: {read}");
}

fn use_all(trace: &Trace) {
    trace.statistics();
    for sentence in &trace.sentences {
        sentence.alignment();
        for layer in &sentence.attention {
            assert_eq!(sentence.query_labels(layer.kind).len(), layer.queries);
            assert_eq!(sentence.key_labels(layer.kind).len(), layer.keys);
            assert_eq!(layer.mean().len(), layer.queries * layer.keys);
        }
    }
    assert_eq!(Trace::from_bytes(&trace.to_safetensors().unwrap()).unwrap(), *trace);
}

/// The tree of a search has its hypotheses with their scores, and continuing from a rejected branch begins with that branch.
#[pollster::test]
async fn a_search_leaves_its_tree() {
    for device in devices().await {
        let folder = data("models").join("marian_tied");
        let transformer = Transformer::load(&device, &model(&folder), &mut |_| {}).expect("is sound");
        let input_ids = vec![11, 5, 23, 7, 0];
        for (beams, length_penalty) in [(1, 1.0), (3, 1.0), (4, 0.3), (2, -0.5)] {
            let place = format!("{beams} beams on {device}");
            let asked = GenerationConfig {
                num_beams: Some(beams),
                num_return_sequences: Some(beams),
                length_penalty: Some(length_penalty),
                max_length: Some(12),
                ..GenerationConfig::default()
            };
            let defaults = transformer.generation_config();
            let options = resolve(&asked, defaults, transformer.config(), &input_ids).expect("sound options");
            let mut request = GenerateRequest::new(input_ids.clone(), options);
            let explore = async |request: &GenerateRequest| {
                let options = GenerateOptions::default().keep(Keep { tree: true, ..Keep::default() });
                let found = transformer.generate(std::slice::from_ref(request), options).await;
                found.expect("searches").remove(0)
            };
            let Generation { hypotheses, tree, .. } = explore(&request).await;
            let tree = tree.expect("is kept");
            let generated = transformer.generate(&[request.clone()], GenerateOptions::default()).await;
            assert_eq!(hypotheses, generated.expect("generates")[0].hypotheses, "{place}");
            assert!(tree.is_sound() && tree.beams == beams, "{place}: {tree:?}");
            let best = tree.finished(length_penalty);
            for (hypothesis, &node) in hypotheses.iter().zip(&best) {
                assert_eq!(hypothesis.tokens[1..], tree.tokens(node), "{place}");
                if beams > 1 {
                    assert_eq!(hypothesis.score, tree.nodes[node].score(length_penalty), "{place}");
                }
            }
            for step in 1..=tree.nodes.iter().map(|node| node.step).max().unwrap() {
                let fates =
                    |fate| tree.nodes.iter().filter(|node| node.step == step && node.fate == fate).count();
                let all = fates(Fate::Kept) + fates(Fate::Finished) + fates(Fate::Rejected);
                assert!(fates(Fate::Kept) <= beams && (1..=2 * beams).contains(&all), "{place}, step {step}");
            }
            let Some(left) = tree.nodes.iter().position(|node| node.fate == Fate::Rejected) else {
                assert_eq!(beams, 1, "a beam search rejects something");
                continue;
            };
            request.options.prompt.extend(tree.tokens(left));
            let forced = request.options.prompt.clone();
            let onward = explore(&request).await;
            assert!(onward.hypotheses.iter().all(|found| found.tokens.starts_with(&forced)), "{place}");
            assert!(onward.tree.expect("is kept").is_sound(), "{place}");
        }
    }
}

/// A muted head equals a head with zeros for values in the file.
#[pollster::test]
async fn muted_heads_bring_nothing() {
    let heads = ["encoder.1.2", "decoder.0.3", "cross.1.0", "cross.1.3"].map(|name| name.parse().unwrap());
    let zeros = [
        ("encoder.layers.1.self_attn.v_proj", 2),
        ("decoder.layers.0.self_attn.v_proj", 3),
        ("decoder.layers.1.encoder_attn.v_proj", 0),
        ("decoder.layers.1.encoder_attn.v_proj", 3),
        ("encoder.block.1.layer.0.SelfAttention.v", 2),
        ("decoder.block.0.layer.0.SelfAttention.v", 3),
        ("decoder.block.1.layer.1.EncDecAttention.v", 0),
        ("decoder.block.1.layer.1.EncDecAttention.v", 3),
    ];
    let input = ForwardInput {
        batch: 1,
        source_length: 5,
        target_length: 4,
        input_ids: vec![11, 5, 23, 7, 0],
        attention_mask: vec![1; 5],
        token_type_ids: Vec::new(),
        decoder_input_ids: vec![9, 4, 8, 15],
        global_attention_mask: Vec::new(),
    };
    let wanted = ForwardSelection { logits: true, ..ForwardSelection::default() };
    for device in devices().await {
        for name in ["marian_tied", "t5_relu_tied"] {
            let place = format!("{name} on {device}");
            let whole = edited(name, |_, _, _| {});
            let without = edited(name, |tensor, shape, values| {
                for (_, head) in zeros.iter().filter(|(linear, _)| tensor.contains(linear)) {
                    let of_head = values.len() / shape[0] * 16; // heads of both models are 16 wide
                    values[head * of_head..][..of_head].fill(0.0);
                }
            });
            let expected = Transformer::load(&device, &without, &mut |_| {}).expect("is sound");
            let mut muted = Transformer::load(&device, &whole, &mut |_| {}).expect("is sound");
            let mut logits = Vec::new();
            for heads in [&[][..], &heads, &heads[..1], &[]] {
                muted.mute(&whole, heads).expect("has these heads");
                assert_eq!(muted.muted(), heads);
                logits.push(muted.forward_selected(&input, &wanted).await.expect("runs").logits.data);
            }
            let expected = expected.forward_selected(&input, &wanted).await.expect("runs").logits.data;
            assert_eq!(logits[1], expected, "{place}");
            assert_eq!(logits[0], logits[3], "{place}: all of them contribute again");
            assert!(logits[0] != logits[1] && logits[1] != logits[2] && logits[2] != logits[3], "{place}");
            let error = muted.mute(&whole, &["cross.2.0".parse().unwrap()]).unwrap_err();
            assert_eq!(
                error.to_string(),
                "there is no head cross.2.0: the model has layers 0 to 1, and heads 0 to 3 in each"
            );
            let other = model(&data("models").join("bart"));
            assert!(matches!(muted.mute(&other, &[]), Err(MuteError::OtherModel { .. })), "{place}");
        }
    }
}

/// Attention on a device equals the recorded attention, read or painted, and does not change the cost of translating.
#[pollster::test]
async fn attention_stays_on_the_device() {
    for device in devices().await {
        let transformer =
            Transformer::load(&device, &model(&data("models").join("marian_tied")), &mut |_| {})
                .expect("is sound");
        let cancel = Cancel::default();
        let input_ids = vec![11, 5, 23, 7, 31, 40, 0];
        let request =
            TraceRequest { input_ids: input_ids.clone(), target_ids: vec![9, 4, 8, 15, 16, 0], prompt: 1 };
        let asked =
            GenerationConfig { num_beams: Some(4), max_length: Some(12), ..GenerationConfig::default() };
        let options = resolve(&asked, transformer.generation_config(), transformer.config(), &input_ids);
        let translation = GenerateRequest::new(input_ids, options.expect("sound options"));
        let cost = async || {
            let before = device.gpu().map(|gpu| gpu.counters());
            let requests = std::slice::from_ref(&translation);
            let found = transformer.generate(requests, GenerateOptions::default()).await.expect("generates");
            let counted = device
                .gpu()
                .zip(before)
                .map(|(gpu, before)| (gpu.counters().since(before), gpu.bytes_in_use()));
            (found, counted)
        };
        cost().await; // makes the session
        let before = cost().await;

        let recorded =
            record(&transformer, std::slice::from_ref(&request), &all(0), &cancel).await.expect("fits");
        let attended = attend_one(&transformer, &request, &all(0)).await;
        assert!(attended.left_out().is_empty());
        let painter = Painter::new(&device);
        for kind in AttentionKind::ALL {
            let layers: Vec<&LayerAttention> =
                recorded[0].attention.iter().filter(|layer| layer.kind == kind).collect();
            let place = format!("{kind} on {device}");
            assert_eq!(attended.layers(kind).collect::<Vec<_>>(), [0, 1], "{place}");
            for layer in &layers {
                let read = attended.read_layer(kind, layer.layer).await.expect("reads").expect("is there");
                assert_eq!(&read, *layer, "{place}");
                for head in 0..layer.heads {
                    let read = attended.read_head(kind, layer.layer, head).await.expect("reads");
                    assert_eq!(read, Some(layer.only(head)), "{place}");
                }
            }
            let mut maps = attended.maps(&painter, kind).await.expect("fits");
            let mut loaded = painter.load(&layers).expect("fits");
            let whole = View::fit(maps.shape(), [300, 200]);
            let painted = painter.paint(&mut maps, &whole).await.expect("paints");
            assert_eq!(painted, painter.paint(&mut loaded, &whole).await.expect("paints"), "{place}");
            let mut one = maps.only(1, 2).expect("is there");
            let mut alone = painter.load(&[&layers[1].only(2)]).expect("fits");
            let near = View::fit(one.shape(), [120, 130]);
            let painted = painter.paint(&mut one, &near).await.expect("paints");
            assert_eq!(painted, painter.paint(&mut alone, &near).await.expect("paints"), "{place}");
            assert!(maps.only(2, 0).is_err() && maps.only(0, 4).is_err());
        }
        assert_eq!(attended.read_head(AttentionKind::Cross, 0, 4).await.expect("reads"), None);
        let none = TraceOptions { kinds: Vec::new(), ..all(0) };
        let empty = attend_one(&transformer, &request, &none).await;
        assert!(empty.maps(&painter, AttentionKind::Cross).await.is_err());
        drop((attended, empty));
        assert_eq!(cost().await, before, "translating on {device} costs what it did");
    }
}

/// Attention stored during a search equals attention of a pass over its result, for every sentence of a batch, and does not
/// change the result. Covers beams, prompts of several tokens, all kinds of positions, kernels of both classes of adapters,
/// and caches of queries beyond one buffer.
#[pollster::test]
async fn a_search_that_is_looked_at_leaves_its_attention() {
    let mut places = devices().await;
    places.push(gpu_as(AdapterClass::Hardware).await);
    places.push(gpu_with_buffers_of(64 << 10).await);
    for (at, device) in places.iter().enumerate() {
        for (name, precision) in [
            ("marian_tied", WeightPrecision::F32),
            ("marian_tied", WeightPrecision::F16),
            ("marian_tied", WeightPrecision::Q8),
            ("t5_relu_tied", WeightPrecision::F32),
            ("vanilla_preln", WeightPrecision::F32),
            ("m2m_100", WeightPrecision::F32),
        ] {
            let stored = PrecisionChoice::Is(precision);
            let folder = data("models").join(name);
            let transformer = Transformer::load_with_weights(device, &model(&folder), stored, &mut |_| {})
                .expect("is sound");
            for (beams, prompt) in [(1, 1), (4, 1), (3, 4)] {
                let what = format!("{name} in {precision:?}, {beams} beams after {prompt} tokens");
                let place = format!("{what} on {device} ({at})");
                let asked = GenerationConfig {
                    num_beams: Some(beams),
                    max_length: Some(13),
                    ..GenerationConfig::default()
                };
                let requests: Vec<GenerateRequest> = (0..5u32)
                    .map(|sentence| {
                        let tokens = 1..[3, 9, 12, 4, 7][sentence as usize];
                        let mut input_ids: Vec<u32> =
                            tokens.map(|i| 4 + (i * 7 + sentence * 5) % 40).collect();
                        input_ids.extend(transformer.config().tokens.eos);
                        let defaults = transformer.generation_config();
                        let mut options =
                            resolve(&asked, defaults, transformer.config(), &input_ids).expect("sound");
                        // prompts of different lengths in one batch
                        options.prompt.extend((1..prompt).map(|i| 5 + (i + sentence) % 30));
                        options
                            .prompt
                            .truncate(options.prompt.len().min(1 + (prompt * (sentence + 1)) as usize));
                        GenerateRequest::new(input_ids, options)
                    })
                    .collect();
                let expected =
                    transformer.generate(&requests, GenerateOptions::default()).await.expect("generates");
                let expected: Vec<_> = expected.into_iter().map(|found| found.hypotheses).collect();
                let (found, attended) = generate_attended(&transformer, &requests, &all(0)).await;
                assert_eq!(found, expected, "{place}");
                for (index, (request, attended)) in requests.iter().zip(&attended).enumerate() {
                    let pass = TraceRequest {
                        input_ids: request.input_ids.clone(),
                        target_ids: found[index][0].tokens.clone(),
                        prompt: request.options.prompt.len(),
                    };
                    let want = attend_one(&transformer, &pass, &all(0)).await.read().await.expect("reads");
                    let got = attended.read().await.expect("reads");
                    assert!(attended.left_out().is_empty() && got.len() == want.len(), "{place}");
                    for (got, want) in got.iter().zip(&want) {
                        let what = format!("{place}: sentence {index}, {} {}", want.kind, want.layer);
                        let shape =
                            |layer: &LayerAttention| (layer.kind, layer.layer, layer.queries, layer.keys);
                        assert_eq!(shape(got), shape(want), "{what}");
                        assert_close(&what, &got.weights, &want.weights, (1e-5, 0.0));
                    }
                }
                // with memory for a part
                let some = options(4000, 0);
                let (_, attended) = generate_attended(&transformer, &requests, &some).await;
                let mut bytes = 0;
                for attended in &attended {
                    let layers = attended.read().await.expect("reads");
                    bytes += 4 * layers.iter().map(|layer| layer.weights.len()).sum::<usize>();
                }
                assert!(bytes > 2000 && bytes <= 4000, "{place}: {bytes} bytes");
                assert!(attended.iter().any(|attended| !attended.left_out().is_empty()), "{place}");
            }
        }
    }
    let reader = Transformer::load(&places[0], &model(&data("models").join("bert")), &mut |_| {});
    let refused = reader.expect("is sound");
    let keep = Keep { attention: Some(all(0).keep_attention()), ..Keep::default() };
    let refused = refused.generate(&[], GenerateOptions::default().keep(keep)).await.err();
    assert!(matches!(refused, Some(GenerateError::NotATranslator { model_type: "bert" })), "{refused:?}");
}

/// A translation with attention on the device has the same trace and the same weights.
#[pollster::test]
async fn attention_of_a_translation_stays_on_the_device() {
    let text = " My dog is very old. Where is the train station?";
    let options = TranslateOptions::default();
    for device in devices().await {
        let embedded = wordloom::Model::embedded().expect("is sound");
        let translator = Translator::new(&device, &embedded).expect("is sound");
        let translation = translator.translate(text, &options).await.expect("translates");
        let whole = TraceOptions { scores: false, alternatives: 0, model: "mine".into(), ..all(0) };
        // with memory for everything, and only for the first sentence's last maps
        for wanted in [whole.clone(), TraceOptions { memory: 6000, ..whole.clone() }] {
            let expected = Trace::of(&translator, text, &translation, &options, &wanted).await.expect("fits");
            let on_device = Trace::on_device(&translator, text, &translation, &options, &wanted).await;
            let (mut trace, attended) = on_device.expect("fits");
            assert_eq!((trace.sentences.len(), attended.len()), (2, 2));
            assert_eq!(expected.sentences[1].left_out.is_empty(), wanted.memory > 6000);
            for (sentence, attended) in trace.sentences.iter_mut().zip(&attended) {
                assert!(sentence.attention.is_empty());
                sentence.attention = attended.read().await.expect("reads");
                for kind in AttentionKind::ALL {
                    let shape = attended.shape(kind).map(|shape| [shape.layers, shape.queries, shape.keys]);
                    let layers = sentence.layers(kind).count();
                    let of = |layer: &LayerAttention| [layers, layer.queries, layer.keys];
                    assert_eq!(shape, sentence.layers(kind).next().map(of), "{kind} on {device}");
                }
            }
            assert_eq!(trace, expected, "on {device}");
        }
        for (wanted, what) in [
            (TraceOptions { scores: true, ..whole.clone() }, "scores"),
            (TraceOptions { search: true, ..whole.clone() }, "the search"),
            (TraceOptions { depth: true, ..whole.clone() }, "the residual stream"),
            (TraceOptions { taps: vec!["logits".to_owned()], ..whole.clone() }, "taps"),
        ] {
            let error = Trace::on_device(&translator, text, &translation, &options, &wanted).await.err();
            let error = error.expect("is refused").to_string();
            assert!(error.starts_with(what) && error.contains("Trace::of"), "{error}");
        }
        let cancel = Cancel::default();
        cancel.cancel();
        let stopped = TranslateOptions { cancel, ..options.clone() };
        let error = Trace::on_device(&translator, text, &translation, &stopped, &whole).await.err();
        assert!(matches!(error, Some(TraceError::Cancelled)), "{error:?}");
    }
}

/// A text that is translated with attention has the same trace, also with less memory.
#[pollster::test]
async fn a_text_is_translated_with_its_attention() {
    let text = " My dog is very old. Where is the train station?\nThank you.";
    let options = TranslateOptions::default();
    for device in devices().await {
        let embedded = wordloom::Model::embedded().expect("is sound");
        let translator = Translator::new(&device, &embedded).expect("is sound");
        let translation = translator.translate(text, &options).await.expect("translates");
        let whole = TraceOptions { scores: false, alternatives: 0, model: "mine".into(), ..all(0) };
        let scored = TraceOptions { scores: true, ..whole.clone() };
        let pass = Trace::of(&translator, text, &translation, &options, &scored).await.expect("fits");
        let mut stable = String::new();
        let found = translate_attended(&translator, text, &options, &whole, &mut stable).await;
        let found = found.expect("translates");
        assert!(found.text.starts_with(&stable) && !stable.is_empty(), "{stable:?} on {device}");
        for (one, other) in found.sentences.iter().zip(&translation.sentences) {
            let of = |sentence: &Sentence| sentence.hypotheses[0].search.tokens.clone();
            assert_eq!(of(one), of(other), "on {device}");
        }
        let trace = Trace::of_search(&translator, text, &found, &options, &whole).expect("fits");
        let mut trace = trace.with_weights(&attention_of(&found)).await.expect("reads");
        assert_eq!(trace.sentences.len(), 3);
        for (sentence, pass) in trace.sentences.iter_mut().zip(&pass.sentences) {
            for (layer, pass) in sentence.attention.iter_mut().zip(&pass.attention) {
                let what = format!("{} {} of {:?} on {device}", pass.kind, pass.layer, pass.keys);
                assert_close(&what, &layer.weights, &pass.weights, (1e-5, 0.0));
                layer.weights.clone_from(&pass.weights);
            }
            for (token, pass) in sentence.target_tokens.iter_mut().zip(&pass.target_tokens) {
                let of_search = token.log_probability.take();
                assert_eq!(of_search.is_some(), pass.log_probability.is_some());
                let difference = of_search.unwrap_or(0.0) - pass.log_probability.unwrap_or(0.0);
                assert!(difference.abs() < 1e-3, "{difference} on {device}");
                token.log_probability = pass.log_probability;
            }
        }
        assert_eq!(trace, pass, "on {device}");

        let some = TraceOptions { memory: 9000, ..whole.clone() };
        let found = translate_attended(&translator, text, &options, &some, &mut stable).await;
        let found = found.expect("translates");
        let bytes: u64 = attention_of(&found).iter().map(KeptAttention::bytes).sum();
        assert!(bytes > 4000 && bytes <= 9000, "{bytes} bytes on {device}");
        let trace = Trace::of_search(&translator, text, &found, &options, &some).expect("fits");
        assert!(trace.sentences.iter().any(|sentence| !sentence.left_out.is_empty()));
        let stopped = TranslateOptions { cancel: Cancel::default(), ..options.clone() };
        stopped.cancel.cancel();
        let error = translate_attended(&translator, text, &stopped, &whole, &mut stable).await.err();
        let cancelled = TranslateError::Generate(GenerateError::Cancelled);
        assert_eq!(error.map(|error| error.to_string()), Some(cancelled.to_string()));
    }
}

/// Pictures by numpy and matplotlib: `tests/data/make_heatmap.py`.
#[pollster::test]
async fn pictures_are_those_of_matplotlib() {
    let tensors = Tensors::open(&data("models/marian_tied/expected.safetensors"));
    let layers: Vec<LayerAttention> = (0..2)
        .map(|layer| {
            let name = format!("main.cross_attentions.{layer}");
            let [_, heads, queries, keys] = <[usize; 4]>::try_from(tensors.shape(&name)).unwrap();
            let mut weights = tensors.f32(&name);
            weights.truncate(heads * queries * keys);
            LayerAttention { kind: AttentionKind::Cross, layer, heads, queries, keys, weights, bands: None }
        })
        .collect();
    let layers: Vec<&LayerAttention> = layers.iter().collect();
    for device in devices().await {
        let painter = Painter::new(&device);
        let mut maps = painter.load(&layers).expect("fits");
        for (name, cell, gap, scale, colours) in [
            ("grid", 5.0, 3.0, Scale::Linear, ColourMap::Viridis),
            ("rows", 4.0, 2.0, Scale::Rows, ColourMap::Magma),
            ("far", 0.5, 1.0, Scale::Logarithmic, ColourMap::Cividis),
        ] {
            let file = crate::common::read(&data("heatmap").join(name).with_extension("png"));
            let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().expect("a picture");
            let mut expected = vec![0; reader.output_buffer_size().expect("is small")];
            let info = reader.next_frame(&mut expected).expect("a picture");
            let view = View {
                size: [info.width, info.height],
                origin: [0.0; 2],
                cell: [cell; 2],
                gap: gap / cell,
                scale,
                colours,
                ..View::fit(maps.shape(), [1, 1])
            };
            let painted = painter.paint(&mut maps, &view).await.expect("paints");
            assert_eq!(painted.rgba.len(), expected.len(), "{name}");
            // colours and weights are rounded; cividis is a polynomial here, as in d3, and a table there
            let most = if colours == ColourMap::Cividis { 18 } else { 4 };
            let apart = painted.rgba.iter().zip(&expected).map(|(a, b)| a.abs_diff(*b)).max();
            assert!(apart <= Some(most), "{name} on {device}: {apart:?} apart");
        }
    }
}

fn states(rows: usize, width: usize, value: impl Fn(usize, usize) -> f32) -> Vec<f32> {
    (0..rows).flat_map(|row| (0..width).map(move |column| (row, column))).map(|(r, c)| value(r, c)).collect()
}

#[test]
fn the_residual_stream_collapses_or_not() {
    let of = |rows: usize, width: usize, values: &[f32]| {
        Depth::of(Stack::Encoder, 0, Map { queries: rows, keys: width, weights: values })
    };
    // all tokens are equal
    let same = of(4, 6, &states(4, 6, |_, column| column as f32 + 1.0));
    assert_eq!((same.components, same.full_rank), (Some(1), 4));
    near(same.spread, 0.0);
    // unit vectors: the mean is 1/4 everywhere, so ‖X − 1x̄‖² = 4 · (9/16 + 3/16) = 3 of 4
    let apart = of(4, 4, &states(4, 4, |row, column| f32::from(row == column)));
    assert_eq!((apart.components, apart.full_rank), (Some(4), 4));
    near(apart.spread, 0.75f64.sqrt());
    // opposite pairs: no mean, one direction
    let opposite = of(2, 3, &[1.0, 2.0, 2.0, -1.0, -2.0, -2.0]);
    assert_eq!(opposite.components, Some(1));
    near(opposite.spread, 1.0);
    near(of(2, 2, &[0.0; 4]).spread, 0.0);
}

#[test]
fn heads_tell_more_apart_together_than_alone() {
    let mut sentence = crossing();
    let LayerAttention { queries, keys, .. } = sentence.attention[0];
    // each head has two different rows, and side by side they are four
    let head = |head: usize| states(queries, keys, move |row, key| f32::from(key == (row >> head) % 2));
    sentence.attention[0].heads = 2;
    sentence.attention[0].weights = [head(0), head(1)].concat();
    let alone = Spectrum::of(sentence.attention[0].head(0)).components_for_most();
    let together = sentence.combined_heads()[0];
    // the fourth row is the second and the third without the first
    assert_eq!((alone, together.components, together.full_rank), (2, 3, 4));
}
