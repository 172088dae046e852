//! Parts of the CPU's work: `cargo bench`, or `cargo bench -- NAME`. `wordloom bench` measures models and GPU kernels.

fn main() {
    divan::main();
}

mod benches {
    use divan::counter::{BytesCount, ItemsCount};
    use divan::{Bencher, black_box};
    use wordloom::activation::Activation;
    use wordloom::cpu::{self, AttentionScores, Cache, Columns, Linear, StoredMatrix};
    use wordloom::decode::{BatchSearch, DecodeOptions};
    use wordloom::kernels::attention::AttentionShape;
    use wordloom::kernels::cached_attention::CachedAttentionShape;
    use wordloom::precision::WeightPrecision;
    use wordloom::scores::TopScores;

    const D_MODEL: usize = 512;
    const HEADS: usize = 8;
    const D_HEAD: usize = D_MODEL / HEADS;

    /// Numbers between -½ and ½ without a pattern.
    fn numbers(count: usize) -> Vec<f32> {
        (0..count).map(|index| (index as f32 * 0.618_034).fract() - 0.5).collect()
    }

    /// Rows of a token, a sentence's beams, a small batch, both sides of the switch to the library, a long source.
    #[divan::bench(args = [1, 4, 16, 47, 48, 512])]
    fn linear(bencher: Bencher<'_, '_>, rows: usize) {
        linear_of(bencher, rows, WeightPrecision::F32);
    }

    #[divan::bench(args = [1, 4, 16, 48, 512])]
    fn linear_q8(bencher: Bencher<'_, '_>, rows: usize) {
        linear_of(bencher, rows, WeightPrecision::Q8);
    }

    fn linear_of(bencher: Bencher<'_, '_>, rows: usize, precision: WeightPrecision) {
        let (inputs, outputs) = (D_MODEL, 4 * D_MODEL);
        let (x, weight) = (numbers(rows * inputs), numbers(inputs * outputs));
        let weight = StoredMatrix::of(&weight, inputs, precision);
        let mut y = vec![0.0; rows * outputs];
        let layer = Linear { weight: weight.view(), inputs, bias: None, scale: 1.0 };
        bencher
            .counter(ItemsCount::new(2 * rows * inputs * outputs)) // items/s are FLOP/s
            .bench_local(|| cpu::linear(&x, layer, Activation::Identity, None, black_box(&mut y)));
    }

    #[divan::bench(args = [32, 128, 512])]
    fn attention(bencher: Bencher<'_, '_>, length: usize) {
        let qkv = numbers(length * 3 * D_MODEL);
        let columns = |block: usize| Columns { data: &qkv, stride: 3 * D_MODEL, first: block * D_MODEL };
        let shape = AttentionShape {
            batch: 1,
            heads: HEADS,
            queries: length,
            keys: length,
            d_head: D_HEAD,
            d_value: D_HEAD,
            scale: 0.125,
            causal: false,
        };
        let (mask, mut context) = (vec![1; length], vec![0.0; length * D_MODEL]);
        bencher.counter(ItemsCount::new(4 * length * length * D_MODEL)).bench_local(|| {
            let [queries, keys, values] = [0, 1, 2].map(columns);
            let scores = AttentionScores { shape, queries, keys, key_mask: &mask, distance_bias: None };
            cpu::attention(&scores, values, black_box(&mut context));
        });
    }

    #[divan::bench(args = [32, 128, 512])]
    fn cached_attention(bencher: Bencher<'_, '_>, length: usize) {
        let rows = 4;
        let shape = CachedAttentionShape {
            rows,
            heads: HEADS,
            d_head: D_HEAD,
            d_value: D_HEAD,
            capacity: length,
            scale: 0.125,
        };
        let queries = numbers(rows * D_MODEL);
        let [keys, values] = [(); 2].map(|()| numbers(rows * length * D_MODEL));
        let slots: Vec<u32> = (0..(rows * length) as u32).collect();
        let (key_counts, mut context) = (vec![length as u32; rows], vec![0.0; rows * D_MODEL]);
        let cache = Cache { keys: &keys, values: &values, slots: &slots, key_counts: &key_counts };
        bencher.counter(ItemsCount::new(4 * rows * length * D_MODEL)).bench_local(|| {
            let q = Columns { data: &queries, stride: D_MODEL, first: 0 };
            cpu::cached_attention(&shape, q, cache, None, black_box(&mut context));
        });
    }

    /// The search's part of a step, for the beams of one sentence.
    #[divan::bench(args = [1, 4, 16])]
    fn beam_step(bencher: Bencher<'_, '_>, beams: usize) {
        let options = DecodeOptions {
            num_beams: beams,
            max_length: 1 << 20,
            min_length: 1 << 20,
            ..DecodeOptions::new(1, 0, 2)
        };
        let after_some_steps = || {
            let mut search = BatchSearch::new(vec![options.clone()]).expect("these options are valid");
            for step in 0..16 {
                advance(&mut search, step);
            }
            search
        };
        bencher.with_inputs(after_some_steps).bench_local_values(|mut search| {
            advance(&mut search, 16);
            search
        });
    }

    /// Advances with tokens and scores that differ between rows and steps.
    fn advance(search: &mut BatchSearch, step: usize) {
        black_box(search.step());
        let (rows, candidates) = (search.rows(), search.candidates());
        let tokens: Vec<u32> = (0..rows * candidates)
            .map(|place| 3 + ((place * 7919 + step * 104_729) % 30_000) as u32)
            .collect();
        let values: Vec<f32> = (0..rows)
            .flat_map(|row| (0..candidates).map(move |n| -1.0 - row as f32 * 0.01 - n as f32))
            .collect();
        let scores = TopScores { candidates, values: &values, tokens: &tokens };
        search.advance(scores).expect("every row has its candidates");
    }

    #[cfg(feature = "embedded-model")]
    #[divan::bench_group]
    mod tokenizer {
        use super::*;
        use wordloom::Model;

        const TEXT: &str = "The train to the coast leaves from platform nine, unless it has snowed; \
            in that case passengers are asked to take the replacement buses in front of the station.";

        #[divan::bench]
        fn encode(bencher: Bencher<'_, '_>) {
            let model = Model::embedded().expect("the model is built in");
            let tokenizer = model.tokenizer().expect("and its tokenizer");
            bencher.counter(BytesCount::of_str(TEXT)).bench_local(|| tokenizer.encode(black_box(TEXT)));
        }

        #[divan::bench]
        fn decode(bencher: Bencher<'_, '_>) {
            let model = Model::embedded().expect("the model is built in");
            let tokenizer = model.tokenizer().expect("and its tokenizer");
            let ids = tokenizer.encode(TEXT).expect("it can be encoded");
            bencher
                .counter(ItemsCount::new(ids.len()))
                .bench_local(|| tokenizer.decode(black_box(&ids), true));
        }
    }
}
