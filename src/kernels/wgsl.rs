//! Shaders without their comments, when the library is compiled: a page downloads them.
//!
//! Lines stay, even empty ones, so that a driver's message names the line of the file. WGSL has no strings, so `//` always
//! begins a comment; our shaders have no other comments, which a test checks.

/// Length of [`code`].
pub const fn code_length(text: &str) -> usize {
    copy_code(text.as_bytes(), &mut [])
}

/// A shader's text without comments and without indentation, [`code_length`] bytes.
pub const fn code<const LENGTH: usize>(text: &str) -> [u8; LENGTH] {
    let mut code = [0; LENGTH];
    copy_code(text.as_bytes(), &mut code);
    code
}

/// The bytes of [`code`] as text.
///
/// # Panics
/// If they are not UTF-8; a comment ends at the end of a line, so no character is ever cut.
pub const fn text(code: &'static [u8]) -> &'static str {
    match std::str::from_utf8(code) {
        Ok(text) => text,
        Err(_) => panic!("a shader is not UTF-8"),
    }
}

/// [`code`] of a text that is read when the program runs.
pub fn code_of(text: &str) -> String {
    let mut code = vec![0; code_length(text)];
    copy_code(text.as_bytes(), &mut code);
    String::from_utf8_lossy(&code).into_owned()
}

/// Writes the code to `to`, if it has room, and returns its length.
const fn copy_code(text: &[u8], to: &mut [u8]) -> usize {
    let (mut at, mut length) = (0, 0);
    let mut line_begins = true;
    while at < text.len() {
        let byte = text[at];
        if byte == b'/' && at + 1 < text.len() && text[at + 1] == b'/' {
            while at < text.len() && text[at] != b'\n' {
                at += 1;
            }
            continue;
        }
        if !(line_begins && byte == b' ') {
            if length < to.len() {
                to[length] = byte;
            }
            length += 1;
            line_begins = byte == b'\n';
        }
        at += 1;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::code_of;

    #[test]
    fn code_keeps_its_lines() {
        let text = "// Formula: a / b\n@group(0) // bound\n  fn f() {\n    return a / b; // é\n  }\n";
        assert_eq!(code_of(text), "\n@group(0) \nfn f() {\nreturn a / b; \n}\n");
        assert_eq!(code_of("// only this"), "");
        assert_eq!(code_of("a //"), "a ");
    }
}
