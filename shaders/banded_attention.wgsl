// context = softmax(scale · Q Kᵀ + bias) V for each head, where a query sees the keys of a band and a few side keys.
// Beltagy et al. 2020, "Longformer", 3.1. A workgroup has sixteen queries of a head and 64 elements of it. It takes 64
// columns at a time, the side keys first, with an online softmax (Milakov & Gimelshein 2018): a lane scores four columns
// for a query, then sums four elements of the values for that query.
// uses: shared/banded_attention.wgsl, shared/masked.wgsl, shared/grid.wgsl
const LANES: u32 = 256u;
const QUERIES: u32 = 16u;
const LANES_OF_QUERY: u32 = 16u;
const COLUMNS: u32 = 64u;

@group(0) @binding(6) var<storage, read_write> context: array<f32>;  // [batch * length, heads * d_value]

var<workgroup> weights: array<f32, 1024>;  // [queries, columns]
var<workgroup> maxima: array<f32, LANES>;  // [queries, lanes of a query]
var<workgroup> sums: array<f32, LANES>;    // [queries, lanes of a query]

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let blocks = (D_VALUE + 63u) / 64u;
    let tiles = (p.length + QUERIES - 1u) / QUERIES;
    var group = flat_workgroup(workgroup, workgroups);
    let first_element = group % blocks * 64u;
    group /= blocks;
    let head = group % p.heads;
    group /= p.heads;
    let first_query = group % tiles * QUERIES;
    // a surplus workgroup computes a part of the last sentence again
    let sentence = min(group / tiles, p.batch - 1u);
    let row = lane / LANES_OF_QUERY;
    let own = lane % LANES_OF_QUERY;
    let last_query = p.length - 1u;
    let query = min(first_query + row, last_query);
    let sides = side_count(sentence);
    let band = band_of(query);
    let first_key = band_of(first_query).x;
    // side keys fill whole tiles, so that a tile has one kind of columns
    let side_columns = (sides + COLUMNS - 1u) / COLUMNS * COLUMNS;
    let count = side_columns + band_of(min(first_query + QUERIES - 1u, last_query)).y - first_key;
    let d = first_element + 4u * own;

    var maximum = MASKED;
    var sum = 0.0;
    var value = vec4(0.0);
    for (var first = zero(workgroup); first < count; first += COLUMNS) {
        let is_side = first < side_columns;
        let start = select(first_key + first - side_columns, first, is_side);
        var scores = vec4(MASKED);
        for (var i = 0u; i < 4u; i++) {
            let at = start + i * LANES_OF_QUERY + own;
            var visible = at < sides;
            if (!is_side) {
                visible = at >= band.x && at < band.y;
                if (visible) {
                    visible = key_mask[sentence * p.length + at] != 0u;
                }
            }
            if (visible) {
                scores[i] = score_of(sentence, head, query, at, is_side, sides);
            }
        }
        maxima[lane] = max(max(scores.x, scores.y), max(scores.z, scores.w));
        workgroupBarrier();
        var new_maximum = maximum;
        for (var i = 0u; i < LANES_OF_QUERY; i++) {
            new_maximum = max(new_maximum, maxima[row * LANES_OF_QUERY + i]);
        }
        let of_columns = select(exp(scores - new_maximum), vec4(0.0), scores == vec4(MASKED));
        for (var i = 0u; i < 4u; i++) {
            weights[row * COLUMNS + i * LANES_OF_QUERY + own] = of_columns[i];
        }
        sums[lane] = (of_columns.x + of_columns.y) + (of_columns.z + of_columns.w);
        workgroupBarrier();
        let keep = exp(maximum - new_maximum);
        maximum = new_maximum;
        var sum_of_columns = 0.0;
        for (var i = 0u; i < LANES_OF_QUERY; i++) {
            sum_of_columns += sums[row * LANES_OF_QUERY + i];
        }
        sum = sum * keep + sum_of_columns;
        value *= keep;
        let columns = min(COLUMNS, select(count - first, sides - min(first, sides), is_side));
        for (var i = 0u; i < columns; i++) {
            let v_start = value_start(sentence, head, start + i, is_side);
            value = fma(vec4(weights[row * COLUMNS + i]), key4(v_start, d, is_side, D_VALUE), value);
        }
        workgroupBarrier();
    }

    if (first_query + row > last_query) {
        return;
    }
    let out_stride = stride_of(p.heads * D_VALUE);
    let start = (sentence * p.length + query) * out_stride;
    for (var i = 0u; i < 4u; i++) {
        if (d + i < D_VALUE) {
            context[start + head * D_VALUE + d + i] = select(0.0, value[i] / sum, sum > 0.0);
        }
        // padding of the row
        let padding = p.heads * D_VALUE + d + i;
        if (head == p.heads - 1u && padding < out_stride) {
            context[start + padding] = 0.0;
        }
    }
}
