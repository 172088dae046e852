//! `wordloom-desktop`: translate as you type, and see the attention, in a window.
//!
//! | file | |
//! |---|---|
//! | `app` | the window: what is where, and who tells whom |
//! | `device` | one GPU for the window and the model |
//! | `engine` | translates, traces and searches, on a thread of its own |
//! | `gallery` | paints maps, on a thread of its own |
//! | `files` | opens and saves, on threads of their own; what was dropped |
//! | `translation`, `viewer` | the two halves of the window |
//! | `muting` | heads that contribute nothing |
//! | `fonts`, `texts`, `theme`, `remembered` | letters that no font has; texts for one line; colours and spacing; what the next start finds again |

#![forbid(unsafe_code)]

mod app;
mod device;
mod engine;
mod files;
mod fonts;
mod gallery;
mod muting;
mod remembered;
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
    /// A model's folder, or a trace (.json, .safetensors)
    #[arg(value_name = "FOLDER_OR_TRACE")]
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
            let error = texts::one_line(&error.to_string());
            eprintln!(
                "error: no window: {error}; without a screen, `wordloom serve` shows a page in a browser"
            );
            ExitCode::FAILURE
        }
    }
}

/// The `tokenizers` library panics on some damaged files. That is caught and becomes an error, so the panic's own message
/// is kept back; any other one is a fault of ours and is shown.
fn hush_caught_panics() {
    let show = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|place| place.file().contains("/tokenizers-")) {
            show(panic);
        }
    }));
}
