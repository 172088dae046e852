//! The requests of one session: those that have its rows, and those that wait until rows are free.

use std::future::poll_fn;
use std::task::Poll;

use super::request::{GenerateRequest, Generation, Progress};
use crate::decode::{BatchSearch, Hypothesis};

/// The requests of one session, and where their results go.
pub(super) struct Queue<'a> {
    requests: &'a [GenerateRequest],
    /// For each sentence of the session, the request that has its rows.
    seated: Vec<usize>,
    /// Requests that follow, in this order.
    waiting: &'a [usize],
    results: &'a mut [Generation],
    watch: &'a mut dyn FnMut(Progress<'_>),
    /// Whether the executor has a turn after `watch` was told something.
    pauses: bool,
}

impl<'a> Queue<'a> {
    /// * `batch`, `waiting`: indices into `requests`; `results`: for each of them
    pub fn new(
        requests: &'a [GenerateRequest],
        (batch, waiting): (&[usize], &'a [usize]),
        results: &'a mut [Generation],
        watch: &'a mut dyn FnMut(Progress<'_>),
        pauses: bool,
    ) -> Self {
        Self { requests, seated: batch.to_vec(), waiting, results, watch, pauses }
    }

    /// The requests that the session begins with.
    pub fn batch(&self) -> Vec<&'a GenerateRequest> {
        self.seated.iter().map(|&index| &self.requests[index]).collect()
    }

    pub fn request(&self, index: usize) -> &'a GenerateRequest {
        &self.requests[index]
    }

    /// How many requests wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The next requests, `most` of them at most, which wait no longer.
    pub fn next(&mut self, most: usize) -> &'a [usize] {
        let (next, waiting) = self.waiting.split_at(most.min(self.waiting.len()));
        self.waiting = waiting;
        next
    }

    /// Shows the searches to the function that watches.
    pub async fn show(&mut self, search: &BatchSearch) {
        (self.watch)(Progress::Step { requests: &self.seated, search });
        if self.pauses {
            pause().await;
        }
    }

    /// Delivers the result of the request that had a sentence's rows until now; `index` has them from now on.
    pub fn seat(&mut self, sentence: usize, index: usize, finished: Vec<Hypothesis>) {
        let before = std::mem::replace(&mut self.seated[sentence], index);
        self.deliver(&[before], vec![finished]);
    }

    /// Delivers the results that are left, and the trees where searches keep them.
    pub fn finish(mut self, mut search: BatchSearch) {
        let seated = std::mem::take(&mut self.seated);
        for (&index, tree) in seated.iter().zip(search.take_trees()) {
            self.results[index].tree = tree;
        }
        self.deliver(&seated, search.finish());
    }

    fn deliver(&mut self, requests: &[usize], hypotheses: Vec<Vec<Hypothesis>>) {
        (self.watch)(Progress::Finished { requests, hypotheses: &hypotheses });
        for (&index, hypotheses) in requests.iter().zip(hypotheses) {
            self.results[index].hypotheses = hypotheses;
        }
    }
}

/// Returns to the executor once, so that its caller can act on what `watch` was told.
pub(super) async fn pause() {
    let mut paused = false;
    poll_fn(|context| match std::mem::replace(&mut paused, true) {
        true => Poll::Ready(()),
        false => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}
