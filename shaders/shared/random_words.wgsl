// The random words of a place in the model in a step. An element of a value has word `element % 4` of block `element / 4`.
// uses: shared/philox.wgsl; the binding `step_state`, whose first words are the seed (low, high) and the step (low, high);
// p.place
fn random_words(block: u32) -> vec4<u32> {
    let counter = vec4(block, p.place, step_state[2], step_state[3]);
    return philox(counter, vec2(step_state[0], step_state[1]));
}
