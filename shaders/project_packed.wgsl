// As project_length.wgsl, for packed sentences of a training: the sums of a sentence take the places of its first rows. Also
// copies the queries, so that they have a gradient of their own. A quad per invocation.
// uses: shared/length_projection.wgsl, shared/grid.wgsl

struct Params {
    rows: u32,
    rank: u32,           // rows of the factors
    quads: u32,          // of a row of y, with padding
    query_quads: u32,    // of a row of the queries, with padding
    keys: u32,           // columns of the keys; those of the values follow
    width: u32,          // columns of both
    x_stride: u32,       // row stride of x
    x_first: u32,        // columns of the queries in x, which come first
    factor_stride: u32,  // row stride of the factors
}

@group(0) @binding(0) var<storage, read>       x: array<f32>;                    // [rows, queries, keys, values]
@group(0) @binding(1) var<storage, read>       sentences: array<vec2<u32>>;      // [rows]: first row of its sentence, and the end
@group(0) @binding(2) var<storage, read>       key_factors: array<f32>;          // [rank, positions]
@group(0) @binding(3) var<storage, read>       value_factors: array<f32>;        // [rank, positions]
@group(0) @binding(4) var<storage, read_write> queries: array<vec4<f32>>;        // [rows, x_first]
@group(0) @binding(5) var<storage, read_write> y: array<vec4<f32>>;              // [rows, width]
@group(0) @binding(6) var<storage, read_write> key_ranges: array<vec2<u32>>;     // [rows]: rows of y that the token sees
@group(0) @binding(7) var<storage, read_write> query_ranges: array<vec2<u32>>;   // [rows]: tokens that see the row of y
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * 64u + lane;
    let all = p.quads + p.query_quads;
    if (index >= p.rows * all) {
        return;
    }
    let row = index / all;
    let place = index % all;
    if (place >= p.quads) {
        queries[row * p.query_quads + place - p.quads] = query_quad(row, place - p.quads);
        return;
    }
    let sentence = sentences[row];
    let count = sentence.y - sentence.x;
    let is_row = row - sentence.x < min(count, p.rank) && count > 0u;
    var value = vec4(0.0);
    if (is_row && count <= p.rank) {
        value = quad_of_x(row, place);
    } else if (is_row) {
        for (var i = zero(workgroup); i < count; i++) {
            value = fma(factors(row - sentence.x, i, place), quad_of_x(sentence.x + i, place), value);
        }
    }
    y[row * p.quads + place] = value;
    if (place == 0u) {
        key_ranges[row] = vec2(sentence.x, sentence.x + min(count, p.rank));
        query_ranges[row] = select(vec2(0u), sentence, is_row);
    }
}

fn query_quad(row: u32, quad: u32) -> vec4<f32> {
    let column = 4u * quad;
    return vec4(query_at(row, column), query_at(row, column + 1u), query_at(row, column + 2u), query_at(row, column + 3u));
}

fn query_at(row: u32, column: u32) -> f32 {
    if (column >= p.x_first) {
        return 0.0;
    }
    return x[row * p.x_stride + column];
}
