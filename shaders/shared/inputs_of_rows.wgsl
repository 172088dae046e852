// Four inputs of each of eight rows: every invocation reads all of them.
// uses: shared/plain_inputs.wgsl, shared/read_inputs.wgsl

fn inputs_of_rows(first_row: u32, quad: u32, lane: u32) -> array<vec4<f32>, 8> {
    return array(
        inputs_of_row(first_row, quad),
        inputs_of_row(first_row + 1u, quad),
        inputs_of_row(first_row + 2u, quad),
        inputs_of_row(first_row + 3u, quad),
        inputs_of_row(first_row + 4u, quad),
        inputs_of_row(first_row + 5u, quad),
        inputs_of_row(first_row + 6u, quad),
        inputs_of_row(first_row + 7u, quad),
    );
}

// The last row again beyond it.
fn inputs_of_row(row: u32, quad: u32) -> vec4<f32> {
    return inputs_at(min(row, p.rows - 1u) * p.input_quads + quad);
}
