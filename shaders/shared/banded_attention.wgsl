// Attention to the keys of a band and to side keys: parameters, inputs, and the score of a query and a column. Columns
// are a sentence's side keys, then the keys of a band.
// uses: shared/masked.wgsl
override D_HEAD: u32 = 64u;      // of queries and keys
override D_VALUE: u32 = 64u;     // of values
override ALIGNED: bool = false;  // heads start at multiples of four elements, and are as long
override HAS_BIAS: bool = false;
override HAS_SIDES: bool = false;
override HAS_COPIES: bool = false;  // the first side keys of a sentence count several times

struct Params {
    batch: u32,
    heads: u32,
    length: u32,        // queries of a sentence, and keys
    q_stride: u32,      // row stride
    q_first: u32,       // first column of the queries
    kv_stride: u32,
    k_first: u32,
    v_first: u32,
    side_stride: u32,
    side_k_first: u32,
    side_v_first: u32,
    most_sides: u32,    // room for a sentence's side keys
    block: u32,         // positions of a block; 1 for a window
    left: u32,          // keys before the block
    right: u32,         // keys after the block
    scale: f32,         // 1 / sqrt(d_head), or 1
    reach: u32,         // of the band's bias
    bias_rows: u32,     // of the band
    side_tokens: u32,   // tokens of a side key; 0 if side keys have no bias
    side_reach: u32,    // of the side keys' bias, blocks
    copies_bias: f32,   // ln of how often repeated side keys count
}

@group(0) @binding(0) var<storage, read> q: array<vec4<f32>>;         // [batch * length, ...]
@group(0) @binding(1) var<storage, read> kv: array<vec4<f32>>;        // [batch * length, ...]
@group(0) @binding(2) var<storage, read> key_mask: array<u32>;        // [batch, length], nonzero = visible in bands
@group(0) @binding(3) var<storage, read> distance_bias: array<f32>;   // [bias_rows + 2 * side_reach + 1, heads]
@group(0) @binding(4) var<storage, read> side_kv: array<vec4<f32>>;   // rows of the side keys and values
@group(0) @binding(5) var<storage, read> side_rows: array<u32>;       // [batch, 2 + most_sides]: count, repeated ones, rows
@group(1) @binding(0) var<uniform> p: Params;

fn side_count(sentence: u32) -> u32 {
    if (HAS_SIDES) {
        return min(side_rows[sentence * (2u + p.most_sides)], p.most_sides);
    }
    return 0u;
}

fn side_row(sentence: u32, side: u32) -> u32 {
    return side_rows[sentence * (2u + p.most_sides) + 2u + side];
}

// First key and end of a query's band.
fn band_of(query: u32) -> vec2<u32> {
    let start = query / p.block * p.block;
    return vec2(start - min(start, p.left), min(start + p.block + p.right, p.length));
}

// Four places of a head from `d` on, and whether they are inside the head.
fn places(start: u32, d: u32, length: u32) -> vec4<u32> {
    return start + min(vec4(d) + vec4(0u, 1u, 2u, 3u), vec4(length - 1u));
}

fn are_inside(d: u32, length: u32) -> vec4<bool> {
    return vec4(d) + vec4(0u, 1u, 2u, 3u) < vec4(length);
}

// Four elements; zeros beyond the head's end, so that the key's elements there do not count.
fn query4(start: u32, d: u32) -> vec4<f32> {
    let i = places(start, d, D_HEAD);
    if (ALIGNED) {
        return select(vec4(0.0), q[i.x / 4u], d < D_HEAD);
    }
    let value = vec4(q[i.x / 4u][i.x % 4u], q[i.y / 4u][i.y % 4u], q[i.z / 4u][i.z % 4u], q[i.w / 4u][i.w % 4u]);
    return select(vec4(0.0), value, are_inside(d, D_HEAD));
}

fn key4(start: u32, d: u32, is_side: bool, length: u32) -> vec4<f32> {
    let i = places(start, d, length);
    if (ALIGNED) {
        if (is_side) {
            return side_kv[i.x / 4u];
        }
        return kv[i.x / 4u];
    }
    if (is_side) {
        return vec4(
            side_kv[i.x / 4u][i.x % 4u],
            side_kv[i.y / 4u][i.y % 4u],
            side_kv[i.z / 4u][i.z % 4u],
            side_kv[i.w / 4u][i.w % 4u],
        );
    }
    return vec4(kv[i.x / 4u][i.x % 4u], kv[i.y / 4u][i.y % 4u], kv[i.z / 4u][i.z % 4u], kv[i.w / 4u][i.w % 4u]);
}

// Where a column's key or value begins: `at` is its side key, or its key in the sentence.
fn key_start(sentence: u32, head: u32, at: u32, is_side: bool) -> u32 {
    if (is_side) {
        return side_row(sentence, at) * p.side_stride + p.side_k_first + head * D_HEAD;
    }
    return (sentence * p.length + at) * p.kv_stride + p.k_first + head * D_HEAD;
}

fn value_start(sentence: u32, head: u32, at: u32, is_side: bool) -> u32 {
    if (is_side) {
        return side_row(sentence, at) * p.side_stride + p.side_v_first + head * D_VALUE;
    }
    return (sentence * p.length + at) * p.kv_stride + p.v_first + head * D_VALUE;
}

// The score of a query and a column that it sees.
fn score_of(sentence: u32, head: u32, query: u32, at: u32, is_side: bool, sides: u32) -> f32 {
    let q_start = (sentence * p.length + query) * p.q_stride + p.q_first + head * D_HEAD;
    let k_start = key_start(sentence, head, at, is_side);
    var product = vec4(0.0);
    // by sixteen: lavapipe silently stops an invocation after 65,535 iterations of all its loops
    for (var d = 0u; d < D_HEAD; d += 16u) {
        product = fma(query4(q_start, d), key4(k_start, d, is_side, D_HEAD), product);
        product = fma(query4(q_start, d + 4u), key4(k_start, d + 4u, is_side, D_HEAD), product);
        product = fma(query4(q_start, d + 8u), key4(k_start, d + 8u, is_side, D_HEAD), product);
        product = fma(query4(q_start, d + 12u), key4(k_start, d + 12u, is_side, D_HEAD), product);
    }
    let score = dot(product, vec4(1.0)) * p.scale + bias_of(head, query, at, is_side, sides);
    if (HAS_COPIES && is_side && at < side_rows[sentence * (2u + p.most_sides) + 1u]) {
        // m keys with the same score weigh m * exp(score) = exp(score + ln m)
        return score + p.copies_bias;
    }
    return score;
}

fn bias_of(head: u32, query: u32, at: u32, is_side: bool, sides: u32) -> f32 {
    if (!HAS_BIAS) {
        return 0.0;
    }
    var row = 0u;
    if (is_side) {
        if (p.side_tokens == 0u) {
            return 0.0;
        }
        let reach = i32(p.side_reach);
        let own = i32(min(query / p.side_tokens, max(sides, 1u) - 1u));
        row = p.bias_rows + u32(clamp(i32(at) - own, -reach, reach) + reach);
    } else {
        if (p.bias_rows == 0u) {
            return 0.0;
        }
        let reach = i32(p.reach);
        row = u32(clamp(i32(at) - i32(query), -reach, reach) + reach);
    }
    return distance_bias[row * stride_of(p.heads) + head];
}

fn stride_of(width: u32) -> u32 {
    return (width + 3u) / 4u * 4u;
}
