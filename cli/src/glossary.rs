//! The options `--glossary` and `--glossary-mode`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use wordloom::TranslateOptions;
use wordloom::decode::ConstraintMode;
use wordloom::translate::{Glossary, GlossaryError, GlossaryFile};

use super::choice::Chosen;
use super::digest::Digest;
use super::{CliError, bounded};

#[derive(clap::Args)]
pub struct GlossaryArguments {
    /// Translate terms by these lines: SOURCE = TARGET
    #[arg(long, value_name = "FILE")]
    glossary: Option<PathBuf>,
    /// hard, soft or soft:WEIGHT [default: hard]
    #[arg(long, value_name = "MODE", requires = "glossary")]
    glossary_mode: Option<ConstraintMode>,
}

impl GlossaryArguments {
    pub fn is_given(&self) -> bool {
        self.glossary.is_some()
    }

    pub fn path(&self) -> Option<&Path> {
        self.glossary.as_deref()
    }

    fn mode(&self) -> ConstraintMode {
        self.glossary_mode.unwrap_or(ConstraintMode::Hard)
    }

    fn read(&self) -> Result<Option<(String, Vec<u8>)>, CliError> {
        let Some(path) = &self.glossary else { return Ok(None) };
        Ok(Some((path.display().to_string(), bounded::read(path, GlossaryFile::MAX_BYTES)?)))
    }

    /// The glossary for a model.
    pub fn bind(
        &self,
        chosen: &Chosen,
        options: &TranslateOptions,
    ) -> Result<Option<Arc<Glossary>>, CliError> {
        let Some((name, bytes)) = self.read()? else { return Ok(None) };
        let refused = |error: GlossaryError| CliError::Usage(error.to_string());
        let file = GlossaryFile::parse(&name, &bytes).map_err(refused)?;
        let Chosen { model, tokenizer, .. } = chosen;
        let (config, defaults) = (model.config(), model.generation_config());
        let glossary = Glossary::for_options(&file, tokenizer, config, defaults, options, self.mode());
        Ok(Some(Arc::new(glossary.map_err(refused)?)))
    }

    /// What it is, for a run that is resumed.
    pub fn setting(&self) -> Result<Option<String>, CliError> {
        let Some((_, bytes)) = self.read()? else { return Ok(None) };
        let mut digest = Digest::default();
        digest.update(&bytes);
        Ok(Some(format!("{} with digest {}", self.mode(), digest.summary().hash)))
    }
}
