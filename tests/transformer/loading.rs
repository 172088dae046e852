//! A model whose files arrive while it is loaded, as in a page: same results, no early reads, memory freed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::pickles::complete;
use crate::common::{data, device_test, devices};
use wordloom::gpu::Gpu;
use wordloom::model::files::{HostFile, HostFileError, ModelFiles};
use wordloom::model::generation_config::GenerationConfig;
use wordloom::transformer::{ForwardError, ForwardInput, ForwardOutput, Loading, Transformer};
use wordloom::{Device, GpuError, Model, ModelError};

const FILES: [&str; 3] = ["config.json", "generation_config.json", "model.safetensors"];

/// A file of which only the first bytes have arrived.
#[derive(Debug)]
struct Arriving {
    bytes: Vec<u8>,
    arrived: AtomicU64,
    broken: Mutex<Option<String>>,
}

impl HostFile for Arriving {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), HostFileError> {
        if let Some(reason) = self.broken.lock().unwrap().clone() {
            return Err(HostFileError::Failed(reason));
        }
        if offset + buffer.len() as u64 > self.arrived.load(Ordering::Relaxed) {
            return Err(HostFileError::NotArrived);
        }
        buffer.copy_from_slice(&self.bytes[offset as usize..][..buffer.len()]);
        Ok(())
    }
}

struct Folder(Vec<(String, Arc<Arriving>)>);

impl Folder {
    fn of(model: &str) -> Self {
        let file = |name: &str| {
            let bytes = std::fs::read(data("models").join(model).join(name)).expect("a fixture");
            let file = Arriving { bytes, arrived: AtomicU64::new(0), broken: Mutex::default() };
            (name.to_owned(), Arc::new(file))
        };
        Self(FILES.map(file).into())
    }

    /// With the same weights in a file of PyTorch, from `tests/data/pickles`.
    fn of_pickle(pickle: &str) -> Self {
        let mut folder = Self::of("marian_tied");
        let file = Arriving { bytes: complete(pickle), arrived: AtomicU64::new(0), broken: Mutex::default() };
        folder.0[2] = ("pytorch_model.bin".to_owned(), Arc::new(file));
        folder
    }

    fn files(&self) -> ModelFiles {
        let files = self.0.iter().map(|(name, file)| (name.clone(), file.clone() as Arc<dyn HostFile>));
        ModelFiles::host("a page", files)
    }

    /// Simulates a download up to `end`, which is the next position to be read.
    fn arrive(&self, name: &str, end: u64) {
        let (_, file) = self.0.iter().find(|(own, _)| own == name).expect("a file that there is");
        assert!(end <= file.len(), "{name}: {end} of {}", file.len());
        assert!(end > file.arrived.load(Ordering::Relaxed), "{name}: bytes that are there were waited for");
        file.arrived.store(end, Ordering::Relaxed);
    }

    /// Opens and loads the model, each time with exactly the requested bytes; returns the number of waits.
    async fn load(&self, device: &Device) -> (Transformer, usize) {
        let mut waits = 0;
        let mut wait = |file: &str, end| {
            waits += 1;
            self.arrive(file, end);
        };
        let model = loop {
            match Model::from_files(self.files()) {
                Err(ModelError::NotArrived { file, end }) => wait(&file, end),
                result => break result.expect("a sound model"),
            }
        };
        let mut loading = Loading::new(device, &model).expect("has room");
        loading.warm_up(&GenerationConfig::default()).expect("runs without weights");
        loop {
            match loading.advance(&model) {
                Err(ModelError::NotArrived { file, end }) => wait(&file, end),
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(loading.bytes(), loading.total_bytes());
        (loading.finish().expect("loads"), waits)
    }
}

async fn forward(transformer: &Transformer) -> Result<ForwardOutput, ForwardError> {
    let input = ForwardInput {
        batch: 1,
        source_length: 3,
        target_length: 2,
        input_ids: vec![5, 17, 0],
        attention_mask: vec![1; 3],
        token_type_ids: Vec::new(),
        decoder_input_ids: vec![644, 9],
        global_attention_mask: Vec::new(),
    };
    transformer.forward(&input).await
}

#[device_test]
async fn weights_that_arrive_piece_by_piece_are_the_same() {
    for device in devices().await {
        let whole = Model::load(data("models/marian_tied")).expect("sound");
        let whole = Transformer::load(&device, &whole, &mut |_| {}).expect("loads");
        let (pieces, waits) = Folder::of("marian_tied").load(&device).await;
        assert!(waits > 10, "{waits} waits: the weights did not come one by one");
        let [pieces, whole] = [forward(&pieces).await, forward(&whole).await];
        assert_eq!(pieces.expect("runs"), whole.expect("runs"), "{device}");
    }
}

/// Tensors are read in the order of the file, so every byte is awaited at most once.
#[device_test]
async fn weights_are_read_in_the_order_of_their_file() {
    let folder = Folder::of("marian_tied");
    folder.load(&Device::Cpu).await; // `arrive` checks that the ends only grow
    let (_, weights) = &folder.0[2];
    assert_eq!(weights.arrived.load(Ordering::Relaxed), weights.len());
}

/// The older form of PyTorch's files begins with the pickle, so its tensors can be used while they arrive. The directory of the
/// newer form is at its end.
#[device_test]
async fn weights_of_pytorch_arrive_in_the_order_of_their_file() {
    let whole = Model::load(data("models/marian_tied")).expect("sound");
    let whole = Transformer::load(&Device::Cpu, &whole, &mut |_| {}).expect("loads");
    let expected = forward(&whole).await.expect("runs");
    for (pickle, least_waits) in [("marian_legacy", 10), ("marian_zip", 1)] {
        let folder = Folder::of_pickle(pickle);
        let (pieces, waits) = folder.load(&Device::Cpu).await; // `arrive` checks that the ends only grow
        assert!(waits > least_waits, "{pickle}: {waits} waits");
        assert_eq!(forward(&pieces).await.expect("runs"), expected, "{pickle}");
    }
}

#[test]
fn a_host_that_fails_is_quoted() {
    let folder = Folder::of("marian_tied");
    *folder.0[0].1.broken.lock().unwrap() = Some("the file was moved".into());
    let error = Model::from_files(folder.files()).err().expect("cannot be read");
    assert_eq!(error.to_string(), "a page/config.json: the file was moved");
}

/// A device that no other test shares.
async fn own_gpu() -> Arc<Gpu> {
    let adapter = wordloom::gpu::any().await.expect("a GPU adapter");
    Arc::new(Gpu::open(adapter).await.expect("opens"))
}

#[device_test]
async fn what_is_dropped_gives_its_memory_back() {
    let gpu = own_gpu().await;
    let device = Device::Gpu(gpu.clone());
    assert_eq!(gpu.bytes_in_use(), 0);
    let (transformer, _) = Folder::of("marian_tied").load(&device).await;
    let loaded = gpu.bytes_in_use();
    assert!(loaded > transformer.weight_bytes());
    forward(&transformer).await.expect("runs");
    assert_eq!(gpu.bytes_in_use(), loaded, "a forward pass keeps nothing");
    drop(transformer);
    assert_eq!(gpu.bytes_in_use(), 0);
}

/// A lost device reports its loss, and stays lost.
#[device_test]
async fn a_lost_device_is_noticed() {
    let gpu = own_gpu().await;
    let (transformer, _) = Folder::of("marian_tied").load(&Device::Gpu(gpu.clone())).await;
    forward(&transformer).await.expect("runs");
    gpu.lose();
    let error = forward(&transformer).await.expect_err("the device is gone");
    assert!(matches!(error, ForwardError::Gpu(GpuError::Lost { .. })), "{error}");
    assert!(matches!(gpu.check(), Err(GpuError::Lost { .. })), "it stays lost");
}
