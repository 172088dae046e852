// The best candidates of each row from those of its chunks, best first, equal ones by ascending token; one row per
// invocation. Values become log-probabilities by subtracting the row's log Σ exp.
// uses: shared/log_sum_exp.wgsl, shared/masked.wgsl, shared/grid.wgsl
override NORMALIZE: bool = true;

struct Params {
    rows: u32,
    chunks: u32,
    candidates: u32,
    statistics_stride: u32,  // of one chunk
}

@group(0) @binding(0) var<storage, read>       chunk_tops: array<u32>;  // [rows, chunks, maximum | sum | values | tokens]
@group(0) @binding(1) var<storage, read>       statistics: array<u32>;  // [rows, chunks, maximum | sum | ...]
@group(0) @binding(2) var<storage, read_write> top: array<u32>;         // [rows, values | tokens]
@group(1) @binding(0) var<uniform> p: Params;

const LANES: u32 = 8u;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = flat_workgroup(workgroup, workgroups) * LANES + lane;
    if (row >= p.rows) {
        return;
    }
    var origin = vec2<f32>();
    if (NORMALIZE) {
        origin = log_sum_exp(row);
    }
    let chunk_stride = 2u + 2u * p.candidates;
    let out = row * 2u * p.candidates;
    var last = -MASKED;
    var last_token = 0u;
    for (var i = 0u; i < p.candidates; i++) {
        var best = MASKED;
        var best_token = NO_TOKEN;
        for (var chunk = 0u; chunk < p.chunks; chunk++) {
            let values = (row * p.chunks + chunk) * chunk_stride + 2u;
            let tokens = values + p.candidates;
            // the chunk's list is sorted: skip what has been taken, look at one more
            for (var j = 0u; j < p.candidates; j++) {
                let value = bitcast<f32>(chunk_tops[values + j]);
                let token = chunk_tops[tokens + j];
                if (value < last || (value == last && token > last_token)) {
                    if (value > best || (value == best && token < best_token)) {
                        best = value;
                        best_token = token;
                    }
                    break;
                }
            }
        }
        // where no token is left, a maximum that is MASKED itself must not cancel; a sum that is NaN stays visible
        let value = select(best - origin.x, MASKED, best_token == NO_TOKEN) - origin.y;
        top[out + i] = bitcast<u32>(value);
        top[out + p.candidates + i] = best_token;
        last = best;
        last_token = best_token;
    }
}
