//! Examples that every epoch makes anew: other names in both sides, joined pairs, lower case, no final punctuation.

use crate::common::read;
use wordloom::train::augment::Augmentation;
use wordloom::train::pairs::SentencePair;
use wordloom::train::substitute::Substitution;

/// A list of two entries of each kind, so that there is one other word for each.
const SMALL: &str = r#"{
    "languages": ["en", "de"],
    "endings": {"de": {"add": ["s"], "not_after": ["s", "x", "z"]}},
    "groups": [
        {"name": "men", "share": 1, "find": ["Tom", "Peter"], "put": ["Peter", "Ali", "Max"]},
        {"name": "women", "share": 1, "find": [["Mary", ["Mary", "Maria"]]], "put": ["Anna"], "surnames": {"share": 0.5, "list": "surnames"}},
        {"name": "cities", "share": 1, "find": [["Munich", "München"], ["New York", "New York"], ["York", "York"]], "put": [["Vienna", "Wien"], "Oslo", "Kiel"]},
        {"name": "days", "share": 1, "find": [["Saturday", ["Samstag", "Sonnabend"]], ["Monday", "Montag"]]}
    ],
    "numbers": 1,
    "lists": {"surnames": ["Klein"]}
}"#;

const FRENCH: &str = r#"{
    "languages": ["en", "fr"],
    "elision": {"fr": ["de", "que"]},
    "groups": [
        {"name": "people", "share": 1, "find": ["Tom"], "put": ["Anna", "Ali", "Ève"]},
        {"name": "others", "share": 1, "find": ["Anne"], "put": ["Paul"]},
        {"name": "unsure", "share": 1, "find": ["Jean"], "put": ["Hugo", "Yann"]},
        {"name": "numbers", "share": 1, "find": [["two", "deux"]], "put": [["eleven", "onze"]], "elides": false}
    ]
}"#;

fn pair(source: &str, target: &str) -> SentencePair {
    SentencePair { source: source.to_owned(), target: target.to_owned() }
}

fn by(json: &str, languages: [&str; 2]) -> Augmentation {
    let substitution = Substitution::from_json("lists.json", json.as_bytes(), languages).unwrap();
    Augmentation { substitution: Some(substitution), seed: 7, ..Augmentation::default() }
}

/// What a pair becomes in some epochs, without repetitions.
fn all_of(augmentation: &Augmentation, source: &str, target: &str) -> Vec<(String, String)> {
    let pairs = [pair(source, target)];
    let mut found: Vec<(String, String)> = (0..60)
        .map(|epoch| augmentation.example(&pairs, epoch, 0))
        .map(|pair| (pair.source, pair.target))
        .collect();
    found.sort();
    found.dedup();
    found
}

#[track_caller]
fn becomes(augmentation: &Augmentation, source: &str, target: &str, expected: &[(&str, &str)]) {
    let found = all_of(augmentation, source, target);
    let found: Vec<(&str, &str)> = found.iter().map(|(source, target)| (&**source, &**target)).collect();
    assert_eq!(found, expected);
}

#[test]
fn names_change_on_both_sides_with_their_endings() {
    let lists = by(SMALL, ["en", "de"]);
    becomes(
        &lists,
        "Tom's dog sees Tom.",
        "Toms Hund sieht Tom.",
        &[
            ("Ali's dog sees Ali.", "Alis Hund sieht Ali."),
            ("Peter's dog sees Peter.", "Peters Hund sieht Peter."),
        ],
    );
    // "Max" takes no s, but it is put in elsewhere
    becomes(
        &lists,
        "I saw Tom.",
        "Ich sah Tom.",
        &[("I saw Ali.", "Ich sah Ali."), ("I saw Max.", "Ich sah Max."), ("I saw Peter.", "Ich sah Peter.")],
    );
    // the same, from German
    becomes(
        &by(SMALL, ["de", "en"]),
        "Toms Hund",
        "Tom's dog",
        &[("Alis Hund", "Ali's dog"), ("Peters Hund", "Peter's dog")],
    );
}

#[test]
fn each_language_has_its_form() {
    let lists = by(SMALL, ["en", "de"]);
    let expected = [
        ("I live in Kiel.", "Ich wohne in Kiel."),
        ("I live in Oslo.", "Ich wohne in Oslo."),
        ("I live in Vienna.", "Ich wohne in Wien."),
    ];
    becomes(&lists, "I live in Munich.", "Ich wohne in München.", &expected);
    becomes(&lists, "I live in New York.", "Ich wohne in New York.", &expected);
    // of two words for one, the first is put in and both are found
    becomes(&lists, "On Monday.", "Am Montag.", &[("On Saturday.", "Am Samstag.")]);
    becomes(&lists, "On Saturday.", "Am Sonnabend.", &[("On Monday.", "Am Montag.")]);
    becomes(&by(SMALL, ["de", "en"]), "Am Sonnabend.", "On Saturday.", &[("Am Montag.", "On Monday.")]);
    let surname = [("Anna Klein left.", "Anna Klein ging."), ("Anna left.", "Anna ging.")];
    becomes(&lists, "Mary left.", "Maria ging.", &surname);
    // no second surname
    becomes(&lists, "Mary Brown left.", "Maria Brown ging.", &[("Anna Brown left.", "Anna Brown ging.")]);
}

#[test]
fn titles_stand_before_subjects_only() {
    let json = r#"{"languages": ["en", "de"], "endings": {"de": {"add": ["s"]}}, "groups": [{"name": "men", "share": 1,
        "find": ["Tom"], "put": ["Ali"], "titles": {"share": 0.5, "list": "titles"},
        "surnames": {"share": 0, "list": "surnames"}}],
        "lists": {"titles": [["Mr.", "Herr"]], "surnames": ["Klein"]}}"#;
    let lists = by(json, ["en", "de"]);
    let with_title = [("Ali left.", "Ali ging."), ("Mr. Klein left.", "Herr Klein ging.")];
    becomes(&lists, "Tom left.", "Tom ging.", &with_title);
    // "Herrn Klein" would be right here
    becomes(&lists, "I saw Tom.", "Ich sah Tom.", &[("I saw Ali.", "Ich sah Ali.")]);
    becomes(&lists, "Tom Brown left.", "Tom Brown ging.", &[("Ali Brown left.", "Ali Brown ging.")]);
    becomes(&lists, "Tom's dog", "Toms Hund", &[("Ali's dog", "Alis Hund")]);
}

#[test]
fn what_has_no_counterpart_stays() {
    let lists = by(SMALL, ["en", "de"]);
    for (source, target) in [
        ("Tom likes Tom.", "Tom mag sich."), // once on the other side
        ("Tomorrow", "Tommy"),               // other words
        ("Max saw Peter Pan and Ali.", "Max, Ali und Peter, und Peter."),
        ("Monday morning", "Montagmorgen"),
        ("Nothing", "Nichts"),
    ] {
        becomes(&lists, source, target, &[(source, target)]);
    }
    // two names never become one
    for (source, target) in all_of(&lists, "Tom and Peter", "Tom und Peter") {
        let names: Vec<&str> = source.split(" and ").collect();
        assert_ne!(names[0], names[1]);
        assert_eq!(target, names.join(" und "));
    }
}

#[test]
fn french_vowels_are_elided_and_come_back() {
    let lists = by(FRENCH, ["en", "fr"]);
    let expected = [
        ("Ali's book, I think Ali is right.", "Le livre d'Ali, je crois qu'Ali a raison."),
        ("Anna's book, I think Anna is right.", "Le livre d'Anna, je crois qu'Anna a raison."),
        ("Ève's book, I think Ève is right.", "Le livre d'Ève, je crois qu'Ève a raison."),
    ];
    becomes(
        &lists,
        "Tom's book, I think Tom is right.",
        "Le livre de Tom, je crois que Tom a raison.",
        &expected,
    );
    becomes(&lists, "Anne's book", "Le livre d'Anne", &[("Paul's book", "Le livre de Paul")]);
    becomes(&lists, "Anne's", "D’Anne", &[("Paul's", "De Paul")]);
    let reversed = by(FRENCH, ["fr", "en"]);
    becomes(&reversed, "Le livre d'Anne", "Anne's book", &[("Le livre de Paul", "Paul's book")]);
    // h and y: some are elided, others are not, so the name stays where it matters
    becomes(&lists, "Jean's book", "Le livre de Jean", &[("Jean's book", "Le livre de Jean")]);
    becomes(
        &lists,
        "Jean is here.",
        "Jean est là.",
        &[("Hugo is here.", "Hugo est là."), ("Yann is here.", "Yann est là.")],
    );
    becomes(&lists, "from two", "de deux", &[("from eleven", "de onze")]);
}

#[test]
fn numbers_change_together_and_keep_their_kind() {
    let lists = by(SMALL, ["en", "de"]);
    let numbers = |text: &str| -> Vec<String> {
        let parts = text.split(|character: char| !(character.is_ascii_digit() || ".,:".contains(character)));
        parts
            .map(|part| part.trim_matches(['.', ',', ':']))
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let of = |source, target| {
        let found = all_of(&lists, source, target);
        assert!(found.len() > 5, "{found:?}");
        found.into_iter().map(|(source, target)| [numbers(&source), numbers(&target)])
    };
    for [source, target] in of("I paid 3.50 for 12 of them.", "Ich zahlte 3,50 für 12 davon.") {
        assert_eq!(source[0].replace('.', ","), target[0]);
        assert_eq!((source[0].len(), &source[1]), (4, &target[1]));
        assert!((10..=31).contains(&source[1].parse::<usize>().unwrap()), "{source:?}");
    }
    for [source, target] in of("At 8:30 on 3 May 1998", "Am 3. Mai 1998 um 8:30") {
        assert_eq!([&source[0], &source[1], &source[2]], [&target[2], &target[0], &target[1]]);
        let (hour, minute) = source[0].split_once(':').unwrap();
        assert!((1..=12).contains(&hour.parse::<usize>().unwrap()) && minute.parse::<usize>().unwrap() < 60);
        assert!((2..=9).contains(&source[1].parse::<usize>().unwrap()));
        assert!((1900..2060).contains(&source[2].parse::<usize>().unwrap()));
    }
    for (source, target) in [
        ("1 dog", "1 Hund"),                              // a singular
        ("the 3rd of 4 A4 pages", "die 3. von 4 Seiten"), // an ordinal that is no word of its own
        ("5 and 5", "5 und 5"),
        ("12 eggs", "ein Dutzend Eier"),
    ] {
        becomes(&lists, source, target, &[(source, target)]);
    }
}

#[test]
fn files_that_make_no_lists_are_refused_with_the_place() {
    let message = |json: &str, languages| {
        Substitution::from_json("lists.json", json.as_bytes(), languages).expect_err("no lists").to_string()
    };
    let languages = ["en", "de"];
    for (json, parts) in [
        ("{", &["lists.json", "docs/training.md"][..]),
        (r#"{"languages": ["en", "de"], "groups": [], "nmbers": 1}"#, &["nmbers", "line 1"]),
        (r#"{"languages": ["en", "de"], "groups": [], "numbers": 2}"#, &["\"numbers\"", "0 to 1"]),
        (
            r#"{"languages": ["en", "de"], "groups": [{"name": "x", "share": 1, "find": "y"}]}"#,
            &["the group \"x\"", "has no \"y\""],
        ),
        (
            r#"{"languages": ["en", "de"], "groups": [{"name": "x", "share": 1, "find": []}]}"#,
            &["the group \"x\"", "empty"],
        ),
        (
            r#"{"languages": ["en", "de"], "groups": [{"name": "x", "share": 1, "find": [" a"]}]}"#,
            &["\" a\" does not begin with a letter"],
        ),
        (
            r#"{"languages": ["en", "de"], "groups": [{"name": "x", "share": 1, "find": ["a"], "invented":
                {"share": 1, "letters": ["z-a"], "length": [1, 2]}}]}"#,
            &["\"z-a\" is no range"],
        ),
        (
            r#"{"languages": ["en", "de"], "lists": {"t": ["Dr."]}, "groups": [{"name": "x", "share": 1,
                "find": ["a"], "titles": {"share": 1, "list": "t"}}]}"#,
            &["the group \"x\"", "needs \"surnames\""],
        ),
        (
            r#"{"languages": ["en", "de"], "groups": [], "elision": {"fr": []}}"#,
            &["\"fr\"", "neither en nor de"],
        ),
    ] {
        let message = message(json, languages);
        for part in parts {
            assert!(message.contains(part), "{part:?} is not in: {message}");
        }
    }
    let other = message(SMALL, ["en", "fr"]);
    assert!(
        other.contains("en and de") && other.contains("from en to fr") && other.contains("--from"),
        "{other}"
    );
    assert!(message(SMALL, ["", ""]).contains("from ? to ?"));
    assert!(Substitution::from_json("lists.json", SMALL.as_bytes(), ["en_GB", "DE"]).is_ok());
}

/// Pairs like those of a corpus.
fn corpus() -> Vec<SentencePair> {
    let line = |index: usize| pair(&format!("Sentence {index} of Tom!"), &format!("Satz {index} von Tom!"));
    (0..4000).map(line).collect()
}

#[test]
fn shares_are_those_asked_for_and_epochs_differ() {
    let pairs = corpus();
    let shares = Augmentation {
        joined: 0.2,
        lower_cased: 0.1,
        unpunctuated: 0.05,
        seed: 3,
        ..Augmentation::default()
    };
    let epoch = |augmentation: &Augmentation, number| -> Vec<SentencePair> {
        (0..pairs.len()).map(|index| augmentation.example(&pairs, number, index)).collect()
    };
    let examples = epoch(&shares, 5);
    let share = |is: &dyn Fn(&SentencePair) -> bool| {
        examples.iter().filter(|example| is(example)).count() as f64 / examples.len() as f64
    };
    // 4,000 draws: three standard deviations are 0.019, 0.014, 0.010
    let joined = |example: &SentencePair| example.source.split(' ').count() == 8;
    assert!((share(&joined) - 0.2).abs() < 0.019, "{}", share(&joined));
    let lower = |example: &SentencePair| example.source.starts_with("sentence");
    assert!((share(&lower) - 0.1).abs() < 0.014, "{}", share(&lower));
    let bare = |example: &SentencePair| !example.source.ends_with('!');
    assert!((share(&bare) - 0.05).abs() < 0.010, "{}", share(&bare));
    for example in &examples {
        assert!(example.target.starts_with("Satz ") && example.target.ends_with(" von Tom!"), "{example:?}");
        assert_eq!(joined(example), example.target.split(' ').count() == 8, "{example:?}");
    }
    assert_eq!(examples, epoch(&shares, 5));
    assert_ne!(examples, epoch(&shares, 6));
    assert_ne!(examples, epoch(&Augmentation { seed: 4, ..shares.clone() }, 5));
    let none = Augmentation { seed: 3, ..Augmentation::default() };
    assert!(none.is_none() && !shares.is_none());
    assert_eq!(epoch(&none, 5), pairs);
}

#[test]
fn only_complete_sentences_are_joined() {
    let joined = Augmentation { joined: 1.0, ..Augmentation::default() };
    let example = |pairs: &[SentencePair]| joined.example(pairs, 0, 0).source;
    assert_eq!(example(&[pair("One.", "Eins.")]), "One. One.");
    assert_eq!(
        example(&[pair("He said \"One!\"", "Er sagte: „Eins!“")]),
        "He said \"One!\" He said \"One!\""
    );
    assert_eq!(example(&[pair("One", "Eins.")]), "One");
    assert_eq!(example(&[pair("One.", "Eins")]), "One.");
    let long = format!("{}.", "x".repeat(200));
    assert_eq!(example(&[pair(&long, "Eins.")]), long);
    let bare = Augmentation { unpunctuated: 1.0, lower_cased: 1.0, ..Augmentation::default() };
    let example = |source: &str| bare.example(&[pair(source, "Ça va ?")], 0, 0);
    assert_eq!(example("Ça va ?"), pair("ça va", "Ça va ?"));
    assert_eq!(example("Really?! …"), pair("really", "Ça va ?"));
    assert_eq!(example("?"), pair("?", "Ça va ?"));
}

/// The shipped lists.
fn shipped(name: &str, languages: [&str; 2]) -> Augmentation {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/substitutions").join(name);
    by(&String::from_utf8(read(&path)).unwrap(), languages)
}

#[test]
fn the_shipped_lists_work_in_both_directions() {
    let german = shipped("en-de.json", ["en", "de"]);
    let found = all_of(
        &german,
        "Tom flew from Berlin to Japan on Monday morning.",
        "Tom flog am Montagmorgen von Berlin nach Japan.",
    );
    assert!(found.len() > 50, "{found:?}");
    let other_scripts = (0..400)
        .map(|epoch| german.example(&[pair("Oh, Tom.", "Oh, Tom.")], epoch, 0))
        .inspect(|pair| assert_eq!(pair.source, pair.target))
        .filter(|pair| pair.source.chars().any(|character| character > '\u{300}'))
        .count();
    assert!((1..40).contains(&other_scripts), "{other_scripts}");
    let for_vocabulary = german.vocabulary_example(&vec![pair("Oh, Tom.", "Oh, Tom."); 400], 399);
    assert_eq!(for_vocabulary.source, for_vocabulary.target);
    for languages in [["en", "fr"], ["fr", "en"]] {
        let french = shipped("en-fr.json", languages);
        let mut sides = [("Mary has lived in France since May.", "Marie vit en France depuis mai.")];
        if languages[0] == "fr" {
            sides = sides.map(|(one, other)| (other, one));
        }
        let found = all_of(&french, sides[0].0, sides[0].1);
        assert!(found.len() > 30, "{found:?}");
        let feminine = found.iter().filter(|(one, other)| one.contains("Sweden") || other.contains("Sweden"));
        assert!(feminine.clone().count() > 0 || found.len() > 40);
        assert!(feminine.into_iter().all(|(one, other)| one.contains("Suède") || other.contains("Suède")));
    }
}
