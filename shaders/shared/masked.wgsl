// Minus infinity, which WGSL cannot express: far below any score, and finite when multiplied by log2(e).
const MASKED: f32 = -1.0e38;
