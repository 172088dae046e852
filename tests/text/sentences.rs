//! Sentence splitting: the ends of sentences, without loss.

use std::cell::Cell;

use wordloom::text::{Sentence, split_lines};

fn sentences(text: &str) -> Vec<&str> {
    split_lines(text).iter().flat_map(|line| &line.sentences).map(|sentence| sentence.text).collect()
}

#[test]
fn sentence_ends() {
    let cases: &[&[&str]] = &[
        &["Hello.", "How are you?", "Fine!"],
        &["Dr. Smith met Mrs. Jones in St. Louis.", "They talked."],
        &["J. R. R. Tolkien wrote it.", "George W. Bush read it."],
        &["J.R.R. Tolkien and the U.S. President met."],
        &["Fruit, e.g. Apples, i.e. food.", "It costs 3.50 dollars.", "Pi is 3.14159."],
        &["We bought apples, pears, etc. and went home.", "We met at 5 p.m.", "It rained."],
        &["See Fig. 3 and No. 5 on p. 12.", "No.", "I won't."],
        &["He was born in 1987.", "He is 39.", "I am 45.", "She is 43."],
        &["Am 3. Oktober beginnt der 2. Teil.", "Das war im 19. Jahrhundert."],
        &["Tiere, z.B. Hunde, bzw. Katzen.", "Das ist ca. 20 km von hier.", "Vgl. Kapitel 2."],
        &["Montag, 24. Dezember ist frei.", "1. Januar auch."],
        &["1. First item."],
        &["“Why?” he asked.", "“Because,” she said."],
        &["(He left.)", "She stayed."],
        &["Wait!!!", "What?!", "No..."],
        &["M. Dupont est là.", "Il parle à Mme. Curie."],
        &["今日は雨です。", "傘を持っていますか？", "はい！"],
        &["你好。", "你怎么样？"],
        &["यह एक वाक्य है।", "यह दूसरा है।"],
        &["version 1.2.3 of example.com is out.", "Get it."],
    ];
    for case in cases {
        let glue = if case[0].is_ascii() || case[0].contains(' ') { " " } else { "" };
        assert_eq!(sentences(&case.join(glue)), *case);
    }
}

#[test]
fn emoji_around_sentences_are_no_part_of_them() {
    let shape = |text| {
        let lines: Vec<(String, Vec<(String, String)>)> = split_lines(text)
            .iter()
            .map(|line| {
                let of = |sentence: &Sentence| (sentence.text.to_owned(), sentence.space.to_owned());
                (line.indent.to_owned(), line.sentences.iter().map(of).collect())
            })
            .collect();
        lines
    };
    let line = |indent: &str, sentences: &[(&str, &str)]| {
        let of = |&(text, space): &(&str, &str)| (text.to_owned(), space.to_owned());
        (indent.to_owned(), sentences.iter().map(of).collect::<Vec<_>>())
    };
    assert_eq!(shape("Hello 👋"), [line("", &[("Hello", " 👋")])]);
    assert_eq!(shape("😀 Good morning! 👨‍👩‍👧🇩🇪"), [line("😀 ", &[("Good morning!", " 👨‍👩‍👧🇩🇪")])]);
    assert_eq!(shape("One. 👍🏽 Two.❤️"), [line("", &[("One.", " 👍🏽 "), ("Two.", "❤️")])]);
    assert_eq!(shape("🎉🎉 ✨"), [line("🎉🎉 ✨", &[])]);
    assert_eq!(shape("I ❤️ you 1️⃣"), [line("", &[("I ❤️ you 1️⃣", "")])], "not at an end, and a digit");
    assert_eq!(shape("안녕 🙂\n🙂"), [line("", &[("안녕", " 🙂")]), line("🙂", &[])]);
}

#[test]
fn lines_are_kept() {
    let text = "  One. Two.\t\r\n\r\n   \nThree\u{2028}four.\rEnd";
    let lines = split_lines(text);
    let shape: Vec<(&str, usize, &str)> =
        lines.iter().map(|line| (line.indent, line.sentences.len(), line.end)).collect();
    assert_eq!(
        shape,
        [
            ("  ", 2, "\r\n"),
            ("", 0, "\r\n"),
            ("   ", 0, "\n"),
            ("", 1, "\u{2028}"),
            ("", 1, "\r"),
            ("", 1, "")
        ]
    );
    assert_eq!(lines[0].sentences[1], Sentence { text: "Two.", space: "\t" });
    assert!(split_lines("").is_empty());
}

/// Seeded xorshift.
struct Random(u32);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 as usize % limit
    }

    fn text(&mut self, bits: &[&str]) -> String {
        (0..self.below(120)).map(|_| bits[self.below(bits.len())]).collect()
    }
}

const BITS: &[&str] = &[
    " ",
    "  ",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "\u{3000}",
    "\u{2028}",
    ".",
    "!",
    "?",
    "...",
    "。",
    ",",
    ";",
    ": ",
    " – ",
    "、",
    "\"",
    ")",
    "(",
    "Mr",
    "z.B.",
    "a",
    "Word",
    "word",
    "3",
    "19",
    "é",
    "e\u{301}",
    "漢字",
    "한국",
    "👩‍👩‍👧",
    "🇩🇪",
    "\u{200b}",
    "\u{feff}",
    "\u{0}",
    "                                        ",
];

fn rebuilt(text: &str) -> String {
    let mut rebuilt = String::new();
    for line in split_lines(text) {
        rebuilt += line.indent;
        for Sentence { text, space } in line.sentences {
            assert!(!text.is_empty() && text.trim() == text);
            rebuilt += text;
            rebuilt += space;
        }
        rebuilt += line.end;
    }
    rebuilt
}

#[test]
fn nothing_is_lost() {
    let mut random = Random(7);
    for _ in 0..5000 {
        let text = random.text(BITS);
        assert_eq!(rebuilt(&text), text);
    }
}

/// Counts a token for each word, and for every four bytes of a long word.
fn count(text: &str) -> usize {
    text.split_whitespace().map(|word| word.len().div_ceil(4)).sum()
}

#[test]
fn parts_fit_and_nothing_is_lost() {
    let mut random = Random(8);
    for round in 0..3000 {
        let text = random.text(BITS).replace(['\n', '\r'], "x");
        let max = 1 + round % 12;
        let whole = Sentence { text: text.trim(), space: " " };
        let parts = whole.split_to_fit(max, count);
        let rebuilt: String = parts.iter().flat_map(|part| [part.text, part.space]).collect();
        assert_eq!(rebuilt, format!("{} ", text.trim()));
        for part in parts {
            assert!(count(part.text) <= max || part.text.chars().count() == 1, "{max}: {part:?}");
        }
    }
}

#[test]
fn cuts_are_at_the_best_place() {
    let cases: &[(usize, &[&str])] = &[
        (8, &["one two three four five six seven eight"]),
        (6, &["one two three four;", "five six, seven eight"]),
        (6, &["one two three four,", "five six seven eight"]),
        (6, &["one, two three four five six", "seven eight"]),
        (4, &["one two three four", "five six seven eight", "nine"]),
    ];
    for (max_words, parts) in cases {
        let text = parts.join(" ");
        let count = |text: &str| text.split(' ').count();
        let found = Sentence { text: &text, space: "" }.split_to_fit(*max_words, count);
        let found: Vec<&str> = found.iter().map(|part| part.text).collect();
        assert_eq!(found, *parts);
    }
}

#[test]
fn graphemes_are_kept_whole() {
    let family = "👩‍👩‍👧";
    let text = family.repeat(5);
    let count = |text: &str| text.chars().count();
    for part in (Sentence { text: &text, space: "" }).split_to_fit(12, count) {
        assert_eq!(part.text.len() % family.len(), 0, "{part:?}");
    }
}

#[test]
fn takes_linear_time() {
    let texts = [
        "A short sentence. ".repeat(60_000),
        format!("End.{}Next", " ".repeat(1 << 20)),
        format!("End.{}Next", ")".repeat(1 << 20)),
        format!("End. {}", "1".repeat(1 << 20)),
        ". ".repeat(1 << 19),
        "a.".repeat(1 << 19),
        "\u{301}".repeat(1 << 19),
        "🇩".repeat(1 << 18),
        format!("x{}", "🇩".repeat(1 << 18)),
        "\n".repeat(1 << 20),
    ];
    for text in &texts {
        let counted = Cell::new(0);
        let count = |text: &str| {
            counted.set(counted.get() + text.len());
            text.len().div_ceil(3)
        };
        assert_eq!(rebuilt(text).len(), text.len());
        (Sentence { text: text.trim(), space: "" }).split_to_fit(200, count);
        assert!(counted.get() < 12 * text.len().max(1), "counted {} of {} bytes", counted.get(), text.len());
    }
}
