// The cross-entropy of a row of logits with a label, with label smoothing (Szegedy et al. 2016, section 7), and its
// gradient in place of the logits: weight · (softmax - (1 - ε) · onehot - ε / vocabulary). One workgroup per row. A row
// whose label is no token counts nothing, and has a zero gradient.
// uses: shared/masked.wgsl, shared/grid.wgsl
override GRADIENT: bool = true;  // else the logits stay
const LANES: u32 = 256u;

struct Params {
    rows: u32,         // of the logits
    vocabulary: u32,
    first_row: u32,    // of these logits in labels and losses
    smoothing: f32,    // ε
    weight_word: u32,  // of the step state: f32, the factor of every gradient
}

@group(0) @binding(0) var<storage, read>       labels: array<u32>;        // [all rows]
@group(0) @binding(1) var<storage, read>       step_state: array<u32>;
@group(0) @binding(2) var<storage, read_write> logits: array<vec4<f32>>;  // [rows, vocabulary]
// [all rows, 4]: -log p(label), the smoothed loss, whether the label is the first maximum, whether the row counts
@group(0) @binding(3) var<storage, read_write> losses: array<vec4<f32>>;
@group(1) @binding(0) var<uniform> p: Params;

// maximum, sum of exponentials relative to it, sum of logits
var<workgroup> parts: array<vec3<f32>, LANES>;
var<workgroup> places: array<u32, LANES>;  // of the first maximum

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
    let quads = (p.vocabulary + 3u) / 4u;
    let start = row * quads;
    let label = labels[p.first_row + row];
    let counts = label < p.vocabulary;
    let label_quad = min(label, p.vocabulary - 1u) / 4u;
    let label_logit = logits[start + label_quad][label % 4u];

    sum_of_lane(lane, start, quads, zero(workgroup));
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if (lane < half) {
            join_lanes(lane, lane + half);
        }
        workgroupBarrier();
    }
    let of_row = parts[0];
    let log_sum = log(of_row.y);
    if (lane == 0u) {
        let loss = (of_row.x - label_logit) + log_sum;
        let smooth_part = (of_row.x - of_row.z / f32(p.vocabulary)) + log_sum;
        let smoothed = (1.0 - p.smoothing) * loss + p.smoothing * smooth_part;
        let correct = select(0.0, 1.0, places[0] == label);
        losses[p.first_row + row] = select(vec4(0.0), vec4(loss, smoothed, correct, 1.0), counts);
    }
    if (GRADIENT) {
        let weight = select(0.0, bitcast<f32>(step_state[p.weight_word]), counts);
        let uniform_part = p.smoothing / f32(p.vocabulary);
        for (var quad = zero(workgroup) + lane; quad < quads; quad += LANES) {
            let token = vec4(4u * quad) + vec4(0u, 1u, 2u, 3u);
            let hot = select(vec4(0.0), vec4(1.0 - p.smoothing), token == vec4(label));
            let gradient = weight * (exp(logits[start + quad] - of_row.x) / of_row.y - hot - uniform_part);
            logits[start + quad] = select(vec4(0.0), gradient, vec4(counts) & (token < vec4(p.vocabulary)));
        }
    }
}

// Notes what a lane's quads have.
fn sum_of_lane(lane: u32, start: u32, quads: u32, zero: u32) {
    var maximum = MASKED;
    var place = 0u;
    var sum = vec4(0.0);
    var total = vec4(0.0);
    for (var quad = zero + lane; quad < quads; quad += LANES) {
        let token = vec4(4u * quad) + vec4(0u, 1u, 2u, 3u);
        let inside = token < vec4(p.vocabulary);
        let of_quad = logits[start + quad];
        let values = select(vec4(MASKED), of_quad, inside);
        total += select(vec4(0.0), of_quad, inside);
        let best = max(max(values.x, values.y), max(values.z, values.w));
        if (best > maximum) {
            let first = select(select(select(3u, 2u, values.z == best), 1u, values.y == best), 0u, values.x == best);
            place = 4u * quad + first;
            sum *= exp(maximum - best);
            maximum = best;
        }
        sum += select(vec4(0.0), exp(values - maximum), inside);
    }
    parts[lane] = vec3(maximum, dot(sum, vec4(1.0)), dot(total, vec4(1.0)));
    places[lane] = place;
}

// Adds what lane `b` noted to what lane `a` noted.
fn join_lanes(a: u32, b: u32) {
    let of_a = parts[a];
    let of_b = parts[b];
    let maximum = max(of_a.x, of_b.x);
    let sum = of_a.y * exp(of_a.x - maximum) + of_b.y * exp(of_b.x - maximum);
    parts[a] = vec3(maximum, sum, of_a.z + of_b.z);
    if (of_b.x > of_a.x || (of_b.x == of_a.x && places[b] < places[a])) {
        places[a] = places[b];
    }
}
