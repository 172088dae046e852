//! What each family calls its tensors. A family is a table here, not a model of its own.

use super::config::Family;

/// The tensor names of one family.
pub(super) struct Names {
    /// Shared table, where source and target share one. The first name that the file has is taken.
    pub shared_embedding: &'static [&'static str],
    pub source_embedding: &'static str,
    pub target_embedding: &'static str,
    /// Output projection, where it is not the target table.
    pub output: &'static str,
    pub output_bias: &'static str,
    /// Position tables, which older files store; others leave them to be computed.
    pub encoder_positions: &'static str,
    pub decoder_positions: &'static str,
    pub encoder: StackNames,
    pub decoder: StackNames,
}

/// The names in one stack of layers.
pub(super) struct StackNames {
    /// Stands before the layer's number.
    pub layers: &'static str,
    pub self_attention: AttentionNames,
    pub self_norm: &'static str,
    pub cross_attention: AttentionNames,
    pub cross_norm: &'static str,
    pub up: &'static str,
    pub down: &'static str,
    pub feed_forward_norm: &'static str,
    /// After the last layer, in models that have it.
    pub final_norm: &'static str,
}

/// The projections of one attention block, below its layer.
#[derive(Clone, Copy)]
pub(super) enum AttentionNames {
    /// `PREFIX.q_proj.weight`, `PREFIX.k_proj.weight`, `PREFIX.v_proj.weight`, each with a bias.
    Separate(&'static str),
    /// `PREFIX.in_proj_weight` and `PREFIX.in_proj_bias`: queries, keys, values in this order (`torch.nn`).
    Fused(&'static str),
}

impl Names {
    pub fn of(family: Family) -> &'static Self {
        match family {
            Family::Marian => &MARIAN,
            Family::Vanilla => &VANILLA,
        }
    }
}

/// HF `MarianMTModel`.
static MARIAN: Names = Names {
    shared_embedding: &[
        "model.shared.weight",
        "model.encoder.embed_tokens.weight",
        "model.decoder.embed_tokens.weight",
        "lm_head.weight",
    ],
    source_embedding: "model.encoder.embed_tokens.weight",
    target_embedding: "model.decoder.embed_tokens.weight",
    output: "lm_head.weight",
    output_bias: "final_logits_bias",
    encoder_positions: "model.encoder.embed_positions.weight",
    decoder_positions: "model.decoder.embed_positions.weight",
    encoder: marian_stack("model.encoder.layers"),
    decoder: marian_stack("model.decoder.layers"),
};

const fn marian_stack(layers: &'static str) -> StackNames {
    StackNames {
        layers,
        self_attention: AttentionNames::Separate("self_attn"),
        self_norm: "self_attn_layer_norm",
        cross_attention: AttentionNames::Separate("encoder_attn"),
        cross_norm: "encoder_attn_layer_norm",
        up: "fc1",
        down: "fc2",
        feed_forward_norm: "final_layer_norm",
        final_norm: "", // post-norm without a final one
    }
}

/// The paper's model on `torch.nn.Transformer`'s names.
static VANILLA: Names = Names {
    shared_embedding: &["embed.weight"],
    source_embedding: "embed.weight",
    target_embedding: "embed.weight",
    output: "generator.weight",
    output_bias: "generator.bias",
    encoder_positions: "", // never stored
    decoder_positions: "",
    encoder: StackNames {
        layers: "transformer.encoder.layers",
        self_attention: AttentionNames::Fused("self_attn"),
        self_norm: "norm1",
        cross_attention: AttentionNames::Fused("multihead_attn"),
        cross_norm: "", // encoders have none
        up: "linear1",
        down: "linear2",
        feed_forward_norm: "norm2",
        final_norm: "transformer.encoder.norm",
    },
    decoder: StackNames {
        layers: "transformer.decoder.layers",
        self_attention: AttentionNames::Fused("self_attn"),
        self_norm: "norm1",
        cross_attention: AttentionNames::Fused("multihead_attn"),
        cross_norm: "norm2",
        up: "linear1",
        down: "linear2",
        feed_forward_norm: "norm3",
        final_norm: "transformer.decoder.norm",
    },
};
