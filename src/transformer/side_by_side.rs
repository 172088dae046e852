//! Several searches of one call at the same time, on the cores of the CPU. Cores that share each operator wait for each
//! other thousands of times a second; cores that have sentences of their own do not.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::cancel::Cancel;
use super::error::GenerateError;
use super::placed::Placed;
use super::pools::Pool;
use super::queue::{Followers, Seats, Watcher, pause};
use super::request::{GenerateRequest, Generation, Keep, Progress};
use crate::decode::{BatchSearch, Hypothesis};

/// How often the caller looks whether the generation shall stop.
const LOOK: Duration = Duration::from_millis(20);

/// Requests of a call, in the order in which searches take them.
pub(super) struct Shared {
    pub requests: Arc<[GenerateRequest]>,
    /// The first requests of each search, one for each pool at most: indices into `requests`.
    pub batches: Vec<Vec<usize>>,
    /// Requests that take over rows of any search.
    pub waiting: VecDeque<usize>,
    pub followers: Followers,
}

/// What a search tells the caller.
enum News {
    /// Requests in the encoder, and its finished part.
    Encoding(Vec<usize>, f32),
    Finished(usize, Vec<Hypothesis>),
    Ended(Result<(), GenerateError>),
    Panicked(Box<dyn Any + Send>),
}

/// Stops the searches when the caller drops the generation.
struct StopAtDrop(Cancel);

impl Drop for StopAtDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Searches for all requests of `shared`, and sets their `results`. After an error, some are set.
///
/// # Panics
/// If a search does.
pub(super) async fn search_side_by_side(
    placed: &Arc<Placed>,
    (shared, pools): (Shared, Vec<Pool>),
    results: &mut [Generation],
    Watcher { watch, pauses }: Watcher<'_>,
    cancel: &Cancel,
) -> Result<(), GenerateError> {
    let stop = StopAtDrop(Cancel::default());
    let (sender, news) = channel();
    let waiting = Arc::new(Mutex::new(shared.waiting));
    let mut searches = shared.batches.len();
    for (seated, pool) in shared.batches.into_iter().zip(pools) {
        let seats = SharedSeats {
            requests: shared.requests.clone(),
            seated,
            waiting: waiting.clone(),
            followers: shared.followers,
            news: sender.clone(),
        };
        start(placed.clone(), pool, seats, stop.0.clone());
    }
    drop(sender);
    let mut failed = None;
    while searches > 0 {
        let (mut requests, mut hypotheses) = (Vec::new(), Vec::new());
        for news in next(&news) {
            match news {
                News::Finished(index, found) => {
                    requests.push(index);
                    hypotheses.push(found);
                }
                News::Encoding(requests, fraction) => {
                    watch(Progress::Encoding { requests: &requests, fraction });
                }
                News::Ended(Ok(())) => searches -= 1,
                News::Ended(Err(error)) => {
                    searches -= 1;
                    failed.get_or_insert(error);
                    stop.0.cancel();
                }
                News::Panicked(panic) => resume_unwind(panic),
            }
        }
        if !requests.is_empty() {
            watch(Progress::Finished { requests: &requests, hypotheses: &hypotheses });
            for (index, hypotheses) in requests.into_iter().zip(hypotheses) {
                results[index].hypotheses = hypotheses;
            }
            if pauses {
                pause().await;
            }
        }
        if cancel.listen().await {
            stop.0.cancel();
        }
    }
    failed.map_or(Ok(()), Err)
}

/// All news there are; waits for some for a moment.
fn next(news: &Receiver<News>) -> Vec<News> {
    let first = match news.recv_timeout(LOOK) {
        Ok(first) => Some(first),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => unreachable!("a search tells its end"),
    };
    first.into_iter().chain(news.try_iter()).collect()
}

/// Searches on the threads of a pool.
fn start(placed: Arc<Placed>, pool: Pool, seats: SharedSeats, stop: Cancel) {
    pool.threads().spawn(move || {
        let news = seats.news.clone();
        let search = AssertUnwindSafe(|| {
            let (session, _) = pollster::block_on(placed.search(seats, &stop, &Keep::default()))?;
            placed.idle.put(&placed.device, session);
            Ok(())
        });
        let ended = catch_unwind(search).map_or_else(News::Panicked, News::Ended);
        // the caller may change the model as soon as it hears of the end
        drop(placed);
        drop(pool);
        // nobody hears it if the caller has dropped the generation
        let _ = news.send(ended);
    });
}

/// The seats of one of several searches.
struct SharedSeats {
    requests: Arc<[GenerateRequest]>,
    /// Index of the request in the rows of each sentence.
    seated: Vec<usize>,
    waiting: Arc<Mutex<VecDeque<usize>>>,
    followers: Followers,
    news: Sender<News>,
}

impl SharedSeats {
    fn deliver(&self, request: usize, hypotheses: Vec<Hypothesis>) {
        // the caller that dropped the generation has also stopped it
        let _ = self.news.send(News::Finished(request, hypotheses));
    }
}

impl Seats for SharedSeats {
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
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = most.min(waiting.len());
        waiting.drain(..taken).collect()
    }

    async fn show(&mut self, _: &mut BatchSearch) {}

    async fn show_encoding(&mut self, fraction: f32) {
        let _ = self.news.send(News::Encoding(self.seated.clone(), fraction));
    }

    fn seat(&mut self, sentence: usize, index: usize, finished: Vec<Hypothesis>) {
        let before = std::mem::replace(&mut self.seated[sentence], index);
        self.deliver(before, finished);
    }

    fn finish(self, search: BatchSearch) {
        for (&index, hypotheses) in self.seated.iter().zip(search.finish()) {
            self.deliver(index, hypotheses);
        }
    }
}
