// y[j] = Σ factors[j, i] · x[i] over the tokens i of a text: its keys and values as `rank` sums. Wang et al. 2020, "Linformer",
// equation (7). A text of up to `rank` tokens keeps its own rows. A quad per invocation.
// uses: shared/length_projection.wgsl, shared/grid.wgsl

struct Params {
    batch: u32,
    length: u32,         // rows of a sentence in x
    room: u32,           // rows of a sentence in y
    rank: u32,           // rows of the factors
    quads: u32,          // of a row of y, with padding
    keys: u32,           // columns of the keys; those of the values follow
    width: u32,          // columns of both
    x_stride: u32,       // row stride of x
    x_first: u32,        // first column of the keys in x
    factor_stride: u32,  // row stride of the factors
}

@group(0) @binding(0) var<storage, read>       x: array<f32>;              // [batch * length, ...]
@group(0) @binding(1) var<storage, read>       mask: array<u32>;           // [batch, length], nonzero = visible
@group(0) @binding(2) var<storage, read>       key_factors: array<f32>;    // [rank, positions]
@group(0) @binding(3) var<storage, read>       value_factors: array<f32>;  // [rank, positions]
@group(0) @binding(4) var<storage, read_write> y: array<vec4<f32>>;        // [batch * room, width]
@group(0) @binding(5) var<storage, read_write> visible: array<u32>;        // [batch, room], nonzero = a row of a text
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * 64u + lane;
    if (index >= p.batch * p.room * p.quads) {
        return;
    }
    let row = index / p.quads;
    let quad = index % p.quads;
    let start = row / p.room * p.length;
    let j = row % p.room;
    var count = 0u;
    for (var i = zero(workgroup); i < p.length; i++) {
        if (mask[start + i] != 0u) {
            count = i + 1u;
        }
    }
    var value = vec4(0.0);
    var is_row = j < min(count, p.rank);
    if (is_row && count <= p.rank) {
        is_row = mask[start + j] != 0u;
        if (is_row) {
            value = quad_of_x(start + j, quad);
        }
    } else if (is_row) {
        for (var i = zero(workgroup); i < count; i++) {
            if (mask[start + i] != 0u) {
                value = fma(factors(j, i, quad), quad_of_x(start + i, quad), value);
            }
        }
    }
    y[index] = value;
    if (quad == 0u) {
        visible[row] = u32(is_row);
    }
}
