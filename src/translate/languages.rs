//! What the languages of a translation mean for its search.

use super::options::TranslateOptions;
use crate::model::generation_config::GenerationConfig;
use crate::text::{Direction, Target, TargetRole, TextError, Tokenizer};

/// Resolves the languages of the options against a tokenizer: the direction for its texts, and the search options of the
/// request with the target's token, which wins over one that they name themselves. `defaults` are the model's own.
///
/// # Errors
/// Those of [`Tokenizer::direction`]; [`TextError::NoTargetLanguage`] where translations begin with their language, and
/// neither request nor model says which.
pub fn resolve_languages(
    tokenizer: &Tokenizer,
    options: &TranslateOptions,
    defaults: &GenerationConfig,
) -> Result<(Direction, GenerationConfig), TextError> {
    let (source, target) = (options.source_language.as_deref(), options.target_language.as_deref());
    let direction = tokenizer.direction(source, target)?;
    let mut generation = options.generation.clone();
    if let Some(Target { role, token }) = direction.target {
        let (asked, by_default) = match role {
            TargetRole::ForcedBos => (&mut generation.forced_bos_token_id, defaults.forced_bos_token_id),
            TargetRole::DecoderStart => {
                (&mut generation.decoder_start_token_id, defaults.decoder_start_token_id)
            }
        };
        *asked = token.or(*asked);
        if asked.or(by_default).is_none() {
            let languages = tokenizer.languages();
            let some = languages[..languages.len().min(6)].join(", ");
            return Err(TextError::NoTargetLanguage { some, count: languages.len() });
        }
    }
    Ok((direction, generation))
}
