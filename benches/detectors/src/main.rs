//! Measures a language detector on files of one sentence per line: `detectors CODE=FILE …`.
//!
//! For each file it prints the share of right answers on whole lines and on the first 1, 2 and 3 words, and the share of
//! answers that the detector itself calls reliable, with their share of right ones. The candidates are twenty languages
//! (whichlang: its own sixteen).

use std::time::Instant;

const CODES: [&str; 20] = [
    "ar", "cs", "da", "de", "en", "es", "fi", "fr", "it", "ja", "ko", "nb", "nl", "pl", "pt", "ru", "sv",
    "tr", "uk", "zh",
];

/// Code, and whether it is reliable.
type Detect = Box<dyn Fn(&str) -> Option<(String, bool)>>;

#[cfg(feature = "whatlang")]
fn whatlang() -> Detect {
    use whatlang::{Detector, Lang};
    let codes = [
        "ara", "ces", "dan", "deu", "eng", "spa", "fin", "fra", "ita", "jpn", "kor", "nob", "nld", "pol",
        "por", "rus", "swe", "tur", "ukr", "cmn",
    ];
    let detector = Detector::with_allowlist(codes.iter().filter_map(|code| Lang::from_code(*code)).collect());
    Box::new(move |text| {
        let info = detector.detect(text)?;
        let place = codes.iter().position(|code| *code == info.lang().code())?;
        Some((CODES[place].to_owned(), info.is_reliable()))
    })
}

#[cfg(feature = "whichlang")]
fn whichlang() -> Detect {
    use whichlang::Lang;
    Box::new(|text| {
        let code = match whichlang::detect_language(text) {
            Lang::Ara => "ar",
            Lang::Cmn => "zh",
            Lang::Deu => "de",
            Lang::Eng => "en",
            Lang::Fra => "fr",
            Lang::Hin => "hi",
            Lang::Ita => "it",
            Lang::Jpn => "ja",
            Lang::Kor => "ko",
            Lang::Nld => "nl",
            Lang::Por => "pt",
            Lang::Rus => "ru",
            Lang::Spa => "es",
            Lang::Swe => "sv",
            Lang::Tur => "tr",
            Lang::Vie => "vi",
        };
        Some((code.to_owned(), true))
    })
}

#[cfg(feature = "lingua")]
fn lingua(low: bool) -> Detect {
    use lingua::{IsoCode639_1, LanguageDetectorBuilder};
    use std::str::FromStr;
    let codes = CODES.map(|code| IsoCode639_1::from_str(code).unwrap());
    let mut builder = LanguageDetectorBuilder::from_iso_codes_639_1(&codes);
    if low {
        builder.with_low_accuracy_mode();
    }
    let detector = builder.build();
    Box::new(move |text| {
        let values = detector.compute_language_confidence_values(text);
        let (language, value) = values.first()?;
        let second = values.get(1).map_or(0.0, |(_, value)| *value);
        Some((language.iso_code_639_1().to_string(), *value - second > 0.5))
    })
}

fn measure(name: &str, detect: &Detect, files: &[(String, Vec<String>)]) {
    for (code, lines) in files {
        let mut row = format!("{name} {code}");
        for words in [1, 2, 3, usize::MAX] {
            let texts: Vec<String> = lines
                .iter()
                .map(|line| line.split_whitespace().take(words).collect::<Vec<_>>().join(" "))
                .collect();
            let (mut right, mut sure, mut surely_right) = (0, 0, 0);
            let begun = Instant::now();
            for text in &texts {
                if let Some((found, reliable)) = detect(text) {
                    right += usize::from(found == *code);
                    sure += usize::from(reliable);
                    surely_right += usize::from(reliable && found == *code);
                }
            }
            let each = begun.elapsed().as_secs_f64() * 1e6 / texts.len() as f64;
            let share = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
            row += &format!(
                "  | {:5.1} % ({:5.1} % sure, {:5.1} % of them right, {each:.0} us)",
                share(right, texts.len()),
                share(sure, texts.len()),
                share(surely_right, sure)
            );
        }
        println!("{row}");
    }
}

fn main() {
    let files: Vec<(String, Vec<String>)> = std::env::args()
        .skip(1)
        .map(|argument| {
            let (code, file) = argument.split_once('=').expect("CODE=FILE");
            let text = std::fs::read_to_string(file).expect("a file");
            (code.to_owned(), text.lines().map(str::to_owned).collect())
        })
        .collect();
    #[cfg(feature = "whatlang")]
    measure("whatlang", &whatlang(), &files);
    #[cfg(feature = "whichlang")]
    measure("whichlang", &whichlang(), &files);
    #[cfg(feature = "lingua")]
    measure("lingua", &lingua(false), &files);
    #[cfg(feature = "lingua")]
    measure("lingua, low accuracy mode", &lingua(true), &files);
    #[cfg(not(any(feature = "lingua", feature = "whatlang", feature = "whichlang")))]
    measure("nothing", &(Box::new(|_: &str| None) as Detect), &files);
}
