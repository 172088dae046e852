//! Panics that the tokenizers library makes and Wordloom catches.

/// libFuzzer's hook aborts; a panic that is caught becomes an error.
pub fn leave_to_wordloom() {
    let abort = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !wordloom::text::panic_is_caught() {
            abort(panic);
        }
    }));
}
