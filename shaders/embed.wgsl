// y[r] = scale * table[tokens[r]] + position_table[positions[r]], four elements per invocation.
// "Attention Is All You Need", 3.4 and 3.5. The table may be a part of the vocabulary; other rows do not change.
// uses: shared/weights_*.wgsl, shared/grid.wgsl
override HAS_POSITIONS: bool = false;

struct Params {
    rows: u32,
    quads: u32,        // ceil(d_model / 4)
    first_token: u32,  // of this part of the table
    part_tokens: u32,
    scale: f32,        // sqrt(d_model), or 1
    zero_start: u32,   // whether position 0 comes without a token
}

@group(0) @binding(0) var<storage, read>       tokens: array<u32>;                // [rows]
@group(0) @binding(2) var<storage, read>       positions: array<u32>;             // [rows]
@group(0) @binding(3) var<storage, read>       position_table: array<vec4<f32>>;  // [positions, d_model]
@group(0) @binding(4) var<storage, read_write> y: array<vec4<f32>>;               // [rows, d_model]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * 64u + lane;
    let row = index / p.quads;
    let quad = index % p.quads;
    if (row >= p.rows) {
        return;
    }
    // a token before the part wraps around to a large number
    let token = tokens[row] - p.first_token;
    if (token >= p.part_tokens) {
        return;
    }
    // tokens are outputs of the table's panels, elements of an embedding are inputs
    let four = weights(first_block(token / 4u, p.quads) + quad * BLOCK_STEP);
    let at = token % 4u;
    var value = vec4(four[0][at], four[1][at], four[2][at], four[3][at]);
    value *= weight_scale(token / 4u, p.quads)[at] * p.scale;
    if (p.zero_start != 0u && positions[row] == 0u) {
        value = vec4(0.0);
    }
    if (HAS_POSITIONS) {
        value += position_table[positions[row] * p.quads + quad];
    }
    y[index] = value;
}
