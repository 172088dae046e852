//! A trace as JSON with weights as lists, or as safetensors with weights as tensors and the rest as JSON in the
//! metadata. `docs/trace.md` describes both.
//!
//! Files are untrusted. Reading allocates memory in proportion to the file's bytes, not to lengths that it claims.

use crate::sorting;
use std::borrow::Cow;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

use super::bands::LayoutJson;
use super::error::{FORMAT, VERSION};
use super::taps::{self, TapJson};
use super::{
    Anatomy, AttentionKind, BandLayout, Bands, Depth, LayerAttention, LeftOut, TargetToken, Token, Trace,
    TraceFileError, TracedSearch, TracedSentence, TracedTap,
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
    /// From version 3 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    anatomy: Option<Anatomy>,
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
    /// From version 3 on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    taps: Vec<TapJson<'a>>,
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
    /// From version 2 on: the places of the weights, if they are bands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bands: Option<LayoutJson>,
}

impl Trace {
    /// Writes JSON with weights: for small traces, and for programs without safetensors.
    pub fn to_json(&self) -> Result<String, TraceFileError> {
        self.check_taps()?;
        Ok(serde_json::to_string(&self.json(true))?)
    }

    /// Writes safetensors.
    pub fn to_safetensors(&self) -> Result<Vec<u8>, TraceFileError> {
        self.check_taps()?;
        let mut bytes: Vec<(String, Vec<usize>, Cow<'_, [u8]>)> = self
            .sentences
            .iter()
            .enumerate()
            .flat_map(|(index, sentence)| sentence.attention.iter().map(move |layer| (index, layer)))
            .flat_map(|(index, layer)| {
                let &LayerAttention { kind, layer: number, heads, queries, .. } = layer;
                let name = tensor_name(index, kind, number);
                let globals = layer.bands.as_ref().filter(|bands| !bands.global_weights.is_empty());
                let of_globals = globals.map(|bands| {
                    let shape = vec![heads, bands.layout.global_queries.len(), layer.keys];
                    (global_name(&name), shape, little_endian(&bands.global_weights))
                });
                let shape = vec![heads, queries, layer.stored_columns()];
                [(name, shape, little_endian(&layer.weights))].into_iter().chain(of_globals)
            })
            .collect();
        for (index, sentence) in self.sentences.iter().enumerate() {
            bytes.extend(sentence.taps.iter().map(|TracedTap { name, shape, values }| {
                (TracedTap::tensor_name(index, name), shape.clone(), little_endian(values))
            }));
        }
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

    /// The first version that has what the trace needs.
    fn version(&self) -> u32 {
        let mut layers = self.sentences.iter().flat_map(|sentence| &sentence.attention);
        match self.sentences.iter().any(|sentence| !sentence.taps.is_empty()) {
            true => 3,
            false if layers.any(|layer| layer.bands.is_some()) => 2,
            false => 1,
        }
    }

    fn check_taps(&self) -> Result<(), TraceFileError> {
        let mut taps = self.sentences.iter().flat_map(|sentence| &sentence.taps);
        match taps.find(|tap| !tap.is_storable()) {
            Some(tap) => Err(TraceFileError::NoNumber { name: tap.name.clone() }),
            None => Ok(()),
        }
    }

    fn json(&self, with_weights: bool) -> TraceJson<'_> {
        TraceJson {
            format: FORMAT.into(),
            version: self.version(),
            model: (&self.model).into(),
            sentences: self.sentences.iter().map(|sentence| sentence_json(sentence, with_weights)).collect(),
            anatomy: self.anatomy,
        }
    }

    fn from_json(bytes: &[u8], tensors: Option<&SafeTensors<'_>>) -> Result<Self, TraceFileError> {
        let Header { format, version } = serde_json::from_slice(bytes)?;
        if format != FORMAT {
            return Err(TraceFileError::Format { found: format.chars().take(40).collect() });
        }
        if !(1..=VERSION).contains(&version) {
            return Err(TraceFileError::Version { found: version });
        }
        let json: TraceJson<'_> = serde_json::from_slice(bytes)?;
        if json.anatomy.is_some_and(|anatomy| version < 3 || !anatomy.is_sound()) {
            return Err(TraceFileError::Anatomy);
        }
        let sentences = json.sentences.into_iter().enumerate().map(|(index, sentence)| {
            if version < 2 && sentence.attention.iter().any(|layer| layer.bands.is_some()) {
                let reason = "has bands, which version 1 does not know".to_owned();
                return Err(TraceFileError::Inconsistent { sentence: index, reason });
            }
            if version < 3 && !sentence.taps.is_empty() {
                let reason = format!("has taps, which version {version} does not know");
                return Err(TraceFileError::Inconsistent { sentence: index, reason });
            }
            self::sentence(index, sentence, tensors)
                .map_err(|reason| TraceFileError::Inconsistent { sentence: index, reason })
        });
        Ok(Self {
            model: json.model.into_owned(),
            sentences: sentences.collect::<Result<_, _>>()?,
            anatomy: json.anatomy,
        })
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
        taps: sentence.taps.iter().map(|tap| tap.json(with_weights)).collect(),
    }
}

fn attention_json(layer: &LayerAttention, with_weights: bool) -> AttentionJson<'_> {
    AttentionJson {
        kind: layer.kind,
        layer: layer.layer,
        shape: [layer.heads, layer.queries, layer.keys],
        weights: with_weights.then(|| (&layer.weights).into()),
        bands: LayoutJson::new(layer, with_weights),
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
        taps,
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
    for json in attention {
        let (kind, layer) = (json.kind, json.layer);
        let name = tensor_name(index, kind, layer);
        let read = target_tokens.len() - 1;
        let queries = if kind.queries_target() { read } else { source_tokens.len() };
        let keys = if kind.keys_target() { read } else { source_tokens.len() };
        let known = |other: &LayerAttention| (other.kind, other.layer) == (kind, layer);
        if layer >= MAX_LAYERS || layers.iter().any(known) {
            return Err(format!("{name} is there twice, or is more than layer {MAX_LAYERS}"));
        }
        layers.push(attention_layer(&name, json, [queries, keys], tensors)?);
    }
    sorting::sort_by_key(&mut layers, |layer| (layer.kind, layer.layer));
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
        taps: taps::read(index, taps, tensors)?,
    })
}

/// Reads a layer of a sentence whose tokens need `[queries, keys]`.
fn attention_layer(
    name: &str,
    AttentionJson { kind, layer, shape, weights, bands }: AttentionJson<'_>,
    [queries, keys]: [usize; 2],
    tensors: Option<&SafeTensors<'_>>,
) -> Result<LayerAttention, String> {
    let layout = match &bands {
        None => None,
        Some(_) if kind != AttentionKind::Encoder => {
            return Err(format!("{name} has bands, which only an encoder has"));
        }
        Some(bands) => Some(bands.layout(keys).map_err(|reason| format!("{name} {reason}"))?),
    };
    let columns = layout.as_ref().map_or(keys, BandLayout::columns);
    let [heads, ..] = shape;
    let of_file = |name: &str, rows: usize, columns: usize, own: Option<Vec<f32>>| {
        let weights = match (tensors, own) {
            (None, Some(weights)) => weights,
            (None, None) => return Err(format!("{name} has no weights")),
            (Some(tensors), _) => tensor(tensors, name, [heads, rows, columns])?,
        };
        let elements = heads.checked_mul(rows).and_then(|rows| rows.checked_mul(columns));
        if shape != [heads, queries, keys] || heads == 0 || elements != Some(weights.len()) {
            return Err(format!(
                "{name} is {shape:?} with {} weights, but its tokens need [heads, {queries}, {keys}] with heads · {rows} · \
                 {columns} weights",
                weights.len()
            ));
        }
        match weights.iter().find(|weight| !(-1e-3..=1.001).contains(*weight)) {
            Some(weight) => Err(format!("{name} has the weight {weight}; use 0 to 1")),
            None => Ok(weights),
        }
    };
    let weights = of_file(name, queries, columns, weights.map(Cow::into_owned))?;
    let bands = match (layout, bands) {
        (Some(layout), Some(json)) => {
            let rows = layout.global_queries.len();
            let global_weights = match rows {
                0 => Vec::new(),
                _ => of_file(&global_name(name), rows, keys, Some(json.global_weights))?,
            };
            Some(Bands { layout, global_weights })
        }
        _ => None,
    };
    Ok(LayerAttention { kind, layer, heads, queries, keys, weights, bands })
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

/// The tensor of the queries that see all keys.
fn global_name(name: &str) -> String {
    format!("{name}.global")
}

fn little_endian(weights: &[f32]) -> Cow<'_, [u8]> {
    match cfg!(target_endian = "little") {
        true => Cow::Borrowed(bytemuck::cast_slice(weights)),
        false => weights.iter().flat_map(|weight| weight.to_le_bytes()).collect::<Vec<u8>>().into(),
    }
}
