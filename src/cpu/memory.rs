//! Memory of the CPU runner: weights, states and temporary values.

use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
#[cfg(not(target_arch = "wasm32"))]
use {memmap2::MmapMut, std::marker::PhantomData};

/// Bytes from which the system gives the memory: 256 KB.
#[cfg(not(target_arch = "wasm32"))]
const LARGE: usize = 1 << 18;

/// Numbers in host memory. The system gives large ones and takes them back when they are dropped. From the C library they
/// would come with the thread that asks, and stay there: a process with several threads then holds twice what it needs.
#[derive(Debug)]
pub enum Memory<T> {
    /// Of the C library.
    Heap(Vec<T>),
    /// Of the system.
    #[cfg(not(target_arch = "wasm32"))]
    Pages(MmapMut, PhantomData<T>),
}

impl<T: Pod> Memory<T> {
    /// So many zeros; `None` if there is no memory.
    pub fn zeros(count: usize) -> Option<Self> {
        #[cfg(not(target_arch = "wasm32"))]
        if count.checked_mul(size_of::<T>())? >= LARGE {
            let pages = MmapMut::map_anon(count * size_of::<T>()).ok()?;
            return Some(Self::Pages(pages, PhantomData));
        }
        // `vec!` would abort if there is no memory, so ask first
        Vec::<T>::new().try_reserve_exact(count).ok()?;
        Some(Self::Heap(vec![T::zeroed(); count]))
    }
}

impl<T> Default for Memory<T> {
    fn default() -> Self {
        Self::Heap(Vec::new())
    }
}

impl<T> From<Vec<T>> for Memory<T> {
    fn from(values: Vec<T>) -> Self {
        Self::Heap(values)
    }
}

impl<T: Pod> Deref for Memory<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Heap(values) => values,
            #[cfg(not(target_arch = "wasm32"))]
            Self::Pages(pages, _) => bytemuck::cast_slice(pages),
        }
    }
}

impl<T: Pod> DerefMut for Memory<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Heap(values) => values,
            #[cfg(not(target_arch = "wasm32"))]
            Self::Pages(pages, _) => bytemuck::cast_slice_mut(pages),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_memory_is_zero_and_can_be_written() {
        for count in [0, 1, 1000, (1 << 16) - 1, 1 << 16, (1 << 16) + 1] {
            let mut memory = Memory::<f32>::zeros(count).expect("little");
            assert_eq!((memory.len(), memory.iter().all(|&value| value == 0.0)), (count, true));
            memory.iter_mut().enumerate().for_each(|(place, value)| *value = place as f32);
            assert!(memory.iter().enumerate().all(|(place, &value)| value == place as f32));
        }
    }

    #[test]
    fn more_than_there_is_is_an_answer() {
        assert!(Memory::<f64>::zeros(usize::MAX / 2).is_none());
        assert!(Memory::<f32>::zeros(1 << 56).is_none());
    }
}
