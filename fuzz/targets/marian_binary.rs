//! Marian's binary weights come from anywhere. Each is refused, or every tensor can be read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wordloom::Model;
use wordloom::model::checkpoint::Checkpoint;
use wordloom::model::files::ModelFiles;

fuzz_target!(|bytes: &[u8]| {
    let files = ModelFiles::memory("fuzz", [("model.bin", bytes.to_vec())]);
    let _ = Model::from_files(files.clone());
    let Ok(checkpoint) = Checkpoint::open(&files) else { return };
    for name in checkpoint.names() {
        let info = checkpoint.info(name).expect("a listed tensor");
        let mut values = vec![0.0; info.element_count()];
        let _ = match info.shape[..] {
            [_, columns] => checkpoint.read_columns(name, 0..columns, &mut values),
            _ => checkpoint.read(name, &mut values),
        };
    }
});
