//! Speed of training on the CPU, printed: `cargo test --release --test training_speed -- --ignored --nocapture`.
#![cfg(not(target_arch = "wasm32"))]

mod common;

use std::time::Instant;

use wordloom::train::{Capacity, Pair, Recipe, Trainer};
use wordloom::{Device, Model};

/// Target tokens of a batch.
const TOKENS: usize = 1536;
const STEPS: usize = 10;

/// Sentences of 6 to 16 tokens.
fn batch(seed: u32, vocabulary: u32) -> Vec<Pair> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
    let mut next = move |below: u32| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state % below
    };
    let (mut pairs, mut tokens) = (Vec::new(), 0);
    loop {
        let length = 6 + next(11) as usize;
        if tokens + length > TOKENS {
            return pairs;
        }
        let mut side = || (0..length).map(|_| next(vocabulary)).collect();
        pairs.push(Pair { source: side(), target: side() });
        tokens += length;
    }
}

#[pollster::test]
#[ignore = "speed"]
async fn tokens_per_second_of_the_default_model() {
    let model = Model::embedded().unwrap();
    let vocabulary = model.config().target_vocabulary as u32;
    let capacity = Capacity { source_rows: TOKENS, target_rows: TOKENS };
    let recipe = Recipe { max_norm: Some(1.0), ..Recipe::default() };
    let mut trainer = Trainer::new(&Device::Cpu, model, recipe, capacity).unwrap();
    let batches: Vec<Vec<Pair>> = (1..=STEPS as u32).map(|seed| batch(seed, vocabulary)).collect();
    let mut times = Vec::new();
    for batch in &batches {
        let tokens: usize = batch.iter().map(|pair| pair.target.len()).sum();
        let start = Instant::now();
        trainer.take_step(&[batch], 1e-4).await.unwrap();
        times.push(tokens as f64 / start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    println!("{:.0} target tokens/s, median of {STEPS} steps of {TOKENS} tokens", times[STEPS / 2]);
    println!("{:?}", trainer.losses().await.unwrap());
}
