//! Fonts for all scripts.
//!
//! The window contains fonts for Latin, Greek and Cyrillic. When another letter is first shown, it looks for a system font.
//! Letters without any font are shown as boxes, and a notice names their scripts.

use std::collections::{BTreeMap, BTreeSet};

use eframe::egui::{Context, FontId};

/// Names of scripts, and their ranges in Unicode.
const SCRIPTS: [(&str, &[[u32; 2]]); 9] = [
    ("Korean", &[[0x1100, 0x11ff], [0x3130, 0x318f], [0xac00, 0xd7af]]),
    ("Japanese", &[[0x3040, 0x30ff], [0x31f0, 0x31ff]]),
    ("Chinese characters", &[[0x3400, 0x4dbf], [0x4e00, 0x9fff], [0xf900, 0xfaff], [0x20000, 0x323af]]),
    ("Arabic", &[[0x600, 0x6ff], [0x750, 0x77f], [0x8a0, 0x8ff], [0xfb50, 0xfdff], [0xfe70, 0xfeff]]),
    ("Hebrew", &[[0x590, 0x5ff]]),
    ("Devanagari", &[[0x900, 0x97f]]),
    ("Thai", &[[0xe00, 0xe7f]]),
    ("emoji", &[[0x1f300, 0x1faff]]),
    ("Armenian", &[[0x530, 0x58f]]),
];

/// The letters that were looked for, and the scripts of shown letters without a font.
#[derive(Default)]
pub struct MissingLetters {
    /// Whether a font has them.
    looked_for: BTreeMap<char, bool>,
    scripts: BTreeSet<&'static str>,
}

/// Limit of checked characters in a text: more contain few new ones, and the window must not wait.
const MOST_LETTERS: usize = 4_000;

impl MissingLetters {
    /// Begins a frame, which may show other texts.
    pub fn begin(&mut self) {
        self.scripts.clear();
    }

    /// Looks for fonts for the letters of a text.
    pub fn look_for(&mut self, window: &Context, text: &str) {
        let drawn = |c: &char| *c > '\u{24f}' && !c.is_whitespace() && !c.is_control();
        let new: BTreeSet<char> = text.chars().take(MOST_LETTERS).filter(drawn).collect();
        let font = FontId::proportional(14.0);
        for letter in new {
            let found = || window.fonts_mut(|fonts| fonts.has_glyph(&font, letter));
            if !*self.looked_for.entry(letter).or_insert_with(found) {
                self.scripts.insert(script(letter));
            }
        }
    }

    /// A sentence for the user, if some letters cannot be shown.
    pub fn notice(&self) -> Option<String> {
        let scripts: Vec<&str> = self.scripts.iter().copied().collect();
        let (last, others) = scripts.split_last()?;
        let all =
            if others.is_empty() { (*last).to_owned() } else { format!("{} and {last}", others.join(", ")) };
        Some(format!(
            "No font on this machine has all of the {all} shown here, so that boxes stand for it. Translations are not \
             changed by that. A font that has it will be found at the next start: on Debian and Ubuntu, \
             fonts-noto-core, fonts-noto-cjk or fonts-noto-color-emoji."
        ))
    }
}

fn script(letter: char) -> &'static str {
    let code = letter as u32;
    let has = |ranges: &[[u32; 2]]| ranges.iter().any(|[first, last]| (*first..=*last).contains(&code));
    SCRIPTS.iter().find(|(_, ranges)| has(ranges)).map_or("signs", |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use eframe::egui::RawInput;

    use super::*;

    #[test]
    fn a_script_without_a_font_is_named_and_others_are_not() {
        let window = Context::default(); // without the system's fonts
        let mut output = window.run_ui(RawInput::default(), |_| {});
        output.textures_delta.clear(); // the test draws nothing
        let mut missing = MissingLetters::default();
        missing.look_for(&window, "Wo ist der Bahnhof? Где вокзал? Πού;");
        assert_eq!(missing.notice(), None);
        missing.look_for(&window, "기차역이 어디예요?");
        missing.look_for(&window, "أين المحطة");
        let notice = missing.notice().expect("there is no such font");
        assert!(notice.contains("all of the Arabic and Korean shown"), "{notice}");
        missing.begin();
        missing.look_for(&window, "أين المحطة");
        let notice = missing.notice().expect("there is still no such font");
        assert!(notice.contains("all of the Arabic shown"), "{notice}");
        missing.begin();
        missing.look_for(&window, "Wo?");
        assert_eq!(missing.notice(), None);
    }
}
