//! The languages of a model: what its files name, narrowed by its name and its page.

use std::path::Path;

use wordloom::model::files::ModelFiles;
use wordloom::model::{ModelLanguages, read_languages};

use crate::cached::Languages;

/// The languages of a folder; none if its files are damaged, which opening the model tells. `name` is the repository's,
/// `card` the languages on its page.
pub fn of(folder: &Path, family: &str, name: &str, card: &[String]) -> Languages {
    let read = ModelFiles::directory(folder).and_then(|files| read_languages(&files));
    narrowed(read.unwrap_or_default(), family, name.rsplit('/').next().unwrap_or(name), card)
}

fn narrowed(
    ModelLanguages { from, to }: ModelLanguages,
    family: &str,
    name: &str,
    card: &[String],
) -> Languages {
    let pair = named_pair(name);
    match family {
        "marian" | "vanilla_transformer" => {
            let named = |side: Option<&str>| side.map(str::to_owned).into_iter().collect::<Vec<_>>();
            let or = |codes: Vec<String>, side| if codes.is_empty() { named(side) } else { codes };
            let to = or(to, pair.map(|(_, to)| to));
            let from = or(from, pair.map(|(from, _)| from));
            let is_group = |codes: &[String]| !codes.iter().any(|code| is_code(code));
            // the languages of a group to read are on the page alone
            let from = match is_group(&from) {
                true => card.iter().filter(|code| is_code(code) && !to.contains(code)).cloned().collect(),
                false => from,
            };
            match from.is_empty() || (to.len() < 2 && is_group(&to)) {
                true => Languages::default(),
                false => Languages { from, to },
            }
        }
        // fine-tuned ones keep the tokenizer of all languages
        "mbart" | "m2m_100" => {
            let only = |language: &str| -> Vec<String> {
                to.iter().filter(|code| code.split('_').next() == Some(language)).cloned().collect()
            };
            let pair = pair.map(|(from, to)| (only(from), only(to)));
            match pair.filter(|(from, to)| !from.is_empty() && !to.is_empty()) {
                Some((from, to)) => Languages { from, to },
                None if name.contains("one-to-many") => Languages { from: only("en"), to },
                None if name.contains("many-to-one") => Languages { from, to: only("en") },
                None => Languages { from, to },
            }
        }
        _ => Languages { from, to },
    }
}

/// The languages at the end of a name: `en` and `fr` of `opus-mt-en-fr`.
fn named_pair(name: &str) -> Option<(&str, &str)> {
    let mut parts = name.rsplit('-');
    let (target, source) = (parts.next()?, parts.next()?);
    (is_code(source) && is_code(target)).then_some((source, target))
}

/// Whether a text is the code of one language: `en`, `fra`, `pt_BR`, `zh-Hant`, not a group (`ROMANCE`, `roa`).
fn is_code(text: &str) -> bool {
    /// Codes of groups in the names of OPUS-MT.
    const GROUPS: &str = " aav afa alv art bat bnt cau ccs cel cpf cpp cus dra euq fiu gem gmq gmw grk iir inc ine ira \
        itc map mkh mul ngf nic phi poz pqe roa sal sem sit sla smi taw tmu trk tut urj wen zle zls zlw zlt zhx ";
    let mut parts = text.split(['_', '-']);
    let language = parts.next().unwrap_or_default();
    (2..=3).contains(&language.len())
        && language.bytes().all(|byte| byte.is_ascii_lowercase())
        && !GROUPS.contains(&format!(" {language} "))
        && parts.all(|part| {
            (2..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(read: [&str; 2], family: &str, name: &str, card: &str) -> [String; 2] {
        let codes = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let read = ModelLanguages { from: codes(read[0]), to: codes(read[1]) };
        let Languages { from, to } = narrowed(read, family, name, &codes(card));
        [from.join(" "), to.join(" ")]
    }

    #[test]
    fn groups_have_their_languages_from_tags_and_page() {
        assert_eq!(said(["en", "fr"], "marian", "opus-mt-en-fr", ""), ["en", "fr"]);
        assert_eq!(said(["", ""], "marian", "opus-mt-tc-big-en-ko", ""), ["en", "ko"]);
        assert_eq!(said(["en", "fra spa"], "marian", "opus-mt-en-ROMANCE", ""), ["en", "fra spa"]);
        assert_eq!(said(["ROMANCE", "en"], "marian", "opus-mt-ROMANCE-en", "fr es en roa"), ["fr es", "en"]);
        assert_eq!(said(["mul", "en"], "marian", "opus-mt-mul-en", ""), ["", ""]);
        assert_eq!(said(["", ""], "marian", "mine", "en fr"), ["", ""]);
    }

    #[test]
    fn fine_tuned_models_of_many_languages_are_narrowed_by_their_names() {
        let all = "de_DE en_XX ro_RO";
        let mbart = |name| said([all, all], "mbart", name, "");
        assert_eq!(mbart("mbart-large-en-ro"), ["en_XX", "ro_RO"]);
        assert_eq!(mbart("mbart-large-50-one-to-many-mmt"), ["en_XX", all]);
        assert_eq!(mbart("mbart-large-50-many-to-one-mmt"), [all, "en_XX"]);
        assert_eq!(mbart("mbart-large-50-many-to-many-mmt"), [all, all]);
        assert_eq!(said(["en", "de fr"], "t5", "t5-small", ""), ["en", "de fr"]);
    }
}
