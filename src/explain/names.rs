//! The taps of one attention.

use crate::model::config::NormKind;
use crate::model::{AttentionKind, HeadName};
use crate::trace::Anatomy;

/// The places of an explained head in its model.
pub(super) struct Places {
    pub head: HeadName,
    /// `encoder` or `decoder`.
    pub stack: &'static str,
    /// Place of the attention, `decoder.3.cross`.
    pub attention: String,
    /// Place of the feed-forward network of the same layer.
    pub feed_forward: String,
    /// Whether the layer is its stack's last.
    pub is_last: bool,
    /// Parts of the model's norms.
    norm: &'static [&'static str],
    has_positions: bool,
    has_tokens: bool,
    embedding_norm: bool,
    final_norm: bool,
}

impl Places {
    pub fn new(model: &Anatomy, head: HeadName) -> Self {
        let HeadName { kind, layer, .. } = head;
        let (stack, block) = match kind {
            AttentionKind::Encoder => ("encoder", "self"),
            AttentionKind::Decoder => ("decoder", "self"),
            AttentionKind::Cross => ("decoder", "cross"),
        };
        let is_source = kind == AttentionKind::Encoder;
        let relative = if is_source { model.relative_source_positions } else { model.relative_positions };
        Self {
            head,
            stack,
            attention: format!("{stack}.{layer}.{block}"),
            feed_forward: format!("{stack}.{layer}.feed_forward"),
            is_last: layer + 1 == model.stack(kind).layers,
            norm: match model.norm {
                NormKind::Layer => &["mean", "variance", "scale", "shift", "output"],
                NormKind::Batch => &["scale", "shift", "output"],
                NormKind::Rms => &["mean_square", "scale", "output"],
            },
            has_positions: !relative,
            has_tokens: is_source || !model.zero_start,
            embedding_norm: model.embedding_norm,
            final_norm: model.final_norm,
        }
    }

    pub fn norm_parts(&self) -> &'static [&'static str] {
        self.norm
    }

    pub fn embedding(&self) -> Vec<String> {
        let mut points = Vec::new();
        points.extend(self.has_tokens.then_some("token"));
        points.extend(self.has_positions.then_some("position"));
        points.push("sum");
        points.extend(self.embedding_norm.then_some("norm.output"));
        points.into_iter().map(|point| format!("{}.embedding.{point}", self.stack)).collect()
    }

    /// The final norm's, and the end of the stack.
    pub fn end(&self) -> Vec<String> {
        if !self.is_last {
            return Vec::new();
        }
        let norm = if self.final_norm { self.norm } else { &[] };
        let mut names: Vec<String> = norm.iter().map(|part| format!("{}.norm.{part}", self.stack)).collect();
        names.push(format!("{}.output", self.stack));
        names
    }

    /// Whether the model's output follows.
    pub fn has_logits(&self) -> bool {
        self.is_last && self.head.kind != AttentionKind::Encoder
    }

    /// Names of all taps.
    pub fn taps(&self) -> Vec<String> {
        const ATTENTION: [&str; 11] = [
            "input",
            "queries",
            "keys",
            "products",
            "scores",
            "masked_scores",
            "weights",
            "values",
            "context",
            "output",
            "residual",
        ];
        let attention = ATTENTION.map(|point| format!("{}.{point}", self.attention));
        let inner = ["inner", "output", "residual"].map(|point| format!("{}.{point}", self.feed_forward));
        let norms = [&self.attention, &self.feed_forward]
            .into_iter()
            .flat_map(|place| self.norm.iter().map(move |part| format!("{place}.norm.{part}")));
        let mut names = self.embedding();
        names.extend(attention.into_iter().chain(inner).chain(norms));
        names.extend(self.end());
        names.extend(self.has_logits().then(|| "logits".to_owned()));
        names
    }
}
