//! Shaders without their comments. The library's build script runs this, so that no compilation of the library does.
//!
//! Lines stay, even empty ones, so that a driver's message names the line of the file. WGSL has no strings, so `//` always
//! begins a comment; our shaders have no other comments, which a test checks.

/// A shader's text without comments and without indentation.
pub fn code(text: &str) -> String {
    let code = |line: &str| line.split("//").next().unwrap_or_default().trim_start_matches(' ').to_owned();
    text.split('\n').map(code).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn code_keeps_its_lines() {
        let text = "// Formula: a / b\n@group(0) // bound\n  fn f() {\n    return a / b; // é\n  }\n";
        assert_eq!(code(text), "\n@group(0) \nfn f() {\nreturn a / b; \n}\n");
        assert_eq!(code("// only this"), "");
        assert_eq!(code("a //"), "a ");
    }
}
