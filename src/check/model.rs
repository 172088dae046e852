//! Searches with a small random model, against the CPU runner: the kernels of searches have no other answers.

use std::sync::Arc;

use super::report::{Outcome, Report, RunLine};
use super::{CheckError, set};
use crate::decode::{Columns, DecodeOptions};
use crate::device::Device;
use crate::gpu::{Gpu, GpuError};
use crate::kernels::{AdapterClass, Kernel, PassedOver, bans, column_tokens, edits, search};
use crate::model::files::ModelFiles;
use crate::model::{Model, ModelError};
use crate::transformer::{GenerateError, GenerateOptions, GenerateRequest, Transformer};

/// A Marian model of two layers each.
const CONFIG: &str = r#"{
  "model_type": "marian", "architectures": ["MarianMTModel"], "is_encoder_decoder": true,
  "activation_function": "swish", "d_model": 64, "vocab_size": 645, "decoder_vocab_size": 645,
  "encoder_layers": 2, "encoder_attention_heads": 4, "encoder_ffn_dim": 128,
  "decoder_layers": 2, "decoder_attention_heads": 4, "decoder_ffn_dim": 128,
  "max_position_embeddings": 64, "static_position_embeddings": true, "scale_embedding": true,
  "normalize_before": false, "normalize_embedding": false, "add_final_layer_norm": false, "add_bias_logits": false,
  "share_encoder_decoder_embeddings": true, "tie_word_embeddings": true,
  "eos_token_id": 0, "pad_token_id": 644, "bos_token_id": null, "decoder_start_token_id": 644, "forced_eos_token_id": 0
}"#;
/// Seed of its weights. With it, lavapipe finds the CPU's hypotheses.
const SEED: u64 = 5;
/// Tokens of the sources: one batch of several lengths.
const LENGTHS: [usize; 4] = [3, 17, 9, 24];
/// Difference of scores by rounding.
const CLOSE: f32 = 1e-3;

struct Search {
    name: &'static str,
    beams: usize,
    no_repeat_ngram_size: usize,
    repetition_penalty: f32,
    /// Whether single tokens and a phrase are banned.
    bans: bool,
    /// Whether only some tokens can be said, as with a lexical shortlist.
    shortlist: bool,
    /// Kernels that this search is the first to launch, of the class of software and of hardware.
    kernels: [&'static [&'static Kernel]; 2],
}

static SEARCHES: [Search; 5] = [
    Search {
        name: "greedy search",
        beams: 1,
        no_repeat_ngram_size: 0,
        repetition_penalty: 1.0,
        bans: false,
        shortlist: false,
        kernels: [&[&search::GREEDY_STEP], &[&search::GREEDY_STEP_WORKGROUP]],
    },
    Search {
        name: "4 beams",
        beams: 4,
        no_repeat_ngram_size: 0,
        repetition_penalty: 1.0,
        bans: false,
        shortlist: false,
        kernels: [&[&search::BEAM_STEP, &search::REORDER_SLOTS]; 2],
    },
    Search {
        name: "4 beams, bans, no repeated pairs",
        beams: 4,
        no_repeat_ngram_size: 2,
        repetition_penalty: 1.0,
        bans: true,
        shortlist: false,
        kernels: [&[&bans::RESET_BANS, &bans::BAN_REPEATS]; 2],
    },
    Search {
        name: "greedy search, penalty of repeats",
        beams: 1,
        no_repeat_ngram_size: 0,
        repetition_penalty: 1.3,
        bans: false,
        shortlist: false,
        kernels: [&[&edits::PENALIZE_REPEATS]; 2],
    },
    Search {
        name: "greedy search over a shortlist",
        beams: 1,
        no_repeat_ngram_size: 0,
        repetition_penalty: 1.0,
        bans: false,
        shortlist: true,
        kernels: [&[&column_tokens::COLUMN_TOKENS]; 2],
    },
];

/// Ids and score of each source's hypothesis.
type Found = Vec<(Vec<u32>, f32)>;

/// Runs the searches on the CPU and twice on the device, and blames the kernels that are new in a search that differs.
pub(super) async fn check(
    gpu: &Arc<Gpu>,
    passed_over: &mut PassedOver,
    report: &mut Report,
) -> Result<(), CheckError> {
    let model =
        Model::random(ModelFiles::memory("the check's model", [("config.json", CONFIG.as_bytes())]), SEED)?;
    let oracle = Transformer::load(&Device::Cpu, &model, &mut |_| ())?;
    let device = Device::Gpu(gpu.clone());
    for search in &SEARCHES {
        let want = run(&oracle, search).await?.unwrap_or_default();
        // suspected in turn: kernels without another form are of both classes
        let mut suspects = [gpu.class(), gpu.class().other()].into_iter();
        let outcome = loop {
            // a new one each time: sessions stay as they were made
            let transformer = match Transformer::load(&device, &model, &mut |_| ()) {
                Err(ModelError::Gpu(GpuError::WrongKernel { kernel, .. })) => {
                    break Outcome::Refused { kernel };
                }
                loaded => loaded?,
            };
            let got = match [run(&transformer, search).await?, run(&transformer, search).await?] {
                [Ok(first), Ok(second)] if first == second && agree(&first, &want) => break Outcome::Right,
                [Err(kernel), _] | [_, Err(kernel)] => break Outcome::Refused { kernel },
                [Ok(first), _] => first,
            };
            let Some(class) = suspects.next() else {
                break Outcome::Wrong { about: first_difference(&got, &want) };
            };
            let kernels = search.kernels[usize::from(class == AdapterClass::Hardware)];
            passed_over.wrong.extend(kernels.iter().map(|kernel| kernel.name.to_owned()));
            set(gpu, passed_over);
        };
        report.runs.push(RunLine { name: search.name.into(), outcome });
    }
    Ok(())
}

/// `Err` has the name of a kernel that is known to be wrong and has no substitute.
async fn run(transformer: &Transformer, search: &Search) -> Result<Result<Found, String>, CheckError> {
    let requests: Vec<GenerateRequest> =
        LENGTHS.iter().map(|&length| GenerateRequest::new(source(length), options(search))).collect();
    let generations = match transformer.generate(&requests, GenerateOptions::default()).await {
        Err(GenerateError::Gpu(GpuError::WrongKernel { kernel, .. })) => return Ok(Err(kernel)),
        Err(GenerateError::Gpu(error)) => return Err(error.into()),
        // the device's record was no search at all
        Err(_) => return Ok(Ok(Vec::new())),
        Ok(generations) => generations,
    };
    let best = generations.into_iter().filter_map(|generation| generation.hypotheses.into_iter().next());
    Ok(Ok(best.map(|hypothesis| (hypothesis.tokens, hypothesis.score)).collect()))
}

fn source(length: usize) -> Vec<u32> {
    let token = |i: usize| (i * 67 + length * 13) as u32 % 640 + 1;
    (0..length - 1).map(token).chain([0]).collect()
}

fn options(search: &Search) -> DecodeOptions {
    DecodeOptions {
        num_beams: search.beams,
        max_length: 20,
        no_repeat_ngram_size: search.no_repeat_ngram_size,
        repetition_penalty: search.repetition_penalty,
        bad_words: if search.bans {
            vec![vec![644], vec![7], vec![300], vec![11, 12]]
        } else {
            vec![vec![644]]
        },
        columns: if search.shortlist { Columns::Only((0..645).step_by(3).collect()) } else { Columns::Auto },
        ..DecodeOptions::new(644, 0, 644)
    }
}

fn agree(got: &Found, want: &Found) -> bool {
    let close = |one: &(Vec<u32>, f32), other: &(Vec<u32>, f32)| {
        one.0 == other.0 && (one.1 - other.1).abs() <= CLOSE * other.1.abs().max(1.0)
    };
    !want.is_empty() && got.len() == want.len() && got.iter().zip(want).all(|(got, want)| close(got, want))
}

fn first_difference(got: &Found, want: &Found) -> String {
    let sentence = got.iter().zip(want).position(|(got, want)| got.0 != want.0);
    match sentence {
        Some(sentence) => {
            format!("sentence {}: {:?}, not {:?}", sentence + 1, got[sentence].0, want[sentence].0)
        }
        None if got.len() != want.len() => "the device's search ended without a result".into(),
        None => "equal ids, other scores".into(),
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    /// A search that ends at once, or as another does, would prove nothing.
    #[pollster::test]
    async fn the_searches_are_of_several_tokens() {
        let files = ModelFiles::memory("the check's model", [("config.json", CONFIG.as_bytes())]);
        let model = Model::random(files, SEED).expect("a model");
        let oracle = Transformer::load(&Device::Cpu, &model, &mut |_| ()).expect("loads");
        let mut all = Vec::new();
        for search in &SEARCHES {
            let found = run(&oracle, search).await.expect("runs").expect("no kernel is refused");
            assert_eq!(found.len(), LENGTHS.len());
            assert!(found.iter().all(|(tokens, _)| tokens.len() > 5), "{}: {found:?}", search.name);
            all.push(found);
        }
        assert!((1..all.len()).all(|i| all[i] != all[0]), "every search has its own result");
        let mut other = all[0].clone();
        assert!(agree(&other, &all[0]));
        other[2].0[1] += 1;
        assert!(!agree(&other, &all[0]) && !agree(&Vec::new(), &all[0]));
    }
}
