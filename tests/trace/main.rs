//! What a model shows of itself: traces, taps, explanations.

#[path = "../common/mod.rs"]
mod common;

mod bands;
mod explain;
mod taps;
mod traced_taps;
mod traces;
