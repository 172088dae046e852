use super::build::Build;
use super::states::{Ready, SessionStates};
use super::{DecodeSession, Program, SessionKey};
use crate::graph;
use crate::transformer::cancel::Cancel;
use crate::transformer::error::GenerateError;
use crate::transformer::input_states::Source;
use crate::transformer::loaded::LoadedModel;
use crate::transformer::queue::Seats;
use crate::transformer::request::GenerateRequest;

/// Tokens of a batch that a browser encodes in one go: it has no clock to tell a long text from a short one.
const SHORT: usize = 1024;

/// Tokens of padding that cost about as much as another group: each group reads all weights.
const MOST_PADDING: usize = 16;

/// Number of requests for one group, from the first on; at most `most`.
fn group_size(requests: &[&GenerateRequest], most: usize) -> usize {
    let length = |request: &&GenerateRequest| request.input_ids.len();
    let longest = requests.first().map_or(0, length);
    let padding = requests.iter().scan(0, |padding, request| {
        *padding += longest.abs_diff(length(request));
        Some(*padding)
    });
    padding.take(most).take_while(|&padding| padding <= MOST_PADDING).count()
}

impl DecodeSession {
    /// Encodes the sources of the first requests, at once or in groups of neighbours, which have similar lengths. Shows how far
    /// it has come.
    pub(super) async fn encode(
        &mut self,
        model: &LoadedModel,
        queue: &mut impl Seats,
        cancel: &Cancel,
    ) -> Result<(), GenerateError> {
        let SessionKey { batch, source_length, next, groups, .. } = self.key;
        let mut end = 0;
        while source_length > 0 && end < batch {
            let (first, requests) = (end, queue.batch());
            end = if groups { first + group_size(&requests[first..], next) } else { batch };
            let lengths: Vec<usize> =
                requests[first..end].iter().map(|request| request.input_ids.len()).collect();
            let sources: Vec<Source<'_>> =
                requests[first..end].iter().map(|request| request.source()).collect();
            let (program, length) = self.write_sources(model, &sources)?;
            if cfg!(target_arch = "wasm32") && batch * source_length < SHORT {
                self.session.run(program, &model.weights);
            } else {
                let between = async |fraction| {
                    let done = first as f32 + fraction * (end - first) as f32;
                    queue.show_encoding(done / batch as f32).await;
                    cancel.listen().await
                };
                let ended = self.session.run_in_parts(program, &model.weights, cancel.flag(), between).await;
                if !ended || cancel.is_cancelled() {
                    return Err(GenerateError::Cancelled);
                }
            }
            if groups {
                self.take_group(first, &lengths, length);
            }
        }
        Ok(())
    }

    /// Writes sources of the first requests: all at once, or a group. Returns the program that encodes them, and their padded
    /// length.
    pub(super) fn write_sources(
        &mut self,
        model: &LoadedModel,
        sources: &[Source<'_>],
    ) -> Result<(graph::Program, usize), GenerateError> {
        match &self.states.source {
            Some(source) if !self.key.groups => {
                source.write_source(&mut self.session, &model.config, sources);
                Ok((self.program(Program::Encode), source.length))
            }
            _ => self.write_group(model, sources),
        }
    }

    /// Takes the memory of an encoded group for sentences from `first` on.
    fn take_group(&mut self, first: usize, lengths: &[usize], padded: usize) {
        let SessionStates { source, memory, next, .. } = &self.states;
        let (Some(source), Some(next)) = (source, next) else { return };
        let places = (0..lengths.len()).map(|place| (place, first + place));
        self.session.copy_rows(&next.copies(memory, places, [padded, source.length]));
        for (sentence, &length) in (first..).zip(lengths) {
            source.write_mask(&mut self.session, sentence, length);
        }
    }

    /// Encodes the sources of waiting requests, after the device's current work.
    pub(super) fn encode_next(
        &mut self,
        model: &LoadedModel,
        queue: &mut impl Seats,
    ) -> Result<(), GenerateError> {
        if self.key.next == 0 {
            return Ok(());
        }
        let requests = queue.next(self.key.next);
        if requests.is_empty() {
            return Ok(());
        }
        let sources: Vec<Source<'_>> = requests.iter().map(|&index| queue.request(index).source()).collect();
        let (program, length) = self.write_group(model, &sources)?;
        self.session.run(program, &model.weights);
        self.states.ready = Ready { requests, seated: 0, length };
        Ok(())
    }

    /// Writes a group of sources. Returns the program that encodes them, and their padded length. On the CPU it is planned
    /// for their number and length, at the first such group.
    fn write_group(
        &mut self,
        model: &LoadedModel,
        sources: &[Source<'_>],
    ) -> Result<(graph::Program, usize), GenerateError> {
        let Self { key, states, session, programs, .. } = self;
        let next = states.next.as_ref().expect("a session with room for a group");
        let longest = sources.iter().map(|(tokens, _)| tokens.len()).max().unwrap_or(0);
        let fits = |length: &&usize| **length >= longest;
        let length = key.next_lengths.iter().find(fits).copied().unwrap_or(key.source_length);
        let number = if key.groups { sources.len() } else { key.next };
        next.input.part(number, length).write_source(session, &model.config, sources);
        let program = Program::EncodeNext { sources: number, length };
        let known = programs.iter().position(|&own| own == program);
        let program = match known {
            Some(index) => session.program(index),
            None => {
                let plan = Build { model, states, batch: key.batch }.encode_next(next, number, length)?;
                let added = session.add(plan)?;
                programs.push(program);
                added
            }
        };
        Ok((program, length))
    }
}
