// Four inputs of each of eight rows: every invocation reads those of one row, and tells the others of its subgroup. For
// workgroups of eight invocations, all in one subgroup and in order.
// uses: shared/plain_inputs.wgsl, shared/read_inputs_int64.wgsl
alias Rows = u32;  // where the invocation's own one starts, in quads

// The last row again beyond it.
fn rows_from(first: u32, lane: u32) -> Rows {
    return min(first + lane, p.rows - 1u) * p.input_quads;
}

fn inputs_of_rows(rows: Rows, quad: u32) -> array<vec4<f32>, 8> {
    let own = inputs_at(rows + quad);
    return array(
        subgroupBroadcast(own, 0u),
        subgroupBroadcast(own, 1u),
        subgroupBroadcast(own, 2u),
        subgroupBroadcast(own, 3u),
        subgroupBroadcast(own, 4u),
        subgroupBroadcast(own, 5u),
        subgroupBroadcast(own, 6u),
        subgroupBroadcast(own, 7u),
    );
}
