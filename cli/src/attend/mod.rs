//! `wordloom attend`

mod grid;
mod picture;
mod png;
mod statistics;
mod svg;
mod taps;
mod terminal;

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use wordloom::Translator;
use wordloom::explain::CANDIDATES;
use wordloom::trace::{AttentionKind, HeadName, MAX_FILE_BYTES, Trace, TraceOptions};
use wordloom::translate::resolve_languages;

use super::choice::{Chosen, Steps};
use super::error::one_line;
use super::lines::Lines;
use super::output::{Output, cannot_write, check_named};
use super::setup::{
    AttentionArguments, DeviceArguments, ModelArguments, OF_A_RUN, SearchArguments, SwitchArguments, count,
    number, search_options,
};
use super::{CliError, choice, interrupt, notice};
use picture::Picture;
pub use terminal::Style;

// Help must fit a screen: 30 lines.

#[derive(clap::Args)]
pub struct Arguments {
    /// What to translate [default: standard input]
    text: Vec<String>,
    /// .html .svg .png .json .safetensors; else a heatmap
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Look at this translation, not at the model's
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["trace", "beams", "length_penalty", "max_length"])]
    target: Option<String>,
    /// encoder, decoder or cross
    #[arg(long, value_name = "KIND", default_value = "cross")]
    kind: AttentionKind,
    /// One layer, from 0 [default: the last]
    #[arg(long, value_name = "N", value_parser = count)]
    layer: Option<usize>,
    /// One head, from 0 [default: the mean of all]
    #[arg(long, value_name = "N", value_parser = count)]
    head: Option<usize>,
    /// Draw all layers and heads (.svg, .png)
    #[arg(long, conflicts_with_all = ["layer", "head"])]
    grid: bool,
    /// Write numbers and a name for every head
    #[arg(long)]
    statistics: bool,
    /// Mute a head, cross.2.5 for example; repeatable
    #[arg(long, value_name = "HEAD", conflicts_with = "trace")]
    mute: Vec<HeadName>,
    /// Look at a trace that was saved; no model runs
    #[arg(long, value_name = "FILE", conflicts_with_all = OF_A_RUN,
          conflicts_with_all = ["text", "attention", "length_penalty", "max_length", "memory", "device"])]
    trace: Option<PathBuf>,
    /// Keep or list a tap, such as encoder.*.self.scores
    #[arg(long, value_name = "NAME")]
    tap: Vec<String>,
    /// Write JSON: the trace, or the statistics
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    search: SearchArguments,
    /// Above 1 favours long translations, below short
    #[arg(long, value_name = "X", value_parser = number)]
    length_penalty: Option<f32>,
    /// Most tokens of a translated sentence
    #[arg(long, value_name = "N", value_parser = count)]
    max_length: Option<usize>,
    /// Most memory for attention, MiB
    #[arg(long, value_name = "N", value_parser = count, default_value = "256")]
    memory: usize,
    #[command(flatten)]
    attention: AttentionArguments,
    #[command(flatten)]
    switches: SwitchArguments,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    device: DeviceArguments,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Html,
    Svg,
    Png,
    Json,
    Safetensors,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    check_named(("--trace", arguments.trace.as_deref()), ("--output", arguments.output.as_deref()))?;
    let format = arguments.output.as_deref().map(format).transpose()?;
    if arguments.grid && !matches!(format, Some(Format::Svg | Format::Png)) {
        return Err(CliError::Usage(
            "--grid draws pictures: give an --output that ends with .svg or .png".into(),
        ));
    }
    if !arguments.tap.is_empty() && matches!(format, Some(Format::Svg | Format::Png)) {
        return Err(CliError::Usage(
            "--tap keeps numbers, which a picture does not have: give an --output that ends with .json, .safetensors or \
             .html"
                .into(),
        ));
    }
    let trace = match &arguments.trace {
        Some(path) => open_trace(path, &arguments.tap)?,
        None => make(arguments, format)?,
    };
    if trace.sentences.is_empty() {
        return Err(CliError::Input("there is nothing to look at: the text has no words".into()));
    }
    tell_left_out(&trace);
    if let (Some(path), Some(format)) = (&arguments.output, format) {
        let bytes = match format {
            Format::Html => wordloom_viewer::page(&trace).into_bytes(),
            Format::Svg if arguments.grid => svg::grid(&trace, arguments.kind)?.into_bytes(),
            Format::Svg => svg::pictures(&pictures(arguments, &trace)?)?.into_bytes(),
            Format::Png if arguments.grid => png::grid(&trace, arguments.kind)?,
            Format::Png => png::pictures(&pictures(arguments, &trace)?)?,
            Format::Json => trace.to_json().map_err(unwritable)?.into_bytes(),
            Format::Safetensors => trace.to_safetensors().map_err(unwritable)?,
        };
        fs::write(path, bytes).map_err(|source| cannot_write(path, source))?;
    }
    let mut output = Output::open(None)?;
    match (arguments.statistics, arguments.json) {
        (true, true) => output.line(&statistics::json(&trace)?)?,
        (true, false) => statistics::table(&trace, &mut output)?,
        (false, true) => output.line(&trace.to_json().map_err(unwritable)?)?,
        (false, false) if arguments.output.is_some() => {}
        (false, false) if !arguments.tap.is_empty() => taps::list(&trace, &mut output)?,
        (false, false) => {
            for (index, picture) in pictures(arguments, &trace)?.iter().enumerate() {
                if index > 0 {
                    output.line("")?;
                }
                terminal::draw(picture, &terminal::Style::of_stdout(), &mut output)?;
            }
        }
    }
    output.flush()
}

fn format(path: &Path) -> Result<Format, CliError> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match &*extension.to_ascii_lowercase() {
        "html" | "htm" => Ok(Format::Html),
        "svg" => Ok(Format::Svg),
        "png" => Ok(Format::Png),
        "json" => Ok(Format::Json),
        "safetensors" => Ok(Format::Safetensors),
        _ => Err(CliError::Usage(format!(
            "--output {} has no known ending; use .html, .svg, .png, .json or .safetensors",
            path.display()
        ))),
    }
}

fn unwritable(error: wordloom::trace::TraceFileError) -> CliError {
    CliError::Input(format!("the trace cannot be written: {error}"))
}

/// Opens a trace. `taps`: the taps to keep; none: all of them.
pub fn open_trace(path: &Path, taps: &[String]) -> Result<Trace, CliError> {
    let name = path.display();
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|source| CliError::Io { what: format!("cannot read {name}"), source })?;
    let mut trace = Trace::from_bytes(&bytes).map_err(|error| CliError::Input(format!("{name} {error}")))?;
    if !taps.is_empty() {
        taps::keep(&mut trace, taps).map_err(|problem| CliError::Input(format!("{name} {problem}")))?;
    }
    Ok(trace)
}

fn make(arguments: &Arguments, format: Option<Format>) -> Result<Trace, CliError> {
    let cancel = interrupt::handler();
    let text = match arguments.text.as_slice() {
        [] => whole(&Lines::open(None)?)?,
        words => words.join(" "),
    };
    let choice =
        choice::open(&arguments.model, &arguments.search, Steps::One, &mut || Ok(text.clone()))?.last;
    let mut options = choice.options(&arguments.search, cancel);
    options.generation.length_penalty = arguments.length_penalty;
    options.generation.max_length = arguments.max_length;
    let Chosen { model, tokenizer, .. } = choice;
    let (_, generation) = resolve_languages(&tokenizer, &options, model.generation_config())
        .map_err(|error| CliError::Usage(error.to_string()))?;
    let flags = [
        ("num_beams", "--beams", arguments.search.beams.is_some()),
        ("length_penalty", "--length-penalty", arguments.length_penalty.is_some()),
        ("max_length", "--max-length", arguments.max_length.is_some()),
    ];
    if arguments.target.is_none() {
        search_options(&flags, &model, &generation)?;
    }
    let mut transformer = match arguments.target {
        Some(_) => arguments.device.transformer(&model)?,
        None => arguments.device.generator(&model, &options.generation)?,
    };
    arguments.switches.apply(&mut transformer, &model)?;
    arguments.attention.apply(&mut transformer)?;
    let mut translator = Translator::from_parts(transformer, tokenizer);
    translator
        .mute(&model, &arguments.mute)
        .map_err(|error| CliError::Usage(one_line(&error.to_string())))?;
    let kept = TraceOptions {
        // only the last part of the path, for privacy
        model: Path::new(model.label())
            .file_name()
            .map_or_else(|| model.label().to_owned(), |name| name.to_string_lossy().into_owned()),
        memory: (arguments.memory as u64).saturating_mul(1 << 20),
        depth: arguments.statistics,
        taps: arguments.tap.clone(),
        // as many as an explanation has, for their spellings
        alternatives: if arguments.tap.is_empty() {
            TraceOptions::default().alternatives
        } else {
            CANDIDATES
        },
        // pictures do not show it
        search: arguments.json || matches!(format, Some(Format::Html | Format::Json | Format::Safetensors)),
        ..TraceOptions::default()
    };
    options.keep.tree = kept.search;
    interrupt::working(|| {
        Ok(pollster::block_on(async {
            match &arguments.target {
                Some(target) => Trace::of_pair(&translator, &text, target, &options, &kept).await,
                None => {
                    let translation = translator.translate(&text, &options).await?;
                    Trace::of(&translator, &text, &translation, &options, &kept).await
                }
            }
        })?)
    })
}

/// Reads all lines as one text.
pub fn whole(lines: &Lines) -> Result<String, CliError> {
    let mut text = String::new();
    loop {
        let round = lines.round();
        for line in round.lines {
            text.push_str(&line.text);
            text.push('\n');
        }
        if let Some(end) = round.end {
            return end.map(|()| text);
        }
    }
}

/// Reports layers without room, one line per sentence.
fn tell_left_out(trace: &Trace) {
    for (sentence, traced) in (1..).zip(&trace.sentences) {
        let what: Vec<String> = traced
            .left_out
            .iter()
            .map(|left_out| match left_out.attention {
                Some((kind, layer)) => format!("{kind} {layer}"),
                None => "alternatives".to_owned(),
            })
            .collect();
        if let [first, ..] = &traced.left_out[..] {
            notice(&one_line(&format!(
                "warning: sentence {sentence} is without {}: {}; see --memory",
                what.join(", "),
                first.reason
            )));
        }
    }
}

/// The chosen map of every sentence that has it.
fn pictures(arguments: &Arguments, trace: &Trace) -> Result<Vec<Picture>, CliError> {
    let Arguments { kind, layer, head, .. } = arguments;
    let pictures: Vec<Picture> =
        trace.sentences.iter().filter_map(|sentence| Picture::new(sentence, *kind, *layer, *head)).collect();
    if !pictures.is_empty() {
        return Ok(pictures);
    }
    let kept = trace.sentences.iter().flat_map(|sentence| sentence.layers(*kind));
    let kept: Vec<(usize, usize)> = kept.map(|layer| (layer.layer, layer.heads)).collect();
    Err(match (kept.iter().map(|(layer, _)| layer).max(), kept.iter().map(|(_, heads)| heads).max()) {
        (Some(layers), Some(heads)) => CliError::Usage(format!(
            "there is no such layer or head in the {kind} attention; --layer is 0 to {layers}, --head 0 to {}",
            heads - 1
        )),
        _ if trace.sentences.iter().any(|sentence| !sentence.left_out.is_empty()) => {
            let way_out = match arguments.trace {
                Some(_) => "was left out when the trace was made; make it with more --memory".to_owned(),
                None => format!("does not fit in --memory {} (MiB); give more", arguments.memory),
            };
            CliError::Input(format!("the {kind} attention {way_out}"))
        }
        _ => CliError::Input(format!("the trace has no {kind} attention")),
    })
}
