//! Building and planning, without a device: errors name shapes that do not fit, and values share a buffer only if their
//! lifetimes allow it.

use wordloom::activation::Activation;
use wordloom::graph::{Columns, Graph, GraphError, Plan, StateTable, WeightTable};
use wordloom::ops::{AttentionScores, Cache, Linear, Normalization};
use wordloom::shape::{AttentionShape, Shape};

/// A chain of `layers` equal 8 → 8 layers.
fn chain(layers: usize) -> Graph {
    let (mut states, mut weights) = (StateTable::default(), WeightTable::default());
    let input = states.f32("input", 3, 8);
    let output = states.f32("output", 3, 8);
    let mut graph = Graph::new("chain");
    let mut x = graph.state(input);
    for layer in 0..layers {
        let linear = Linear { weight: weights.matrix(format!("{layer}"), 8, 8), bias: None, scale: 1.0 };
        x = graph.linear(x, linear, Activation::Relu, None).expect("fits");
    }
    graph.keep(x, output).expect("fits");
    graph
}

#[test]
fn a_chain_needs_two_buffers_however_long_it_is() {
    // the first reads a state and the last writes one; values between them alternate buffers
    for (layers, buffers) in [(1, 0), (2, 1), (3, 2), (10, 2), (50, 2)] {
        let plan = Plan::new(chain(layers));
        assert_eq!(plan.buffer_count(), buffers, "{layers} layers");
        assert_eq!(plan.buffer_bytes(), buffers * 3 * 8 * 4);
    }
}

#[test]
fn a_value_keeps_its_buffer_until_its_last_reader() {
    let mut weights = WeightTable::default();
    let mut states = StateTable::default();
    let mut graph = Graph::new("residual");
    let input = graph.state(states.f32("input", 2, 4));
    let mut linear = |graph: &mut Graph, x, residual| {
        let linear = Linear { weight: weights.matrix("w", 4, 4), bias: None, scale: 1.0 };
        graph.linear(x, linear, Activation::Identity, residual).expect("fits")
    };
    let kept = linear(&mut graph, input, None);
    let a = linear(&mut graph, kept, None);
    let b = linear(&mut graph, a, None);
    let last = linear(&mut graph, b, Some(kept));
    graph.keep(last, states.f32("output", 2, 4)).expect("fits");
    // `kept` lives to the end, and a layer does not write what it reads
    assert_eq!(Plan::new(graph).buffer_count(), 3);
}

#[test]
fn a_large_value_makes_room_for_smaller_ones() {
    let mut weights = WeightTable::default();
    let mut states = StateTable::default();
    let mut graph = Graph::new("feed forward");
    let mut x = graph.state(states.f32("input", 5, 6));
    for width in [32, 6, 32, 6] {
        let inputs = graph.shape(x).width;
        let linear = Linear { weight: weights.matrix("w", width, inputs), bias: None, scale: 1.0 };
        x = graph.linear(x, linear, Activation::Gelu, None).expect("fits");
    }
    graph.keep(x, states.f32("output", 5, 6)).expect("fits");
    let plan = Plan::new(graph);
    assert_eq!(plan.buffer_count(), 2);
    assert_eq!(plan.buffer_bytes(), (5 * 32 + 5 * 8) * 4, "rows are padded to a multiple of four");
}

/// A layer and the norm before it make two values; both live until their last reader.
#[test]
fn a_normalized_input_has_a_buffer_of_its_own() {
    let (mut states, mut weights) = (StateTable::default(), WeightTable::default());
    let state = states.f32("x", 5, 8);
    let mut graph = Graph::new("norms");
    let x = graph.state(state);
    let norm = Normalization { gamma: weights.vector("gamma", 8), beta: None, running: None, epsilon: 1e-5 };
    let linear = Linear { weight: weights.matrix("w", 8, 8), bias: None, scale: 1.0 };
    let normalized = graph.layer_norm(x, None, norm).expect("fits");
    let y = graph.linear(normalized, linear, Activation::Identity, None).expect("fits");
    let y = graph.linear(y, linear, Activation::Identity, None).expect("fits");
    let last = graph.linear(y, linear, Activation::Identity, Some(normalized)).expect("fits");
    graph.keep(last, states.f32("output", 5, 8)).expect("fits");
    assert_eq!(Plan::new(graph).buffer_count(), 3);
}

#[test]
fn what_nothing_outside_hears_of_is_left_out() {
    let (mut states, mut weights) = (StateTable::default(), WeightTable::default());
    let [input, output] = ["input", "output"].map(|name| states.f32(name, 2, 4));
    let linear = Linear { weight: weights.matrix("w", 4, 4), bias: None, scale: 1.0 };
    let mut graph = Graph::new("branches");
    let x = graph.state(input);
    let mut layer = |x| graph.linear(x, linear, Activation::Identity, None).expect("fits");
    let shared = layer(x);
    let kept = layer(shared);
    let side = layer(shared);
    layer(side);
    graph.keep(kept, output).expect("fits");
    let plan = Plan::new(graph);
    assert_eq!((plan.node_count(), plan.buffer_count()), (2, 1), "the side branch is computed");

    // no value of it is kept, but its caches are
    let mut graph = Graph::new("caches");
    let qkv = graph.state(states.f32("qkv", 2, 12));
    let [keys, values] = ["keys", "values"].map(|name| states.f32(name, 4, 4));
    graph.append_kv(qkv, states.u32("slots", 2, 1), keys, values).expect("fits");
    graph.append_rows(&[qkv, qkv], states.u32("slots", 2, 1), states.f32("rows", 4, 8)).expect("fits");
    assert_eq!(Plan::new(graph).node_count(), 2);
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let (mut states, mut weights) = (StateTable::default(), WeightTable::default());
    let x_state = states.f32("x", 6, 8);
    let mask_state = states.u32("mask", 2, 7);
    let mut graph = Graph::new("wrong");
    graph.enter("decoder.2.cross");
    let x = graph.state(x_state);
    let narrow = Linear { weight: weights.matrix("w", 4, 9), bias: None, scale: 1.0 };
    let error = graph.linear(x, narrow, Activation::Identity, None).unwrap_err();
    assert_eq!(error.to_string(), "linear (decoder.2.cross): x is F32 [6, 8], but F32 [6, 9] is needed");

    let biased = Linear { weight: weights.matrix("w", 4, 8), bias: Some(weights.vector("b", 5)), scale: 1.0 };
    let error = graph.linear(x, biased, Activation::Identity, None).unwrap_err();
    assert_eq!(error.to_string(), "linear (decoder.2.cross): bias is [1, 5], but [1, 4] is needed");

    let shape = AttentionShape {
        batch: 2,
        heads: 2,
        queries: 3,
        keys: 3,
        d_head: 4,
        d_value: 4,
        scale: 0.5,
        causal: false,
    };
    let all = Columns { value: x, first: 0 };
    let scores = |shape, keys, key_mask, distance_bias| AttentionScores {
        shape,
        queries: all,
        keys,
        key_mask,
        distance_bias,
    };
    let mask = graph.state(mask_state);
    let error = graph.attention(scores(shape, all, mask, None), all).unwrap_err();
    assert_eq!(
        error.to_string(),
        "attention (decoder.2.cross): key_mask is U32 [2, 7], but U32 [2, 3] is needed"
    );

    let beyond = Columns { value: x, first: 4 };
    let error = graph.attention(scores(shape, beyond, mask, None), all).unwrap_err();
    assert_eq!(
        error.to_string(),
        "attention (decoder.2.cross): keys is [6, 8], but 6 rows with columns 4..12 is needed"
    );

    let [even, of_three] = [(4, 2), (5, 3)].map(|(rows, heads)| weights.rows("bias", rows, heads));
    let fits = graph.state(states.u32("mask that fits", 2, 3));
    for (table, got) in [(even, "[4, 2]"), (of_three, "[5, 3]")] {
        let error = graph.attention(scores(shape, all, fits, Some(table)), all).unwrap_err();
        let want = "but an odd number of rows of 2 heads is needed";
        assert_eq!(error.to_string(), format!("attention (decoder.2.cross): distance_bias is {got}, {want}"));
    }
    let wide = AttentionShape { d_value: 5, ..shape };
    let error = graph.attention(scores(wide, all, fits, None), all).unwrap_err();
    assert_eq!(
        error.to_string(),
        "attention (decoder.2.cross): values is [6, 8], but 6 rows with columns 0..10 is needed"
    );

    let gate = Linear { weight: weights.matrix("w", 4, 8), bias: None, scale: 1.0 };
    let error = graph.gated_linear(x, gate, Activation::Silu, x).unwrap_err();
    assert_eq!(error.to_string(), "linear (decoder.2.cross): factor is F32 [6, 8], but F32 [6, 4] is needed");

    let error = graph.log_probability(x, x).unwrap_err();
    assert_eq!(
        error.to_string(),
        "log_probability (decoder.2.cross): targets is F32 [6, 8], but U32 [6, 1] is needed"
    );
}

#[test]
fn what_does_not_fit_a_cache_or_a_norm_is_refused_by_name() {
    let (mut states, mut weights) = (StateTable::default(), WeightTable::default());
    let x_state = states.f32("x", 6, 8);
    let mut graph = Graph::new("wrong");
    graph.enter("decoder.2.cross");
    let x = graph.state(x_state);
    let [keys, values] = [("keys", 6), ("values", 4)].map(|(name, width)| states.f32(name, 9, width));
    let slots = states.u32("slots", 6, 1);
    let error = graph.append_kv(x, slots, keys, values).unwrap_err();
    assert_eq!(
        error.to_string(),
        "append_kv (decoder.2.cross): qkv is F32 [6, 8], but F32 [6, 16] is needed"
    );

    let rows = states.f32("rows", 9, 18);
    let error = graph.append_rows(&[x, x], slots, rows).unwrap_err();
    assert_eq!(
        error.to_string(),
        "append_rows (decoder.2.cross): x is [6, 8], but 6 rows with columns 0..9 is needed"
    );

    let [own, slots, counts] =
        [("own", 1), ("all slots", 3), ("counts", 1)].map(|(name, width)| states.u32(name, 6, width));
    let [keys, values] =
        [("cached keys", 2), ("cached values", 4)].map(|(name, width)| states.f32(name, 18, width));
    let cache = Cache { keys, values, cache_slots: own, slots, key_counts: counts };
    let context = graph.cached_attention(2, 1.0, x, &cache, None).expect("fits");
    assert_eq!(graph.shape(context), Shape::new(6, 4));
    let error = graph.cached_attention(2, 1.0, x, &Cache { keys: values, ..cache }, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cached_attention (decoder.2.cross): qkv is F32 [6, 8], but F32 [6, 12] is needed"
    );
    let error = graph.cached_attention(2, 1.0, x, &Cache { cache_slots: slots, ..cache }, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cached_attention (decoder.2.cross): cache_slots is U32 [6, 3], but U32 [6, 1] is needed"
    );

    let mut norm = |width| Normalization {
        gamma: weights.vector("gamma", width),
        beta: None,
        running: None,
        epsilon: 1e-5,
    };
    let (fits, wide) = (norm(8), norm(9));
    for (residual, norm, want) in [
        (None, wide, "x is F32 [6, 8], but F32 [6, 9] is needed"),
        (Some(context), fits, "residual is F32 [6, 4], but F32 [6, 8] is needed"),
    ] {
        let error = graph.layer_norm(x, residual, norm).unwrap_err();
        assert_eq!(error.to_string(), format!("layer_norm (decoder.2.cross): {want}"));
    }

    let error = graph.keep(x, states.f32("elsewhere", 6, 9)).unwrap_err();
    assert!(matches!(error, GraphError::Shape { op: "keep", .. }), "{error}");

    let huge = states.f32("huge", 1 << 20, 8);
    let huge = graph.state(huge);
    let wide = Linear { weight: weights.matrix("w", 1 << 14, 8), bias: None, scale: 1.0 };
    let error = graph.linear(huge, wide, Activation::Identity, None).unwrap_err();
    assert!(matches!(error, GraphError::TooLarge { rows: 1_048_576, width: 16_384, .. }), "{error}");
}
