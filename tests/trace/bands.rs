//! Traces of layers with bands: their places against Hugging Face's attention, files, pictures, numbers, and 16,384 tokens.

use crate::common::{Tensors, assert_close, data, devices, model, read, repository};
use wordloom::heatmap::{ColourMap, Painter, Scale, View, paint, shape_of};
use wordloom::model::files::ModelFiles;
use wordloom::model::generation_config::GenerationConfig;
use wordloom::trace::{
    AttentionKind, Band, BandLayout, Bands, LayerAttention, SideColumns, TargetToken, Token, Trace,
    TraceOptions, TraceRequest, TracedSentence, attend, record,
};
use wordloom::transformer::{
    Cancel, GenerateError, GenerateOptions, GenerateRequest, Keep, Progress, Transformer,
};
use wordloom::{Device, Model, resolve};

const TOLERANCE: (f32, f32) = (1e-4, 1e-4);

fn load(device: &Device, name: &str) -> Transformer {
    Transformer::load(device, &model(&data("models").join(name)), &mut |_| {}).expect("is sound")
}

fn request(input_ids: Vec<u32>) -> TraceRequest {
    TraceRequest { input_ids, target_ids: vec![2, 5, 9, 7], prompt: 1 }
}

async fn encoder_layers(
    transformer: &Transformer,
    request: &TraceRequest,
    memory: u64,
) -> Vec<LayerAttention> {
    let options = TraceOptions { scores: false, memory, ..TraceOptions::default() };
    let recorded = record(transformer, std::slice::from_ref(request), &options, &Cancel::default()).await;
    let attention = recorded.expect("fits").remove(0).attention;
    attention.into_iter().filter(|layer| layer.kind == AttentionKind::Encoder).collect()
}

/// LED with the first token global: its windows around each token, its global column, and its global row.
#[pollster::test]
async fn windows_stand_where_transformers_has_them() {
    let tensors = Tensors::open(&data("models").join("led/expected.safetensors"));
    for device in devices().await {
        let transformer = load(&device, "led");
        let input = "win5_gfirst";
        let shape = tensors.shape(&format!("{input}.input_ids"));
        let length = shape[1];
        let ids = tensors.u32(&format!("{input}.input_ids"))[..length].to_vec();
        assert_eq!(tensors.u32(&format!("{input}.attention_mask"))[..length], vec![1; length], "no padding");
        let layers = encoder_layers(&transformer, &request(ids), 1 << 30).await;
        assert_eq!(layers.len(), transformer.config().encoder.layers);
        for layer in &layers {
            let bands = layer.bands.as_ref().expect("a text of five windows has bands");
            assert_eq!(bands.layout.global_queries, [0]);
            let radius = bands.layout.band.left;
            let [stored, of_globals] = ["encoder_attentions", "encoder_global_attentions"]
                .map(|name| format!("{input}.{name}.{}", layer.layer));
            let (want, columns) = (tensors.f32(&stored), tensors.shape(&stored)[3]);
            let (want_globals, padded) = (tensors.f32(&of_globals), tensors.shape(&of_globals)[2]);
            for head in 0..layer.heads {
                for query in 0..length {
                    let mut row = vec![0.0; length];
                    for (key, weight) in row.iter_mut().enumerate() {
                        // Hugging Face: the global token, then the window from query - radius on
                        let column = (key + radius).checked_sub(query).filter(|&column| column <= 2 * radius);
                        let banded = &want[(head * length + query) * columns..][..columns];
                        *weight = match (query, key, column) {
                            (0, ..) => want_globals[head * padded + key],
                            (_, 0, _) => banded[0],
                            (.., Some(column)) => banded[columns - 2 * radius - 1 + column],
                            _ => 0.0,
                        };
                    }
                    assert_close(
                        &format!("{device} {head} {query}"),
                        &layer.row(head, query),
                        &row,
                        TOLERANCE,
                    );
                    let cells: Vec<f32> = (0..length).map(|key| layer.weight(head, query, key)).collect();
                    assert_eq!(cells, &*layer.row(head, query));
                    assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-3);
                }
            }
        }
    }
}

/// BigBird's matrices, of a text of many blocks.
#[pollster::test]
async fn blocks_stand_where_transformers_has_them() {
    let tensors = Tensors::open(&data("models").join("bigbird_pegasus/expected.safetensors"));
    let has = |input: &&str| {
        tensors.has(&format!("{input}.encoder_attentions.0"))
            && tensors.shape(&format!("{input}.input_ids"))[0] == 1
    };
    let inputs = ["long", "just_sparse", "alone0", "alone1", "alone2", "alone3"].into_iter().filter(has);
    let inputs: Vec<&str> = inputs.collect();
    let mut banded = 0;
    let transformer = load(&Device::Cpu, "bigbird_pegasus");
    for input in inputs {
        let ids = tensors.u32(&format!("{input}.input_ids"));
        let length = ids.len();
        for layer in encoder_layers(&transformer, &request(ids), 1 << 30).await {
            let stored = format!("{input}.encoder_attentions.{}", layer.layer);
            let (want, padded) = (tensors.f32(&stored), tensors.shape(&stored)[3]);
            let Some(bands) = &layer.bands else { continue };
            banded += 1;
            let Band { block, .. } = bands.layout.band;
            let random = transformer.config().encoder_blocks().expect("blocks").random;
            for (head, query) in (0..layer.heads).flat_map(|head| (0..length).map(move |query| (head, query)))
            {
                let mut row = layer.row(head, query).into_owned();
                // a key of the first block counts several times; the matrices of Hugging Face show it once
                if bands.layout.global_queries.binary_search(&query).is_err() {
                    row[..block].iter_mut().for_each(|weight| *weight /= (1 + random) as f32);
                }
                let want = &want[(head * padded + query) * padded..][..length];
                assert_close(&format!("{stored} {head} {query}"), &row, want, TOLERANCE);
            }
        }
    }
    assert!(banded >= 2, "{banded} layers with bands were compared");
}

/// The four ways to an attention give the same bands, for each family that has them.
#[pollster::test]
async fn a_search_keeps_the_bands_of_a_pass() {
    for device in devices().await {
        for (name, length) in
            [("led", 60), ("longt5_local", 150), ("longt5_tglobal", 150), ("bigbird_pegasus", 60)]
        {
            let place = format!("{name} on {device}");
            let transformer = load(&device, name);
            let input_ids: Vec<u32> = (0..length).map(|i| 4 + i * 7 % 90).collect();
            let asked =
                GenerationConfig { num_beams: Some(2), max_length: Some(8), ..GenerationConfig::default() };
            let options = resolve(&asked, transformer.generation_config(), transformer.config(), &input_ids);
            let options = options.expect("sound options");
            let prompt = options.prompt.len();
            let mut asked = GenerateRequest::new(input_ids.clone(), options);
            asked.global_tokens = transformer.config().usual_globals();
            let kept = TraceOptions::default();
            let keep = Keep { attention: Some(kept.keep_attention()), ..Keep::default() };
            let found = transformer.generate(&[asked], GenerateOptions::default().keep(keep)).await;
            let found = found.expect("generates").remove(0);
            let attention = found.attention.expect("is kept");
            let of_search = attention.read().await.expect("reads");
            let traced = TraceRequest { input_ids, target_ids: found.hypotheses[0].tokens.clone(), prompt };
            let options = TraceOptions { scores: false, ..TraceOptions::default() };
            let of_pass =
                record(&transformer, std::slice::from_ref(&traced), &options, &Cancel::default()).await;
            let of_pass = of_pass.expect("records").remove(0).attention;
            let on_device = attend(&transformer, &[traced], &options, &Cancel::default()).await;
            let on_device = on_device.expect("attends")[0].read().await.expect("reads");
            assert!(of_pass.iter().any(|layer| layer.bands.is_some()), "{place}: has bands");
            for others in [&of_search, &on_device] {
                assert_eq!(others.len(), of_pass.len(), "{place}");
                for (got, want) in others.iter().zip(&of_pass) {
                    assert_eq!(
                        (got.kind, got.layer, got.columns()),
                        (want.kind, want.layer, want.columns()),
                        "{place}"
                    );
                    assert_eq!(
                        got.bands.as_ref().map(|bands| &bands.layout),
                        want.bands.as_ref().map(|bands| &bands.layout)
                    );
                    for (head, query) in
                        (0..got.heads).flat_map(|head| (0..got.queries).map(move |query| (head, query)))
                    {
                        let rows = [got, want].map(|layer| layer.row(head, query));
                        assert_close(&place, &rows[0], &rows[1], TOLERANCE);
                    }
                }
            }
        }
    }
}

/// A layer with made-up weights.
fn made(heads: usize, length: usize, layout: BandLayout) -> LayerAttention {
    let mut random = 7_u32;
    let mut next = || {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) as f32 / (1 << 24) as f32
    };
    let [own, of_globals] = layout.elements(heads, length, length);
    let weights = (0..own).map(|_| next()).collect();
    let global_weights = (0..of_globals).map(|_| next()).collect();
    let bands = Some(Bands { layout, global_weights });
    LayerAttention {
        kind: AttentionKind::Encoder,
        layer: 0,
        heads,
        queries: length,
        keys: length,
        weights,
        bands,
    }
}

/// Sums of all tokens by a learned projection.
fn projected(count: usize) -> BandLayout {
    BandLayout { band: Band::NONE, sides: SideColumns::Projections(count), global_queries: Vec::new() }
}

fn layouts() -> Vec<(usize, BandLayout)> {
    let tokens = |band, globals: &[usize]| BandLayout {
        band,
        sides: SideColumns::Tokens(globals.to_vec()),
        global_queries: globals.to_vec(),
    };
    let blocks = Band { block: 8, left: 8, right: 8 };
    let ends: Vec<usize> = (0..8).chain(96..101).collect();
    let sums = SideColumns::Sums { count: 9, tokens: 10 };
    vec![
        (97, tokens(Band::window(3), &[])),
        (97, tokens(Band::window(3), &[0, 40, 41, 96])),
        (101, tokens(blocks, &ends)),
        (97, BandLayout { band: Band::window(5), sides: sums, global_queries: Vec::new() }),
        (5, tokens(Band::window(5), &[1])),
        (97, projected(6)),
    ]
}

/// A picture of bands is that of the same weights as a matrix, at every size, position, scale and number of rows.
#[pollster::test]
async fn bands_are_painted_as_matrices() {
    for device in devices().await {
        let painter = Painter::new(&device);
        for (length, layout) in layouts() {
            let layer = made(2, length, layout);
            let whole = layer.clone().whole();
            let shape = shape_of(&[&layer]).expect("has cells");
            assert_eq!(shape, shape_of(&[&whole]).expect("has cells"));
            let mut maps = painter.load(&[&layer]).expect("loads");
            for (size, zoom) in
                [([300, 150], 1.0), ([90, 60], 1.0), ([33, 20], 1.0), ([11, 9], 1.0), ([80, 80], 9.0)]
            {
                for (scale, rows) in
                    [(Scale::Linear, u32::MAX), (Scale::Rows, 43), (Scale::Logarithmic, u32::MAX)]
                {
                    let mut view = View { scale, rows, colours: ColourMap::Greys, ..View::fit(shape, size) };
                    view.zoom([20.0, 10.0], zoom);
                    let want = paint(&[&whole], &view).expect("paints");
                    for got in [paint(&[&layer], &view), painter.paint(&mut maps, &view).await] {
                        let got = got.expect("paints");
                        // blocks have 11 bits of a weight
                        let apart = got.rgba.iter().zip(&want.rgba).map(|(&a, &b)| a.abs_diff(b)).max();
                        assert!(apart <= Some(2), "{layer:?} in {view:?}: {apart:?}");
                    }
                }
            }
        }
    }
}

fn sentence(layer: LayerAttention) -> TracedSentence {
    let token = |id| Token { id, piece: "▁a".into(), special: id == 0, range: None };
    TracedSentence {
        source_tokens: (0..layer.queries).map(|index| token(index as u32)).collect(),
        target_tokens: vec![TargetToken { token: token(0), ..TargetToken::default() }; 3],
        prompt: 1,
        attention: vec![layer],
        ..TracedSentence::default()
    }
}

fn trace(layer: LayerAttention) -> Trace {
    Trace { model: "made up".into(), sentences: vec![sentence(layer)], anatomy: None }
}

#[test]
fn bands_survive_files() {
    for (length, layout) in layouts() {
        let trace = trace(made(2, length, layout));
        let json = trace.to_json().expect("writes");
        assert!(json.starts_with(r#"{"format":"wordloom.trace","version":2,"#), "{json:.60}");
        assert_eq!(Trace::from_bytes(json.as_bytes()).expect("reads"), trace);
        assert_eq!(Trace::from_bytes(&trace.to_safetensors().expect("writes")).expect("reads"), trace);
    }
}

/// Files that earlier programs wrote.
#[test]
fn version_1_still_opens() {
    for name in ["small.json", "small.safetensors"] {
        let bytes = read(&repository(&format!("fuzz/seeds/trace/{name}")));
        let trace = Trace::from_bytes(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(trace.sentences[0].attention.iter().all(|layer| layer.bands.is_none()));
        // without bands, a file is what it was
        assert!(trace.to_json().expect("writes").contains(r#""version":1,"#));
    }
}

/// Files of version 2 from another hand, with the documented keys.
#[test]
fn documented_files_open() {
    let [json, tensors] = ["bands.json", "bands.safetensors"].map(|name| {
        let bytes = read(&repository(&format!("fuzz/seeds/trace/{name}")));
        Trace::from_bytes(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"))
    });
    assert_eq!(json, tensors);
    let sentence = &json.sentences[0];
    let [first, second] = &sentence.attention[..] else { panic!("two layers") };
    assert_eq!(*first.row(0, 0), [1.0 / 6.0; 6]);
    assert_eq!(*first.row(0, 3), [0.25, 0.0, 0.25, 0.25, 0.25, 0.0]);
    assert_eq!(*second.row(0, 5), [0.0, 0.0, 0.0, 0.0, 0.2, 0.2, 0.2, 0.2]);
    assert_eq!(sentence.column_labels(AttentionKind::Encoder)[6..], ["Σ 0–2", "Σ 3–5"]);
}

/// Layouts that do not fit their weights or their text are errors, whatever they claim.
#[test]
fn hostile_bands_are_refused() {
    let (length, layout) = layouts().remove(1);
    let json: serde_json::Value =
        serde_json::from_str(&trace(made(2, length, layout)).to_json().unwrap()).unwrap();
    let huge = u64::MAX;
    let cases = [
        ("/version", serde_json::json!(1), "version 1 does not know"),
        ("/version", serde_json::json!(4), "version 4"),
        ("/sentences/0/attention/0/kind", "cross".into(), "only an encoder"),
        ("/sentences/0/attention/0/bands/block", 0.into(), "a band of 0"),
        ("/sentences/0/attention/0/bands/block", huge.into(), "in a text of 97"),
        ("/sentences/0/attention/0/bands/left", huge.into(), "in a text of 97"),
        ("/sentences/0/attention/0/bands/right", 4.into(), "its tokens need"),
        ("/sentences/0/attention/0/bands/side_tokens", serde_json::json!([0, 0, 1, 2]), "out of order"),
        ("/sentences/0/attention/0/bands/side_tokens", serde_json::json!([0, 1, 2, 97]), "beyond its 97"),
        ("/sentences/0/attention/0/bands/global_queries", serde_json::json!([huge]), "beyond its 97"),
        ("/sentences/0/attention/0/bands/global_queries", serde_json::json!([3]), "0.encoder.0.global"),
        ("/sentences/0/attention/0/bands/global_weights/3", serde_json::json!(7.0), "the weight 7"),
        ("/sentences/0/attention/0/shape", serde_json::json!([huge, 97, 97]), "its tokens need"),
        ("/sentences/0/attention/0/shape", serde_json::json!([2, 97, 96]), "its tokens need"),
    ];
    for (place, value, part) in cases {
        let mut json = json.clone();
        *json.pointer_mut(place).expect("is there") = value;
        let error = Trace::from_bytes(json.to_string().as_bytes()).expect_err(part);
        assert!(error.to_string().contains(part), "{place}: {error}");
    }
    let mut json = json;
    let layer = json.pointer_mut("/sentences/0/attention/0/bands").expect("is there");
    layer["sums"] = serde_json::json!({"count": 1, "tokens": 1});
    let error = Trace::from_bytes(json.to_string().as_bytes()).expect_err("two kinds of side keys");
    assert!(error.to_string().contains("both global tokens and sums"), "{error}");
}

#[test]
fn hostile_projections_are_refused() {
    let json: serde_json::Value =
        serde_json::from_str(&trace(made(2, 97, projected(6))).to_json().unwrap()).unwrap();
    let cases = [
        ("projections", serde_json::json!(0), "0 projected sums"),
        ("projections", serde_json::json!(97), "in a text of 97"),
        ("projections", serde_json::json!(u64::MAX), "in a text of 97"),
        ("projections", serde_json::json!(7), "its tokens need"),
        ("block", serde_json::json!(1), "projected sums and tokens"),
        ("left", serde_json::json!(u64::MAX), "projected sums and tokens"),
        ("side_tokens", serde_json::json!([0]), "projected sums and tokens"),
        ("sums", serde_json::json!({"count": 6, "tokens": 2}), "projected sums and tokens"),
        ("global_queries", serde_json::json!([0]), "projected sums and tokens"),
    ];
    for (key, value, part) in cases {
        let mut json = json.clone();
        json.pointer_mut("/sentences/0/attention/0/bands").expect("is there")[key] = value.clone();
        let error = Trace::from_bytes(json.to_string().as_bytes()).expect_err(part);
        assert!(error.to_string().contains(part), "{key} {value}: {error}");
    }
}

/// Sums are no tokens: they have no distance and are nobody's neighbour.
#[test]
fn statistics_leave_sums_out_of_places() {
    for (count, layout) in [
        (4, projected(4)),
        (
            3,
            BandLayout {
                band: Band::window(0),
                sides: SideColumns::Sums { count: 3, tokens: 2 },
                global_queries: Vec::new(),
            },
        ),
    ] {
        let columns = layout.columns();
        let mut layer = made(1, 6, layout);
        layer.weights =
            (0..6 * columns).map(|i| if i % columns < count { 1.0 } else { 0.0 } / count as f32).collect();
        let statistics = sentence(layer).statistics();
        let numbers = &statistics[0].numbers;
        assert_eq!((numbers.distance, numbers.next, numbers.previous, numbers.special), (0.0, 0.0, 0.0, 0.0));
        assert!((numbers.entropy - (count as f64).ln()).abs() < 1e-6, "{numbers:?}");
        assert_eq!(numbers.full_rank, if count == 4 { 4 } else { 6 });
    }
}

/// Random changes give an error, or a trace that every analysis takes.
#[test]
fn damaged_bands_do_no_harm() {
    let mut random = 1_u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    let layout = BandLayout {
        band: Band::window(2),
        sides: SideColumns::Tokens(vec![1, 4]),
        global_queries: vec![1, 4],
    };
    let trace = trace(made(2, 9, layout));
    let mut sound = 0;
    for file in [trace.to_json().unwrap().into_bytes(), trace.to_safetensors().unwrap()] {
        for _ in 0..3000 {
            let mut damaged = file.clone();
            for _ in 0..=next(3) {
                let place = next(damaged.len());
                match next(3) {
                    0 => damaged[place] = next(256) as u8,
                    1 => damaged[place] = b"0123456789-e[]{}\","[next(18)],
                    _ => _ = damaged.remove(place),
                }
            }
            let Ok(trace) = Trace::from_bytes(&damaged) else { continue };
            sound += 1;
            trace.statistics();
            let layers: Vec<&LayerAttention> = trace.sentences[0].attention.iter().collect();
            trace.sentences[0].combined_heads();
            if let Ok(shape) = shape_of(&layers) {
                assert_eq!(trace.sentences[0].column_labels(layers[0].kind).len(), shape.keys);
                for size in [[40, 30], [3, 3]] {
                    paint(&layers, &View::fit(shape, size)).expect("a sound view");
                }
            }
        }
    }
    assert!(sound > 100, "most changes of weights are sound: {sound}");
}

/// Uniform bands: numbers count the keys that a query sees.
#[test]
fn statistics_are_over_what_a_query_sees() {
    let layout =
        BandLayout { band: Band::window(1), sides: SideColumns::Tokens(vec![0]), global_queries: vec![0] };
    let length = 6;
    let mut layer = made(1, length, layout);
    layer.weights = vec![0.0; layer.weights.len()];
    for query in 0..length {
        // columns: token 0, then query - 1, query, query + 1
        let seen: Vec<usize> = [Some(0), query.checked_sub(1), Some(query), Some(query + 1)]
            .into_iter()
            .enumerate()
            .filter(|&(column, key)| key.is_some_and(|key| key < length && (column == 0 || key > 0)))
            .map(|(column, _)| column)
            .collect();
        seen.iter().for_each(|column| layer.weights[4 * query + column] = 1.0 / seen.len() as f32);
    }
    layer.bands.as_mut().unwrap().global_weights = vec![1.0 / 6.0; 6];
    let statistics = sentence(layer).statistics();
    let numbers = &statistics[0].numbers;
    assert!((numbers.relative_entropy - 1.0).abs() < 1e-6, "{numbers:?}");
    assert_eq!((numbers.queries, numbers.full_rank), (6, 6));
    // 1/6, 1/3, 1/4, 1/4, 1/4, 1/3 on the own position
    assert!((numbers.diagonal - (1.0 / 6.0 + 2.0 / 3.0 + 3.0 / 4.0) / 6.0).abs() < 1e-6, "{numbers:?}");
}

/// A trace of 16,384 tokens: memory, file and picture grow with the length, not with its square.
#[pollster::test]
async fn sixteen_thousand_tokens_have_a_trace() {
    const LENGTH: usize = 16_384;
    let transformer = load(&Device::Cpu, "longt5_local");
    let asked = request((0..LENGTH as u32).map(|i| 4 + i * 7 % 90).collect());
    let layers = encoder_layers(&transformer, &asked, 64 << 20).await;
    let [first, ..] = &layers[..] else { panic!("fits into the memory") };
    let width = first.bands.as_ref().expect("windows").layout.columns();
    assert_eq!(first.weights.len(), first.heads * LENGTH * width);
    // too little memory leaves a layer out, with its size
    let kinds = vec![AttentionKind::Encoder];
    let options = TraceOptions { scores: false, memory: 1 << 20, kinds, ..TraceOptions::default() };
    let left_out =
        record(&transformer, &[asked], &options, &Cancel::default()).await.expect("records").remove(0);
    assert_eq!(left_out.left_out[0].bytes, 4 * first.weights.len() as u64);
    let shape = shape_of(&[first]).expect("has cells");
    let picture = paint(&[first], &View::fit(shape, [1200, 300])).expect("paints");
    let background = View::fit(shape, [1200, 300]).background;
    assert!(picture.rgba.as_chunks::<4>().0.iter().any(|pixel| *pixel != background));
    let trace = trace(first.clone());
    assert!(trace.statistics().iter().all(|head| head.numbers.full_rank == 0), "too large for a rank");
    let file = trace.to_safetensors().expect("writes");
    assert!(file.len() < 4 * first.weights.len() + (4 << 20), "{} bytes", file.len());
    assert_eq!(Trace::from_bytes(&file).expect("reads"), trace);
}

/// On the CPU, a search says how far the encoder is, and stops within it.
#[pollster::test]
async fn a_long_text_is_read_with_progress_and_can_be_stopped() {
    // reports come every 50 ms: many layers, so that a fast machine has several to make
    let config = std::fs::read_to_string(data("models").join("longt5_local/config.json")).expect("is there");
    let config = config.replace("\"num_layers\": 3", "\"num_layers\": 36");
    let model = Model::random(ModelFiles::memory("deep", [("config.json", config.into_bytes())]), 1);
    let transformer =
        Transformer::load(&Device::Cpu, &model.expect("is sound"), &mut |_| {}).expect("is sound");
    let input_ids: Vec<u32> = (0..16_384).map(|i| 4 + i * 7 % 90).collect();
    let asked = GenerationConfig { num_beams: Some(1), max_length: Some(4), ..GenerationConfig::default() };
    let options = resolve(&asked, transformer.generation_config(), transformer.config(), &input_ids);
    let asked = [GenerateRequest::new(input_ids, options.expect("sound options"))];
    let mut fractions = Vec::new();
    let mut watch = |progress: Progress<'_>| {
        if let Progress::Encoding { fraction, .. } = progress {
            fractions.push(fraction);
        }
    };
    let whole = transformer.generate(&asked, GenerateOptions::default().watch(&mut watch)).await;
    let whole = whole.expect("generates");
    assert!(
        fractions.len() >= 2 && fractions.is_sorted() && *fractions.last().unwrap() < 1.0,
        "{fractions:?}"
    );
    let cancel = Cancel::default();
    let mut steps = 0;
    let mut watch = |progress: Progress<'_>| match progress {
        Progress::Encoding { .. } => cancel.cancel(),
        _ => steps += 1,
    };
    let options = GenerateOptions::default().cancel(&cancel).watch(&mut watch);
    let stopped = transformer.generate(&asked, options).await;
    assert!(matches!(stopped, Err(GenerateError::Cancelled)), "{stopped:?}");
    assert_eq!(steps, 0, "no step of the decoder");
    // the session is sound after it
    let again = transformer.generate(&asked, GenerateOptions::default()).await.expect("generates");
    assert_eq!(again[0].hypotheses, whole[0].hypotheses);
}
