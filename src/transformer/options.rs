//! From what was asked for, and the model's own defaults, to options that leave nothing open.

use crate::decode::{DecodeError, DecodeOptions, Sampling};
use crate::model::config::{Architecture, ModelConfig};
use crate::model::generation_config::GenerationConfig;

/// Tokens that an output may have more than its input, where neither request nor model says: Vaswani et al. 2017,
/// section 6.1.
const PAPER_EXTRA_LENGTH: usize = 50;

/// Resolves a request over a model's `generation_config.json`, for one input: an encoder-decoder's source, whose target
/// begins with the start token; or what a decoder is to continue, which is then the prompt.
///
/// As in Hugging Face's `generate`, lengths given as `max_new_tokens` and `min_new_tokens` win over those that count
/// the start token or the prompt. Three things are decided differently, because a request should mean what it says:
///
/// * any length in the request wins over any in the file, where `max_new_tokens` of the file would win over
///   `max_length` of the request;
/// * where neither has a maximal length, it is the input's and 50 tokens, as in the paper, rather than 20;
/// * a file without end or start token has those of `config.json`, rather than none.
///
/// A maximal length that only the model's file asks for is cut to what the model has positions for; one that the
/// request asks for is not, and is refused later. So is, from either and as Hugging Face does, one that a prompt fills
/// up.
///
/// # Errors
/// [`DecodeError::Option`] for an option that has no meaning here. Everything else is found by
/// [`DecodeOptions::validate`].
pub fn resolve(
    request: &GenerationConfig,
    defaults: &GenerationConfig,
    model: &ModelConfig,
    input: &[u32],
) -> Result<DecodeOptions, DecodeError> {
    let positions = model.positions.count();
    let merged = request.clone().merged_over(defaults);
    let prompt = match model.architecture() {
        Architecture::DecoderOnly => input.to_vec(),
        Architecture::EncoderDecoder | Architecture::EncoderOnly => {
            let start = merged.decoder_start_token_id.or(model.tokens.decoder_start);
            // as Hugging Face does
            let start = start.or(merged.bos_token_id).or(model.tokens.bos);
            vec![start.ok_or_else(|| DecodeError::Option {
                option: "decoder_start_token_id",
                value: "not set".into(),
                allowed: "given in the request, generation_config.json or config.json".into(),
            })?]
        }
    };
    let and_prompt = |new: usize| new.saturating_add(prompt.len());
    let requested = request.max_new_tokens.map(and_prompt).or(request.max_length);
    let by_default = defaults.max_new_tokens.map(and_prompt).or(defaults.max_length);
    let by_default = by_default.unwrap_or(input.len() + PAPER_EXTRA_LENGTH);
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
        sampling: sampling(&merged)?,
        early_stopping: merged.early_stopping.unwrap_or_default(),
        max_length: requested.unwrap_or(by_default.min(positions.saturating_add(1))),
        min_length: merged.min_new_tokens.map(and_prompt).or(merged.min_length).unwrap_or(0),
        bad_words: merged.bad_words_ids.unwrap_or_default(),
        forced_bos: merged.forced_bos_token_id,
        forced_eos,
        eos: merged
            .eos_token_id
            .map_or(model.tokens.eos.into_iter().collect(), |ids| ids.as_slice().to_vec()),
        pad: merged.pad_token_id.unwrap_or(model.tokens.pad),
        prompt,
        no_repeat_ngram_size: merged.no_repeat_ngram_size.unwrap_or(0),
        repetition_penalty: merged.repetition_penalty.unwrap_or(1.0),
        renormalize_logits: merged.renormalize_logits.unwrap_or(false),
    })
}

/// HF's `LogitsProcessor`s that only sampling has; those that are not supported are refused where they would do
/// something.
fn sampling(config: &GenerationConfig) -> Result<Option<Sampling>, DecodeError> {
    if config.do_sample != Some(true) {
        return Ok(None);
    }
    let unsupported = [
        ("min_p", config.min_p, Some(0.0)),
        ("typical_p", config.typical_p, Some(1.0)),
        ("epsilon_cutoff", config.epsilon_cutoff, Some(0.0)),
        ("eta_cutoff", config.eta_cutoff, Some(0.0)),
        ("top_h", config.top_h, None),
    ];
    for (option, value, off) in unsupported {
        if let Some(value) = value.filter(|&value| Some(value) != off) {
            let allowed = "left out with do_sample, which knows temperature, top_k and top_p".into();
            return Err(DecodeError::Option { option, value: value.to_string(), allowed });
        }
    }
    let default = Sampling::default();
    Ok(Some(Sampling {
        temperature: config.temperature.unwrap_or(default.temperature),
        top_k: config.top_k.unwrap_or(default.top_k),
        top_p: config.top_p.unwrap_or(default.top_p),
        seed: config.seed.unwrap_or(default.seed),
    }))
}
