//! Token ids in, token ids out.

use pyo3::prelude::*;
use wordloom::model::generation_config::GenerationConfig;
use wordloom::resolve;
use wordloom::transformer::{GenerateError as LibraryError, GenerateOptions, GenerateRequest};

use crate::engine::Engine;
use crate::errors::OrRaise;
use crate::run::{Cancel, Watch, run};
use crate::strings::ids;

/// Tokens, score, log-probabilities of the steps.
type Hypothesis = (Vec<u32>, f32, Vec<f32>);

#[pymethods]
impl Engine {
    /// Searches from lists of token ids without padding. Returns the hypotheses of each, best first.
    ///
    /// * `generation`: search options, a JSON object with transformers' names
    /// * `prefixes`: tokens of the target after the start token, for each input; or none
    /// * `paddings`: tokens of padding that were before each input, which `max_length` and `min_length` count; or none
    /// * `globals`: tokens of each input that see all tokens and are seen by all; or none, as in transformers
    #[pyo3(signature = (inputs, generation, prefixes=None, paddings=None, cancel=None, globals=None))]
    #[expect(clippy::too_many_arguments, reason = "they are Python's")]
    fn generate(
        &self,
        py: Python<'_>,
        inputs: Vec<Bound<'_, PyAny>>,
        generation: &str,
        prefixes: Option<Vec<Vec<u32>>>,
        paddings: Option<Vec<usize>>,
        cancel: Option<&Cancel>,
        globals: Option<Vec<Vec<usize>>>,
    ) -> PyResult<Vec<Vec<Hypothesis>>> {
        let transformer = self.transformer();
        let wanted = self.generation(generation)?;
        let (defaults, config) = (transformer.generation_config(), transformer.config());
        let mut globals = globals.unwrap_or_default().into_iter();
        let mut prefixes = prefixes.unwrap_or_default().into_iter();
        let mut paddings = paddings.unwrap_or_default().into_iter();
        let requests = inputs.iter().map(|input| {
            let input_ids = ids(input, "input_ids")?;
            let padding = paddings.next().unwrap_or(0);
            let (wanted, defaults) = (without(padding, &wanted), without(padding, defaults));
            let mut options = resolve(&wanted, &defaults, config, &input_ids).or_raise()?;
            options.prompt.extend(prefixes.next().unwrap_or_default());
            let global_tokens = globals.next().unwrap_or_default();
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

/// Subtracts padding from lengths.
fn without(padding: usize, config: &GenerationConfig) -> GenerationConfig {
    let without = |length: Option<usize>| length.map(|length| length.saturating_sub(padding));
    let (max_length, min_length) = (without(config.max_length), without(config.min_length));
    GenerationConfig { max_length, min_length, ..config.clone() }
}
