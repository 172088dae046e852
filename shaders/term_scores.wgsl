// The answer to a step of a search with terms: the best tokens as they are, the scores of the tokens that the host wants
// besides, and the attention of the row, as the mean over heads. One word of the answer per invocation.
// uses: shared/log_sum_exp.wgsl, shared/masked.wgsl, shared/grid.wgsl
override NORMALIZE: bool = true;

struct Params {
    rows: u32,
    vocabulary: u32,
    logits_stride: u32,
    chunks: u32,            // per row
    best: u32,              // words of a row of `top`
    wanted: u32,            // wanted tokens of a row
    source: u32,            // source tokens of a row; 0 without attention
    attention_stride: u32,
    heads: u32,
    beams: u32,             // rows per sentence
}

@group(0) @binding(0) var<storage, read>       logits: array<f32>;     // [rows, vocabulary]
@group(0) @binding(1) var<storage, read>       chunks: array<u32>;     // see vocabulary_chunks.wgsl
@group(0) @binding(2) var<storage, read>       top: array<u32>;        // [rows, best]
@group(0) @binding(3) var<storage, read>       wanted: array<u32>;     // [rows, wanted]
@group(0) @binding(4) var<storage, read>       attention: array<f32>;  // [sentences * heads * beams, source]
@group(0) @binding(5) var<storage, read_write> answer: array<u32>;     // [rows, best + wanted + source]
@group(1) @binding(0) var<uniform> p: Params;

const LANES: u32 = 32u;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * LANES + lane;
    let width = p.best + p.wanted + p.source;
    let row = index / width;
    let place = index % width;
    if (row >= p.rows) {
        return;
    }
    if (place < p.best) {
        answer[index] = top[row * p.best + place];
        return;
    }
    if (place >= p.best + p.wanted) {
        let first = row / p.beams * p.heads * p.beams + row % p.beams;
        var sum = 0.0;
        for (var head = zero(workgroup); head < p.heads; head++) {
            sum += attention[(first + head * p.beams) * p.attention_stride + place - p.best - p.wanted];
        }
        answer[index] = bitcast<u32>(sum / f32(p.heads));
        return;
    }
    let token = wanted[row * p.wanted + place - p.best];
    var score = MASKED;
    if (token < p.vocabulary) {
        let logit = logits[row * p.logits_stride + token];
        if (logit != MASKED) {
            var origin = vec2<f32>();
            if (NORMALIZE) {
                origin = log_sum_exp(row, zero(workgroup));
            }
            score = logit - origin.x - origin.y;
        }
    }
    answer[index] = bitcast<u32>(score);
}
