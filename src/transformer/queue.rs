//! The requests of one session: those that have its rows, and those that wait until rows are free.

use super::request::{GenerateRequest, Progress};
use crate::decode::{BatchSearch, Hypothesis};

pub(super) struct Queue<'a> {
    requests: &'a [GenerateRequest],
    /// For each sentence of the session, whose it is: a place among the requests.
    seated: Vec<usize>,
    /// Those that follow, in this order.
    waiting: &'a [usize],
    results: &'a mut [Vec<Hypothesis>],
    watch: &'a mut dyn FnMut(Progress<'_>),
}

impl<'a> Queue<'a> {
    /// * `batch`, `waiting`: places among `requests`; `results`: for each of them
    pub fn new(
        requests: &'a [GenerateRequest],
        batch: &[usize],
        waiting: &'a [usize],
        results: &'a mut [Vec<Hypothesis>],
        watch: &'a mut dyn FnMut(Progress<'_>),
    ) -> Self {
        Self { requests, seated: batch.to_vec(), waiting, results, watch }
    }

    /// What the session begins with.
    pub fn batch(&self) -> Vec<&'a GenerateRequest> {
        self.seated.iter().map(|&index| &self.requests[index]).collect()
    }

    pub fn request(&self, index: usize) -> &'a GenerateRequest {
        &self.requests[index]
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The next, `most` of them at most, who wait no longer.
    pub fn next(&mut self, most: usize) -> &'a [usize] {
        let (next, waiting) = self.waiting.split_at(most.min(self.waiting.len()));
        self.waiting = waiting;
        next
    }

    /// Shows the searches to whoever watches.
    pub fn show(&mut self, search: &BatchSearch) {
        (self.watch)(Progress::Step { requests: &self.seated, search });
    }

    /// Delivers the result of the request that had a sentence's rows until now; `index` has them from now on.
    pub fn seat(&mut self, sentence: usize, index: usize, finished: Vec<Hypothesis>) {
        let before = std::mem::replace(&mut self.seated[sentence], index);
        self.deliver(&[before], vec![finished]);
    }

    /// Delivers what is left.
    pub fn finish(mut self, search: BatchSearch) {
        let seated = std::mem::take(&mut self.seated);
        self.deliver(&seated, search.finish());
    }

    fn deliver(&mut self, requests: &[usize], hypotheses: Vec<Vec<Hypothesis>>) {
        (self.watch)(Progress::Finished { requests, hypotheses: &hypotheses });
        for (&index, hypotheses) in requests.iter().zip(hypotheses) {
            self.results[index] = hypotheses;
        }
    }
}
