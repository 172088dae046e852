use std::future::poll_fn;
use std::task::Poll;

use super::request::{GenerateRequest, Generation, Progress};
use crate::decode::{BatchSearch, Hypothesis};

/// The requests that will take over rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Followers {
    None,
    /// Their sources are about as long as the batch's.
    Alike,
    /// Their sources may be much shorter.
    Mixed,
}

/// The requests of one session: those that have rows, and those that wait for rows.
pub(super) trait Seats {
    /// Requests of the first rows.
    fn batch(&self) -> Vec<&GenerateRequest>;

    fn request(&self, index: usize) -> &GenerateRequest;

    /// The requests that may take over rows.
    fn followers(&self) -> Followers;

    /// Takes the indices of up to `most` requests from the queue.
    fn next(&mut self, most: usize) -> Vec<usize>;

    /// Looks at the searches before a step.
    async fn show(&mut self, search: &mut BatchSearch);

    /// Shows the part of the sources that the encoder has read, 0 to 1.
    async fn show_encoding(&mut self, _fraction: f32) {}

    /// Delivers the result of the request in a sentence's rows; `index` has them next.
    fn seat(&mut self, sentence: usize, index: usize, finished: Vec<Hypothesis>);

    /// Delivers the remaining results, and kept trees.
    fn finish(self, search: BatchSearch);
}

/// The function that gets the progress of a call.
pub(super) struct Watcher<'a> {
    pub watch: &'a mut dyn FnMut(Progress<'_>),
    /// Whether the executor has a turn after each call of `watch`.
    pub pauses: bool,
}

impl Watcher<'_> {
    /// The same, for a while.
    pub fn lend(&mut self) -> Watcher<'_> {
        Watcher { watch: &mut *self.watch, pauses: self.pauses }
    }
}

/// The requests of one call, which are known when it begins.
pub(super) struct Queue<'a> {
    requests: &'a [GenerateRequest],
    /// Index of the request in the rows of each sentence.
    seated: Vec<usize>,
    waiting: &'a [usize],
    /// The kind of those that wait at first.
    followers: Followers,
    results: &'a mut [Generation],
    watcher: Watcher<'a>,
}

impl<'a> Queue<'a> {
    /// * `batch`, `waiting`: indices into `requests`, and the kind of those that wait
    /// * `results`: one per request
    pub fn new(
        requests: &'a [GenerateRequest],
        batch: &[usize],
        (waiting, followers): (&'a [usize], Followers),
        results: &'a mut [Generation],
        watcher: Watcher<'a>,
    ) -> Self {
        Self { requests, seated: batch.to_vec(), waiting, followers, results, watcher }
    }

    fn deliver(&mut self, requests: &[usize], hypotheses: Vec<Vec<Hypothesis>>) {
        (self.watcher.watch)(Progress::Finished { requests, hypotheses: &hypotheses });
        for (&index, hypotheses) in requests.iter().zip(hypotheses) {
            self.results[index].hypotheses = hypotheses;
        }
    }
}

impl Seats for Queue<'_> {
    fn batch(&self) -> Vec<&GenerateRequest> {
        self.seated.iter().map(|&index| &self.requests[index]).collect()
    }

    fn request(&self, index: usize) -> &GenerateRequest {
        &self.requests[index]
    }

    fn followers(&self) -> Followers {
        self.followers
    }

    fn next(&mut self, most: usize) -> Vec<usize> {
        let (next, waiting) = self.waiting.split_at(most.min(self.waiting.len()));
        self.waiting = waiting;
        next.to_vec()
    }

    async fn show(&mut self, search: &mut BatchSearch) {
        (self.watcher.watch)(Progress::Step { requests: &self.seated, search });
        if self.watcher.pauses {
            pause().await;
        }
    }

    async fn show_encoding(&mut self, fraction: f32) {
        (self.watcher.watch)(Progress::Encoding { requests: &self.seated, fraction });
        if self.watcher.pauses {
            pause().await;
        }
    }

    fn seat(&mut self, sentence: usize, index: usize, finished: Vec<Hypothesis>) {
        let before = std::mem::replace(&mut self.seated[sentence], index);
        self.deliver(&[before], vec![finished]);
    }

    fn finish(mut self, mut search: BatchSearch) {
        let seated = std::mem::take(&mut self.seated);
        for (&index, tree) in seated.iter().zip(search.take_trees()) {
            self.results[index].tree = tree;
        }
        self.deliver(&seated, search.finish());
    }
}

/// Returns to the executor once, so that its caller can act on calls of `watch`.
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
