//! The tensor names of each family. A family is a table, not a separate model.

use super::checkpoint::INPUT_MULTIPLIER;
use super::config::{Family, ModelConfig};

/// The tensor names of one family; empty for tensors that it does not have.
pub(super) struct Names {
    /// Prefix of every name except the head's; absent in files of a model without its head.
    pub base: &'static str,
    /// Token embeddings shared by source and target. The first name in the file wins.
    pub shared_embedding: &'static [&'static str],
    pub source_embedding: &'static str,
    pub target_embedding: &'static str,
    pub token_types: &'static str,
    /// Output projection, if it is not the target table.
    pub output: &'static str,
    /// Output bias. The first name in the file wins; the last is the standard name.
    pub output_bias: &'static [&'static str],
    /// The linear layer before the output projection, and the norm between them.
    pub output_transform: [&'static str; 2],
    pub encoder: StackNames,
    pub decoder: StackNames,
    /// From places to names of tensors.
    pub style: Style,
    /// Whether weights of layers are stored `[inputs, outputs]` (HF `Conv1D`).
    pub transposed: bool,
    /// Ignored tensors (prefix and suffix), as in `transformers`: heads for other tasks, leftovers of older versions.
    pub unused: &'static [(&'static str, &'static str)],
}

/// The way in which a family makes names of tensors.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Style {
    /// `model.encoder.layers.0.fc1.weight`
    Dotted,
    /// Marian's: `encoder_l1_ffn_W1`. A `*` of a place stands for the `W` of a weight or the `b` of a bias.
    Marian,
}

impl Style {
    /// The place of a layer, counted from 0.
    pub fn layer(self, layers: &str, index: usize) -> String {
        match self {
            Self::Dotted => format!("{layers}.{index}"),
            Self::Marian => format!("{layers}{}", index + 1),
        }
    }

    /// The place of a part of a layer.
    pub fn place(self, layer: &str, part: &str) -> String {
        match self {
            Self::Dotted => format!("{layer}.{part}"),
            Self::Marian => format!("{layer}_{part}"),
        }
    }

    pub fn weight(self, place: &str) -> String {
        match self {
            Self::Dotted => format!("{place}.weight"),
            Self::Marian => place.replace('*', "W"),
        }
    }

    pub fn bias(self, place: &str) -> String {
        match self {
            Self::Dotted => format!("{place}.bias"),
            Self::Marian => place.replace('*', "b"),
        }
    }

    /// Scale and shift of a norm.
    pub fn norm(self, place: &str) -> [String; 2] {
        match self {
            Self::Dotted => ["weight", "bias"].map(|end| format!("{place}.{end}")),
            Self::Marian => ["scale", "bias"].map(|end| format!("{place}_ln_{end}")),
        }
    }
}

pub(super) struct StackNames {
    /// Position table; optional in the file if it can be computed.
    pub positions: &'static str,
    /// Bias by distance, `[buckets, heads]`, relative to its layer: the first, or each.
    pub distance_bias: &'static str,
    /// Bias of sums of blocks by distance in blocks, `[buckets, heads]`, relative to the first layer.
    pub block_bias: &'static str,
    /// Norm of sums of blocks.
    pub block_norm: &'static str,
    pub embedding_norm: &'static str,
    /// Prefix before the layer's number.
    pub layers: &'static str,
    pub self_attention: AttentionNames,
    /// Queries, keys and values of global tokens, if they have projections of their own.
    pub global_attention: AttentionNames,
    pub self_norm: &'static str,
    /// Learned projections of keys and values along the length, `[rank, positions]`: Wordloom's own names.
    pub length_projections: [&'static str; 2],
    /// SSRU instead of self-attention: the two maps of the input; only the second has a bias.
    pub ssru: [&'static str; 2],
    pub ssru_norm: &'static str,
    pub cross_attention: AttentionNames,
    pub cross_norm: &'static str,
    pub up: &'static str,
    /// Gated layers, instead of `up`: the activated map, and the map that it gates.
    pub gated_up: [&'static str; 2],
    pub down: &'static str,
    pub feed_forward_norm: &'static str,
    /// Final norm after the last layer, if any.
    pub final_norm: &'static str,
}

/// The projections of one attention block, relative to its layer.
#[derive(Clone, Copy)]
pub(super) struct AttentionNames {
    pub inputs: InputNames,
    pub output: &'static str,
}

#[derive(Clone, Copy)]
pub(super) enum InputNames {
    /// Queries, keys and values, each with `.weight` and `.bias`.
    Separate([&'static str; 3]),
    /// Weight and bias of queries, keys and values in this order.
    Fused([&'static str; 2]),
}

const NO_ATTENTION: AttentionNames = AttentionNames { inputs: InputNames::Separate([""; 3]), output: "" };

const NO_STACK: StackNames = StackNames {
    positions: "",
    distance_bias: "",
    block_bias: "",
    block_norm: "",
    embedding_norm: "",
    layers: "",
    self_attention: NO_ATTENTION,
    global_attention: NO_ATTENTION,
    self_norm: "",
    length_projections: [""; 2],
    ssru: [""; 2],
    ssru_norm: "",
    cross_attention: NO_ATTENTION,
    cross_norm: "",
    up: "",
    gated_up: [""; 2],
    down: "",
    feed_forward_norm: "",
    final_norm: "",
};

impl Names {
    pub fn of(config: &ModelConfig) -> &'static Self {
        match config.family {
            Family::Marian | Family::Bart | Family::MBart | Family::M2m100 | Family::Pegasus => &BART,
            Family::BigBirdPegasus => &BIGBIRD_PEGASUS,
            Family::Vanilla => &VANILLA,
            Family::Led => &LED,
            Family::LongT5 if config.block_tokens.is_some() => &LONG_T5_GLOBAL,
            Family::LongT5 => &LONG_T5,
            Family::T5 | Family::MT5 | Family::UMT5 => &T5,
            Family::Bert => &BERT,
            Family::Roberta | Family::XlmRoberta => &ROBERTA,
            Family::DistilBert => &DISTILBERT,
            Family::Gpt2 => &GPT2,
            Family::Firefox => &FIREFOX,
        }
    }
}

impl Names {
    /// The learned projections of an encoder layer, of keys and of values.
    pub fn length_projections(&self, layer: usize) -> [String; 2] {
        let place = self.style.layer(self.encoder.layers, layer);
        self.encoder.length_projections.map(|part| self.style.place(&place, part))
    }

    /// The embedding tables: one row per token, position or token type.
    pub fn tables(&self) -> Vec<&'static str> {
        let ends = [self.source_embedding, self.target_embedding, self.token_types, self.output];
        let positions = [self.encoder.positions, self.decoder.positions];
        self.shared_embedding.iter().copied().chain(ends).chain(positions).collect()
    }
}

/// BART and its relatives: HF `MarianMTModel`, `BartForConditionalGeneration`, `MBartForConditionalGeneration`,
/// `M2M100ForConditionalGeneration`, `PegasusForConditionalGeneration`.
const BART: Names = Names {
    base: "model.",
    shared_embedding: &[
        "model.shared.weight",
        "model.encoder.embed_tokens.weight",
        "model.decoder.embed_tokens.weight",
        "lm_head.weight",
    ],
    source_embedding: "model.encoder.embed_tokens.weight",
    target_embedding: "model.decoder.embed_tokens.weight",
    token_types: "",
    output: "lm_head.weight",
    output_bias: &["final_logits_bias"],
    output_transform: [""; 2],
    encoder: StackNames {
        positions: "model.encoder.embed_positions.weight",
        embedding_norm: "model.encoder.layernorm_embedding",
        layers: "model.encoder.layers",
        final_norm: "model.encoder.layer_norm",
        ..BART_STACK
    },
    decoder: StackNames {
        positions: "model.decoder.embed_positions.weight",
        embedding_norm: "model.decoder.layernorm_embedding",
        layers: "model.decoder.layers",
        cross_attention: separate(
            ["encoder_attn.q_proj", "encoder_attn.k_proj", "encoder_attn.v_proj"],
            "encoder_attn.out_proj",
        ),
        cross_norm: "encoder_attn_layer_norm",
        final_norm: "model.decoder.layer_norm",
        ..BART_STACK
    },
    style: Style::Dotted,
    transposed: false,
    unused: &[
        ("model.encoder.version", ""),
        ("model.decoder.version", ""),
        // M2M-100's sinusoids, which its class always computes
        ("model.encoder.embed_positions.weights", ""),
        ("model.decoder.embed_positions.weights", ""),
    ],
};

const LENGTH_PROJECTIONS: [&str; 2] = ["self_attn.linformer_keys", "self_attn.linformer_values"];

const BART_STACK: StackNames = StackNames {
    self_attention: separate(
        ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
        "self_attn.out_proj",
    ),
    self_norm: "self_attn_layer_norm",
    length_projections: LENGTH_PROJECTIONS,
    up: "fc1",
    down: "fc2",
    feed_forward_norm: "final_layer_norm",
    ..NO_STACK
};

/// HF `LEDForConditionalGeneration`.
static LED: Names = Names {
    base: "led.",
    shared_embedding: &[
        "led.shared.weight",
        "led.encoder.embed_tokens.weight",
        "led.decoder.embed_tokens.weight",
        "lm_head.weight",
    ],
    source_embedding: "led.encoder.embed_tokens.weight",
    target_embedding: "led.decoder.embed_tokens.weight",
    encoder: StackNames {
        positions: "led.encoder.embed_positions.weight",
        embedding_norm: "led.encoder.layernorm_embedding",
        layers: "led.encoder.layers",
        self_attention: separate(
            [
                "self_attn.longformer_self_attn.query",
                "self_attn.longformer_self_attn.key",
                "self_attn.longformer_self_attn.value",
            ],
            "self_attn.output",
        ),
        global_attention: separate(
            [
                "self_attn.longformer_self_attn.query_global",
                "self_attn.longformer_self_attn.key_global",
                "self_attn.longformer_self_attn.value_global",
            ],
            "",
        ),
        ..BART_STACK
    },
    decoder: StackNames {
        positions: "led.decoder.embed_positions.weight",
        embedding_norm: "led.decoder.layernorm_embedding",
        layers: "led.decoder.layers",
        ..BART.decoder
    },
    unused: &[],
    ..BART
};

/// HF `BigBirdPegasusForConditionalGeneration`, whose `layernorm_embedding` is the norm after the last layer.
static BIGBIRD_PEGASUS: Names = Names {
    encoder: StackNames {
        self_attention: separate(
            ["self_attn.self.query", "self_attn.self.key", "self_attn.self.value"],
            "self_attn.output",
        ),
        final_norm: "model.encoder.layernorm_embedding",
        ..BART.encoder
    },
    decoder: StackNames { final_norm: "model.decoder.layernorm_embedding", ..BART.decoder },
    unused: &[],
    ..BART
};

/// The paper's model with `torch.nn.Transformer`'s names.
static VANILLA: Names = Names {
    base: "",
    shared_embedding: &["embed.weight"],
    source_embedding: "embed.weight",
    target_embedding: "embed.weight",
    token_types: "",
    output: "generator.weight",
    output_bias: &["generator.bias"],
    output_transform: [""; 2],
    encoder: StackNames {
        positions: "source_positions.weight",
        layers: "transformer.encoder.layers",
        feed_forward_norm: "norm2",
        final_norm: "transformer.encoder.norm",
        ..VANILLA_STACK
    },
    decoder: StackNames {
        positions: "target_positions.weight",
        layers: "transformer.decoder.layers",
        cross_attention: fused(
            ["multihead_attn.in_proj_weight", "multihead_attn.in_proj_bias"],
            "multihead_attn.out_proj",
        ),
        cross_norm: "norm2",
        feed_forward_norm: "norm3",
        final_norm: "transformer.decoder.norm",
        ..VANILLA_STACK
    },
    style: Style::Dotted,
    transposed: false,
    unused: &[],
};

const VANILLA_STACK: StackNames = StackNames {
    self_attention: fused(["self_attn.in_proj_weight", "self_attn.in_proj_bias"], "self_attn.out_proj"),
    self_norm: "norm1",
    length_projections: LENGTH_PROJECTIONS,
    up: "linear1",
    down: "linear2",
    ..NO_STACK
};

/// HF `T5ForConditionalGeneration`.
const T5: Names = Names {
    base: "",
    shared_embedding: &[
        "shared.weight",
        "encoder.embed_tokens.weight",
        "decoder.embed_tokens.weight",
        "lm_head.weight",
    ],
    source_embedding: "encoder.embed_tokens.weight",
    target_embedding: "decoder.embed_tokens.weight",
    token_types: "",
    output: "lm_head.weight",
    output_bias: &[],
    output_transform: [""; 2],
    encoder: StackNames {
        layers: "encoder.block",
        up: "layer.1.DenseReluDense.wi",
        gated_up: ["layer.1.DenseReluDense.wi_0", "layer.1.DenseReluDense.wi_1"],
        down: "layer.1.DenseReluDense.wo",
        feed_forward_norm: "layer.1.layer_norm",
        final_norm: "encoder.final_layer_norm",
        ..T5_STACK
    },
    decoder: StackNames {
        layers: "decoder.block",
        cross_attention: separate(
            ["layer.1.EncDecAttention.q", "layer.1.EncDecAttention.k", "layer.1.EncDecAttention.v"],
            "layer.1.EncDecAttention.o",
        ),
        cross_norm: "layer.1.layer_norm",
        up: "layer.2.DenseReluDense.wi",
        gated_up: ["layer.2.DenseReluDense.wi_0", "layer.2.DenseReluDense.wi_1"],
        down: "layer.2.DenseReluDense.wo",
        feed_forward_norm: "layer.2.layer_norm",
        final_norm: "decoder.final_layer_norm",
        ..T5_STACK
    },
    style: Style::Dotted,
    transposed: false,
    // the first T5 models stored an unused bias for cross-attention
    unused: &[("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight", "")],
};

const T5_STACK: StackNames = StackNames {
    distance_bias: "layer.0.SelfAttention.relative_attention_bias",
    self_attention: separate(
        ["layer.0.SelfAttention.q", "layer.0.SelfAttention.k", "layer.0.SelfAttention.v"],
        "layer.0.SelfAttention.o",
    ),
    self_norm: "layer.0.layer_norm",
    ..NO_STACK
};

/// HF `LongT5ForConditionalGeneration` with `encoder_attention_type: local`.
static LONG_T5: Names = Names {
    encoder: StackNames {
        distance_bias: "layer.0.LocalSelfAttention.relative_attention_bias",
        self_attention: separate(
            ["layer.0.LocalSelfAttention.q", "layer.0.LocalSelfAttention.k", "layer.0.LocalSelfAttention.v"],
            "layer.0.LocalSelfAttention.o",
        ),
        ..T5.encoder
    },
    ..T5
};

/// HF `LongT5ForConditionalGeneration` with `encoder_attention_type: transient-global`.
static LONG_T5_GLOBAL: Names = Names {
    encoder: StackNames {
        distance_bias: "layer.0.TransientGlobalSelfAttention.relative_attention_bias",
        block_bias: "layer.0.TransientGlobalSelfAttention.global_relative_attention_bias",
        block_norm: "layer.0.TransientGlobalSelfAttention.global_input_layer_norm",
        self_attention: separate(
            [
                "layer.0.TransientGlobalSelfAttention.q",
                "layer.0.TransientGlobalSelfAttention.k",
                "layer.0.TransientGlobalSelfAttention.v",
            ],
            "layer.0.TransientGlobalSelfAttention.o",
        ),
        ..T5.encoder
    },
    ..T5
};

/// HF `BertForMaskedLM`.
static BERT: Names = Names {
    base: "bert.",
    shared_embedding: &["bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"],
    source_embedding: "bert.embeddings.word_embeddings.weight",
    target_embedding: "bert.embeddings.word_embeddings.weight",
    token_types: "bert.embeddings.token_type_embeddings.weight",
    output: "cls.predictions.decoder.weight",
    output_bias: &["cls.predictions.decoder.bias", "cls.predictions.bias"],
    output_transform: ["cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm"],
    encoder: StackNames {
        positions: "bert.embeddings.position_embeddings.weight",
        embedding_norm: "bert.embeddings.LayerNorm",
        layers: "bert.encoder.layer",
        ..BERT_STACK
    },
    decoder: NO_STACK,
    style: Style::Dotted,
    transposed: false,
    unused: &[
        ("bert.pooler.", ""),
        ("cls.seq_relationship.", ""),
        ("bert.embeddings.position_ids", ""),
        ("bert.embeddings.token_type_ids", ""),
    ],
};

const BERT_STACK: StackNames = StackNames {
    self_attention: separate(
        ["attention.self.query", "attention.self.key", "attention.self.value"],
        "attention.output.dense",
    ),
    self_norm: "attention.output.LayerNorm",
    up: "intermediate.dense",
    down: "output.dense",
    feed_forward_norm: "output.LayerNorm",
    ..NO_STACK
};

/// HF `RobertaForMaskedLM`, `XLMRobertaForMaskedLM`.
static ROBERTA: Names = Names {
    base: "roberta.",
    style: Style::Dotted,
    shared_embedding: &["roberta.embeddings.word_embeddings.weight", "lm_head.decoder.weight"],
    source_embedding: "roberta.embeddings.word_embeddings.weight",
    target_embedding: "roberta.embeddings.word_embeddings.weight",
    token_types: "roberta.embeddings.token_type_embeddings.weight",
    output: "lm_head.decoder.weight",
    output_bias: &["lm_head.decoder.bias", "lm_head.bias"],
    output_transform: ["lm_head.dense", "lm_head.layer_norm"],
    encoder: StackNames {
        positions: "roberta.embeddings.position_embeddings.weight",
        embedding_norm: "roberta.embeddings.LayerNorm",
        layers: "roberta.encoder.layer",
        ..BERT_STACK
    },
    decoder: NO_STACK,
    transposed: false,
    unused: &[
        ("roberta.pooler.", ""),
        ("roberta.embeddings.position_ids", ""),
        ("roberta.embeddings.token_type_ids", ""),
    ],
};

/// HF `DistilBertForMaskedLM`.
static DISTILBERT: Names = Names {
    base: "distilbert.",
    style: Style::Dotted,
    shared_embedding: &["distilbert.embeddings.word_embeddings.weight", "vocab_projector.weight"],
    source_embedding: "distilbert.embeddings.word_embeddings.weight",
    target_embedding: "distilbert.embeddings.word_embeddings.weight",
    token_types: "",
    output: "vocab_projector.weight",
    output_bias: &["vocab_projector.bias"],
    output_transform: ["vocab_transform", "vocab_layer_norm"],
    encoder: StackNames {
        positions: "distilbert.embeddings.position_embeddings.weight",
        embedding_norm: "distilbert.embeddings.LayerNorm",
        layers: "distilbert.transformer.layer",
        self_attention: separate(
            ["attention.q_lin", "attention.k_lin", "attention.v_lin"],
            "attention.out_lin",
        ),
        self_norm: "sa_layer_norm",
        up: "ffn.lin1",
        down: "ffn.lin2",
        feed_forward_norm: "output_layer_norm",
        ..NO_STACK
    },
    decoder: NO_STACK,
    transposed: false,
    unused: &[("distilbert.embeddings.position_ids", "")],
};

/// HF `GPT2LMHeadModel`.
static GPT2: Names = Names {
    base: "transformer.",
    shared_embedding: &["transformer.wte.weight", "lm_head.weight"],
    source_embedding: "transformer.wte.weight",
    target_embedding: "transformer.wte.weight",
    token_types: "",
    output: "lm_head.weight",
    output_bias: &[],
    output_transform: [""; 2],
    encoder: NO_STACK,
    decoder: StackNames {
        positions: "transformer.wpe.weight",
        layers: "transformer.h",
        self_attention: fused(["attn.c_attn.weight", "attn.c_attn.bias"], "attn.c_proj"),
        self_norm: "ln_1",
        up: "mlp.c_fc",
        down: "mlp.c_proj",
        feed_forward_norm: "ln_2",
        final_norm: "transformer.ln_f",
        ..NO_STACK
    },
    style: Style::Dotted,
    transposed: true,
    // causal masks
    unused: &[("transformer.h.", ".attn.bias"), ("transformer.h.", ".attn.masked_bias")],
};

/// Marian's own names, as its Transformer (`models/transformer.h`) makes them.
static FIREFOX: Names = Names {
    base: "",
    shared_embedding: &["Wemb"],
    source_embedding: "encoder_Wemb",
    target_embedding: "decoder_Wemb",
    token_types: "",
    output: "decoder_ff_logit_out_Wt",
    output_bias: &["decoder_ff_logit_out_b"],
    output_transform: [""; 2],
    encoder: StackNames { layers: "encoder_l", ..FIREFOX_STACK },
    decoder: StackNames {
        layers: "decoder_l",
        ssru: ["rnn_*", "rnn_*f"],
        ssru_norm: "rnn_ffn",
        cross_attention: separate(["context_*q", "context_*k", "context_*v"], "context_*o"),
        cross_norm: "context_Wo",
        ..FIREFOX_STACK
    },
    style: Style::Marian,
    transposed: true,
    // scales of inputs, which belong to their matrices
    unused: &[("", INPUT_MULTIPLIER)],
};

const FIREFOX_STACK: StackNames = StackNames {
    self_attention: separate(["self_*q", "self_*k", "self_*v"], "self_*o"),
    self_norm: "self_Wo",
    up: "ffn_*1",
    down: "ffn_*2",
    feed_forward_norm: "ffn_ffn",
    ..NO_STACK
};

const fn separate(inputs: [&'static str; 3], output: &'static str) -> AttentionNames {
    AttentionNames { inputs: InputNames::Separate(inputs), output }
}

const fn fused(inputs: [&'static str; 2], output: &'static str) -> AttentionNames {
    AttentionNames { inputs: InputNames::Fused(inputs), output }
}
