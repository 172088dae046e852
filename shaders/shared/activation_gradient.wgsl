// The derivatives of the functions of shared/activation.wgsl. Inputs are clamped where a derivative has reached its
// limit in f32, so that squares do not overflow.
// uses: shared/activation.wgsl
fn activation_gradient(x: vec4<f32>, activation: u32) -> vec4<f32> {
    switch (activation) {
        case 1u: { return select(vec4(0.0), vec4(1.0), x > vec4(0.0)); }
        case 2u: {
            // Φ(x) + x φ(x)
            let z = clamp(x, vec4(-13.0), vec4(13.0));
            return 0.5 * (1.0 + erf(z * 0.70710678)) + z * 0.39894228 * exp(-0.5 * z * z);
        }
        case 3u: {
            let z = clamp(x, vec4(-10.0), vec4(10.0));
            let s = sigmoid(1.59576912 * (z + 0.044715 * z * z * z));
            return s + z * s * (1.0 - s) * 1.59576912 * (1.0 + 0.134145 * z * z);
        }
        case 4u: { return swish_gradient(x, 1.702); }
        case 5u: { return swish_gradient(x, 1.0); }
        case 6u: {
            let s = sigmoid(x);
            return s * (1.0 - s);
        }
        case 7u: {
            let s = sigmoid(2.0 * x);
            return 4.0 * s * (1.0 - s);
        }
        default: { return vec4(1.0); }
    }
}

// The derivative of x σ(a x).
fn swish_gradient(x: vec4<f32>, a: f32) -> vec4<f32> {
    let z = a * clamp(x, vec4(-80.0), vec4(80.0));
    let s = sigmoid(z);
    return s + z * s * (1.0 - s);
}
