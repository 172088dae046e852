use crate::decode::{Columns, DecodeError, DecodeOptions, Sampling};
use crate::model::config::{Architecture, ModelConfig};
use crate::model::generation_config::GenerationConfig;

/// Default for tokens of an output beyond its input's length: Vaswani et al. 2017, section 6.1.
const PAPER_EXTRA_LENGTH: usize = 50;

/// Resolves a request over a model's `generation_config.json`, for one input: an encoder-decoder's source, or a
/// decoder's prompt.
///
/// As in Hugging Face's `generate`, `max_new_tokens` and `min_new_tokens` win over lengths that count the start token
/// or the prompt. Three rules differ, so that a request means what it says:
///
/// * any maximal length of the request wins over any of the file; in Hugging Face `max_new_tokens` of the file wins over
///   `max_length` of the request;
/// * the default maximal length is the input's plus 50 tokens, as in the paper, not 20;
/// * a file without end or start token takes those of `config.json`, not none.
///
/// A maximal length of the file is cut to the model's positions; one of the request is refused later. A length that the
/// prompt exhausts is refused, as in Hugging Face.
///
/// # Errors
/// [`DecodeError::Option`] for an option without meaning here. [`DecodeOptions::validate`] finds all others.
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
            // as in transformers 5, which then refuses, although `config.json` may have a start
            let start = merged.decoder_start_token_id.or(merged.bos_token_id);
            let start = start.or(model.tokens.decoder_start).or(model.tokens.bos);
            vec![start.ok_or_else(|| DecodeError::Option {
                option: "decoder_start_token_id",
                value: "not set".into(),
                allowed: "given in the request, generation_config.json or config.json".into(),
            })?]
        }
    };
    let of_file = defaults.max_new_tokens.filter(|_| request.max_length.is_none());
    if request.max_new_tokens.or(of_file) == Some(0) {
        return Err(DecodeError::Option {
            option: "max_new_tokens",
            value: "0".into(),
            allowed: "at least 1".into(),
        });
    }
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
    let sampling = sampling(&merged)?;
    let of_input = ngrams(merged.encoder_no_repeat_ngram_size.unwrap_or(0), input, model.target_vocabulary);
    Ok(DecodeOptions {
        num_beams,
        num_return_sequences: merged.num_return_sequences.unwrap_or(1),
        length_penalty: merged.length_penalty.unwrap_or(1.0),
        sampling,
        early_stopping: merged.early_stopping.unwrap_or_default(),
        max_length: requested.unwrap_or(by_default.min(positions.saturating_add(1))),
        min_length: merged.min_new_tokens.map(and_prompt).or(merged.min_length).unwrap_or(0),
        bad_words: merged.bad_words_ids.unwrap_or_default().into_iter().chain(of_input).collect(),
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
        columns: if merged.shortlist.unwrap_or(true) { Columns::Auto } else { Columns::All },
        constraints: None,
    })
}

/// The n-grams of an input, as words that an output may not have: HF's `EncoderNoRepeatNGramLogitsProcessor`. One with a token that
/// the decoder cannot write needs no ban.
fn ngrams(size: usize, input: &[u32], vocabulary: usize) -> impl Iterator<Item = Vec<u32>> {
    let is_written = move |ngram: &&[u32]| ngram.iter().all(|&token| (token as usize) < vocabulary);
    // those of no length are none
    let windows = input.windows(size.max(1)).filter(move |_| size > 0);
    windows.filter(is_written).map(<[u32]>::to_vec)
}

/// Refuses options of a request that would have no effect: those of sampling in a search that does not sample, those of an
/// encoder-decoder's start in a decoder-only model, and a minimal length above the maximal one. Hugging Face warns of them. Sampling
/// options that are off there, such as a `temperature` of 1, pass.
///
/// * `input`: an encoder-decoder's source, or a decoder's prompt
///
/// # Errors
/// [`DecodeError::Option`].
pub fn refuse_idle(
    request: &GenerationConfig,
    defaults: &GenerationConfig,
    model: &ModelConfig,
    input: &[u32],
) -> Result<(), DecodeError> {
    let refuse = |option, allowed: &str| {
        Err(DecodeError::Option { option, value: "given".into(), allowed: allowed.into() })
    };
    if request.do_sample.or(defaults.do_sample) != Some(true) {
        let off = Sampling::default();
        let asked = [
            ("temperature", request.temperature.is_some_and(|value| value != off.temperature)),
            ("top_k", request.top_k.is_some_and(|value| value != off.top_k)),
            ("top_p", request.top_p.is_some_and(|value| value != off.top_p)),
            ("seed", request.seed.is_some()),
        ];
        if let Some((option, _)) = asked.into_iter().find(|&(_, asked)| asked) {
            return refuse(option, "left out, or used with do_sample");
        }
    }
    if model.architecture() == Architecture::DecoderOnly {
        let asked = [
            ("decoder_start_token_id", request.decoder_start_token_id.is_some()),
            ("forced_bos_token_id", request.forced_bos_token_id.is_some() && input.len() > 1),
        ];
        if let Some((option, _)) = asked.into_iter().find(|&(_, asked)| asked) {
            return refuse(option, "left out: a model without an encoder begins with input_ids");
        }
    }
    let least = request.min_length.filter(|_| request.max_new_tokens.or(request.min_new_tokens).is_none());
    match (least, request.max_length.or(defaults.max_length)) {
        (Some(least), Some(most)) if least > most => Err(DecodeError::Option {
            option: "min_length",
            value: least.to_string(),
            allowed: format!("at most max_length, which is {most}"),
        }),
        _ => Ok(()),
    }
}

/// HF's `LogitsProcessor`s of sampling; unsupported ones are refused if they would have an effect.
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
