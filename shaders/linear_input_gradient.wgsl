// The gradient of a linear layer's input: dx = earlier + scale · dy · W. A tile of 64 rows and 64 inputs per workgroup,
// four inputs of four rows per invocation. dy and W pass through workgroup memory, sixteen outputs at a time.
// uses: shared/weights_f32.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl

struct Params {
    rows: u32,
    inputs: u32,
    input_quads: u32,   // ceil(inputs / 4)
    output_quads: u32,  // in a row of dy: of all parts
    first_quad: u32,    // of dy, multiplied by this part of the weights
    part_quads: u32,    // quads of this part
    scale: f32,
    earlier: u32,       // 0: nothing, 1: the buffer `earlier`, 2: what dx holds
}

@group(0) @binding(0) var<storage, read>       dy: array<vec4<f32>>;       // [rows, outputs]
@group(0) @binding(2) var<storage, read>       earlier: array<vec4<f32>>;  // [rows, inputs]
@group(0) @binding(3) var<storage, read_write> dx: array<vec4<f32>>;       // [rows, inputs]
@group(1) @binding(0) var<uniform> p: Params;

var<workgroup> dy_tile: array<vec4<f32>, 256>;  // [64 rows, 4 quads of outputs]
// [4 quads of outputs, 4 inputs of a quad, 16 quads of inputs, and one against bank conflicts]
var<workgroup> w_tile: array<vec4<f32>, 272>;

@compute @workgroup_size(16, 16)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row_blocks = (p.rows + 63u) / 64u;
    let group = flat_workgroup(workgroup, workgroups);
    if (group >= row_blocks * ((p.input_quads + 15u) / 16u)) {
        return;
    }
    let first_row = group % row_blocks * 64u;
    let first_input_quad = group / row_blocks * 16u;

    // this invocation's part of the tiles
    let tile_quad = lane % 4u;
    let dy_start = min(first_row + lane / 4u, p.rows - 1u) * p.output_quads + p.first_quad;
    let w_input = lane / 4u;
    let w_at = min(4u * first_input_quad + w_input, 4u * p.input_quads - 1u) * 16u;
    let w_place = (4u * tile_quad + w_input % 4u) * 17u + w_input / 4u;

    var sum0 = vec4(0.0);
    var sum1 = vec4(0.0);
    var sum2 = vec4(0.0);
    var sum3 = vec4(0.0);
    for (var k = zero(workgroup); k < p.part_quads; k += 4u) {
        // zeros beyond the last output
        let quad = min(k + tile_quad, p.part_quads - 1u);
        let inside = k + tile_quad < p.part_quads;
        dy_tile[lane] = select(vec4(0.0), dy[dy_start + quad], inside);
        w_tile[w_place] = select(vec4(0.0), weight[first_block(quad, p.input_quads) + w_at], inside);
        workgroupBarrier();
        for (var i = 0u; i < 4u; i++) {
            let at = 68u * i + local.x;
            // a row for each output, a column for each input
            let w = transpose(mat4x4(w_tile[at], w_tile[at + 17u], w_tile[at + 34u], w_tile[at + 51u]));
            sum0 = multiply_add(dy_tile[local.y * 16u + i], w, sum0);
            sum1 = multiply_add(dy_tile[local.y * 16u + 4u + i], w, sum1);
            sum2 = multiply_add(dy_tile[local.y * 16u + 8u + i], w, sum2);
            sum3 = multiply_add(dy_tile[local.y * 16u + 12u + i], w, sum3);
        }
        workgroupBarrier();
    }
    let row = first_row + local.y * 4u;
    let quad = first_input_quad + local.x;
    store(row, quad, sum0);
    store(row + 1u, quad, sum1);
    store(row + 2u, quad, sum2);
    store(row + 3u, quad, sum3);
}

// Stores four inputs of a row inside the matrix, with zeros beyond the last input.
fn store(row: u32, quad: u32, sum: vec4<f32>) {
    if (row >= p.rows || quad >= p.input_quads) {
        return;
    }
    let at = row * p.input_quads + quad;
    var value = sum * p.scale;
    if (p.earlier == 1u) {
        value += earlier[at];
    } else if (p.earlier == 2u) {
        value += dx[at];
    }
    let inputs = vec4(4u * quad) + vec4(0u, 1u, 2u, 3u);
    dx[at] = select(vec4(0.0), value, inputs < vec4(p.inputs));
}
