//! Kernels that a device does not get: a check found them wrong or slow, or they need more than the device allows.

use std::collections::BTreeSet;

use super::Kernel;

/// The kernels that are passed over on a device, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassedOver {
    /// Kernels that compute wrong numbers. They never run.
    pub wrong: BTreeSet<String>,
    /// Kernels that are much slower than the other class's for the same operator. They run only if no other kernel can.
    pub slow: BTreeSet<String>,
    /// Storage buffers that the device binds at once, if they are fewer than WebGPU's default.
    pub storage_buffers: Option<usize>,
}

/// How bad a list of kernels is. Smaller is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flaws {
    wrong: bool,
    slow: bool,
}

impl Flaws {
    /// Whether no kernel is passed over.
    pub fn are_none(self) -> bool {
        !self.wrong && !self.slow
    }
}

impl PassedOver {
    /// Whether no kernel is passed over.
    pub fn is_empty(&self) -> bool {
        self.wrong.is_empty() && self.slow.is_empty() && self.storage_buffers.is_none()
    }

    /// Whether the kernel computes wrong numbers.
    pub fn is_wrong(&self, kernel: &Kernel) -> bool {
        self.wrong.contains(kernel.name)
    }

    /// Whether the kernel binds more storage buffers than the device.
    pub fn is_too_much(&self, kernel: &Kernel) -> bool {
        self.storage_buffers.is_some_and(|most| kernel.storage.len() > most)
    }

    /// The flaws of kernels that run one after the other.
    pub fn flaws<'a>(&self, kernels: impl Iterator<Item = &'a Kernel>) -> Flaws {
        let mut flaws = Flaws { wrong: false, slow: false };
        for kernel in kernels {
            flaws.wrong |= self.is_wrong(kernel) || self.is_too_much(kernel);
            flaws.slow |= self.slow.contains(kernel.name);
        }
        flaws
    }

    /// The better of two alternatives; the first if they are equal.
    pub fn better<T>(&self, alternatives: [T; 2], kernel: impl Fn(&T) -> &'static Kernel) -> T {
        let [first, second] = alternatives;
        let flaws = |it: &T| self.flaws([kernel(it)].into_iter());
        if flaws(&second) < flaws(&first) { second } else { first }
    }
}
