// Philox4x32-10, a random number generator without state: Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2,
// 3", section 3.3; the constants are those of Random123.

// The 64-bit product of two words: low, high.
fn wide_product(a: u32, b: u32) -> vec2<u32> {
    let a_low = a & 0xffffu;
    let a_high = a >> 16u;
    let b_low = b & 0xffffu;
    let b_high = b >> 16u;
    // each sum fits into 32 bits
    let first = a_high * b_low + ((a_low * b_low) >> 16u);
    let second = a_low * b_high + (first & 0xffffu);
    return vec2(a * b, a_high * b_high + (first >> 16u) + (second >> 16u));
}

// Four random words.
fn philox(counter: vec4<u32>, key: vec2<u32>) -> vec4<u32> {
    var c = counter;
    var k = key;
    for (var i = 0u; i < 10u; i++) {
        let a = wide_product(0xd2511f53u, c.x);
        let b = wide_product(0xcd9e8d57u, c.z);
        c = vec4(b.y ^ c.y ^ k.x, b.x, a.y ^ c.w ^ k.y, a.x);
        k += vec2(0x9e3779b9u, 0xbb67ae85u);
    }
    return c;
}
