//! PyTorch's files of weights, compared with what torch itself reads from them, bit by bit; and files that are refused.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::pickles::complete;
use crate::common::{data, read};
use safetensors::{Dtype, SafeTensors};
use serde_json::json;
use wordloom::model::ModelError;
use wordloom::model::checkpoint::Checkpoint;
use wordloom::model::files::ModelFiles;

/// The same tensors, written in every way.
const VIEWS: [&str; 7] = [
    "views_zip",
    "views_zip_protocol_5",
    "views_zip_plain",
    "views_rezipped",
    "views_zip64",
    "views_legacy",
    "views_legacy_protocol_4",
];

fn fixture(name: &str) -> Vec<u8> {
    read(&data("pickles").join(name))
}

fn open(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Checkpoint, ModelError> {
    Checkpoint::open(&ModelFiles::memory("test", [("pytorch_model.bin", bytes)]))
}

/// A tensor's elements as f32, by the `half` library and Rust's own casts.
fn widened(tensor: &safetensors::tensor::TensorView<'_>) -> Option<Vec<f32>> {
    fn each<const N: usize>(data: &[u8], decode: impl Fn([u8; N]) -> f32) -> Vec<f32> {
        data.as_chunks().0.iter().map(|&bytes| decode(bytes)).collect()
    }
    let data = tensor.data();
    Some(match tensor.dtype() {
        Dtype::F32 => each(data, f32::from_le_bytes),
        Dtype::F16 => each(data, |bytes| half::f16::from_le_bytes(bytes).to_f32()),
        Dtype::BF16 => each(data, |bytes| half::bf16::from_le_bytes(bytes).to_f32()),
        Dtype::F64 => each(data, |bytes| f64::from_le_bytes(bytes) as f32),
        _ => return None,
    })
}

#[track_caller]
fn assert_bits(found: &[f32], expected: &[f32], place: &str) {
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert!(bits(found) == bits(expected), "{place}: {found:?} is not {expected:?}");
}

/// Checks every tensor, whole, by rows and by columns.
fn check(checkpoint: &Checkpoint, reference: &SafeTensors<'_>, place: &str) {
    let mut names = reference.names();
    names.sort_unstable();
    assert!(checkpoint.names().eq(names), "{place}: names");
    for (name, tensor) in reference.iter() {
        let place = format!("{place}: {name}");
        let info = checkpoint.info(name).expect(name);
        assert_eq!((info.dtype, &info.shape[..]), (tensor.dtype(), tensor.shape()), "{place}");
        let Some(expected) = widened(&tensor) else {
            let error = checkpoint.require(name, tensor.shape()).expect_err("is not a number");
            assert!(error.to_string().contains("is stored as"), "{place}: {error}");
            continue;
        };
        let mut found = vec![f32::NAN; expected.len()];
        checkpoint.read(name, &mut found).expect(name);
        assert_bits(&found, &expected, &place);
        check_parts(checkpoint, name, tensor.shape(), &expected, &place);
    }
}

fn check_parts(checkpoint: &Checkpoint, name: &str, shape: &[usize], expected: &[f32], place: &str) {
    let rows = shape.first().copied().unwrap_or(1);
    let width = shape.iter().skip(1).product::<usize>();
    for range in [0..rows, 0..rows.min(1), rows / 2..rows, rows / 3..rows - rows / 3, rows..rows] {
        let mut part = vec![f32::NAN; range.len() * width];
        checkpoint.read_rows(name, range.clone(), &mut part).expect(name);
        assert_bits(
            &part,
            &expected[range.start * width..range.end * width],
            &format!("{place}, rows {range:?}"),
        );
    }
    if shape.len() != 2 {
        return;
    }
    for range in [0..width, 0..width.min(1), width / 2..width, width..width] {
        let mut part = vec![f32::NAN; range.len() * rows];
        checkpoint.read_columns(name, range.clone(), &mut part).expect(name);
        let column = |column| (0..rows).map(move |row| expected[row * width + column]);
        let want: Vec<f32> = range.clone().flat_map(column).collect();
        assert_bits(&part, &want, &format!("{place}, columns {range:?}"));
    }
}

#[test]
fn tensors_of_every_kind_are_those_that_torch_reads() {
    let expected = fixture("views.safetensors");
    let expected = SafeTensors::deserialize(&expected).expect("a sound fixture");
    for name in VIEWS {
        let checkpoint =
            open(fixture(&format!("{name}.bin"))).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(checkpoint.format(), "PyTorch");
        check(&checkpoint, &expected, name);
        for (one, other, equal) in [
            ("base", "shared", true),
            ("base", "transposed", false),
            ("base", "middle", false),
            ("transposed", "transposed", true),
        ] {
            assert_eq!(
                checkpoint.are_equal(one, other).expect("can be read"),
                equal,
                "{name}: {one}, {other}"
            );
        }
    }
}

#[test]
fn large_strided_tensors_are_read_in_parts() {
    let base = |row: usize, column: usize| (row * 703 + column) as f32;
    for name in ["large_zip", "large_legacy"] {
        let checkpoint = open(complete(name)).expect("sound");
        let transposed: Vec<f32> =
            (0..703).flat_map(|column| (0..411).map(move |row| base(row, column))).collect();
        let slice: Vec<f32> =
            (3..400).flat_map(|row| (5..690).map(move |column| base(row, column))).collect();
        let third: Vec<f32> =
            (0..411).flat_map(|row| (0..703).step_by(3).map(move |column| base(row, column))).collect();
        for (tensor, shape, expected) in [
            ("transposed", [703, 411], &transposed),
            ("slice", [397, 685], &slice),
            ("every_third", [411, 235], &third),
        ] {
            checkpoint.require(tensor, &shape).expect("is there");
            let mut found = vec![f32::NAN; expected.len()];
            checkpoint.read(tensor, &mut found).expect("can be read");
            assert!(found == *expected, "{name}: {tensor}");
            check_parts(&checkpoint, tensor, &shape, expected, name);
        }
    }
}

#[test]
fn whole_models_have_the_tensors_of_their_safetensors() {
    let bytes = |file: &str| read(&data("models/marian_tied").join(file));
    let (new, old) = (bytes("model.safetensors"), bytes("model_legacy_keys.safetensors"));
    let [new, old] = [&new, &old].map(|bytes| SafeTensors::deserialize(bytes).expect("sound"));
    for (name, reference) in [
        ("marian_zip", &new),
        ("marian_legacy", &new),
        ("marian_zip_older_names", &old),
        ("marian_legacy_older_names", &old),
    ] {
        check(&open(complete(name)).unwrap_or_else(|error| panic!("{name}: {error}")), reference, name);
    }
    for form in ["zip", "legacy"] {
        let files = sharded(form);
        let checkpoint = Checkpoint::open(&ModelFiles::memory(form, files.clone())).expect("sound");
        assert!(checkpoint.label().ends_with("pytorch_model.bin.index.json"));
        check(&checkpoint, &new, form);

        let without = |name: &str| files.iter().filter(|(own, _)| own != name).cloned().collect::<Vec<_>>();
        let second = "pytorch_model-00002-of-00002.bin";
        let error = refused(Checkpoint::open(&ModelFiles::memory("test", without(second))));
        assert!(error.contains(second) && error.contains("(1 of 2 are missing)"), "{error}");
        let error =
            refused(Checkpoint::open(&ModelFiles::memory("test", without("pytorch_model.bin.index.json"))));
        assert!(
            error.contains("\"pytorch_model.bin.index.json\", which lists all parts, is missing"),
            "{error}"
        );
    }
}

fn sharded(form: &str) -> Vec<(String, Vec<u8>)> {
    let shard = |number: &str| {
        (format!("pytorch_model-{number}-of-00002.bin"), complete(&format!("marian_{form}_{number}")))
    };
    let index = ("pytorch_model.bin.index.json".to_owned(), fixture("pytorch_model.bin.index.json"));
    vec![shard("00001"), shard("00002"), index]
}

#[test]
fn safetensors_win_where_both_are_there() {
    let safetensors = read(&data("models/marian_tied/model.safetensors"));
    let both = [("pytorch_model.bin", b"nonsense".to_vec()), ("model.safetensors", safetensors)];
    let checkpoint = Checkpoint::open(&ModelFiles::memory("test", both)).expect("sound");
    assert_eq!(checkpoint.format(), "safetensors");
}

#[track_caller]
fn refused<T>(result: Result<T, ModelError>) -> String {
    let error = result.err().expect("is refused").to_string();
    assert!(!error.contains('\n'), "{error:?} is more than a line");
    error
}

#[test]
fn a_file_that_is_no_state_dict_is_refused_by_name() {
    for (name, message) in [
        ("hostile_zip", "it needs \"posix.system\" of Python"),
        ("hostile_legacy", "it needs \"posix.system\" of Python"),
        ("module_zip", "it needs \"torch.nn.modules.linear.Linear\" of Python"),
        ("nested_zip", "its entry \"state_dict\" is a dictionary, as in a training checkpoint"),
        ("number_zip", "its entry \"epoch\" is a number, not a tensor"),
        ("one_tensor_zip", "it holds one tensor without a name"),
        ("list_zip", "it holds a list, not a state dict"),
        ("array_zip", "it needs \"numpy"),
        ("numbered_zip", "a name of its state dict is not a text"),
        ("negated_zip", "negated or conjugated"),
        ("sparse_zip", "it needs \"torch._utils._rebuild_sparse_tensor\" of Python"),
        ("program", "it is a program (TorchScript)"),
        ("compressed", "is compressed or encrypted"),
    ] {
        let error = refused(open(fixture(&format!("refused_{name}.bin"))));
        assert!(error.starts_with("test/pytorch_model.bin: "), "{error}");
        assert!(error.contains(message), "{name}: {error:?} does not say {message:?}");
    }
    let complex = open(fixture("refused_complex_zip.bin")).expect("is listed");
    let error = refused(complex.require("weight", &[2]));
    assert!(error.contains("is stored as C64"), "{error}");
}

/// A pickle of the zip form, in a file as torch writes it. Checksums are not looked at.
fn with_pickle(pickle: &[u8]) -> Vec<u8> {
    archive(&[("x/data.pkl", pickle, 0), ("x/data/0", &[0; 16], 0)])
}

/// A zip archive: name, content, method.
fn archive(entries: &[(&str, &[u8], u16)]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content, method) in entries {
        let place = (file.len() as u32).to_le_bytes();
        let [name_len, extra_len] = [name.len() as u16, 0].map(u16::to_le_bytes);
        let size = (content.len() as u32).to_le_bytes();
        let common =
            [&[0, 0, 0, 0][..], &method.to_le_bytes(), &[0; 8], &size, &size, &name_len, &extra_len].concat();
        file.extend([b"PK\x03\x04", &common[..], name.as_bytes(), content].concat());
        directory.extend([b"PK\x01\x02\0\0", &common[..], &[0; 10], &place, name.as_bytes()].concat());
    }
    let (start, length) = ((file.len() as u32).to_le_bytes(), (directory.len() as u32).to_le_bytes());
    let count = (entries.len() as u16).to_le_bytes();
    [&file[..], &directory, b"PK\x05\x06\0\0\0\0", &count, &count, &length, &start, &[0, 0]].concat()
}

/// `{name: _rebuild_tensor_v2(storage "0" of `count` elements, offset, size, strides, …)}` of f32.
fn one_tensor(name: &str, count: i32, offset: i32, axes: &[[i32; 2]]) -> Vec<u8> {
    let int = |value: i32| [&b"J"[..], &value.to_le_bytes()].concat();
    let text = |text: &str| [&b"X"[..], &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
    let tuple = |part: usize| {
        let items: Vec<u8> = axes.iter().flat_map(|axis| int(axis[part])).collect();
        [&b"("[..], &items, b"t"].concat()
    };
    [
        &b"\x80\x02}"[..],
        &text(name),
        b"ctorch._utils\n_rebuild_tensor_v2\n((",
        &text("storage"),
        b"ctorch\nFloatStorage\n",
        &text("0"),
        &text("cpu"),
        &int(count),
        b"tQ",
        &int(offset),
        &tuple(0),
        &tuple(1),
        b"\x89ccollections\nOrderedDict\n)RtRs.",
    ]
    .concat()
}

#[test]
fn the_smallest_file_is_read() {
    let checkpoint = open(with_pickle(&one_tensor("x", 4, 1, &[[3, 1]]))).expect("sound");
    checkpoint.require("x", &[3]).expect("is there");
}

/// Every pickle ends, in time and memory that its length allows.
#[test]
fn pickles_that_lead_nowhere_are_refused() {
    let nested = |depth| [&b"\x80\x02)"[..], &b"\x85".repeat(depth), b"."].concat();
    let (nested, endless) = (nested(1 << 18), nested(1 << 20));
    let marks: Vec<u8> = [&b"\x80\x02"[..], &b"(".repeat(1 << 20), b"."].concat();
    // each step doubles a list through the memo
    let doubled: Vec<u8> = [&b"\x80\x02]q\0"[..], &b"(h\0h\0e".repeat(1 << 19), b"."].concat();
    let huge_text = [&b"\x80\x02X"[..], &u32::MAX.to_le_bytes(), b"x."].concat();
    let huge_bytes = [&b"\x80\x04\x8e"[..], &u64::MAX.to_le_bytes(), b"x."].concat();
    for (pickle, message) in [
        (&b"\x80\x02}"[..], "ends in the middle of a value"),
        (b"\x80\x06}.", "protocol 6"),
        (b"\x80\x02.", "takes a value where there is none"),
        (b"\x80\x02t.", "closes a mark that is not open"),
        (b"\x80\x02h\x05.", "uses the value 5 before it is there"),
        (b"\x80\x02}X\x01\0\0\0as.", "takes a value where there is none"),
        (b"\x80\x02]X\x01\0\0\0aNs.", "no dictionary"),
        (b"\x80\x02}Na.", "no list"),
        (b"\x80\x02}(NNNu.", "a key without a value"),
        (b"\x80\x02N)R.", "no function"),
        (b"\x80\x02ccollections\nOrderedDict\nNR.", "without a tuple of arguments"),
        (b"\x80\x02ccollections\nOrderedDict\nN\x85R.", "other arguments"),
        (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R.", "other arguments"),
        (b"\x80\x02NQ.", "something else than a storage"),
        (b"\x80\x02Ios\nsystem\n.", "the operation 0x49"),
        (b"\x80\x02ios\nsystem\n.", "\"os.system\""),
        (b"\x80\x02cos\nsystem\n.", "\"os.system\""),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "\"os.system\""),
        (b"\x80\x02cbuiltins\neval\n.", "\"builtins.eval\""),
        (b"\x80\x02\x82\x01.", "the operation 0x82"),
        (b"\x80\x02N.", "it holds None, not a state dict"),
        (b"\x80\x02}Nb.", "it holds"),
        (&nested, "it holds a tuple, not a state dict"),
        (&endless, "values, more than a state dict needs"),
        (&marks, "takes a value where there is none"),
        (&doubled, "values, more than a state dict needs"),
        (&huge_text, "ends in the middle of a value"),
        (&huge_bytes, "ends in the middle of a value"),
    ] {
        let result = open(with_pickle(pickle));
        if message == "it holds" {
            assert!(result.is_ok_and(|checkpoint| checkpoint.names().next().is_none()));
            continue;
        }
        let error = refused(result);
        let start = String::from_utf8_lossy(&pickle[..pickle.len().min(40)]).into_owned();
        assert!(error.contains(message), "{start:?}: {error:?} does not say {message:?}");
    }
}

#[test]
fn tensors_stay_in_their_storages() {
    for (count, offset, axes, message) in [
        (5, 0, &[[5, 1]][..], "which is not the size of 5 F32"),
        (-4, 0, &[[4, 1]], "something else than a storage"),
        (4, 1, &[[4, 1]], "leaves its storage of 4 elements"),
        (4, -1, &[[4, 1]], "leaves its storage"),
        (4, 0, &[[4, 2]], "leaves its storage"),
        (4, 0, &[[2, 3], [2, 1]], "leaves its storage"),
        (4, 0, &[[-2, 1]], "other arguments"),
        (4, 0, &[[2, -1]], "other arguments"),
        (4, 0, &[[i32::MAX, i32::MAX], [i32::MAX, i32::MAX], [i32::MAX, i32::MAX]], "leaves its storage"),
        (4, 0, &[[1 << 30, 0]], "more than 8 times as large as the file"),
        (4, 0, &[[1 << 30, 0], [1 << 30, 0], [1 << 30, 0]], "leaves its storage"),
    ] {
        let error = refused(open(with_pickle(&one_tensor("x", count, offset, axes))));
        assert!(error.contains(message), "{error:?} does not say {message:?}");
    }
    for axes in [&[][..], &[[4, 1]], &[[2, 1], [2, 2]], &[[100, 0]], &[[0, 7]], &[[3, 0], [0, 0]]] {
        let checkpoint = open(with_pickle(&one_tensor("x", 4, 0, axes))).expect("sound");
        let count = checkpoint.info("x").expect("is there").element_count();
        checkpoint.read("x", &mut vec![f32::NAN; count]).expect("can be read");
    }
}

#[test]
fn archives_that_break_the_format_are_refused() {
    let pickle = one_tensor("x", 4, 0, &[[4, 1]]);
    let zeros: &[u8] = &[0; 16];
    let sound: Vec<(&str, &[u8], u16)> = vec![("x/data.pkl", &pickle, 0), ("x/data/0", zeros, 0)];
    let with = |more: &[(&'static str, &'static [u8], u16)]| {
        let all: Vec<_> = sound.iter().copied().chain(more.iter().copied()).collect();
        archive(&all)
    };
    assert!(open(with(&[("x/byteorder", b"little", 0), ("x/version", b"3\n", 0)])).is_ok());
    let whole = archive(&sound);
    let edited = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        bytes
    };
    let end = whole.len() - 22;
    for (bytes, message) in [
        (with(&[("x/byteorder", b"big", 0)]), "its numbers are big-endian"),
        (with(&[("x/byteorder", b"bigger", 0)]), "its numbers are big-endian"),
        (with(&[("x/constants.pkl", b"", 0)]), "TorchScript"),
        (with(&[("x/data/0", b"", 0)]), "twice"),
        (archive(&[("x/data.pkl", &pickle, 8), ("x/data/0", zeros, 0)]), "is compressed"),
        (archive(&[("x/data.pkl", &pickle, 0)]), "has no entry \"x/data/0\""),
        (archive(&[("x/data.pkl", &pickle, 0), ("x/data/0", &[0; 12], 0)]), "has 12 bytes, which is not"),
        (archive(&[("x/readme", b"", 0)]), "without a data.pkl"),
        (b"PK\x03\x04".to_vec(), "no end of one"),
        (whole[..whole.len() - 1].to_vec(), "no end of one"),
        (edited(0, b'p'), "begins neither as"),
        (edited(end + 12, 0xff), "damaged"),
        (edited(end + 16, 0xff), "damaged"),
        (edited(end + 19, 0xff), "damaged"),
        (b"".to_vec(), "begins neither as"),
        (b"\x80".to_vec(), "ends in the middle"),
        (b"\x80\x02N.".to_vec(), "magic number is missing"),
        (b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xea\x03.".to_vec(), "is not 1001"),
        ([&[b'x'; 257][..], b"ustar", &[0; 512]].concat(), "PyTorch 0.1.9 or older (tar)"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n".to_vec(), "git lfs pull"),
    ] {
        let error = refused(open(bytes));
        assert!(error.contains(message), "{error:?} does not say {message:?}");
    }
}

#[test]
fn a_truncated_file_is_refused_wherever_it_ends() {
    for name in ["views_zip", "views_legacy"] {
        let bytes = fixture(&format!("{name}.bin"));
        for length in (0..bytes.len()).step_by(7).chain(bytes.len() - 90..bytes.len()) {
            refused(open(bytes[..length].to_vec()));
        }
    }
}

/// A seeded sequence of numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

/// A file with some bytes changed, cut, inserted or repeated; mostly where its structure is.
fn mutant(whole: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..1 + random.below(4) {
        let at = match random.below(3) {
            0 => random.below(bytes.len()),
            1 => random.below(bytes.len().min(4000)),
            _ => bytes.len() - 1 - random.below(bytes.len().min(4000)),
        };
        let some = 1 + random.below(40);
        match random.below(7) {
            0 | 1 => bytes[at] = random.below(256) as u8,
            2 => bytes[at] ^= 1 << random.below(8),
            3 => bytes.truncate(at.max(1)),
            4 => drop(bytes.drain(at..bytes.len().min(at + some))),
            5 => {
                let again = bytes[at..bytes.len().min(at + some)].to_vec();
                bytes.splice(at..at, again);
            }
            _ => {
                let value = [0u64, 1, 0x7fff_ffff, u64::MAX, 1 << 32, 1 << 62][random.below(6)].to_le_bytes();
                let end = bytes.len().min(at + 1 + random.below(8));
                bytes[at..end].copy_from_slice(&value[..end - at]);
            }
        }
        if bytes.is_empty() {
            bytes.push(0);
        }
    }
    bytes
}

/// Opens mutants and reads all of their tensors. Returns how many could be opened.
fn run_mutants(count: usize) -> usize {
    const FILES: [&str; 4] = ["views_zip", "views_legacy", "views_zip64", "views_legacy_protocol_4"];
    let files = FILES.map(|name| fixture(&format!("{name}.bin")));
    let mut opened = 0;
    for number in 0..count {
        let mut random = Random(number as u64 + 1);
        let bytes = mutant(&files[number % files.len()], &mut random);
        let allowed = 8 * bytes.len() + (1 << 20);
        let result = catch_unwind(AssertUnwindSafe(|| {
            let Ok(checkpoint) = open(bytes.clone()) else { return 0 };
            for name in checkpoint.names() {
                let info = checkpoint.info(name).expect("is listed");
                assert!(info.element_count() <= allowed, "{name}: {info:?}");
                let mut values = vec![0.0; info.element_count()];
                if let Err(error) = checkpoint.read(name, &mut values) {
                    assert!(!error.to_string().contains('\n'), "{error}");
                }
                if let &[_, columns] = &info.shape[..] {
                    let _ = checkpoint.read_columns(name, 0..columns, &mut values);
                }
            }
            1
        }));
        opened += result.unwrap_or_else(|_| panic!("mutant {number} of {}", FILES[number % files.len()]));
    }
    opened
}

#[test]
fn mutants_never_panic() {
    let opened = run_mutants(400);
    assert!(
        (20..380).contains(&opened),
        "{opened} of 400 were opened: the mutants are too like or too unlike"
    );
}

/// `cargo test --test model -- --ignored pickle::mutants`
#[test]
#[ignore = "takes longer; for changes of the reader"]
fn twelve_thousand_mutants_never_panic() {
    println!("{} were opened", run_mutants(12_000));
}

/// Folders without weights of the usual names.
#[test]
fn a_folder_says_what_is_there_and_the_way_out() {
    let folder =
        |names: &[&'static str]| ModelFiles::memory("test", names.iter().map(|&name| (name, &b"{}"[..])));
    for (names, messages) in [
        (
            &["config.json", "tf_model.h5"][..],
            &["\"tf_model.h5\" is weights for TensorFlow", "from_tf=True"][..],
        ),
        (&["flax_model.msgpack"], &["Flax", "from_flax=True"]),
        (&["decoder_model.onnx", "encoder_model.onnx"], &["\"decoder_model.onnx\" is a graph for ONNX"]),
        (&["model-q4_0.gguf"], &["llama.cpp"]),
        (&["rust_model.ot"], &["rust-bert"]),
        (&["model.bin", "config.json"], &["CTranslate2"]),
        (
            &["adapter_config.json", "adapter_model.safetensors"],
            &["is an adapter (LoRA)", "merge_and_unload"],
        ),
        (
            &["model-00001-of-00002.safetensors"],
            &["\"model.safetensors.index.json\", which lists all parts, is missing"],
        ),
        (&["a.safetensors", "b.safetensors"], &["there are \"a.safetensors\" and \"b.safetensors\": rename"]),
        (&["config.json"], &["there is only \"config.json\"; is this the folder"]),
        (&["optimizer.pt", "rng_state.pth"], &["there is only \"optimizer.pt\", \"rng_state.pth\""]),
        (&[], &["the folder is empty"]),
    ] {
        let error = refused(Checkpoint::open(&folder(names)));
        assert!(
            error.starts_with("test: there is no \"model.safetensors\" or \"pytorch_model.bin\"; "),
            "{error}"
        );
        for message in messages {
            assert!(error.contains(message), "{error:?} does not say {message:?}");
        }
    }
    let base =
        json!({ "base_model_name_or_path": "facebook/nllb-200-distilled-600M" }).to_string().into_bytes();
    let adapter = [("adapter_config.json", base), ("adapter_model.safetensors", Vec::new())];
    let error = refused(wordloom::Model::from_files(ModelFiles::memory("test", adapter)).map(|_| ()));
    assert!(error.contains("the weights of \"facebook/nllb-200-distilled-600M\""), "{error}");
}

#[test]
fn one_file_of_another_name_is_read() {
    let safetensors = read(&data("models/marian_tied/model.safetensors"));
    for name in ["model.fp16.safetensors", "consolidated.safetensors"] {
        let files = [
            (name, safetensors.clone()),
            ("training_args.bin", Vec::new()),
            ("pytorch_model.bf16.bin", Vec::new()),
        ];
        let checkpoint = Checkpoint::open(&ModelFiles::memory("test", files)).expect("sound");
        assert_eq!(checkpoint.format(), "safetensors");
        assert!(checkpoint.label().ends_with(name));
    }
    for name in ["pytorch_model.fp16.bin", "checkpoint.pt", "best.pth"] {
        let files = [(name, fixture("views_zip.bin")), ("optimizer.pt", Vec::new())];
        let checkpoint = Checkpoint::open(&ModelFiles::memory("test", files)).expect("sound");
        assert!(checkpoint.contains("transposed"));
    }
}
