//! Philox4x32-10, a counter-based generator: the same key and counter give the same numbers on every device. Salmon et
//! al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3", section 3.3.

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

/// Numbers for `LANES` neighbouring counters, which differ in their first word: `out[word][lane]`.
#[inline(always)]
pub fn philox<const LANES: usize>(counter: [u32; 4], mut key: [u32; 2]) -> [[u32; LANES]; 4] {
    let mut words = [[0; LANES]; 4];
    for (word, start) in words.iter_mut().zip(counter) {
        *word = [start; LANES];
    }
    for (lane, first) in words[0].iter_mut().enumerate() {
        *first = first.wrapping_add(lane as u32);
    }
    for _ in 0..ROUNDS {
        let [first, second, third, fourth] = &mut words;
        let lanes = first.iter_mut().zip(second).zip(third).zip(fourth);
        for (((first, second), third), fourth) in lanes {
            let a = u64::from(*first) * u64::from(MULTIPLIERS[0]);
            let b = u64::from(*third) * u64::from(MULTIPLIERS[1]);
            (*first, *second, *third, *fourth) = (
                (b >> 32) as u32 ^ *second ^ key[0],
                b as u32,
                (a >> 32) as u32 ^ *fourth ^ key[1],
                a as u32,
            );
        }
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    words
}

#[cfg(test)]
mod tests {
    use super::philox;

    /// Random123's `kat_vectors`.
    #[test]
    fn known_answers() {
        let ones = u32::MAX;
        let cases = [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([ones; 4], [ones; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ];
        for (counter, key, want) in cases {
            assert_eq!(philox::<1>(counter, key).map(|word| word[0]), want);
        }
        let four = philox::<4>([7, 1, 2, 3], [4, 5]);
        for lane in 0..4 {
            let one = philox::<1>([7 + lane as u32, 1, 2, 3], [4, 5]);
            assert_eq!(four.map(|word| word[lane]), one.map(|word| word[0]));
        }
    }
}
