//! Cases of layers with weights: linear layers, norms before them, the output layer, embeddings, shortlists.

use super::cases::{Cases, Compared};
use super::sizes;
use crate::activation::Activation;
use crate::graph::TRAINING;
use crate::ops::{Linear, Normalization};
use crate::scores::{NO_TOKEN, ScoreRules, ScoreSpace, TopKShape};

/// Sums of several hundred products round differently on each device.
const SUMS: Compared = Compared::Numbers(3e-5, 1e-5);

pub(super) fn linear(cases: &mut Cases) {
    for [rows, inputs, outputs] in sizes::LINEAR {
        let (x, z) = (cases.random(rows, inputs), cases.random(rows, outputs));
        let (weight, bias) = (cases.matrix(outputs, inputs), cases.vector(outputs));
        let what = |join| format!("linear [{rows}, {inputs}] · [{inputs}, {outputs}], {join}");
        let plain = Linear { weight, bias: None, scale: 1.0 };
        let quick =
            [[1, 37, 1003], [4, 65, 63], [16, 64, 64], [65, 20, 68], [70, 132, 1028], [129, 68, 2052]]
                .contains(&[rows, inputs, outputs]);
        cases
            .add(what("plain"), SUMS, |g| {
                let x = g.state(x);
                g.linear(x, plain, Activation::Identity, None)
            })
            .quick(quick);
        cases.add(what("bias, ReLU, sum"), SUMS, |g| {
            let (x, z) = (g.state(x), g.state(z));
            g.linear(x, Linear { bias: Some(bias), ..plain }, Activation::Relu, Some(z))
        });
        cases.add(what("scale, bias, GELU, gate"), SUMS, |g| {
            let (x, z) = (g.state(x), g.state(z));
            g.gated_linear(x, Linear { weight, bias: Some(bias), scale: 0.3 }, Activation::GeluTanh, z)
        });
    }
    // tiles take many rows and outputs only
    let [rows, inputs, outputs] = sizes::MANY_ROWS;
    let (x, weight) = (cases.random(rows, inputs), cases.matrix(outputs, inputs));
    let many_rows = cases.add(format!("linear [{rows}, {inputs}] · [{inputs}, {outputs}]"), SUMS, |g| {
        let x = g.state(x);
        g.linear(x, Linear { weight, bias: None, scale: 1.0 }, Activation::Identity, None)
    });
    many_rows.quick(true);
    for rows in [1, 4, 64] {
        let (x, weight) = (cases.random(rows, 512), cases.matrix(1024, 512));
        let layer = Linear { weight, bias: None, scale: 1.0 };
        let what = format!("linear [{rows}, 512] · [512, 1024]");
        let case = cases.add(what, SUMS, |g| {
            let x = g.state(x);
            g.linear(x, layer, Activation::Identity, None)
        });
        case.timed();
    }
}

/// What a training computes for each layer. Its other kernels are checked by steps of a training.
pub(super) fn gradients(cases: &mut Cases) {
    if !TRAINING {
        return;
    }
    cases.trains = true;
    for [rows, inputs, outputs] in sizes::GRADIENTS {
        let (x, dy) = (cases.random(rows, inputs), cases.random(rows, outputs));
        let dweight = cases.f32(outputs, inputs, vec![0.0; outputs * inputs]);
        let layer = Linear { weight: cases.matrix(outputs, inputs), bias: None, scale: 0.5 };
        let what = format!("gradients of linear [{rows}, {inputs}] · [{inputs}, {outputs}]");
        let (absolute, relative) = (1e-4, 1e-5);
        cases
            .add(what, Compared::Numbers(absolute, relative), |g| {
                let [x, dy, dweight] = [x, dy, dweight].map(|state| g.state(state));
                g.linear_gradients([dy, x], layer, dweight)
            })
            .also(dweight, Compared::Panels { inputs, absolute, relative })
            // for matrix units, which browsers do not have
            .quick(rows == 1100 && cfg!(not(target_arch = "wasm32")));
    }
}

/// A norm whose result only a linear layer reads: on a GPU one launch.
pub(super) fn normalized_linear(cases: &mut Cases) {
    for [rows, inputs, outputs] in sizes::LINEAR.into_iter().filter(|[rows, ..]| *rows <= 32) {
        let (x, residual) = (cases.random(rows, inputs), cases.random(rows, inputs));
        let (weight, bias) = (cases.matrix(outputs, inputs), cases.vector(outputs));
        let (gamma, beta) = (cases.vector(inputs), cases.vector(inputs));
        let layer = Linear { weight, bias: Some(bias), scale: 1.0 };
        let what = |norm| format!("{norm}, then linear [{rows}, {inputs}] · [{inputs}, {outputs}]");
        let quick = [[1, 37, 1003], [4, 65, 63]].contains(&[rows, inputs, outputs]);
        let norm = Normalization { gamma, beta: Some(beta), running: None, epsilon: 1e-5 };
        let numbers = Compared::Numbers(1e-4, 1e-4);
        cases
            .add(what("layer norm"), numbers, |g| {
                let (x, residual) = (g.state(x), g.state(residual));
                let normalized = g.layer_norm(x, Some(residual), norm)?;
                g.linear(normalized, layer, Activation::Relu, None)
            })
            .quick(quick);
        let rms = Normalization { beta: None, ..norm };
        let kept = cases.states.f32("normalized", rows, inputs);
        cases
            .add(what("RMS norm, kept"), numbers, |g| {
                let x = g.state(x);
                let normalized = g.layer_norm(x, None, rms)?;
                g.keep(normalized, kept)?;
                g.linear(normalized, layer, Activation::Identity, None)
            })
            .also(kept, numbers);
    }
}

/// Logits and the best of them: on a GPU, the output layer notes the best of each panel.
pub(super) fn output_layer(cases: &mut Cases) {
    for (rows, inputs, vocabulary) in [(1, 33, 70), (4, 64, 321), (16, 20, 1003), (1, 64, 64)] {
        let x = cases.random(rows, inputs);
        let (weight, bias) = (cases.matrix(vocabulary, inputs), cases.vector(vocabulary));
        let rules = ScoreRules { space: ScoreSpace::LogProbabilities, renormalize: false };
        let shape = TopKShape { rows, vocabulary, candidates: 4, rules };
        let what = format!("output layer [{rows}, {inputs}] · [{inputs}, {vocabulary}]");
        cases
            .add(what, Compared::Best { candidates: 4, others: 0 }, |g| {
                let x = g.state(x);
                let layer = Linear { weight, bias: Some(bias), scale: 1.0 };
                let logits = g.linear(x, layer, Activation::Identity, None)?;
                g.log_softmax_top_k(shape, logits, None, None)
            })
            .quick(rows != 16);
    }
}

pub(super) fn embedding(cases: &mut Cases) {
    for (d_model, vocabulary, rows) in sizes::EMBEDDING {
        let tokens = cases.u32(rows, 1, (0..rows).map(|row| (row * 67 % vocabulary) as u32).collect());
        let positions = cases.u32(rows, 1, (0..rows).map(|row| (row * 7 % 40) as u32).collect());
        let (table, position_table) = (cases.matrix(vocabulary, d_model), cases.rows(40, d_model));
        let exact = Compared::Numbers(1e-6, 0.0);
        let what = |kind| format!("embedding of {rows} of {vocabulary} tokens, {d_model} wide, {kind}");
        cases.add(what("plain"), exact, |g| {
            let tokens = g.state(tokens);
            g.embed(tokens, None, table, 1.5)
        });
        cases
            .add(what("positions"), exact, |g| {
                let (tokens, positions) = (g.state(tokens), g.state(positions));
                g.embed(tokens, Some((positions, position_table)), table, 1.5)
            })
            .quick(d_model == 64);
        for table_of_positions in [None, Some(position_table)] {
            cases.add(what("after the start"), exact, |g| {
                let (tokens, positions) = (g.state(tokens), g.state(positions));
                g.embed_after_start(tokens, (positions, table_of_positions), table, 1.5)
            });
        }
    }
}

pub(super) fn shortlist(cases: &mut Cases) {
    for [sentences, beams, inputs, outputs, columns] in sizes::SHORTLISTS {
        let rows = sentences * beams;
        let x = cases.random(rows, inputs);
        let (weight, bias) = (cases.matrix(outputs, inputs), cases.vector(outputs));
        let listed = cases.u32(sentences, columns, lists(sentences, columns, outputs));
        let layer = Linear { weight, bias: Some(bias), scale: 0.5 };
        let what = format!("{columns} of {outputs} outputs for {rows} rows of {inputs}");
        cases.add(what, SUMS, |g| {
            let x = g.state(x);
            g.selected_linear(x, layer, listed)
        });
    }
}

/// Ascending outputs below `outputs`, a list for each sentence; the last lists are shorter.
fn lists(sentences: usize, columns: usize, outputs: usize) -> Vec<u32> {
    (0..sentences)
        .flat_map(|sentence| {
            let count = (columns - sentence % columns).min(outputs);
            let listed = (0..count).map(move |place| (place * outputs / count) as u32);
            listed.chain(std::iter::repeat(NO_TOKEN)).take(columns)
        })
        .collect()
}
