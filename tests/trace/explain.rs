//! Explanations of single attentions: their numbers against hooks of torch (`tests/data/make_taps.py`), and against the
//! formulas of the paper in float64.

use crate::common::{Tensors, assert_close, data, device_test, devices, model};
use wordloom::explain::{ExplainError, ExplainRequest, Explanation, StepKind};
use wordloom::model::{AttentionKind, HeadName};
use wordloom::trace::{
    Anatomy, TargetToken, Token, Trace, TraceOptions, TraceRequest, TracedSentence, record,
};
use wordloom::transformer::{Cancel, Transformer};
use wordloom::{Device, TranslateOptions, Translator};

const TOLERANCE: (f32, f32) = (1e-5, 1e-5);

/// Marian's layout: the norm after the block.
fn translator(device: &Device) -> Translator {
    Translator::new(device, &model(&data("models").join("marian_tied"))).expect("loads")
}

/// The first sentence of the hooks, which has no padding.
fn sentence(hooks: &Tensors) -> TracedSentence {
    let token = |&id: &u32| Token { id, piece: format!("#{id}"), ..Token::default() };
    let source = &hooks.u32("input_ids")[..hooks.shape("input_ids")[1]];
    let read = &hooks.u32("decoder_input_ids")[..hooks.shape("decoder_input_ids")[1]];
    let target = read.iter().chain([&0]); // the token after the last one that is read
    TracedSentence {
        source_tokens: source.iter().map(token).collect(),
        target_tokens: target.map(|id| TargetToken { token: token(id), ..TargetToken::default() }).collect(),
        prompt: 1,
        ..TracedSentence::default()
    }
}

/// `[batch, heads, rows, width]`: a row of the first sentence.
fn row(hooks: &Tensors, tap: &str, head: usize, row: usize) -> Vec<f32> {
    let shape = hooks.shape(tap);
    hooks.f32(tap)[(head * shape[2] + row) * shape[3]..][..shape[3]].to_vec()
}

#[device_test]
async fn the_numbers_are_those_that_hooks_see() {
    let hooks = Tensors::open(&data("taps").join("marian_tied.safetensors"));
    for device in devices().await {
        let translator = translator(&device);
        for (kind, place, query) in [
            (AttentionKind::Encoder, "encoder.1.self", 3),
            (AttentionKind::Decoder, "decoder.1.self", 2),
            (AttentionKind::Cross, "decoder.1.cross", 1),
        ] {
            let head = HeadName { kind, layer: 1, head: 2 };
            let explained = Explanation::of_sentence(&translator, &sentence(&hooks), head, query)
                .await
                .unwrap_or_else(|error| panic!("{head}: {error}"));
            let keys = explained.keys.len();
            assert_eq!(keys, if kind == AttentionKind::Decoder { 4 } else { 5 });
            for (step, name, point) in [
                (StepKind::Query, "q", "queries"),
                (StepKind::Products, "q·k", "products"),
                (StepKind::Softmax, "weights", "weights"),
                (StepKind::Values, "context", "context"),
            ] {
                let got = &explained.numbers(step, name).unwrap_or_else(|| panic!("{head} {name}")).values;
                let want = row(&hooks, &format!("{place}.{point}"), 2, query);
                assert_close(&format!("{head} {name} on {device}"), got, &want, TOLERANCE);
            }
            let masked = &explained.numbers(StepKind::Mask, "masked").expect("scores").values;
            let is_hidden = |key: usize| kind == AttentionKind::Decoder && key > query;
            assert!((0..keys).all(|key| (masked[key] == f32::NEG_INFINITY) == is_hidden(key)), "{masked:?}");
            let d_model = 64;
            for (step, name, tap) in [
                (StepKind::NormAfter, "output", format!("{place}.norm.output")),
                (StepKind::Residual, "sum", format!("{place}.residual")),
                (StepKind::FeedForward, "output", format!("{}.1.feed_forward.norm.output", &place[..7])),
            ] {
                let mut numbers = explained.step(step).into_iter().flat_map(|step| &step.numbers);
                let got = numbers.rfind(|numbers| numbers.name == name).expect(name);
                let want = &hooks.f32(&tap)[query * d_model..][..d_model];
                assert_close(&format!("{head} {tap} on {device}"), &got.values, want, TOLERANCE);
            }
            let logits = hooks.f32("log_probabilities");
            let vocabulary = hooks.shape("logits")[2];
            assert_eq!(explained.candidates.is_empty(), kind == AttentionKind::Encoder);
            for candidate in &explained.candidates {
                let want = logits[query * vocabulary + candidate.id as usize].exp();
                assert!((candidate.probability - want).abs() < 1e-5, "{candidate:?}, want {want}");
            }
        }
    }
}

#[device_test]
async fn each_step_follows_from_the_one_before() {
    let translator = translator(&Device::Cpu);
    let hooks = Tensors::open(&data("taps").join("marian_tied.safetensors"));
    let head = HeadName { kind: AttentionKind::Encoder, layer: 0, head: 1 };
    let explained =
        Explanation::of_sentence(&translator, &sentence(&hooks), head, 2).await.expect("explained");
    let of = |kind, name: &str| -> Vec<f64> {
        let numbers = explained.numbers(kind, name).unwrap_or_else(|| panic!("{kind:?} {name}"));
        numbers.values.iter().map(|&value| f64::from(value)).collect()
    };
    let close = |got: Vec<f64>, want: &[f64]| {
        assert_eq!(got.len(), want.len());
        got.iter().zip(want).for_each(|(got, want)| assert!((got - want).abs() < 1e-4, "{got} {want}"));
    };
    let (q, k, d_k) = (of(StepKind::Query, "q"), of(StepKind::Keys, "k"), explained.sizes.d_k);
    let products: Vec<f64> = k.chunks(d_k).map(|k| k.iter().zip(&q).map(|(k, q)| k * q).sum()).collect();
    close(products.clone(), &of(StepKind::Products, "q·k"));
    let scores: Vec<f64> = products.iter().map(|product| product / (d_k as f64).sqrt()).collect();
    close(scores.clone(), &of(StepKind::Mask, "masked"));
    let sum: f64 = scores.iter().map(|score| score.exp()).sum();
    let weights: Vec<f64> = scores.iter().map(|score| score.exp() / sum).collect();
    close(weights.clone(), &of(StepKind::Softmax, "weights"));
    let values = of(StepKind::Values, "v");
    let context: Vec<f64> = (0..explained.sizes.d_v)
        .map(|column| {
            values.chunks(explained.sizes.d_v).zip(&weights).map(|(v, weight)| v[column] * weight).sum()
        })
        .collect();
    close(context.clone(), &of(StepKind::Values, "context"));
    close(context, &of(StepKind::Heads, "heads")[explained.sizes.d_v..][..explained.sizes.d_v]);
    let residual = of(StepKind::Residual, "sum");
    let (x, output) = (of(StepKind::Input, "x"), of(StepKind::Output, "output"));
    close(x.iter().zip(&output).map(|(x, output)| x + output).collect(), &residual);
    let (mean, variance) = (of(StepKind::NormAfter, "mean")[0], of(StepKind::NormAfter, "variance")[0]);
    let (scale, shift) = (of(StepKind::NormAfter, "scale"), of(StepKind::NormAfter, "shift"));
    let normed = residual.iter().zip(scale.iter().zip(&shift));
    let normed =
        normed.map(|(x, (scale, shift))| (x - mean) / (variance + 1e-5).sqrt() * scale + shift).collect();
    close(normed, &of(StepKind::NormAfter, "output"));
}

async fn explain(
    translator: &Translator,
    head: (AttentionKind, usize, usize),
    token: &str,
) -> Result<Explanation, ExplainError> {
    let mut options = TranslateOptions::default();
    options.generation.max_length = Some(8);
    let (kind, layer, head) = head;
    let request = ExplainRequest {
        text: "Where is the station?".to_owned(),
        target: None,
        head: HeadName { kind, layer, head },
        token: token.to_owned(),
    };
    Explanation::of(translator, &request, &options).await
}

#[device_test]
async fn a_token_is_chosen_by_its_text_or_its_number() {
    for device in devices().await {
        let translator = translator(&device);
        let encoder = explain(&translator, (AttentionKind::Encoder, 0, 0), "#1").await.expect("explained");
        assert_eq!((encoder.query.position, encoder.produces), (1, None), "{device}");
        let label = encoder.query.label.to_uppercase();
        let by_text = explain(&translator, (AttentionKind::Encoder, 0, 0), &label).await.expect("explained");
        assert_eq!(by_text.query.label.to_uppercase(), label, "{device}");
        let cross = explain(&translator, (AttentionKind::Cross, 1, 0), "#2").await.expect("explained");
        assert_eq!(cross.query.position, 2, "{device}");
        assert_eq!(cross.produces.map(|token| token.position), Some(3), "{device}");
    }
}

#[device_test]
async fn wrong_heads_and_tokens_are_typed_errors() {
    let translator = translator(&Device::Cpu);
    let encoder = AttentionKind::Encoder;
    let layer = explain(&translator, (encoder, 2, 0), "is").await;
    assert!(matches!(layer, Err(ExplainError::Head { layers: 2, heads: 4, .. })), "{layer:?}");
    let head = explain(&translator, (encoder, 0, 4), "is").await;
    assert!(matches!(head, Err(ExplainError::Head { .. })), "{head:?}");
    match explain(&translator, (encoder, 0, 0), "animal").await {
        Err(error @ ExplainError::Token { .. }) => {
            assert!(error.to_string().contains("the source"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[device_test]
async fn parts_that_are_switched_off_have_no_numbers() {
    let model = model(&data("models").join("marian_tied"));
    let head = (AttentionKind::Encoder, 1, 2);
    for device in devices().await {
        let switched = async |text: &str| {
            let mut translator = Translator::new(&device, &model).expect("loads");
            let switches = text.parse().expect("switches");
            translator.set_switches(&model, &switches).expect("fits");
            explain(&translator, head, "#1").await
        };
        let names = |explained: &Explanation, kind| -> Vec<String> {
            explained.step(kind).map_or_else(Vec::new, |step| {
                step.numbers.iter().map(|numbers| numbers.name.clone()).collect()
            })
        };
        let positions = switched("positions=off").await.expect("explained");
        assert_eq!(names(&positions, StepKind::Embedding), ["token", "sum"], "{device}");
        let norm = switched("norm=off,encoder.1.feed-forward=off").await.expect("explained");
        assert!(
            norm.step(StepKind::NormAfter).is_none() && norm.step(StepKind::Softmax).is_some(),
            "{device}"
        );
        let scale = switched("encoder.1.self.scale=off").await.expect("explained");
        let step = scale.step(StepKind::Scale).expect("a step");
        assert_eq!(step.title, "Another factor", "{device}");
        let (products, scores) = (scale.numbers(StepKind::Products, "q·k"), &step.numbers[0]);
        assert_eq!(products.expect("products").values, scores.values, "{device}");
        let off = switched("encoder.1.self=off").await.expect("explained");
        let output = off.numbers(StepKind::Output, "output").expect("an output");
        assert!(output.values.iter().all(|&value| value == 0.0), "{device}");
    }
}

/// A trace of the first sentence of the hooks, with taps.
async fn traced(translator: &Translator, hooks: &Tensors, taps: &[&str]) -> Trace {
    let transformer = translator.transformer();
    let sentence = sentence(hooks);
    let request = TraceRequest {
        input_ids: sentence.source_tokens.iter().map(|token| token.id).collect(),
        target_ids: sentence.target_tokens.iter().map(|target| target.token.id).collect(),
        prompt: 1,
    };
    let taps = taps.iter().map(|&tap| tap.to_owned()).collect();
    let options = TraceOptions { kinds: Vec::new(), taps, ..TraceOptions::default() };
    let recorded = record(transformer, &[request], &options, &Cancel::default()).await.expect("fits");
    let taps = recorded.into_iter().next().expect("one sentence").taps;
    let anatomy = Some(Anatomy::of(transformer.config()));
    let trace =
        Trace { model: "made up".into(), sentences: vec![TracedSentence { taps, ..sentence }], anatomy };
    // as another program gets it
    let bytes = trace.to_safetensors().expect("writes");
    let json = trace.to_json().expect("writes");
    assert_eq!(Trace::from_bytes(&bytes).expect("reads"), Trace::from_bytes(json.as_bytes()).expect("reads"));
    Trace::from_bytes(&bytes).expect("reads")
}

#[pollster::test]
async fn a_trace_has_the_numbers_of_its_model() {
    // norms after the blocks, before them, and RMS norms with positions as a bias
    for folder in ["marian_tied", "mbart", "t5_gated_untied_bf16"] {
        let hooks = Tensors::open(&data("taps").join(format!("{folder}.safetensors")));
        let loaded = model(&data("models").join(folder));
        let transformer = Transformer::load(&Device::Cpu, &loaded, &mut |_| {}).expect("loads");
        // only Marian's folder has a tokenizer, and only texts need one
        let tokenizer = model(&data("models").join("marian_tied")).tokenizer().expect("reads");
        let translator = Translator::from_parts(transformer, tokenizer);
        let trace = traced(&translator, &hooks, &["*"]).await;
        for kind in AttentionKind::ALL {
            let layers = loaded.config().attention_layers(kind);
            assert_eq!(Explanation::last_layer(&trace, kind), Some(layers - 1), "{folder} {kind}");
            for layer in 0..layers {
                let head = HeadName { kind, layer, head: 1 };
                let own = Explanation::of_sentence(&translator, &trace.sentences[0], head, 2).await.unwrap();
                let found = Explanation::of_trace(&trace, 0, head, 2).unwrap();
                let ids = |of: &Explanation| of.candidates.iter().map(|one| one.id).collect::<Vec<_>>();
                assert_eq!(ids(&found), ids(&own), "{folder} {head}");
                assert_eq!(
                    found,
                    Explanation { candidates: found.candidates.clone(), ..own },
                    "{folder} {head}"
                );
            }
        }
    }
}

#[pollster::test]
async fn a_trace_says_what_it_lacks() {
    let translator = translator(&Device::Cpu);
    let hooks = Tensors::open(&data("taps").join("marian_tied.safetensors"));
    let trace = traced(&translator, &hooks, &["encoder.0.self.scores", "encoder.0.self.weights"]).await;
    let head = |kind, layer, head| HeadName { kind, layer, head };
    let here = head(AttentionKind::Encoder, 0, 3);
    assert_eq!(Explanation::last_layer(&trace, AttentionKind::Encoder), Some(0));
    let found = Explanation::of_trace(&trace, 0, here, 1).unwrap();
    let kinds: Vec<StepKind> = found.steps.iter().map(|step| step.kind).collect();
    assert_eq!(kinds, [StepKind::Scale, StepKind::Softmax]);
    assert!(found.missing.contains(&"encoder.0.self.queries".to_owned()), "{:?}", found.missing);
    for (at, query, part) in [
        (head(AttentionKind::Encoder, 1, 0), 0, "wordloom attend TEXT --tap '*' -o FILE"),
        (head(AttentionKind::Cross, 0, 0), 0, "no numbers of cross.0.0"),
        (head(AttentionKind::Encoder, 2, 0), 0, "layers of the encoder attention are 0 to 1"),
        (head(AttentionKind::Encoder, 0, 0), 5, "queries are 0 to 4"),
    ] {
        let error = Explanation::of_trace(&trace, 0, at, query).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    let without = Trace { anatomy: None, ..trace.clone() };
    assert!(matches!(Explanation::of_trace(&without, 0, here, 0), Err(ExplainError::NoTaps { .. })));
    assert_eq!(Explanation::last_layer(&without, AttentionKind::Encoder), None);
}

#[pollster::test]
async fn a_damaged_trace_is_refused() {
    let translator = translator(&Device::Cpu);
    let hooks = Tensors::open(&data("taps").join("marian_tied.safetensors"));
    let trace = traced(&translator, &hooks, &["encoder.1.*", "encoder.output"]).await;
    let head = HeadName { kind: AttentionKind::Encoder, layer: 1, head: 0 };
    for (name, shape) in [
        ("encoder.1.self.weights", vec![4, 25]),
        ("encoder.1.self.context", vec![4, 4, 20]),
        ("encoder.1.self.keys", vec![5, 4, 16]),
        ("encoder.1.self.norm.mean", vec![1, 5]),
        ("encoder.output", vec![64, 5]),
    ] {
        let mut damaged = trace.clone();
        let tap = damaged.sentences[0].taps.iter_mut().find(|tap| tap.name == name).expect(name);
        tap.shape = shape;
        let error = Explanation::of_trace(&damaged, 0, head, 0).err();
        assert!(
            matches!(&error, Some(ExplainError::Tap { name: of, .. }) if of == name),
            "{name}: {error:?}"
        );
    }
    let json = trace.to_json().expect("writes");
    for (whole, wrong) in [(r#""d_k":16"#, r#""d_k":99999999999"#), (r#""d_model":64"#, r#""d_model":0"#)] {
        assert!(json.contains(whole), "{json:.2000}");
        let error = Trace::from_bytes(json.replace(whole, wrong).as_bytes()).unwrap_err();
        assert!(error.to_string().contains("sizes that no model has"), "{error}");
    }
}
