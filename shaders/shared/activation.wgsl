// The functions of `activation.rs`, in its order.
fn activate(x: vec4<f32>, activation: u32) -> vec4<f32> {
    switch (activation) {
        case 1u: { return max(x, vec4(0.0)); }
        case 2u: { return 0.5 * x * (1.0 + erf(x * 0.70710678)); }
        case 3u: { return x * sigmoid(1.59576912 * (x + 0.044715 * x * x * x)); }  // (1 + tanh u) / 2 = sigmoid(2u)
        case 4u: { return x * sigmoid(1.702 * x); }
        case 5u: { return x * sigmoid(x); }
        case 6u: { return sigmoid(x); }
        case 7u: { return 2.0 * sigmoid(2.0 * x) - 1.0; }
        default: { return x; }
    }
}

// Clamped at values that are 0 or 1 in f32, so that exp does not overflow.
fn sigmoid(x: vec4<f32>) -> vec4<f32> {
    return 1.0 / (1.0 + exp(-clamp(x, vec4(-80.0), vec4(80.0))));
}

// Abramowitz & Stegun 1964, 7.1.26: absolute error below 1.5e-7, and exactly 1 where exp is 0.
fn erf(x: vec4<f32>) -> vec4<f32> {
    let z = min(abs(x), vec4(9.0));
    let t = 1.0 / (1.0 + 0.3275911 * z);
    let polynomial = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    return sign(x) * (1.0 - polynomial * exp(-z * z));
}
