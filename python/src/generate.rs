//! Token ids in, token ids out.

use pyo3::prelude::*;
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
    #[pyo3(signature = (inputs, generation, prefixes=None, cancel=None))]
    fn generate(
        &self,
        py: Python<'_>,
        inputs: Vec<Bound<'_, PyAny>>,
        generation: &str,
        prefixes: Option<Vec<Vec<u32>>>,
        cancel: Option<&Cancel>,
    ) -> PyResult<Vec<Vec<Hypothesis>>> {
        let transformer = self.transformer();
        let wanted = self.generation(generation)?;
        let (defaults, config) = (transformer.generation_config(), transformer.config());
        let globals = config.usual_globals();
        let mut prefixes = prefixes.unwrap_or_default().into_iter();
        let requests = inputs.iter().map(|input| {
            let input_ids = ids(input, "input_ids")?;
            let mut options = resolve(&wanted, defaults, config, &input_ids).or_raise()?;
            options.prompt.extend(prefixes.next().unwrap_or_default());
            let request = GenerateRequest { input_ids, options, global_tokens: globals.clone() };
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
