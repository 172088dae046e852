//! The list of packages, and each text once.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::closure::Package;

const HEAD: &str = "\
This file lists what Wordloom's programs, its Python and npm packages and its page have from others, with the licences. Not
every product has all of it. Where a package offers a choice that includes MIT, Wordloom takes that. Wordloom itself is licensed
under MIT or Apache-2.0, as you choose.

`cargo xtask licences` writes this file.
";

/// Beginnings of the names of files that have licences or notices.
const NAMES: [&str; 7] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE", "OFL"];
/// Such files of fonts.
const FONTS: [&str; 4] = ["UFL.txt", "Hack-Regular.txt", "egui-icons.txt", "emoji-icon-font-mit-license.txt"];
/// Between texts.
const RULE: &str = "================================================================================";

/// The whole file.
pub fn text(packages: &[Package]) -> Result<String, String> {
    // by text without white space and case: the same licence is set in many ways
    let mut texts: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    let mut order = Vec::new();
    for package in packages {
        for text in texts_of(package)? {
            let key: String = text.split_whitespace().collect::<String>().to_lowercase();
            let (_, of) = texts.entry(key.clone()).or_insert_with(|| {
                order.push(key);
                (text, Vec::new())
            });
            of.push(package.id());
        }
    }
    let mut file = HEAD.to_owned();
    for package in packages {
        let _ = write!(file, "\n{} ({})", package.id(), package.licence); // a string takes it
    }
    file.push('\n');
    for (text, of) in order.iter().map(|key| &texts[key]) {
        let mut of = of.clone();
        of.dedup();
        let _ = write!(file, "\n{RULE}\n{}\n{RULE}\n\n{}\n", wrapped(&of.join(", ")), text.trim_end());
    }
    Ok(file)
}

/// The packages that a file lists, as `name version`.
#[cfg(test)]
pub fn listed(file: &str) -> impl Iterator<Item = &str> {
    let list = file.strip_prefix(HEAD).unwrap_or_default();
    let list = list.split(RULE).next().unwrap_or_default();
    list.lines().filter_map(|line| line.split_once(" (")).map(|(id, _)| id)
}

/// The texts in a package's folder. Some packages have none; then the standard text of their licence.
fn texts_of(package: &Package) -> Result<Vec<String>, String> {
    let folder = package.folder()?;
    let mut files = licence_files(&folder)?;
    let is_of = |file: &PathBuf, licence: &str| {
        file.file_name().is_some_and(|name| name.to_string_lossy().to_uppercase().contains(licence))
    };
    if package.licence.contains(" OR ") && files.iter().any(|file| is_of(file, "MIT")) {
        files.retain(|file| {
            !["APACHE", "ZLIB", "UNLICENSE", "BSD", "BOOST"].iter().any(|other| is_of(file, other))
        });
    }
    files.extend(licence_files(&folder.join("fonts")).unwrap_or_default());
    let mut texts = Vec::new();
    for file in files {
        let bytes = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        texts.push(String::from_utf8_lossy(&bytes).replace('\r', ""));
    }
    if texts.is_empty() {
        let standard = |file: &str| fs::read_to_string(file).map_err(|error| format!("{file}: {error}"));
        texts.push(match () {
            () if package.licence.contains("Apache-2.0") => standard("LICENSE-APACHE")?,
            () if package.licence.contains("MIT") => {
                let own = standard("LICENSE-MIT")?;
                let terms = own.find("Permission is hereby").map_or(&*own, |place| &own[place..]);
                format!("Copyright (c) the authors of {}\n\n{terms}", package.name)
            }
            () if package.licence == "BSL-1.0" => include_str!("BSL-1.0.txt").to_owned(),
            () => return Err(format!("{} ({}) has no text of its licence", package.id(), package.licence)),
        });
    }
    Ok(texts)
}

fn licence_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let is_text = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let upper = name.to_uppercase();
        let is_source = [".RS", ".HTML", ".TTF"].iter().any(|end| upper.ends_with(end));
        path.is_file()
            && !is_source
            && (NAMES.iter().any(|begin| upper.starts_with(begin)) || FONTS.contains(&&*name))
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_text).collect();
    files.sort();
    Ok(files)
}

/// Lines of at most 80 characters.
fn wrapped(words: &str) -> String {
    let (mut text, mut width) = (String::new(), 0);
    for word in words.split_inclusive(", ") {
        if width + word.trim_end().len() > 80 && width > 0 {
            text.truncate(text.trim_end().len());
            text.push('\n');
            width = 0;
        }
        text.push_str(word);
        width += word.len();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_wrapped() {
        let names: Vec<String> = (0..20).map(|number| format!("package-{number} 1.0.0")).collect();
        let text = wrapped(&names.join(", "));
        assert!(text.lines().all(|line| line.len() <= 80 && !line.ends_with(' ')), "{text}");
        assert_eq!(text.replace('\n', " "), names.join(", "));
    }
}
