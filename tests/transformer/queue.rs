//! More requests than rows in a batch: finished requests give their rows to the next, and no result changes.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{assert_close, data, device_test, devices, gpu_as, model, small_gpu_as};
use wordloom::Device;
use wordloom::decode::{DecodeOptions, Hypothesis, MAX_BEAMS};
use wordloom::kernels::AdapterClass;
use wordloom::transformer::{
    Arrival, Arrivals, Cancel, GenerateOptions, GenerateRequest, Progress, Transformer,
};

/// Requests with sources of many lengths, padded to the same length. Later requests may generate more than earlier ones.
fn requests(transformer: &Transformer, count: usize, options: &DecodeOptions) -> Vec<GenerateRequest> {
    let vocabulary = transformer.config().source_vocabulary as u32;
    (0..count as u32)
        .map(|index| {
            let length = 9 + index * 5 % 8;
            GenerateRequest {
                input_ids: (0..length).map(|token| (index * 31 + token * 17) % vocabulary).collect(),
                options: DecodeOptions {
                    max_length: if length == 16 { 20 } else { 29 - length as usize },
                    ..options.clone()
                },
                global_tokens: Vec::new(),
            }
        })
        .collect()
}

/// The hypotheses, and the number of requests that took over rows.
async fn generate(transformer: &Transformer, requests: &[GenerateRequest]) -> (Vec<Vec<Hypothesis>>, usize) {
    let (mut delivered, mut took_over) = (vec![0; requests.len()], 0);
    let mut sentences = 0;
    let mut watch = |progress: Progress<'_>| match progress {
        Progress::Encoding { .. } => {}
        Progress::Step { search, .. } => sentences = search.sentences().len(),
        Progress::Finished { requests, hypotheses } => {
            assert_eq!(requests.len(), hypotheses.len());
            took_over += usize::from(requests.len() < sentences);
            requests.iter().for_each(|&request| delivered[request] += 1);
        }
    };
    let done = transformer.generate(requests, GenerateOptions::default().watch(&mut watch)).await;
    let found = done.expect("generates").into_iter().map(|found| found.hypotheses);
    assert_eq!(delivered, vec![1; requests.len()], "each is delivered once");
    (found.collect(), took_over)
}

#[device_test]
async fn requests_that_take_over_rows_get_what_they_get_alone() {
    let model = model(&data("models/marian_tied"));
    let load = |device: &Device| Transformer::load(device, &model, &mut |_| {}).expect("loads");
    let host = load(&Device::Cpu);
    let config = host.config();
    let [start, eos] = [config.tokens.decoder_start, config.tokens.eos].map(|token| token.unwrap_or(0));
    let plain = DecodeOptions::new(start, eos, config.tokens.pad);
    let mut all = devices().await;
    // buffers for batches of some 200 rows: the kernels for hardware have up to 512
    all.push(small_gpu_as(AdapterClass::Hardware, 2 << 20).await);
    let cases = [
        ("greedy", 220, DecodeOptions { num_beams: 1, min_length: 3, ..plain.clone() }),
        ("four beams", 60, DecodeOptions { num_beams: 4, num_return_sequences: 2, ..plain.clone() }),
        (
            "sixteen beams, with edits",
            18,
            DecodeOptions {
                num_beams: MAX_BEAMS,
                no_repeat_ngram_size: 2,
                repetition_penalty: 1.2,
                bad_words: vec![vec![5], vec![6, 7], vec![8, 9, 10]],
                // enough end tokens that hypotheses end
                eos: std::iter::once(eos).chain(20..50).collect(),
                ..plain.clone()
            },
        ),
    ];
    for (name, count, options) in cases {
        let num_beams = options.num_beams;
        let requests = requests(&host, count, &options);
        let mut alone = Vec::new();
        for request in &requests {
            alone.extend(generate(&host, std::slice::from_ref(request)).await.0);
        }
        for (device, which) in all.iter().zip(["CPU", "software GPU", "hardware GPU"]) {
            let transformer = load(device);
            // the second run reuses the session of the first
            for _ in 0..if num_beams == MAX_BEAMS { 2 } else { 1 } {
                let (together, took_over) = generate(&transformer, &requests).await;
                assert!(took_over > 1, "{name}: {took_over} of {count} took over rows");
                for (index, (together, alone)) in together.iter().zip(&alone).enumerate() {
                    let place = format!("{name}, request {index} on the {which}");
                    assert_eq!(together.len(), alone.len(), "{place}");
                    for (together, alone) in together.iter().zip(alone) {
                        assert_eq!(together.tokens, alone.tokens, "{place}");
                        assert_close(&place, &[together.score], &[alone.score], (1e-4, 1e-4));
                    }
                }
            }
        }
    }
}

/// Without steps to watch, the cores of the CPU search side by side.
#[cfg(not(target_arch = "wasm32"))]
#[test]
fn searches_side_by_side_find_what_one_search_finds() {
    let model = model(&data("models/marian_tied"));
    let host = Transformer::load(&Device::Cpu, &model, &mut |_| {}).expect("loads");
    let config = host.config();
    let [start, eos] = [config.tokens.decoder_start, config.tokens.eos].map(|token| token.unwrap_or(0));
    let plain = DecodeOptions { num_beams: 2, ..DecodeOptions::new(start, eos, config.tokens.pad) };
    let mut asked = requests(&host, 170, &plain);
    // other options need batches of their own
    asked.extend(requests(&host, 5, &DecodeOptions { length_penalty: 0.5, ..plain }));
    let alone: Vec<_> = asked
        .iter()
        .flat_map(|request| pollster::block_on(generate(&host, std::slice::from_ref(request))).0)
        .collect();
    for threads in [2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let mut delivered = vec![0; asked.len()];
        // the executor's thread asks how many threads there are
        let together = pool.install(|| {
            let mut all = Vec::new();
            let mut tell = |progress: Progress<'_>| all.push(indices(&progress));
            let options = GenerateOptions::default().watch_results(&mut tell);
            let found = pollster::block_on(host.generate(&asked, options));
            (found, all)
        });
        together.1.into_iter().flatten().for_each(|request| delivered[request] += 1);
        assert_eq!(delivered, vec![1; asked.len()], "each is delivered once");
        for (index, (together, alone)) in together.0.expect("generates").iter().zip(&alone).enumerate() {
            assert_eq!(&together.hypotheses, alone, "request {index} of {threads} threads");
        }
        let cancel = Cancel::default();
        cancel.cancel();
        let stopped = pool.install(|| {
            let options = GenerateOptions::default().cancel(&cancel);
            pollster::block_on(host.generate(&asked, options))
        });
        let cancelled = wordloom::transformer::GenerateError::Cancelled;
        assert_eq!(stopped.unwrap_err().to_string(), cancelled.to_string());
    }
}

/// The requests that are finished.
#[cfg(not(target_arch = "wasm32"))]
fn indices(progress: &Progress<'_>) -> Vec<usize> {
    match progress {
        Progress::Finished { requests, .. } => requests.to_vec(),
        _ => Vec::new(),
    }
}

#[device_test]
async fn a_cancelled_run_leaves_nobody_seated() {
    let model = model(&data("models/marian_tied"));
    for device in &devices().await {
        let transformer = Transformer::load(device, &model, &mut |_| {}).expect("loads");
        let [start, eos] = [transformer.config().tokens.decoder_start, transformer.config().tokens.eos]
            .map(|token| token.unwrap_or(0));
        let plain =
            DecodeOptions { num_beams: 4, ..DecodeOptions::new(start, eos, transformer.config().tokens.pad) };
        let requests = requests(&transformer, 24, &plain);
        let mut shown = 0;
        let mut count =
            |progress: Progress<'_>| shown += usize::from(matches!(progress, Progress::Step { .. }));
        let options = GenerateOptions::default().watch(&mut count);
        transformer.generate(&requests, options).await.expect("generates");
        let (want, _) = generate(&transformer, &requests).await;
        // a GPU takes several steps between two looks
        for steps in [1, shown / 2, shown - 1] {
            let cancel = Cancel::default();
            let mut taken = 0;
            let mut watch = |progress: Progress<'_>| {
                taken += usize::from(matches!(progress, Progress::Step { .. }));
                if taken == steps {
                    cancel.cancel();
                }
            };
            let options = GenerateOptions::default().cancel(&cancel).watch(&mut watch);
            let done = transformer.generate(&requests, options).await;
            assert!(done.is_err(), "cancelled");
            let (again, _) = generate(&transformer, &requests).await;
            assert!(again == want, "after {steps} steps");
        }
    }
}

/// Requests that come one after another while others are searched.
struct Coming {
    /// Those to come, the next one last.
    to_come: Vec<Arrival>,
    waiting: Vec<Arrival>,
    /// Number of requests that come with each look.
    pace: usize,
    /// A ticket whose result is no longer wanted once its search runs.
    unwanted: Option<u64>,
    running: usize,
    /// Largest number of running searches, and those that began while others ran.
    most_running: usize,
    joined: Vec<u64>,
    found: Vec<Option<Vec<Hypothesis>>>,
}

impl Coming {
    fn new(requests: &[GenerateRequest], pace: usize, unwanted: Option<u64>) -> Self {
        let arrival = |(ticket, request): (usize, &GenerateRequest)| Arrival {
            ticket: ticket as u64,
            request: Arc::new(request.clone()),
            waited: Duration::ZERO,
        };
        Self {
            to_come: requests.iter().enumerate().map(arrival).rev().collect(),
            waiting: Vec::new(),
            pace,
            unwanted,
            running: 0,
            most_running: 0,
            joined: Vec::new(),
            found: vec![None; requests.len()],
        }
    }
}

impl Arrivals for Coming {
    fn waiting(&mut self, most: usize) -> Vec<Arrival> {
        for _ in 0..self.pace {
            self.waiting.extend(self.to_come.pop());
        }
        self.waiting.iter().take(most).cloned().collect()
    }

    fn take(&mut self, ticket: u64) {
        let before = self.waiting.len();
        self.waiting.retain(|arrival| arrival.ticket != ticket);
        assert_eq!(self.waiting.len() + 1, before, "a listed request is taken");
        if self.found.iter().any(Option::is_some) && self.running > 0 {
            self.joined.push(ticket);
        }
        self.running += 1;
        self.most_running = self.most_running.max(self.running);
    }

    fn is_wanted(&mut self, ticket: u64) -> bool {
        self.unwanted != Some(ticket)
    }

    fn deliver(&mut self, ticket: u64, hypotheses: Vec<Hypothesis>) {
        self.running -= 1;
        let before = self.found[ticket as usize].replace(hypotheses);
        assert!(before.is_none(), "each is delivered once");
    }
}

#[device_test]
async fn requests_that_come_meanwhile_get_what_they_get_alone() {
    let model = model(&data("models/marian_tied"));
    let host = Transformer::load(&Device::Cpu, &model, &mut |_| {}).expect("loads");
    let config = host.config();
    let [start, eos] = [config.tokens.decoder_start, config.tokens.eos].map(|token| token.unwrap_or(0));
    let plain = DecodeOptions::new(start, eos, config.tokens.pad);
    let mut all = devices().await;
    all.push(gpu_as(AdapterClass::Hardware).await);
    for (count, beams) in [(60, 1), (24, 4)] {
        let options = DecodeOptions { num_beams: beams, min_length: 3, ..plain.clone() };
        let mut requests = requests(&host, count, &options);
        // short sources among long ones: they are encoded at other lengths than the batch's
        for (index, GenerateRequest { input_ids, .. }) in requests.iter_mut().enumerate() {
            match index % 3 {
                1 => input_ids.truncate(4),
                2 => input_ids.extend_from_within(..),
                _ => {}
            }
        }
        let mut alone = Vec::new();
        for request in &requests {
            alone.extend(generate(&host, std::slice::from_ref(request)).await.0);
        }
        for (device, which) in all.iter().zip(["CPU", "software GPU", "hardware GPU"]) {
            let transformer = Transformer::load(device, &model, &mut |_| {}).expect("loads");
            let mut coming = Coming::new(&requests, 3, Some(7));
            transformer.serve(&mut coming, &Cancel::default()).await.expect("serves");
            let place = format!("{beams} beams on the {which}");
            assert!(
                coming.joined.len() > 2 && coming.most_running > 4,
                "{place}: {:?} joined",
                coming.joined
            );
            for (ticket, (found, alone)) in coming.found.iter().zip(&alone).enumerate() {
                if ticket == 7 {
                    assert!(found.is_none(), "{place}: a request whose caller went away");
                    continue;
                }
                let found = found.as_ref().unwrap_or_else(|| panic!("{place}: {ticket} has no result"));
                assert_eq!(found[0].tokens, alone[0].tokens, "{place}, request {ticket}");
            }
        }
    }
}

#[device_test]
async fn late_requests_join_by_their_turns() {
    let model = model(&data("models/marian_tied"));
    let transformer = Transformer::load(&Device::Cpu, &model, &mut |_| {}).expect("loads");
    let config = transformer.config();
    let [start, eos] = [config.tokens.decoder_start, config.tokens.eos].map(|token| token.unwrap_or(0));
    let plain = DecodeOptions::new(start, eos, config.tokens.pad);
    // more rows than a batch has
    let mut requests = requests(&transformer, 60, &DecodeOptions { num_beams: 4, min_length: 3, ..plain });
    for (index, GenerateRequest { input_ids, .. }) in requests.iter_mut().enumerate() {
        input_ids.truncate(2 + index % 5);
    }
    let mut coming = Coming::new(&requests, requests.len(), None);
    coming.to_come.iter_mut().for_each(|arrival| arrival.waited = Duration::from_secs(2));
    transformer.serve(&mut coming, &Cancel::default()).await.expect("serves");
    let joined = &coming.joined[..coming.joined.len().min(20)];
    assert!(joined.len() > 4 && joined.is_sorted(), "{:?}", coming.joined);
}
