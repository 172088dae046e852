//! Rules over naga's program of a launch, each with its reason: what is right on one driver and fails on another.

use naga::{AddressSpace, Module, ScalarKind, Statement, TypeInner};

use super::loops;

/// Checks a specialised shader.
pub fn check(name: &str, module: &Module) {
    let problems = problems(module);
    assert!(problems.is_empty(), "{name}: {}", problems.join("; "));
}

/// The rules that a module breaks.
pub fn problems(module: &Module) -> Vec<String> {
    let mut problems = Vec::new();
    let mut rule = |holds: bool, problem: String| {
        if !holds {
            problems.push(problem);
        }
    };
    let entry = &module.entry_points[0];
    rule(entry.name == "main", format!("the entry point is {}", entry.name));
    let [x, y, z] = entry.workgroup_size;
    // WebGPU's defaults; older phones allow no more
    rule(x * y * z <= 256, format!("{} invocations a workgroup", x * y * z));
    // WebGPU's default for z, and Direct3D's limit
    rule(x.max(y) <= 256 && z <= 64, format!("a workgroup of {x}×{y}×{z}"));

    let mut layouter = naga::proc::Layouter::default();
    layouter.update(module.to_ctx()).expect("a valid module");
    let bytes_of = |space: AddressSpace| {
        let variables = module.global_variables.iter().filter(move |(_, variable)| variable.space == space);
        variables.map(|(_, variable)| layouter[variable.ty].size.next_multiple_of(16)).sum::<u32>()
    };
    let workgroup = bytes_of(AddressSpace::WorkGroup);
    // WebGPU's default; Metal rounds every variable up to 16 bytes, and Apple's A-series has no more than 32 KiB
    rule(workgroup <= 16_384, format!("{workgroup} bytes a workgroup"));
    let uniform = bytes_of(AddressSpace::Uniform);
    // all parameters of a recording lie in one buffer, at WebGPU's alignment of dynamic offsets
    rule(uniform <= 256, format!("{uniform} bytes of parameters"));
    let storage = module
        .global_variables
        .iter()
        .filter(|(_, variable)| matches!(variable.space, AddressSpace::Storage { .. }))
        .count();
    // WebGPU's default; Direct3D 12's root signatures of tier 1 hold 8 unordered views
    rule(storage <= 8, format!("{storage} storage buffers"));

    for (_, ty) in module.types.iter() {
        let scalar = match ty.inner {
            TypeInner::Scalar(scalar)
            | TypeInner::Vector { scalar, .. }
            | TypeInner::Matrix { scalar, .. } => scalar,
            // floats would be added in another order each time, and Metal has no atomic floats before 3.0
            TypeInner::Atomic(scalar) => scalar,
            _ => continue,
        };
        // 64-bit numbers and f16 are extensions: no Metal device has f64, and most phones no 64-bit integers
        let abstract_number = matches!(scalar.kind, ScalarKind::AbstractInt | ScalarKind::AbstractFloat);
        rule(scalar.width <= 4 || abstract_number, format!("a scalar of {} bytes", scalar.width));
        let atomic = matches!(ty.inner, TypeInner::Atomic(_));
        rule(!atomic || scalar.kind != ScalarKind::Float, "an atomic float".into());
        rule(
            scalar.kind != ScalarKind::Float || scalar.width == 4 || abstract_number,
            "a float that is not f32".into(),
        );
    }
    for function in module.functions.iter().map(|(_, function)| function).chain([&entry.function]) {
        let who = function.name.as_deref().unwrap_or("main");
        for problem in loops::problems(module, function) {
            rule(false, format!("{who}: {problem}"));
        }
    }
    problems
}

pub fn each_statement(block: &naga::Block, visit: &mut impl FnMut(&Statement)) {
    for statement in block {
        visit(statement);
        match statement {
            Statement::Block(block) => each_statement(block, visit),
            Statement::If { accept, reject, .. } => {
                each_statement(accept, visit);
                each_statement(reject, visit);
            }
            Statement::Loop { body, continuing, .. } => {
                each_statement(body, visit);
                each_statement(continuing, visit);
            }
            Statement::Switch { cases, .. } => {
                cases.iter().for_each(|case| each_statement(&case.body, visit))
            }
            _ => {}
        }
    }
}

#[test]
fn broken_rules_are_found() {
    let problems_of = |body: &str, size: &str| {
        let wgsl = format!(
            "struct Params {{ count: u32 }}
             @group(0) @binding(0) var<storage, read_write> y: array<f32>;
             @group(1) @binding(0) var<uniform> params: Params;
             {body}
             @compute @workgroup_size({size})
             fn main(@builtin(local_invocation_index) lane: u32) {{ run(lane); }}"
        );
        let module = naga::front::wgsl::parse_str(&wgsl)
            .unwrap_or_else(|error| panic!("{}", error.emit_to_string(&wgsl)));
        problems(&module).join("; ")
    };
    assert_eq!(problems_of("fn run(lane: u32) { y[lane] = 1.0; }", "64"), "");
    let found = |body: &str, size: &str, part: &str| {
        let problems = problems_of(body, size);
        assert!(problems.contains(part), "{part:?} is not in {problems:?}");
    };
    found("fn run(lane: u32) {}", "512", "512 invocations");
    found("fn run(lane: u32) {}", "1, 1, 128", "a workgroup of 1×1×128");
    found(
        "var<workgroup> w: array<f32, 5000>; fn run(lane: u32) { w[lane] = 1.0; }",
        "64",
        "20000 bytes a workgroup",
    );
    found(
        "fn run(lane: u32) { var v = vec4f(); v[lane % 4u] = 1.0; y[lane] = v.x; }",
        "64",
        "written by number",
    );
    found(
        "fn run(lane: u32) { var s = 0.0; for (var i = 0u; i < 5000u; i++) { s += y[i]; } y[lane] = s; }",
        "64",
        "5000 turns",
    );
    found(
        "fn run(lane: u32) { for (var i = 0u; i < 64u; i++) { for (var j = 0u; j < 64u; j++) { y[j] = y[i]; } } }",
        "64",
        "4096 turns",
    );
    found("fn run(lane: u32) { loop { y[lane] += 1.0; } }", "64", "no end");
}
