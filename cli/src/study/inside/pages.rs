//! The pages of a study, its figures and its data.

use std::path::Path;

use serde_json::json;
use wordloom::train::write::write_files;

use super::findings::{Claim, Findings};
use crate::CliError;
use crate::study::chart::standalone;
use crate::study::report::{Cell, Report, Table, plain};
use crate::study::statistics::Verdict;
use crate::train::text::typed;

/// What all studies of a command share.
pub struct About {
    /// Model, device and data.
    pub lines: Vec<String>,
    /// Name of the model.
    pub model: String,
}

/// Writes `STEM.html`, `.md`, `.csv`, `.json`, and `STEM-1.svg` for each figure.
pub fn write(
    (folder, stem): (&Path, &str),
    title: &str,
    findings: &Findings,
    about: &About,
    command: &str,
) -> Result<(), CliError> {
    let report = report(stem, title, findings, about, command);
    let json = json!({
        "claims": findings.claims,
        "facts": findings.facts,
        "data": findings.data.json(),
        "about": about.lines,
        "command": command,
    });
    let mut files = vec![
        (format!("{stem}.html"), report.html()),
        (format!("{stem}.md"), report.markdown()),
        (format!("{stem}.csv"), findings.data.csv()),
        (format!("{stem}.json"), format!("{json:#}\n")),
    ];
    files.extend(report.figures.iter().map(|figure| (figure.file.clone(), standalone(&figure.svg))));
    Ok(write_files(folder, files.iter().map(|(name, content)| (&**name, content.as_bytes())))?)
}

/// The command, as it can be typed again, for one study.
pub fn command() -> String {
    typed(std::iter::once("wordloom".to_owned()).chain(std::env::args().skip(1)))
}

fn report(stem: &str, title: &str, findings: &Findings, about: &About, command: &str) -> Report {
    let Findings { claim, source, method, claims, facts, against, .. } = findings.clone();
    let counts = [Verdict::Seen, Verdict::NotSeen, Verdict::NotDecidable].map(|verdict| {
        let count = claims.iter().filter(|claim| claim.verdict == verdict).count();
        [verdict.name().to_owned(), count.to_string(), format!("of {} claims", claims.len())]
    });
    let files = format!("{stem}.csv and {stem}.json have the numbers.");
    let mut figures = findings.figures.clone();
    for (number, figure) in (1..).zip(&mut figures) {
        figure.file = format!("{stem}-{number}.svg");
    }
    Report {
        title: title.to_owned(),
        state: about.model.clone(),
        claim: claim.to_owned(),
        source: source.to_owned(),
        method,
        facts: counts.into_iter().filter(|[_, count, _]| count != "0").chain(facts).collect(),
        figures,
        table: table(&claims),
        against,
        data: about.lines.iter().cloned().chain([files]).collect(),
        command: command.to_owned(),
    }
}

fn table(claims: &[Claim]) -> Table {
    let row = |claim: &Claim| {
        let mut measured = claim.measured.iter().map(|measured| measured.text());
        let first = measured.next().unwrap_or_default();
        let class = match claim.verdict {
            Verdict::Seen => "seen",
            Verdict::NotSeen => "missed",
            Verdict::NotDecidable => "undecided",
        };
        vec![
            Cell::new(claim.claim.clone(), claim.source),
            Cell::new(claim.prediction.clone(), ""),
            Cell::new(first, measured.collect::<Vec<String>>().join("; ")),
            Cell::new(verdict(claim.verdict), claim.note.clone()).class(class),
        ]
    };
    Table { columns: vec!["Claim", "Seen if", "Measured", "Here"], rows: claims.iter().map(row).collect() }
}

pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::NotDecidable => "not decidable with this model",
        other => other.name(),
    }
}

/// A study that was not possible, and why.
pub type NotPossible = (&'static str, String);

/// Writes `index.md`: every claim of several studies with its verdict, and the studies that were not possible with the reason.
pub fn write_index(
    folder: &Path,
    (all, failed): (&[(&str, Findings)], &[NotPossible]),
    about: &About,
) -> Result<(), CliError> {
    let mut page =
        format!("# Studies of {}\n\n| Study | Claim | Here |\n| --- | --- | --- |\n", plain(&about.model));
    for (name, findings) in all {
        for claim in &findings.claims {
            let text = claim.claim.replace('|', "\\|");
            page += &format!("| [{name}]({name}.md) | {text} | {} |\n", verdict(claim.verdict));
        }
    }
    for (name, problem) in failed {
        page += &format!("| {name} | not possible: {} | |\n", plain(problem).replace('|', "\\|"));
    }
    page += "\n";
    about.lines.iter().for_each(|line| page += &format!("* {}\n", plain(line)));
    Ok(write_files(folder, [("index.md", page.as_bytes())])?)
}
