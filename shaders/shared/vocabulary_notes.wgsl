// Parameters and bindings of the kernels that note the best tokens of a row's chunks; each binds `logits` in its own way.
override KEEPS_SUMS: bool = false;  // whether maximum and sum stay those of the unedited logits

struct Params {
    rows: u32,
    vocabulary: u32,
    logits_stride: u32,
    chunks: u32,         // per row
    chunk_step: u32,     // distance of neighbouring chunks' first tokens
    token_step: u32,     // distance of neighbouring tokens of a chunk
    reach: u32,          // distance from a chunk's first token to its end
    ban_words: u32,      // words per list
    beams: u32,          // rows per sentence
    block: u32,          // words per sentence in `search`
}

@group(0) @binding(1) var<storage, read>       bans: array<u32>;    // see shared/bans.wgsl
@group(0) @binding(2) var<storage, read>       search: array<u32>;  // see shared/search.wgsl
@group(0) @binding(3) var<storage, read_write> chunks: array<u32>;  // [rows, chunks, 4]: best, its token, maximum, sum
@group(1) @binding(0) var<uniform> p: Params;
