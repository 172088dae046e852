//! Languages of a translation as options of its search.

use super::options::TranslateOptions;
use crate::model::generation_config::{GenerationConfig, JsonObject, UnknownKeys};
use crate::text::{Direction, Target, TargetRole, Task, TextError, Tokenizer};

/// The search options of a task, as transformers' pipelines took them: over the model's own, below those of a call.
fn task_options(task: &Task) -> Result<GenerationConfig, TextError> {
    let json = JsonObject::of_values("config.json", task.options.clone());
    GenerationConfig::from_json(&json, UnknownKeys::Ignore)
        .map_err(|error| TextError::InvalidTask { task: task.name.clone(), reason: error.to_string() })
}

/// Resolves the languages and the task of the options. Returns the tokenizer's direction, and the search options with the target's
/// token, which wins over a token in the options. `defaults` are the model's own.
///
/// # Errors
/// Those of [`Tokenizer::direction`] and [`Tokenizer::task`]; [`TextError::NoTargetLanguage`] if no target is named.
pub fn resolve_languages(
    tokenizer: &Tokenizer,
    options: &TranslateOptions,
    defaults: &GenerationConfig,
) -> Result<(Direction, GenerationConfig), TextError> {
    let (source, target) = (options.source_language.as_deref(), options.target_language.as_deref());
    let mut direction = tokenizer.direction(source, target)?;
    let mut generation = options.generation.clone();
    if let Some(task) = options.task.as_deref().map(|name| tokenizer.task(name)).transpose()? {
        direction = direction.with_task(task)?;
        generation = generation.merged_over(&task_options(task)?);
    }
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
