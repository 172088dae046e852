//! The modules are as `docs/architecture.md` draws them: arrows between modules point down, and files of a folder form no
//! cycle. The test reads sources as text, so no crate has to be compiled.

mod drawing;
mod graph;
mod paths;
mod source;

use std::path::Path;

use drawing::Drawing;
use source::Source;

/// Folders of `src/` whose files may not use one another in a circle.
const WITHOUT_CYCLES: [&str; 6] = ["cpu", "decode", "graph", "kernels", "ops", "transformer"];

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository")
}

fn library() -> Source {
    Source::read(&repository().join("src")).expect("the library's source")
}

fn drawing() -> Drawing {
    let text = std::fs::read_to_string(repository().join("docs/architecture.md")).expect("the document");
    Drawing::parse(&text).expect("a drawing of src/")
}

#[test]
fn every_module_is_drawn_and_every_drawn_one_exists() {
    assert_eq!(drawing().misdrawn(&library().modules()), Vec::<String>::new());
}

#[test]
fn arrows_between_modules_point_down() {
    let wrong = drawing().arrows_up(&library().between_modules());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_files_of_a_folder_use_one_another_in_a_circle() {
    let source = library();
    let cycles: Vec<String> =
        WITHOUT_CYCLES.iter().flat_map(|folder| source.between_files(folder).cycles()).collect();
    assert!(cycles.is_empty(), "{}", cycles.join("\n\n"));
}

#[test]
fn all_packages_need_the_same_rust() {
    let read = |path: &str| std::fs::read_to_string(repository().join(path)).expect(path);
    let manifest = read("Cargo.toml");
    let value = |name: &str| manifest.lines().find_map(|line| line.strip_prefix(name)).expect(name);
    let members = value("members = [").trim_end_matches(']');
    for member in members.split(", ").map(|member| member.trim_matches('"')) {
        let inherits = read(&format!("{member}/Cargo.toml")).contains("\nrust-version.workspace = true\n");
        assert!(inherits, "{member} does not take the workspace's rust-version");
    }
    let oldest = value("rust-version = ").trim_matches('"');
    assert!(
        read("CONTRIBUTING.md").contains(&format!("Rust {oldest} or newer")),
        "CONTRIBUTING.md: not {oldest}"
    );
}

/// An artificial library.
fn planted(files: &[(&str, &str)]) -> Source {
    Source::of(files.iter().map(|&(path, text)| (path.into(), text.into())).collect())
}

const DRAWN: &str = "\
## The house

```
src/model/           blocks
src/graph/, ops/     nodes
src/shape.rs         shapes
web/                 another crate
```
";

#[test]
fn a_planted_arrow_up_is_found() {
    let planted = |text| {
        let source = planted(&[
            ("lib.rs", "mod model; mod graph; mod ops; mod shape; pub use model::Model;"),
            ("model/mod.rs", "use crate::graph::Node; pub struct Model;"),
            ("graph/mod.rs", text),
            ("ops.rs", ""),
            ("shape.rs", "pub struct Shape;"),
        ]);
        Drawing::parse(DRAWN).expect("a drawing").arrows_up(&source.between_modules())
    };
    assert_eq!(planted("use crate::shape::Shape;"), Vec::<String>::new());
    assert_eq!(planted("#[cfg(test)] mod tests { use crate::model::Model; }"), Vec::<String>::new());
    for (text, found) in [
        ("use crate::model::Model;", "graph -> model (crate::model::Model)"),
        ("use crate::{shape::Shape, model::{self, names}};", "graph -> model (crate::model)"),
        ("fn f() { crate::model::run() }", "graph -> model (crate::model::run)"),
        ("fn f() { println!(\"{}\", crate::model::NAME) }", "graph -> model (crate::model::NAME)"),
        ("fn f() -> crate::Model { todo!() }", "graph -> model (crate::Model)"),
        ("mod inner { use super::super::model::Model; }", "graph -> model (crate::model::Model)"),
        ("use crate::ops::Linear;", "graph -> ops (crate::ops::Linear)"),
    ] {
        assert_eq!(planted(text), [found], "{text}");
    }
}

#[test]
fn a_module_that_is_not_drawn_is_found() {
    let source = planted(&[("lib.rs", "mod model; mod trace;"), ("model.rs", ""), ("trace/mod.rs", "")]);
    let wrong = Drawing::parse(DRAWN).expect("a drawing").misdrawn(&source.modules());
    assert_eq!(
        wrong,
        [
            "not drawn: trace",
            "drawn, but not there: graph",
            "drawn, but not there: ops",
            "drawn, but not there: shape"
        ]
    );
}

#[test]
fn a_planted_cycle_of_files_is_found() {
    let cycles = |files: &[(&str, &str)]| planted(files).between_files("graph").cycles();
    let root = ("lib.rs", "mod graph;");
    let tree = ("graph/mod.rs", "mod a; mod b; pub use a::A; pub use b::B; pub struct C;");
    let below = ("graph/b.rs", "use super::C; pub struct B;");
    assert_eq!(
        cycles(&[root, tree, ("graph/a.rs", "use super::B; pub struct A;"), below]),
        Vec::<String>::new()
    );
    // by a sibling's path, and by the name that the folder hands on
    for back in ["use super::a::A;", "use super::A;", "use crate::graph::A;", "fn f() { super::a::g() }"] {
        let files = [root, tree, ("graph/a.rs", "use super::b::B; pub struct A;"), ("graph/b.rs", back)];
        let found = cycles(&files);
        assert_eq!(found.len(), 1, "{back}: {found:?}");
        assert!(
            found[0].contains("graph/a -> graph/b (") && found[0].contains("graph/b -> graph/a ("),
            "{found:?}"
        );
    }
    // through the folder's own file, which uses what uses it
    let user = ("graph/mod.rs", "mod a; mod b; use a::A; pub struct C;");
    let found = cycles(&[root, user, ("graph/a.rs", "use super::b::B; pub struct A;"), below]);
    assert_eq!(found.len(), 1, "{found:?}");
}
