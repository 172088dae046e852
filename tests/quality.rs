//! How far a translation can be trusted: numbers of a search, and alarms.

mod common;

use common::assert_close;
use wordloom::decode::Hypothesis;
use wordloom::translate::alignment::Alignment;
use wordloom::translate::{Quality, Sentence, SentenceAlignment, SentenceHypothesis};

/// * `links`: pairs of words, if the alignment is known
fn quality(source: &str, text: &str, steps: &[f32], links: Option<&[(usize, usize)]>) -> Quality {
    let search = Hypothesis { tokens: Vec::new(), score: 0.0, step_logprobs: steps.to_vec() };
    let hypothesis = SentenceHypothesis {
        text: text.to_owned(),
        search,
        reached_max_length: false,
        prescribed: Vec::new(),
    };
    let alignment = links.map(|links| SentenceAlignment {
        words: Alignment { links: links.to_vec(), layer: Some(0) },
        ..SentenceAlignment::default()
    });
    let source = source.to_owned();
    Quality::of(&Sentence { source, hypotheses: vec![hypothesis], alignment, ..Sentence::default() })
        .expect("a translation")
}

#[test]
fn tokens_of_a_glossary_do_not_count() {
    let search =
        Hypothesis { tokens: vec![9, 5, 6, 7, 0], score: 0.0, step_logprobs: vec![-0.1, -8.0, -9.0, -0.3] };
    let hypothesis = SentenceHypothesis {
        text: "ein guter Tag".into(),
        search,
        reached_max_length: false,
        prescribed: vec![2..3, 3..4],
    };
    let sentence = Sentence { hypotheses: vec![hypothesis], ..Sentence::default() };
    assert_close(
        "mean",
        &[Quality::of(&sentence).expect("a translation").log_probability],
        &[-0.2],
        (1e-6, 1e-6),
    );
}

/// The formula in float64, with the constants that `benches/quality.py` printed.
#[test]
fn trust_follows_probability_and_coverage() {
    let unknown = quality("a good day", "ein guter Tag", &[-0.1, -0.2, 0.0], None);
    assert_eq!(unknown.coverage, None);
    let half = quality("good day", "Tag auch", &[-0.05, -0.15], Some(&[(1, 0), (1, 1)]));
    assert_eq!(half.coverage, Some(0.5));
    let poor = quality("good day -", "Tag auch", &[-1.5, -0.5], Some(&[(0, 0), (1, 1)]));
    assert_eq!(poor.coverage, Some(1.0), "a dash is no word");
    assert!(poor.is_low() && !half.is_low());
    let found = [unknown.trust, half.trust, poor.trust];
    assert_close("trust", &found, &[UNKNOWN, HALF, POOR], (1e-5, 1e-5));
}

const UNKNOWN: f32 = 0.818375;
const HALF: f32 = 0.786836;
const POOR: f32 = 0.094473;

#[test]
fn copies_and_repetitions_are_alarms() {
    let of = |source: &str, text: &str| quality(source, text, &[-0.01], None);
    for (source, text) in [
        ("Where is the station?", "Where is der Station?"),
        ("She works very hard.", "Sie arbeitet sehr sehr sehr hart."),
        ("She works very hard.", "Sie arbeitet, sie arbeitet."),
    ] {
        let alarmed = of(source, text);
        assert!(alarmed.has_alarm() && alarmed.trust <= 0.25, "{text}: {alarmed:?}");
    }
    for (source, text) in [
        ("Tom!", "Tom!"),
        ("no no no no", "nein nein nein nein"),
        ("I know Tom and Mary.", "Ich kenne Tom und Mary."),
        ("Yes, yes.", "Ja, ja."),
    ] {
        assert!(!of(source, text).has_alarm(), "{text}: {:?}", of(source, text));
    }
    assert!(Quality::of(&Sentence::default()).is_none());
}
