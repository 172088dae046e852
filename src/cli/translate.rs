//! `wordloom translate`

use std::path::PathBuf;

use serde_json::{Value, json};
use wordloom::model::generation_config::GenerationConfig;
use wordloom::{TranslateError, TranslateOptions, Translation, Translator};

use super::CliError;
use super::lines::Lines;
use super::output::Output;
use super::progress::Progress;
use super::setup::{DeviceArguments, ModelArguments, translator};
use super::interrupt;

#[derive(clap::Args)]
pub struct Arguments {
    /// Text to translate [default: standard input]
    text: Vec<String>,
    /// Read lines from FILE
    #[arg(short, long, value_name = "FILE", conflicts_with = "text")]
    input: Option<PathBuf>,
    /// Write to FILE
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    device: DeviceArguments,
    /// Beams of the search, 1 to 16; 1 is greedy [default: the model's own]
    #[arg(short, long, value_name = "N")]
    beams: Option<usize>,
    /// Scores are divided by length to this power [default: the model's own]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    length_penalty: Option<f32>,
    /// Most tokens of a sentence's translation [default: the model's own, else source + 50]
    #[arg(long, value_name = "N")]
    max_length: Option<usize>,
    /// Show the N best translations with their scores, at most as many as beams
    #[arg(short, long, value_name = "N")]
    n_best: Option<usize>,
    /// Write JSON Lines with tokens and scores
    #[arg(long)]
    json: bool,
}

/// Lines translated together: enough to fill batches, few enough to see results soon.
const LINES_PER_ROUND: usize = 256;

pub fn run(arguments: Arguments) -> Result<(), CliError> {
    let cancel = interrupt::handler();
    let options = TranslateOptions {
        generation: GenerationConfig {
            num_beams: arguments.beams,
            num_return_sequences: arguments.n_best,
            length_penalty: arguments.length_penalty,
            max_length: arguments.max_length,
            ..GenerationConfig::default()
        },
        cancel: cancel.clone(),
    };
    let mut lines = match arguments.text.is_empty() {
        true => Some(Lines::open(arguments.input.as_deref())?),
        false => None,
    };
    let translator = translator(&arguments.model, &arguments.device)?;
    translator.check_options(&options).map_err(TranslateError::from)?;
    let mut writer = Writer {
        output: Output::open(arguments.output.as_deref())?,
        json: arguments.json,
        n_best: arguments.n_best.unwrap_or(1),
    };
    let Some(lines) = &mut lines else {
        let text = arguments.text.join(" ");
        return translate_round(&translator, &[text], 1, &options, &mut writer);
    };
    let mut first = 1;
    loop {
        let mut round = Vec::new();
        let mut end = Ok(());
        while round.len() < LINES_PER_ROUND {
            match lines.next() {
                Ok(Some((_, line))) => round.push(line),
                Ok(None) => break,
                Err(error) => {
                    end = Err(error); // after the lines before it have been translated
                    break;
                }
            }
        }
        let last = round.len() < LINES_PER_ROUND;
        translate_round(&translator, &round, first, &options, &mut writer)?;
        end?;
        if last {
            return Ok(());
        }
        first += round.len();
    }
}

fn translate_round(
    translator: &Translator,
    lines: &[String],
    first: usize,
    options: &TranslateOptions,
    writer: &mut Writer,
) -> Result<(), CliError> {
    let texts: Vec<&str> = lines.iter().map(String::as_str).collect();
    let progress = Progress::new("translating", "sentences");
    let translations = interrupt::working(|| {
        pollster::block_on(translator.translate_all(&texts, options, &mut |done, total| {
            progress.set(done as u64, total as u64);
        }))
    })?;
    drop(progress);
    for (number, (line, translation)) in (first..).zip(lines.iter().zip(&translations)) {
        if translation.sentences.iter().any(|sentence| sentence.hypotheses.iter().any(|h| h.reached_max_length)) {
            anstream::eprintln!(
                "warning: line {number}: a sentence reached the maximal length, so its translation may be cut; \
                 see --max-length"
            );
        }
        writer.write(line, translation)?;
    }
    writer.output.flush()
}

struct Writer {
    output: Output,
    json: bool,
    n_best: usize,
}

impl Writer {
    fn write(&mut self, source: &str, translation: &Translation) -> Result<(), CliError> {
        if self.json {
            return self.output.json(&as_json(source, translation));
        }
        if self.n_best == 1 {
            return self.output.line(&translation.text);
        }
        for (rank, hypothesis) in (1..).zip(&translation.hypotheses) {
            self.output.line(&format!("{rank}\t{:.4}\t{}", hypothesis.score, hypothesis.text))?;
        }
        Ok(())
    }
}

fn as_json(source: &str, translation: &Translation) -> Value {
    let sentences: Vec<Value> = translation
        .sentences
        .iter()
        .map(|sentence| {
            let hypotheses: Vec<Value> = sentence
                .hypotheses
                .iter()
                .map(|hypothesis| {
                    json!({
                        "text": hypothesis.text,
                        "score": hypothesis.search.score,
                        "tokens": hypothesis.search.tokens,
                        "step_logprobs": hypothesis.search.step_logprobs,
                        "reached_max_length": hypothesis.reached_max_length,
                    })
                })
                .collect();
            json!({ "source": sentence.source, "source_ids": sentence.source_ids, "hypotheses": hypotheses })
        })
        .collect();
    let hypotheses: Vec<Value> = translation
        .hypotheses
        .iter()
        .map(|hypothesis| json!({ "text": hypothesis.text, "score": hypothesis.score }))
        .collect();
    json!({ "source": source, "text": translation.text, "hypotheses": hypotheses, "sentences": sentences })
}
