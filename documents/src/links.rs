//! Links between the words of a text and of its translation.

#[cfg(feature = "translation")]
use wordloom::Translation;

/// Pairs of a word of a text and a word of its translation, counted from 0. White space separates words.
pub type Links = Vec<(usize, usize)>;

/// A sentence and its translation, with the links between their words.
#[derive(Clone, Copy, Debug)]
pub struct LinkedSentence<'a> {
    /// The sentence as the text has it.
    pub source: &'a str,
    /// Its translation as the text's translation has it.
    pub target: &'a str,
    /// Links between the words of both.
    pub links: &'a [(usize, usize)],
}

/// The links of a text whose sentences were translated with alignments.
#[cfg(feature = "translation")]
pub fn links(text: &str, translation: &Translation) -> Links {
    let sentences = translation.sentences.iter().filter_map(|sentence| {
        let links = &sentence.alignment.as_ref()?.words.links;
        Some(LinkedSentence { source: &sentence.source, target: &sentence.hypotheses.first()?.text, links })
    });
    links_of_sentences(text, &translation.text, sentences)
}

/// The links of a text and its translation, from those of their sentences.
///
/// * `sentences`: in the order of the text
pub fn links_of_sentences<'a>(
    text: &str,
    translation: &str,
    sentences: impl IntoIterator<Item = LinkedSentence<'a>>,
) -> Links {
    let mut all = Links::new();
    let (mut from, mut to) = (0, 0);
    for sentence in sentences {
        // in scripts without spaces, several sentences can be one word
        let words_before = |text: &str, at: usize| {
            let within = usize::from(text[..at].ends_with(|c: char| !c.is_whitespace()));
            words(&text[..at]).len() - within
        };
        let place = |text: &str, part: &str, from: usize| text[from..].find(part).map(|at| from + at);
        let source = place(text, sentence.source, from);
        let target = place(translation, sentence.target, to);
        let (Some(source), Some(target)) = (source, target) else { continue };
        let counts = [words_before(text, source), words_before(translation, target)];
        let own = sentence.links.iter();
        all.extend(own.map(|&(source, target)| (source + counts[0], target + counts[1])));
        (from, to) = (source + sentence.source.len(), target + sentence.target.len());
    }
    all
}

/// Byte range of each word, as the library's alignment counts words: white space separates them.
pub(crate) fn words(text: &str) -> Vec<[usize; 2]> {
    let start = text.as_ptr() as usize;
    text.split_whitespace()
        .map(|word| {
            let first = word.as_ptr() as usize - start;
            [first, first + word.len()]
        })
        .collect()
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
