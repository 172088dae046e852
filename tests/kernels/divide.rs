//! The division of a search on the device, exact to the bit.

use wordloom::kernels::{Access, Dispatch, Kernel};

use crate::common::{device_test, gpu};
use crate::{random, read, run, untouched, upload};

static QUOTIENTS: Kernel = Kernel {
    name: "quotients",
    wgsl: &[include_str!("../data/quotients.wgsl"), include_str!("../../shaders/shared/divide.wgsl")],
    storage: &[Access::Read, Access::Write],
    params: &[],
};

#[device_test]
async fn quotients_are_rounded_as_on_a_cpu() {
    const COUNT: usize = 4096;
    let gpu = gpu().await;
    // sums of log-probabilities, and powers of lengths
    let mut pairs: Vec<f32> = Vec::new();
    for (index, value) in random(3, COUNT).into_iter().enumerate() {
        let sum = -100.0 * (value.abs() + 1e-6) * 0.1f32.powi((index % 7) as i32);
        let length = (1 + index % 513) as f64;
        let divisor = length.powf([1.0, -1.0, 0.6, 2.0, 0.0][index % 5]) as f32;
        pairs.extend([if index == 5 { 0.0 } else { sum }, divisor]);
    }
    let input = upload(&gpu, &pairs);
    let output = untouched(&gpu, COUNT);
    let dispatch = Dispatch {
        kernel: &QUOTIENTS,
        constants: vec![],
        params: vec![],
        workgroups: [COUNT as u32 / 64, 1, 1],
    };
    run(&gpu, &[(dispatch, vec![&input, &output])]);
    let got: Vec<f32> = read(&gpu, &output).await;
    for (pair, got) in pairs.chunks_exact(2).zip(got) {
        let want = pair[0] / pair[1];
        assert_eq!(got.to_bits(), want.to_bits(), "{} / {}: got {got}, want {want}", pair[0], pair[1]);
    }
}
