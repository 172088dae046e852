//! The document that is translated: its progress, and the translated file to save.

use std::path::Path;
use std::sync::Arc;

use eframe::egui::{ProgressBar, RichText, Ui};

use crate::engine::document::name_of_translation;
use crate::texts::shortened;

#[derive(Default)]
pub enum Document {
    #[default]
    None,
    Translating {
        name: String,
        /// The part that is translated: 0 to 1.
        fraction: f32,
    },
    Translated {
        /// Name of the file to save.
        name: String,
        bytes: Arc<Vec<u8>>,
    },
}

/// What the user asked of the document in this frame.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub enum DocumentAction {
    #[default]
    None,
    Choose,
    Stop,
    Save,
    Close,
}

impl Document {
    /// Begins with a document. Returns what to say of one that is given up for it.
    pub fn begin(&mut self, path: &Path) -> Option<String> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let given_up = match self {
            Self::Translating { name: before, .. } => {
                Some(format!("{} is translated instead of {}.", shortened(&name, 60), shortened(before, 60)))
            }
            Self::None | Self::Translated { .. } => None,
        };
        *self = Self::Translating { name, fraction: 0.0 };
        given_up
    }

    pub fn reach(&mut self, reached: f32) {
        if let Self::Translating { fraction, .. } = self {
            *fraction = reached;
        }
    }

    pub fn finish(&mut self, path: &Path, language: Option<&str>, bytes: Vec<u8>) {
        *self = Self::Translated { name: name_of_translation(path, language), bytes: Arc::new(bytes) };
    }

    pub fn show(&self, ui: &mut Ui) -> DocumentAction {
        let clicked = |ui: &mut Ui, text: &str, action| match ui.button(text).clicked() {
            true => action,
            false => DocumentAction::None,
        };
        ui.horizontal_wrapped(|ui| match self {
            Self::None => {
                let choose = ui.button("Translate a file…");
                let hint = format!("{}; or drop it here", wordloom_documents::Format::endings());
                match choose.on_hover_text(hint).clicked() {
                    true => DocumentAction::Choose,
                    false => DocumentAction::None,
                }
            }
            Self::Translating { name, fraction } => {
                ui.add(ProgressBar::new(*fraction).desired_width(160.0).desired_height(6.0));
                let text = format!("{:.0} % of {}", 100.0 * fraction, shortened(name, 60));
                ui.label(RichText::new(text).weak());
                clicked(ui, "Stop", DocumentAction::Stop)
            }
            Self::Translated { name, .. } => {
                ui.label(shortened(name, 60));
                let save = clicked(ui, "Save the document…", DocumentAction::Save);
                let close = clicked(ui, "Close the document", DocumentAction::Close);
                if save == DocumentAction::None { close } else { save }
            }
        })
        .inner
    }
}
