//! One attention, number by number: from a word to every number behind it.
//!
//! [`Explanation::of`] takes texts, [`Explanation::of_sentence`] a sentence of a [`Trace`]. Each runs one pass with
//! [taps](crate::transformer::taps), and orders what they see as the paper does. Commands, pages and windows only show it.

mod choice;
mod error;
mod kind;
mod names;
mod number;
mod steps;
mod traced;
mod words;

use serde::Serialize;

pub use error::ExplainError;
pub use kind::StepKind;
pub use number::short_number;
pub use steps::{CANDIDATES, Numbers, Step};

use crate::model::config::{ModelConfig, StackConfig};
use crate::model::{AttentionKind, HeadName};
use crate::trace::{Anatomy, Trace, TraceOptions, TracedSentence};
use crate::transformer::{ForwardError, ForwardInput, ForwardOutput, ForwardSelection, Transformer};
use crate::translate::{TranslateOptions, Translation, Translator};
use names::Places;

/// The attention to explain, and its texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainRequest {
    /// Source text.
    pub text: String,
    /// Translation; the model's own if `None`.
    pub target: Option<String>,
    /// The head.
    pub head: HeadName,
    /// The token that attends: a word, a piece of one, or `#3` for the fourth. In the encoder it is a token of the source, else
    /// the token of the target that the decoder is about to produce.
    pub token: String,
}

/// A token of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainedToken {
    /// Position, from 0.
    pub position: usize,
    /// Token id.
    pub id: u32,
    /// The text that a reader sees.
    pub label: String,
}

/// Sizes of the explained attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// Width of every hidden state.
    pub d_model: usize,
    /// Heads of the layer.
    pub heads: usize,
    /// Width of a head's queries and keys.
    pub d_k: usize,
    /// Width of a head's values.
    pub d_v: usize,
    /// Inner width of the feed-forward network.
    pub ffn_width: usize,
    /// Layers of the stack.
    pub layers: usize,
}

/// A possible next token.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// Token id.
    pub id: u32,
    /// Piece of the vocabulary.
    pub piece: String,
    /// Its logit.
    pub logit: f32,
    /// Its probability after the tokens before it.
    pub probability: f32,
}

/// Every number of one query of one head, in order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The head.
    pub head: HeadName,
    /// Where queries, keys and values come from, in words.
    pub origin: &'static str,
    /// Source text.
    pub source: String,
    /// Target text; empty if only the encoder ran.
    pub target: String,
    /// The token that attends: the one that the layer reads at this position.
    pub query: ExplainedToken,
    /// The token that the decoder produces at this position; `None` in the encoder.
    pub produces: Option<ExplainedToken>,
    /// The tokens that are attended to.
    pub keys: Vec<ExplainedToken>,
    /// Sizes.
    pub sizes: Sizes,
    /// Whether the norm stands before the block.
    pub norm_first: bool,
    /// The steps.
    pub steps: Vec<Step>,
    /// Most probable next tokens, best first, after the decoder's last layer; else empty.
    pub candidates: Vec<Candidate>,
    /// Names of taps of this attention that a trace lacks; its steps are shorter. Empty if a model was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl Explanation {
    /// Explains one attention of a text and its translation.
    ///
    /// # Errors
    /// [`ExplainError`] if the head or the token does not exist, or the layer has no matrix of weights; else as
    /// [`Trace::of`].
    pub async fn of(
        translator: &Translator,
        request: &ExplainRequest,
        options: &TranslateOptions,
    ) -> Result<Self, ExplainError> {
        let ExplainRequest { text, target, head, token } = request;
        check_head(translator.transformer().config(), *head)?;
        let Some(target) = target else {
            let translation = translator.translate(text, options).await?;
            return Self::of_translation(translator, text, &translation, *head, token, options).await;
        };
        let trace = Trace::of_pair(translator, text, target, options, &tokens_only()).await?;
        let (sentence, query) = choice::find(&trace.sentences, head.kind, token)?;
        Self::of_sentence(translator, &trace.sentences[sentence], *head, query).await
    }

    /// As [`of`](Self::of), for a translation by this translator, from the same text and options.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub async fn of_translation(
        translator: &Translator,
        text: &str,
        translation: &Translation,
        head: HeadName,
        token: &str,
        options: &TranslateOptions,
    ) -> Result<Self, ExplainError> {
        check_head(translator.transformer().config(), head)?;
        let trace = Trace::of(translator, text, translation, options, &tokens_only()).await?;
        let (sentence, query) = choice::find(&trace.sentences, head.kind, token)?;
        Self::of_sentence(translator, &trace.sentences[sentence], head, query).await
    }

    /// Explains one attention of a traced sentence. `query`: row of the attention map.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub async fn of_sentence(
        translator: &Translator,
        sentence: &TracedSentence,
        head: HeadName,
        query: usize,
    ) -> Result<Self, ExplainError> {
        let transformer = translator.transformer();
        let config = transformer.config();
        check_head(config, head)?;
        check_query(sentence, head.kind, query)?;
        let input = input_of(config, sentence, head.kind);
        if head.kind == AttentionKind::Encoder {
            let kind = config.encoder_kind(head.layer);
            if !kind.has_products(input.source_length) {
                return Err(ExplainError::Sparse { layer: head.layer, kind: kind.to_string() });
            }
        }
        let model = Anatomy::of(config);
        let places = Places::new(&model, head);
        let output = tapped(transformer, &input, places.taps()).await?;
        let seen = steps::Seen { taps: &output.taps, places: &places, model: &model, query };
        let tokenizer = translator.tokenizer();
        let piece = |id| Some(tokenizer.target_token(id)?.into_owned());
        Ok(Self::seen(&seen, sentence, piece))
    }

    fn seen(seen: &steps::Seen, sentence: &TracedSentence, piece: impl Fn(u32) -> Option<String>) -> Self {
        let head = seen.places.head;
        let tokens = tokens_of(sentence, head.kind, seen.query);
        Self {
            head,
            origin: words::origin(head.kind),
            source: sentence.source.clone(),
            target: sentence.target.clone(),
            query: tokens.query,
            produces: tokens.produces,
            keys: tokens.keys,
            sizes: Sizes::of(seen.model, head.kind),
            norm_first: seen.model.norm_first,
            steps: seen.steps(),
            candidates: seen.candidates(piece),
            missing: Vec::new(),
        }
    }

    /// A step; `None` if the model has none of the kind.
    pub fn step(&self, kind: StepKind) -> Option<&Step> {
        self.steps.iter().find(|step| step.kind == kind)
    }

    /// The values of a tap in this explanation, `weights` for example.
    pub fn numbers(&self, kind: StepKind, name: &str) -> Option<&Numbers> {
        self.step(kind)?.numbers.iter().find(|numbers| numbers.name == name)
    }
}

/// A trace of texts and tokens alone.
fn tokens_only() -> TraceOptions {
    TraceOptions { kinds: Vec::new(), scores: false, ..TraceOptions::default() }
}

/// A pass with taps. Switches may have taken parts of the model away; their taps are left out.
async fn tapped(
    transformer: &Transformer,
    input: &ForwardInput,
    mut taps: Vec<String>,
) -> Result<ForwardOutput, ForwardError> {
    loop {
        let selection = ForwardSelection { taps: taps.clone(), ..ForwardSelection::default() };
        match transformer.forward_selected(input, &selection).await {
            // an unknown tap is found before anything runs
            Err(ForwardError::Tap { name, .. }) if taps.len() > 1 => taps.retain(|tap| *tap != name),
            result => return result,
        }
    }
}

fn check_head(config: &ModelConfig, head: HeadName) -> Result<(), ExplainError> {
    if config.attention_layers(head.kind) == 0 {
        let model_type = config.family.model_type();
        return Err(ExplainError::NoAttention { kind: head.kind, model_type });
    }
    check_head_of(head.kind.stack(config), head)
}

fn check_head_of(
    &StackConfig { layers, heads, .. }: &StackConfig,
    head: HeadName,
) -> Result<(), ExplainError> {
    match head.layer < layers && head.head < heads {
        true => Ok(()),
        false => Err(ExplainError::Head { head, layers, heads }),
    }
}

fn check_query(sentence: &TracedSentence, kind: AttentionKind, query: usize) -> Result<(), ExplainError> {
    let queries = sentence.query_tokens(kind).len();
    if query < queries { Ok(()) } else { Err(ExplainError::Query { query, queries }) }
}

impl Sizes {
    fn of(model: &Anatomy, kind: AttentionKind) -> Self {
        let &StackConfig { layers, heads, d_k, d_v, ffn_width } = model.stack(kind);
        Self { d_model: model.d_model, heads, d_k, d_v, ffn_width, layers }
    }
}

/// The input of the pass: the target without its last token, which no query reads; only its start if the encoder is explained.
fn input_of(config: &ModelConfig, sentence: &TracedSentence, kind: AttentionKind) -> ForwardInput {
    let input_ids: Vec<u32> = sentence.source_tokens.iter().map(|token| token.id).collect();
    let read = if kind.queries_target() { sentence.target_tokens.len() - 1 } else { 1 };
    let target = sentence.target_tokens.iter().take(read);
    let decoder_input_ids: Vec<u32> = target.map(|token| token.token.id).collect();
    ForwardInput {
        batch: 1,
        source_length: input_ids.len(),
        target_length: decoder_input_ids.len(),
        attention_mask: vec![1; input_ids.len()],
        global_attention_mask: config.usual_global_mask(input_ids.len()),
        input_ids,
        token_type_ids: Vec::new(),
        decoder_input_ids,
    }
}

struct Tokens {
    query: ExplainedToken,
    produces: Option<ExplainedToken>,
    keys: Vec<ExplainedToken>,
}

fn tokens_of(sentence: &TracedSentence, kind: AttentionKind, query: usize) -> Tokens {
    let source = |position: usize| {
        let token = &sentence.source_tokens[position];
        ExplainedToken { position, id: token.id, label: token.label(&sentence.source) }
    };
    let target = |position: usize| {
        let token = &sentence.target_tokens[position].token;
        ExplainedToken { position, id: token.id, label: token.label(&sentence.target) }
    };
    let (query_token, produces) = match kind.queries_target() {
        true => (target(query), Some(target(query + 1))),
        false => (source(query), None),
    };
    let keys = match kind.keys_target() {
        true => (0..sentence.target_tokens.len() - 1).map(target).collect(),
        false => (0..sentence.source_tokens.len()).map(source).collect(),
    };
    Tokens { query: query_token, produces, keys }
}
