// Order of selection: descending value, then ascending token.
// uses: shared/masked.wgsl

struct Candidate {
    value: f32,
    token: u32,
}

// Before all others.
const FIRST = Candidate(-MASKED, 0u);
// After all allowed tokens, before banned ones.
const NONE = Candidate(MASKED, 0u);

fn is_before(a: Candidate, b: Candidate) -> bool {
    return a.value > b.value || (a.value == b.value && a.token < b.token);
}
