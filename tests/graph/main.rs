//! Graphs, their gradients and their launches, without a device.

#[path = "../common/mod.rs"]
mod common;

mod gradients;
mod lowering;
mod plans;
