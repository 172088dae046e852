//! `wordloom-desktop`: a window that translates while the user types, and shows the attention.
//!
//! | file | |
//! |---|---|
//! | `app` | the window: its layout; what the user asks for, and what the threads tell |
//! | `notices`, `dropping` | messages for the user; files dropped on the window |
//! | `device` | one GPU for the window and the model |
//! | `engine` | translates, traces and searches on a separate thread |
//! | `gallery` | paints maps on a separate thread |
//! | `files` | opens and saves files on separate threads |
//! | `languages`, `models` | the picker of languages; models of this machine, and those that can be had |
//! | `translation`, `viewer` | the two halves of the window |
//! | `check` | the check of the GPU |
//! | `about` | what Wordloom is, and the licences of what it is made of |
//! | `muting` | muted heads |
//! | `fonts`, `texts`, `theme`, `remembered` | fonts for all scripts; one-line texts; colours and spacing; state between starts |

#![forbid(unsafe_code)]

mod about;
mod app;
mod check;
mod choice;
mod device;
mod document;
mod dropping;
mod engine;
mod files;
mod fonts;
mod gallery;
mod languages;
mod models;
mod muting;
mod notices;
mod remembered;
mod row;
mod swapping;
mod switching;
mod terms;
mod texts;
mod theme;
mod translation;
mod viewer;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use wordloom::DeviceChoice;

/// Translate as you type, and see the attention, in a window
#[derive(Parser)]
#[command(name = "wordloom-desktop", version)]
struct Arguments {
    /// A document to translate, a model's folder, or a trace (.json, .safetensors)
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
    /// auto, gpu, cpu, or a GPU's name
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: DeviceChoice,
    /// File that keeps text, model and view from one start to the next
    /// [default: in the user's folder for such]
    #[arg(long, value_name = "FILE", verbatim_doc_comment)]
    state: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    hush_caught_panics();
    match app::open(arguments.path, arguments.device, arguments.state) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let error = texts::one_line(without_place(&error.to_string()).trim_end_matches('.'));
            eprintln!(
                "error: no window: {error}; without a screen, `wordloom serve` shows a page in a browser"
            );
            ExitCode::FAILURE
        }
    }
}

/// A message without the place in the source of winit that found the error.
fn without_place(message: &str) -> &str {
    let digits = |c: char| c.is_ascii_digit();
    let after = message.split_once(".rs:").map(|(_, after)| after.trim_start_matches(digits));
    after.and_then(|after| after.strip_prefix(": ")).unwrap_or(message)
}

/// Hides panics that the library catches and returns as errors. Every other panic is shown: it is a defect.
fn hush_caught_panics() {
    let show = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !wordloom::text::panic_is_caught() {
            show(panic);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_winit_is_told_without_its_source() {
        let message = "winit EventLoopError: os error at /a/winit/src/linux/mod.rs:765: DISPLAY is not set.";
        assert_eq!(without_place(message), "DISPLAY is not set.");
        assert_eq!(without_place("no GPU is named so"), "no GPU is named so");
    }
}
