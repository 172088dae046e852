//! Serves folders as repositories of a hub, to try things without the internet:
//!
//! ```sh
//! cargo run --package wordloom-hub --example test_hub -- Helsinki-NLP/opus-mt-en-fr tests/data/models/marian_tied
//! HF_ENDPOINT=http://127.0.0.1:PORT HF_HOME=/tmp/hf wordloom translate --model Helsinki-NLP/opus-mt-en-fr Hello
//! ```

use std::path::Path;

use wordloom_hub::testing::TestHub;

fn main() {
    let server = TestHub::start();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    for pair in arguments.chunks_exact(2) {
        server.add_folder(&pair[0], Path::new(&pair[1]), &[]);
    }
    println!("HF_ENDPOINT={}", server.url());
    loop {
        std::thread::park();
    }
}
