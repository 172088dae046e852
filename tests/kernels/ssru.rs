//! The recurrent unit on a GPU against the CPU: whole sequences with and without a cache, and steps.

use wordloom::answers::sizes;
use wordloom::cpu::{self, CellHistory, Cells};
use wordloom::gpu::Gpu;
use wordloom::kernels::ssru::{SsruShape, dispatch};
use wordloom::kernels::stride;
use wordloom::scores::NO_TOKEN;

use crate::common::{assert_close, device_test, gpu};
use crate::{pad, random, read, run, unpad, upload, upload_u32};

struct Case {
    shape: SsruShape,
    projected: Vec<f32>,
    cells: Vec<f32>,
    cache_slots: Vec<u32>,
    slots: Vec<u32>,
    counts: Vec<u32>,
}

impl Case {
    /// Output and cells on the CPU.
    fn on_cpu(&self) -> (Vec<f32>, Vec<f32>) {
        let SsruShape { sequences, length, width, capacity, .. } = self.shape;
        let mut y = vec![f32::NAN; sequences * length * width];
        let mut stored = self.cells.clone();
        let history = CellHistory { slots: &self.slots, capacity, counts: &self.counts };
        let history = (capacity > 0).then_some(history);
        let cells = Cells { cells: &mut stored, cache_slots: &self.cache_slots, history };
        cpu::ssru(&self.projected, length, width, (self.shape.cells > 0).then_some(cells), &mut y);
        (y, stored)
    }

    async fn on_gpu(&self, gpu: &Gpu) -> (Vec<f32>, Vec<f32>) {
        let SsruShape { sequences, length, width, cells, .. } = self.shape;
        let rows = sequences * length;
        let projected = upload(gpu, &pad(&self.projected, 2 * width, 7.0));
        let stored = upload(gpu, &pad(&self.cells, width, 0.0));
        let y = upload(gpu, &vec![f32::NAN; rows * stride(width)]);
        let [cache_slots, slots, counts] =
            [&self.cache_slots, &self.slots, &self.counts].map(|words| upload_u32(gpu, words));
        run(gpu, &[(dispatch(&self.shape), vec![&projected, &cache_slots, &slots, &counts, &stored, &y])]);
        let y = unpad("y", &read(gpu, &y).await, rows, width);
        (y, unpad("cells", &read(gpu, &stored).await, cells.max(1), width))
    }

    async fn check(&self, gpu: &Gpu) {
        let place = format!("{:?}", self.shape);
        let ((y, cells), (want, want_cells)) = (self.on_gpu(gpu).await, self.on_cpu());
        assert_close(&place, &y, &want, (1e-5, 1e-5));
        assert_close(&format!("{place}: cells"), &cells, &want_cells, (1e-5, 1e-5));
    }
}

#[device_test]
async fn sequences_and_steps_agree_with_the_cpu() {
    let gpu = gpu().await;
    for (sequences, length, width) in sizes::RECURRENT {
        let rows = sequences * length;
        let projected = |seed| random(seed, rows * 2 * width).iter().map(|x| 4.0 * x).collect::<Vec<f32>>();
        let cells = rows + 3;
        let mut case = Case {
            shape: SsruShape { sequences, length, width, cells: 0, capacity: 0 },
            projected: projected(1),
            cells: random(2, width),
            cache_slots: vec![0; rows],
            slots: vec![0; 1],
            counts: vec![0; sequences],
        };
        case.check(&gpu).await;
        // every third token has no slot
        case.shape.cells = cells;
        case.cells = random(3, cells * width);
        case.cache_slots =
            (0..rows as u32).map(|row| if row % 3 == 2 { NO_TOKEN } else { row + 2 }).collect();
        case.check(&gpu).await;
    }
    for (rows, capacity, width) in [(1, 2, 4), (4, 5, 33), (9, 8, 256)] {
        let cells = rows * capacity;
        // a row continues the history of another one, as beams do
        let slots = (0..rows).flat_map(|row| {
            let parent = (row * 5 + 1) % rows;
            (0..capacity).map(move |at| (parent * capacity + at) as u32)
        });
        let slots: Vec<u32> = slots.collect();
        // rows that continue each other's histories have equally many tokens, so no row reads what another one writes
        for step in [0, 1, capacity - 1] {
            let case = Case {
                shape: SsruShape { sequences: rows, length: 1, width, cells, capacity },
                projected: random(4, rows * 2 * width),
                cells: random(5, cells * width),
                counts: vec![1 + step as u32; rows],
                cache_slots: (0..rows).map(|row| (row * capacity + step) as u32).collect(),
                slots: slots.clone(),
            };
            case.check(&gpu).await;
        }
    }
}
