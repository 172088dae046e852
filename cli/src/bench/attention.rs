//! Costs of attention: a translation with and without kept attention, attention of given texts, and pictures.

use pollster::block_on;
use serde::Serialize;
use wordloom::heatmap::{Painter, View};
use wordloom::trace::{AttentionKind, TraceOptions, TraceRequest, attend};
use wordloom::transformer::{Cancel, GenerateOptions, Generation, Keep, Transformer};

use super::models::Measured;
use super::subject::{Subject, Translation, source_ids};
use super::timing::{Samples, Summary};
use super::{Steps, Workload};
use crate::CliError;
use crate::output::Output;
use crate::table::{number, percent, table};

#[derive(Serialize)]
pub struct Looking {
    #[serde(flatten)]
    measured: Measured,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    beams: usize,
    source: usize,
    tokens: usize,
    translation: Summary,
    /// The same translation with the best hypothesis' attention kept on the device.
    with_attention: Summary,
    /// A forward pass for the attention of a given translation.
    pass: Summary,
    /// All heads of the encoder in one picture; its maps are the largest for long sources.
    overview: Summary,
    head: Summary,
}

/// Pixels of a large window.
const PICTURE: [u32; 2] = [1200, 800];

impl Looking {
    pub fn measure(subject: &Subject, workload: &Workload) -> Result<Self, CliError> {
        if !(subject.generates() && subject.encodes()) {
            let message = format!("--attention: {} does not translate", subject.label);
            return Err(CliError::Usage(message));
        }
        let Workload { beams, tokens, source, repeats, .. } = workload;
        let mut steps = Steps::new(beams.len() * tokens.len() * 5);
        let mut rows = Vec::new();
        for &tokens in tokens {
            for &beams in beams {
                rows.push(row(subject, [beams, *source, tokens], *repeats, &mut steps)?);
            }
        }
        Ok(Self { measured: Measured::new(subject), rows })
    }

    pub fn text(&self, output: &mut Output) -> Result<(), CliError> {
        self.measured.text(output)?;
        output.line("\nattention kept on the device, and painted; milliseconds")?;
        let header =
            ["beams", "source", "tokens", "translate", "attended", "more", "a pass", "all heads", "one head"];
        let cells = |row: &Row| {
            vec![
                row.beams.to_string(),
                row.source.to_string(),
                row.tokens.to_string(),
                number(row.translation.ms),
                number(row.with_attention.ms),
                percent(Some(row.with_attention.ms / row.translation.ms - 1.0)),
                number(row.pass.ms),
                number(row.overview.ms),
                number(row.head.ms),
            ]
        };
        table(output, 0, &header, self.rows.iter().map(cells))
    }
}

fn row(
    subject: &Subject,
    [beams, source, tokens]: [usize; 3],
    repeats: usize,
    steps: &mut Steps,
) -> Result<Row, CliError> {
    let transformer = &subject.transformer;
    let sources = source_ids(subject.config(), source, 1);
    let request = subject.request(Translation { batch: 1, beams, source, tokens }, sources[0].clone())?;
    let one = std::slice::from_ref(&request);
    let generate = |keep: Keep| -> Result<Generation, CliError> {
        let found = block_on(transformer.generate(one, GenerateOptions::default().keep(keep)))?;
        found.into_iter().next().ok_or(CliError::Usage("--attention: nothing was translated".into()))
    };
    let kept = TraceOptions { memory: u64::MAX, ..TraceOptions::default() };
    let with_attention = || {
        let found = generate(Keep { attention: Some(kept.keep_attention()), ..Keep::default() })?;
        settle(transformer)?;
        Ok::<_, CliError>(found.attention.expect("it was to be kept"))
    };
    let attend = |target_ids: Vec<u32>| {
        let request = TraceRequest { input_ids: request.input_ids.clone(), target_ids, prompt: 1 };
        block_on(attend(transformer, &[request], &kept, &Cancel::default()))?;
        settle(transformer)
    };
    // in turn, so that other load on the machine affects both
    let (mut alone, mut both) = (Samples::default(), Samples::default());
    let best = generate(Keep::default())?.hypotheses.into_iter().next();
    let target_ids = best.map(|best| best.tokens).unwrap_or_default();
    let attended = with_attention()?;
    for _ in 0..repeats {
        alone.add(|| generate(Keep::default()).map(drop))?;
        both.add(|| with_attention().map(drop))?;
    }
    steps.step();
    steps.step();
    attend(target_ids.clone())?;
    let pass = Samples::of(repeats, || attend(target_ids.clone()))?;
    steps.step();
    let painter = Painter::new(&subject.device());
    let mut maps = block_on(attended.maps(&painter, AttentionKind::Encoder))?;
    let whole = View::fit(maps.shape(), PICTURE);
    let overview = Samples::of(repeats, || Ok(block_on(painter.paint(&mut maps, &whole)).map(|_| ())?))?;
    steps.step();
    let near = View::fit(maps.only(0, 0)?.shape(), PICTURE);
    let head = Samples::of(repeats, || {
        let mut one = maps.only(0, 0)?;
        Ok(block_on(painter.paint(&mut one, &near)).map(|_| ())?)
    })?;
    steps.step();
    Ok(Row {
        beams,
        source,
        tokens,
        translation: alone.summary(),
        with_attention: both.summary(),
        pass: pass.summary(),
        overview: overview.summary(),
        head: head.summary(),
    })
}

fn settle(transformer: &Transformer) -> Result<(), CliError> {
    match transformer.device().gpu() {
        Some(gpu) => Ok(block_on(gpu.settled())?),
        None => Ok(()),
    }
}
