//! Links between the words of a text and of its translation.

use wordloom::Translation;
use wordloom::translate::alignment::words;

/// Pairs of a word of a text and a word of its translation, counted from 0. White space separates words.
pub type Links = Vec<(usize, usize)>;

/// The links of a text whose sentences were translated with alignments.
pub fn links(text: &str, translation: &Translation) -> Links {
    let mut all = Links::new();
    let (mut from, mut to) = (0, 0);
    for sentence in &translation.sentences {
        let (Some(alignment), Some(best)) = (&sentence.alignment, sentence.hypotheses.first()) else {
            continue;
        };
        // in scripts without spaces, several sentences can be one word
        let words_before = |text: &str, at: usize| {
            let within = usize::from(text[..at].ends_with(|c: char| !c.is_whitespace()));
            words(&text[..at]).len() - within
        };
        let place = |text: &str, part: &str, from: usize| text[from..].find(part).map(|at| from + at);
        let source = place(text, &sentence.source, from);
        let target = place(&translation.text, &best.text, to);
        let (Some(source), Some(target)) = (source, target) else { continue };
        let counts = [words_before(text, source), words_before(&translation.text, target)];
        let own = alignment.words.links.iter();
        all.extend(own.map(|&(source, target)| (source + counts[0], target + counts[1])));
        (from, to) = (source + sentence.source.len(), target + best.text.len());
    }
    all
}

/// The links through a third text.
pub fn chained(first: &Links, second: &Links) -> Links {
    let through = |&(from, middle): &(usize, usize)| {
        second.iter().filter(move |(other, _)| *other == middle).map(move |&(_, to)| (from, to))
    };
    let mut links: Links = first.iter().flat_map(through).collect();
    links.sort_unstable();
    links.dedup();
    links
}

#[cfg(test)]
mod tests {
    use super::chained;

    #[test]
    fn links_are_chained() {
        assert_eq!(chained(&vec![(0, 1), (1, 0)], &vec![(0, 2), (1, 1), (1, 0)]), [(0, 0), (0, 1), (1, 2)]);
    }
}
