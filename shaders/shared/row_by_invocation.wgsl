// A row's best token and log Σ exp from its chunks, by one invocation: for software adapters. Alternative:
// shared/row_by_workgroup.wgsl.
// uses: the binding `chunks`, p.chunks; shared/log_sum_exp.wgsl, shared/candidate.wgsl, shared/masked.wgsl, shared/grid.wgsl
const LANES: u32 = 8u;

fn row_of(group: u32, lane: u32) -> u32 {
    return group * LANES + lane;
}

// Whether an invocation writes the row's result.
fn writes(lane: u32) -> bool {
    return true;
}

fn best_of_row(row: u32, lane: u32, zero: u32) -> Candidate {
    var best = NONE;
    for (var chunk = zero; chunk < p.chunks; chunk++) {
        let at = 4u * (row * p.chunks + chunk);
        let candidate = Candidate(bitcast<f32>(chunks[at]), chunks[at + 1u]);
        if (is_before(candidate, best)) {
            best = candidate;
        }
    }
    return best;
}

fn log_sum_exp_of_row(row: u32, lane: u32, zero: u32) -> vec2<f32> {
    return log_sum_exp(row, zero);
}
