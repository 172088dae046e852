//! The paths in a file's text that start at the crate, at a module above, or at one of the file's own modules. They are
//! read from tokens, not from syntax, so that those in a macro's arguments count, too.

use std::fmt;

use proc_macro2::{Delimiter, LexError, Spacing, TokenStream, TokenTree};

/// A path that a file names.
#[derive(Clone, Debug)]
pub struct Named {
    /// The path from the crate's root, without `crate`.
    pub target: Vec<String>,
    /// Whether it is a `pub use`.
    pub handed_on: bool,
    /// The name that an `as` gives it.
    alias: Option<String>,
}

impl Named {
    /// The name under which it is re-exported.
    pub fn name(&self) -> Option<&String> {
        self.alias.as_ref().or(self.target.last())
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "crate::{}", self.target.join("::"))
    }
}

/// The paths in `text`, the file of `module`. Items under `#[cfg(test)]` are skipped.
pub fn of(text: &str, module: &[String]) -> Result<Vec<Named>, LexError> {
    let mut tokens = Vec::new();
    flatten(text.parse()?, &mut tokens);
    let mut reader =
        Reader { tokens: &tokens, at: 0, module: module.to_vec(), handed_on: false, named: Vec::new() };
    reader.file();
    Ok(reader.named)
}

/// The tokens as one list, brackets among them, `::` as one token.
fn flatten(stream: TokenStream, tokens: &mut Vec<String>) {
    let mut half = false; // the first colon of two
    for token in stream {
        match token {
            TokenTree::Group(group) => {
                let [open, close] = match group.delimiter() {
                    Delimiter::Parenthesis => ["(", ")"],
                    Delimiter::Brace => ["{", "}"],
                    Delimiter::Bracket => ["[", "]"],
                    Delimiter::None => ["", ""],
                };
                tokens.push(open.into());
                flatten(group.stream(), tokens);
                tokens.push(close.into());
            }
            TokenTree::Punct(colon) if colon.as_char() == ':' && half => {
                half = false;
                tokens.push("::".into());
            }
            TokenTree::Punct(colon) if colon.as_char() == ':' && colon.spacing() == Spacing::Joint => {
                half = true
            }
            other => tokens.push(other.to_string()),
        }
    }
}

const TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];

struct Reader<'a> {
    tokens: &'a [String],
    at: usize,
    /// The module of the current token.
    module: Vec<String>,
    /// Whether the current token is part of a `pub use`.
    handed_on: bool,
    named: Vec<Named>,
}

impl Reader<'_> {
    fn token(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", String::as_str)
    }

    fn before(&self) -> &str {
        self.at.checked_sub(1).map_or("", |before| &self.tokens[before])
    }

    fn file(&mut self) {
        let file = self.module.clone();
        let children: Vec<&str> = self
            .tokens
            .windows(3)
            .filter(|three| three[0] == "mod" && three[2] == ";")
            .map(|three| &*three[1])
            .collect();
        let mut depth = 0;
        let mut inline = Vec::new(); // the depths at which modules inside this file began
        while self.at < self.tokens.len() {
            if (0..TEST.len()).all(|ahead| self.token(ahead) == TEST[ahead]) {
                self.skip_item();
                continue;
            }
            match self.token(0) {
                "mod" if self.token(2) == "{" => {
                    self.module.push(self.token(1).to_owned());
                    inline.push(depth);
                    self.at += 1; // its name is no path
                }
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    if inline.last() == Some(&depth) {
                        inline.pop();
                        self.module.pop();
                    }
                }
                "use" => self.handed_on = matches!(self.before(), "pub" | ")"),
                ";" => self.handed_on = false,
                first if self.token(1) == "::" && self.before() != "::" => {
                    let start = match first {
                        "crate" => Some(Vec::new()),
                        "self" => Some(self.module.clone()),
                        "super" => Some(parent(&self.module)),
                        child if self.module == file && children.contains(&child) => {
                            Some([&file[..], &[child.to_owned()]].concat())
                        }
                        _ => None,
                    };
                    if let Some(start) = start {
                        self.at += 1;
                        self.rest(start);
                        continue;
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Reads the rest of a path from a `::` on; a tree is several paths.
    fn rest(&mut self, mut path: Vec<String>) {
        while self.token(0) == "::" {
            self.at += 1;
            match self.token(0) {
                "{" => {
                    while !matches!(self.token(0), "}" | "") {
                        self.at += 1; // the bracket or a comma
                        if self.token(0) != "}" {
                            self.segment(&mut path.clone());
                        }
                    }
                    self.at += 1;
                    return;
                }
                "<" => break,
                _ => {
                    if self.push(&mut path) {
                        continue;
                    }
                    break;
                }
            }
        }
        self.finish(path);
    }

    /// A path inside a tree, from its first word on.
    fn segment(&mut self, path: &mut Vec<String>) {
        self.push(path);
        self.rest(std::mem::take(path));
    }

    /// Adds the current word. Returns whether more may follow.
    fn push(&mut self, path: &mut Vec<String>) -> bool {
        let word = self.token(0).to_owned();
        self.at += 1;
        match &*word {
            "super" => *path = parent(path),
            "self" | "*" => {}
            _ => path.push(word.clone()),
        }
        word != "*"
    }

    fn finish(&mut self, target: Vec<String>) {
        let alias = (self.token(0) == "as").then(|| self.token(1).to_owned());
        if alias.is_some() {
            self.at += 2;
        }
        self.named.push(Named { target, handed_on: self.handed_on, alias });
    }

    /// Skips an item with its attributes, up to its semicolon or the end of its body.
    fn skip_item(&mut self) {
        self.at += TEST.len();
        let mut depth = 0_i32;
        while self.at < self.tokens.len() {
            match self.token(0) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" if depth == 0 => return, // of what the item stands in
                closing @ (")" | "]" | "}") => {
                    depth -= 1;
                    if depth == 0 && closing == "}" {
                        self.at += 1;
                        return;
                    }
                }
                ";" if depth == 0 => {
                    self.at += 1;
                    return;
                }
                _ => {}
            }
            self.at += 1;
        }
    }
}

fn parent(module: &[String]) -> Vec<String> {
    module[..module.len().saturating_sub(1)].to_vec()
}
