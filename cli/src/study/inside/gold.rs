//! The small gold sets that were made for the studies: dependencies of English words, and word alignments.

use crate::CliError;

const DEPENDENCIES: &str = include_str!("../../../data/dependencies.txt");
const ALIGNMENTS: &str = include_str!("../../../data/alignments-en-de.txt");

/// The relations of the set, by their letters.
pub const RELATIONS: [(char, &str); 5] =
    [('s', "subject"), ('o', "object"), ('d', "determiner"), ('a', "adjective"), ('v', "adverb")];

/// A sentence with some of its dependencies.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// Words separated by spaces, with a full stop.
    pub text: String,
    /// Letter of the relation, dependent, head; words from 0.
    pub pairs: Vec<(char, usize, usize)>,
}

/// A sentence pair with its links, words from 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Aligned {
    pub source: String,
    pub target: String,
    pub links: Vec<(usize, usize)>,
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

fn damaged(line: &str) -> CliError {
    CliError::Input(format!("the built-in gold set has a damaged line: {line}"))
}

/// The English sentences with dependencies.
pub fn parsed() -> Result<Vec<Parsed>, CliError> {
    lines(DEPENDENCIES).map(|line| parse(line).ok_or_else(|| damaged(line))).collect()
}

fn parse(line: &str) -> Option<Parsed> {
    let (mut words, mut pairs) = (Vec::new(), Vec::new());
    for (index, word) in line.split(' ').enumerate() {
        let Some((word, mark)) = word.split_once('/') else {
            words.push(word);
            continue;
        };
        let relation =
            mark.chars().next().filter(|letter| RELATIONS.iter().any(|(known, _)| known == letter))?;
        let head = mark[relation.len_utf8()..].parse::<usize>().ok()?.checked_sub(1)?;
        pairs.push((relation, index, head));
        words.push(word);
    }
    pairs
        .iter()
        .all(|(_, _, head)| *head < words.len())
        .then(|| Parsed { text: words.join(" ") + ".", pairs })
}

/// The English–German pairs with word alignments.
pub fn aligned() -> Result<Vec<Aligned>, CliError> {
    lines(ALIGNMENTS).map(|line| align(line).ok_or_else(|| damaged(line))).collect()
}

fn align(line: &str) -> Option<Aligned> {
    let mut parts = line.split("|||").map(str::trim);
    let (source, target) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let link = |link: &str| {
        let (source, target) = link.split_once('-')?;
        Some((source.parse().ok()?, target.parse().ok()?))
    };
    let links = parts.next()?.split_whitespace().map(link).collect::<Option<Vec<_>>>()?;
    Some(Aligned { source, target, links })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sets_are_whole() {
        let parsed = parsed().unwrap();
        assert_eq!(parsed.len(), 100);
        assert_eq!(parsed[0].text, "The man reads a long book.");
        assert_eq!(parsed[0].pairs[..2], [('d', 0, 1), ('s', 1, 2)]);
        for (letter, name) in RELATIONS {
            let count = parsed.iter().flat_map(|one| &one.pairs).filter(|(own, ..)| *own == letter).count();
            assert!(count >= 15, "{name}: {count}");
        }
        // subjects and determiners of this set come before their heads, objects after them
        for (letter, dependent, head) in parsed.iter().flat_map(|one| &one.pairs) {
            assert_eq!(*letter == 'o', dependent > head);
        }
        let aligned = aligned().unwrap();
        assert_eq!(aligned.len(), 40);
        for Aligned { source, target, links } in &aligned {
            let sizes = [source, target].map(|text| text.split_whitespace().count());
            assert!(
                links.iter().all(|(source, target)| *source < sizes[0] && *target < sizes[1]),
                "{source}"
            );
            assert!((0..sizes[1]).all(|word| links.iter().any(|(_, target)| *target == word)), "{target}");
        }
    }
}
