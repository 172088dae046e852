// The gradient of the input of project_packed.wgsl: dx[i] = Σ factors[j, i] · dy[j] over the sums j of the token's sentence, and
// the gradient of the queries before it. A quad per invocation.
// uses: shared/grid.wgsl

struct Params {
    rows: u32,
    rank: u32,            // rows of the factors
    quads: u32,           // of a row of dx, with padding
    queries: u32,         // columns of the queries
    keys: u32,            // columns of the keys, which follow
    width: u32,           // columns of keys and values
    factor_stride: u32,   // row stride of the factors
}

@group(0) @binding(0) var<storage, read>       dqueries: array<f32>;         // [rows, queries]
@group(0) @binding(1) var<storage, read>       dy: array<f32>;               // [rows, width]
@group(0) @binding(2) var<storage, read>       sentences: array<vec2<u32>>;  // [rows]: first row of its sentence, and the end
@group(0) @binding(3) var<storage, read>       key_factors: array<f32>;      // [rank, positions]
@group(0) @binding(4) var<storage, read>       value_factors: array<f32>;    // [rank, positions]
@group(0) @binding(5) var<storage, read_write> dx: array<vec4<f32>>;         // [rows, queries + width]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * 64u + lane;
    if (index >= p.rows * p.quads) {
        return;
    }
    let row = index / p.quads;
    let column = 4u * (index % p.quads);
    let sentence = sentences[row];
    let count = sentence.y - sentence.x;
    let i = row - sentence.x;
    var value = vec4(
        query_at(row, column),
        query_at(row, column + 1u),
        query_at(row, column + 2u),
        query_at(row, column + 3u),
    );
    if (count > 0u && count <= p.rank) {
        value += quad_of_dy(row, column);
    } else if (count > 0u) {
        for (var j = zero(workgroup); j < p.rank; j++) {
            let at = j * p.factor_stride + i;
            let columns = vec4(column) + vec4(0u, 1u, 2u, 3u);
            let factors =
                select(vec4(value_factors[at]), vec4(key_factors[at]), columns < vec4(p.queries + p.keys));
            value = fma(factors, quad_of_dy(sentence.x + j, column), value);
        }
    }
    dx[index] = value;
}

// Four columns of dx; zeros for keys, values and padding.
fn query_at(row: u32, column: u32) -> f32 {
    if (column >= p.queries) {
        return 0.0;
    }
    return dqueries[row * stride(p.queries) + column];
}

// Four columns of dx; zeros for queries and padding.
fn quad_of_dy(row: u32, column: u32) -> vec4<f32> {
    return vec4(dy_at(row, column), dy_at(row, column + 1u), dy_at(row, column + 2u), dy_at(row, column + 3u));
}

fn dy_at(row: u32, column: u32) -> f32 {
    if (column < p.queries || column >= p.queries + p.width) {
        return 0.0;
    }
    return dy[row * stride(p.width) + column - p.queries];
}

fn stride(width: u32) -> u32 {
    return (width + 3u) / 4u * 4u;
}
