//! Linear layers of many rows move to the device's matrix units. A kernel that is passed over on the device is not used.

use super::launch::Launch;
use crate::kernels::{PassedOver, matrix_units};

/// Replaces the launches that have a form for matrix units.
pub(super) fn take(launches: &mut [Launch], passed_over: &PassedOver) {
    for launch in launches {
        let form = matrix_units::dispatch(&launch.dispatch);
        if let Some(form) = form.filter(|form| passed_over.flaws([form.kernel].into_iter()).are_none()) {
            launch.dispatch = form;
        }
    }
}
