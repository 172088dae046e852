//! The search on the device against the same search on the host, with every option. A GPU decides several steps by itself; the
//! CPU runner asks the host after each step.

use crate::common::{assert_close, data, device_test, devices, gpu_as, model, rounded};
use wordloom::Device;
use wordloom::decode::{DecodeOptions, EarlyStopping, Hypothesis, MAX_BEAMS};
use wordloom::kernels::AdapterClass;
use wordloom::precision::{PrecisionChoice, WeightPrecision};
use wordloom::transformer::{GenerateOptions, GenerateRequest, Transformer};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Random tokens; their number is one of `counts`.
    fn tokens(&mut self, counts: &[usize], vocabulary: usize) -> Vec<u32> {
        (0..self.pick(counts)).map(|_| self.below(vocabulary) as u32).collect()
    }
}

/// A batch of requests with equal options where a batch requires it.
fn batch(random: &mut Random, transformer: &Transformer) -> Vec<GenerateRequest> {
    let config = transformer.config();
    let vocabulary = config.target_vocabulary;
    let positions = config.positions.count().min(40);
    let num_beams = random.pick(&[1, 1, 2, 3, 4, 4, 7, MAX_BEAMS]);
    let renormalize_logits = random.below(2) == 0;
    let start = config.tokens.decoder_start.unwrap_or(0);
    let eos = config.tokens.eos.unwrap_or(1);
    (0..1 + random.below(4))
        .map(|_| {
            let prompt = match random.below(2) {
                0 => vec![start],
                _ => [vec![start], random.tokens(&[1, 2, 4, 6], vocabulary)].concat(),
            };
            let max_length = prompt.len() + 1 + random.below(positions - prompt.len() - 1);
            let bad_words =
                (0..random.pick(&[0, 0, 1, 40])).map(|_| random.tokens(&[1, 1, 2, 3], vocabulary)).collect();
            GenerateRequest {
                input_ids: random.tokens(&[1, 3, 8, 9, 12], config.source_vocabulary),
                options: DecodeOptions {
                    num_beams,
                    num_return_sequences: num_beams,
                    length_penalty: random.pick(&[-1.0, 0.0, 0.6, 1.0, 2.0]),
                    early_stopping: random.pick(&[
                        EarlyStopping::Always,
                        EarlyStopping::Heuristic,
                        EarlyStopping::Never,
                    ]),
                    max_length,
                    min_length: random.pick(&[0, 0, 4, max_length]),
                    bad_words,
                    forced_bos: (random.below(5) == 0).then(|| random.below(vocabulary) as u32),
                    forced_eos: (random.below(3) == 0).then_some(eos),
                    // enough end tokens that hypotheses end
                    eos: [vec![eos], random.tokens(&[0, 0, 30], vocabulary)].concat(),
                    no_repeat_ngram_size: random.pick(&[0, 0, 0, 1, 2, 3]),
                    repetition_penalty: random.pick(&[1.0, 1.0, 1.3, 0.8]),
                    renormalize_logits,
                    prompt,
                    ..DecodeOptions::new(start, eos, config.tokens.pad)
                },
                global_tokens: Vec::new(),
            }
        })
        .collect()
}

async fn generate(
    transformer: &Transformer,
    requests: &[GenerateRequest],
    place: &str,
) -> Vec<Vec<Hypothesis>> {
    let done = transformer.generate(requests, GenerateOptions::default()).await;
    let done = done.unwrap_or_else(|error| panic!("{place}: {error}; {requests:?}"));
    done.into_iter().map(|found| found.hypotheses).collect()
}

#[device_test]
async fn the_device_searches_as_the_host_does() {
    for name in ["marian_tied", "bart", "m2m_100", "t5_relu_tied"] {
        let model = model(&data(&format!("models/{name}")));
        let load = |device: &Device| Transformer::load(device, &model, &mut |_| {}).expect("loads");
        let host = load(&Device::Cpu);
        let gpus = [devices().await.remove(1), gpu_as(AdapterClass::Hardware).await];
        for (device, seed) in gpus.iter().zip([name.len() as u64, 100]) {
            let on_device = load(device);
            let mut random = Random(seed);
            for trial in 0..6 {
                let requests = batch(&mut random, &on_device);
                let got = generate(&on_device, &requests, &format!("{name}, trial {trial}")).await;
                let want = generate(&host, &requests, name).await;
                for ((request, got), want) in requests.iter().zip(got).zip(want) {
                    let place = format!("{name}, trial {trial}, {request:?}");
                    assert_eq!(got.len(), want.len(), "{place}");
                    for (got, want) in got.iter().zip(&want) {
                        assert_eq!(got.tokens, want.tokens, "{place}");
                        assert_close(&place, &[got.score], &[want.score], (1e-4, 1e-4));
                    }
                }
            }
        }
    }
}

/// Every beam width, every precision of weights, and the kernels of both classes of adapters: one sentence, and enough
/// sentences for the kernels of many rows.
#[device_test]
async fn every_width_precision_and_class_agree() {
    let model = model(&data("models/marian_tied"));
    let gpus = [devices().await.remove(1), gpu_as(AdapterClass::Hardware).await];
    for precision in [WeightPrecision::F32, WeightPrecision::F16, WeightPrecision::Q8] {
        let load = |device: &Device| {
            Transformer::load_with_weights(device, &model, PrecisionChoice::Is(precision), &mut |_| {})
                .expect("loads")
        };
        // with 8-bit weights, the CPU would round activations, too, so it uses the rounded weights in f32
        let host = rounded("marian_tied", precision);
        let host = Transformer::load(&Device::Cpu, &host, &mut |_| {}).expect("loads");
        for (class, device) in ["software", "hardware"].into_iter().zip(&gpus) {
            let on_device = load(device);
            // the kernels of a search take scores, whatever the weights are
            let widths = 1..=MAX_BEAMS;
            let widths = widths.filter(|width| precision == WeightPrecision::F32 || width.is_power_of_two());
            for num_beams in widths {
                for sentences in [1, 1 + 16 / num_beams] {
                    let place = format!("{precision:?}, {class}, {sentences} × {num_beams} beams");
                    let requests = short_requests(&host, sentences, num_beams);
                    let got = generate(&on_device, &requests, &place).await;
                    let want = generate(&host, &requests, &place).await;
                    for (got, want) in got.iter().flatten().zip(want.iter().flatten()) {
                        assert_eq!(got.tokens, want.tokens, "{place}");
                        assert_close(&place, &[got.score], &[want.score], (1e-4, 1e-4));
                    }
                }
            }
        }
    }
}

fn short_requests(transformer: &Transformer, sentences: usize, num_beams: usize) -> Vec<GenerateRequest> {
    let config = transformer.config();
    let [start, eos] = [config.tokens.decoder_start, config.tokens.eos].map(|token| token.unwrap_or(0));
    (0..sentences as u32)
        .map(|sentence| GenerateRequest {
            input_ids: (0..5)
                .map(|token| (sentence * 31 + token * 17) % config.source_vocabulary as u32)
                .collect(),
            options: DecodeOptions {
                num_beams,
                num_return_sequences: num_beams,
                max_length: 5,
                ..DecodeOptions::new(start, eos, config.tokens.pad)
            },
            global_tokens: Vec::new(),
        })
        .collect()
}
