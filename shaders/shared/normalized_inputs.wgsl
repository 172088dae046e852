// The bindings of a linear layer that normalizes its inputs, (z - mean) / sqrt(variance + epsilon) * gamma + beta with
// z = x + residual. Each workgroup computes the statistics of its rows; a row's are summed in the same order beside any
// other rows.
// uses: shared/linear.wgsl, `sums` and ROWS of matvec_split.wgsl or matvec_4rows_split.wgsl, both of which have 256 lanes
override HAS_RESIDUAL: bool = false;
override CENTERED: bool = true;  // layer norm; else RMS norm
override KEEPS: bool = false;    // whether to store the normalized inputs

@group(0) @binding(3) var<storage, read>       residual: array<vec4<f32>>;    // [rows, inputs]
@group(0) @binding(4) var<storage, read>       gamma: array<vec4<f32>>;       // [inputs]
@group(0) @binding(5) var<storage, read>       beta: array<vec4<f32>>;        // [inputs]
@group(0) @binding(6) var<storage, read_write> y: array<vec4<f32>>;           // [rows, outputs]
@group(0) @binding(7) var<storage, read_write> normalized: array<vec4<f32>>;  // [rows, inputs]

const NORM_LANES: u32 = 256u;

fn joined(value: vec4<f32>, at: u32) -> vec4<f32> {
    return value;
}

// Four elements of x + residual - mean of the row at `start`; zeros beyond its end.
fn centered(start: u32, quad: u32, mean: f32) -> vec4<f32> {
    var z = x[start + quad];
    if (HAS_RESIDUAL) {
        z += residual[start + quad];
    }
    let column = vec4(4u * quad) + vec4(0u, 1u, 2u, 3u);
    return select(vec4(0.0), z - mean, column < vec4(p.inputs));
}

fn sum_of(start: u32, quad: u32) -> f32 {
    let z = centered(start, quad, 0.0);
    return (z.x + z.y) + (z.z + z.w);
}

fn squares_of(start: u32, quad: u32, mean: f32, sum: f32) -> f32 {
    let z = centered(start, quad, mean);
    return fma(z.w, z.w, fma(z.z, z.z, fma(z.y, z.y, fma(z.x, z.x, sum))));
}

// The sum over all lanes.
fn total(value: vec4<f32>, lane: u32) -> vec4<f32> {
    sums[lane] = value;
    workgroupBarrier();
    // sixteen lanes sum sixteen values each, then every lane sums the results
    var sum = vec4(0.0);
    if (lane < 16u) {
        for (var i = 0u; i < 256u; i += 16u) {
            sum += sums[i + lane];
        }
        sums[256u + lane] = sum;
    }
    workgroupBarrier();
    sum = vec4(0.0);
    for (var i = 0u; i < 16u; i++) {
        sum += sums[256u + i];
    }
    return sum;
}

// Means and factors 1 / sqrt(variance + epsilon) of up to four rows at `starts`.
fn statistics_of(starts: vec4<u32>, lane: u32) -> mat2x4<f32> {
    var means = vec4(0.0);
    if (CENTERED) {
        var sum = vec4(0.0);
        for (var quad = lane; quad < p.input_quads; quad += NORM_LANES) {
            sum.x += sum_of(starts.x, quad);
            if (ROWS > 1u) {
                sum.y += sum_of(starts.y, quad);
                sum.z += sum_of(starts.z, quad);
                sum.w += sum_of(starts.w, quad);
            }
        }
        means = total(sum, lane) / f32(p.inputs);
    }
    var squares = vec4(0.0);
    for (var quad = lane; quad < p.input_quads; quad += NORM_LANES) {
        squares.x = squares_of(starts.x, quad, means.x, squares.x);
        if (ROWS > 1u) {
            squares.y = squares_of(starts.y, quad, means.y, squares.y);
            squares.z = squares_of(starts.z, quad, means.z, squares.z);
            squares.w = squares_of(starts.w, quad, means.w, squares.w);
        }
    }
    let variances = total(squares, lane) / f32(p.inputs);
    workgroupBarrier();  // before `sums` is written again
    return mat2x4<f32>(means, inverseSqrt(variances + p.epsilon));
}

fn input(start: u32, quad: u32, mean: f32, factor: f32) -> vec4<f32> {
    let z = centered(start, quad, mean) * factor;
    if (CENTERED) {
        return fma(z, gamma[quad], beta[quad]);
    }
    return z * gamma[quad];
}

// Stores a row's normalized inputs. All lanes of one of the row's workgroups must call it.
fn keep(row: u32, start: u32, lane: u32, mean: f32, factor: f32) {
    if (!KEEPS || row >= p.rows || p.first_quad != 0u) {
        return;
    }
    for (var quad = lane; quad < p.input_quads; quad += NORM_LANES) {
        normalized[start + quad] = input(start, quad, mean, factor);
    }
}

fn note_quad(at: u32, row: u32, part_quad: u32, value: vec4<f32>) {
}

fn note_panel(first: u32, row: u32, panel: u32, notes: bool) {
}
