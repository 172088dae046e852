// The gradient of a linear layer's weights: dW += scale · dyᵀ · x, in panels as the weights. A tile of 64 outputs (one
// panel) and 64 inputs per workgroup, four outputs of eight inputs per invocation. dy and x pass through workgroup
// memory, sixteen rows at a time. While a tile is multiplied, the next one is read.
// uses: shared/weight_gradient.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl

// Two tiles, [2 tiles, 16 rows, 16 quads]: quads of outputs, or of inputs.
var<workgroup> dy_tiles: array<vec4<f32>, 512>;
var<workgroup> x_tiles: array<vec4<f32>, 512>;

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let input_blocks = (p.input_quads + 15u) / 16u;
    let group = flat_workgroup(workgroup, workgroups);
    let panels = (p.part_outputs + 63u) / 64u;
    let panel = group / input_blocks % panels;
    let share = group / (input_blocks * panels);
    if (share >= p.shares) {
        return;
    }
    let first_row = share * p.share_rows;
    let first_input_quad = group % input_blocks * 16u;
    let column = lane % 16u;
    let of_tile = lane / 16u;  // this invocation's rows: this one, and the eighth after it

    var upper = mat4x4<f32>();
    var lower = mat4x4<f32>();
    var next = parts_of_tiles(first_row + of_tile, panel * 16u + column, first_input_quad + column);
    var tile = 0u;
    let end = min(first_row + p.share_rows, p.rows);
    for (var first = zero(workgroup) + first_row; first < end; first += 16u) {
        dy_tiles[tile + lane] = next[0];
        dy_tiles[tile + lane + 128u] = next[1];
        x_tiles[tile + lane] = next[2];
        x_tiles[tile + lane + 128u] = next[3];
        workgroupBarrier();
        next = parts_of_tiles(first + 16u + of_tile, panel * 16u + column, first_input_quad + column);
        for (var i = 0u; i < 256u; i += 16u) {
            let of_outputs = dy_tiles[tile + i + column];
            upper = add_products(x_tiles[tile + i + 2u * of_tile], of_outputs, upper);
            lower = add_products(x_tiles[tile + i + 2u * of_tile + 1u], of_outputs, lower);
        }
        tile = 256u - tile;  // the other one, which all lanes have left before the barrier
    }
    let quad = first_input_quad + 2u * of_tile;
    add(share, panel, column, quad, 0u, upper[0]);
    add(share, panel, column, quad, 1u, upper[1]);
    add(share, panel, column, quad, 2u, upper[2]);
    add(share, panel, column, quad, 3u, upper[3]);
    add(share, panel, column, quad + 1u, 0u, lower[0]);
    add(share, panel, column, quad + 1u, 1u, lower[1]);
    add(share, panel, column, quad + 1u, 2u, lower[2]);
    add(share, panel, column, quad + 1u, 3u, lower[3]);
}

// Four outputs and four inputs of a row and of the eighth after it.
fn parts_of_tiles(row: u32, of_outputs: u32, of_inputs: u32) -> mat4x4<f32> {
    return mat4x4(
        output_quad(row, of_outputs),
        output_quad(row + 8u, of_outputs),
        input_quad(row, of_inputs),
        input_quad(row + 8u, of_inputs),
    );
}
