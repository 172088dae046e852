//! Requests that come while others are searched: continuous batching.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use super::Transformer;
use super::attempts::Attempts;
use super::batches::Room;
use super::cancel::Cancel;
use super::error::GenerateError;
use super::queue::{Followers, Seats};
use super::request::{GenerateRequest, Keep};
use super::session::{cache_capacity, padded_length};
use crate::decode::{BatchSearch, Hypothesis};
use crate::model::config::ModelConfig;
use crate::sorting;

/// Number of waiting requests that are looked at for one batch.
const LOOK_AHEAD: usize = 256;
/// Waiting time after which a request that does not fit the running batch stops others from joining it.
const PATIENCE: Duration = Duration::from_secs(1);
/// Sources below this number of tokens share a batch, whatever their lengths.
const SHORT: usize = 32;
/// A batch with fewer growing sentences than this share of its rows takes no others: they form a smaller one.
const FEWEST_SHARE: usize = 4;

/// A request that waits.
#[derive(Clone)]
pub struct Arrival {
    /// The caller's name for the request.
    pub ticket: u64,
    /// The request; see [`Transformer::prepare`].
    pub request: Arc<GenerateRequest>,
    /// How long it has been waiting.
    pub waited: Duration,
}

/// Requests of many callers, which come at any time. Calls return at once.
pub trait Arrivals {
    /// Lists the waiting requests in the order of their turns, at most `most`.
    fn waiting(&mut self, most: usize) -> Vec<Arrival>;

    /// Takes a listed request out of the queue: its search begins.
    fn take(&mut self, ticket: u64);

    /// Whether the result of a taken request is still wanted. If not, its search stops and nothing is delivered.
    fn is_wanted(&mut self, ticket: u64) -> bool;

    /// Takes the hypotheses of a request, best first.
    fn deliver(&mut self, ticket: u64, hypotheses: Vec<Hypothesis>);
}

impl Transformer {
    /// Checks a request for [`serve`](Self::serve), and adds the output columns of its source.
    ///
    /// # Errors
    /// As [`check_request`](Self::check_request).
    pub fn prepare(&self, mut request: GenerateRequest) -> Result<GenerateRequest, GenerateError> {
        self.check_request(&request)?;
        self.host.resolve_columns(&mut request);
        Ok(request)
    }

    /// Searches for requests as they come, until none waits.
    ///
    /// Requests with equal options share a batch. A new one takes over the rows of a finished one, if its source is not longer than
    /// the batch's longest. The batch ends, and another one begins, if a request that does not fit has waited for a second, if
    /// so many wait that a larger batch serves them sooner, or if so few are left that a smaller one does. Requests that a lost
    /// device interrupts begin anew.
    ///
    /// # Errors
    /// [`GenerateError`] of the device, or [`GenerateError::Cancelled`]. Taken requests without a result are lost.
    pub async fn serve(&self, arrivals: &mut dyn Arrivals, cancel: &Cancel) -> Result<(), GenerateError> {
        let mut arrivals = Again { interrupted: Vec::new(), arrivals };
        let mut attempts = Attempts::default();
        while let Some(mut seats) = LiveSeats::first(self, &mut arrivals) {
            let (model, size) = (self.model(), seats.seated.len());
            match model.search(&mut seats, cancel, &Keep::default()).await {
                Ok((session, _)) => {
                    model.idle.put(&model.device, session);
                    attempts.progress();
                }
                Err(error) => {
                    if seats.results > 0 {
                        attempts.progress();
                    }
                    let interrupted = seats.interrupted();
                    self.overcome(&model, error, &mut attempts, size)?;
                    arrivals.interrupted.splice(0..0, interrupted);
                }
            }
        }
        Ok(())
    }

    /// The requests of the next batch: those that are most like the one whose turn it is.
    fn next_batch(&self, waiting: &[Arrival]) -> Vec<Arrival> {
        let Some(head) = waiting.first() else { return Vec::new() };
        let config = &self.host.config;
        let length = |arrival: &Arrival| padded_length(config, arrival.request.input_ids.len());
        let wanted = length(head);
        let alone = self.room(&[&*head.request]);
        let alike = |arrival: &&Arrival| {
            let other = length(arrival);
            let as_long = other.max(wanted) <= SHORT.max(2 * other.min(wanted));
            as_long && alone.as_ref().is_some_and(|room| room.searches_as(&arrival.request.options))
        };
        let mut batch: Vec<&Arrival> = waiting[1..].iter().filter(alike).collect();
        sorting::sort_by_key(&mut batch, |arrival| length(arrival).abs_diff(wanted));
        batch.truncate(self.most_sentences_and_rows()[0].max(1) - 1);
        batch.push(head);
        sorting::sort_by_key(&mut batch, |arrival| Reverse(arrival.request.input_ids.len()));
        let requests: Vec<GenerateRequest> = batch.iter().map(|arrival| (*arrival.request).clone()).collect();
        let all: Vec<usize> = (0..requests.len()).collect();
        let size = self.batch_size(&requests, &all, &Keep::default(), 1);
        // the head is among them, wherever the limit falls
        let place = batch.iter().position(|arrival| arrival.ticket == head.ticket).unwrap_or(0);
        let first = (place + 1).saturating_sub(size);
        batch[first..(first + size).min(batch.len())].iter().map(|&arrival| arrival.clone()).collect()
    }
}

/// Requests that were interrupted, and then those that come.
struct Again<'a> {
    interrupted: Vec<Arrival>,
    arrivals: &'a mut dyn Arrivals,
}

impl Arrivals for Again<'_> {
    fn waiting(&mut self, most: usize) -> Vec<Arrival> {
        let mut waiting: Vec<Arrival> = self.interrupted.iter().take(most).cloned().collect();
        if waiting.len() < most {
            waiting.extend(self.arrivals.waiting(most - waiting.len()));
        }
        waiting
    }

    fn take(&mut self, ticket: u64) {
        match self.interrupted.iter().position(|arrival| arrival.ticket == ticket) {
            Some(place) => drop(self.interrupted.remove(place)), // taken before
            None => self.arrivals.take(ticket),
        }
    }

    fn is_wanted(&mut self, ticket: u64) -> bool {
        self.arrivals.is_wanted(ticket)
    }

    fn deliver(&mut self, ticket: u64, hypotheses: Vec<Hypothesis>) {
        self.arrivals.deliver(ticket, hypotheses);
    }
}

/// The requests of one session, and those that come meanwhile.
struct LiveSeats<'a> {
    arrivals: &'a mut dyn Arrivals,
    config: &'a ModelConfig,
    /// Requests with rows, and encoded ones that wait for rows. A place is used again.
    places: Vec<Option<Arrival>>,
    /// Place of the request in the rows of each sentence.
    seated: Vec<usize>,
    /// Whether the result of each sentence was delivered.
    delivered: Vec<bool>,
    /// Number of delivered results.
    results: usize,
    /// Room of the rows; `None` if no request can take them over.
    room: Option<Room>,
    /// Whether a larger batch is possible.
    grows: bool,
}

impl<'a> LiveSeats<'a> {
    /// Takes the requests of a batch. `None` if none waits.
    fn first(transformer: &'a Transformer, arrivals: &'a mut dyn Arrivals) -> Option<Self> {
        let batch = transformer.next_batch(&arrivals.waiting(LOOK_AHEAD));
        let rows = batch.first()?.request.options.rows();
        batch.iter().for_each(|arrival| arrivals.take(arrival.ticket));
        let requests: Vec<&GenerateRequest> = batch.iter().map(|arrival| &*arrival.request).collect();
        let alone = batch.len() == 1 || transformer.recovery.most_sentences() < usize::MAX;
        let mut room = transformer.room(&requests).filter(|_| !alone);
        if let Some(room) = &mut room {
            room.max_length = cache_capacity(room.max_length);
        }
        Some(Self {
            config: &transformer.host.config,
            room,
            results: 0,
            grows: 2 * batch.len() * rows <= transformer.most_sentences_and_rows()[1],
            seated: (0..batch.len()).collect(),
            delivered: vec![false; batch.len()],
            places: batch.into_iter().map(Some).collect(),
            arrivals,
        })
    }

    fn deliver(&mut self, sentence: usize, hypotheses: Vec<Hypothesis>) {
        if std::mem::replace(&mut self.delivered[sentence], true) {
            return;
        }
        if let Some(arrival) = self.places[self.seated[sentence]].take() {
            self.results += 1;
            self.arrivals.deliver(arrival.ticket, hypotheses);
        }
    }

    /// The requests without a result, which are still wanted.
    fn interrupted(&mut self) -> Vec<Arrival> {
        let left = self.places.iter_mut().filter_map(Option::take);
        left.filter(|arrival| self.arrivals.is_wanted(arrival.ticket)).collect()
    }

    /// The waiting requests that join the batch now.
    fn joining(&mut self, most: usize) -> Vec<Arrival> {
        let Some(room) = &self.room else { return Vec::new() };
        let waiting = self.arrivals.waiting(LOOK_AHEAD);
        let late = |arrival: &Arrival| arrival.waited > PATIENCE;
        let (mut fitting, others): (Vec<Arrival>, Vec<Arrival>) =
            waiting.into_iter().partition(|arrival| room.fits(self.config, &arrival.request));
        let sentences = self.seated.len();
        let growing = self.delivered.iter().filter(|delivered| !**delivered).count();
        let too_small = self.grows && fitting.len() > sentences;
        let too_large = (growing + fitting.len()) * FEWEST_SHARE < sentences;
        if others.iter().any(late) || too_small || too_large {
            return Vec::new();
        }
        // late ones by their turns, then of those whose turn comes soon the longest, for little padding
        fitting.truncate(4 * most);
        sorting::sort_by_key(&mut fitting, |arrival| {
            (!late(arrival)).then(|| Reverse(arrival.request.input_ids.len()))
        });
        fitting.truncate(most);
        fitting
    }
}

impl Seats for &mut LiveSeats<'_> {
    fn batch(&self) -> Vec<&GenerateRequest> {
        self.seated.iter().map(|&place| self.request(place)).collect()
    }

    /// # Panics
    /// If the result was delivered.
    fn request(&self, place: usize) -> &GenerateRequest {
        &self.places[place].as_ref().expect("a request in this place").request
    }

    fn followers(&self) -> Followers {
        if self.room.is_some() { Followers::Mixed } else { Followers::None }
    }

    fn next(&mut self, most: usize) -> Vec<usize> {
        let joining = self.joining(most);
        joining
            .into_iter()
            .map(|arrival| {
                self.arrivals.take(arrival.ticket);
                let taken = &self.seated;
                let is_free = |place: &usize| self.places[*place].is_none() && !taken.contains(place);
                let place = (0..self.places.len()).find(is_free).unwrap_or(self.places.len());
                match self.places.get_mut(place) {
                    Some(free) => *free = Some(arrival),
                    None => self.places.push(Some(arrival)),
                }
                place
            })
            .collect()
    }

    async fn show(&mut self, search: &mut BatchSearch) {
        for sentence in 0..self.seated.len() {
            let Some(Arrival { ticket, request, .. }) =
                self.places[self.seated[sentence]].as_ref().filter(|_| !self.delivered[sentence])
            else {
                continue;
            };
            if search.sentences()[sentence].is_finished() {
                let options = request.clone();
                self.deliver(sentence, search.end(sentence, &options.options));
            } else if !self.arrivals.is_wanted(*ticket) {
                search.end(sentence, &request.options);
                self.delivered[sentence] = true;
                self.places[self.seated[sentence]] = None;
            }
        }
    }

    fn seat(&mut self, sentence: usize, index: usize, finished: Vec<Hypothesis>) {
        self.deliver(sentence, finished);
        self.seated[sentence] = index;
        self.delivered[sentence] = false;
    }

    fn finish(self, search: BatchSearch) {
        for (sentence, hypotheses) in search.finish().into_iter().enumerate() {
            self.deliver(sentence, hypotheses);
        }
    }
}
