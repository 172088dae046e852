use std::borrow::Cow;

use super::Transformer;
use super::attention_budget::{KeepAttention, Lengths, Share, share};
use super::cancel::Cancel;
use super::error::GenerateError;
use super::forward::{ForwardInput, ForwardSelection};
use super::global_states::check_attention;
use super::kept_attention::{KeptAttention, KeptLayer};
use super::queue::{Queue, Seats, pause};
use super::request::{GenerateOptions, GenerateRequest, Generation, Keep, Progress};
use super::session::{DecodeSession, SessionKey};
use crate::decode::{BatchSearch, Columns, Paths};
use crate::model::config::Architecture;

impl Transformer {
    /// Generates hypotheses for every request by its options, and the results of [`Keep`], in the order of the
    /// requests.
    ///
    /// Requests of similar length share a batch, and waiting requests take over rows of finished ones. Attention is
    /// computed from queries and keys of the search; the longest sources get its memory first.
    ///
    /// # Errors
    /// [`GenerateError`] with the failing input or option; [`GenerateError::Cancelled`];
    /// [`GenerateError::NotATranslator`] if attention is to be kept and the model has no cross-attention.
    pub async fn generate(
        &self,
        requests: &[GenerateRequest],
        options: GenerateOptions<'_>,
    ) -> Result<Vec<Generation>, GenerateError> {
        let mut memory = options.keep.attention.as_ref().map_or(0, |attention| attention.memory);
        self.generate_within(&mut memory, requests, options).await
    }

    /// As [`generate`](Self::generate); `left` is the rest of [`KeepAttention::memory`], in bytes, and is reduced.
    pub(crate) async fn generate_within(
        &self,
        left: &mut u64,
        requests: &[GenerateRequest],
        options: GenerateOptions<'_>,
    ) -> Result<Vec<Generation>, GenerateError> {
        let GenerateOptions { keep, cancel, watch, pauses } = options;
        if keep.attention.is_some() {
            self.check_translates()?;
        }
        let resolved = self.with_columns(requests);
        let requests = &*resolved;
        let order = self.in_order(requests)?;
        let mut ignore = |_: Progress<'_>| {};
        let watch = watch.unwrap_or(&mut ignore);
        let mut results = vec![Generation::default(); requests.len()];
        let mut waiting = order.as_slice();
        while !waiting.is_empty() {
            let (batch, rest) = waiting.split_at(self.batch_size(requests, waiting, &keep));
            // no request takes over rows of which something is kept
            let followers = if keep.is_nothing() { self.followers(requests, batch, rest) } else { 0 };
            let (following, rest) = rest.split_at(followers);
            let queue = Queue::new(requests, (batch, following), &mut results, watch, pauses);
            let (session, paths) = self.search(queue, &cancel, &keep).await?;
            if let (Some(attention), Some(paths)) = (&keep.attention, paths) {
                let found: Vec<&[u32]> =
                    batch.iter().map(|&index| &results[index].hypotheses[0].tokens[..]).collect();
                let batch_requests: Vec<_> = batch.iter().map(|&index| &requests[index]).collect();
                let budget = (attention, &mut *left);
                let kept = self.keep_attentions(&session, &paths, &batch_requests, &found, budget).await?;
                for (&index, kept) in batch.iter().zip(kept) {
                    results[index].attention = Some(kept);
                }
            }
            self.idle.put(session);
            waiting = rest;
            if pauses {
                pause().await; // after the session is back: the caller may stop here
            }
        }
        Ok(results)
    }

    /// The requests with the columns of their inputs.
    fn with_columns<'r>(&self, requests: &'r [GenerateRequest]) -> Cow<'r, [GenerateRequest]> {
        let open = |request: &GenerateRequest| request.options.columns == Columns::Auto;
        if self.model.shortlist.is_none() || !requests.iter().any(open) {
            return requests.into();
        }
        let mut resolved = requests.to_vec();
        resolved.iter_mut().for_each(|request| self.model.resolve_columns(request));
        resolved.into()
    }

    /// Computes the attention of each request's best hypothesis, `found`.
    async fn keep_attentions(
        &self,
        session: &DecodeSession,
        paths: &Paths,
        requests: &[&GenerateRequest],
        found: &[&[u32]],
        (keep, left): (&KeepAttention, &mut u64),
    ) -> Result<Vec<KeptAttention>, GenerateError> {
        let lengths = requests.iter().zip(found).map(|(request, tokens)| Lengths {
            source: request.input_ids.len(),
            globals: request.sorted_globals(),
            target: tokens.len() - 1,
        });
        let lengths: Vec<Lengths> = lengths.collect();
        let shares = share(&self.model.config, &lengths, keep, left, self.model.device.max_buffer_bytes());
        let mut kept = Vec::with_capacity(requests.len());
        let sentences = requests.iter().zip(found).zip(lengths.iter().zip(shares)).enumerate();
        for (sentence, ((request, tokens), (lengths, mut share))) in sentences {
            let GenerateRequest { input_ids, options, .. } = request;
            let (prompt, rows) = (options.prompt.len(), options.rows());
            let rows = sentence * rows..(sentence + 1) * rows;
            let run = &tokens[prompt - 1..tokens.len() - 1];
            let diverged = GenerateError::SearchDiverged { step: run.len(), row: rows.start };
            let path = paths.of(rows, run).ok_or(diverged)?;
            let banded = share.take_banded(&self.model.config, lengths);
            let read = [input_ids.len(), prompt];
            let mut layers = session.attention(&self.model, sentence, read, &path, &share.selection)?;
            if !banded.is_empty() {
                layers.extend(self.keep_bands(request, banded).await?);
                layers.sort_by_key(KeptLayer::place);
            }
            kept.push(KeptAttention::new(layers, share.left_out));
        }
        Ok(kept)
    }

    /// Computes the bands of encoder layers in a second pass of the encoder: they depend on the inputs of global tokens and
    /// of sums, which a search does not keep.
    async fn keep_bands(
        &self,
        request: &GenerateRequest,
        layers: Vec<usize>,
    ) -> Result<Vec<KeptLayer>, GenerateError> {
        let source_length = request.input_ids.len();
        let globals = request.sorted_globals();
        let mask = |token| globals.binary_search(&token).is_ok().into();
        let input = ForwardInput {
            batch: 1,
            source_length,
            target_length: 1,
            input_ids: request.input_ids.clone(),
            attention_mask: vec![1; source_length],
            decoder_input_ids: request.options.prompt[..1].to_vec(),
            global_attention_mask: match &globals[..] {
                [] => Vec::new(),
                _ => (0..source_length).map(mask).collect(),
            },
            ..ForwardInput::default()
        };
        let selection = ForwardSelection { encoder_attentions: layers, ..ForwardSelection::default() };
        let share = Share { selection, left_out: Vec::new() };
        Ok(self.keep_attention(&input, share)?.into_layers())
    }

    pub(crate) fn check_translates(&self) -> Result<(), GenerateError> {
        match self.model.config.architecture() {
            Architecture::EncoderDecoder => Ok(()),
            _ => Err(GenerateError::NotATranslator { model_type: self.model.config.family.model_type() }),
        }
    }

    /// Checks a request without running it.
    pub fn check_request(&self, request: &GenerateRequest) -> Result<(), GenerateError> {
        let (limit, vocabulary) = (self.model.config.positions.count(), self.model.config.source_vocabulary);
        let length = request.input_ids.len();
        if self.model.config.architecture() == Architecture::EncoderOnly {
            return Err(GenerateError::NoDecoder { model_type: self.model.config.family.model_type() });
        }
        if length == 0 {
            return Err(GenerateError::Empty);
        }
        let longest = self.model.config.source_positions().longest_input();
        if length > longest {
            return Err(GenerateError::TooLong { length, limit: longest });
        }
        if let Some(&token) = request.input_ids.iter().find(|&&token| token as usize >= vocabulary) {
            return Err(GenerateError::Token { token, vocabulary });
        }
        check_attention(&self.model.config, &request.global_tokens, length)?;
        Ok(request.options.validate(self.model.config.target_vocabulary, limit)?)
    }

    /// Searches for the requests of a queue. The caller puts the session back. Paths are returned if attention is kept.
    pub(super) async fn search(
        &self,
        queue: impl Seats,
        cancel: &Cancel,
        keep: &Keep,
    ) -> Result<(DecodeSession, Option<Paths>), GenerateError> {
        let batch = queue.batch();
        let mut search = BatchSearch::new(batch.iter().map(|request| request.options.clone()).collect())?;
        if keep.tree {
            search.keep_trees();
        }
        if keep.attention.is_some() {
            search.keep_paths();
        }
        let key = SessionKey::new(&self.model, &batch, &search, queue.waiting(), keep.attention.is_some());
        let mut session = match self.idle.take(&key) {
            Some(session) => session,
            None => {
                self.idle.make_room();
                DecodeSession::new(&self.model, key)?
            }
        };
        match session.run(&self.model, queue, search, cancel).await {
            Ok(paths) => Ok((session, paths)),
            Err(error) => {
                // the session can be used again, unless the device failed
                if !matches!(error, GenerateError::Gpu(_)) {
                    self.idle.put(session);
                }
                Err(error)
            }
        }
    }
}
