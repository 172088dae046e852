//! PyTorch's files of weights come from anywhere. Whatever stands in one, reading it says what is wrong, or lists tensors that can all
//! be read, in memory that the file's length allows.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wordloom::model::checkpoint::Checkpoint;
use wordloom::model::files::ModelFiles;

fuzz_target!(|bytes: &[u8]| {
    let allowed = 8 * bytes.len() + (1 << 20);
    let files = ModelFiles::memory("fuzz", [("pytorch_model.bin", bytes.to_vec())]);
    let Ok(checkpoint) = Checkpoint::open(&files) else { return };
    for name in checkpoint.names() {
        let info = checkpoint.info(name).expect("it is listed");
        assert!(info.element_count() <= allowed, "{name}: {info:?}");
        let mut values = vec![0.0; info.element_count()];
        let whole = checkpoint.read(name, &mut values);
        let rows = info.shape.first().copied().unwrap_or(1);
        let mut again = vec![0.0; info.element_count()];
        let by_rows = checkpoint.read_rows(name, 0..rows, &mut again);
        assert_eq!(whole.is_ok(), by_rows.is_ok(), "{name}");
        assert!(values.iter().zip(&again).all(|(one, other)| one.to_bits() == other.to_bits()), "{name}");
        if let &[_, columns] = &info.shape[..] {
            _ = checkpoint.read_columns(name, 0..columns, &mut values);
        }
    }
});
