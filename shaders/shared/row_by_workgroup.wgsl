// A row's best token and log Σ exp from its chunks, by one workgroup: for GPUs, where one invocation would wait for
// each read. The last two functions need uniform control flow.
// uses: the binding `chunks`, p.chunks; shared/reduce.wgsl, shared/candidate.wgsl, shared/masked.wgsl
var<workgroup> lane_tokens: array<u32, LANES>;

fn row_of(group: u32, lane: u32) -> u32 {
    return group;
}

// Whether an invocation writes the row's result.
fn writes(lane: u32) -> bool {
    return lane == 0u;
}

// The best over the lanes.
fn best_of_lanes(lane: u32, candidate: Candidate) -> Candidate {
    lanes[lane] = candidate.value;
    lane_tokens[lane] = candidate.token;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if (lane < half) {
            let other = Candidate(lanes[lane + half], lane_tokens[lane + half]);
            if (is_before(other, Candidate(lanes[lane], lane_tokens[lane]))) {
                lanes[lane] = other.value;
                lane_tokens[lane] = other.token;
            }
        }
        workgroupBarrier();
    }
    let best = Candidate(lanes[0], lane_tokens[0]);
    workgroupBarrier();  // before the next reduction overwrites it
    return best;
}

// Lane l reads the chunks l, l + LANES, ...
fn best_of_row(row: u32, lane: u32, zero: u32) -> Candidate {
    var best = NONE;
    for (var chunk = zero + lane; chunk < p.chunks; chunk += LANES) {
        let at = 4u * (row * p.chunks + chunk);
        let candidate = Candidate(bitcast<f32>(chunks[at]), chunks[at + 1u]);
        if (is_before(candidate, best)) {
            best = candidate;
        }
    }
    return best_of_lanes(lane, best);
}

// As log_sum_exp of shared/log_sum_exp.wgsl.
fn log_sum_exp_of_row(row: u32, lane: u32, zero: u32) -> vec2<f32> {
    let start = 4u * row * p.chunks;
    var maximum = MASKED;
    for (var chunk = zero + lane; chunk < p.chunks; chunk += LANES) {
        maximum = max(maximum, bitcast<f32>(chunks[start + 4u * chunk + 2u]));
    }
    maximum = reduce_max(lane, maximum);
    var sum = 0.0;
    for (var chunk = zero + lane; chunk < p.chunks; chunk += LANES) {
        let at = start + 4u * chunk;
        sum += bitcast<f32>(chunks[at + 3u]) * exp(bitcast<f32>(chunks[at + 2u]) - maximum);
    }
    sum = reduce_sum(lane, sum);
    // a row with only banned tokens has no sum
    return vec2<f32>(maximum, log(select(sum, 1.0, sum == 0.0)));
}
