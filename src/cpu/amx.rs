//! Products of bf16 matrices, and of whole numbers, on the matrix unit of Intel processors, AMX. Its instructions are assembly, because Rust has
//! no stable functions for them. Intel Architecture Instruction Set Extensions, chapter "Intel AMX".

/// Rows of a tile, and words in a row of it. A word has two bf16 numbers, or four bytes.
pub const TILE: usize = 16;

/// Words of a tile.
pub const TILE_WORDS: usize = TILE * TILE;

/// Rows and columns of a block of four tiles.
pub const BLOCK: usize = 2 * TILE;

/// f32 sums of a block, `[BLOCK, BLOCK]`.
#[repr(align(64))]
pub struct Sums(pub [f32; BLOCK * BLOCK]);

/// Sums of the high bytes and of the low bytes of 16 rows, each for two times 16 columns: `[2, 2, TILE, TILE]`.
#[repr(align(64))]
pub struct ByteSums(pub [[[i32; TILE_WORDS]; 2]; 2]);

/// Transposes 16 × 16 words.
#[inline(always)]
pub fn transpose(words: &mut [u32; TILE_WORDS]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V4::try_new() {
        return transpose_in_vectors(simd, words);
    }
    let from = *words;
    for (index, word) in words.iter_mut().enumerate() {
        *word = from[index % TILE * TILE + index / TILE];
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn transpose_in_vectors(simd: pulp::x86::V4, words: &mut [u32; TILE_WORDS]) {
    let avx = simd.avx512f;
    let mut rows: [std::arch::x86_64::__m512i; TILE] = pulp::cast(*words);
    // pairs of numbers, pairs of pairs, then quarters of a vector
    let x = rows;
    for i in 0..TILE / 2 {
        rows[2 * i] = avx._mm512_unpacklo_epi32(x[2 * i], x[2 * i + 1]);
        rows[2 * i + 1] = avx._mm512_unpackhi_epi32(x[2 * i], x[2 * i + 1]);
    }
    let x = rows;
    for i in (0..TILE).step_by(4) {
        rows[i] = avx._mm512_unpacklo_epi64(x[i], x[i + 2]);
        rows[i + 1] = avx._mm512_unpackhi_epi64(x[i], x[i + 2]);
        rows[i + 2] = avx._mm512_unpacklo_epi64(x[i + 1], x[i + 3]);
        rows[i + 3] = avx._mm512_unpackhi_epi64(x[i + 1], x[i + 3]);
    }
    let x = rows;
    for (half, i) in [0, 8].into_iter().flat_map(|half| [0, 1, 2, 3].map(|i| (half, i))) {
        rows[half + i] = avx._mm512_shuffle_i32x4::<0x88>(x[half + i], x[half + i + 4]);
        rows[half + i + 4] = avx._mm512_shuffle_i32x4::<0xdd>(x[half + i], x[half + i + 4]);
    }
    let x = rows;
    for i in 0..TILE / 2 {
        rows[i] = avx._mm512_shuffle_i32x4::<0x88>(x[i], x[i + 8]);
        rows[i + 8] = avx._mm512_shuffle_i32x4::<0xdd>(x[i], x[i + 8]);
    }
    *words = pulp::cast(rows);
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod unit {
    use std::arch::asm;
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    use std::sync::OnceLock;

    use super::{BLOCK, ByteSums, Sums, TILE, TILE_WORDS};

    /// The processor's matrix unit, set up for this thread until it is dropped.
    pub struct MatrixUnit(());

    /// What `ldtilecfg` reads.
    #[repr(C, align(64))]
    struct Configuration {
        palette: u8,
        start_row: u8,
        reserved: [u8; 14],
        /// Bytes of a row of each tile.
        row_bytes: [u16; 16],
        rows: [u8; 16],
    }

    static EIGHT_FULL_TILES: Configuration = Configuration {
        palette: 1,
        start_row: 0,
        reserved: [0; 14],
        row_bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
        rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
    };

    /// Whether the processor has the unit, and Linux lets this process use it.
    fn is_there() -> bool {
        static THERE: OnceLock<bool> = OnceLock::new();
        *THERE.get_or_init(|| __cpuid(0).eax >= 7 && has_tiles() && allowed())
    }

    fn has_tiles() -> bool {
        const TILES_OF_BF16_AND_BYTES: u32 = 1 << 22 | 1 << 24 | 1 << 25;
        __cpuid_count(7, 0).edx & TILES_OF_BF16_AND_BYTES == TILES_OF_BF16_AND_BYTES
    }

    /// Asks Linux for the memory that each thread's tiles take.
    #[expect(unsafe_code, reason = "a system call")]
    fn allowed() -> bool {
        const ARCH_PRCTL: i64 = 158;
        const REQUEST_PERMISSION: u64 = 0x1023; // ARCH_REQ_XCOMP_PERM
        const TILE_DATA: u64 = 18;
        let mut result = ARCH_PRCTL;
        // SAFETY: the call takes two numbers, touches no memory of the process, and changes rcx and r11 as every call does.
        unsafe {
            asm!(
                "syscall",
                inout("rax") result,
                in("rdi") REQUEST_PERMISSION,
                in("rsi") TILE_DATA,
                out("rcx") _,
                out("r11") _,
                options(nostack),
            );
        }
        result == 0
    }

    impl MatrixUnit {
        /// Sets the unit up for this thread, if there is one.
        #[expect(unsafe_code, reason = "assembly")]
        pub fn new() -> Option<Self> {
            if !is_there() {
                return None;
            }
            // SAFETY: the processor has the instruction, and reads 64 bytes.
            unsafe {
                asm!("ldtilecfg [{}]", in(reg) &raw const EIGHT_FULL_TILES, options(nostack, readonly))
            };
            Some(Self(()))
        }

        /// Whether there is one.
        pub fn is_there() -> bool {
            is_there()
        }

        /// Computes a block: two rows of tiles of a times two columns of tiles of b.
        ///
        /// * `a`: tiles `[row, pair]`; `b`: tiles `[pair, column]`; pairs are u32 words with the first number below. Each
        ///   slice has the tiles of one row or column, all of equal length.
        #[expect(unsafe_code, reason = "assembly")]
        pub fn multiply(&self, a: [&[u32]; 2], b: [&[u32]; 2], sums: &mut Sums) {
            let tiles = a[0].len() / TILE_WORDS;
            let lengths = [a[0], a[1], b[0], b[1]].map(<[u32]>::len);
            assert_eq!(lengths, [tiles * TILE_WORDS; 4], "tiles of equal number");
            if tiles == 0 {
                sums.0.fill(0.0);
                return;
            }
            // SAFETY: `new` has set up eight tiles of 16 rows of 64 bytes. Each slice has `tiles` tiles of 1024 bytes,
            // which the loop reads one after the other. `sums` has 32 rows of 128 bytes, of which each store writes 16
            // half rows.
            unsafe {
                asm!(
                    "tilezero tmm0",
                    "tilezero tmm1",
                    "tilezero tmm2",
                    "tilezero tmm3",
                    "2:",
                    "tileloadd tmm4, [{a0} + {row}*1]",
                    "tileloadd tmm6, [{b0} + {row}*1]",
                    "tileloadd tmm5, [{a1} + {row}*1]",
                    "tileloadd tmm7, [{b1} + {row}*1]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tdpbf16ps tmm1, tmm4, tmm7",
                    "tdpbf16ps tmm2, tmm5, tmm6",
                    "tdpbf16ps tmm3, tmm5, tmm7",
                    "add {a0}, 1024",
                    "add {a1}, 1024",
                    "add {b0}, 1024",
                    "add {b1}, 1024",
                    "dec {tiles}",
                    "jnz 2b",
                    "add {row}, {row}",
                    "tilestored [{sums} + {row}*1], tmm0",
                    "tilestored [{sums} + {row}*1 + 64], tmm1",
                    "tilestored [{sums} + {row}*1 + 2048], tmm2",
                    "tilestored [{sums} + {row}*1 + 2112], tmm3",
                    a0 = inout(reg) a[0].as_ptr() => _,
                    a1 = inout(reg) a[1].as_ptr() => _,
                    b0 = inout(reg) b[0].as_ptr() => _,
                    b1 = inout(reg) b[1].as_ptr() => _,
                    tiles = inout(reg) tiles => _,
                    row = inout(reg) 4 * TILE => _,
                    sums = in(reg) sums.0.as_mut_ptr(),
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                    out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                    options(nostack),
                );
            }
        }
    }

    impl MatrixUnit {
        /// Computes sums of products of bytes: a row of tiles of x, whose numbers are `256 · high + low`, times two columns of
        /// tiles of weights.
        ///
        /// * `high`: tiles `[row, four signed bytes]`; `low`: the same, unsigned; `weights`: tiles
        ///   `[four signed bytes, column]`. All slices have the same length.
        #[expect(unsafe_code, reason = "assembly")]
        pub fn multiply_bytes(&self, [high, low]: [&[u32]; 2], weights: [&[u32]; 2], sums: &mut ByteSums) {
            let tiles = high.len() / TILE_WORDS;
            let lengths = [high, low, weights[0], weights[1]].map(<[u32]>::len);
            assert_eq!(lengths, [tiles * TILE_WORDS; 4], "tiles of equal number");
            if tiles == 0 {
                sums.0.as_flattened_mut().as_flattened_mut().fill(0);
                return;
            }
            // SAFETY: `new` has set up eight tiles of 16 rows of 64 bytes. Each slice has `tiles` tiles of 1024 bytes,
            // which the loop reads one after the other. `sums` has four times 16 rows of 64 bytes.
            unsafe {
                asm!(
                    "tilezero tmm0",
                    "tilezero tmm1",
                    "tilezero tmm2",
                    "tilezero tmm3",
                    "2:",
                    "tileloadd tmm4, [{high} + {row}*1]",
                    "tileloadd tmm6, [{w0} + {row}*1]",
                    "tileloadd tmm5, [{low} + {row}*1]",
                    "tileloadd tmm7, [{w1} + {row}*1]",
                    "tdpbssd tmm0, tmm4, tmm6",
                    "tdpbssd tmm1, tmm4, tmm7",
                    "tdpbusd tmm2, tmm5, tmm6",
                    "tdpbusd tmm3, tmm5, tmm7",
                    "add {high}, 1024",
                    "add {low}, 1024",
                    "add {w0}, 1024",
                    "add {w1}, 1024",
                    "dec {tiles}",
                    "jnz 2b",
                    "tilestored [{sums} + {row}*1], tmm0",
                    "tilestored [{sums} + {row}*1 + 1024], tmm1",
                    "tilestored [{sums} + {row}*1 + 2048], tmm2",
                    "tilestored [{sums} + {row}*1 + 3072], tmm3",
                    high = inout(reg) high.as_ptr() => _,
                    low = inout(reg) low.as_ptr() => _,
                    w0 = inout(reg) weights[0].as_ptr() => _,
                    w1 = inout(reg) weights[1].as_ptr() => _,
                    tiles = inout(reg) tiles => _,
                    row = in(reg) 4 * TILE,
                    sums = in(reg) (&raw mut sums.0),
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                    out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                    options(nostack),
                );
            }
        }
    }

    impl Drop for MatrixUnit {
        #[expect(unsafe_code, reason = "assembly")]
        fn drop(&mut self) {
            // SAFETY: `new` has found that the processor has the instruction.
            unsafe { asm!("tilerelease", options(nomem, nostack)) };
        }
    }

    const _: () = assert!(size_of::<Configuration>() == 64 && BLOCK == 32);
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod unit {
    use super::{ByteSums, Sums};

    /// The matrix unit that this processor or system does not have.
    pub enum MatrixUnit {}

    impl MatrixUnit {
        pub fn new() -> Option<Self> {
            None
        }

        pub fn is_there() -> bool {
            false
        }

        pub fn multiply(&self, _: [&[u32]; 2], _: [&[u32]; 2], _: &mut Sums) {
            match *self {}
        }

        pub fn multiply_bytes(&self, _: [&[u32]; 2], _: [&[u32]; 2], _: &mut ByteSums) {
            match *self {}
        }
    }
}

pub use unit::MatrixUnit;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_is_transposed() {
        let mut words = std::array::from_fn(|i| i as u32);
        transpose(&mut words);
        assert_eq!(words, std::array::from_fn(|i| (i % TILE * TILE + i / TILE) as u32));
    }
}
