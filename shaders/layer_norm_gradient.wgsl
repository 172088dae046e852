// The gradient of a normalization's input. With z = x + residual, n = (z - mean) / σ and g = dy ⊙ gamma:
// dz = earlier + (g - mean(g) - n · mean(g ⊙ n)) / σ; RMS norm has no mean(g). One workgroup per row. Each row's mean
// and 1 / σ are kept for layer_norm_weight_gradient.wgsl.
// uses: shared/layer_norm_gradient.wgsl, shared/reduce.wgsl, shared/grid.wgsl

@group(0) @binding(3) var<storage, read>       gamma: array<vec4<f32>>;       // [width]
@group(0) @binding(4) var<storage, read>       earlier: array<vec4<f32>>;     // [rows, width]
@group(0) @binding(5) var<storage, read_write> dz: array<vec4<f32>>;          // [rows, width]
@group(0) @binding(6) var<storage, read_write> statistics: array<vec4<f32>>;  // [rows, 2]: mean, 1 / σ

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = flat_workgroup(workgroup, workgroups);
    if (row >= p.rows) {
        return;
    }
    let width = f32(p.width);
    var mean = 0.0;
    if (p.centered != 0u) {
        var sum = vec4(0.0);
        for (var i = lane; i < quads(); i += LANES) {
            sum += centered(row, i, 0.0);
        }
        mean = reduce_sum(lane, dot(sum, vec4(1.0))) / width;
    }
    var squares = vec4(0.0);
    var gradients = vec4(0.0);
    var products = vec4(0.0);
    for (var i = lane; i < quads(); i += LANES) {
        let z = centered(row, i, mean);
        let g = inside_row(i, dy[row * quads() + i] * gamma[i]);
        squares = fma(z, z, squares);
        gradients += g;
        products = fma(g, z, products);
    }
    let factor = inverseSqrt(reduce_sum(lane, dot(squares, vec4(1.0))) / width + p.epsilon);
    var gradient_mean = 0.0;
    if (p.centered != 0u) {
        gradient_mean = reduce_sum(lane, dot(gradients, vec4(1.0))) / width;
    }
    let slope = reduce_sum(lane, dot(products, vec4(1.0))) / width * factor * factor;
    for (var i = lane; i < quads(); i += LANES) {
        let at = row * quads() + i;
        var value = factor * (dy[at] * gamma[i] - gradient_mean - slope * centered(row, i, mean));
        if (p.has_earlier != 0u) {
            value += earlier[at];
        }
        dz[at] = inside_row(i, value);
    }
    if (lane == 0u) {
        statistics[row] = vec4(mean, factor, 0.0, 0.0);
    }
}
