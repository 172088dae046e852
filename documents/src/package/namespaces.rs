//! Names of elements with their usual prefixes: a program may write `<ns0:p>` for `<w:p>`.

use std::borrow::Cow;
use std::collections::HashMap;

use super::super::xml::{Kind, Xml};

/// A namespace: its usual prefix and its addresses.
pub type Namespace = (&'static str, &'static [&'static str]);

/// Gives elements of these namespaces the names that they have with the usual prefixes. A file without declarations has those already.
pub fn use_usual_prefixes(xml: &mut Xml<'_>, namespaces: &[Namespace]) {
    let mut usual: HashMap<&str, &str> = HashMap::new();
    for index in 0..xml.nodes.len() {
        if !matches!(xml.nodes[index].kind, Kind::Start | Kind::Empty) {
            continue;
        }
        for (prefix, address) in declarations(xml.token(index)) {
            let known = namespaces.iter().find(|(_, addresses)| addresses.contains(&address));
            if let Some(&(name, _)) = known.filter(|(name, _)| *name != prefix) {
                usual.insert(prefix, name);
            }
        }
    }
    if usual.is_empty() {
        return;
    }
    for node in &mut xml.nodes {
        let (prefix, local) = node.name.split_once(':').unwrap_or(("", &node.name));
        if let Some(prefix) = usual.get(prefix).filter(|_| !local.is_empty()) {
            node.name = Cow::Owned(format!("{prefix}:{local}"));
        }
    }
}

/// Prefixes and addresses that a start tag declares. The prefix of names without one is empty.
fn declarations(tag: &str) -> impl Iterator<Item = (&str, &str)> {
    const KEY: &str = "xmlns";
    tag.match_indices(KEY).filter_map(move |(at, _)| {
        let (name, value) = tag[at + KEY.len()..].split_once('=')?;
        let prefix = match name.trim_end() {
            "" => "",
            name => name.strip_prefix(':')?,
        };
        let value = value.trim_start();
        let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        let is_attribute = tag[..at].ends_with(char::is_whitespace);
        is_attribute.then_some((prefix, value[1..].split(quote).next()?))
    })
}
