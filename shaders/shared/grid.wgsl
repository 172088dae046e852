// The index of a workgroup in a launch over x and y, because an axis holds 65,535 workgroups.
fn flat_workgroup(workgroup: vec3<u32>, workgroups: vec3<u32>) -> u32 {
    return workgroup.y * workgroups.x + workgroup.x;
}

// Zero, unknown to the compiler, as the start of loops with a bound from `Params`: Mesa 22's lavapipe knows the uniform
// buffer, and would recompile the shader for each dispatch to unroll the loop.
fn zero(workgroup: vec3<u32>) -> u32 {
    return workgroup.z;
}
