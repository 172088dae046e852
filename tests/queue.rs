//! More requests than rows in a batch: finished requests give their rows to the next, and no result changes.

mod common;

use common::{assert_close, data, device_test, devices, gpu_as, model};
use wordloom::Device;
use wordloom::decode::{DecodeOptions, Hypothesis, MAX_BEAMS};
use wordloom::kernels::AdapterClass;
use wordloom::transformer::{Cancel, GenerateOptions, GenerateRequest, Progress, Transformer};

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
        Progress::Step { search, .. } => sentences = search.sentences().len(),
        Progress::Finished { requests, hypotheses } => {
            assert_eq!(requests.len(), hypotheses.len());
            took_over += usize::from(requests.len() < sentences);
            requests.iter().for_each(|&request| delivered[request] += 1);
        }
    };
    let done = transformer.generate(requests, GenerateOptions::default().watch(&mut watch)).await;
    assert_eq!(delivered, vec![1; requests.len()], "each is delivered once");
    let found = done.expect("generates").into_iter().map(|found| found.hypotheses);
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
    all.push(gpu_as(AdapterClass::Hardware).await);
    let cases = [
        ("greedy", 70, DecodeOptions { num_beams: 1, min_length: 3, ..plain.clone() }),
        ("four beams", 30, DecodeOptions { num_beams: 4, num_return_sequences: 2, ..plain.clone() }),
        (
            "sixteen beams, with edits",
            11,
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
        let (want, _) = generate(&transformer, &requests).await;
        for steps in [1, 9, 13] {
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
