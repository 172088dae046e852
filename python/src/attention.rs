//! The attention of a translation.

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyType};
use wordloom::trace::{AttentionKind, Trace, TraceError as LibraryError, TraceOptions, TracedSentence};
use wordloom::{TranslateOptions, Translator};

use crate::engine::Engine;
use crate::errors::{OrRaise, wrong_value};
use crate::forward::floats;
use crate::run::{Watch, run};
use crate::strings::text;
use crate::translate::Options;

/// The trace of a translation.
#[pyclass(frozen, module = "wordloom._native")]
pub struct Attention {
    trace: Trace,
}

/// Piece and label of a token, and whether it is special.
type TokenParts = (u32, String, bool);

#[pymethods]
impl Engine {
    /// Traces a translation of the text, or a given one.
    ///
    /// * `memory`: bytes for attention
    #[pyo3(signature = (source, target, options, memory))]
    fn attention(
        &self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        target: Option<&Bound<'_, PyAny>>,
        options: Options,
        memory: u64,
    ) -> PyResult<Attention> {
        let translator = self.translator()?;
        let source = text(source, || "the text".to_owned())?;
        let target = target.map(|target| text(target, || "target".to_owned())).transpose()?;
        let watch = Watch::default();
        let mut options = options.of(self, &watch)?;
        options.keep.tree = target.is_none();
        // only the last part of the path, for privacy
        let label = self.label.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        let kept = TraceOptions { model: label, memory, search: target.is_none(), ..TraceOptions::default() };
        let trace = run(py, &watch, |_| {
            pollster::block_on(traced(translator, (&source, target.as_deref()), &options, &kept))
        })?;
        Ok(Attention { trace: trace.or_raise()? })
    }
}

async fn traced(
    translator: &Translator,
    (source, target): (&str, Option<&str>),
    options: &TranslateOptions,
    kept: &TraceOptions,
) -> Result<Trace, LibraryError> {
    match target {
        Some(target) => Trace::of_pair(translator, source, target, options, kept).await,
        None => {
            let translation = translator.translate(source, options).await?;
            Trace::of(translator, source, &translation, options, kept).await
        }
    }
}

#[pymethods]
impl Attention {
    /// Reads a trace from JSON or safetensors.
    #[new]
    fn new(bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { trace: Trace::from_bytes(bytes).or_raise()? })
    }

    /// For pickle: the type, and what it is made of.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>(), (self.safetensors(py)?,)))
    }

    fn __len__(&self) -> usize {
        self.trace.sentences.len()
    }

    /// Source and translation of a sentence.
    fn texts(&self, sentence: usize) -> PyResult<(String, String)> {
        let sentence = self.sentence(sentence)?;
        Ok((sentence.source.clone(), sentence.target.clone()))
    }

    /// Tokens of the queries and of the keys of a kind of attention: id, piece, whether it is special.
    fn tokens(&self, sentence: usize, kind: &str) -> PyResult<(Vec<TokenParts>, Vec<TokenParts>)> {
        let (sentence, kind) = (self.sentence(sentence)?, parsed(kind)?);
        let parts = |tokens: Vec<&wordloom::trace::Token>| {
            tokens.into_iter().map(|token| (token.id, token.piece.clone(), token.special)).collect()
        };
        Ok((parts(sentence.query_tokens(kind)), parts(sentence.key_tokens(kind))))
    }

    /// Weights of a kind, of the layers that are there: `[layers, heads, queries, keys]`, and the bytes.
    fn weights<'py>(
        &self,
        py: Python<'py>,
        sentence: usize,
        kind: &str,
    ) -> PyResult<(Vec<usize>, Bound<'py, PyByteArray>)> {
        let (sentence, kind) = (self.sentence(sentence)?, parsed(kind)?);
        let layers: Vec<_> = sentence.layers(kind).collect();
        let sizes = layers.first().map_or([0; 3], |layer| [layer.heads, layer.queries, layer.keys]);
        let shape = [&[layers.len()], &sizes[..]].concat();
        let values: Vec<f32> = layers.iter().flat_map(|layer| layer.weights.iter().copied()).collect();
        Ok((shape, floats(py, &values)?))
    }

    /// Numbers of the layers of a kind that are there, counted from 0.
    fn layers(&self, sentence: usize, kind: &str) -> PyResult<Vec<usize>> {
        Ok(self.sentence(sentence)?.layers(parsed(kind)?).map(|layer| layer.layer).collect())
    }

    /// Links between words: source word, target word, counted from 0.
    fn links(&self, sentence: usize) -> PyResult<Vec<(usize, usize)>> {
        Ok(self.sentence(sentence)?.alignment().links)
    }

    /// The page that shows it, in one file.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| wordloom_viewer::page(&self.trace))
    }

    /// The trace as JSON.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.trace.to_json()).or_raise()
    }

    /// The trace as a safetensors file.
    fn safetensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.trace.to_safetensors()).or_raise()?;
        Ok(PyBytes::new(py, &bytes))
    }
}

impl Attention {
    fn sentence(&self, index: usize) -> PyResult<&TracedSentence> {
        let count = self.trace.sentences.len();
        self.trace.sentences.get(index).ok_or_else(|| match count {
            0 => wrong_value("the text has no words, so that there is no attention"),
            _ => wrong_value(format!("there is no sentence {index}; the text has {count}, counted from 0")),
        })
    }
}

fn parsed(kind: &str) -> PyResult<AttentionKind> {
    kind.parse().map_err(|_| wrong_value(format!("kind is {kind:?}; it must be encoder, decoder or cross")))
}
