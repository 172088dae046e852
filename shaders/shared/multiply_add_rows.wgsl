// `multiply_add` for eight rows: not a loop, because drivers do not reliably unroll one.
// uses: shared/multiply_add.wgsl
fn multiply_add_rows(
    x: array<vec4<f32>, 8>,
    w: mat4x4<f32>,
    sums: array<vec4<f32>, 8>,
) -> array<vec4<f32>, 8> {
    return array(
        multiply_add(x[0], w, sums[0]),
        multiply_add(x[1], w, sums[1]),
        multiply_add(x[2], w, sums[2]),
        multiply_add(x[3], w, sums[3]),
        multiply_add(x[4], w, sums[4]),
        multiply_add(x[5], w, sums[5]),
        multiply_add(x[6], w, sums[6]),
        multiply_add(x[7], w, sums[7]),
    );
}
