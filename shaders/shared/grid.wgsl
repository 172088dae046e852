// The index of a workgroup in a launch whose workgroups are spread over x and y, because an axis holds 65,535 of them.
fn flat_workgroup(workgroup: vec3<u32>, workgroups: vec3<u32>) -> u32 {
    return workgroup.y * workgroups.x + workgroup.x;
}
