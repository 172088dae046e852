//! The view of a download, for bars and notices.

/// What a long call tells. Every method may be left out.
pub trait Progress {
    /// A model's download begins: bytes of all its files, and those that are there already.
    fn start(&mut self, name: &str, total: u64, present: u64) {
        let _ = (name, total, present);
    }

    /// So many more bytes have arrived, or were checked.
    fn advance(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// Bytes of a file were thrown away, because they have to be fetched again.
    fn retreat(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// A line for the user, such as the reason of a wait.
    fn notice(&mut self, line: &str) {
        let _ = line;
    }

    /// The call is over, well or not.
    fn finish(&mut self) {}
}

/// Tells nothing.
impl Progress for () {}
