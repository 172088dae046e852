//! Token ids in, token ids out.

use pyo3::prelude::*;
use wordloom::model::generation_config::GenerationConfig;
use wordloom::resolve;
use wordloom::transformer::{GenerateError as LibraryError, GenerateOptions, GenerateRequest};

use crate::engine::Engine;
use crate::errors::{GenerateError, OrRaise};
use crate::run::{Cancel, Watch, run};
use crate::strings::ids;

/// An input of a search:
///
/// * its token ids, without padding
/// * tokens of the target after the start token
/// * number of tokens of padding that were before it, which `max_length` and `min_length` count
/// * places of its tokens that see all tokens and are seen by all
type Input<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, usize, Vec<usize>);
/// Tokens, score, log-probabilities of the steps.
type Hypothesis = (Vec<u32>, f32, Vec<f32>);

#[pymethods]
impl Engine {
    /// Searches from lists of token ids. Returns the hypotheses of each, best first.
    ///
    /// * `generation`: search options, a JSON object with transformers' names
    /// * `counts_prefixes`: whether the numbers of new tokens count the prefixes, as in CTranslate2; in transformers they do not
    #[pyo3(signature = (inputs, generation, counts_prefixes=false, cancel=None))]
    fn generate(
        &self,
        py: Python<'_>,
        inputs: Vec<Input<'_>>,
        generation: &str,
        counts_prefixes: bool,
        cancel: Option<&Cancel>,
    ) -> PyResult<Vec<Vec<Hypothesis>>> {
        let transformer = self.transformer();
        self.check_decoder()?;
        let wanted = self.generation(generation)?;
        let (defaults, config) = (transformer.generation_config(), transformer.config());
        let requests = inputs.into_iter().map(|(input, prefix, padding, global_tokens)| {
            let (input_ids, prefix) = (ids(&input, "input_ids")?, ids(&prefix, "decoder_input_ids")?);
            check_beginning(&prefix, config.target_vocabulary)?;
            let uncounted = if counts_prefixes { 0 } else { prefix.len() };
            let for_input = |config| shifted(config, padding, uncounted);
            let mut options =
                resolve(&for_input(&wanted), &for_input(defaults), config, &input_ids).or_raise()?;
            options.prompt.extend(prefix);
            let request = GenerateRequest { input_ids, options, global_tokens };
            transformer.check_request(&request).or_raise()?;
            Ok(request)
        });
        let requests = requests.collect::<PyResult<Vec<_>>>()?;
        let watch = Watch::new(cancel, None);
        let found: Result<_, LibraryError> = run(py, &watch, |_| {
            let options = GenerateOptions::default().cancel(&watch.cancel);
            pollster::block_on(transformer.generate(&requests, options))
        })?;
        let hypotheses = found.or_raise()?.into_iter().map(|generation| {
            let hypotheses = generation.hypotheses.into_iter();
            hypotheses.map(|found| (found.tokens, found.score, found.step_logprobs)).collect()
        });
        Ok(hypotheses.collect())
    }
}

/// # Errors
/// `GenerateError` for a token that the model cannot write.
fn check_beginning(tokens: &[u32], vocabulary: usize) -> PyResult<()> {
    match tokens.iter().find(|&&token| token as usize >= vocabulary) {
        Some(token) => Err(GenerateError::new_err(format!(
            "decoder_input_ids names token {token}, but the target vocabulary has {vocabulary} tokens; use an id below {vocabulary}"
        ))),
        None => Ok(()),
    }
}

/// Subtracts padding from lengths, and adds a prefix to numbers of new tokens. No new tokens stay none.
fn shifted(config: &GenerationConfig, padding: usize, prefix: usize) -> GenerationConfig {
    let without = |length: Option<usize>| length.map(|length| length.saturating_sub(padding));
    let with = |new: Option<usize>| new.map(|new| if new == 0 { 0 } else { new.saturating_add(prefix) });
    GenerationConfig {
        max_length: without(config.max_length),
        min_length: without(config.min_length),
        max_new_tokens: with(config.max_new_tokens),
        min_new_tokens: with(config.min_new_tokens),
        ..config.clone()
    }
}
