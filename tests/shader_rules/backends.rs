//! Every launch's shader in the languages of all backends: SPIR-V, Metal, HLSL and GLSL ES, written by the compiler that
//! `wgpu` uses, with `wgpu`'s settings. SPIR-V and GLSL ES are validated where `spirv-val` and `glslangValidator` are set up.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::ModuleInfo;
use naga::{Module, ResourceBinding, ShaderStage, back};
use wordloom::kernels::{Dispatch, Kernel};

use super::{launches, specialised};

const STAGE: ShaderStage = ShaderStage::Compute;
const RESTRICT: BoundsCheckPolicies = BoundsCheckPolicies {
    index: BoundsCheckPolicy::Restrict,
    buffer: BoundsCheckPolicy::Restrict,
    image_load: BoundsCheckPolicy::Restrict,
    binding_array: BoundsCheckPolicy::Restrict,
};

/// Each kernel with each set of constants once.
fn distinct() -> Vec<Dispatch> {
    let mut seen = BTreeSet::new();
    let key = |launch: &Dispatch| {
        let constants = launch.constants.iter().map(|(name, value)| (*name, value.to_bits()));
        (launch.kernel.name, constants.collect::<Vec<_>>())
    };
    launches::launches().into_iter().filter(|launch| seen.insert(key(launch))).collect()
}

fn bindings(kernel: &Kernel) -> impl Iterator<Item = ResourceBinding> {
    let storage = (0..kernel.storage.len() as u32).map(|binding| ResourceBinding { group: 0, binding });
    storage.chain([ResourceBinding { group: 1, binding: 0 }])
}

fn spirv(module: &Module, info: &ModuleInfo, version: (u8, u8)) -> Result<Vec<u32>, String> {
    let options =
        back::spv::Options { lang_version: version, bounds_check_policies: RESTRICT, ..Default::default() };
    let pipeline = back::spv::PipelineOptions { shader_stage: STAGE, entry_point: "main".into() };
    back::spv::write_vec(module, info, &options, Some(&pipeline)).map_err(|error| error.to_string())
}

/// Metal's slots: the parameters, then the buffers, then the buffers' sizes. Metal has 31.
fn metal(kernel: &Kernel, module: &Module, info: &ModuleInfo, version: (u8, u8)) -> Result<String, String> {
    let slots = bindings(kernel).zip(1..).map(|(binding, slot)| {
        let target =
            back::msl::BindTarget { buffer: Some(slot), mutable: binding.group == 0, ..Default::default() };
        (binding, target)
    });
    let resources = back::msl::EntryPointResources {
        resources: slots.collect(),
        sizes_buffer: Some(30),
        immediates_buffer: None,
    };
    let options = back::msl::Options {
        lang_version: version,
        per_entry_point_map: [("main".to_owned(), resources)].into(),
        fake_missing_bindings: false,
        bounds_check_policies: RESTRICT,
        ..Default::default()
    };
    let pipeline =
        back::msl::PipelineOptions { entry_point: Some((STAGE, "main".into())), ..Default::default() };
    let (text, _) =
        back::msl::write_string(module, info, &options, &pipeline).map_err(|error| error.to_string())?;
    Ok(text)
}

fn hlsl(
    kernel: &Kernel,
    module: &Module,
    info: &ModuleInfo,
    model: back::hlsl::ShaderModel,
) -> Result<String, String> {
    let registers = bindings(kernel).map(|binding| {
        let target = back::hlsl::BindTarget {
            space: binding.group as u8,
            register: binding.binding,
            restrict_indexing: true,
            ..Default::default()
        };
        (binding, target)
    });
    let options = back::hlsl::Options {
        shader_model: model,
        binding_map: registers.collect(),
        fake_missing_bindings: false,
        ..Default::default()
    };
    let pipeline = back::hlsl::PipelineOptions { entry_point: Some((STAGE, "main".into())) };
    let mut text = String::new();
    back::hlsl::Writer::new(&mut text, &options, &pipeline)
        .write(module, info, None)
        .map_err(|error| error.to_string())?;
    Ok(text)
}

fn glsl(kernel: &Kernel, module: &Module, info: &ModuleInfo) -> Result<String, String> {
    let options = back::glsl::Options {
        version: back::glsl::Version::new_gles(310),
        binding_map: bindings(kernel).zip(0..).collect(),
        ..Default::default()
    };
    let pipeline =
        back::glsl::PipelineOptions { shader_stage: STAGE, entry_point: "main".into(), multiview: None };
    let mut text = String::new();
    back::glsl::Writer::new(&mut text, module, info, &options, &pipeline, RESTRICT)
        .and_then(|mut writer| writer.write())
        .map_err(|error| error.to_string())?;
    Ok(text)
}

#[test]
fn every_backend_has_every_launch() {
    let all = distinct();
    for launch in &all {
        let kernel = launch.kernel;
        specialised(launch, |module, info| {
            let fine = |backend: String, written: Result<usize, String>| match written {
                Ok(length) => assert!(length > 0, "{}: {backend} is empty", kernel.name),
                Err(error) => panic!("{} as {backend}: {error}", kernel.name),
            };
            // Vulkan 1.0, 1.1 and 1.2
            for version in [(1, 0), (1, 3), (1, 4)] {
                fine(format!("SPIR-V {version:?}"), spirv(module, info, version).map(|words| words.len()));
            }
            for version in [(2, 0), (2, 3), (3, 0), (3, 1)] {
                fine(
                    format!("Metal {version:?}"),
                    metal(kernel, module, info, version).map(|text| text.len()),
                );
            }
            // FXC, and the two ends of DXC that `wgpu` takes
            for model in
                [back::hlsl::ShaderModel::V5_1, back::hlsl::ShaderModel::V6_0, back::hlsl::ShaderModel::V6_6]
            {
                fine(format!("HLSL {model:?}"), hlsl(kernel, module, info, model).map(|text| text.len()));
            }
            fine("GLSL ES 3.1".into(), glsl(kernel, module, info).map(|text| text.len()));
        });
    }
    assert!(all.len() > 100, "{} launches", all.len());
}

/// A folder of files to validate; removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // a later run has another
    }
}

/// Whether a program is set up. Says so if it is not.
fn found(program: &str, package: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!(
            "{program} was not set up: nothing was validated (`cargo xtask setup`, or install {package})"
        );
    }
    found
}

/// Writes every launch with `write` and validates all files with the command that `validate` makes, several at a time.
fn validate_all(
    name: &str,
    write: impl Fn(&Dispatch, &Module, &ModuleInfo) -> Vec<u8>,
    validate: impl Fn(&Path) -> Command + Sync,
) {
    let folder = Folder::new(name);
    let files: Vec<(PathBuf, &str)> = distinct()
        .iter()
        .enumerate()
        .map(|(index, launch)| {
            let path = folder.0.join(format!("{index}.{name}"));
            specialised(launch, |module, info| {
                fs::write(&path, write(launch, module, info)).expect("a file")
            });
            (path, launch.kernel.name)
        })
        .collect();
    let check = |(path, kernel): &(PathBuf, &str)| {
        let output = validate(path).output().expect("the validator runs");
        let said =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        (!output.status.success()).then(|| format!("{kernel}: {said}"))
    };
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let problems: Vec<String> = std::thread::scope(|scope| {
        let parts = files.chunks(files.len().div_ceil(cores));
        let threads: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().filter_map(check).collect::<Vec<_>>()))
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(problems.is_empty(), "{} of {}: {}", problems.len(), files.len(), problems[0]);
}

#[test]
fn spirv_is_valid_for_vulkan() {
    if !found("spirv-val", "spirv-tools") {
        return;
    }
    validate_all(
        "spv",
        |_, module, info| {
            let words = spirv(module, info, (1, 3)).expect("writes");
            words.into_iter().flat_map(u32::to_le_bytes).collect()
        },
        |path| {
            let mut command = Command::new("spirv-val");
            command.args(["--target-env", "vulkan1.1"]).arg(path);
            command
        },
    );
}

#[test]
fn glsl_is_valid() {
    if !found("glslangValidator", "glslang-tools") {
        return;
    }
    validate_all(
        "comp",
        |launch, module, info| glsl(launch.kernel, module, info).expect("writes").into_bytes(),
        |path| {
            let mut command = Command::new("glslangValidator");
            command.arg(path);
            command
        },
    );
}
