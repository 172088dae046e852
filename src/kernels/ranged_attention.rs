//! Attention over ranges of rows, and its gradients. All sentences of a batch are rows of one value, one after the other,
//! and each query sees a range of the keys' rows; a causal mask is a range too. A query without keys has the context 0.
//!
//! Gradients follow Dao et al. 2022, "FlashAttention", appendix B: scores are computed again, from the logarithm of each
//! row's sum of exponentials.

use super::dropout::Dropout;
use super::{Access, Dispatch, Kernel, fold, stride};

/// The shader of a kernel with the helpers of all of them.
macro_rules! ranged_wgsl {
    ($kernel:literal $(+ $helper:literal)*) => {
        wgsl!($kernel $(+ $helper)* + "ranged_attention" + "distance_bias" + "random_words" + "philox" + "masked" + "grid")
    };
}

const GRADIENT_STORAGE: &[Access] = &[
    Access::Read,
    Access::Read,
    Access::Read,
    Access::Read,
    Access::Read,
    Access::Read,
    Access::Read,
    Access::Write,
];

/// One workgroup per 16 queries and head.
pub static RANGED_ATTENTION: Kernel = Kernel {
    name: "ranged_attention",
    wgsl: ranged_wgsl!("ranged_attention"),
    storage: &[
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Write,
        Access::Write,
    ],
    params: RangedAttentionParams::FIELDS,
};

/// One invocation per element.
pub static RANGED_ATTENTION_STATISTICS: Kernel = Kernel {
    name: "ranged_attention_statistics",
    wgsl: wgsl!("ranged_attention_statistics" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Write],
    params: RangedAttentionStatisticsParams::FIELDS,
};

/// One workgroup per 16 queries and head.
pub static RANGED_ATTENTION_QUERY_GRADIENT: Kernel = Kernel {
    name: "ranged_attention_query_gradient",
    wgsl: ranged_wgsl!(
        "ranged_attention_query_gradient" + "ranged_attention_tile" + "ranged_attention_gradient"
    ),
    storage: GRADIENT_STORAGE,
    params: RangedAttentionParams::FIELDS,
};

/// One workgroup per 16 keys and head.
pub static RANGED_ATTENTION_KEY_GRADIENT: Kernel = Kernel {
    name: "ranged_attention_key_gradient",
    wgsl: ranged_wgsl!(
        "ranged_attention_key_gradient" + "ranged_attention_tile" + "ranged_attention_gradient"
    ),
    storage: GRADIENT_STORAGE,
    params: RangedAttentionParams::FIELDS,
};

/// One workgroup per element of the bias.
pub static RANGED_ATTENTION_BIAS_GRADIENT: Kernel = Kernel {
    name: "ranged_attention_bias_gradient",
    wgsl: ranged_wgsl!("ranged_attention_bias_gradient" + "ranged_attention_gradient" + "reduce"),
    storage: GRADIENT_STORAGE,
    params: RangedAttentionParams::FIELDS,
};

params! {
    /// Group 1 of all but the statistics. Strides and columns in elements.
    pub struct RangedAttentionParams {
        /// Rows of the queries.
        pub q_rows: u32,
        /// Rows of the keys and values.
        pub key_rows: u32,
        /// Heads.
        pub heads: u32,
        /// Row stride of the queries' value.
        pub q_stride: u32,
        /// First column of the queries.
        pub q_first: u32,
        /// Row stride of the keys' and values' value.
        pub kv_stride: u32,
        /// First column of the keys.
        pub k_first: u32,
        /// First column of the values.
        pub v_first: u32,
        /// Factor of the scores.
        pub scale: f32,
        /// Reach of the distance bias; 0 for none.
        pub reach: u32,
        /// Width of the value that a gradient is written to, without padding.
        pub width: u32,
        /// Place of the dropout in the model.
        pub place: u32,
        /// Random words below it drop a weight.
        pub threshold: u32,
        /// Factor of kept weights.
        pub factor: f32,
    }
}

params! {
    /// Group 1 of `ranged_attention_statistics.wgsl`.
    pub struct RangedAttentionStatisticsParams {
        /// Rows of the queries.
        pub rows: u32,
        /// Heads.
        pub heads: u32,
        /// Width of a value of one head.
        pub d_value: u32,
    }
}

/// Maximum width of a query, a key or a value of one head.
pub const MAX_HEAD: usize = 128;

/// Queries or keys of a workgroup.
const TILE: usize = 16;

/// Shape and switches of an attention over ranges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangedAttentionShape {
    /// Rows of the queries.
    pub q_rows: usize,
    /// Rows of the keys and values.
    pub key_rows: usize,
    /// Heads.
    pub heads: usize,
    /// Width of a query and of a key of one head, at most [`MAX_HEAD`].
    pub d_head: usize,
    /// Width of a value of one head, at most [`MAX_HEAD`].
    pub d_value: usize,
    /// Width of the queries' value; with a fused projection, more than that of the queries.
    pub q_width: usize,
    /// First column of the queries.
    pub q_first: usize,
    /// Width of the value that keys and values are in.
    pub kv_width: usize,
    /// First column of the keys.
    pub k_first: usize,
    /// First column of the values.
    pub v_first: usize,
    /// Factor of the scores: 1 / √d_head, or 1.
    pub scale: f32,
    /// Reach of the distance bias, if any.
    pub reach: Option<usize>,
    /// Dropout of the attention weights, if any.
    pub dropout: Option<Dropout>,
}

impl RangedAttentionShape {
    fn launch(&self, kernel: &'static Kernel, width: usize, workgroups: usize) -> Dispatch {
        let longest = self.d_head.max(self.d_value);
        assert!((1..=MAX_HEAD).contains(&longest), "heads of {longest} elements");
        let params = RangedAttentionParams {
            q_rows: self.q_rows as u32,
            key_rows: self.key_rows as u32,
            heads: self.heads as u32,
            q_stride: stride(self.q_width) as u32,
            q_first: self.q_first as u32,
            kv_stride: stride(self.kv_width) as u32,
            k_first: self.k_first as u32,
            v_first: self.v_first as u32,
            scale: self.scale,
            reach: self.reach.unwrap_or(0) as u32,
            width: width as u32,
            place: self.dropout.map_or(0, |dropout| dropout.place),
            threshold: self.dropout.map_or(0, |dropout| dropout.threshold()),
            factor: self.dropout.map_or(1.0, |dropout| dropout.factor()),
        };
        let starts = [self.q_first, self.k_first, self.v_first, self.d_head, self.d_value];
        let constants = vec![
            ("D_HEAD", self.d_head as f64),
            ("D_VALUE", self.d_value as f64),
            ("ALIGNED", f64::from(starts.iter().all(|n| n.is_multiple_of(4)))),
            ("HAS_DISTANCE_BIAS", f64::from(self.reach.is_some())),
            ("DROPOUT", f64::from(self.dropout.is_some())),
        ];
        Dispatch::new(kernel, constants, &params, fold(workgroups, 1))
    }
}

/// Computes the context, and for each query and head the logarithm of the sum of exponentials of its scores (0 without
/// keys).
///
/// * storage: Q `[q_rows, q_width]`, KV `[key_rows, kv_width]`, key ranges u32 `[q_rows, 2]` (first row, end), distance
///   bias `[2 * reach + 1, heads]` (row `clamp(key − query, −reach, reach) + reach`), step state u32, context `[q_rows,
///   heads * d_value]`, row statistics `[q_rows, heads]`
/// * Q and KV can be the same buffer. Any buffer but the last two can be bound for a bias or a step state that is not
///   there.
/// * dropout: the weight of a query, key and head is element `(query * key_rows + key) * heads + head`
pub fn dispatch(shape: &RangedAttentionShape) -> Dispatch {
    shape.launch(&RANGED_ATTENTION, 0, shape.q_rows.div_ceil(TILE) * shape.heads)
}

/// Gathers what the gradients need: the row statistics, then Σ dcontext ⊙ context of each head.
///
/// * storage: row statistics `[q_rows, heads]`, context, dcontext `[q_rows, heads * d_value]`, statistics `[q_rows, 2 *
///   heads]`
pub fn statistics_dispatch(shape: &RangedAttentionShape) -> Dispatch {
    let params = RangedAttentionStatisticsParams {
        rows: shape.q_rows as u32,
        heads: shape.heads as u32,
        d_value: shape.d_value as u32,
    };
    let workgroups = fold(shape.q_rows * stride(2 * shape.heads), 64);
    Dispatch::new(&RANGED_ATTENTION_STATISTICS, Vec::new(), &params, workgroups)
}

/// The gradient of the queries, into their columns; other columns stay, and padding becomes zero.
///
/// * storage: Q, KV, key ranges, distance bias (as in [`dispatch`]), statistics `[q_rows, 2 * heads]`, dcontext `[q_rows,
///   heads * d_value]`, step state u32, Q gradient `[q_rows, q_width]`
pub fn query_gradient_dispatch(shape: &RangedAttentionShape) -> Dispatch {
    let workgroups = shape.q_rows.div_ceil(TILE) * shape.heads;
    shape.launch(&RANGED_ATTENTION_QUERY_GRADIENT, shape.q_width, workgroups)
}

/// The gradients of keys and values, into their columns; other columns stay, and padding becomes zero.
///
/// * storage: Q, KV, query ranges u32 `[key_rows, 2]` (first row and end of the queries that see a key: row q is in the
///   range of key k if and only if k is in that of q), distance bias, statistics `[q_rows, 2 * heads]`, dcontext
///   `[q_rows, heads * d_value]`, step state u32, KV gradient `[key_rows, kv_width]`
pub fn key_gradient_dispatch(shape: &RangedAttentionShape) -> Dispatch {
    let workgroups = shape.key_rows.div_ceil(TILE) * shape.heads;
    shape.launch(&RANGED_ATTENTION_KEY_GRADIENT, shape.kv_width, workgroups)
}

/// Adds the gradient of the distance bias.
///
/// * storage: Q, KV, key ranges, distance bias, statistics `[q_rows, 2 * heads]`, dcontext `[q_rows, heads * d_value]`,
///   step state u32, bias gradient `[2 * reach + 1, heads]`
pub fn bias_gradient_dispatch(shape: &RangedAttentionShape) -> Dispatch {
    let bias_rows = 2 * shape.reach.unwrap_or(0) + 1;
    shape.launch(&RANGED_ATTENTION_BIAS_GRADIENT, 0, bias_rows * shape.heads)
}
