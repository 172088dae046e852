// Four inputs of each of eight rows: every invocation reads those of one row, and tells the others of its subgroup. For
// workgroups of eight invocations in a row, all in one subgroup.
// uses: shared/plain_inputs.wgsl, shared/read_inputs_int64.wgsl

fn inputs_of_rows(first_row: u32, quad: u32, lane: u32) -> array<vec4<f32>, 8> {
    // the last row again beyond it
    let own = inputs_at(min(first_row + lane, p.rows - 1u) * p.input_quads + quad);
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
