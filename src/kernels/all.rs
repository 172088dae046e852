//! The list of all kernels.

use super::{
    ByPrecision, Kernel, append_kv, append_rows, attention, attention_weights, bans, cached_attention,
    column_tokens, edits, embed, heatmap, layer_norm, linear, log_probability, log_softmax_top_k, map_blocks,
    normalized_linear, output_layer, search, selected_linear, ssru, sum_blocks, vocabulary_chunks,
};

/// Every kernel, for tests that hold them all to the rules.
pub fn all() -> impl Iterator<Item = &'static Kernel> {
    let by_precision = BY_PRECISION.into_iter().flat_map(|kernels| [&kernels.f32, &kernels.f16, &kernels.q8]);
    WITHOUT_WEIGHTS.into_iter().chain(by_precision)
}

const WITHOUT_WEIGHTS: [&Kernel; 31] = [
    &append_kv::APPEND_KV,
    &append_rows::APPEND_ROWS,
    &attention::ATTENTION,
    &attention::ATTENTION_WORKGROUP,
    &attention::ATTENTION_TILE,
    &attention_weights::ATTENTION_WEIGHTS,
    &bans::BAN_REPEATS,
    &bans::RESET_BANS,
    &cached_attention::CACHED_ATTENTION,
    &cached_attention::CACHED_ATTENTION_WORKGROUP,
    &column_tokens::COLUMN_TOKENS,
    &edits::EDIT_SCORES,
    &edits::PENALIZE_REPEATS,
    &heatmap::HEATMAP,
    &heatmap::MAP_MAXIMA,
    &heatmap::ROW_MAXIMA,
    &layer_norm::LAYER_NORM,
    &layer_norm::LAYER_NORM_WORKGROUP,
    &log_probability::LOG_PROBABILITY,
    &log_softmax_top_k::CHUNK_CANDIDATES,
    &log_softmax_top_k::TOP_K_MERGE,
    &log_softmax_top_k::TOP_K_WORKGROUP,
    &map_blocks::MAP_BLOCKS,
    &map_blocks::MAP_BLOCKS_OF_BLOCKS,
    &search::BEAM_STEP,
    &search::GREEDY_STEP,
    &search::GREEDY_STEP_WORKGROUP,
    &search::REORDER_SLOTS,
    &ssru::SSRU,
    &sum_blocks::SUM_BLOCKS,
    &vocabulary_chunks::VOCABULARY_CHUNKS,
];

const BY_PRECISION: [&ByPrecision; 12] = [
    &embed::EMBED,
    &linear::MATVEC_WIDE,
    &linear::MATVEC_4ROWS_WIDE,
    &linear::MATMUL_REGISTERS,
    &linear::MATVEC_SPLIT,
    &linear::MATVEC_4ROWS_SPLIT,
    &linear::MATMUL_TILED,
    &normalized_linear::MATVEC_SPLIT,
    &normalized_linear::MATVEC_4ROWS_SPLIT,
    &output_layer::MATVEC_SPLIT,
    &output_layer::MATVEC_4ROWS_SPLIT,
    &selected_linear::SELECTED_LINEAR,
];
