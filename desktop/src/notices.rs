//! Messages for the user, above everything else, until they are dismissed.

use eframe::egui::{Context, RichText, Ui};

use crate::fonts::MissingLetters;
use crate::texts::{one_line, shortened};

/// Limit of messages: an older one gives way.
const MOST: usize = 3;
/// Limit of a message's length, in characters.
const LONGEST: usize = 600;

/// The messages that were not dismissed.
#[derive(Default)]
pub struct Notices {
    notices: Vec<Notice>,
    letters: MissingLetters,
    /// The message about letters without a font that the user dismissed.
    dismissed_letters: Option<String>,
}

struct Notice {
    text: String,
    warning: bool,
}

impl Notices {
    pub fn add(&mut self, text: String, warning: bool) {
        let text = shortened(&text, LONGEST);
        self.notices.retain(|notice| notice.text != text);
        self.notices.push(Notice { text, warning });
        if self.notices.len() > MOST {
            self.notices.remove(0);
        }
    }

    /// Looks for fonts for the texts of a frame.
    pub fn look_for_letters<'a>(&mut self, window: &Context, texts: impl Iterator<Item = &'a str>) {
        self.letters.begin();
        texts.for_each(|text| self.letters.look_for(window, text));
    }

    pub fn is_empty(&self) -> bool {
        self.notices.is_empty() && self.missing_letters().is_none()
    }

    pub fn show(&mut self, ui: &mut Ui) {
        if let Some(text) = self.missing_letters()
            && show_notice(ui, &Notice { text: text.clone(), warning: false })
        {
            self.dismissed_letters = Some(text);
        }
        self.notices.retain(|notice| !show_notice(ui, notice));
    }

    fn missing_letters(&self) -> Option<String> {
        self.letters.notice().filter(|notice| self.dismissed_letters.as_ref() != Some(notice))
    }
}

/// Shows a notice; returns whether the user dismissed it.
fn show_notice(ui: &mut Ui, notice: &Notice) -> bool {
    let color = if notice.warning { ui.visuals().warn_fg_color } else { ui.visuals().weak_text_color() };
    ui.horizontal_wrapped(|ui| {
        let dismissed = ui.button("OK").clicked();
        ui.label(RichText::new(one_line(&notice.text)).color(color));
        dismissed
    })
    .inner
}
