use std::borrow::Cow;
#[cfg(not(target_arch = "wasm32"))]
use std::sync::Arc;

use super::Transformer;
use super::attempts::Attempts;
use super::attention_budget::{Lengths, Share, share};
use super::cancel::Cancel;
use super::error::GenerateError;
use super::forward::{ForwardInput, ForwardSelection};
use super::global_states::check_attention;
use super::kept_attention::{KeptAttention, KeptLayer};
use super::loaded::LoadedModel;
use super::placed::Placed;
#[cfg(not(target_arch = "wasm32"))]
use super::pools::Pool;
use super::queue::{Followers, Queue, Seats, Watcher, pause};
use super::request::{GenerateOptions, GenerateRequest, Generation, Keep, Progress};
use super::session::{DecodeSession, SessionKey};
#[cfg(not(target_arch = "wasm32"))]
use super::side_by_side::{Shared, search_side_by_side};
use crate::decode::{BatchSearch, Columns, Paths};
use crate::model::config::Architecture;
use crate::sorting;

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
        let GenerateOptions { keep, cancel, watch, steps, pauses } = options;
        if keep.attention.is_some() {
            self.check_translates()?;
        }
        let resolved = self.with_columns(requests);
        let requests = &*resolved;
        let order = self.in_order(requests)?;
        let mut ignore = |_: Progress<'_>| {};
        let watch: &mut dyn FnMut(Progress<'_>) = match watch {
            Some(watch) => watch,
            None => &mut ignore,
        };
        let mut watcher = Watcher { watch, pauses };
        let mut results = vec![Generation::default(); requests.len()];
        let (mut waiting, mut attempts) = (order.clone(), Attempts::default());
        let all = *left;
        if keep.is_nothing() && !steps {
            waiting = self.search_on_cores(requests, waiting, &mut results, watcher.lend(), &cancel).await?;
        }
        while !waiting.is_empty() {
            let model = self.model();
            let (batch, rest) = waiting.split_at(self.batch_size(requests, &waiting, &keep, 1));
            // no request takes over rows of which something is kept
            let (followers, kind) = match keep.is_nothing() {
                true => self.followers(requests, batch, rest),
                false => (0, Followers::None),
            };
            let waiting_for = (&rest[..followers], kind);
            let queue = Queue::new(requests, batch, waiting_for, &mut results, watcher.lend());
            let before = *left;
            let size = batch.len();
            let error = match model.search(queue, &cancel, &keep).await {
                Ok((session, paths)) => {
                    let budget = (&keep, &mut *left);
                    let found = (&session, paths.as_ref());
                    let kept = self.keep_attentions(&model, found, (requests, batch), &mut results, budget);
                    match kept.await {
                        Ok(()) => {
                            model.idle.put(&model.device, session);
                            None
                        }
                        Err(error) => Some(error),
                    }
                }
                Err(error) => Some(error),
            };
            if let Some(error) = error {
                let replaced = self.replaced_devices();
                *left = before;
                if keep.attention.is_some() {
                    waiting.iter().for_each(|&index| results[index] = Generation::default());
                } else if waiting.iter().any(|&index| !results[index].hypotheses.is_empty()) {
                    waiting.retain(|&index| results[index].hypotheses.is_empty());
                    attempts.progress();
                }
                self.overcome(&model, error, &mut attempts, size)?;
                if keep.attention.is_some() && self.replaced_devices() != replaced {
                    // what was kept is gone with the device
                    results.fill(Generation::default());
                    (waiting, *left) = (order.clone(), all);
                }
            } else {
                waiting.drain(..size + followers);
                if keep.attention.is_none() {
                    attempts.progress(); // else all begins anew, and a loss at the same place would go on for ever
                }
            }
            if pauses {
                pause().await; // after the session is back: the caller may stop here
            }
        }
        Ok(results)
    }

    /// A browser has one core.
    #[cfg(target_arch = "wasm32")]
    async fn search_on_cores(
        &self,
        _: &[GenerateRequest],
        waiting: Vec<usize>,
        _: &mut [Generation],
        _: Watcher<'_>,
        _: &Cancel,
    ) -> Result<Vec<usize>, GenerateError> {
        Ok(waiting)
    }

    /// Searches on the CPU for requests that are enough for several searches. Returns those that are left.
    #[cfg(not(target_arch = "wasm32"))]
    async fn search_on_cores(
        &self,
        requests: &[GenerateRequest],
        mut waiting: Vec<usize>,
        results: &mut [Generation],
        mut watcher: Watcher<'_>,
        cancel: &Cancel,
    ) -> Result<Vec<usize>, GenerateError> {
        let model = self.model();
        if model.device.gpu().is_some() {
            return Ok(waiting);
        }
        let shared: Arc<[GenerateRequest]> = requests.into();
        while let Some(pools) = Pool::of_call(self.rows_alike(requests, &waiting)) {
            let (sizes, (followers, kind)) = self.batches(requests, &waiting, pools.len());
            let mut taken = waiting.drain(..sizes.iter().sum::<usize>() + followers);
            let batches = sizes.into_iter().map(|size| taken.by_ref().take(size).collect()).collect();
            let of_call =
                Shared { requests: shared.clone(), batches, waiting: taken.collect(), followers: kind };
            search_side_by_side(&model, (of_call, pools), results, watcher.lend(), cancel).await?;
        }
        Ok(waiting)
    }

    /// The requests with the columns of their inputs.
    fn with_columns<'r>(&self, requests: &'r [GenerateRequest]) -> Cow<'r, [GenerateRequest]> {
        let open = |request: &GenerateRequest| request.options.columns == Columns::Auto;
        if self.host.shortlist.is_none() || !requests.iter().any(open) {
            return requests.into();
        }
        let mut resolved = requests.to_vec();
        resolved.iter_mut().for_each(|request| self.host.resolve_columns(request));
        resolved.into()
    }

    /// Computes the attention of the best hypothesis of each request of a batch, if it is kept, and adds it to `results`.
    ///
    /// * `batch`: indices into the requests
    async fn keep_attentions(
        &self,
        model: &LoadedModel,
        (session, paths): (&DecodeSession, Option<&Paths>),
        (requests, batch): (&[GenerateRequest], &[usize]),
        results: &mut [Generation],
        (keep, left): (&Keep, &mut u64),
    ) -> Result<(), GenerateError> {
        let (Some(keep), Some(paths)) = (&keep.attention, paths) else { return Ok(()) };
        let lengths = batch.iter().map(|&index| Lengths {
            source: requests[index].input_ids.len(),
            globals: requests[index].sorted_globals(),
            target: results[index].hypotheses[0].tokens.len() - 1,
        });
        let lengths: Vec<Lengths> = lengths.collect();
        let shares = share(&model.config, &lengths, keep, left, model.device.max_buffer_bytes());
        for (sentence, ((&index, lengths), mut share)) in batch.iter().zip(&lengths).zip(shares).enumerate() {
            let GenerateRequest { input_ids, options, .. } = &requests[index];
            let tokens = &results[index].hypotheses[0].tokens;
            let (prompt, rows) = (options.prompt.len(), options.rows());
            let rows = sentence * rows..(sentence + 1) * rows;
            let run = &tokens[prompt - 1..tokens.len() - 1];
            let diverged = GenerateError::SearchDiverged { step: run.len(), row: rows.start };
            let path = paths.of(rows, run).ok_or(diverged)?;
            let banded = share.take_banded(&model.config, lengths);
            let read = [input_ids.len(), prompt];
            let mut layers = session.attention(model, sentence, read, &path, &share.selection)?;
            if !banded.is_empty() {
                layers.extend(self.keep_bands(model, &requests[index], banded)?);
                sorting::sort_by_key(&mut layers, KeptLayer::place);
            }
            results[index].attention = Some(KeptAttention::new(layers, share.left_out));
        }
        Ok(())
    }

    /// Computes the bands of encoder layers in a second pass of the encoder: they depend on the inputs of global tokens and
    /// of sums, which a search does not keep.
    fn keep_bands(
        &self,
        model: &LoadedModel,
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
        Ok(self.keep_attention_on(model, &input, share)?.into_layers())
    }

    pub(crate) fn check_translates(&self) -> Result<(), GenerateError> {
        match self.host.config.architecture() {
            Architecture::EncoderDecoder => Ok(()),
            _ => Err(GenerateError::NotATranslator { model_type: self.host.config.family.model_type() }),
        }
    }

    /// Checks a request without running it.
    pub fn check_request(&self, request: &GenerateRequest) -> Result<(), GenerateError> {
        let (limit, vocabulary) = (self.host.config.positions.count(), self.host.config.source_vocabulary);
        let length = request.input_ids.len();
        if self.host.config.architecture() == Architecture::EncoderOnly {
            return Err(GenerateError::NoDecoder { model_type: self.host.config.family.model_type() });
        }
        if length == 0 {
            return Err(GenerateError::Empty);
        }
        let longest = self.host.config.source_positions().longest_input();
        if length > longest {
            return Err(GenerateError::TooLong { length, limit: longest });
        }
        if let Some(&token) = request.input_ids.iter().find(|&&token| token as usize >= vocabulary) {
            return Err(GenerateError::Token { token, vocabulary });
        }
        check_attention(&self.host.config, &request.global_tokens, length)?;
        Ok(request.options.validate(self.host.config.target_vocabulary, limit)?)
    }
}

impl Placed {
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
        let key = SessionKey::new(self, &batch, &search, queue.followers(), keep.attention.is_some());
        let mut session = match self.idle.take(&key) {
            Some(session) => session,
            None => {
                self.idle.make_room();
                DecodeSession::new(self, key)?
            }
        };
        match session.run(self, queue, search, cancel).await {
            Ok(paths) => Ok((session, paths)),
            Err(error) => {
                // the session can be used again, unless the device failed
                if !matches!(error, GenerateError::Gpu(_)) {
                    self.idle.put(&self.device, session);
                }
                Err(error)
            }
        }
    }
}
