//! The command line of `wordloom serve`.

use std::path::PathBuf;
use std::time::Duration;

use wordloom_hub::{BuiltIn, Choosable, Hub, Place};

use super::super::CliError;
use super::super::memory::similarity;
use super::super::setup::{DeviceArguments, place};
use super::api::Limits;
use super::site::Page;

#[derive(clap::Args)]
pub struct ServeOptions {
    /// Port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 8380)]
    pub port: u16,
    /// Address to listen on
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub host: String,
    /// Folder or OWNER/NAME [default: the built-in ones]
    #[arg(long, value_name = "MODEL")]
    pub model: Option<PathBuf>,
    /// More models: a folder, its parent or a name; repeatable
    #[arg(long, value_name = "MODEL")]
    pub models: Vec<PathBuf>,
    /// Folder of a built page [default: the built-in one]
    #[arg(long, value_name = "DIR")]
    page: Option<PathBuf>,
    /// Serve no page
    #[arg(long, conflicts_with_all = ["page", "open"])]
    no_page: bool,
    /// Open the page in the default browser
    #[arg(long)]
    pub open: bool,
    /// Memory for the weights of loaded models
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = bytes)]
    pub memory: u64,
    /// API keys, in SQLite; see `wordloom serve keys`
    #[arg(long, value_name = "FILE")]
    pub api_keys: Option<PathBuf>,
    /// Most characters of a text
    #[arg(long, value_name = "N")]
    char_limit: Option<usize>,
    /// Most texts of a request
    #[arg(long, value_name = "N")]
    batch_limit: Option<usize>,
    /// Most requests of a client in a minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    req_limit: Option<u64>,
    // hidden: the help has to fit a screen
    /// Most bytes of a request's body
    #[arg(long, value_name = "SIZE", default_value = "4M", value_parser = bytes, hide = true)]
    body_limit: u64,
    /// Most texts that wait or are translated
    #[arg(long, value_name = "N", default_value_t = 4096, hide = true)]
    queue: usize,
    /// Most seconds of a request
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0, value_parser = seconds, hide = true)]
    timeout: f64,
    /// Keep suggestions in FILE, in SQLite
    #[arg(long, value_name = "FILE", hide = true)]
    pub suggestions: Option<PathBuf>,
    /// Glossary that requests can name: NAME.FROM-TO.tsv; repeatable
    #[arg(long, value_name = "FILE", hide = true)]
    pub glossary: Vec<PathBuf>,
    /// Take translations from FILE first: .tmx, or NAME.FROM-TO.tsv
    #[arg(long, value_name = "FILE", hide = true)]
    pub translation_memory: Option<PathBuf>,
    /// Least similarity of a text of the memory
    #[arg(long, value_name = "X", default_value = "1", value_parser = similarity, requires = "translation_memory", hide = true)]
    pub memory_match: f32,
    /// Take clients' addresses from X-Forwarded-For, which a proxy sets
    #[arg(long, hide = true)]
    pub trust_forwarded_for: bool,
    #[command(flatten)]
    pub device: DeviceArguments,
}

impl ServeOptions {
    pub fn page(&self) -> Page<'_> {
        match &self.page {
            _ if self.no_page => Page::None,
            Some(folder) => Page::Folder(folder),
            None => Page::BuiltIn,
        }
    }

    /// The given model, or all built-in ones.
    pub fn places(&self) -> Result<Vec<Place>, CliError> {
        match BuiltIn::all() {
            built_in @ [_, ..] if self.model.is_none() => Ok(built_in.iter().map(BuiltIn::place).collect()),
            _ => Ok(vec![place(self.model.as_deref())?]),
        }
    }

    pub fn limits(&self) -> Limits {
        Limits {
            characters: self.char_limit,
            texts: self.batch_limit,
            requests: self.req_limit,
            body: usize::try_from(self.body_limit).unwrap_or(usize::MAX),
            queue: self.queue,
            time: Duration::from_secs_f64(self.timeout),
        }
    }
}

/// The models that are here by name.
pub fn in_cache() -> Result<Vec<Choosable>, CliError> {
    let cached = Hub::from_environment()?.cached_models()?;
    let known = cached.iter().filter(|model| !model.languages.from.is_empty());
    Ok(known.map(Choosable::from).collect())
}

/// Reads a size: `4G`, `512M`, `1.5GiB`, `100000`. Multiples are of 1024.
fn bytes(text: &str) -> Result<u64, &'static str> {
    const WRONG: &str = "a size is needed, such as 512M or 4G";
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().map_err(|_| WRONG)?;
    let power = match unit.trim().to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(WRONG),
    };
    let bytes = number * f64::from(power).exp2();
    if bytes >= 1.0 && bytes < 2f64.powi(60) { Ok(bytes as u64) } else { Err(WRONG) }
}

fn seconds(text: &str) -> Result<f64, &'static str> {
    let seconds = text.parse().ok().filter(|seconds| (0.001..=86_400.0).contains(seconds));
    seconds.ok_or("a number of seconds is needed, up to a day")
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_have_units() {
        for (text, size) in
            [("4G", 4 << 30), ("512m", 512 << 20), ("1.5 GiB", 3 << 29), ("100", 100), ("2kb", 2048)]
        {
            assert_eq!(bytes(text), Ok(size), "{text}");
        }
        for text in ["", "G", "-1G", "4X", "0", "1e3", "9999999T"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
