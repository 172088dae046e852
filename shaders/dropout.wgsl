// y = earlier + x ⊙ mask · factor: elements whose random word is below the threshold are dropped. Srivastava et al. 2014;
// the factor is 1 / (1 - probability). Four elements per invocation. The gradient is the same function of dy.
// uses: shared/random_words.wgsl, shared/philox.wgsl, shared/grid.wgsl

struct Params {
    rows: u32,
    width: u32,        // elements of a row, without padding
    place: u32,        // in the model: each has its own random words
    threshold: u32,    // probability · 2³²
    factor: f32,       // of kept elements
    has_earlier: u32,
}

@group(0) @binding(0) var<storage, read>       x: array<vec4<f32>>;        // [rows, width]
@group(0) @binding(1) var<storage, read>       earlier: array<vec4<f32>>;  // [rows, width]
@group(0) @binding(2) var<storage, read>       step_state: array<u32>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4<f32>>;        // [rows, width]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let at = flat_workgroup(workgroup, workgroups) * 64u + lane;
    let quads = (p.width + 3u) / 4u;
    if (at >= p.rows * quads) {
        return;
    }
    let column = 4u * (at % quads);
    var value = x[at];
    if (p.threshold != 0u) {
        let words = words_from(at / quads * p.width + column);
        value = select(value * p.factor, vec4(0.0), words < vec4(p.threshold));
    }
    if (p.has_earlier != 0u) {
        value += earlier[at];
    }
    y[at] = select(vec4(0.0), value, vec4(column) + vec4(0u, 1u, 2u, 3u) < vec4(p.width));
}

// The words of four neighbouring elements, which may begin inside a block.
fn words_from(element: u32) -> vec4<u32> {
    let block = element / 4u;
    let words = random_words(block);
    let offset = element % 4u;
    if (offset == 0u) {
        return words;
    }
    let next = random_words(block + 1u);
    if (offset == 1u) {
        return vec4(words.yzw, next.x);
    }
    if (offset == 2u) {
        return vec4(words.zw, next.xy);
    }
    return vec4(words.w, next.xyz);
}
