//! Models on the CPU and on the GPU: searches, queues, scores, precisions, limits.

#[path = "../common/mod.rs"]
mod common;
#[path = "../decode/toy_search.rs"]
mod toy_search;

mod device_search;
mod eight_bits;
mod encoder;
mod family_files;
mod firefox;
mod firefox_parity;
mod limits;
mod loading;
mod queue;
mod random_models;
mod same_bits;
mod sampling;
mod score;
mod start;
