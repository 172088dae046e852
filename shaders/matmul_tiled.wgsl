// A linear layer: a tile of 64 rows and 64 outputs (one panel) per workgroup, four outputs of eight rows per invocation.
// x and W pass through workgroup memory, sixteen inputs at a time. While a tile is multiplied, the next one is read:
// one half of the lanes reads x, the other W.
// uses: shared/linear.wgsl, shared/plain_inputs.wgsl, shared/four_rows.wgsl, shared/weights_*.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl

// Two tiles, [2 tiles, 16 inputs, 16 quads]: quads of rows of x, or quads of outputs of W.
var<workgroup> x_tiles: array<vec4<f32>, 512>;
var<workgroup> w_tiles: array<vec4<f32>, 512>;

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row_blocks = (p.rows + 63u) / 64u;
    let group = flat_workgroup(workgroup, workgroups);
    let first_row = group % row_blocks * 64u;
    let panel = group / row_blocks;
    let column = lane % 16u;
    let row_quad = lane / 16u * 2u;

    // this invocation's part of the tiles: four inputs of a quad
    let reads_x = lane < 64u;
    let input_quad = lane / 16u % 4u;
    let starts = four_rows(first_row + 4u * column);
    let block = first_block(min(panel * PANEL_QUADS, p.part_quads - 1u), p.input_quads) + column;
    let at = input_quad * 64u + column;

    var upper = mat4x4<f32>();
    var lower = mat4x4<f32>();
    var next = part_of_tile(reads_x, starts, block, input_quad);
    var tile = 0u;
    for (var k = zero(workgroup); k < p.input_quads; k += 4u) {
        if (reads_x) {
            x_tiles[tile + at] = next[0];
            x_tiles[tile + at + 16u] = next[1];
            x_tiles[tile + at + 32u] = next[2];
            x_tiles[tile + at + 48u] = next[3];
        } else {
            w_tiles[tile + at] = next[0];
            w_tiles[tile + at + 16u] = next[1];
            w_tiles[tile + at + 32u] = next[2];
            w_tiles[tile + at + 48u] = next[3];
        }
        workgroupBarrier();
        next = part_of_tile(reads_x, starts, block, k + 4u + input_quad);
        for (var i = 0u; i < 256u; i += 16u) {
            let w = w_tiles[tile + i + column];
            upper = add_products(x_tiles[tile + i + row_quad], w, upper);
            lower = add_products(x_tiles[tile + i + row_quad + 1u], w, lower);
        }
        tile = 256u - tile;  // the other one, which all lanes have left before the barrier
    }
    let row = first_row + 4u * row_quad;
    let quad = panel * PANEL_QUADS + column;
    store(row, quad, upper[0]);
    store(row + 1u, quad, upper[1]);
    store(row + 2u, quad, upper[2]);
    store(row + 3u, quad, upper[3]);
    store(row + 4u, quad, lower[0]);
    store(row + 5u, quad, lower[1]);
    store(row + 6u, quad, lower[2]);
    store(row + 7u, quad, lower[3]);
}

// Four inputs of four rows or of four outputs, a column for each input; zeros beyond the last input.
fn part_of_tile(reads_x: bool, starts: vec4<u32>, block: u32, input_quad: u32) -> mat4x4<f32> {
    let inside = min(input_quad, p.input_quads - 1u);
    if (!reads_x) {
        return weights(block + inside * BLOCK_STEP);
    }
    if (input_quad >= p.input_quads) {
        return mat4x4<f32>();
    }
    return transpose(inputs_of_rows(starts, inside));
}
