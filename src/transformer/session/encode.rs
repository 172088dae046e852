use super::build::Build;
use super::states::{Ready, SessionStates};
use super::{DecodeSession, Program};
use crate::graph;
use crate::transformer::cancel::Cancel;
use crate::transformer::error::GenerateError;
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
    /// Encodes the sources of the first requests, and shows how far it has come.
    pub(super) async fn encode(
        &mut self,
        model: &LoadedModel,
        queue: &mut impl Seats,
        cancel: &Cancel,
    ) -> Result<(), GenerateError> {
        if self.key.groups {
            return self.encode_in_groups(model, queue, cancel).await;
        }
        let Some(source) = &self.states.source else { return Ok(()) };
        let requests = queue.batch();
        source.write_source(
            &mut self.session,
            &model.config,
            requests.iter().map(|request| request.source()),
        );
        self.run_encoder(model, self.program(Program::Encode), queue, cancel, [0.0, 1.0]).await
    }

    /// Encodes neighbours of the batch, which have similar lengths, together.
    async fn encode_in_groups(
        &mut self,
        model: &LoadedModel,
        queue: &mut impl Seats,
        cancel: &Cancel,
    ) -> Result<(), GenerateError> {
        let batch = self.key.batch;
        let mut end = 0;
        while end < batch {
            let first = end;
            let requests = queue.batch();
            end += group_size(&requests[first..], self.key.next);
            let sources = requests[first..end].iter().map(|request| request.source());
            let (program, length) = self.write_group(model, sources)?;
            let share = [first, end].map(|sentence| sentence as f32 / batch as f32);
            self.run_encoder(model, program, queue, cancel, share).await?;
            let SessionStates { source, memory, next, .. } = &self.states;
            let (Some(source), Some(next)) = (source, next) else { return Ok(()) };
            let copies = next.copies(memory, (0..).zip(first..end), [length, source.length]);
            self.session.copy_rows(&copies);
            for (sentence, request) in queue.batch().iter().enumerate().take(end).skip(first) {
                source.write_mask(&mut self.session, sentence, request.input_ids.len());
            }
        }
        Ok(())
    }

    /// Runs an encoder's program. `shown`: the finished part of the batch before and after it.
    async fn run_encoder(
        &mut self,
        model: &LoadedModel,
        program: graph::Program,
        queue: &mut impl Seats,
        cancel: &Cancel,
        [from, to]: [f32; 2],
    ) -> Result<(), GenerateError> {
        if cfg!(target_arch = "wasm32") && self.key.batch * self.key.source_length < SHORT {
            self.session.run(program, &model.weights);
            return Ok(());
        }
        let between = async |fraction| {
            queue.show_encoding(from + fraction * (to - from)).await;
            cancel.listen().await
        };
        match self.session.run_in_parts(program, &model.weights, cancel.flag(), between).await {
            true if !cancel.is_cancelled() => Ok(()),
            _ => Err(GenerateError::Cancelled),
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
        let sources = requests.iter().map(|&index| queue.request(index).source());
        let (program, length) = self.write_group(model, sources)?;
        self.session.run(program, &model.weights);
        self.states.ready = Ready { requests, seated: 0, length };
        Ok(())
    }

    /// Writes a group of sources. Returns the program that encodes them, and their padded length. On the CPU it is planned
    /// for their number and length, at the first such group.
    fn write_group<'a>(
        &mut self,
        model: &LoadedModel,
        sources: impl ExactSizeIterator<Item = (&'a [u32], &'a [usize])> + Clone,
    ) -> Result<(graph::Program, usize), GenerateError> {
        let Self { key, states, session, programs, .. } = self;
        let next = states.next.as_ref().expect("a session with room for a group");
        let longest = sources.clone().map(|(tokens, _)| tokens.len()).max().unwrap_or(0);
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
                programs.push(program);
                session.add(plan)
            }
        };
        Ok((program, length))
    }
}
