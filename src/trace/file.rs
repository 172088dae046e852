//! A trace as JSON with weights as lists, or as safetensors with weights as tensors and the rest as JSON in the
//! metadata. `docs/trace.md` describes both.
//!
//! Files are untrusted. Reading allocates memory in proportion to the file's bytes, not to lengths that it claims.

use std::borrow::Cow;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

use super::error::{FORMAT, VERSION};
use super::{
    AttentionKind, Depth, LayerAttention, LeftOut, TargetToken, Token, Trace, TraceFileError, TracedSearch,
    TracedSentence,
};

/// Bytes of the largest file.
pub const MAX_FILE_BYTES: u64 = 2 << 30;

/// The whole file in JSON, or its metadata in safetensors.
#[derive(Serialize, Deserialize)]
struct TraceJson<'a> {
    format: Cow<'a, str>,
    version: u32,
    model: Cow<'a, str>,
    sentences: Vec<SentenceJson<'a>>,
}

#[derive(Deserialize)]
struct Header {
    #[serde(default)]
    format: String,
    #[serde(default)]
    version: u32,
}

#[derive(Serialize, Deserialize)]
struct SentenceJson<'a> {
    source: Cow<'a, str>,
    offset: usize,
    target: Cow<'a, str>,
    source_tokens: Cow<'a, [Token]>,
    target_tokens: Cow<'a, [TargetToken]>,
    prompt: usize,
    attention: Vec<AttentionJson<'a>>,
    left_out: Cow<'a, [LeftOut]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    search: Option<Cow<'a, TracedSearch>>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    depth: Cow<'a, [Depth]>,
}

#[derive(Serialize, Deserialize)]
struct AttentionJson<'a> {
    kind: AttentionKind,
    layer: usize,
    /// `[heads, queries, keys]`
    shape: [usize; 3],
    /// Row-major; not in safetensors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weights: Option<Cow<'a, [f32]>>,
}

impl Trace {
    /// Writes JSON with weights: for small traces, and for programs without safetensors.
    pub fn to_json(&self) -> Result<String, TraceFileError> {
        Ok(serde_json::to_string(&self.json(true))?)
    }

    /// Writes safetensors.
    pub fn to_safetensors(&self) -> Result<Vec<u8>, TraceFileError> {
        let bytes: Vec<(String, Vec<usize>, Cow<'_, [u8]>)> = self
            .sentences
            .iter()
            .enumerate()
            .flat_map(|(index, sentence)| sentence.attention.iter().map(move |layer| (index, layer)))
            .map(|(index, layer)| {
                let shape = vec![layer.heads, layer.queries, layer.keys];
                (tensor_name(index, layer.kind, layer.layer), shape, little_endian(&layer.weights))
            })
            .collect();
        let views = bytes
            .iter()
            .map(|(name, shape, data)| Ok((name, TensorView::new(Dtype::F32, shape.clone(), data)?)))
            .collect::<Result<Vec<_>, safetensors::SafeTensorError>>()?;
        let metadata = (FORMAT.to_owned(), serde_json::to_string(&self.json(false))?);
        Ok(safetensors::serialize(views, Some([metadata].into_iter().collect()))?)
    }

    /// Reads JSON or safetensors.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TraceFileError> {
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(TraceFileError::TooLarge { bytes: bytes.len() as u64, limit: MAX_FILE_BYTES });
        }
        // the first eight bytes of JSON, as the length of a header, exceed any file
        if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{') && bytes.get(8) != Some(&b'{')
        {
            return Self::from_json(bytes, None);
        }
        let (_, metadata) = SafeTensors::read_metadata(bytes)?;
        let metadata = metadata.metadata().as_ref().and_then(|metadata| metadata.get(FORMAT));
        let json = metadata.ok_or(TraceFileError::NoMetadata)?;
        Self::from_json(json.as_bytes(), Some(&SafeTensors::deserialize(bytes)?))
    }

    fn json(&self, with_weights: bool) -> TraceJson<'_> {
        TraceJson {
            format: FORMAT.into(),
            version: VERSION,
            model: (&self.model).into(),
            sentences: self.sentences.iter().map(|sentence| sentence_json(sentence, with_weights)).collect(),
        }
    }

    fn from_json(bytes: &[u8], tensors: Option<&SafeTensors<'_>>) -> Result<Self, TraceFileError> {
        let Header { format, version } = serde_json::from_slice(bytes)?;
        if format != FORMAT {
            return Err(TraceFileError::Format { found: format.chars().take(40).collect() });
        }
        if version != VERSION {
            return Err(TraceFileError::Version { found: version });
        }
        let json: TraceJson<'_> = serde_json::from_slice(bytes)?;
        let sentences = json.sentences.into_iter().enumerate().map(|(index, sentence)| {
            self::sentence(index, sentence, tensors)
                .map_err(|reason| TraceFileError::Inconsistent { sentence: index, reason })
        });
        Ok(Self { model: json.model.into_owned(), sentences: sentences.collect::<Result<_, _>>()? })
    }
}

fn sentence_json(sentence: &TracedSentence, with_weights: bool) -> SentenceJson<'_> {
    SentenceJson {
        source: (&sentence.source).into(),
        offset: sentence.offset,
        target: (&sentence.target).into(),
        source_tokens: (&sentence.source_tokens).into(),
        target_tokens: (&sentence.target_tokens).into(),
        prompt: sentence.prompt,
        attention: sentence.attention.iter().map(|layer| attention_json(layer, with_weights)).collect(),
        left_out: (&sentence.left_out).into(),
        search: sentence.search.as_ref().map(Cow::Borrowed),
        depth: (&sentence.depth).into(),
    }
}

fn attention_json(layer: &LayerAttention, with_weights: bool) -> AttentionJson<'_> {
    AttentionJson {
        kind: layer.kind,
        layer: layer.layer,
        shape: [layer.heads, layer.queries, layer.keys],
        weights: with_weights.then(|| (&layer.weights).into()),
    }
}

fn sentence(
    index: usize,
    json: SentenceJson<'_>,
    tensors: Option<&SafeTensors<'_>>,
) -> Result<TracedSentence, String> {
    let SentenceJson {
        source,
        offset,
        target,
        source_tokens,
        target_tokens,
        prompt,
        attention,
        left_out,
        search,
        depth,
    } = json;
    check_ranges("source", &source, source_tokens.iter())?;
    check_ranges("target", &target, target_tokens.iter().map(|token| &token.token))?;
    if prompt == 0 || prompt >= target_tokens.len() || source_tokens.is_empty() {
        let tokens = (source_tokens.len(), target_tokens.len());
        return Err(format!("has {} and {} tokens, and a prompt of {prompt}", tokens.0, tokens.1));
    }
    for token in target_tokens.iter() {
        let others = token.alternatives.iter().map(|alternative| alternative.log_probability);
        // minus infinity is null in JSON, so a file's log-probability is finite
        if others.chain(token.log_probability).any(|value| !value.is_finite() || value > 1e-3) {
            return Err("has a log-probability above 0, or one that is no number".into());
        }
    }
    if search.as_ref().is_some_and(|search| !search.tree.is_sound()) {
        return Err(
            "has a search whose nodes do not follow their parents, or whose scores are no numbers".into()
        );
    }
    let mut layers: Vec<LayerAttention> = Vec::new();
    for AttentionJson { kind, layer, shape, weights } in attention {
        let name = tensor_name(index, kind, layer);
        let read = target_tokens.len() - 1;
        let queries = if kind.queries_target() { read } else { source_tokens.len() };
        let keys = if kind.keys_target() { read } else { source_tokens.len() };
        let weights = match (tensors, weights) {
            (None, Some(weights)) => weights.into_owned(),
            (None, None) => return Err(format!("{name} has no weights")),
            (Some(tensors), _) => tensor(tensors, &name, shape)?,
        };
        let [heads, ..] = shape;
        let elements = heads.checked_mul(queries).and_then(|rows| rows.checked_mul(keys));
        if shape != [heads, queries, keys] || heads == 0 || elements != Some(weights.len()) {
            return Err(format!(
                "{name} is {shape:?} with {} weights, but its tokens need [heads, {queries}, {keys}]",
                weights.len()
            ));
        }
        if let Some(weight) = weights.iter().find(|weight| !(-1e-3..=1.001).contains(*weight)) {
            return Err(format!("{name} has the weight {weight}; use 0 to 1"));
        }
        let known = |other: &LayerAttention| (other.kind, other.layer) == (kind, layer);
        if layer >= MAX_LAYERS || layers.iter().any(known) {
            return Err(format!("{name} is there twice, or is more than layer {MAX_LAYERS}"));
        }
        layers.push(LayerAttention { kind, layer, heads, queries, keys, weights });
    }
    layers.sort_by_key(|layer| (layer.kind, layer.layer));
    Ok(TracedSentence {
        source: source.into_owned(),
        offset,
        target: target.into_owned(),
        source_tokens: source_tokens.into_owned(),
        target_tokens: target_tokens.into_owned(),
        prompt,
        attention: layers,
        left_out: left_out.into_owned(),
        search: search.map(Cow::into_owned),
        depth: depth.into_owned(),
    })
}

/// Bound of the search for duplicate layers, above any model's number of layers.
const MAX_LAYERS: usize = 1024;

fn tensor(tensors: &SafeTensors<'_>, name: &str, shape: [usize; 3]) -> Result<Vec<f32>, String> {
    let tensor = tensors.tensor(name).map_err(|_| format!("has no tensor {name}"))?;
    if tensor.dtype() != Dtype::F32 || tensor.shape() != shape {
        let (dtype, got) = (tensor.dtype(), tensor.shape());
        return Err(format!("{name} is {dtype:?} {got:?}, but its metadata says F32 {shape:?}"));
    }
    Ok(tensor.data().as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
}

/// Checks that ranges are whole characters of the text.
fn check_ranges<'a>(
    side: &str,
    text: &str,
    mut tokens: impl Iterator<Item = &'a Token>,
) -> Result<(), String> {
    let wrong = tokens.find(|token| token.range.is_some_and(|[first, end]| text.get(first..end).is_none()));
    match wrong {
        Some(Token { range: Some([first, end]), .. }) => {
            Err(format!("a token has the bytes {first} to {end}, which the {side} does not have"))
        }
        _ => Ok(()),
    }
}

fn tensor_name(sentence: usize, kind: AttentionKind, layer: usize) -> String {
    format!("{sentence}.{kind}.{layer}")
}

fn little_endian(weights: &[f32]) -> Cow<'_, [u8]> {
    match cfg!(target_endian = "little") {
        true => Cow::Borrowed(bytemuck::cast_slice(weights)),
        false => weights.iter().flat_map(|weight| weight.to_le_bytes()).collect::<Vec<u8>>().into(),
    }
}
