// Sums and maxima over the 64 lanes of a workgroup, in uniform control flow.
const LANES: u32 = 64u;
var<workgroup> lanes: array<f32, LANES>;

fn reduce_sum(lane: u32, value: f32) -> f32 {
    lanes[lane] = value;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if (lane < half) {
            lanes[lane] += lanes[lane + half];
        }
        workgroupBarrier();
    }
    let sum = lanes[0];
    workgroupBarrier();  // before the next reduction overwrites it
    return sum;
}

fn reduce_max(lane: u32, value: f32) -> f32 {
    lanes[lane] = value;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if (lane < half) {
            lanes[lane] = max(lanes[lane], lanes[lane + half]);
        }
        workgroupBarrier();
    }
    let maximum = lanes[0];
    workgroupBarrier();
    return maximum;
}
