//! Firefox's translation models against the engine that they were made for: ids, log-probabilities, texts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use wordloom::decode::{Columns, DecodeOptions, Hypothesis};
use wordloom::model::files::ModelFiles;
use wordloom::precision::{PrecisionChoice, WeightPrecision};
use wordloom::text::Tokenizer;
use wordloom::transformer::{GenerateOptions, GenerateRequest, Transformer};
use wordloom::{Device, Model, TranslateOptions, Translator};

use crate::common::{device_test, devices};

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/firefox").join(path)
}

/// A translation of the engine.
#[derive(Debug, Deserialize)]
struct Expected {
    source: String,
    text: String,
    /// Tokens of a greedy search in 8 bits.
    #[serde(default)]
    ids: Vec<u32>,
    /// Their log-probabilities.
    #[serde(default)]
    log_probabilities: Vec<f64>,
    /// Distance of each step's best logit from the next one.
    #[serde(default)]
    margins: Vec<f64>,
    /// Mean log-probability of each word.
    #[serde(default)]
    words: Vec<f64>,
}

fn expected(case: &str) -> Vec<Expected> {
    let all = fs::read(data("expected.json")).unwrap();
    let mut all: BTreeMap<String, Vec<Expected>> = serde_json::from_slice(&all).unwrap();
    all.remove(case).unwrap_or_else(|| panic!("no case {case:?}"))
}

struct Student {
    transformer: Transformer,
    tokenizer: Tokenizer,
}

impl Student {
    /// Loads a student, with another bias of its end token if `end` is set.
    fn load(folder: &str, device: &Device, precision: WeightPrecision, end: Option<f32>) -> Self {
        let mut model = Model::load(data(folder)).unwrap();
        if let Some(end) = end {
            const BIAS: &str = "decoder_ff_logit_out_b";
            let mut bias = vec![0.0; model.checkpoint().info(BIAS).unwrap().element_count()];
            model.checkpoint().read(BIAS, &mut bias).unwrap();
            let bytes: Vec<u8> = bias.iter().flat_map(|value| value.to_le_bytes()).collect();
            let files = ["model.ende.intgemm.alphas.bin", "vocab.deen.spm", "lex.50.50.ende.s2t.bin"];
            let files = files.map(|name| {
                let mut content = fs::read(data(folder).join(name)).unwrap();
                if let Some(place) = content.windows(bytes.len()).position(|window| window == bytes) {
                    content[place..place + 4].copy_from_slice(&end.to_le_bytes());
                }
                (name, content)
            });
            model = Model::from_files(ModelFiles::memory(folder, files)).unwrap();
        }
        let choice = PrecisionChoice::Is(precision);
        let transformer = Transformer::load_with_weights(device, &model, choice, &mut |_| {}).unwrap();
        Self { transformer, tokenizer: model.tokenizer().unwrap() }
    }

    /// Translates as the engine: at most twice as many tokens as the source has, and, if `banned`, no unknown token.
    fn translate(
        &self,
        sources: &[Expected],
        num_beams: usize,
        columns: Columns,
        banned: bool,
    ) -> Vec<Hypothesis> {
        let requests: Vec<GenerateRequest> = sources
            .iter()
            .map(|expected| {
                let input_ids = self.tokenizer.encode(&expected.source).unwrap();
                let tokens = &self.transformer.config().tokens;
                let [start, eos] = [tokens.decoder_start, tokens.eos].map(|token| token.expect("a token"));
                let options = DecodeOptions {
                    num_beams,
                    max_length: 1 + 2 * input_ids.len(),
                    bad_words: if banned { vec![vec![1]] } else { Vec::new() },
                    columns: columns.clone(),
                    ..DecodeOptions::new(start, eos, tokens.pad)
                };
                GenerateRequest::new(input_ids, options)
            })
            .collect();
        let found = pollster::block_on(self.transformer.generate(&requests, GenerateOptions::default()));
        found.unwrap().into_iter().map(|mut found| found.hypotheses.swap_remove(0)).collect()
    }

    fn text(&self, hypothesis: &Hypothesis) -> String {
        self.tokenizer.decode(&hypothesis.tokens[1..], true).unwrap()
    }

    /// Mean log-probability of each word, as the engine reports it.
    fn words(&self, hypothesis: &Hypothesis) -> Vec<f64> {
        let mut words: Vec<Vec<f64>> = Vec::new();
        // the engine leaves the last token out, which is the end token or that of the largest length
        let tokens = &hypothesis.tokens[1..hypothesis.tokens.len() - 1];
        for (&id, &logprob) in tokens.iter().zip(&hypothesis.step_logprobs) {
            let starts = self.tokenizer.target_token(id).is_some_and(|piece| piece.starts_with('▁'));
            if starts || words.is_empty() {
                words.push(Vec::new());
            }
            words.last_mut().expect("a word").push(f64::from(logprob));
        }
        words.iter().map(|word| word.iter().sum::<f64>() / word.len() as f64).collect()
    }
}

/// Largest difference of a log-probability in f32. The engine prints six digits.
const F32: f64 = 1e-4;

/// Compares texts, and the words' log-probabilities, in f32.
#[track_caller]
fn compare_in_f32(student: &Student, case: &str, count: usize, num_beams: usize, columns: Columns) {
    let mut expected = expected(case);
    expected.truncate(count);
    let found = student.translate(&expected, num_beams, columns.clone(), true);
    for (expected, found) in expected.iter().zip(&found) {
        assert_eq!(student.text(found), expected.text, "{case}: {:?}", expected.source);
    }
    // as in transformers, a greedy search's probabilities leave banned tokens out; in Marian they do not
    let found = student.translate(&expected, num_beams, columns, false);
    let mut others = 0;
    for (expected, found) in expected.iter().zip(&found) {
        if student.text(found) != expected.text {
            others += 1; // the unknown token was the best
            continue;
        }
        let words = student.words(found);
        assert_eq!(words.len(), expected.words.len(), "{case}: {:?}", expected.text);
        for (own, engine) in words.iter().zip(&expected.words) {
            assert!((own - engine).abs() <= F32, "{case}: {own}, not {engine} in {:?}", expected.text);
        }
    }
    assert!(others * 20 <= expected.len(), "{case}: {others} texts with unknown tokens");
}

#[test]
fn texts_and_scores_in_f32_are_those_of_the_engine() {
    let cases = [
        ("joint in f32, shortlist, greedy", "joint", Columns::Auto),
        ("joint in f32, greedy", "joint", Columns::All),
        ("split in f32, shortlist, greedy", "split", Columns::Auto),
        ("split in f32, greedy", "split", Columns::All),
    ];
    for (case, folder, columns) in cases {
        let student = Student::load(folder, &Device::Cpu, WeightPrecision::F32, None);
        compare_in_f32(&student, case, usize::MAX, 1, columns);
    }
}

#[test]
fn beams_in_f32_are_those_of_the_engine() {
    // Marian's beam becomes narrower when a hypothesis ends, transformers' does not: compared without ends
    let student = Student::load("joint", &Device::Cpu, WeightPrecision::F32, Some(-100.0));
    compare_in_f32(&student, "endless in f32, shortlist, 4 beams", usize::MAX, 4, Columns::Auto);
    compare_in_f32(&student, "endless in f32, 4 beams", usize::MAX, 4, Columns::All);
}

#[device_test]
async fn texts_on_a_gpu_are_those_of_the_engine() {
    for device in devices().await {
        let student = Student::load("joint", &device, WeightPrecision::F32, None);
        compare_in_f32(&student, "joint in f32, shortlist, greedy", 6, 1, Columns::Auto);
    }
}

/// Compares the tokens and log-probabilities of greedy searches in 8 bits with static scales of the inputs.
///
/// Sums of whole numbers are exact on both sides, and all else differs in the last bits. A value at the middle between two
/// whole numbers is then rounded the other way, here and there, which moves the next logits by some hundredths. `limits` are
/// those of the median, the 85th and 99th percentile and the largest of the differences of log-probabilities. A search
/// leaves the engine's only where the two best tokens are close.
#[track_caller]
fn compare_in_8_bits(
    student: &Student,
    (case, columns): (&str, Columns),
    expected: &[Expected],
    limits: [f64; 4],
) {
    let found = student.translate(expected, 1, columns.clone(), true);
    let unbanned = student.translate(expected, 1, columns, false);
    let (mut differences, mut equal) = (Vec::new(), 0);
    for ((expected, found), unbanned) in expected.iter().zip(&found).zip(&unbanned) {
        let common = found.tokens[1..].iter().zip(&expected.ids).take_while(|(own, id)| own == id).count();
        match found.tokens[1..] == expected.ids {
            true => equal += 1,
            false => {
                let margin = expected.margins[common];
                assert!(margin < 0.5, "{case}: step {common} of {:?}, margin {margin}", expected.source);
            }
        }
        for step in 0..common {
            if unbanned.tokens[step + 1] != expected.ids[step] {
                break; // the unknown token was the best
            }
            let difference = f64::from(unbanned.step_logprobs[step]) - expected.log_probabilities[step];
            differences.push(difference.abs());
        }
    }
    differences.sort_by(f64::total_cmp);
    let at = |part: f64| differences[((differences.len() - 1) as f64 * part) as usize];
    let quantiles = [0.5, 0.85, 0.99, 1.0].map(at);
    println!("{case}: {equal} of {} equal; differences of log-probabilities {quantiles:?}", expected.len());
    assert!(equal * 5 >= expected.len() * 4, "{case}: only {equal} of {} are equal", expected.len());
    let within = quantiles.iter().zip(limits).all(|(found, limit)| *found <= limit);
    assert!(within, "{case}: {quantiles:?} exceed {limits:?}");
}

#[test]
fn tokens_in_8_bits_are_those_of_the_engine() {
    let student = Student::load("joint", &Device::Cpu, WeightPrecision::Q8, None);
    for (case, columns) in [("joint, shortlist, greedy", Columns::Auto), ("joint, greedy", Columns::All)] {
        compare_in_8_bits(&student, (case, columns), &expected(case), [5e-5, 1e-4, 0.2, 0.6]);
    }
}

#[test]
#[ignore = "needs a student of make_students.py and make_firefox.py in the folder $STUDENT"]
fn a_full_size_student_is_that_of_the_engine() {
    let folder = PathBuf::from(std::env::var("STUDENT").expect("the folder of a student"));
    let expected = fs::read(folder.join("expected.json")).unwrap();
    let expected: BTreeMap<String, Vec<Expected>> = serde_json::from_slice(&expected).unwrap();
    // an absolute path stays as it is
    let student = Student::load(folder.to_str().unwrap(), &Device::Cpu, WeightPrecision::Q8, None);
    // thousands of values are rounded in each step, so that some are rounded the other way in every one
    compare_in_8_bits(&student, ("full size", Columns::Auto), &expected["full size"], [0.05, 0.15, 0.3, 0.6]);
}

#[test]
fn long_sentences_are_cut_at_the_limit_of_the_engine() {
    let translator = Translator::new(&Device::Cpu, &Model::load(data("joint")).unwrap()).unwrap();
    let text = "Tom and Mary and ".repeat(60);
    let options = TranslateOptions::default().max_length(4);
    let found = pollster::block_on(translator.translate(&[text.trim()], &options)).unwrap();
    let lengths: Vec<usize> = found[0]
        .sentences
        .iter()
        .map(|sentence| translator.tokenizer().encode(&sentence.source).unwrap().len())
        .collect();
    assert!(lengths.len() > 1 && lengths.iter().all(|&length| length <= 128), "{lengths:?}");
}
