//! `readers::merges`

#![no_main]

#[path = "../caught.rs"]
mod caught;
#[path = "../readers.rs"]
#[allow(dead_code)]
mod readers;

libfuzzer_sys::fuzz_target!(init: caught::leave_to_wordloom(), |bytes: &[u8]| {
    readers::merges(bytes);
});
