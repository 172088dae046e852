//! Languages of a translation as options of its search.

use super::options::TranslateOptions;
use crate::model::generation_config::GenerationConfig;
use crate::text::{Direction, Target, TargetRole, TextError, Tokenizer};

/// Resolves the languages of the options. Returns the tokenizer's direction, and the search options with the target's
/// token, which wins over a token in the options. `defaults` are the model's own.
///
/// # Errors
/// Those of [`Tokenizer::direction`]; [`TextError::NoTargetLanguage`] if no target is named.
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
