//! The pages of a study: one HTML file without a script, and the same as Markdown. Every study says the same things in the same
//! order: claim and source, method, figures, numbers, what speaks against them, data, command.

use std::fmt::Write;

use crate::train::text::escaped;

/// The style of all reports, and what tables and verdicts add to it.
const STYLES: [&str; 3] =
    [include_str!("../train/page.css"), include_str!("chart.css"), include_str!("report.css")];

#[derive(Clone, Debug, Default)]
pub struct Report {
    pub title: String,
    /// Whether the study is finished, in a few words.
    pub state: String,
    pub claim: String,
    pub source: String,
    pub method: Vec<String>,
    /// Name, value and a note.
    pub facts: Vec<[String; 3]>,
    pub figures: Vec<Figure>,
    pub table: Table,
    /// What speaks against the result.
    pub against: Vec<String>,
    pub data: Vec<String>,
    pub command: String,
}

#[derive(Clone, Debug, Default)]
pub struct Figure {
    pub title: String,
    pub note: String,
    pub svg: String,
    /// Name of its file beside the Markdown page; empty if there is none.
    pub file: String,
}

#[derive(Clone, Debug, Default)]
pub struct Table {
    pub columns: Vec<&'static str>,
    pub rows: Vec<Vec<Cell>>,
}

#[derive(Clone, Debug, Default)]
pub struct Cell {
    pub text: String,
    /// A second line in small letters.
    pub note: String,
    pub class: &'static str,
}

impl Cell {
    pub fn new(text: impl Into<String>, note: impl Into<String>) -> Self {
        Self { text: text.into(), note: note.into(), class: "" }
    }

    pub fn class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }
}

impl Report {
    pub fn html(&self) -> String {
        let Self { title, state, claim, source, command, .. } = self;
        let [title, state, claim, source, command] =
            [title, state, claim, source, command].map(|text| escaped(text));
        let styles = STYLES.concat();
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>\n{styles}</style>\n<main>\n<h1>{title}<span>{state}</span></h1>\n\
             <blockquote><p>{claim}</p><cite>{source}</cite></blockquote>\n"
        );
        html += "<dl>\n";
        for [name, value, note] in &self.facts {
            let [name, value, note] = [name, value, note].map(|text| escaped(text));
            let _ = writeln!(html, "<div><dt>{name}</dt><dd>{value}<small>{note}</small></dd></div>");
        }
        html += "</dl>\n";
        html += &self.table.html();
        html += "<div class=\"charts\">\n";
        for Figure { title, note, svg, .. } in &self.figures {
            let (title, note) = (escaped(title), escaped(note));
            let _ = writeln!(html, "<section><h2>{title} <small>{note}</small></h2>{svg}</section>");
        }
        html += "</div>\n<div class=\"texts\">\n";
        for (heading, lines) in self.texts() {
            let _ = writeln!(html, "<section><h2>{heading}</h2><ul>");
            lines.iter().for_each(|line| _ = writeln!(html, "<li>{}</li>", escaped(line)));
            html += "</ul></section>\n";
        }
        let _ = write!(
            html,
            "</div>\n<footer><p class=\"quiet\">The command that repeats it:</p><pre>{command}</pre></footer>\n</main>\n</html>\n"
        );
        html
    }

    pub fn markdown(&self) -> String {
        let Self { title, state, claim, source, command, .. } = self;
        let state = plain(state);
        let mut page = format!("# {title}\n\n{state}\n\n> {claim}\n>\n> {source}\n\n");
        for [name, value, note] in &self.facts {
            let note = if note.is_empty() { String::new() } else { format!(" ({note})") };
            let _ = writeln!(page, "* {name}: {value}{note}");
        }
        page += "\n";
        page += &self.table.markdown();
        for Figure { title, note, file, .. } in self.figures.iter().filter(|figure| !figure.file.is_empty()) {
            let _ = write!(page, "\n![{title}]({file})\n\n{title}. {note}\n");
        }
        for (heading, lines) in self.texts() {
            let _ = write!(page, "\n## {heading}\n\n");
            lines.iter().for_each(|line| _ = writeln!(page, "* {}", plain(line)));
        }
        let _ = write!(page, "\n## Command\n\n```sh\n{command}\n```\n");
        page
    }

    fn texts(&self) -> [(&'static str, &[String]); 3] {
        [("Method", &self.method), ("What speaks against it", &self.against), ("Data", &self.data)]
    }
}

/// A text in Markdown: names of files and models are never markup.
pub fn plain(text: &str) -> String {
    text.replace('<', "&lt;")
}

impl Table {
    /// On a narrow screen each row becomes a block, whose cells have the names of their columns.
    fn html(&self) -> String {
        let mut html = "<table>\n<thead><tr>".to_owned();
        self.columns.iter().for_each(|name| _ = write!(html, "<th>{}</th>", escaped(name)));
        html += "</tr></thead>\n<tbody>\n";
        for row in &self.rows {
            html += "<tr>";
            for (cell, column) in row.iter().zip(&self.columns) {
                let [text, note, column] = [&*cell.text, &*cell.note, column].map(escaped);
                let note = if note.is_empty() { note } else { format!("<small>{note}</small>") };
                let _ = write!(
                    html,
                    "<td class=\"{}\" data-name=\"{column}\"><div>{text}{note}</div></td>",
                    cell.class
                );
            }
            html += "</tr>\n";
        }
        html + "</tbody>\n</table>\n"
    }

    fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut page = line(self.columns.iter().map(|name| (*name).to_owned()).collect());
        page += &line(self.columns.iter().map(|_| "---".to_owned()).collect());
        for row in &self.rows {
            let cells = row.iter().map(|Cell { text, note, .. }| {
                let note = if note.is_empty() { String::new() } else { format!("<br>{note}") };
                format!("{text}{note}").replace('|', "\\|")
            });
            page += &line(cells.collect());
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_pages_have_every_part() {
        let report = Report {
            title: "A <study>".into(),
            state: "2 of 3 runs".into(),
            claim: "a claim".into(),
            source: "section 6.2".into(),
            method: vec!["a method".into()],
            facts: vec![["Seeds".into(), "3".into(), "a note".into()]],
            figures: vec![Figure { svg: "<svg></svg>".into(), ..Figure::default() }],
            table: Table {
                columns: vec!["Row", "Loss"],
                rows: vec![vec![Cell::new("heads | keys", ""), Cell::new("1.5", "± 0.1").class("seen")]],
            },
            against: vec!["a doubt".into()],
            data: vec!["some pairs".into(), "<img src=x>.tsv".into()],
            command: "wordloom study".into(),
        };
        let (html, markdown) = (report.html(), report.markdown());
        for part in
            ["2 of 3 runs", "a claim", "section 6.2", "a method", "a doubt", "some pairs", "wordloom study"]
        {
            assert!(html.contains(part) && markdown.contains(part), "{part}");
        }
        assert!(html.contains("A &lt;study&gt;") && html.contains("<svg></svg>"));
        assert!(
            html.contains("<td class=\"seen\" data-name=\"Loss\"><div>1.5<small>± 0.1</small></div></td>")
        );
        assert!(markdown.contains("| heads \\| keys | 1.5<br>± 0.1 |"));
        assert!(!html.contains("<script"));
        assert!(markdown.contains("* &lt;img src=x>.tsv") && !html.contains("<img"));
    }
}
