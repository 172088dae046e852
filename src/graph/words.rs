//! Memory of the CPU runner.

use std::ops::{Deref, DerefMut};

#[cfg(not(target_arch = "wasm32"))]
use memmap2::MmapMut;

/// Words from which the system gives the memory: 256 KB.
#[cfg(not(target_arch = "wasm32"))]
const LARGE: usize = 1 << 16;

/// A state or a temporary value, in words of 32 bits: f32 values as bits, so that either type fits. The system gives large
/// ones and takes them back when they are dropped. From the C library they would come with the thread that asks, and stay
/// there: a process with several threads then holds twice what it needs.
pub(super) enum Words {
    Heap(Vec<u32>),
    #[cfg(not(target_arch = "wasm32"))]
    Pages(MmapMut),
}

impl Words {
    /// So many zeros.
    pub fn zeros(count: usize) -> Self {
        #[cfg(not(target_arch = "wasm32"))]
        if count >= LARGE
            && let Ok(pages) = MmapMut::map_anon(count * size_of::<u32>())
        {
            return Self::Pages(pages);
        }
        Self::Heap(vec![0; count])
    }
}

impl Default for Words {
    fn default() -> Self {
        Self::Heap(Vec::new())
    }
}

impl Deref for Words {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        match self {
            Self::Heap(words) => words,
            #[cfg(not(target_arch = "wasm32"))]
            Self::Pages(pages) => bytemuck::cast_slice(pages),
        }
    }
}

impl DerefMut for Words {
    fn deref_mut(&mut self) -> &mut [u32] {
        match self {
            Self::Heap(words) => words,
            #[cfg(not(target_arch = "wasm32"))]
            Self::Pages(pages) => bytemuck::cast_slice_mut(pages),
        }
    }
}
