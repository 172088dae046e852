//! `wordloom tokenize`

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use wordloom::TextError;
use wordloom::json_problem::json_line_problem;
use wordloom::model::read_tokenizer;
use wordloom::text::{self, Direction, SentencePiece};

use super::CliError;
use super::lines::{Line, Lines};
use super::output::{Output, check_different};
use super::setup::model_files;

#[derive(clap::Args)]
#[command(after_help = "\
Ids are those of the model's vocabulary, with the special tokens that it wants
around a text; with --spm they are the SentencePiece model's own. --decode
leaves special tokens out.

Examples:
  echo '\"Good morning.\"' | wordloom tokenize
  echo 'Good morning.' | wordloom tokenize --plain
  echo '[4673, 951, 258, 0]' | wordloom tokenize --decode")]
pub struct Arguments {
    /// Read lines from FILE [default: standard input]
    #[arg(short, long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Write to FILE [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Folder or OWNER/NAME [default: the built-in one]
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// A SentencePiece model alone
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    spm: Option<PathBuf>,
    /// Source language [default: the model's or English]
    #[arg(long, value_name = "CODE", conflicts_with_all = ["spm", "decode"])]
    source_lang: Option<String>,
    /// JSON arrays of ids in, JSON strings out
    #[arg(long)]
    decode: bool,
    /// Text as plain lines instead of JSON strings
    #[arg(long)]
    plain: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    check_different(arguments.input.as_deref(), arguments.output.as_deref())?;
    let lines = Lines::open(arguments.input.as_deref())?;
    let tokenizer = match &arguments.spm {
        Some(path) => Tokenizer::SentencePiece(Box::new(read_spm(path)?)),
        None => {
            let tokenizer = read_tokenizer(&model_files(arguments.model.as_deref())?)?;
            let direction = match &arguments.source_lang {
                Some(code) => {
                    let direction = tokenizer.direction(Some(code), None);
                    Some(direction.map_err(|error| CliError::Usage(error.to_string()))?)
                }
                None => None,
            };
            Tokenizer::Model(Box::new(tokenizer), direction)
        }
    };
    let mut output = Output::open(arguments.output.as_deref())?;
    loop {
        let round = lines.round();
        for line in &round.lines {
            let done = match arguments.decode {
                true => decode(&tokenizer, line, arguments.plain, &mut output),
                false => encode(&tokenizer, line, arguments.plain, &mut output),
            };
            done.map_err(|error| match error {
                CliError::Input(problem) => {
                    CliError::Input(format!("{}: {problem}", lines.place(line.number)))
                }
                error => error,
            })?;
        }
        output.flush()?;
        if let Some(end) = round.end {
            return end;
        }
    }
}

fn encode(tokenizer: &Tokenizer, line: &Line, plain: bool, output: &mut Output) -> Result<(), CliError> {
    let text = match plain {
        true => line.text.strip_suffix('\r').unwrap_or(&line.text).to_owned(),
        false if line.text.trim().is_empty() => return Ok(()),
        false => serde_json::from_str(&line.text).map_err(|error| {
            CliError::Input(format!(
                "not a JSON string: {}; --plain reads plain text",
                json_line_problem(&error)
            ))
        })?,
    };
    output.json(&tokenizer.encode(&text).map_err(|error| CliError::Input(error.to_string()))?)
}

fn decode(tokenizer: &Tokenizer, line: &Line, plain: bool, output: &mut Output) -> Result<(), CliError> {
    if line.text.trim().is_empty() {
        return Ok(());
    }
    let ids: Vec<u32> = serde_json::from_str(&line.text).map_err(|error| {
        CliError::Input(format!("not a JSON array of token ids: {}", json_line_problem(&error)))
    })?;
    let text = tokenizer.decode(&ids).map_err(|error| CliError::Input(error.to_string()))?;
    match plain {
        true => output.line(&text),
        false => output.json(&text),
    }
}

enum Tokenizer {
    Model(Box<text::Tokenizer>, Option<Direction>),
    SentencePiece(Box<SentencePiece>),
}

impl Tokenizer {
    fn encode(&self, text: &str) -> Result<Vec<u32>, TextError> {
        match self {
            Self::Model(tokenizer, None) => tokenizer.encode(text),
            Self::Model(tokenizer, Some(direction)) => tokenizer.encode_source(text, direction),
            Self::SentencePiece(model) => Ok(model.encode(text)),
        }
    }

    fn decode(&self, ids: &[u32]) -> Result<String, TextError> {
        match self {
            Self::Model(tokenizer, _) => tokenizer.decode(ids, true),
            Self::SentencePiece(model) => model.decode(ids),
        }
    }
}

fn read_spm(path: &Path) -> Result<SentencePiece, CliError> {
    /// Bytes of the largest file; real ones are below 10 MB.
    const LIMIT: u64 = 64 << 20;
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LIMIT + 1).read_to_end(&mut bytes))
        .map_err(|source| CliError::Io { what: format!("cannot read {name}"), source })?;
    if bytes.len() as u64 > LIMIT {
        return Err(CliError::Input(format!(
            "{name}: is no SentencePiece model: it is longer than {LIMIT} bytes"
        )));
    }
    Ok(SentencePiece::from_bytes(&name, &bytes)?)
}
