//! `wordloom tokenize`

use std::path::PathBuf;

use wordloom::text::{MarianTokenizer, SentencePiece};
use wordloom::{Model, TextError};

use super::CliError;
use super::lines::Lines;
use super::output::Output;

#[derive(clap::Args)]
pub struct Arguments {
    /// Read lines from FILE [default: standard input]
    #[arg(short, long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Write to FILE
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Hugging Face folder of the model [default: the embedded English–German one]
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// A SentencePiece model alone, without vocabulary and special tokens
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    spm: Option<PathBuf>,
    /// Ids to text: JSON arrays in, JSON strings out
    #[arg(long)]
    decode: bool,
    /// Text as plain lines instead of JSON strings
    #[arg(long)]
    plain: bool,
}

enum Tokenizer {
    Marian(Box<MarianTokenizer>),
    SentencePiece(Box<SentencePiece>),
}

/// The longest `.spm` file that is read, in bytes: real ones stay below 10 MB.
const SPM_LIMIT: u64 = 64 << 20;

impl Tokenizer {
    fn open(arguments: &Arguments) -> Result<Self, CliError> {
        if let Some(path) = &arguments.spm {
            let name = path.display().to_string();
            let failed = |source| CliError::Io { what: format!("cannot read {name}"), source };
            let bytes = std::fs::metadata(path).map_err(failed)?.len();
            if bytes > SPM_LIMIT {
                return Err(CliError::Input(format!(
                    "{name}: is {bytes} bytes long; a SentencePiece model has at most {SPM_LIMIT}"
                )));
            }
            let bytes = std::fs::read(path).map_err(failed)?;
            return Ok(Self::SentencePiece(Box::new(SentencePiece::from_bytes(&name, &bytes)?)));
        }
        let model = match &arguments.model {
            Some(folder) => Model::load(folder)?,
            None => Model::embedded()?,
        };
        Ok(Self::Marian(Box::new(model.tokenizer()?)))
    }

    fn encode(&self, text: &str) -> Vec<u32> {
        match self {
            Self::Marian(tokenizer) => tokenizer.encode(text),
            Self::SentencePiece(model) => model.encode(text),
        }
    }

    fn decode(&self, ids: &[u32]) -> Result<String, TextError> {
        match self {
            Self::Marian(tokenizer) => tokenizer.decode(ids, true),
            Self::SentencePiece(model) => model.decode(ids),
        }
    }
}

pub fn run(arguments: Arguments) -> Result<(), CliError> {
    let tokenizer = Tokenizer::open(&arguments)?;
    let mut lines = Lines::open(arguments.input.as_deref())?;
    let mut output = Output::open(arguments.output.as_deref())?;
    while let Some((number, line)) = lines.next()? {
        let place = lines.place(number);
        let bad = |error: serde_json::Error, what: &str| CliError::Input(format!("{place}: not {what}: {error}"));
        if arguments.decode {
            let ids: Vec<u32> = serde_json::from_str(&line).map_err(|error| bad(error, "a JSON array of ids"))?;
            let text = tokenizer.decode(&ids).map_err(|error| CliError::Input(format!("{place}: {error}")))?;
            match arguments.plain {
                true => output.line(&text)?,
                false => output.json(&text)?,
            }
        } else {
            let text = match arguments.plain {
                true => line,
                false => serde_json::from_str(&line)
                    .map_err(|error| bad(error, "a JSON string (--plain reads plain text)"))?,
            };
            output.json(&tokenizer.encode(&text))?;
        }
    }
    output.flush()
}
