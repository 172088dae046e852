// Four inputs of each of eight rows: every invocation reads all of them.
// uses: shared/plain_inputs.wgsl, shared/read_inputs.wgsl
alias Rows = array<u32, 8>;  // where they start, in quads

// The last row again beyond it.
fn rows_from(first: u32, lane: u32) -> Rows {
    let last = p.rows - 1u;
    return Rows(
        min(first, last) * p.input_quads,
        min(first + 1u, last) * p.input_quads,
        min(first + 2u, last) * p.input_quads,
        min(first + 3u, last) * p.input_quads,
        min(first + 4u, last) * p.input_quads,
        min(first + 5u, last) * p.input_quads,
        min(first + 6u, last) * p.input_quads,
        min(first + 7u, last) * p.input_quads,
    );
}

fn inputs_of_rows(rows: Rows, quad: u32) -> array<vec4<f32>, 8> {
    return array(
        inputs_at(rows[0] + quad),
        inputs_at(rows[1] + quad),
        inputs_at(rows[2] + quad),
        inputs_at(rows[3] + quad),
        inputs_at(rows[4] + quad),
        inputs_at(rows[5] + quad),
        inputs_at(rows[6] + quad),
        inputs_at(rows[7] + quad),
    );
}
