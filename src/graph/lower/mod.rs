//! Lowering: turns a plan into kernel launches as plain data, without a device.

mod fuse;
mod launch;
mod lowering;
mod matrix_units;
mod trusted;

use std::fmt;

pub use launch::{Binding, Launch};
pub use lowering::{Lowering, Target};

use super::buffers::Buffers;
use super::plan::Plan;
use super::values::{Home, ValueInfo};
use crate::kernels::Access;

/// The launches of a plan, and the values that they bind.
#[derive(Clone, Debug)]
pub struct LaunchList {
    /// Name of the plan.
    pub label: String,
    /// Launches in order.
    pub launches: Vec<Launch>,
    /// Bytes of the buffers that each launch reads and writes.
    pub bytes: Vec<[u64; 2]>,
    pub(super) values: Vec<ValueInfo>,
    pub(super) buffers: Buffers,
}

impl Plan {
    /// Lowers the plan for a target.
    pub fn lower(&self, target: &Target) -> LaunchList {
        let mut lowering = Lowering::new(target, self.graph.values.clone());
        trusted::lower(&self.graph.nodes, &mut lowering, target);
        let Lowering { values, launches, .. } = lowering;
        let is_state =
            |bound| matches!(bound, Binding::Value(value) if values[value.0].home != Home::Planned);
        let mut launches = fuse::fuse(launches, &target.passed_over, is_state);
        // no browser offers them, and a page goes without their text
        if target.matrix_units && cfg!(not(target_arch = "wasm32")) {
            matrix_units::take(&mut launches, &target.passed_over);
        }
        let buffers = Buffers::share(&values, launches.iter().map(Launch::touches));
        let bytes_of = |bound| match bound {
            Binding::Value(value) => 4 * values[value.0].stored_elements() as u64,
            Binding::Weight { index, part } => 4 * target.parts[index][part].elements as u64,
            Binding::Nothing => 0,
        };
        let bytes = launches.iter().map(|launch| {
            [Access::Read, Access::Write].map(|wanted| {
                let bound = launch.accesses().filter(|(_, access)| *access == wanted);
                bound.map(|(bound, _)| bytes_of(bound)).sum()
            })
        });
        LaunchList { label: self.graph.label.clone(), bytes: bytes.collect(), launches, values, buffers }
    }
}

/// Writes totals, then one line per launch: number, place, kernel, workgroups, bytes read and written.
impl fmt::Display for LaunchList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { label, launches, bytes, buffers, .. } = self;
        let [read, written] = [0, 1].map(|side| bytes.iter().map(|bytes| bytes[side]).sum::<u64>());
        let (count, shared) = (launches.len(), buffers.elements.len());
        let shared_bytes = buffers.elements.iter().sum::<usize>() * 4;
        writeln!(
            f,
            "{label}: {count} launches, {read} bytes read and {written} written, {shared} shared buffers of {shared_bytes} bytes"
        )?;
        for (index, (launch, [read, written])) in launches.iter().zip(bytes).enumerate() {
            let [x, y, z] = launch.dispatch.workgroups;
            let (place, kernel, groups) =
                (&launch.place, launch.dispatch.kernel.name, format!("{x}×{y}×{z}"));
            writeln!(f, "{index:>4}  {place:<24} {kernel:<36} {groups:>9} {read:>10} {written:>9}")?;
        }
        Ok(())
    }
}
