//! Batch norm and its gradients: torch's numbers on the CPU and on the device.

use serde_json::Value;
use wordloom::cpu::{self, BATCH_NORM_MOMENTUM, BatchNormGradient};
use wordloom::kernels::batch_norm::{
    BatchNormShape, dispatch, gradient_dispatch, statistics_dispatch, sums_dispatch,
};

use super::{TOLERANCE, assert_near, run_twice};
use crate::common::{data, device_test, gpu, read};
use crate::{UNTOUCHED, pad, unpad, upload, upload_u32};

struct Case {
    shape: BatchNormShape,
    json: Value,
    /// Sentences of the rows; the last rows belong to none.
    ranges: Vec<u32>,
}

impl Case {
    fn all() -> Vec<Self> {
        let json: Value = serde_json::from_slice(&read(&data("batch_norm.json"))).expect("sound JSON");
        let number = |json: &Value, key: &str| json[key].as_u64().expect("a number") as usize;
        assert_eq!(json["momentum"].as_f64().map(|momentum| momentum as f32), Some(BATCH_NORM_MOMENTUM));
        let epsilon = json["epsilon"].as_f64().expect("a number") as f32;
        let cases = json["cases"].as_array().expect("a list");
        cases
            .iter()
            .map(|json| {
                let [rows, width, used] = ["rows", "width", "used"].map(|key| number(json, key));
                let shape = BatchNormShape { rows, width, epsilon, momentum: BATCH_NORM_MOMENTUM };
                let end = used as u32;
                let ranges = (0..rows).flat_map(|row| if row < used { [0, end] } else { [0, 0] }).collect();
                Self { shape, json: json.clone(), ranges }
            })
            .collect()
    }

    fn want(&self, key: &str) -> Vec<f64> {
        self.json[key].as_array().expect("a list").iter().map(|value| value.as_f64().unwrap()).collect()
    }

    fn input(&self, key: &str) -> Vec<f32> {
        self.want(key).into_iter().map(|value| value as f32).collect()
    }

    /// Means, then variances.
    fn running(&self, prefix: &str) -> Vec<f32> {
        [self.input(&format!("{prefix}_mean")), self.input(&format!("{prefix}_var"))].concat()
    }

    /// The gradient of x with zeros for rows of no sentence.
    fn dx(&self) -> Vec<f64> {
        let mut dx = self.want("dx");
        dx.resize(self.shape.rows * self.shape.width, 0.0);
        dx
    }

    fn check(&self, what: &str, key: &str, got: &[f32]) {
        let want = if key == "dx" { self.dx() } else { self.want(key) };
        assert_near(&format!("{what}: {key}"), &got[..want.len()], &want, TOLERANCE);
    }
}

#[device_test]
async fn the_cpu_has_torch_s_numbers() {
    for case in Case::all() {
        let BatchNormShape { width, epsilon, .. } = case.shape;
        let [x, dy, gamma, beta] = ["x", "dy", "gamma", "beta"].map(|key| case.input(key));
        let (mut statistics, mut running) = (vec![f32::NAN; 2 * width], case.running("running"));
        let mut y = vec![f32::NAN; x.len()];
        cpu::batch_norm(&x, &running, [&gamma, &beta], epsilon, &mut y);
        case.check("CPU", "inference", &y);
        cpu::batch_statistics(&x, &case.ranges, &mut statistics, &mut running);
        case.check("CPU", "new_mean", &running[..width]);
        case.check("CPU", "new_var", &running[width..]);
        cpu::batch_norm(&x, &statistics, [&gamma, &beta], epsilon, &mut y);
        case.check("CPU", "y", &y);
        let (ranges, gamma) = (&case.ranges[..], &gamma[..]);
        let norm = BatchNormGradient { x: &x, ranges, statistics: &statistics, gamma, epsilon, dy: &dy };
        let (mut means, mut dgamma, mut dx) = (vec![f32::NAN; 2 * width], vec![f32::NAN; width], y.clone());
        cpu::batch_norm_sums(norm, &mut means, &mut dgamma);
        cpu::batch_norm_gradient(norm, &means, &mut dx);
        case.check("CPU", "dgamma", &dgamma);
        case.check("CPU", "dx", &dx);
    }
}

#[device_test]
async fn the_device_has_torch_s_numbers() {
    let gpu = gpu().await;
    for case in Case::all() {
        let BatchNormShape { rows, width, .. } = case.shape;
        let [x, dy] = ["x", "dy"].map(|key| upload(&gpu, &pad(&case.input(key), width, 0.0)));
        let [gamma, beta] = ["gamma", "beta"].map(|key| upload(&gpu, &pad(&case.input(key), width, 0.0)));
        let ranges = upload_u32(&gpu, &case.ranges);
        let padded = |count: usize| vec![UNTOUCHED; count.next_multiple_of(4)];
        let all = || vec![UNTOUCHED; rows * width.next_multiple_of(4)];
        let what = format!("{rows} × {width}");

        let running = pad(&case.running("running"), 2 * width, 0.0);
        let before = upload(&gpu, &running);
        let y = run_twice(&gpu, &dispatch(&case.shape), &[&x, &before, &gamma, &beta], &[all()]).await;
        case.check(&what, "inference", &unpad(&what, &y[0], rows, width));
        let made =
            run_twice(&gpu, &statistics_dispatch(&case.shape), &[&x, &ranges], &[running, padded(2 * width)])
                .await;
        case.check(&what, "new_mean", &made[0][..width]);
        case.check(&what, "new_var", &made[0][width..]);
        let statistics = upload(&gpu, &made[1]);
        let y = run_twice(&gpu, &dispatch(&case.shape), &[&x, &statistics, &gamma, &beta], &[all()]).await;
        case.check(&what, "y", &unpad(&what, &y[0], rows, width));
        let inputs = [&x, &ranges, &statistics, &dy];
        let outputs = [padded(2 * width), padded(width)];
        let sums = run_twice(&gpu, &sums_dispatch(&case.shape), &inputs, &outputs).await;
        case.check(&what, "dgamma", &unpad(&what, &sums[1], 1, width));
        let means = upload(&gpu, &sums[0]);
        let inputs = [&x, &ranges, &statistics, &gamma, &dy, &means];
        let dx = run_twice(&gpu, &gradient_dispatch(&case.shape), &inputs, &[all()]).await;
        case.check(&what, "dx", &unpad(&what, &dx[0], rows, width));
    }
}
