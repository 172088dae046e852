//! Names that are near another.

/// The nearest names, the best first; none that is far away.
pub fn nearest(name: &str, names: impl IntoIterator<Item = String>) -> Vec<String> {
    const COUNT: usize = 5;
    const NEAR: f64 = 0.6;
    let small = name.to_lowercase();
    let mut scored: Vec<(f64, String)> = names
        .into_iter()
        .map(|other| (strsim::normalized_damerau_levenshtein(&small, &other.to_lowercase()), other))
        .filter(|(score, other)| *score >= NEAR && other != name)
        .collect();
    scored.sort_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.cmp(right)));
    scored.dedup_by(|(_, left), (_, right)| left == right);
    scored.into_iter().take(COUNT).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn near_names_come_first_and_far_ones_not_at_all() {
        let names =
            ["Helsinki-NLP/opus-mt-en-de", "helsinki-nlp/Opus-MT-en-fr", "facebook/bart-large", "a/b"];
        let near = super::nearest("Helsinki-NLP/opus-mt-en-frr", names.map(String::from));
        assert_eq!(near, ["helsinki-nlp/Opus-MT-en-fr", "Helsinki-NLP/opus-mt-en-de"]);
    }
}
