//! Every shader holds to the house rules: it is valid WGSL, it binds what its Rust half says, and it needs no more than
//! WebGPU's default limits.

use std::collections::BTreeSet;
use std::path::Path;

use naga::{AddressSpace, ScalarKind, StorageAccess, TypeInner};
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
use wordloom::kernels::ssru::SsruShape;
use wordloom::kernels::{self, Access, Dispatch, Kernel};
use wordloom::precision::WeightPrecision;
use wordloom::scores::{ScoreRules, ScoreSpace};

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
    let names: BTreeSet<_> = kernels::all().map(|kernel| kernel.name).collect();
    assert_eq!(names.len(), kernels::all().count());
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
            let code = kernels::wgsl::code_of(&text);
            let used = kernels::all().any(|kernel| kernel.wgsl.contains(&&*code));
            assert!(used, "{} is in no kernel", file.display());
        }
    }
}

#[test]
fn bindings_are_what_rust_binds() {
    for kernel in kernels::all() {
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
    for kernel in kernels::all() {
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

/// One launch of every kernel, with all of its constants.
fn launches() -> Vec<Dispatch> {
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
        layer_norm_gradient::weight_dispatch(&norm),
        column_sums::dispatch(3, 96),
        softmax_loss::dispatch(&loss, 3),
        copy_rows::dispatch(2, 32, 1, 0),
        dropout::dispatch(2, 32, dropout, true),
        clip::sum_squares_dispatch(5000, 1),
        clip::factor_dispatch(7, Some(1.0)),
        adam::dispatch(&adam, 5000),
        sum_losses::dispatch(2, 4, 5, true),
        tie_rows::dispatch(9, 4, tie_rows::TiedRows::First),
    ];
    for class in [AdapterClass::Software, AdapterClass::Hardware] {
        let earlier = linear_gradient::Earlier::Buffer;
        launches.push(linear_gradient::input_dispatch(&linear, 64..96, earlier, class));
        launches.push(linear_gradient::weight_dispatch(&linear, 64..96, class));
    }
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

#[test]
fn launches_stay_within_the_default_limits() {
    let mut launched = BTreeSet::new();
    for launch in launches() {
        let kernel = launch.kernel;
        launched.insert(kernel.name);
        assert_eq!(launch.params.len(), 4 * kernel.params.len(), "{}", kernel.name);
        let module = module_of(kernel);
        for (name, _) in &launch.constants {
            let known = module.overrides.iter().any(|(_, constant)| constant.name.as_deref() == Some(name));
            assert!(known, "{} has no override `{name}`", kernel.name);
        }
        let info = validate(kernel, &module);
        let constants = launch.constants.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        let (module, _) = naga::back::pipeline_constants::process_overrides(&module, &info, None, &constants)
            .unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
        let entry = &module.entry_points[0];
        assert_eq!(entry.name, "main", "{}", kernel.name);
        let invocations: u32 = entry.workgroup_size.iter().product();
        assert!(invocations <= 256, "{} has {invocations} invocations a workgroup", kernel.name);
        let mut layouter = naga::proc::Layouter::default();
        layouter.update(module.to_ctx()).unwrap();
        let workgroup_bytes: u32 = module
            .global_variables
            .iter()
            .filter(|(_, variable)| variable.space == AddressSpace::WorkGroup)
            .map(|(_, variable)| layouter[variable.ty].size.next_multiple_of(16))
            .sum();
        assert!(workgroup_bytes <= 16_384, "{} has {workgroup_bytes} bytes a workgroup", kernel.name);
    }
    for kernel in kernels::all() {
        assert!(launched.contains(kernel.name), "no launch of {} was looked at", kernel.name);
    }
}
