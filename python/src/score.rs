//! Probabilities of given translations.

use pyo3::prelude::*;
use wordloom::TranslateOptions;
use wordloom::model::generation_config::GenerationConfig;
use wordloom::resolve;
use wordloom::text::Direction;
use wordloom::transformer::{ScoreError as LibraryError, ScoreRequest};
use wordloom::translate::resolve_languages;

use crate::engine::Engine;
use crate::errors::OrRaise;
use crate::run::{Watch, run};
use crate::strings::{ids, texts};

#[pymethods]
impl Engine {
    /// Log-probabilities of the tokens of each target, as the translation of its source.
    #[pyo3(signature = (sources, targets, source_lang=None, target_lang=None))]
    fn score(
        &self,
        py: Python<'_>,
        sources: &Bound<'_, PyAny>,
        targets: &Bound<'_, PyAny>,
        source_lang: Option<String>,
        target_lang: Option<String>,
    ) -> PyResult<Vec<Vec<f32>>> {
        let translator = self.translator()?;
        let options = TranslateOptions {
            source_language: source_lang,
            target_language: target_lang,
            ..Default::default()
        };
        let defaults = translator.transformer().generation_config();
        let direction = resolve_languages(translator.tokenizer(), &options, defaults).or_raise()?;
        let (sources, targets) = (texts(sources)?, texts(targets)?);
        let pairs = sources.iter().zip(&targets);
        let requests = pairs.map(|(source, target)| self.pair(source, target, &direction));
        self.scores(py, requests.collect::<PyResult<_>>()?)
    }

    /// As `score`, of token ids: labels come after the start token.
    #[pyo3(signature = (inputs, labels))]
    fn score_ids(
        &self,
        py: Python<'_>,
        inputs: Vec<Bound<'_, PyAny>>,
        labels: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Vec<f32>>> {
        let request = |(input, labels): (&Bound<'_, PyAny>, &Bound<'_, PyAny>)| {
            let (input, labels) = (ids(input, "input_ids")?, ids(labels, "labels")?);
            self.transformer().score_request(input, labels, &GenerationConfig::default()).or_raise()
        };
        let requests = inputs.iter().zip(&labels).map(request).collect::<PyResult<_>>()?;
        self.scores(py, requests)
    }
}

impl Engine {
    fn pair(
        &self,
        source: &str,
        target: &str,
        (direction, search): &(Direction, GenerationConfig),
    ) -> PyResult<ScoreRequest> {
        let (translator, transformer) = (self.translator()?, self.transformer());
        let input_ids = translator.tokenizer().encode_source(source, direction).or_raise()?;
        let target_ids = translator.tokenizer().encode_target(target, direction).or_raise()?;
        let defaults = transformer.generation_config();
        let options = resolve(search, defaults, transformer.config(), &input_ids).or_raise()?;
        // the forced language token is not scored
        let language = direction.target.and(options.forced_bos);
        let context_ids = options.prompt.into_iter().chain(language).collect();
        let global_tokens = transformer.config().usual_globals();
        let request = ScoreRequest { input_ids, context_ids, target_ids, global_tokens };
        transformer.check_score_request(&request).or_raise()?;
        Ok(request)
    }

    fn scores(&self, py: Python<'_>, requests: Vec<ScoreRequest>) -> PyResult<Vec<Vec<f32>>> {
        let watch = Watch::default();
        let scores: Result<_, LibraryError> = run(py, &watch, |_| {
            pollster::block_on(self.transformer().score(&requests, &watch.cancel, &mut |_| {}))
        })?;
        Ok(scores.or_raise()?.into_iter().map(|score| score.token_log_probabilities).collect())
    }
}
