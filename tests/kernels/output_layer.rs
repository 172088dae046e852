//! The output layer that notes its panels of logits: logits compared with the CPU's, notes with plain loops.

use wordloom::activation::Activation;
use wordloom::cpu::{self, Linear, WeightMatrix};
use wordloom::gpu::Gpu;
use wordloom::kernels::bans::{Bans, ban_words};
use wordloom::kernels::edits::{Edits, HistoryBuffers};
use wordloom::kernels::linear::{self, LinearShape, Variant};
use wordloom::kernels::log_softmax_top_k::{ScoreBuffers, TopKShape};
use wordloom::kernels::output_layer::fuse;
use wordloom::kernels::search_state::{HistoryEdits, SearchShape, SentenceState, Stopping};
use wordloom::kernels::{AdapterClass, Dispatch, PANEL, panels, stride};
use wordloom::precision::WeightPrecision;
use wordloom::scores::{ScoreRules, ScoreSpace};

use crate::common::{assert_close, device_test, gpu, portable_test};
use crate::{pad, random, read, run, unpad, untouched, upload, upload_u32};

/// With log-probabilities, sums cover all tokens; with logits, only allowed tokens.
const LOG_PROBABILITIES: ScoreRules = ScoreRules { space: ScoreSpace::LogProbabilities, renormalize: false };
const LOGITS: ScoreRules = ScoreRules { space: ScoreSpace::Logits, renormalize: false };

struct Case {
    shape: LinearShape,
    scoring: TopKShape,
    edits: HistoryEdits,
    x: Vec<f32>,
    weight: Vec<f32>,
    bias: Vec<f32>,
    bans: Bans,
    search: Vec<u32>,
}

/// Best allowed token of a panel, its value, the maximum, and the sum of exponentials relative to it.
#[derive(Clone, Debug, PartialEq)]
struct Note {
    best: Option<(f32, u32)>,
    maximum: f32,
    sum: f32,
}

impl Case {
    fn random(shape: LinearShape, beams: usize, bans_tokens: bool, rules: ScoreRules) -> Self {
        let LinearShape { rows, inputs, outputs: vocabulary, .. } = shape;
        let sentences = rows / beams;
        let search = SearchShape {
            sentences,
            beams,
            candidates: 2,
            ends: 2,
            capacity: 8,
            first_position: 0,
            pad_position: None,
        };
        let mut case = Self {
            shape,
            scoring: TopKShape { rows, vocabulary, candidates: 2, rules },
            edits: HistoryEdits {
                bans: bans_tokens,
                repeats: false,
                phrases: 0,
                penalty: false,
                columns: false,
                search,
            },
            x: random(1, rows * inputs),
            // coarse, for ties
            weight: random(2, vocabulary * inputs).iter().map(|value| (value * 8.0).round() / 8.0).collect(),
            bias: random(3, vocabulary).iter().map(|value| (value * 4.0).round()).collect(),
            bans: Bans::default(),
            search: Vec::new(),
        };
        for sentence in 0..sentences {
            // all of the first panel, and others; end tokens of sentences that may not end yet
            let always: Vec<u32> = (0..vocabulary as u32)
                .filter(|token| *token < 64 || token % (5 + sentence as u32) == 0)
                .collect();
            let ends: Vec<u32> = [65, 150].into_iter().filter(|&end| end < vocabulary as u32).collect();
            let lists = case.bans.add_lists(vocabulary, &always, &ends);
            let state = SentenceState {
                clock: 0,
                history: 0,
                max_new_tokens: 8,
                min_new_tokens: sentence % 2 * 3,
                stopping: Stopping::AtOnce,
                forced_first: None,
                forced_last: None,
                ban_lists: lists,
                repetition_penalty: 1.0,
                no_repeat_ngram_size: 0,
                phrases: 0,
                phrase_count: 0,
                ends: &ends,
                length_divisor: &|_| 1.0,
            };
            search.encode(&state, &mut case.search);
        }
        case
    }

    fn logits_on_cpu(&self) -> Vec<f32> {
        let LinearShape { rows, inputs, outputs, precision, scale, .. } = self.shape;
        let mut weight = self.weight.clone();
        weight.chunks_exact_mut(inputs).for_each(|row| precision.round_row(row));
        let layer = Linear { weight: WeightMatrix::F32(&weight), inputs, bias: Some(&self.bias), scale };
        let mut y = vec![0.0; rows * outputs];
        cpu::linear(&self.x, layer, Activation::Identity, None, &mut y);
        y
    }

    fn is_banned(&self, row: usize, token: usize) -> bool {
        let sentence = row / self.edits.search.beams;
        let block = &self.search[sentence * self.edits.search.block()..];
        let (generated, min_new, lists) = (block[0], block[7], block[11] as usize);
        let early = if generated < min_new { ban_words(self.shape.outputs) } else { 0 };
        self.edits.bans && self.bans.lists[lists + early + token / 32] >> (token % 32) & 1 == 1
    }

    fn notes(&self, logits: &[f32]) -> Vec<Note> {
        let vocabulary = self.shape.outputs;
        let sums_banned = self.scoring.rules == LOG_PROBABILITIES;
        let note = |row: usize, panel: usize| {
            let tokens = panel * PANEL..vocabulary.min((panel + 1) * PANEL);
            let value = |token: usize| logits[row * vocabulary + token];
            let mut best: Option<(f32, u32)> = None;
            for token in tokens.clone().filter(|&token| !self.is_banned(row, token)) {
                if best.is_none_or(|(so_far, _)| value(token) > so_far) {
                    best = Some((value(token), token as u32));
                }
            }
            let counted: Vec<f32> =
                tokens.filter(|&token| sums_banned || !self.is_banned(row, token)).map(value).collect();
            let maximum = counted.iter().copied().fold(-1e38, f32::max);
            Note { best, maximum, sum: counted.iter().map(|value| (value - maximum).exp()).sum() }
        };
        let panels = vocabulary.div_ceil(PANEL);
        (0..self.shape.rows).flat_map(|row| (0..panels).map(move |panel| note(row, panel))).collect()
    }

    fn notes_after(&self, edits: HistoryEdits, class: AdapterClass) -> Dispatch {
        let buffers = HistoryBuffers {
            search: (),
            slots: (),
            slot_tokens: (),
            bans: (),
            phrases: (),
            row_bans: (),
            columns: (),
        };
        let edits = Edits::ByHistory(edits, buffers);
        let nothing = ScoreBuffers { logits: (), chunks: (), nothing: () };
        self.scoring.chunk_launches(&edits, nothing, class).pop().expect("notes come last").0
    }

    /// Logits and notes; `panels_per_part`: size of the parts of the weights.
    async fn on_gpu(&self, gpu: &Gpu, variant: Variant, panels_per_part: usize) -> (Vec<f32>, Vec<Note>) {
        let LinearShape { rows, inputs, outputs, precision, .. } = self.shape;
        let x = upload(gpu, &pad(&self.x, inputs, 7.0));
        let bias = upload(gpu, &pad(&self.bias, outputs, 0.0));
        let [bans, search] = [&self.bans.lists, &self.search].map(|words| upload_u32(gpu, words));
        let y = untouched(gpu, rows * stride(outputs));
        let chunks = untouched(gpu, self.scoring.chunk_elements());
        let parts: Vec<_> = (0..outputs)
            .step_by(panels_per_part * PANEL)
            .map(|first| {
                let part = first..outputs.min(first + panels_per_part * PANEL);
                let rows = &self.weight[part.start * inputs..part.end * inputs];
                (part.clone(), upload_u32(gpu, &panels::pack(rows, part.len(), inputs, precision)))
            })
            .collect();
        let notes = self.notes_after(self.edits, AdapterClass::Hardware);
        let launches: Vec<_> = parts
            .iter()
            .map(|(part, weight)| {
                let bound = vec![&x, weight, &bias, &bans, &search, &y, &chunks];
                let layer = linear::dispatch_variant(&self.shape, part.clone(), variant);
                (fuse(&layer, &notes).expect("has a form that notes"), bound)
            })
            .collect();
        run(gpu, &launches);
        let logits = unpad(&format!("{variant:?} of {:?}", self.shape), &read(gpu, &y).await, rows, outputs);
        let words: Vec<u32> = read(gpu, &chunks).await;
        let notes = words[..rows * outputs.div_ceil(PANEL) * 4].chunks_exact(4).map(|note| {
            let [value, maximum, sum] = [note[0], note[2], note[3]].map(f32::from_bits);
            Note { best: (value > -1e37).then_some((value, note[1])), maximum, sum }
        });
        (logits, notes.collect())
    }
}

/// Sentences, beams, inputs and vocabularies on both sides of a quad, a panel and a workgroup.
const SIZES: [[usize; 4]; 9] = [
    [1, 1, 1, 1],
    [1, 1, 37, 63],
    [1, 4, 64, 64],
    [2, 2, 65, 65],
    [3, 1, 33, 130],
    [1, 5, 255, 203],
    [2, 4, 31, 257],
    [16, 1, 8, 150],
    [1, 3, 70, 1001],
];

fn layer(rows: usize, inputs: usize, outputs: usize, precision: WeightPrecision) -> LinearShape {
    let activation = Activation::Identity;
    LinearShape { rows, inputs, outputs, scale: 0.7, bias: true, activation, join: None, precision }
}

#[device_test]
async fn an_output_layer_notes_what_its_panels_hold() {
    let gpu = gpu().await;
    for [sentences, beams, inputs, vocabulary] in SIZES {
        for (precision, bans, rules) in [
            (WeightPrecision::F32, false, LOG_PROBABILITIES),
            (WeightPrecision::F32, true, LOG_PROBABILITIES),
            (WeightPrecision::F16, true, LOGITS),
            (WeightPrecision::Q8, true, LOG_PROBABILITIES),
        ] {
            let shape = layer(sentences * beams, inputs, vocabulary, precision);
            let case = Case::random(shape, beams, bans, rules);
            let want = case.logits_on_cpu();
            let mut first = None;
            for (variant, panels_per_part) in Variant::SPLIT.into_iter().zip([usize::MAX / PANEL, 2]) {
                let what = format!("{variant:?} of {shape:?}, {beams} beams, bans {bans}, {rules:?}");
                let (logits, notes) = case.on_gpu(&gpu, variant, panels_per_part).await;
                assert_close(&what, &logits, &want, (1e-6 + 4e-6 * (inputs as f32).sqrt(), 0.0));
                let expected = case.notes(&logits);
                let [sums, expected_sums] =
                    [&notes, &expected].map(|notes| notes.iter().map(|note| note.sum).collect::<Vec<_>>());
                assert_close(&what, &sums, &expected_sums, (0.0, 1e-5));
                for (place, (note, expected)) in notes.iter().zip(&expected).enumerate() {
                    let same = note.best == expected.best && note.maximum == expected.maximum;
                    assert!(same, "{what}, panel {place} of all rows: {note:?}, expected {expected:?}");
                }
                let first = first.get_or_insert_with(|| (logits.clone(), notes.clone()));
                assert!(*first == (logits, notes), "{what} differs from the other variant");
            }
        }
    }
}

/// The logits equal those of the linear layer to the last bit.
#[device_test]
async fn an_output_layer_is_a_linear_layer() {
    let gpu = gpu().await;
    let shape = layer(4, 75, 203, WeightPrecision::F32);
    let case = Case::random(shape, 4, true, LOG_PROBABILITIES);
    let (logits, _) = case.on_gpu(&gpu, Variant::Matvec4RowsSplit, 8).await;
    let [x, bias] =
        [(&case.x, 75), (&case.bias, 203)].map(|(data, width)| upload(&gpu, &pad(data, width, 0.0)));
    let weight = upload_u32(&gpu, &panels::pack(&case.weight, 203, 75, WeightPrecision::F32));
    let (nothing, y) = (untouched(&gpu, 4), untouched(&gpu, 4 * stride(203)));
    let launch = linear::dispatch_variant(&shape, 0..203, Variant::Matvec4RowsSplit);
    run(&gpu, &[(launch, vec![&x, &weight, &bias, &nothing, &y])]);
    assert!(unpad("linear", &read(&gpu, &y).await, 4, 203) == logits);
}

/// On a GPU if a workgroup has whole panels, and no edits by history come in between.
#[portable_test]
fn who_notes_is_chosen_by_rows_and_edits() {
    let shape = |rows| layer(rows, 64, 8000, WeightPrecision::F32);
    let case = Case::random(shape(1), 1, true, LOG_PROBABILITIES);
    let edits = case.edits;
    let chosen = |rows, edits, class| {
        let layer = linear::dispatch(&shape(rows), 0..8000, class);
        fuse(&layer, &case.notes_after(edits, class)).map(|fused| fused.kernel.name)
    };
    let hardware = |rows, edits| chosen(rows, edits, AdapterClass::Hardware);
    assert_eq!(hardware(1, edits), Some("output_matvec_split_f32"));
    assert_eq!(hardware(4, edits), Some("output_matvec_4rows_split_f32"));
    assert_eq!(hardware(16, edits), Some("output_matvec_4rows_split_f32"));
    assert_eq!(hardware(33, edits), None);
    assert_eq!(hardware(1, HistoryEdits { penalty: true, ..edits }), None);
    assert_eq!(hardware(1, HistoryEdits { repeats: true, ..edits }), None);
    assert_eq!(chosen(1, edits, AdapterClass::Software), None);
}
