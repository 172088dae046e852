//! Every shader holds to the house rules: it is valid WGSL, it binds what its Rust half says, and it needs no more than
//! WebGPU's default limits.

mod backends;
mod launches;
mod loops;
mod matrix_units;
mod portable;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use launches::launches;
use naga::valid::ModuleInfo;
use naga::{AddressSpace, Module, ScalarKind, StorageAccess, TypeInner};
use wordloom::kernels::{self, Access, Dispatch, Kernel};

fn module_of(kernel: &Kernel) -> naga::Module {
    let text = kernel.text();
    naga::front::wgsl::parse_str(&text)
        .unwrap_or_else(|error| panic!("{}: {}", kernel.name, error.emit_to_string(&text)))
}

fn validate(kernel: &Kernel, module: &naga::Module) -> naga::valid::ModuleInfo {
    use naga::valid::{Capabilities, ValidationFlags, Validator};
    // `unpack2x16float` is part of the language: this is no extension but for devices that are less than WebGPU
    Validator::new(ValidationFlags::all(), Capabilities::SHADER_FLOAT16_IN_FLOAT32)
        .validate(module)
        .unwrap_or_else(|error| panic!("{}: {}", kernel.name, error.emit_to_string(&kernel.text())))
}

#[test]
fn no_shader_needs_an_extension() {
    for kernel in kernels::all() {
        validate(kernel, &module_of(kernel));
    }
}

/// Chromium's compiler refuses `a >> b & c` and its like, which naga takes.
#[test]
fn operators_on_bits_have_parentheses() {
    assert_eq!(mixed_operators("return (bans[i] >> (token % 32u) & 1u) == 1u;"), Some(">> &".into()));
    assert_eq!(mixed_operators("return ((bans[i] >> (token % 32u)) & 1u) == 1u;"), None);
    assert_eq!(mixed_operators("let x = a & b == c;"), Some("& ==".into()));
    assert_eq!(mixed_operators("let x = f(a + b, c | d) + e; let y = a < b && c << d > e;"), None);
    for kernel in kernels::all() {
        let mixed = mixed_operators(&kernel.text());
        assert_eq!(mixed, None, "{}: operators that want parentheses between them", kernel.name);
    }
}

/// The first operators of one expression, without parentheses between them, that the language does not let meet. Relies
/// on spaces around operators.
fn mixed_operators(wgsl: &str) -> Option<String> {
    const BITS: [&str; 3] = ["&", "|", "^"];
    const SHIFTS: [&str; 2] = ["<<", ">>"];
    const ARITHMETIC: [&str; 5] = ["+", "-", "*", "/", "%"];
    const COMPARISONS: [&str; 6] = ["<", ">", "<=", ">=", "==", "!="];
    let is_wrong = |operators: &[&str]| {
        let shifts = operators.iter().any(|it| SHIFTS.contains(it));
        let bits = operators.iter().any(|it| BITS.contains(it));
        (shifts && operators.iter().any(|it| ARITHMETIC.contains(it) || BITS.contains(it)))
            || (bits && operators.iter().any(|it| *it != operators[0]))
    };
    let code = wgsl.lines().map(|line| line.split("//").next().unwrap_or_default());
    let mut levels = vec![Vec::new()];
    for word in code.flat_map(str::split_whitespace) {
        let operators = levels.last_mut()?;
        if [&BITS[..], &SHIFTS, &ARITHMETIC, &COMPARISONS].concat().contains(&word) {
            operators.push(word);
            if is_wrong(operators) {
                return Some(operators.join(" "));
            }
        } else if ["&&", "||"].contains(&word) || word.ends_with('=') {
            operators.clear();
        }
        for character in word.chars() {
            match character {
                '(' | '[' => levels.push(Vec::new()),
                ')' | ']' => drop(levels.pop()),
                ',' | ';' | '{' | '}' => levels.last_mut()?.clear(),
                _ => {}
            }
        }
    }
    None
}

#[test]
fn names_are_unique() {
    let names: BTreeSet<_> = with_units().map(|kernel| kernel.name).collect();
    assert_eq!(names.len(), with_units().count());
}

/// All kernels, those for matrix units, too.
fn with_units() -> impl Iterator<Item = &'static Kernel> {
    kernels::all().chain(kernels::matrix_units::all())
}

/// A file that nothing uses would be checked by nobody.
#[test]
fn every_file_is_used() {
    for folder in ["shaders", "shaders/shared"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for file in std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
        {
            let text = std::fs::read_to_string(&file).unwrap();
            let code = kernels::wgsl::code(&text);
            let used = with_units().any(|kernel| kernel.wgsl.contains(&&*code));
            assert!(used, "{} is in no kernel", file.display());
        }
    }
}

#[test]
fn bindings_are_what_rust_binds() {
    for kernel in with_units() {
        let module = module_of(kernel);
        let mut storage = vec![None; kernel.storage.len()];
        let mut uniforms = 0;
        for (_, variable) in module.global_variables.iter() {
            let Some(binding) = &variable.binding else { continue };
            match variable.space {
                AddressSpace::Storage { access } if binding.group == 0 => {
                    let access = match access.contains(StorageAccess::STORE) {
                        true => Access::Write,
                        false => Access::Read,
                    };
                    storage[binding.binding as usize] = Some(access);
                }
                AddressSpace::Uniform => {
                    assert_eq!((binding.group, binding.binding), (1, 0), "{}", kernel.name);
                    uniforms += 1;
                }
                space => panic!("{}: group {} holds {space:?}", kernel.name, binding.group),
            }
        }
        let expected: Vec<_> = kernel.storage.iter().copied().map(Some).collect();
        assert_eq!(storage, expected, "storage of {}", kernel.name);
        assert_eq!(uniforms, 1, "uniforms of {}", kernel.name);
        assert!(kernel.storage.len() <= 8, "{} has {} storage buffers", kernel.name, kernel.storage.len());
    }
}

#[test]
fn params_structs_agree() {
    for kernel in with_units() {
        let module = module_of(kernel);
        let (_, uniform) = module
            .global_variables
            .iter()
            .find(|(_, variable)| variable.space == AddressSpace::Uniform)
            .unwrap_or_else(|| panic!("{} has no params", kernel.name));
        let TypeInner::Struct { members, span } = &module.types[uniform.ty].inner else {
            panic!("params of {} are no struct", kernel.name)
        };
        let wgsl: Vec<_> = members
            .iter()
            .map(|member| {
                let dtype = match module.types[member.ty].inner {
                    TypeInner::Scalar(scalar) if scalar.width == 4 => match scalar.kind {
                        ScalarKind::Uint => "u32",
                        ScalarKind::Sint => "i32",
                        ScalarKind::Float => "f32",
                        kind => panic!("{}: {kind:?}", kernel.name),
                    },
                    ref inner => panic!("{}: {inner:?}", kernel.name),
                };
                (member.name.as_deref().unwrap(), dtype, member.offset as usize)
            })
            .collect();
        let rust: Vec<_> =
            kernel.params.iter().map(|field| (field.name, field.dtype, field.offset)).collect();
        assert_eq!(wgsl, rust, "params of {}", kernel.name);
        assert_eq!(*span as usize, 4 * rust.len(), "size of the params of {}", kernel.name);
    }
}

/// A launch's shader with its constants, as a driver gets it.
fn specialised(launch: &Dispatch, use_module: impl FnOnce(&Module, &ModuleInfo)) {
    let kernel = launch.kernel;
    let module = module_of(kernel);
    for (name, _) in &launch.constants {
        let known = module.overrides.iter().any(|(_, constant)| constant.name.as_deref() == Some(name));
        assert!(known, "{} has no override `{name}`", kernel.name);
    }
    let info = validate(kernel, &module);
    let constants = launch.constants.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let (module, info): (Cow<'_, Module>, Cow<'_, ModuleInfo>) =
        naga::back::pipeline_constants::process_overrides(&module, &info, None, &constants)
            .unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
    use_module(&module, &info);
}

#[test]
fn launches_stay_within_the_default_limits() {
    let mut launched = BTreeSet::new();
    for launch in launches() {
        let kernel = launch.kernel;
        launched.insert(kernel.name);
        assert_eq!(launch.params.len(), 4 * kernel.params.len(), "{}", kernel.name);
        specialised(&launch, |module, _| portable::check(kernel.name, module));
    }
    for kernel in kernels::all() {
        assert!(launched.contains(kernel.name), "no launch of {} was looked at", kernel.name);
    }
}
