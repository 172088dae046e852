//! The kernel that only reads.

use wordloom::kernels::AdapterClass;
use wordloom::kernels::sum_blocks::{WORDS, dispatch};

use crate::common::{device_test, gpu};
use crate::{read, run, upload_u32};

#[device_test]
async fn every_word_is_read_once() {
    let gpu = gpu().await;
    for count in [1, 7, 8, 65, 2000] {
        let words = (count * WORDS) as u32;
        let data: Vec<u32> = (0..words).map(|n| n.wrapping_mul(2_654_435_761)).collect();
        let mut want = vec![0u32; count];
        for (index, quad) in data.chunks_exact(4).enumerate() {
            let sum = &mut want[index % count];
            *sum = quad.iter().fold(*sum, |sum, &word| sum.wrapping_add(word));
        }
        for class in [AdapterClass::Software, AdapterClass::Hardware] {
            let buffers = [upload_u32(&gpu, &data), upload_u32(&gpu, &vec![7; count])];
            run(&gpu, &[(dispatch(count, class), buffers.iter().collect())]);
            let got: Vec<u32> = read(&gpu, &buffers[1]).await;
            assert_eq!(got[..count], want, "{count}, {class:?}");
        }
    }
}
