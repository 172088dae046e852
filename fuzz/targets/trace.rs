//! Trace files come from anywhere. Whatever stands in one, reading it says what is wrong, or gives a trace of which every view
//! can be made.

#![no_main]

#[path = "../readers.rs"]
#[allow(dead_code)]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    readers::trace(bytes);
});
