//! Checks of a device: right kernels pass, a wrong one is found and passed over, and one without a substitute is refused.

mod common;

use std::collections::BTreeSet;
use std::sync::Arc;

use common::{data, device_test, model};
use wordloom::answers::{Ask, GROUPS, Known, quick, wrong};
#[cfg(not(target_arch = "wasm32"))]
use wordloom::check::{Outcome, Verdict as Line, check};
use wordloom::decode::DecodeOptions;
use wordloom::device::Gpu;
use wordloom::gpu::{self, Extent, Verdict};
use wordloom::kernels::{self, AdapterClass, PassedOver};
use wordloom::precision::WeightPrecision;
use wordloom::transformer::{GenerateError, GenerateOptions, GenerateRequest, Transformer};
use wordloom::{Device, GpuError};

/// A device of its own, whose kernels are those for hardware. It stores nothing.
async fn own_gpu() -> Gpu {
    let adapter = gpu::any().await.expect("a GPU adapter");
    let mut gpu = Gpu::open_with_pipelines(adapter, None).await.expect("opens");
    gpu.force_class(AdapterClass::Hardware);
    gpu
}

/// Kernels that no group of cases launches: searches, pictures and training have runs of their own. `column_tokens` is only for
/// searches over shortlists, on a device.
const IN_RUNS: &str = "
    activate activate_gradient adam ban_repeats batch_norm batch_norm_gradient batch_norm_sums batch_statistics beam_step clip_factor column_sums column_tokens copy_rows dropout embedding_gradient
    greedy_step greedy_step_workgroup heatmap layer_norm_gradient layer_norm_weight_gradient length_projection_gradient
    project_packed project_packed_gradient
    map_blocks
    map_blocks_of_blocks map_maxima penalize_repeats ranged_attention ranged_attention_bias_gradient
    ranged_attention_key_gradient ranged_attention_query_gradient ranged_attention_statistics reorder_slots reset_bans
    row_maxima softmax_loss sum_blocks sum_losses sum_squares tie_rows
";

/// Kernels for software adapters that a GPU is given only in place of wrong ones, and that have no measured case.
const OF_SOFTWARE: &str = "additive_attention cached_attention chunk_candidates top_k_merge";

/// Ids of a search with a small model, on a device.
async fn ids(device: &Device, beams: usize) -> Result<Vec<u32>, GenerateError> {
    let model = model(&data("models").join("marian_tied"));
    let transformer = Transformer::load(device, &model, &mut |_| ()).expect("loads");
    let options = DecodeOptions { num_beams: beams, max_length: 12, ..DecodeOptions::new(644, 0, 644) };
    // more tokens than few-row kernels take
    let source = (1..40).map(|i| i * 13 % 640).chain([0]).collect();
    let found =
        transformer.generate(&[GenerateRequest::new(source, options)], GenerateOptions::default()).await?;
    Ok(found[0].hypotheses[0].tokens.clone())
}

/// A driver that multiplies wrongly in one kernel: the quick check finds it, and translations take another kernel.
#[device_test]
async fn a_wrong_kernel_is_found_and_passed_over() {
    let want = ids(&Device::Cpu, 1).await.expect("the CPU searches");
    let gpu = own_gpu().await;
    gpu.spoil("matmul_split_f32", "fma(", "0.5 * fma(");
    let gpu = Arc::new(gpu);
    let device = Device::Gpu(gpu.clone());
    let before = ids(&device, 1).await;
    assert!(before.is_err() || before.is_ok_and(|ids| ids != want), "the kernel is needed");

    let passed_over = quick(&gpu, WeightPrecision::F32).await.expect("the device answers");
    assert_eq!(passed_over.wrong.iter().collect::<Vec<_>>(), ["matmul_split_f32"]);
    assert_eq!(gpu.verdict().extent, Extent::Quick);
    assert_eq!(ids(&device, 1).await.expect("another kernel"), want);
    assert_eq!(ids(&device, 4).await.expect("another kernel"), ids(&Device::Cpu, 4).await.unwrap());

    // weights in another precision have other kernels
    gpu.spoil("matmul_split_f16", "fma(", "0.5 * fma(");
    let passed_over = quick(&gpu, WeightPrecision::F16).await.expect("the device answers");
    assert_eq!(passed_over.wrong.iter().collect::<Vec<_>>(), ["matmul_split_f16", "matmul_split_f32"]);
    let covers = |precision| gpu.verdict().covers(precision);
    assert_eq!(WeightPrecision::ALL.map(covers), [true, true, false]);
}

/// If both classes' kernels are wrong, nothing runs, and the error names the way out.
#[device_test]
async fn a_wrong_kernel_without_a_substitute_is_refused() {
    let gpu = own_gpu().await;
    let names = ["matmul_split_f32", "matmul_registers_f32"];
    names.into_iter().for_each(|name| gpu.spoil(name, "fma(", "0.5 * fma("));
    let gpu = Arc::new(gpu);
    let mut known = Known::new(&GROUPS[0], WeightPrecision::F32, false);
    known.answer().await.expect("the CPU answers");
    let mut answers = Vec::new();
    for class in [AdapterClass::Hardware, AdapterClass::Software] {
        answers.extend(known.ask(&gpu, class, Ask::Answers).await.expect("the device answers"));
    }
    let found = wrong(&answers);
    assert_eq!(found, BTreeSet::from(names));
    let wrong = found.into_iter().map(str::to_owned).collect();
    let passed_over = Arc::new(PassedOver { wrong, ..PassedOver::default() });
    gpu.set_verdict(Verdict { extent: Extent::Full, passed_over, ..Verdict::default() });
    let error = ids(&Device::Gpu(gpu.clone()), 1).await.expect_err("no kernel is left");
    let message = error.to_string();
    assert!(matches!(error, GenerateError::Gpu(GpuError::WrongKernel { .. })), "{message}");
    for part in [gpu.adapter().name(), "matmul_split_f32", "--device cpu", "--recheck"] {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

/// The whole check: a wrong kernel with a substitute, and a wrong step of the beam search, which has none. The result is
/// stored, and a later run knows it.
#[cfg(not(target_arch = "wasm32"))]
#[device_test]
async fn a_report_says_what_is_wrong_and_later_runs_know() {
    let folder =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("check-{}", std::process::id()));
    let adapter = gpu::any().await.expect("a GPU adapter");
    let mut gpu = Gpu::open_with_pipelines(adapter.clone(), Some(&folder)).await.expect("opens");
    gpu.force_class(AdapterClass::Hardware);
    gpu.spoil("layer_norm_workgroup", "inverseSqrt(", "0.9 * inverseSqrt(");
    gpu.spoil("beam_step", "= best.token;", "= best.token + 1u;");
    let gpu = Arc::new(gpu);
    let mut fractions = Vec::new();
    let report = check(&gpu, &mut |fraction, _| fractions.push(fraction)).await.expect("the device answers");
    assert!(fractions.is_sorted() && fractions.last() == Some(&1.0), "{fractions:?}");

    let line = |kernel: &str| report.kernels.iter().find(|line| line.kernel == kernel).expect("a line");
    assert_eq!(line("layer_norm_workgroup").verdict, Line::Wrong);
    let wrong: Vec<&str> =
        report.kernels.iter().filter(|line| line.verdict == Line::Wrong).map(|line| &*line.kernel).collect();
    assert_eq!(wrong, ["beam_step", "layer_norm_workgroup", "reorder_slots"], "{:#?}", report.wrong_cases);
    let launched: BTreeSet<&str> =
        report.kernels.iter().filter(|line| line.cases > 0).map(|line| &*line.kernel).collect();
    let others: BTreeSet<&str> = IN_RUNS.split_whitespace().chain(OF_SOFTWARE.split_whitespace()).collect();
    let all: BTreeSet<&str> = kernels::all().map(|kernel| kernel.name).collect();
    let missing: Vec<_> = all.difference(&launched).filter(|name| !others.contains(*name)).collect();
    assert!(missing.is_empty(), "no case launches {missing:?}");
    assert!(
        others.iter().all(|name| all.contains(name) && !launched.contains(name)),
        "the list of others is old"
    );
    let refused = report.runs.iter().filter(|run| matches!(run.outcome, Outcome::Refused { .. })).count();
    assert_eq!(refused, 2, "the searches with beams: {:?}", report.runs);
    assert!(report.runs.iter().all(|run| !matches!(run.outcome, Outcome::Wrong { .. })), "{:?}", report.runs);
    assert!(!report.is_usable());

    let home = std::env::var("HOME").ok().filter(|home| home.len() > 2).unwrap_or("/home".into());
    for text in [report.json(), report.markdown()] {
        for part in [gpu.adapter().name(), "layer_norm_workgroup", "max_storage_buffer_binding_size"] {
            assert!(text.contains(part), "{part:?} is not in the report");
        }
        assert!(
            !text.contains(&home) && !text.contains(env!("CARGO_MANIFEST_DIR")),
            "a path is in the report"
        );
    }

    let found = gpu.verdict();
    assert_eq!(found.extent, Extent::Full);
    drop(gpu);
    let again = Gpu::open_with_pipelines(adapter.clone(), Some(&folder)).await.expect("opens");
    assert_eq!(again.verdict(), found, "a later run has the result");
    assert!(matches!(
        ids(&Device::Gpu(Arc::new(again)), 4).await,
        Err(GenerateError::Gpu(GpuError::WrongKernel { kernel, .. })) if kernel == "beam_step" || kernel == "reorder_slots"
    ));
    for file in std::fs::read_dir(&folder).expect("the folder").map(|entry| entry.expect("an entry").path()) {
        if file.extension().is_some_and(|end| end == "txt") {
            let text = std::fs::read_to_string(&file).expect("text");
            std::fs::write(&file, text.replace("shaders ", "shaders 0")).expect("writes");
        }
    }
    let other = Gpu::open_with_pipelines(adapter, Some(&folder)).await.expect("opens");
    assert_eq!(other.verdict(), Verdict::default(), "other shaders need another check");
    drop(other);
    std::fs::remove_dir_all(&folder).expect("removes");
}
