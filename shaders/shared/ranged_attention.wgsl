// Attention over ranges of rows, for sentences that follow one another in one value: parameters, inputs, and products
// of a tile of sixteen queries and sixteen keys. An invocation has one pair of a tile.
// uses: shared/distance_bias.wgsl, shared/random_words.wgsl, shared/masked.wgsl
override D_HEAD: u32 = 64u;      // of queries and keys
override D_VALUE: u32 = 64u;     // of values
override ALIGNED: bool = false;  // heads start at multiples of four elements, and are as long
override DROPOUT: bool = false;  // of attention weights
const TILE: u32 = 16u;
const TILE_STRIDE: u32 = 17u;    // one more, against bank conflicts

struct Params {
    q_rows: u32,
    key_rows: u32,
    heads: u32,
    q_stride: u32,     // row stride
    q_first: u32,      // first column of the queries
    kv_stride: u32,    // row stride
    k_first: u32,      // first column of the keys
    v_first: u32,      // first column of the values
    scale: f32,        // 1 / sqrt(d_head), or 1
    reach: u32,        // of the distance bias
    width: u32,        // of the value that a gradient is written to, without padding
    place: u32,        // of the dropout in the model
    threshold: u32,    // of the dropout: probability · 2³²
    factor: f32,       // of kept weights: 1 / (1 - probability)
}

@group(0) @binding(0) var<storage, read> q: array<vec4<f32>>;         // [q_rows, ...]
@group(0) @binding(1) var<storage, read> kv: array<vec4<f32>>;        // [key_rows, ...]
// first row and end of the keys that a query sees, [q_rows], or of the queries that see a key, [key_rows]
@group(0) @binding(2) var<storage, read> ranges: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> distance_bias: array<f32>;   // [2 * reach + 1, heads]
@group(1) @binding(0) var<uniform> p: Params;

var<workgroup> a_tile: array<vec4<f32>, 272>;  // [16 rows, 16 quads, and one]
var<workgroup> b_tile: array<vec4<f32>, 272>;

// Four places of a head from `d` on that start at `start`, and whether they are inside the head.
fn places(start: u32, d: u32, length: u32) -> vec4<u32> {
    return start + min(vec4(d) + vec4(0u, 1u, 2u, 3u), vec4(length - 1u));
}

fn are_inside(d: u32, length: u32) -> vec4<bool> {
    return vec4(d) + vec4(0u, 1u, 2u, 3u) < vec4(length);
}

// Four elements of a query; zeros beyond the head's end. Rows beyond the last one repeat it.
fn query4(row: u32, head: u32, d: u32) -> vec4<f32> {
    let start = min(row, p.q_rows - 1u) * p.q_stride + p.q_first + head * D_HEAD;
    let i = places(start, d, D_HEAD);
    if (ALIGNED) {
        return select(vec4(0.0), q[i.x / 4u], d < D_HEAD);
    }
    let value = vec4(q[i.x / 4u][i.x % 4u], q[i.y / 4u][i.y % 4u], q[i.z / 4u][i.z % 4u], q[i.w / 4u][i.w % 4u]);
    return select(vec4(0.0), value, are_inside(d, D_HEAD));
}

fn key4(row: u32, head: u32, d: u32) -> vec4<f32> {
    return of_row4(row, p.k_first + head * D_HEAD, d, D_HEAD);
}

fn value4(row: u32, head: u32, d: u32) -> vec4<f32> {
    return of_row4(row, p.v_first + head * D_VALUE, d, D_VALUE);
}

fn of_row4(row: u32, first: u32, d: u32, length: u32) -> vec4<f32> {
    let i = places(min(row, p.key_rows - 1u) * p.kv_stride + first, d, length);
    if (ALIGNED) {
        return select(vec4(0.0), kv[i.x / 4u], d < length);
    }
    let value = vec4(kv[i.x / 4u][i.x % 4u], kv[i.y / 4u][i.y % 4u], kv[i.z / 4u][i.z % 4u], kv[i.w / 4u][i.w % 4u]);
    return select(vec4(0.0), value, are_inside(d, length));
}

// The range of a row, cut at `limit`.
fn range_of(row: u32, limit: u32) -> vec2<u32> {
    return min(ranges[row], vec2(limit));
}

// The smallest range that contains those of sixteen rows.
fn range_of_tile(first: u32, rows: u32, limit: u32) -> vec2<u32> {
    var span = vec2(limit, 0u);
    for (var row = first; row < min(first + TILE, rows); row++) {
        let range = range_of(row, limit);
        if (range.x < range.y) {
            span = vec2(min(span.x, range.x), max(span.y, range.y));
        }
    }
    return span;
}

// The products of sixteen queries (rows of the tile) and keys (columns): q·k. All lanes must call it.
fn query_key_product(first_query: u32, first_key: u32, head: u32, row: u32, column: u32) -> f32 {
    var product = 0.0;
    for (var d = 0u; d < D_HEAD; d += 64u) {
        workgroupBarrier();  // the tiles, and what the caller keeps of a tile, have been read
        a_tile[row * TILE_STRIDE + column] = query4(first_query + row, head, d + 4u * column);
        b_tile[row * TILE_STRIDE + column] = key4(first_key + row, head, d + 4u * column);
        workgroupBarrier();
        product += product_of_tiles(row, column, min(D_HEAD - d, 64u));
    }
    return product;
}

fn product_of_tiles(row: u32, column: u32, length: u32) -> f32 {
    var sum = vec4(0.0);
    for (var i = 0u; i < (length + 3u) / 4u; i++) {
        sum = fma(a_tile[row * TILE_STRIDE + i], b_tile[column * TILE_STRIDE + i], sum);
    }
    return (sum.x + sum.y) + (sum.z + sum.w);
}

// A weight's factor: 0 if it is dropped.
fn kept(query: u32, key: u32, head: u32) -> f32 {
    if (!DROPOUT) {
        return 1.0;
    }
    let element = (query * p.key_rows + key) * p.heads + head;
    let word = random_words(element / 4u)[element % 4u];
    return select(p.factor, 0.0, word < p.threshold);
}

// Row stride of a value of `width` columns.
fn stride_of(width: u32) -> u32 {
    return (width + 3u) / 4u * 4u;
}
