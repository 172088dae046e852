// The gradient of the factors of project_packed.wgsl: dfactors[j, i] += Σ dy[j] · x[i] over the sentences of more than `rank`
// tokens. A workgroup per factor walks over the sentences, so that its sum has one order.
// uses: shared/reduce.wgsl, shared/grid.wgsl

struct Params {
    rows: u32,
    rank: u32,           // rows of the factors
    positions: u32,      // columns of the factors
    width: u32,          // columns of the keys, or of the values
    x_stride: u32,       // row stride of x
    x_first: u32,        // first of these columns in x
    dy_stride: u32,      // row stride of dy
    dy_first: u32,       // first of these columns in dy
    factor_stride: u32,  // row stride of the factors
}

@group(0) @binding(0) var<storage, read>       dy: array<f32>;               // [rows, ...]
@group(0) @binding(1) var<storage, read>       x: array<f32>;                // [rows, ...]
@group(0) @binding(2) var<storage, read>       sentences: array<vec2<u32>>;  // [rows]: first row of its sentence, and the end
@group(0) @binding(3) var<storage, read_write> dfactors: array<f32>;         // [rank, positions]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups);
    // a surplus workgroup writes nothing
    let j = index / p.positions;
    let i = index % p.positions;
    var sum = 0.0;
    var row = zero(workgroup);
    while (row < p.rows && j < p.rank) {
        let sentence = sentences[row];
        if (sentence.y <= row) {
            break;  // rows without a sentence come last
        }
        let count = sentence.y - sentence.x;
        if (count > p.rank && i < count) {
            let of_dy = (sentence.x + j) * p.dy_stride + p.dy_first;
            let of_x = (sentence.x + i) * p.x_stride + p.x_first;
            for (var column = zero(workgroup) + lane; column < p.width; column += LANES) {
                sum = fma(dy[of_dy + column], x[of_x + column], sum);
            }
        }
        row = sentence.y;
    }
    sum = reduce_sum(lane, sum);
    if (lane == 0u && j < p.rank) {
        dfactors[j * p.factor_stride + i] += sum;
    }
}
