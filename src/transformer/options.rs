//! From what was asked for, and the model's own defaults, to options that leave nothing open.

use crate::decode::{DecodeError, DecodeOptions};
use crate::model::config::ModelConfig;
use crate::model::generation_config::GenerationConfig;

/// Tokens that an output may have more than its source, where neither request nor model says: Vaswani et al. 2017,
/// section 6.1.
const PAPER_EXTRA_LENGTH: usize = 50;

/// Resolves a request over a model's `generation_config.json`, for a source of `source_length` tokens.
///
/// As in Hugging Face's `generate`, lengths given as `max_new_tokens` and `min_new_tokens` win over those that count
/// the start token. Three things are decided differently, because a request should mean what it says:
///
/// * any length in the request wins over any in the file, where `max_new_tokens` of the file would win over
///   `max_length` of the request;
/// * where neither has a maximal length, it is the source's and 50 tokens, as in the paper, rather than 20;
/// * a file without end or start token has those of `config.json`, rather than none.
///
/// A maximal length that only the model's file asks for is cut to what the model has positions for; one that the
/// request asks for is not, and is refused later.
///
/// # Errors
/// [`DecodeError::Option`] for an option that has no meaning here.
pub fn resolve(
    request: &GenerationConfig,
    defaults: &GenerationConfig,
    model: &ModelConfig,
    source_length: usize,
) -> Result<DecodeOptions, DecodeError> {
    let positions = model.positions.count();
    let merged = request.clone().merged_over(defaults);
    let requested = request.max_new_tokens.map(|new| new.saturating_add(1)).or(request.max_length);
    let by_default = defaults
        .max_new_tokens
        .map(|new| new.saturating_add(1))
        .or(defaults.max_length)
        .unwrap_or(source_length + PAPER_EXTRA_LENGTH);
    let min_new = request.min_new_tokens.or(defaults.min_new_tokens).map(|new| new.saturating_add(1));
    let forced_eos = match merged.forced_eos_token_id.as_ref().map(|ids| ids.as_slice()) {
        None | Some([]) => None,
        Some(&[token]) => Some(token),
        Some(tokens) => {
            return Err(DecodeError::Option {
                option: "forced_eos_token_id",
                value: format!("{tokens:?}"),
                allowed: "one token".into(),
            });
        }
    };
    let num_beams = merged.num_beams.unwrap_or(1);
    Ok(DecodeOptions {
        num_beams,
        num_return_sequences: merged.num_return_sequences.unwrap_or(1),
        length_penalty: merged.length_penalty.unwrap_or(1.0),
        early_stopping: merged.early_stopping.unwrap_or_default(),
        max_length: requested.unwrap_or(by_default.min(positions.saturating_add(1))),
        min_length: min_new.or(merged.min_length).unwrap_or(0),
        bad_words: merged.bad_words_ids.unwrap_or_default(),
        forced_bos: merged.forced_bos_token_id,
        forced_eos,
        eos: merged.eos_token_id.map_or(model.tokens.eos.into_iter().collect(), |ids| ids.as_slice().to_vec()),
        pad: merged.pad_token_id.unwrap_or(model.tokens.pad),
        decoder_start: merged.decoder_start_token_id.or(model.tokens.decoder_start).unwrap_or(0),
        no_repeat_ngram_size: merged.no_repeat_ngram_size.unwrap_or(0),
        repetition_penalty: merged.repetition_penalty.unwrap_or(1.0),
        renormalize_logits: merged.renormalize_logits.unwrap_or(false),
    })
}
