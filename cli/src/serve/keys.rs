//! `wordloom serve keys`

use std::path::PathBuf;

use super::super::CliError;
use super::super::output::Output;
use super::store::{KeyLimits, Keys, random_key};

#[derive(clap::Subcommand)]
pub enum Action {
    /// List, add or remove API keys
    Keys {
        /// File of the keys, in SQLite; LibreTranslate's fits
        #[arg(long, value_name = "FILE", global = true, default_value = "api_keys.db")]
        api_keys: PathBuf,
        #[command(subcommand)]
        change: Option<Change>,
    },
}

#[derive(clap::Subcommand)]
pub enum Change {
    /// Add a key, or change its limits; print the key
    Add {
        /// Requests in a minute
        #[arg(value_name = "REQ_LIMIT", value_parser = clap::value_parser!(u64).range(1..))]
        requests: u64,
        /// The key [default: a random one]
        #[arg(long, value_name = "KEY")]
        key: Option<String>,
        /// Most characters of a text [default: the server's]
        #[arg(long, value_name = "N")]
        char_limit: Option<usize>,
    },
    /// Remove a key
    Remove {
        #[arg(value_name = "KEY")]
        key: String,
    },
}

pub fn run(action: &Action) -> Result<(), CliError> {
    let Action::Keys { api_keys, change } = action;
    if !api_keys.exists() && !matches!(change, Some(Change::Add { .. })) {
        return Err(CliError::Input(format!(
            "{}: there is no such file; `wordloom serve keys add` makes it",
            api_keys.display()
        )));
    }
    let keys = Keys::open(api_keys)?;
    let mut output = Output::open(None)?;
    match change {
        None => {
            for (key, KeyLimits { requests, characters }) in keys.list()? {
                let characters = characters.map(|most| format!("\t{most}")).unwrap_or_default();
                output.line(&format!("{key}\t{requests}{characters}"))?;
            }
        }
        Some(Change::Add { requests, key, char_limit }) => {
            let key = match key.as_deref() {
                Some("") => return Err(CliError::Usage("--key is empty".into())),
                Some(key) => key.to_owned(),
                None => random_key()?,
            };
            keys.add(&key, KeyLimits { requests: *requests, characters: *char_limit })?;
            output.line(&key)?;
        }
        Some(Change::Remove { key }) => {
            if !keys.remove(key)? {
                return Err(CliError::Input(format!("{}: it has no such key", api_keys.display())));
            }
        }
    }
    output.flush()
}
