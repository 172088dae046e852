//! Decoding on the CPU makes no allocation per token, except when a sequence doubles its capacity.
#![cfg(feature = "embedded-model")]
#![allow(unsafe_code, reason = "the trait of an allocator is unsafe")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use wordloom::decode::DecodeOptions;
use wordloom::precision::{PrecisionChoice, WeightPrecision};
use wordloom::transformer::{GenerateOptions, GenerateRequest, Transformer};
use wordloom::{Device, Model};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_token_allocates_nothing_on_the_cpu() {
    let model = Model::embedded().unwrap();
    let precisions = [WeightPrecision::F32, WeightPrecision::Q8].map(PrecisionChoice::Is);
    for (weights, num_beams) in precisions.into_iter().flat_map(|weights| [(weights, 1), (weights, 4)]) {
        let transformer = Transformer::load_with_weights(&Device::Cpu, &model, weights, &mut |_| {}).unwrap();
        let count = |tokens: usize| {
            let mut options = DecodeOptions::new(11_999, 0, 11_999);
            options.num_beams = num_beams;
            options.min_length = tokens + 1;
            options.max_length = tokens + 1;
            let requests = [GenerateRequest::new(vec![5, 17, 300, 0], options)];
            let run =
                || pollster::block_on(transformer.generate(&requests, GenerateOptions::default())).unwrap();
            run(); // allocates the session and the threads' scratch memory
            let counted = || {
                let before = ALLOCATIONS.load(Ordering::Relaxed);
                let found = run();
                let after = ALLOCATIONS.load(Ordering::Relaxed);
                assert_eq!(found[0].hypotheses[0].tokens.len(), tokens + 1);
                after - before
            };
            // beside other work, a thread may have its first share, and allocate its scratch memory, in a later run
            [counted(), counted(), counted()].into_iter().min().expect("three")
        };
        // both lengths use the same session
        let (few, many) = (count(70), count(94));
        assert!(
            many <= few + 8,
            "{weights:?}, {num_beams} beams: {few} allocations for 70 tokens, {many} for 94"
        );
    }
}
