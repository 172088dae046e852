// context = softmax(scale · Q Kᵀ + bias) V for each head, where each query sees a range of keys. "Attention Is All You
// Need", 3.2.1, eq. (1). A workgroup has sixteen queries of a head: first log Σ exp of their scores, which the gradients
// need, then the weighted sums. A query without keys has the context 0.
// uses: shared/ranged_attention.wgsl, shared/distance_bias.wgsl, shared/random_words.wgsl, shared/philox.wgsl,
// shared/masked.wgsl, shared/grid.wgsl

@group(0) @binding(4) var<storage, read>       step_state: array<u32>;
@group(0) @binding(5) var<storage, read_write> context: array<f32>;         // [q_rows, heads * d_value]
@group(0) @binding(6) var<storage, read_write> row_statistics: array<f32>;  // [q_rows, heads]: log Σ exp, or 0

var<workgroup> weights: array<f32, 256>;          // [16 queries, 16 keys]
var<workgroup> lane_sums: array<vec2<f32>, 256>;  // maximum and sum of a lane

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = flat_workgroup(workgroup, workgroups);
    let head = group % p.heads;
    let first_query = group / p.heads * TILE;
    if (first_query >= p.q_rows) {
        return;
    }
    let row = lane / TILE;
    let column = lane % TILE;
    let query = min(first_query + row, p.q_rows - 1u);
    let range = range_of(query, p.key_rows);
    let keys = range_of_tile(first_query, p.q_rows, p.key_rows);

    var maximum = MASKED;
    var sum = 0.0;
    for (var first = keys.x + zero(workgroup); first < keys.y; first += TILE) {
        let key = first + column;
        let product = query_key_product(first_query, first, head, row, column);
        if (key >= range.x && key < range.y) {
            let score = with_distance_bias(product * p.scale, head, query, key);
            let new_maximum = max(maximum, score);
            sum = sum * exp(maximum - new_maximum) + exp(score - new_maximum);
            maximum = new_maximum;
        }
    }
    lane_sums[lane] = vec2(maximum, sum);
    workgroupBarrier();
    let log_sum = log_sum_of_row(row);

    var value0 = vec4(0.0);
    var value1 = vec4(0.0);
    for (var first = keys.x + zero(workgroup); first < keys.y; first += TILE) {
        let key = first + column;
        let product = query_key_product(first_query, first, head, row, column);
        let score = with_distance_bias(product * p.scale, head, query, key);
        let visible = key >= range.x && key < range.y;
        weights[lane] = select(0.0, exp(min(score - log_sum, 0.0)) * kept(query, key, head), visible);
        workgroupBarrier();
        for (var i = 0u; i < TILE; i++) {
            let weight = vec4(weights[row * TILE + i]);
            value0 = fma(weight, value4(first + i, head, 4u * column), value0);
            if (D_VALUE > 64u) {
                value1 = fma(weight, value4(first + i, head, 64u + 4u * column), value1);
            }
        }
    }
    if (first_query + row >= p.q_rows) {
        return;
    }
    store(query, head, 4u * column, value0);
    if (D_VALUE > 64u) {
        store(query, head, 64u + 4u * column, value1);
    }
    if (column == 0u) {
        row_statistics[query * stride_of(p.heads) + head] = log_sum;
        if (head == p.heads - 1u) {
            for (var i = p.heads; i < stride_of(p.heads); i++) {
                row_statistics[query * stride_of(p.heads) + i] = 0.0;
            }
            for (var i = p.heads * D_VALUE; i < stride_of(p.heads * D_VALUE); i++) {
                context[query * stride_of(p.heads * D_VALUE) + i] = 0.0;
            }
        }
    }
}

// log Σ exp over the lanes of a query; 0 if it sees no key.
fn log_sum_of_row(row: u32) -> f32 {
    var maximum = MASKED;
    for (var i = 0u; i < TILE; i++) {
        maximum = max(maximum, lane_sums[row * TILE + i].x);
    }
    var sum = 0.0;
    for (var i = 0u; i < TILE; i++) {
        let of_lane = lane_sums[row * TILE + i];
        sum += of_lane.y * exp(of_lane.x - maximum);
    }
    return select(0.0, maximum + log(sum), sum > 0.0);
}

fn store(query: u32, head: u32, d: u32, value: vec4<f32>) {
    let start = query * stride_of(p.heads * D_VALUE) + head * D_VALUE;
    for (var i = 0u; i < 4u && d + i < D_VALUE; i++) {
        context[start + d + i] = value[i];
    }
}
