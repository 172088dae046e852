//! The check of the window's GPU: its button, its progress, its result.

use eframe::egui::{ProgressBar, RichText, TextStyle, Ui};

use crate::row;

/// Width of the bar, in points: it stands beside the choice of the theme.
const BAR: f32 = 56.0;

/// What is known of the GPU.
#[derive(Default)]
pub enum Check {
    /// The model runs on the CPU: there is nothing to compare.
    #[default]
    NoGpu,
    /// No check was made in this window.
    Possible,
    /// The finished part, 0 to 1.
    Running(f32),
    /// The report in Markdown, to attach to an issue.
    Finished { report: String },
}

/// What the user wants.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum CheckAction {
    #[default]
    None,
    Begin,
    CopyReport,
}

impl Check {
    pub fn new(has_gpu: bool) -> Self {
        if has_gpu { Self::Possible } else { Self::NoGpu }
    }

    pub fn show(&self, ui: &mut Ui) -> CheckAction {
        let small = |text: &str| RichText::new(text).small();
        let mut action = CheckAction::None;
        match self {
            Self::NoGpu => {}
            Self::Running(fraction) => {
                let text = "checking the GPU";
                row::keep_together(
                    ui,
                    BAR + ui.spacing().item_spacing.x + row::length(ui, text, TextStyle::Small),
                );
                ui.add(ProgressBar::new(*fraction).desired_width(BAR).desired_height(6.0));
                ui.label(small(text).weak());
            }
            Self::Finished { .. } => {
                let copy = ui.button(small("Copy the report")).on_hover_text("To attach to an issue");
                if copy.clicked() {
                    action = CheckAction::CopyReport;
                }
            }
            Self::Possible => {
                let begin = ui.button(small("Check the GPU"));
                if begin.on_hover_text("Compares every kernel with the CPU; translations wait").clicked() {
                    action = CheckAction::Begin;
                }
            }
        }
        action
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    use super::*;

    /// Clicks a button, and says what follows.
    fn clicked(check: Check, button: &str) -> CheckAction {
        let action = Cell::new(CheckAction::None);
        let mut harness = Harness::new_ui(|ui| {
            let now = check.show(ui);
            if now != CheckAction::None {
                action.set(now);
            }
        });
        harness.get_by_label(button).click();
        harness.run();
        drop(harness);
        action.into_inner()
    }

    #[test]
    fn the_report_can_be_copied_after_the_check() {
        let finished = || Check::Finished { report: "report".into() };
        assert_eq!(clicked(Check::new(true), "Check the GPU"), CheckAction::Begin);
        assert_eq!(clicked(finished(), "Copy the report"), CheckAction::CopyReport);
        for without in [Check::new(false), Check::Running(0.5), finished()] {
            let harness = Harness::new_ui(|ui| {
                without.show(ui);
            });
            assert!(harness.query_by_label("Check the GPU").is_none());
        }
    }
}
