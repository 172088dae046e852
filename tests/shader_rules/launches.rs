//! One launch of every kernel, in every variant and weight precision.

use wordloom::activation::Activation;
use wordloom::join::Join;
use wordloom::kernels::attention::AttentionShape;
use wordloom::kernels::cached_attention::CachedAttentionShape;
use wordloom::kernels::edits::{Edits, HistoryBuffers};
use wordloom::kernels::embed::EmbedShape;
use wordloom::kernels::heatmap::{Band, GridShape};
use wordloom::kernels::layer_norm::LayerNormShape;
use wordloom::kernels::linear::LinearShape;
use wordloom::kernels::log_softmax_top_k::{ScoreBuffers, TopKShape};
use wordloom::kernels::search_state::{HistoryEdits, SearchShape};
use wordloom::kernels::selected_linear::SelectedShape;
use wordloom::kernels::shares::Shares;
use wordloom::kernels::ssru::SsruShape;
use wordloom::kernels::{self, Dispatch};
use wordloom::precision::WeightPrecision;
use wordloom::scores::{ScoreRules, ScoreSpace, TermScoresShape};

/// One launch of every kernel, with all of its constants.
pub fn launches() -> Vec<Dispatch> {
    use wordloom::kernels::*;
    let columns = ColumnLayout { stride: 96, first: 0 };
    let linear_shape = LinearShape {
        rows: 3,
        inputs: 32,
        outputs: 96,
        scale: 0.5,
        bias: true,
        activation: Activation::Gelu,
        join: Some(Join::Multiply),
        precision: WeightPrecision::F32,
    };
    let shape = AttentionShape {
        batch: 2,
        heads: 4,
        queries: 5,
        keys: 6,
        d_head: 8,
        d_value: 16,
        scale: 0.5,
        causal: true,
    };
    let cached = CachedAttentionShape { rows: 2, heads: 4, d_head: 8, d_value: 16, capacity: 16, scale: 0.5 };
    let norm = LayerNormShape { rows: 2, width: 32, epsilon: 1e-5, residual: true, centered: false };
    let embedding = EmbedShape {
        rows: 2,
        d_model: 32,
        scale: 1.0,
        positions: true,
        zero_start: false,
        precision: WeightPrecision::F32,
    };

    let mut launches = vec![
        append_kv::dispatch(2, 64, 32, 48),
        append_rows::dispatch(2, &[32, 96], 64, 32),
        attention_scores::dispatch(&shape, columns, columns, Some(3), true),
        attention_weights::dispatch(&shape, columns, columns, Some(3)),
        sum_blocks::dispatch(1000, AdapterClass::Hardware),
        ssru::dispatch(&SsruShape { sequences: 2, length: 3, width: 8, cells: 0, capacity: 0 }),
        ssru::dispatch(&SsruShape { sequences: 2, length: 1, width: 8, cells: 16, capacity: 8 }),
        column_tokens::dispatch(2, 1, column_tokens::Places::of_best(4), 64, AdapterClass::Hardware),
    ];
    launches.extend(banded_launches().into_iter().chain(launches_of_kinds(&shape)));
    for precision in WeightPrecision::ALL {
        launches.push(embed::dispatch(&EmbedShape { precision, ..embedding }, 0..64));
        let selected =
            SelectedShape { rows: 2, beams: 1, inputs: 32, columns: 70, scale: 1.0, bias: true, precision };
        for class in [AdapterClass::Software, AdapterClass::Hardware] {
            launches.push(selected_linear::dispatch(&selected, 64..128, class));
        }
    }
    for variant in attention::Variant::ALL {
        launches.push(attention::dispatch_variant(&shape, columns, columns, columns, Some(3), variant));
        launches.push(cached_attention::dispatch_variant(&cached, Some(3), variant));
    }
    for variant in [layer_norm::Variant::Invocation, layer_norm::Variant::Workgroup] {
        launches.push(layer_norm::dispatch_variant(&norm, variant));
    }
    for variant in linear::Variant::ALL {
        for precision in WeightPrecision::ALL {
            let shape = LinearShape { precision, ..linear_shape };
            launches.push(linear::dispatch_variant(&shape, 64..96, variant));
        }
    }
    for variant in linear::Variant::ALL {
        for precision in WeightPrecision::ALL {
            let linear = LinearShape { precision, join: None, ..linear_shape };
            let layer = linear::dispatch_variant(&linear, 64..96, variant);
            let norm = layer_norm::dispatch(&norm, AdapterClass::Hardware);
            launches.extend(normalized_linear::fuse(&norm, &layer, true));
        }
    }
    let grid = GridShape { layers: 2, heads: 3, queries: 5, keys: 7 };
    launches.extend(heatmap::maxima(grid));
    launches.extend(map_blocks::launches(grid));
    launches.push(heatmap::paint(grid, 0, 70, &Band { layer: 1, rows: 20..30 }));
    launches.extend([log_probability::chunk_dispatch(2, 100), log_probability::dispatch(2, 100)]);
    launches.extend(search_launches(linear_shape));
    launches.extend(training_launches());
    launches
}

/// Additive attention, and projected keys.
fn launches_of_kinds(shape: &AttentionShape) -> Vec<Dispatch> {
    use wordloom::kernels::{AdapterClass, ColumnLayout, attention, attention_weights, low_rank};
    let columns = ColumnLayout { stride: 96, first: 32 };
    let projected = wordloom::shape::LowRankShape { batch: 2, length: 9, width: 30, rank: 3 };
    let mut launches = low_rank::rotations(&projected, columns);
    launches.push(low_rank::dispatch(&projected, columns));
    launches.push(attention_weights::additive_dispatch(shape, columns, columns, Some(3)));
    let sums = wordloom::shape::ProjectedShape { batch: 2, length: 9, room: 4, keys: 30, values: 30 };
    let factors = wordloom::kernels::project_length::FactorShape { rank: 4, positions: 11 };
    launches.push(wordloom::kernels::project_length::dispatch(&sums, factors, columns));
    for class in [AdapterClass::Software, AdapterClass::Hardware] {
        launches.push(attention::additive_dispatch(shape, columns, columns, columns, Some(3), class));
    }
    launches
}

fn banded_launches() -> Vec<Dispatch> {
    use wordloom::kernels::banded_attention::{self, BandedLayout};
    use wordloom::kernels::{ColumnLayout, gather_rows, sum_rows};
    use wordloom::shape::{self, BandedShape, SideBlocks};
    let shape = BandedShape {
        batch: 2,
        heads: 4,
        length: 9,
        d_head: 8,
        d_value: 8,
        scale: 0.5,
        band: shape::Band::window(2),
        reach: Some(3),
        most_sides: 2,
        side_copies: 3,
        side_blocks: Some(SideBlocks { tokens: 4, reach: 1 }),
    };
    let columns = ColumnLayout { stride: 96, first: 0 };
    let layout = BandedLayout {
        queries: columns,
        keys: columns,
        values_first: 64,
        side_keys: columns,
        side_values_first: 64,
    };
    vec![
        banded_attention::dispatch(&shape, &layout),
        banded_attention::weights_dispatch(&shape, &layout),
        gather_rows::dispatch(3, 32, [5, 2]),
        sum_rows::dispatch(3, 32, 9),
    ]
}

/// The launches of training, but for attention.
fn training_launches() -> Vec<Dispatch> {
    use wordloom::kernels::*;
    let linear = linear_gradient::LinearGradientShape { rows: 3, inputs: 32, outputs: 96, scale: 0.5 };
    let activation = activate::ActivateShape {
        rows: 2,
        width: 7,
        activation: Activation::Gelu,
        factor: true,
        earlier: true,
    };
    let norm = LayerNormShape { rows: 2, width: 32, epsilon: 1e-5, residual: true, centered: false };
    let loss = softmax_loss::SoftmaxLossShape {
        rows: 2,
        vocabulary: 100,
        smoothing: 0.1,
        weight_word: 4,
        gradient: true,
    };
    let adam = adam::AdamShape {
        beta1: 0.9,
        beta2: 0.98,
        epsilon: 1e-9,
        weight_decay: 0.0,
        rate_word: 4,
        correction_words: [5, 6],
    };
    let dropout = dropout::Dropout { probability: 0.1, place: 1 };
    let mut launches = vec![
        activate::dispatch(&activation),
        activate::gradient_dispatch(&activation),
        layer_norm_gradient::dispatch(&norm, true),
        layer_norm_gradient::weight_dispatch(&norm, Shares::new(2, 1)),
        column_sums::dispatch(3, 96, Shares::new(3, 1)),
        softmax_loss::dispatch(&loss, 3),
        copy_rows::dispatch(2, 32, 1, 0),
        dropout::dispatch(2, 32, dropout, true),
        clip::sum_squares_dispatch(5000, 1),
        clip::factor_dispatch(7, Some(1.0)),
        adam::dispatch(&adam, 5000),
        sum_losses::dispatch(2, 4, 5, true),
        tie_rows::dispatch(9, 4, tie_rows::TiedRows::First),
    ];
    let (earlier, whole) = (linear_gradient::Earlier::Buffer, Shares::new(32, 1));
    launches.push(linear_gradient::input_dispatch(&linear, 64..96, earlier, whole));
    launches.push(linear_gradient::weight_dispatch(&linear, 64..96, whole));
    launches.push(sum_shares::dispatch(96, 5, earlier));
    for layout in [embedding_gradient::TableLayout::Panels, embedding_gradient::TableLayout::Rows] {
        let shape = embedding_gradient::EmbeddingGradientShape {
            rows: 5,
            width: 32,
            segments: 6,
            scale: 1.0,
            layout,
        };
        launches.push(embedding_gradient::dispatch(&shape, 64..96));
    }
    let factors = project_length::FactorShape { rank: 4, positions: 11 };
    let packed = project_packed::PackedShape { rows: 9, widths: [32, 32, 16], factors };
    let layouts = [ColumnLayout { stride: 48, first: 32 }, ColumnLayout { stride: 80, first: 64 }];
    launches.push(project_packed::dispatch(&packed));
    launches.push(project_packed::row_gradient_dispatch(&packed));
    launches.push(project_packed::factor_gradient_dispatch(9, factors, 16, layouts));
    let norm = batch_norm::BatchNormShape { rows: 9, width: 32, epsilon: 1e-5, momentum: 0.1 };
    launches.push(batch_norm::dispatch(&norm));
    launches.push(batch_norm::statistics_dispatch(&norm));
    launches.push(batch_norm::sums_dispatch(&norm));
    launches.push(batch_norm::gradient_dispatch(&norm));
    launches.extend(ranged_attention_launches(dropout));
    launches
}

fn ranged_attention_launches(dropout: kernels::dropout::Dropout) -> Vec<Dispatch> {
    use wordloom::kernels::ranged_attention::*;
    let shape = RangedAttentionShape {
        q_rows: 20,
        key_rows: 20,
        heads: 2,
        d_head: 128,
        d_value: 128,
        q_width: 768,
        q_first: 0,
        kv_width: 768,
        k_first: 256,
        v_first: 512,
        scale: 0.1,
        reach: Some(3),
        dropout: Some(dropout),
    };
    let odd = RangedAttentionShape { d_head: 5, d_value: 7, reach: None, dropout: None, ..shape };
    let launches = |shape| {
        [
            dispatch(shape),
            statistics_dispatch(shape),
            query_gradient_dispatch(shape),
            key_gradient_dispatch(shape),
            bias_gradient_dispatch(shape),
        ]
    };
    launches(&shape).into_iter().chain(launches(&odd)).collect()
}

/// The launches of a search, greedy and with beams, with and without notes of the output layer.
fn search_launches(linear_shape: LinearShape) -> Vec<Dispatch> {
    use wordloom::kernels::*;
    let rules = ScoreRules { space: ScoreSpace::LogProbabilities, renormalize: false };
    let top = TopKShape { rows: 2, vocabulary: 100, candidates: 4, rules };
    let mut launches = Vec::new();
    for beams in [1, 2] {
        let search = SearchShape {
            sentences: 2 / beams,
            beams,
            candidates: 4,
            ends: 1,
            capacity: 32,
            first_position: 0,
            pad_position: None,
        };
        let edits =
            HistoryEdits { bans: true, repeats: true, phrases: 1, penalty: true, columns: false, search };
        let buffers = HistoryBuffers {
            search: (),
            slots: (),
            slot_tokens: (),
            bans: (),
            phrases: (),
            row_bans: (),
            columns: (),
        };
        let nothing = ScoreBuffers { logits: (), chunks: (), nothing: () };
        let noted = HistoryEdits { repeats: false, phrases: 0, penalty: false, ..edits };
        for class in [AdapterClass::Software, AdapterClass::Hardware] {
            for edits in [Edits::Listed { capacity: 8, list: () }, Edits::ByHistory(edits, buffers)] {
                let mut all = top.chunk_launches(&edits, nothing, class);
                all.extend(top.best_launches(&edits, nothing, (), class));
                launches.extend(all.into_iter().map(|(dispatch, _)| dispatch));
            }
            let terms = TermScoresShape { wanted: 3, source: 9, heads: 4, beams };
            launches.push(term_scores::dispatch(&top, &terms, class));
            match beams {
                1 => launches.push(search.greedy_launch(100, class)),
                _ => launches.extend([search.beam_launch(), search.reorder_launch()]),
            }
        }
        let notes = top.chunk_launches(&Edits::ByHistory(noted, buffers), nothing, AdapterClass::Hardware);
        for variant in linear::Variant::ALL {
            for precision in WeightPrecision::ALL {
                let shape = LinearShape { rows: 2, outputs: 100, precision, join: None, ..linear_shape };
                let layer = linear::dispatch_variant(&shape, 64..100, variant);
                launches.extend(notes.last().and_then(|(notes, _)| output_layer::fuse(&layer, notes)));
            }
        }
    }
    launches
}
