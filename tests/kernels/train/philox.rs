//! The random numbers of `shared/philox.wgsl`, against Random123's known answers and plain code.

use wordloom::kernels::{Access, Dispatch, Kernel};

use crate::common::{device_test, gpu};
use crate::{read, run, upload_u32};

static WORDS: Kernel = Kernel {
    name: "philox_words",
    wgsl: &[include_str!("../../data/philox.wgsl"), include_str!("../../../shaders/shared/philox.wgsl")],
    storage: &[Access::Read, Access::Write],
    params: &[],
};

/// Philox4x32-10 with 64-bit products: Salmon et al. 2011, section 3.3.
pub fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let a = 0xD251_1F53u64 * u64::from(counter[0]);
        let b = 0xCD9E_8D57u64 * u64::from(counter[2]);
        let high = |product: u64| (product >> 32) as u32;
        counter = [high(b) ^ counter[1] ^ key[0], b as u32, high(a) ^ counter[3] ^ key[1], a as u32];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

/// The word of an element. `state`: seed (low, high), step (low, high).
pub fn word(state: [u32; 4], place: u32, element: u32) -> u32 {
    let counter = [element / 4, place, state[2], state[3]];
    philox(counter, [state[0], state[1]])[element as usize % 4]
}

/// Counter, key, words: `kat_vectors` of Random123.
const KNOWN: [([u32; 4], [u32; 2], [u32; 4]); 3] = [
    ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
    ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
    (
        [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
        [0xa409_3822, 0x299f_31d0],
        [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
    ),
];

#[device_test]
async fn words_are_the_known_ones() {
    let gpu = gpu().await;
    let mut cases: Vec<([u32; 4], [u32; 2])> =
        KNOWN.iter().map(|&(counter, key, _)| (counter, key)).collect();
    // 61 more, against plain code
    let mut next = (1u32..).map(|n| n.wrapping_mul(2_654_435_761).rotate_left(n % 32));
    let mut take = || next.next().expect("endless");
    cases.resize_with(64, || ([take(), take(), take(), take()], [take(), take()]));
    let input: Vec<u32> =
        cases.iter().flat_map(|(counter, key)| [&counter[..], &key[..], &[0, 0]].concat()).collect();
    let buffers = [upload_u32(&gpu, &input), upload_u32(&gpu, &[0; 256])];
    let dispatch = Dispatch { kernel: &WORDS, constants: vec![], params: vec![], workgroups: [1, 1, 1] };
    run(&gpu, &[(dispatch, buffers.iter().collect())]);
    let got: Vec<u32> = read(&gpu, &buffers[1]).await;
    for (case, (&(counter, key), got)) in cases.iter().zip(got.chunks_exact(4)).enumerate() {
        let plain = philox(counter, key);
        assert_eq!(got, plain, "counter {counter:08x?}, key {key:08x?}");
        if let Some((_, _, known)) = KNOWN.get(case) {
            assert_eq!(plain, *known, "counter {counter:08x?}, key {key:08x?}");
        }
    }
}
