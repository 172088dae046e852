// Rows of keys and values, and their factors in a learned projection along the length. The kernel declares `x`,
// `key_factors` and `value_factors` as arrays of f32, and `Params` with x_stride, x_first, keys, width, factor_stride.

// Four neighbouring columns of keys and values in a row of x; zeros for padding.
fn quad_of_x(row: u32, quad: u32) -> vec4<f32> {
    let column = 4u * quad;
    return vec4(x_at(row, column), x_at(row, column + 1u), x_at(row, column + 2u), x_at(row, column + 3u));
}

fn x_at(row: u32, column: u32) -> f32 {
    if (column >= p.width) {
        return 0.0;
    }
    return x[row * p.x_stride + p.x_first + column];
}

// The factors of token i of a text in its sum j: keys and values have their own.
fn factors(j: u32, i: u32, quad: u32) -> vec4<f32> {
    let at = j * p.factor_stride + i;
    let columns = vec4(4u * quad) + vec4(0u, 1u, 2u, 3u);
    return select(vec4(value_factors[at]), vec4(key_factors[at]), columns < vec4(p.keys));
}
