//! A fast first translation: kernels are compiled while weights arrive, and stored on disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::{data, devices};
use wordloom::gpu::{self, Gpu};
use wordloom::model::generation_config::GenerationConfig;
use wordloom::precision::PrecisionChoice;
use wordloom::transformer::{GenerateOptions, GenerateRequest};
use wordloom::{Device, GpuError, Model, Transformer, resolve};

fn model() -> Model {
    Model::load(data("models/marian_tied")).expect("sound")
}

fn loaded(device: &Device, options: &GenerationConfig) -> Transformer {
    let loaded = Transformer::load_to_generate(device, &model(), PrecisionChoice::Auto, options, &mut |_| {});
    loaded.expect("loads")
}

/// The result of a beam search for a source of `tokens` tokens.
fn searched(transformer: &Transformer, options: &GenerationConfig, tokens: u32) -> Vec<Vec<u32>> {
    let input_ids: Vec<u32> = (5..4 + tokens).chain([0]).collect();
    let options = resolve(options, transformer.generation_config(), transformer.config(), &input_ids);
    let request = GenerateRequest::new(input_ids, options.expect("possible"));
    let searched = pollster::block_on(transformer.generate(&[request], GenerateOptions::default()));
    searched
        .expect("generates")
        .remove(0)
        .hypotheses
        .into_iter()
        .map(|hypothesis| hypothesis.tokens)
        .collect()
}

/// An empty folder for one test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("start").join(test);
    let _ = fs::remove_dir_all(&folder); // there may be none
    folder
}

fn open(folder: &Path) -> Arc<Gpu> {
    let adapter = pollster::block_on(gpu::any()).expect("a GPU adapter: run `cargo xtask setup`");
    Arc::new(pollster::block_on(Gpu::open_with_pipelines(adapter, Some(folder))).expect("opens"))
}

/// The files of pipelines: a result of a check may lie beside them.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("is readable").path());
    entries.filter(|path| path.extension().is_none_or(|end| end != "txt")).collect()
}

#[test]
fn a_rehearsal_changes_no_result() {
    let options = GenerationConfig { num_beams: Some(3), ..GenerationConfig::default() };
    for device in pollster::block_on(devices()) {
        let plain = Transformer::load(&device, &model(), &mut |_| {}).expect("loads");
        let rehearsed = loaded(&device, &options);
        for tokens in [3, 24] {
            let [plain, rehearsed] = [&plain, &rehearsed].map(|model| searched(model, &options, tokens));
            assert_eq!(rehearsed, plain, "{device}, {tokens} tokens");
        }
    }
}

/// A sentence of the rehearsed size reuses the rehearsed session and makes no buffers for states.
#[test]
fn a_sentence_takes_the_session_that_was_rehearsed() {
    let gpu = open(&folder("session"));
    let options =
        GenerationConfig { num_beams: Some(3), max_length: Some(20), ..GenerationConfig::default() };
    let transformer = loaded(&Device::Gpu(gpu.clone()), &options);
    let groups = gpu.counters().bind_groups;
    searched(&transformer, &options, 24);
    assert_eq!(gpu.counters().bind_groups, groups, "nothing was recorded anew");
    searched(&transformer, &options, 40);
    assert!(gpu.counters().bind_groups > groups, "another size is");
}

/// An impossible rehearsal is no error until a call generates.
#[test]
fn what_cannot_be_rehearsed_can_be_loaded() {
    let impossible = GenerationConfig { num_beams: Some(0), ..GenerationConfig::default() };
    for device in pollster::block_on(devices()) {
        let transformer = loaded(&device, &impossible);
        assert!(!searched(&transformer, &GenerationConfig::default(), 3).is_empty(), "{device}");
    }
}

/// Errors of an isolated thread do not reach other calls, and errors of other calls are not lost in that thread.
#[test]
fn errors_apart_stay_apart() {
    let gpu = open(&folder("apart"));
    let refused = || {
        let [small, large] = [16, 64].map(|elements| gpu.buffer("test", elements).expect("has room"));
        gpu.write(&small, 0, &[0u32; 32]); // beyond its end: refused out of band
        drop(large);
    };
    let apart = gpu.apart(|| {
        refused();
        Ok(())
    });
    assert!(matches!(apart, Err(GpuError::Validation { .. })), "{apart:?}");
    gpu.check().expect("it was told already");

    refused();
    let met = gpu.apart(|| gpu.check());
    assert!(matches!(met, Err(GpuError::Validation { .. })), "{met:?}");
    assert!(matches!(gpu.check(), Err(GpuError::Validation { .. })), "it was not the thread's own");
    gpu.check().expect("told once");
}

#[test]
fn compiled_pipelines_are_found_again() {
    let folder = folder("found");
    let options = GenerationConfig::default();
    let first = open(&folder);
    if !first.adapter().hands_out_pipelines() {
        return; // this API gives no access to pipelines
    }
    assert!(!first.has_stored_pipelines(), "the folder was empty");
    let wanted = searched(&loaded(&Device::Gpu(first.clone()), &options), &options, 3);
    assert!(first.has_stored_pipelines(), "loading stores them");
    drop(first);
    let [file] = &files(&folder)[..] else { panic!("one file: {:?}", files(&folder)) };
    let content = fs::read(file).expect("is readable");

    let second = open(&folder);
    assert!(second.has_stored_pipelines(), "they are there");
    let again = searched(&loaded(&Device::Gpu(second.clone()), &options), &options, 3);
    assert_eq!(again, wanted);
    drop(second);
    assert_eq!(files(&folder), std::slice::from_ref(file));

    // every kind of damage, and a file of another adapter or version, whose checksum is another
    let last = content.len() - 1;
    let flipped = |place: usize| {
        let mut content = content.clone();
        content[place] ^= 1;
        content
    };
    let longer = [&content[..], b"more"].concat();
    let damaged = [
        Vec::new(),
        content[..12].into(),
        content[..last].into(),
        longer,
        flipped(0),
        flipped(9),
        flipped(last),
    ];
    for (case, damaged) in damaged.into_iter().enumerate() {
        fs::write(file, &damaged).expect("is writable");
        let gpu = open(&folder);
        assert!(!gpu.has_stored_pipelines(), "damage {case} was not noticed");
        let device = Device::Gpu(gpu);
        assert_eq!(searched(&loaded(&device, &options), &options, 3), wanted, "damage {case}");
        drop(device);
        assert!(open(&folder).has_stored_pipelines(), "damage {case} was not mended");
        assert_eq!(files(&folder), std::slice::from_ref(file), "damage {case} left something");
    }
}

/// A folder without write access is no error.
#[test]
fn pipelines_that_cannot_be_stored_are_done_without() {
    let folder = folder("unwritable");
    fs::create_dir_all(folder.parent().expect("has one")).expect("is writable");
    fs::write(&folder, "a file where the folder should be").expect("is writable");
    let gpu = open(&folder);
    let options = GenerationConfig::default();
    assert!(!searched(&loaded(&Device::Gpu(gpu.clone()), &options), &options, 3).is_empty());
    assert!(!gpu.has_stored_pipelines());
    fs::remove_file(&folder).expect("is ours");
}
