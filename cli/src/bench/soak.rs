//! Many sentences: are speed and memory constant?

use std::time::Instant;

use serde::Serialize;
use wordloom::transformer::{self, GenerateOptions, GenerateRequest};

use super::models::Measured;
use super::subject::{Subject, Translation, source_ids};
use super::timing::round;
use super::{Workload, host};
use crate::CliError;
use crate::output::Output;
use crate::progress::Progress;
use crate::table::{megabytes, number, table};

/// Sentences that are sorted and batched together.
const WINDOW: usize = 1000;
/// Tokens of sources and translations.
const LENGTHS: std::ops::RangeInclusive<usize> = 4..=60;

#[derive(Serialize)]
pub struct Soak {
    #[serde(flatten)]
    measured: Measured,
    beams: usize,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, Serialize)]
struct Row {
    sentences: usize,
    seconds: f64,
    /// Speed after the previous row.
    sentences_per_second: f64,
    /// Speed of target tokens after the previous row.
    tokens_per_second: f64,
    device_bytes: Option<u64>,
    device_peak_bytes: Option<u64>,
    host_bytes: Option<u64>,
    host_peak_bytes: Option<u64>,
}

impl Soak {
    /// Translates `sentences` sentences, each into as many tokens as it has.
    pub fn measure(subject: &Subject, workload: &Workload, sentences: usize) -> Result<Self, CliError> {
        if !subject.generates() {
            let message = format!("--sentences: {} has no decoder and translates nothing", subject.label);
            return Err(CliError::Usage(message));
        }
        let beams = workload.beams.first().copied().unwrap_or(1);
        let bar = Progress::of_fraction("translating");
        let lengths = lengths(subject, sentences);
        let (began, mut last) = (Instant::now(), Instant::now());
        let mut rows: Vec<Row> = Vec::new();
        for (window, lengths) in lengths.chunks(WINDOW).enumerate() {
            let requests = requests(subject, beams, window as u32, lengths)?;
            let before = rows.last().map_or(0, |row| row.sentences);
            let mut done = before;
            let mut watch = |progress: transformer::Progress<'_>| {
                if let transformer::Progress::Finished { requests, .. } = progress {
                    done += requests.len();
                    bar.set_fraction(done as f32 / sentences as f32);
                }
            };
            let options = GenerateOptions::default().watch(&mut watch);
            pollster::block_on(subject.transformer.generate(&requests, options))?;
            let took = last.elapsed().as_secs_f64();
            last = Instant::now();
            let device = subject.device();
            let gpu = device.gpu();
            rows.push(Row {
                sentences: before + lengths.len(),
                seconds: round(began.elapsed().as_secs_f64()),
                sentences_per_second: round(lengths.len() as f64 / took),
                tokens_per_second: round(lengths.iter().sum::<usize>() as f64 / took),
                device_bytes: gpu.map(|gpu| gpu.bytes_in_use()),
                device_peak_bytes: gpu.map(|gpu| gpu.peak_bytes()),
                host_bytes: host::bytes_now(),
                host_peak_bytes: host::peak_bytes(),
            });
        }
        Ok(Self { measured: Measured::new(subject), beams, rows })
    }

    pub fn text(&self, output: &mut Output) -> Result<(), CliError> {
        self.measured.text(output)?;
        let (shortest, longest) = (LENGTHS.start(), LENGTHS.end());
        let beams = if self.beams == 1 { "greedy".into() } else { format!("{} beams", self.beams) };
        output.line(&format!("\nsentences of {shortest} to {longest} tokens, {beams}"))?;
        let header =
            ["sentences", "s", "sentences/s", "tokens/s", "device MB", "at most", "host MB", "at most"];
        let bytes = |bytes: Option<u64>| bytes.map_or_else(|| "–".to_owned(), megabytes);
        let cells = |row: &Row| {
            vec![
                row.sentences.to_string(),
                number(row.seconds),
                number(row.sentences_per_second),
                number(row.tokens_per_second),
                bytes(row.device_bytes),
                bytes(row.device_peak_bytes),
                bytes(row.host_bytes),
                bytes(row.host_peak_bytes),
            ]
        };
        table(output, 0, &header, self.rows.iter().map(cells))
    }
}

/// Lengths evenly distributed, in the same order on every machine.
fn lengths(subject: &Subject, sentences: usize) -> Vec<usize> {
    let most = (*LENGTHS.end()).min(subject.config().positions.count());
    let fewest = (*LENGTHS.start()).min(most);
    // 7 has no factor in common with the 57 lengths
    (0..sentences).map(|sentence| fewest + sentence * 7 % (most + 1 - fewest)).collect()
}

fn requests(
    subject: &Subject,
    beams: usize,
    window: u32,
    lengths: &[usize],
) -> Result<Vec<GenerateRequest>, CliError> {
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let vocabulary = subject.config().source_vocabulary as u32;
    let sources = source_ids(subject.config(), longest, lengths.len());
    lengths
        .iter()
        .zip(sources)
        .map(|(&length, mut source)| {
            source.drain(..longest - length);
            // other sentences in every window
            if let Some(first) = source.first_mut() {
                *first = (*first + window) % vocabulary;
            }
            subject.request(Translation { batch: 1, beams, source: length, tokens: length }, source)
        })
        .collect()
}
