// The index of a workgroup in a launch whose workgroups are spread over x and y, because an axis holds 65,535 of them.
fn flat_workgroup(workgroup: vec3<u32>, workgroups: vec3<u32>) -> u32 {
    return workgroup.y * workgroups.x + workgroup.x;
}

// Zero, which a compiler does not know. A loop whose bound comes from `Params` begins here: Mesa 22's lavapipe compiles a
// shader anew for every dispatch, at milliseconds each, where it could unroll a loop if it knew the uniform buffer.
fn zero(workgroup: vec3<u32>) -> u32 {
    return workgroup.z;
}
