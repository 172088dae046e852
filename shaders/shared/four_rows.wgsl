// Four inputs of each of four rows, and their products in the rows' sums. A matrix has one column per row.
// uses: shared/linear.wgsl, shared/multiply_add.wgsl

// Starts of four rows, in quads; rows beyond the end repeat the last.
fn four_rows(first: u32) -> vec4<u32> {
    return min(vec4(first) + vec4(0u, 1u, 2u, 3u), vec4(p.rows - 1u)) * p.input_quads;
}

fn inputs_of_rows(starts: vec4<u32>, quad: u32) -> mat4x4<f32> {
    let at = starts + quad;
    return mat4x4(x[at.x], x[at.y], x[at.z], x[at.w]);
}

fn multiply_add_rows(inputs: mat4x4<f32>, w: mat4x4<f32>, sums: mat4x4<f32>) -> mat4x4<f32> {
    return mat4x4(
        multiply_add(inputs[0], w, sums[0]),
        multiply_add(inputs[1], w, sums[1]),
        multiply_add(inputs[2], w, sums[2]),
        multiply_add(inputs[3], w, sums[3]),
    );
}
