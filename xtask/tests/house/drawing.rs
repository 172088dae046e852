//! The drawing in `docs/architecture.md`: a line for each level, the highest first.

use crate::graph::Graph;

/// Modules of `src/`, one list for each line; modules of one line do not use one another.
pub struct Drawing {
    storeys: Vec<Vec<String>>,
}

impl Drawing {
    /// Reads the first code block below the heading "The house". Lines that name nothing of `src/` are of other crates.
    pub fn parse(document: &str) -> Option<Drawing> {
        let house = document.split_once("## The house\n")?.1;
        let block = house.split("```").nth(1)?;
        let storeys: Vec<Vec<String>> = block.lines().filter_map(storey).collect();
        (!storeys.is_empty()).then_some(Drawing { storeys })
    }

    /// The differences between drawn and existing modules.
    pub fn misdrawn(&self, modules: &[String]) -> Vec<String> {
        let drawn: Vec<&String> = self.storeys.iter().flatten().collect();
        let missing = modules.iter().filter(|module| !drawn.contains(module));
        let gone = drawn.iter().filter(|module| !modules.contains(module));
        missing
            .map(|module| format!("not drawn: {module}"))
            .chain(gone.map(|module| format!("drawn, but not there: {module}")))
            .collect()
    }

    /// The arrows that do not point to a lower line.
    pub fn arrows_up(&self, arrows: &Graph) -> Vec<String> {
        let height =
            |module: &str| self.storeys.iter().position(|storey| storey.iter().any(|name| name == module));
        let down =
            |from: &str, to: &str| matches!((height(from), height(to)), (Some(from), Some(to)) if from < to);
        arrows.lines(|from, to| !down(from, to))
    }
}

/// The modules of a line such as `src/graph/, shape.rs    nodes, shapes`.
fn storey(line: &str) -> Option<Vec<String>> {
    let names = line.strip_prefix("src/")?.split("  ").next()?;
    Some(
        names
            .split(", ")
            .map(|name| name.trim_end_matches(['/', ',']).trim_end_matches(".rs").to_owned())
            .collect(),
    )
}
