// The gradient of a linear layer's input: dx = earlier + scale · dy · W. A tile of 64 rows and 64 inputs per workgroup,
// four inputs of eight rows per invocation. dy and W pass through workgroup memory, sixteen outputs at a time. While a tile
// is multiplied, the next one is read: one half of the lanes reads dy, the other W.
// uses: shared/input_gradient.wgsl, shared/weights_f32.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl

// Two tiles, [2 tiles, 16 outputs, 16 quads]: quads of rows of dy, or quads of inputs of W.
var<workgroup> dy_tiles: array<vec4<f32>, 512>;
var<workgroup> w_tiles: array<vec4<f32>, 512>;

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row_blocks = (p.rows + 63u) / 64u;
    let input_blocks = (p.input_quads + 15u) / 16u;
    let group = flat_workgroup(workgroup, workgroups);
    let share = group / (row_blocks * input_blocks);
    let first_quad = share * p.share_quads;
    if (first_quad >= p.part_quads) {
        return;
    }
    let first_row = group % row_blocks * 64u;
    let first_input_quad = group / row_blocks % input_blocks * 16u;
    let column = lane % 16u;
    let row_quad = lane / 16u * 2u;

    // this invocation's part of the tiles: four outputs of a quad
    let reads_dy = lane < 64u;
    let tile_quad = lane / 16u % 4u;
    let first = select(4u * (first_input_quad + column), first_row + 4u * column, reads_dy);
    let at = tile_quad * 64u + column;

    var upper = mat4x4<f32>();
    var lower = mat4x4<f32>();
    var next = part_of_tile(reads_dy, first, first_quad + tile_quad);
    var tile = 0u;
    let end = min(first_quad + p.share_quads, p.part_quads);
    for (var k = zero(workgroup) + first_quad; k < end; k += 4u) {
        if (reads_dy) {
            dy_tiles[tile + at] = next[0];
            dy_tiles[tile + at + 16u] = next[1];
            dy_tiles[tile + at + 32u] = next[2];
            dy_tiles[tile + at + 48u] = next[3];
        } else {
            w_tiles[tile + at] = next[0];
            w_tiles[tile + at + 16u] = next[1];
            w_tiles[tile + at + 32u] = next[2];
            w_tiles[tile + at + 48u] = next[3];
        }
        workgroupBarrier();
        next = part_of_tile(reads_dy, first, k + 4u + tile_quad);
        for (var i = 0u; i < 256u; i += 16u) {
            let w = w_tiles[tile + i + column];
            upper = add_products(dy_tiles[tile + i + row_quad], w, upper);
            lower = add_products(dy_tiles[tile + i + row_quad + 1u], w, lower);
        }
        tile = 256u - tile;  // the other one, which all lanes have left before the barrier
    }
    let row = first_row + 4u * row_quad;
    let quad = first_input_quad + column;
    store(share, row, quad, upper[0]);
    store(share, row + 1u, quad, upper[1]);
    store(share, row + 2u, quad, upper[2]);
    store(share, row + 3u, quad, upper[3]);
    store(share, row + 4u, quad, lower[0]);
    store(share, row + 5u, quad, lower[1]);
    store(share, row + 6u, quad, lower[2]);
    store(share, row + 7u, quad, lower[3]);
}

// Four outputs of four rows of dy or of four inputs of W, a column for each output; zeros beyond the last output.
fn part_of_tile(reads_dy: bool, first: u32, quad: u32) -> mat4x4<f32> {
    if (reads_dy) {
        return transpose(mat4x4(
            output_quad(first, quad),
            output_quad(first + 1u, quad),
            output_quad(first + 2u, quad),
            output_quad(first + 3u, quad),
        ));
    }
    return transpose(mat4x4(
        weight_quad(quad, first),
        weight_quad(quad, first + 1u),
        weight_quad(quad, first + 2u),
        weight_quad(quad, first + 3u),
    ));
}
