//! The user's glossary: one term a line, `ticket = Fahrschein`.

use std::sync::Arc;

use eframe::egui::{CollapsingHeader, Frame, RichText, TextEdit, Ui};
use wordloom::translate::GlossaryFile;

use crate::theme;
use crate::translation::name;

/// The glossary as it is typed, and as it was read.
#[derive(Debug)]
pub struct Terms {
    pub text: String,
    /// `None` without terms; an error names the line.
    read: Result<Option<Arc<GlossaryFile>>, String>,
}

impl Terms {
    pub fn new(text: String) -> Self {
        let read = match text.trim().is_empty() {
            true => Ok(None),
            false => GlossaryFile::parse("glossary", text.as_bytes()).map(|file| Some(Arc::new(file))),
        };
        Self { text, read: read.map_err(|error| error.to_string()) }
    }

    /// The glossary; `None` if there is none, or if it has a mistake.
    pub fn glossary(&self) -> Option<Arc<GlossaryFile>> {
        self.read.as_ref().ok()?.clone()
    }

    /// Shows the terms. Returns whether they changed.
    ///
    /// * `through`: whether the translation goes through a third language, where terms are not looked for
    pub fn show(&mut self, ui: &mut Ui, through: bool) -> bool {
        let title = match &self.read {
            Ok(None) => "Glossary".to_owned(),
            Ok(Some(glossary)) => format!("Glossary ({})", glossary.entries.len()),
            Err(_) => "Glossary (a mistake)".to_owned(),
        };
        let mut changed = false;
        CollapsingHeader::new(title).id_salt("glossary").show(ui, |ui| {
            let terms = TextEdit::multiline(&mut self.text)
                .id_salt("terms")
                .hint_text("ticket = Fahrschein")
                .frame(Frame::NONE)
                .desired_width(f32::INFINITY)
                .desired_rows(3);
            let terms = theme::card(ui).show(ui, |ui| ui.add(terms)).inner;
            name(ui.ctx(), terms.id, "Terms of the glossary");
            if terms.changed() {
                *self = Self::new(std::mem::take(&mut self.text));
                changed = true;
            }
            match &self.read {
                Err(error) => ui.label(RichText::new(error).color(ui.visuals().warn_fg_color)),
                Ok(_) if through => ui
                    .label(RichText::new("A translation through a third language takes no glossary.").weak()),
                Ok(_) => ui.label(RichText::new("One term a line, and its translation after =.").weak()),
            };
        });
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_read_and_mistakes_are_named() {
        assert!(Terms::new(" \n".into()).glossary().is_none());
        let terms = Terms::new("ticket = Fahrschein\ncup\tTasse\tTassen\n".into());
        let sources =
            terms.glossary().map(|file| file.entries.iter().map(|entry| entry.source.clone()).collect());
        assert_eq!(sources, Some(vec!["ticket".to_owned(), "cup".to_owned()]));
        let wrong = Terms::new("ticket = Fahrschein\ncup".into());
        assert!(wrong.glossary().is_none());
        assert!(wrong.read.is_err_and(|error| error.starts_with("glossary, line 2: has 1 column")));
    }
}
