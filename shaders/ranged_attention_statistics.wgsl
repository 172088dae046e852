// What the gradients of attention need of each query and head: log Σ exp of its scores, copied, and delta = Σ over the
// columns of dcontext ⊙ context. Dao et al. 2022, "FlashAttention", appendix B.2. One invocation per number.
// uses: shared/grid.wgsl

struct Params {
    rows: u32,
    heads: u32,
    d_value: u32,
}

@group(0) @binding(0) var<storage, read>       row_statistics: array<f32>;    // [rows, heads]
@group(0) @binding(1) var<storage, read>       context: array<f32>;           // [rows, heads * d_value]
@group(0) @binding(2) var<storage, read>       context_gradient: array<f32>;  // [rows, heads * d_value]
@group(0) @binding(3) var<storage, read_write> statistics: array<f32>;        // [rows, 2 * heads]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * 64u + lane;
    let stride = stride_of(2u * p.heads);
    let row = index / stride;
    let column = index % stride;
    if (row >= p.rows) {
        return;
    }
    var value = 0.0;
    if (column < p.heads) {
        value = row_statistics[row * stride_of(p.heads) + column];
    } else if (column < 2u * p.heads) {
        let start = row * stride_of(p.heads * p.d_value) + (column - p.heads) * p.d_value;
        for (var i = start + zero(workgroup); i < start + p.d_value; i++) {
            value = fma(context[i], context_gradient[i], value);
        }
    }
    statistics[index] = value;
}

// Row stride of a value of `width` columns.
fn stride_of(width: u32) -> u32 {
    return (width + 3u) / 4u * 4u;
}
