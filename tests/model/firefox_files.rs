//! The files of Firefox's translation models, against the engine that they were made for.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use wordloom::model::checkpoint::Checkpoint;
use wordloom::model::files::ModelFiles;
use wordloom::model::{Shortlist, ShortlistVocabularies, read_tokenizer};
use wordloom::text::FirefoxTokenizer;
use wordloom::{Model, ModelError};

use crate::assert_refused;

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/firefox").join(path)
}

fn read(path: &str) -> Vec<u8> {
    fs::read(data(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut content).expect("a sound fixture");
    content
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn joint() -> ModelFiles {
    ModelFiles::directory(data("joint")).unwrap()
}

/// The files of the joint student, some of them replaced.
fn joint_with(replaced: &[(&str, Vec<u8>)], left_out: &[&str]) -> ModelFiles {
    let names = ["model.ende.intgemm.alphas.bin", "vocab.deen.spm", "lex.50.50.ende.s2t.bin"];
    let mut files: BTreeMap<String, Vec<u8>> =
        names.into_iter().map(|name| (name.to_owned(), read(&format!("joint/{name}")))).collect();
    left_out.iter().for_each(|name| {
        files.remove(*name);
    });
    files.extend(replaced.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.clone())));
    ModelFiles::memory("student", files)
}

/// Polynomial 0xEDB88320, as zlib's `crc32`.
fn crc32(bytes: impl IntoIterator<Item = u8>) -> u32 {
    !bytes.into_iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    })
}

#[test]
fn ids_and_columns_of_the_real_files_are_those_of_the_engine() {
    let vocabulary = gunzip(&read("en-de/vocab.deen.spm.gz"));
    let lex = gunzip(&read("en-de/lex.50.50.ende.s2t.bin.gz"));
    let tokenizer = FirefoxTokenizer::new(("vocab.deen.spm", &vocabulary), None).unwrap();
    let vocabularies = ShortlistVocabularies { source: 32_000, target: 32_000, shared: true };
    let shortlist = Shortlist::from_bytes("lex", &lex, vocabularies).unwrap();
    assert_eq!((shortlist.first(), shortlist.len()), (50, 701_609));

    let expected: Vec<(String, Vec<u32>, usize, u32)> = serde_json::from_slice(&read("en-de.json")).unwrap();
    assert!(expected.len() > 1000);
    for (source, ids, count, crc) in expected {
        assert_eq!(tokenizer.encode_source(&source), ids, "{source:?}");
        let columns = shortlist.columns(&ids);
        assert_eq!(columns.len(), count, "{source:?}");
        assert_eq!(crc32(columns.iter().flat_map(|id| id.to_le_bytes())), crc, "{source:?}");
    }
}

#[test]
fn tensors_have_the_names_shapes_and_values_that_were_written() {
    type Tensors = BTreeMap<String, (Vec<usize>, f64, Vec<f32>)>;
    let expected: BTreeMap<String, Tensors> = serde_json::from_slice(&read("tensors.json")).unwrap();
    for (student, tensors) in expected {
        let files = ModelFiles::directory(data(&student)).unwrap();
        let checkpoint = Checkpoint::open(&files).unwrap();
        assert_eq!(checkpoint.format(), "Marian");
        let names: Vec<&str> = checkpoint.names().collect();
        assert_eq!(names, tensors.keys().map(String::as_str).collect::<Vec<_>>(), "{student}");
        for (name, (shape, sum, some)) in tensors {
            let info = checkpoint.info(&name).unwrap();
            assert_eq!(info.shape, shape, "{name}");
            let values = row_major(&checkpoint, &name);
            assert_eq!(
                values.iter().step_by(23).take(some.len()).copied().collect::<Vec<_>>(),
                some,
                "{name}"
            );
            let found: f64 = values.iter().copied().map(f64::from).sum();
            assert!((found - sum).abs() < 1e-9 * values.len() as f64, "{name}: {found}, not {sum}");
            let is_matrix = shape.len() == 2;
            assert_eq!([false, true].map(|by_column| info.is_in_8_bits(by_column)), [is_matrix; 2], "{name}");
            assert_eq!(checkpoint.multiplier(&name).unwrap().is_some(), is_matrix, "{name}");
        }
    }
}

/// All values, read as columns if it is a matrix.
fn row_major(checkpoint: &Checkpoint, name: &str) -> Vec<f32> {
    let mut values = vec![f32::NAN; checkpoint.info(name).unwrap().element_count()];
    let &[rows, columns] = &checkpoint.info(name).unwrap().shape[..] else {
        checkpoint.read(name, &mut values).unwrap();
        return values;
    };
    if name.ends_with("Wemb") {
        checkpoint.read_rows(name, 0..rows, &mut values).unwrap();
        return values;
    }
    let half = columns / 2;
    let (left, right) = values.split_at_mut(rows * half);
    checkpoint.read_columns(name, half..columns, right).unwrap();
    checkpoint.read_columns(name, 0..half, left).unwrap();
    (0..rows * columns).map(|at| values[at % columns * rows + at / columns]).collect()
}

#[test]
fn a_folder_needs_no_other_file() {
    for (folder, target) in [("joint", 504), ("split", 480)] {
        let model = Model::load(data(folder)).unwrap();
        let config = model.config();
        assert_eq!((config.d_model, config.encoder.layers, config.target_vocabulary), (64, 2, target));
        let tokenizer = model.tokenizer().unwrap();
        let last = tokenizer.last_tokens().map(|(id, _)| id as usize + 1);
        assert_eq!(last, [config.source_vocabulary, config.target_vocabulary]);
        let shortlist = model.shortlist().unwrap().expect("a shortlist");
        let ids = tokenizer.encode("It's not so bad here.").unwrap();
        assert!(shortlist.columns(&ids).len().is_multiple_of(8));
        // the same from memory, and each file compressed or not
        let name = &model.checkpoint().label()[model.label().len() + 1..];
        assert!(name.starts_with("model.ende"), "{name}");
    }
    let compressed: Vec<(&str, Vec<u8>)> = vec![
        ("model.ende.intgemm.alphas.bin.gz", gzip(&read("joint/model.ende.intgemm.alphas.bin"))),
        ("vocab.deen.spm.gz", gzip(&read("joint/vocab.deen.spm"))),
        ("lex.50.50.ende.s2t.bin.gz", gzip(&read("joint/lex.50.50.ende.s2t.bin"))),
    ];
    let files = ModelFiles::memory("gz", compressed);
    let (one, other) = (Model::from_files(files.clone()).unwrap(), Model::load(data("joint")).unwrap());
    assert_eq!(one.config(), other.config());
    assert_eq!(one.shortlist().unwrap(), other.shortlist().unwrap());
    assert_eq!(row_major(one.checkpoint(), "Wemb"), row_major(other.checkpoint(), "Wemb"));
    let ids = [&files, &joint()].map(|files| read_tokenizer(files).unwrap().encode("Tom?").unwrap());
    assert_eq!(ids[0], ids[1]);
}

#[test]
fn text_comes_back_from_ids() {
    let tokenizer = read_tokenizer(&joint()).unwrap();
    let ids = tokenizer.encode("It's not so bad here.").unwrap();
    assert_eq!(ids.last(), Some(&0));
    assert_eq!(tokenizer.decode(&ids, true).unwrap(), "It's not so bad here.");
    assert_eq!(tokenizer.decode(&ids, false).unwrap(), "It's not so bad here. </s>");
    assert_eq!(tokenizer.decode(&[1], true).unwrap(), " ⁇ ");
    assert_eq!(tokenizer.target_token(0).as_deref(), Some("</s>"));
    assert!(tokenizer.is_special(0) && !tokenizer.is_special(1));
    // the names of special tokens are text
    assert!(tokenizer.encode("</s>").unwrap().len() > 2);
}

#[test]
fn files_are_found_by_their_names() {
    const WEIGHTS: &str = "model.ende.intgemm.alphas.bin";
    const VOCABULARY: &str = "vocab.deen.spm";
    let weights = || read("joint/model.ende.intgemm.alphas.bin");
    let spm = || read("joint/vocab.deen.spm");
    for name in ["model.bin", "model.npz.best.bin", "model.ende.intgemm8.bin", "model.enfr.bin"] {
        let files = joint_with(&[(name, weights())], &[WEIGHTS]);
        assert!(Checkpoint::open(&files).unwrap().label().ends_with(name));
    }
    // the one with the scales of the inputs is the best
    let files = joint_with(&[("model.bin", Vec::new()), ("model.ende.intgemm8.bin", Vec::new())], &[]);
    assert!(Checkpoint::open(&files).unwrap().label().ends_with(WEIGHTS));
    let files = joint_with(&[("model.enfr.intgemm.alphas.bin", weights())], &[]);
    assert_refused(Model::from_files(files), "keep one model in a folder");
    let files = joint_with(&[("model.npz", Vec::new())], &[WEIGHTS]);
    assert_refused(Checkpoint::open(&files), "student/model.npz: weights in Marian's .npz are not read");

    let files = joint_with(&[("vocab.spm", spm())], &[VOCABULARY]);
    read_tokenizer(&files).unwrap();
    for names in [["srcvocab.ende.spm", "trgvocab.ende.spm"], ["vocab.en.spm", "vocab.de.spm"]] {
        let files = joint_with(&names.map(|name| (name, spm())), &[VOCABULARY]);
        read_tokenizer(&files).unwrap();
    }
    let files = joint_with(&[("vocab.fr.spm", spm())], &[]);
    assert_refused(read_tokenizer(&files), "keep one model in a folder");
    let files = joint_with(&[], &[VOCABULARY]);
    assert_refused(read_tokenizer(&files), "there is no tokenizer (\"vocab.*.spm\", or \"srcvocab.*.spm\"");
    let files = joint_with(&[], &["lex.50.50.ende.s2t.bin"]);
    assert_eq!(Model::from_files(files).unwrap().shortlist().unwrap(), None);
}

/// A Marian binary of items: name, type, shape, data.
fn binary(items: &[(&str, u64, &[i32], &[u8])]) -> Vec<u8> {
    let mut file: Vec<u8> = [1, items.len() as u64].into_iter().flat_map(u64::to_le_bytes).collect();
    for (name, code, shape, data) in items {
        let header = [name.len() as u64 + 1, *code, shape.len() as u64, data.len() as u64];
        file.extend(header.into_iter().flat_map(u64::to_le_bytes));
    }
    items.iter().for_each(|(name, ..)| file.extend([name.as_bytes(), &[0]].concat()));
    items.iter().for_each(|(_, _, shape, _)| file.extend(shape.iter().flat_map(|size| size.to_le_bytes())));
    file.extend(3u64.to_le_bytes());
    file.extend([0; 3]);
    items.iter().for_each(|(.., data)| file.extend(*data));
    file
}

fn open(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Checkpoint, ModelError> {
    Checkpoint::open(&ModelFiles::memory("test", [("model.ende.bin", bytes)]))
}

const F32: u64 = 0x0404;
const INTGEMM8: u64 = 0x4101;

#[test]
fn matrices_in_f32_are_not_transposed() {
    let values: Vec<u8> = (0..6).flat_map(|value| (value as f32).to_le_bytes()).collect();
    let bytes = [1u8, 254, 3, 4, 5, 6, 0, 0, 0, 64]; // multiplier 2
    let half = [0u8, 0x3c];
    let checkpoint = open(binary(&[
        ("W", F32, &[2, 3], &values),
        ("Wemb", INTGEMM8, &[2, 3], &bytes),
        ("decoder_Wq", INTGEMM8, &[2, 3], &bytes),
        ("b", 0x0402, &[1, 1, 1], &half),
    ]))
    .unwrap();
    assert_eq!(row_major(&checkpoint, "W"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(row_major(&checkpoint, "Wemb"), [0.5, -1.0, 1.5, 2.0, 2.5, 3.0]);
    assert_eq!(row_major(&checkpoint, "decoder_Wq"), [0.5, 1.5, 2.5, -1.0, 2.0, 3.0]);
    assert_eq!(row_major(&checkpoint, "b"), [1.0]);
    assert_eq!(checkpoint.multiplier("decoder_Wq").unwrap(), Some(2.0));
}

#[test]
fn damaged_binaries_are_refused() {
    let good = read("joint/model.ende.intgemm.alphas.bin");
    let with = |at: usize, value: u64| {
        let mut bytes = good.clone();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        open(bytes)
    };
    assert_refused(with(0, 2), "test/model.ende.bin: is not a valid checkpoint: it is not a Marian binary");
    assert_refused(with(8, u64::MAX), "items; at most 65536");
    assert_refused(with(8, 60_000), "the headers of its items would end after the file");
    assert_refused(with(16, u64::MAX), "the name of an item would end after the file");
    assert_refused(with(16, 3), "the name of an item is not text");
    assert_refused(with(24, 0x4102), "is in 16 bits (intgemm16)");
    assert_refused(with(24, 0x5101), "is in a form for one kind of processor (type 0x5101)");
    assert_refused(with(24, 0x1801), "is in a form for one kind of processor");
    assert_refused(with(24, 7), "is of the unknown type 0x0007");
    assert_refused(with(32, 1 << 40), "axes; at most 8");
    assert_refused(with(40, u64::MAX), "would end after the file");
    assert_refused(with(40, 1), "bytes, too few");
    assert_refused(open(good[..good.len() - 1].to_vec()), "would end after the file");
    assert_refused(open([&good[..], &[0; 300]].concat()), "300 bytes follow its last item");
    assert_refused(open(b"PK".to_vec()), "its prefix would end after the file");

    let values = [0; 8];
    let item = |name, shape: &'static [i32]| (name, F32, shape, &values[..]);
    assert_refused(open(binary(&[item("W", &[2, -1])])), "negative size");
    assert_refused(open(binary(&[item("W", &[1 << 30; 8])])), "bytes, too few");
    assert_refused(open(binary(&[item("W", &[2]), item("W", &[2])])), "two items \"W\"");
    let files = |bytes| ModelFiles::memory("test", [("model.ende.bin", bytes)]);
    assert_refused(Model::from_files(files(binary(&[item("W", &[2])]))), "it has no \"special:model.yml\"");
    let yml = |text: &[u8]| Model::from_files(files(binary(&[("special:model.yml", 0x0101, &[1], text)])));
    assert_refused(yml(b"dim-emb: {}"), "the options in \"special:model.yml\", line 1");
    assert_refused(yml(b"\xff"), "is not UTF-8");
    assert_refused(yml(&[b'#'; (1 << 20) + 1]), "at most 1048576 are expected");

    let zero = [1, 2, 0, 0, 0, 0];
    let checkpoint = open(binary(&[("a_W", INTGEMM8, &[1, 2], &zero)])).unwrap();
    assert_refused(checkpoint.multiplier("a_W"), "multiplier is 0");
    let lowest = [1, 128, 0, 0, 0, 64];
    let checkpoint = open(binary(&[("a_W", INTGEMM8, &[2, 1], &lowest)])).unwrap();
    assert_refused(checkpoint.read_columns("a_W", 0..1, &mut [0.0; 2]), "has the value -128");
}

#[test]
fn damaged_shortlists_are_refused() {
    let good = read("joint/lex.50.50.ende.s2t.bin");
    let vocabularies = ShortlistVocabularies { source: 504, target: 504, shared: true };
    let open = |bytes: &[u8], vocabularies| Shortlist::from_bytes("lex", bytes, vocabularies);
    let with = |at: usize, value: u64, repaired: bool| {
        let mut bytes = good.clone();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        if repaired {
            repair(&mut bytes);
        }
        open(&bytes, vocabularies)
    };
    open(&good, vocabularies).unwrap();
    assert_refused(open(&[], vocabularies), "lex: is not a valid shortlist: it is 0 bytes long");
    assert_refused(with(0, 1, true), "does not begin as a binary shortlist");
    assert_refused(with(8, 1, false), "its checksum is wrong");
    assert_refused(with(32, u64::MAX, true), "its header claims");
    assert_refused(with(40, u64::MAX / 4, true), "its header claims");
    assert_refused(open(&good[..good.len() - 4], vocabularies), "(it may be incomplete)");
    let tokens = u64::from_le_bytes(good[40..48].try_into().unwrap());
    assert_refused(with(48 + 8 * 504, tokens - 1, true), "its offsets do not cover its tokens");
    assert_refused(with(56, u64::MAX, true), "the offset 18446744073709551615 of source token 1");
    assert_refused(with(48 + 8 * 100, 0, true), "of source token 100 is out of order");
    assert_refused(with(48 + 8 * 505, 504 << 32, true), "has the target token 504");
    let foreign = |source, target| ShortlistVocabularies { source, target, shared: true };
    assert_refused(open(&good, foreign(505, 504)), "source vocabulary has 505 tokens");
    assert_refused(open(&good, foreign(504, 100)), "target vocabulary has 100 tokens");
    // any number of first ids is that of the complete vocabulary at most
    let all: Vec<u32> = (0..504).collect();
    assert_eq!(with(16, u64::MAX, true).unwrap().columns(&[5, 7_000_000]), all);
}

/// Writes the checksum that belongs to the content.
fn repair(shortlist: &mut [u8]) {
    let words = shortlist[16..].chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    let sum = words.fold(0u64, |seed, word| {
        seed ^ word.wrapping_add(0x9e37_79b9).wrapping_add(seed << 6).wrapping_add(seed >> 2)
    });
    shortlist[8..16].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn columns_follow_the_rules_of_the_engine() {
    // tokens 0 to 3; token 1 becomes 9 or 20, token 3 becomes 9
    let (offsets, tokens) = (vec![0u64, 0, 2, 2, 3], vec![9u32, 20, 9]);
    let mut bytes: Vec<u8> = [0xF11A_48D5_0134_17F5, 0, 2, 5, offsets.len() as u64, tokens.len() as u64]
        .into_iter()
        .chain(offsets)
        .flat_map(u64::to_le_bytes)
        .chain(tokens.into_iter().flat_map(u32::to_le_bytes))
        .collect();
    repair(&mut bytes);
    let columns = |shared, target, ids: &[u32]| {
        let vocabularies = ShortlistVocabularies { source: 4, target, shared };
        Shortlist::from_bytes("lex", &bytes, vocabularies).unwrap().columns(ids)
    };
    // first ids, targets, and the lowest others until there are eight
    assert_eq!(columns(false, 30, &[1, 0]), [0, 1, 2, 3, 4, 5, 9, 20]);
    assert_eq!(columns(false, 30, &[3, 3, 0]), [0, 1, 2, 3, 4, 5, 6, 9]);
    // a shared vocabulary adds the source itself
    assert_eq!(columns(true, 30, &[3]), [0, 1, 2, 3, 4, 5, 6, 9]);
    assert_eq!(columns(false, 30, &[]), [0, 1, 2, 3, 4, 5, 6, 7]);
    // a small vocabulary ends before
    assert_eq!(columns(false, 21, &(0..4).collect::<Vec<_>>()).len(), 8);
}

#[test]
fn damaged_gzip_is_refused() {
    const NAME: &str = "model.bin.gz";
    let open = |bytes: Vec<u8>| Checkpoint::open(&ModelFiles::memory("test", [(NAME, bytes)]));
    let good = gzip(&read("joint/model.ende.intgemm.alphas.bin"));
    open(good.clone()).unwrap();
    assert_refused(open(b"PK".to_vec()), "test/model.bin.gz: it is 2 bytes long");
    assert_refused(open(read("joint/vocab.deen.spm")), "test/model.bin.gz: it");
    assert_refused(open(good[..good.len() / 2].to_vec()), "test/model.bin.gz: it");
    let mut wrong = good.clone();
    let crc = wrong.len() - 8;
    wrong[crc] ^= 1;
    assert_refused(open(wrong), "cannot be decompressed");
    // a small file that expands without end, and one that lies about it
    let bomb = gzip(&vec![0; 200 << 20]);
    assert_refused(open(bomb.clone()), "it claims to hold 209715200 bytes; at most");
    let mut liar = bomb;
    let length = liar.len() - 4;
    liar[length..].copy_from_slice(&1000u32.to_le_bytes());
    assert_refused(open(liar), "its content is longer than it claims");
}
