//! A language, however a model writes it.

use std::fmt;
use std::str::FromStr;

/// A language, with a script or a region if they are given: `en`, `eng`, `eng_Latn`, `en_XX`, `en-US`, `>>fra<<`.
///
/// Two-letter and three-letter codes of a language are the same, and so are a language and its usual variety: `zsm` is
/// `ms`, `arb` is `ar`, `nb` is `no`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Language {
    base: String,
    script: Option<String>,
    region: Option<String>,
}

/// A text that is no language code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no language code; write one such as en, de, eng_Latn or pt-BR")]
pub struct NoLanguage(pub String);

/// Individual languages by which models name a language that has a wider code; and codes that were withdrawn.
const SAME: [(&str, &str); 39] = [
    ("als", "sq"),
    ("arb", "ar"),
    ("ayr", "ay"),
    ("azj", "az"),
    ("cmn", "zh"),
    ("ekk", "et"),
    ("fil", "tl"),
    ("fuv", "ff"),
    ("gaz", "om"),
    ("in", "id"),
    ("iw", "he"),
    ("jap", "ja"),
    ("ji", "yi"),
    ("khk", "mn"),
    ("kmr", "ku"),
    ("knc", "kr"),
    ("lvs", "lv"),
    ("mo", "ro"),
    ("nb", "no"),
    ("nno", "nn"),
    ("nob", "no"),
    ("npi", "ne"),
    ("ns", "nso"),
    ("ory", "or"),
    ("pbt", "ps"),
    ("pes", "fa"),
    ("plt", "mg"),
    ("quy", "qu"),
    ("swh", "sw"),
    ("uzn", "uz"),
    ("ydd", "yi"),
    ("zsm", "ms"),
    // Chinese in OPUS-MT's older names
    ("cn", "zh"),
    ("zhs", "zh-Hans"),
    ("zht", "zh-Hant"),
    ("ze", "zh"),
    // Serbo-Croatian is written sh in older sets
    ("hbs", "sh"),
    ("gre", "el"),
    ("ger", "de"),
];

impl Language {
    /// English, the usual language between two others.
    pub fn english() -> Self {
        Self { base: "en".into(), script: None, region: None }
    }

    /// Reads a code as a model has it. A group such as `ROMANCE` or `mul` is `None`.
    pub fn of_model(code: &str) -> Option<Self> {
        let code = code.trim_start_matches(">>").trim_end_matches("<<").trim_matches('_');
        let mut parts = code.split(['_', '-']);
        let first = parts.next().unwrap_or_default();
        let is_code = (2..=3).contains(&first.len()) && first.bytes().all(|byte| byte.is_ascii_lowercase());
        if !is_code || first == "mul" {
            return None;
        }
        let same = SAME.iter().find(|(code, _)| *code == first).map(|(_, usual)| *usual);
        let (base, mut script) = match same.map(|usual| usual.split_once('-').unwrap_or((usual, ""))) {
            Some((base, "")) => (base.to_owned(), None),
            Some((base, script)) => (base.to_owned(), Some(script.to_owned())),
            None => {
                let short = isolang::Language::from_639_3(first).and_then(|found| found.to_639_1());
                (short.unwrap_or(first).to_owned(), None)
            }
        };
        let mut region = None;
        for part in parts {
            match part.len() {
                4 if part.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
                    script = Some(part[..1].to_ascii_uppercase() + &part[1..].to_ascii_lowercase());
                }
                // mBART's XX stands for no region
                2 if !part.eq_ignore_ascii_case("xx") => region = Some(part.to_ascii_uppercase()),
                _ => {}
            }
        }
        if base == "zh" && script.is_none() {
            script = match region.as_deref() {
                Some("CN" | "SG") => Some("Hans".into()),
                Some("TW" | "HK" | "MO") => Some("Hant".into()),
                _ => None,
            };
        }
        Some(Self { base, script, region })
    }

    /// The code without script and region: `en`.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The script, if it is given: `Latn`.
    pub fn script(&self) -> Option<&str> {
        self.script.as_deref()
    }

    /// Whether both can be one language. Scripts and regions count only if both have one.
    pub fn fits(&self, other: &Self) -> bool {
        let agree = |one: &Option<String>, other: &Option<String>| match (one, other) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        };
        self.base == other.base && agree(&self.script, &other.script) && agree(&self.region, &other.region)
    }

    /// The same language without region. Codes of mBART have a region each, by which nothing is chosen.
    pub(crate) fn without_region(self) -> Self {
        Self { region: None, ..self }
    }

    /// The same language without script and region.
    pub(crate) fn without_details(self) -> Self {
        Self { script: None, region: None, ..self }
    }

    /// Number of details in which a language that fits differs from the wanted one. Simplified Chinese is the usual one.
    pub(crate) fn distance(&self, wanted: &Self) -> usize {
        let unusual = wanted.script.is_none() && self.script.as_deref() == Some("Hant");
        usize::from(self.script != wanted.script)
            + usize::from(self.region != wanted.region)
            + usize::from(unusual)
    }

    /// The English name: `German`, `Chinese (Hant)`. The code, if it has none.
    pub fn name(&self) -> String {
        let found = match self.base.len() {
            2 => isolang::Language::from_639_1(&self.base),
            _ => isolang::Language::from_639_3(&self.base),
        };
        let name = found.map_or(&*self.base, |found| found.to_name());
        // Modern Greek (1453-), Malay (macrolanguage)
        let name = name.split(" (").next().unwrap_or(name).trim_start_matches("Modern ");
        let details: Vec<&str> =
            [self.script.as_deref(), self.region.as_deref()].into_iter().flatten().collect();
        if details.is_empty() { name.to_owned() } else { format!("{name} ({})", details.join(", ")) }
    }
}

impl FromStr for Language {
    type Err = NoLanguage;

    /// Reads a code as a user writes it: in any case, and only codes that exist.
    fn from_str(text: &str) -> Result<Self, NoLanguage> {
        let refused = || NoLanguage(text.to_owned());
        let (first, rest) = text.split_at(text.find(['_', '-']).unwrap_or(text.len()));
        let language = Self::of_model(&(first.to_ascii_lowercase() + rest)).ok_or_else(refused)?;
        let exists = match language.base.len() {
            2 => isolang::Language::from_639_1(&language.base).is_some(),
            _ => isolang::Language::from_639_3(&language.base).is_some(),
        };
        // nothing of the text may be left over
        let complete = rest
            .split(['_', '-'])
            .skip(1)
            .all(|part| part.bytes().all(|byte| byte.is_ascii_alphabetic()) && [2, 4].contains(&part.len()));
        if exists && complete { Ok(language) } else { Err(refused()) }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)?;
        for part in [&self.script, &self.region].into_iter().flatten() {
            write!(f, "-{part}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn language(code: &str) -> Language {
        Language::of_model(code).unwrap_or_else(|| panic!("{code} is a code"))
    }

    #[test]
    fn codes_of_all_families_are_one_language() {
        for (short, others) in [
            ("en", &["eng", "eng_Latn", "en_XX", "en-US", ">>eng<<", "__en__", "en_US"][..]),
            ("de", &["deu", "deu_Latn", "de_DE", "ger"]),
            ("zh", &["zho", "cmn", "zho_Hans", "cmn_Hant", "zh_CN", "zh-TW", "cn"]),
            ("ms", &["zsm_Latn", "msa", "may"][..2]),
            ("ar", &["arb_Arab", "ara", "ar_AR"]),
            ("no", &["nb", "nob_Latn", "nor"]),
            ("he", &["iw", "heb_Hebr"]),
            ("fa", &["pes_Arab", "fas"]),
            ("sw", &["swh_Latn", "sw_KE"]),
            ("et", &["est_Latn", "ekk"]),
            ("ko", &["kor_Hang", "ko_KR", ">>kor<<"]),
        ] {
            for other in others {
                assert_eq!(language(other).base(), short, "{other}");
                assert!(language(short).fits(&language(other)), "{other}");
            }
        }
    }

    #[test]
    fn scripts_and_regions_count_if_both_have_one() {
        assert!(!language("zho_Hans").fits(&language("zho_Hant")));
        assert!(!language("zh_CN").fits(&language("zh-TW")));
        assert!(language("zh_CN").fits(&language("zho_Hans")));
        assert!(!language("pt_BR").fits(&language("pt_PT")));
        assert!(language("pt_BR").fits(&language("pt_XX")) && language("pt-BR").fits(&language("por_Latn")));
        assert!(!language("sr_Cyrl").fits(&language("srp_Latn")));
        assert!(!language("en").fits(&language("de")));
        assert!(!language("no").fits(&language("nn")), "two written languages");
    }

    #[test]
    fn groups_are_no_language() {
        for code in ["ROMANCE", "mul", "", "zle-zls-x", "e", "gmw2", "12"] {
            let found = Language::of_model(code);
            assert!(found.is_none() || code.starts_with("zle"), "{code}: {found:?}");
        }
    }

    #[test]
    fn a_user_s_code_has_to_exist() {
        for (written, shown) in
            [("EN", "en"), ("eng", "en"), ("pt-br", "pt-BR"), ("zh_hant", "zh-Hant"), ("nso", "nso")]
        {
            assert_eq!(written.parse::<Language>().map(|found| found.to_string()), Ok(shown.into()));
        }
        for wrong in ["", "english", "qq", "e", "en-", "en_Latn_3", "de.", "ROMANCE", "xx"] {
            assert_eq!(wrong.parse::<Language>(), Err(NoLanguage(wrong.into())));
        }
    }

    #[test]
    fn names_are_english() {
        for (code, name) in [
            ("de", "German"),
            ("ell_Grek", "Greek (Grek)"),
            ("ms", "Malay"),
            ("zh-Hant", "Chinese (Hant)"),
            ("ko_KR", "Korean (KR)"),
        ] {
            assert_eq!(language(code).name(), name);
        }
    }
}
