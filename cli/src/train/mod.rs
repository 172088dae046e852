//! `wordloom train`

mod arguments;
mod chart;
mod page;
mod pair_files;
mod plot;
mod report;
pub mod text;

use wordloom::train::session::Preparation;

pub use arguments::{Arguments, PrecisionName};
use report::Report;

use super::setup::{model_files, open_device};
use super::{CliError, interrupt, notice};

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let cancel = interrupt::handler();
    let mut report = Report::new(&arguments.out);
    let preparation = Preparation::new(arguments.options(), &mut report)?;
    let model = match &arguments.model {
        Some(model) if preparation.needs_model() => Some(model_files(Some(model))?),
        _ => None,
    };
    let device = open_device(&arguments.device)?;
    let session = preparation.begin(model, device, cancel, &mut report)?;
    interrupt::working(|| Ok(pollster::block_on(session.train(&mut report))?))?;
    let out = arguments.out.display().to_string();
    let model = text::typed(std::iter::once(out.clone()));
    notice(&format!("{out}: try it with wordloom translate --model {model} \"…\""));
    Ok(())
}
