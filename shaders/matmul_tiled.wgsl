// A linear layer: a tile of 64 rows and 64 outputs (one panel) per workgroup, eight outputs of eight rows per invocation.
// x and W pass through workgroup memory, sixteen inputs at a time. While a tile is multiplied, the next one is read.
// uses: shared/linear.wgsl, shared/plain_inputs.wgsl, shared/four_rows.wgsl, shared/weights_*.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl

// Two tiles, [2 tiles, 16 inputs, 16 quads]: quads of rows of x, or quads of outputs of W.
var<workgroup> x_tiles: array<vec4<f32>, 512>;
var<workgroup> w_tiles: array<vec4<f32>, 512>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row_blocks = (p.rows + 63u) / 64u;
    let group = flat_workgroup(workgroup, workgroups);
    let first_row = group % row_blocks * 64u;
    let panel = group / row_blocks;
    // neighbouring lanes have neighbouring quads, so that their reads of a tile do not meet in a bank
    let column = lane % 8u;
    let row_quad = lane / 8u;

    // this invocation's part of the tiles: four inputs of a quad
    let own_quad = lane % 16u;
    let own_inputs = lane / 16u;
    let starts = four_rows(first_row + 4u * own_quad);
    let block = first_block(min(panel * PANEL_QUADS, p.part_quads - 1u), p.input_quads) + own_quad;
    let at = own_inputs * 64u + own_quad;

    // rows of the quad row_quad, and of the one eight quads later; outputs of the quad `column`, and likewise
    var upper_left = mat4x4<f32>();
    var upper_right = mat4x4<f32>();
    var lower_left = mat4x4<f32>();
    var lower_right = mat4x4<f32>();
    var next_x = inputs_of_tile(starts, own_inputs);
    var next_w = weights(block + min(own_inputs, p.input_quads - 1u) * BLOCK_STEP);
    var tile = 0u;
    for (var k = zero(workgroup); k < p.input_quads; k += 4u) {
        x_tiles[tile + at] = next_x[0];
        x_tiles[tile + at + 16u] = next_x[1];
        x_tiles[tile + at + 32u] = next_x[2];
        x_tiles[tile + at + 48u] = next_x[3];
        w_tiles[tile + at] = next_w[0];
        w_tiles[tile + at + 16u] = next_w[1];
        w_tiles[tile + at + 32u] = next_w[2];
        w_tiles[tile + at + 48u] = next_w[3];
        workgroupBarrier();
        next_x = inputs_of_tile(starts, k + 4u + own_inputs);
        next_w = weights(block + min(k + 4u + own_inputs, p.input_quads - 1u) * BLOCK_STEP);
        for (var i = 0u; i < 256u; i += 16u) {
            let left = w_tiles[tile + i + column];
            let right = w_tiles[tile + i + column + 8u];
            let upper = x_tiles[tile + i + row_quad];
            let lower = x_tiles[tile + i + row_quad + 8u];
            upper_left = add_products(upper, left, upper_left);
            upper_right = add_products(upper, right, upper_right);
            lower_left = add_products(lower, left, lower_left);
            lower_right = add_products(lower, right, lower_right);
        }
        tile = 256u - tile;  // the other one, which all lanes have left before the barrier
    }
    let row = first_row + 4u * row_quad;
    let quad = panel * PANEL_QUADS + column;
    store_rows(row, quad, upper_left);
    store_rows(row, quad + 8u, upper_right);
    store_rows(row + 32u, quad, lower_left);
    store_rows(row + 32u, quad + 8u, lower_right);
}

fn store_rows(row: u32, quad: u32, of_rows: mat4x4<f32>) {
    store(row, quad, of_rows[0]);
    store(row + 1u, quad, of_rows[1]);
    store(row + 2u, quad, of_rows[2]);
    store(row + 3u, quad, of_rows[3]);
}

// Four inputs of four rows, a column for each input; zeros beyond the last input.
fn inputs_of_tile(starts: vec4<u32>, quad: u32) -> mat4x4<f32> {
    let of_rows = transpose(inputs_of_rows(starts, min(quad, p.input_quads - 1u)));
    let factor = select(0.0, 1.0, quad < p.input_quads);
    return mat4x4(of_rows[0] * factor, of_rows[1] * factor, of_rows[2] * factor, of_rows[3] * factor);
}

// One input of four rows times four outputs' weights, added to the rows' sums.
fn add_products(inputs: vec4<f32>, w: vec4<f32>, of_rows: mat4x4<f32>) -> mat4x4<f32> {
    return mat4x4(
        fma(vec4(inputs.x), w, of_rows[0]),
        fma(vec4(inputs.y), w, of_rows[1]),
        fma(vec4(inputs.z), w, of_rows[2]),
        fma(vec4(inputs.w), w, of_rows[3]),
    );
}
