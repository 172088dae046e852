//! Sentences of all clients, in the order of their turns.
//!
//! Clients take turns: the first sentence of each, then the second of each. So a client with a book does not hold up one with a
//! sentence. The jobs of a client take its turns in the same way: its own book does not hold up its sentence.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::oneshot;
use wordloom::decode::Hypothesis;
use wordloom::transformer::{Arrival, Arrivals, GenerateRequest};

/// The sentences of one call.
pub struct Job {
    wanted: AtomicBool,
    state: Mutex<JobState>,
}

struct JobState {
    results: Vec<Option<Vec<Hypothesis>>>,
    missing: usize,
    /// `None` once the result was sent.
    done: Option<oneshot::Sender<Result<Vec<Vec<Hypothesis>>, String>>>,
}

pub type Done = oneshot::Receiver<Result<Vec<Vec<Hypothesis>>, String>>;

impl Job {
    /// Makes a job of sentences, of which some have a result. The receiver gets the results of all.
    pub fn new(results: Vec<Option<Vec<Hypothesis>>>) -> (Arc<Self>, Done) {
        let (done, receiver) = oneshot::channel();
        let missing = results.iter().filter(|result| result.is_none()).count();
        let state = JobState { results, missing, done: Some(done) };
        let job = Arc::new(Self { wanted: AtomicBool::new(true), state: Mutex::new(state) });
        job.send_if_complete();
        (job, receiver)
    }

    /// The caller went away.
    pub fn abandon(&self) {
        self.wanted.store(false, Ordering::Relaxed);
    }

    fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    fn deliver(&self, index: usize, hypotheses: Vec<Hypothesis>) {
        let mut state = locked(&self.state);
        if state.results[index].replace(hypotheses).is_none() {
            state.missing -= 1;
        }
        drop(state);
        self.send_if_complete();
    }

    fn send_if_complete(&self) {
        let mut state = locked(&self.state);
        if state.missing == 0
            && let Some(done) = state.done.take()
        {
            let results = std::mem::take(&mut state.results);
            let _ = done.send(Ok(results.into_iter().flatten().collect())); // the caller may be gone
        }
    }

    fn fail(&self, error: &str) {
        if let Some(done) = locked(&self.state).done.take() {
            let _ = done.send(Err(error.to_owned()));
        }
    }
}

/// A sentence of a job.
#[derive(Clone)]
struct Place {
    job: Arc<Job>,
    index: usize,
    request: Arc<GenerateRequest>,
}

struct Waiting {
    ticket: u64,
    place: Place,
}

/// The waiting sentences of a job.
struct WaitingJob {
    sentences: VecDeque<Waiting>,
    /// When it came, or had its last turn: a book that has its turns is not late, however long its last sentence waits.
    since: Instant,
}

impl WaitingJob {
    fn sentences(&self) -> impl Iterator<Item = (&Waiting, Instant)> {
        self.sentences.iter().map(|waiting| (waiting, self.since))
    }
}

/// The jobs of a client with waiting sentences; the first one has the client's next turn.
type Jobs = VecDeque<WaitingJob>;

#[derive(Default)]
struct State {
    /// Clients with waiting sentences; the first one has its turn.
    clients: VecDeque<(String, Jobs)>,
    running: HashMap<u64, Place>,
    next_ticket: u64,
    closed: bool,
}

impl State {
    fn waiting(&self) -> usize {
        self.clients.iter().flat_map(|(_, jobs)| jobs).map(|job| job.sentences.len()).sum()
    }

    fn drop_abandoned(&mut self) {
        for (_, jobs) in &mut self.clients {
            jobs.retain(|job| job.sentences.front().is_some_and(|waiting| waiting.place.job.is_wanted()));
        }
        self.clients.retain(|(_, jobs)| !jobs.is_empty());
    }

    /// All waiting sentences in the order of their turns, and since when their jobs wait for one.
    fn in_turns(&self) -> impl Iterator<Item = (&Waiting, Instant)> {
        in_turns(self.clients.iter().map(|(_, jobs)| in_turns(jobs.iter().map(WaitingJob::sentences))))
    }

    /// Takes a sentence out. The client's next turn comes after those of all others, and the job's after those of the client's others.
    fn take(&mut self, ticket: u64) -> Option<Place> {
        let of_job = |job: &WaitingJob| job.sentences.iter().position(|waiting| waiting.ticket == ticket);
        let of_client =
            |jobs: &Jobs| jobs.iter().enumerate().find_map(|(index, job)| Some((index, of_job(job)?)));
        let mut clients = self.clients.iter().enumerate();
        let (client, (job, place)) =
            clients.find_map(|(client, (_, jobs))| Some((client, of_client(jobs)?)))?;
        let (name, mut jobs) = self.clients.remove(client)?;
        let mut job = jobs.remove(job)?;
        let taken = job.sentences.remove(place)?;
        if !job.sentences.is_empty() {
            job.since = Instant::now();
            jobs.push_back(job);
        }
        if !jobs.is_empty() {
            self.clients.push_back((name, jobs));
        }
        Some(taken.place)
    }
}

/// The first of each, then the second of each, and so on.
fn in_turns<One: Iterator>(each: impl Iterator<Item = One>) -> impl Iterator<Item = One::Item> {
    let mut left: VecDeque<One> = each.collect();
    std::iter::from_fn(move || {
        loop {
            let mut one = left.pop_front()?;
            if let Some(next) = one.next() {
                left.push_back(one);
                return Some(next);
            }
        }
    })
}

/// The queue of one model.
#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    came: Condvar,
}

impl Queue {
    /// Adds the sentences of a job, as the last of its client's jobs. Returns whether the queue is open.
    pub fn add(&self, client: &str, job: &Arc<Job>, sentences: Vec<(usize, Arc<GenerateRequest>)>) -> bool {
        let mut state = locked(&self.state);
        if state.closed {
            return false;
        }
        let tickets = state.next_ticket..;
        state.next_ticket += sentences.len() as u64;
        let waiting = |(ticket, (index, request))| {
            let place = Place { job: job.clone(), index, request };
            Waiting { ticket, place }
        };
        let sentences: VecDeque<Waiting> = tickets.zip(sentences).map(waiting).collect();
        if sentences.is_empty() {
            return true; // all of its sentences are known
        }
        let added = WaitingJob { sentences, since: Instant::now() };
        match state.clients.iter_mut().find(|(known, _)| known == client) {
            Some((_, jobs)) => jobs.push_back(added),
            None => state.clients.push_back((client.to_owned(), VecDeque::from([added]))),
        }
        self.came.notify_all();
        true
    }

    /// Waits for sentences. Returns whether there are some; if not, the queue was closed.
    pub fn wait(&self) -> bool {
        let mut state = locked(&self.state);
        loop {
            state.drop_abandoned();
            if state.waiting() > 0 {
                return true;
            }
            if state.closed {
                return false;
            }
            state = self.came.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes no more sentences; those that are here are still searched.
    pub fn close(&self) {
        locked(&self.state).closed = true;
        self.came.notify_all();
    }

    /// Ends the jobs of the sentences that were taken out; with `all`, of every sentence, and closes the queue.
    pub fn fail(&self, error: &str, all: bool) {
        let mut state = locked(&self.state);
        let running = std::mem::take(&mut state.running);
        running.into_values().for_each(|place| place.job.fail(error));
        if all {
            state.closed = true;
            let waiting = std::mem::take(&mut state.clients);
            let all = waiting.into_iter().flat_map(|(_, jobs)| jobs).flat_map(|job| job.sentences);
            all.for_each(|one| one.place.job.fail(error));
        }
    }

    /// Number of waiting and of running sentences.
    pub fn counts(&self) -> [usize; 2] {
        let state = locked(&self.state);
        [state.waiting(), state.running.len()]
    }
}

/// The queue as its model's thread sees it.
pub struct Feed<'a> {
    pub queue: &'a Queue,
    pub remember: &'a dyn Fn(&GenerateRequest, &[Hypothesis]),
}

impl Arrivals for Feed<'_> {
    fn waiting(&mut self, most: usize) -> Vec<Arrival> {
        let mut state = locked(&self.queue.state);
        state.drop_abandoned();
        let now = Instant::now();
        let arrival = |(Waiting { ticket, place }, since): (&Waiting, Instant)| Arrival {
            ticket: *ticket,
            request: place.request.clone(),
            waited: now.saturating_duration_since(since),
        };
        state.in_turns().take(most).map(arrival).collect()
    }

    fn take(&mut self, ticket: u64) {
        let mut state = locked(&self.queue.state);
        if let Some(place) = state.take(ticket) {
            state.running.insert(ticket, place);
        }
    }

    fn is_wanted(&mut self, ticket: u64) -> bool {
        let mut state = locked(&self.queue.state);
        let wanted = state.running.get(&ticket).is_some_and(|place| place.job.is_wanted());
        if !wanted {
            state.running.remove(&ticket);
        }
        wanted
    }

    fn deliver(&mut self, ticket: u64, hypotheses: Vec<Hypothesis>) {
        let Some(Place { job, index, request }) = locked(&self.queue.state).running.remove(&ticket) else {
            return;
        };
        (self.remember)(&request, &hypotheses);
        job.deliver(index, hypotheses);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordloom::decode::DecodeOptions;

    fn request(token: u32) -> Arc<GenerateRequest> {
        Arc::new(GenerateRequest::new(vec![token], DecodeOptions::new(0, 1, 2)))
    }

    fn add(queue: &Queue, client: &str, tokens: std::ops::Range<u32>) -> (Arc<Job>, Done) {
        let (job, done) = Job::new(vec![None; tokens.len()]);
        queue.add(client, &job, tokens.enumerate().map(|(index, token)| (index, request(token))).collect());
        (job, done)
    }

    fn tokens(feed: &mut Feed<'_>) -> Vec<u32> {
        feed.waiting(100).iter().map(|arrival| arrival.request.input_ids[0]).collect()
    }

    #[test]
    fn clients_take_turns_and_abandoned_work_disappears() {
        let queue = Queue::default();
        let mut feed = Feed { queue: &queue, remember: &|_, _| {} };
        let (book, _kept) = add(&queue, "book", 0..4);
        let (_job, mut sentence) = add(&queue, "sentence", 10..11);
        let (_other, _also_kept) = add(&queue, "other", 20..22);
        assert_eq!(tokens(&mut feed), [0, 10, 20, 1, 21, 2, 3]);

        let first = feed.waiting(1)[0].ticket;
        feed.take(first);
        assert_eq!(tokens(&mut feed), [10, 20, 1, 21, 2, 3], "the book's next turn comes last");
        assert!(feed.is_wanted(first));
        book.abandon();
        assert!(!feed.is_wanted(first), "a running sentence of a client that went away");
        assert_eq!(tokens(&mut feed), [10, 20, 21]);

        let second = feed.waiting(1)[0].ticket;
        feed.take(second);
        feed.deliver(second, Vec::new());
        assert_eq!(sentence.try_recv().expect("a result"), Ok(vec![Vec::new()]));
        assert_eq!(queue.counts(), [2, 0]);
    }

    #[test]
    fn jobs_of_a_client_take_its_turns() {
        let queue = Queue::default();
        let mut feed = Feed { queue: &queue, remember: &|_, _| {} };
        let (book, _kept) = add(&queue, "one", 0..4);
        let (_job, _kept) = add(&queue, "other", 20..22);
        let taken = feed.waiting(1)[0].ticket;
        feed.take(taken);
        let (_sentence, _kept) = add(&queue, "one", 10..12);
        assert_eq!(tokens(&mut feed), [20, 1, 21, 10, 2, 11, 3], "its sentence waits for one of its book's");

        // the book had its turn, and so is not later than what came before that
        let taken = feed.waiting(2)[1].ticket;
        feed.take(taken);
        let waited: Vec<_> = feed.waiting(100).iter().map(|arrival| arrival.waited).collect();
        assert_eq!(tokens(&mut feed), [20, 10, 21, 2, 11, 3]);
        assert!(waited[3] <= waited[1], "{waited:?}");

        // a client has no more turns for more jobs
        let (_third, _kept) = add(&queue, "one", 30..31);
        assert_eq!(tokens(&mut feed), [20, 10, 21, 2, 30, 11, 3]);
        book.abandon();
        assert_eq!(tokens(&mut feed), [20, 10, 21, 30, 11]);
    }

    #[test]
    fn a_failure_reaches_every_caller_and_closes_the_queue() {
        let queue = Queue::default();
        let (_job, mut done) = add(&queue, "one", 0..2);
        queue.fail("the device was lost", true);
        assert_eq!(done.try_recv().expect("an answer"), Err("the device was lost".to_owned()));
        let (job, _done) = Job::new(vec![None]);
        assert!(!queue.add("one", &job, vec![(0, request(1))]));
        assert!(!queue.wait());
    }
}
