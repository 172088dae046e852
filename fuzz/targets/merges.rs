//! `readers::merges`

#![no_main]

#[path = "../readers.rs"]
#[allow(dead_code)]
mod readers;

libfuzzer_sys::fuzz_target!(
    init: {
        // libFuzzer's hook aborts; a panic of the tokenizers library is caught and becomes an error
        let abort = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !wordloom::text::panic_is_caught() {
                abort(panic);
            }
        }));
    },
    |bytes: &[u8]| {
        readers::merges(bytes);
    }
);
