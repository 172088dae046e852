//! Devices that are lost, or out of memory, in the middle of work: it goes on, with the same result.
#![cfg(not(target_arch = "wasm32"))] // in a browser the page's engine begins its calls anew

mod common;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{data, model, read};
use wordloom::decode::Hypothesis;
use wordloom::gpu::{self, DeviceNews, Gpu, GpuError};
use wordloom::model::files::{HostFile, HostFileError, ModelFiles};
use wordloom::trace::{Trace, TraceOptions};
use wordloom::transformer::{
    Arrival, Arrivals, Cancel, GenerateError, GenerateOptions, GenerateRequest, KeepAttention,
};
use wordloom::{Device, Model, TranslateError, TranslateOptions, Translation, Translator};

const TEXT: &str = "Where is the train station?";
const TEXTS: [&str; 5] = ["Good morning! How are you?", TEXT, "Thank you very much.", "I am tired.", "No."];

/// A small model on a device of its own, which may be lost.
struct Subject {
    translator: Translator,
    news: Arc<Mutex<Vec<DeviceNews>>>,
}

impl Subject {
    async fn new() -> Self {
        Self::of(&model(&data("models/marian_tied"))).await
    }

    async fn of(model: &Model) -> Self {
        let adapter = gpu::any().await.expect("a GPU adapter");
        let gpu = Gpu::open(adapter).await.expect("opens");
        let news = Arc::new(Mutex::new(Vec::new()));
        let told = news.clone();
        gpu.listen(move |event| told.lock().unwrap().push(event.clone()));
        let translator = Translator::new(&Device::Gpu(Arc::new(gpu)), model).expect("loads");
        Self { translator, news }
    }

    fn gpu(&self) -> Arc<Gpu> {
        let Device::Gpu(gpu) = self.translator.transformer().device() else { panic!("no GPU") };
        gpu
    }

    fn take_news(&self) -> Vec<DeviceNews> {
        std::mem::take(&mut self.news.lock().unwrap())
    }

    async fn translate(&self, texts: &[&str], options: &TranslateOptions) -> Vec<Translation> {
        self.translator.translate(texts, options).await.expect("translates")
    }

    /// Loses the device at each submit of `run` in turn.
    async fn lose_at_every_submit<T: PartialEq + Debug>(&self, run: impl AsyncFn(&Self) -> T) {
        let want = run(self).await;
        let before = self.gpu().counters().submits;
        assert_eq!(run(self).await, want);
        let submits = self.gpu().counters().submits - before;
        assert!(submits > 2, "{submits} submits");
        for submit in 0..submits {
            let lost = self.gpu();
            lost.lose_after(&[submit]);
            assert_eq!(run(self).await, want, "lost at submit {submit} of {submits}");
            assert!(lost.is_lost(), "at submit {submit}");
            assert!(!self.gpu().is_lost(), "another one goes on");
            match &self.take_news()[..] {
                [DeviceNews::Replaced { by, .. }] => assert_eq!(*by, Device::Gpu(self.gpu()).to_string()),
                other => panic!("at submit {submit} the user hears {other:?}"),
            }
        }
    }
}

fn short(beams: usize) -> TranslateOptions {
    TranslateOptions::default().beams(beams).max_length(8)
}

#[pollster::test]
async fn a_translation_survives_a_loss_at_each_submit() {
    let subject = Subject::new().await;
    subject.lose_at_every_submit(async |subject| subject.translate(&[TEXT], &short(1)).await).await;
    let beams = short(3).n_best(2);
    subject.lose_at_every_submit(async |subject| subject.translate(&[TEXT], &beams).await).await;
}

#[pollster::test]
async fn a_batch_survives_a_loss_at_each_submit() {
    let subject = Subject::new().await;
    subject.lose_at_every_submit(async |subject| subject.translate(&TEXTS, &short(2)).await).await;
}

/// Sentences with attention that stays on the device until it is aligned or read.
#[pollster::test]
async fn alignments_and_traces_survive_a_loss_at_each_submit() {
    let subject = Subject::new().await;
    let aligned = short(1).keep_alignments();
    subject.lose_at_every_submit(async |subject| subject.translate(&[TEXT], &aligned).await).await;
    let options = short(1);
    let translated = subject.translate(&[TEXT], &options).await.remove(0);
    let trace = TraceOptions { scores: true, ..TraceOptions::default() };
    let traced = async |subject: &Subject| {
        let traced = Trace::of(&subject.translator, TEXT, &translated, &options, &trace).await;
        traced.expect("traces")
    };
    subject.lose_at_every_submit(traced).await;
}

/// What is kept on the device is there after a loss in the search: on the device that goes on.
#[pollster::test]
async fn kept_attention_is_on_the_device_that_goes_on() {
    let subject = Subject::new().await;
    let options = short(1).keep_attention(KeepAttention::default());
    // more sentences than a window of attention has
    let texts: Vec<String> = (0..18).map(|number| format!("I have {number} books.")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let read = async |subject: &Subject| {
        let mut found = Vec::new();
        for translation in subject.translate(&texts, &options).await {
            for sentence in &translation.sentences {
                let attention = sentence.attention.as_ref().expect("kept");
                let weights = attention.read().await.expect("reads");
                found.push((sentence.hypotheses[0].search.tokens.clone(), weights));
            }
        }
        found
    };
    let want = read(&subject).await;
    let before = subject.gpu().counters().submits;
    subject.translate(&texts, &options).await;
    let submits = subject.gpu().counters().submits - before;
    for submit in [0, submits / 2, submits * 3 / 4] {
        subject.gpu().lose_after(&[submit]);
        assert_eq!(read(&subject).await, want, "lost at submit {submit} of {submits}");
        assert_eq!(subject.take_news().len(), 1);
    }
}

/// Sentences of a server's clients.
struct Clients {
    waiting: Vec<Arrival>,
    running: Vec<u64>,
    results: BTreeMap<u64, Vec<Hypothesis>>,
}

impl Clients {
    fn of(subject: &Subject) -> Self {
        let parts = subject.translator.take_texts_apart(&TEXTS, &short(2)).expect("cut");
        let requests = parts.requests().iter().cloned().zip(0..);
        let arrival =
            |(request, ticket)| Arrival { ticket, request: Arc::new(request), waited: Duration::ZERO };
        Self { waiting: requests.map(arrival).collect(), running: Vec::new(), results: BTreeMap::new() }
    }
}

impl Arrivals for Clients {
    fn waiting(&mut self, most: usize) -> Vec<Arrival> {
        self.waiting.iter().take(most).cloned().collect()
    }

    fn take(&mut self, ticket: u64) {
        assert!(!self.running.contains(&ticket), "{ticket} is taken twice");
        self.waiting.retain(|arrival| arrival.ticket != ticket);
        self.running.push(ticket);
    }

    fn is_wanted(&mut self, _: u64) -> bool {
        true
    }

    fn deliver(&mut self, ticket: u64, hypotheses: Vec<Hypothesis>) {
        assert!(self.running.contains(&ticket));
        assert!(self.results.insert(ticket, hypotheses).is_none(), "{ticket} is delivered twice");
    }
}

#[pollster::test]
async fn a_servers_queue_survives_a_loss_at_each_submit() {
    let subject = Subject::new().await;
    let serve = async |subject: &Subject| {
        let mut clients = Clients::of(subject);
        let served = subject.translator.transformer().serve(&mut clients, &Cancel::default()).await;
        served.expect("serves");
        assert_eq!(clients.results.len(), 6, "two sentences of the first text");
        clients.results
    };
    subject.lose_at_every_submit(serve).await;
}

fn requests(subject: &Subject) -> Vec<GenerateRequest> {
    subject.translator.take_texts_apart(&TEXTS, &short(1)).expect("cut").requests().to_vec()
}

fn gpu_error(error: TranslateError) -> GpuError {
    match error {
        TranslateError::Generate(GenerateError::Gpu(error)) => error,
        other => panic!("{other}"),
    }
}

/// A second loss before a sentence is done is an error that names the device and the way out; the next call goes on.
#[pollster::test]
async fn a_second_loss_in_a_row_is_an_error() {
    let subject = Subject::new().await;
    let want = subject.translate(&[TEXT], &short(1)).await;
    // while weights go back, and in the search
    for second in [0, 1] {
        subject.gpu().lose_after(&[1, second]);
        let failed = subject.translator.translate(TEXT, &short(1)).await.expect_err("lost twice");
        let error = gpu_error(failed);
        assert!(matches!(error, GpuError::LostAgain { .. }), "{error}");
        let (text, adapter) = (error.to_string(), subject.gpu().adapter().name().to_owned());
        assert!(text.contains(&adapter) && text.contains("--device cpu"), "{text}");
        assert_eq!(subject.translate(&[TEXT], &short(1)).await, want);
    }
}

/// Losses with finished sentences between them are no reason to stop.
#[pollster::test]
async fn losses_between_finished_sentences_go_on() {
    let subject = Subject::new().await;
    let requests = requests(&subject);
    let transformer = subject.translator.transformer();
    let want = transformer.generate(&requests, GenerateOptions::default()).await.expect("generates");
    let lost = AtomicBool::new(false);
    for request in 0..requests.len() {
        lost.store(false, Ordering::Relaxed);
        subject.gpu().lose_after(&[1]);
        let found = transformer.generate(&requests[request..=request], GenerateOptions::default()).await;
        assert_eq!(found.expect("generates")[0], want[request]);
    }
    assert_eq!(subject.take_news().len(), requests.len());
}

/// Without the adapter, work goes on where `auto` would: here, on the CPU.
#[pollster::test]
async fn an_adapter_that_is_gone_is_replaced() {
    let subject = Subject::new().await;
    let texts = |translations: Vec<Translation>| -> Vec<String> {
        translations.into_iter().map(|translation| translation.text).collect()
    };
    let want = texts(subject.translate(&TEXTS, &short(2)).await);
    subject.gpu().refuse_to_reopen();
    subject.gpu().lose_after(&[1]);
    assert_eq!(texts(subject.translate(&TEXTS, &short(2)).await), want);
    assert!(matches!(subject.translator.transformer().device(), Device::Cpu));
    let news = subject.take_news();
    assert_eq!(news.len(), 1);
    assert!(news[0].to_string().ends_with("going on with CPU"), "{}", news[0]);
}

/// All models of a device get the same replacement.
#[pollster::test]
async fn models_that_share_a_device_share_the_next() {
    let subject = Subject::new().await;
    let device = subject.translator.transformer().device();
    let other = Translator::new(&device, &model(&data("models/marian_tied"))).expect("loads");
    let want = subject.translate(&[TEXT], &short(1)).await.remove(0);
    subject.gpu().lose();
    assert_eq!(subject.translate(&[TEXT], &short(1)).await.remove(0), want);
    assert_eq!(other.translate(TEXT, &short(1)).await.expect("translates"), want);
    let Device::Gpu(others) = other.transformer().device() else { panic!("no GPU") };
    assert!(Arc::ptr_eq(&others, &subject.gpu()));
    // a model that is loaded on a lost device gets it, too
    let late = Translator::new(&device, &model(&data("models/marian_tied"))).expect("loads");
    assert_eq!(late.translate(TEXT, &short(1)).await.expect("translates"), want);
}

/// A file that can be read once, as a stream.
#[derive(Debug)]
struct Once {
    bytes: Vec<u8>,
    is_gone: Arc<AtomicBool>,
}

impl HostFile for Once {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), HostFileError> {
        if self.is_gone.load(Ordering::Relaxed) {
            return Err(HostFileError::Failed("the stream has ended".into()));
        }
        buffer.copy_from_slice(&self.bytes[offset as usize..][..buffer.len()]);
        Ok(())
    }
}

#[pollster::test]
async fn weights_that_cannot_be_read_again_are_an_error() {
    let is_gone = Arc::new(AtomicBool::new(false));
    let names = [
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "source.spm",
        "target.spm",
        "tokenizer_config.json",
        "vocab.json",
    ];
    let files = names.map(|name| {
        let bytes = read(&data("models/marian_tied").join(name));
        (name.to_owned(), Arc::new(Once { bytes, is_gone: is_gone.clone() }) as Arc<dyn HostFile>)
    });
    let subject = Subject::of(&Model::from_files(ModelFiles::host("a stream", files)).expect("opens")).await;
    is_gone.store(true, Ordering::Relaxed);
    subject.gpu().lose_after(&[1]);
    let error = gpu_error(subject.translator.translate(TEXT, &short(1)).await.expect_err("no weights"));
    assert!(matches!(error, GpuError::NotReplaced { .. }), "{error}");
    assert!(error.to_string().contains("the stream has ended"), "{error}");
}

/// Too little memory for a batch: it halves, and the user hears of it once. Too little for one: the bytes are named.
#[pollster::test]
async fn a_batch_without_memory_halves() {
    let roomy = Subject::new().await;
    let before = roomy.gpu().bytes_in_use();
    let want = roomy.translate(&TEXTS, &short(2)).await;
    let of_batch = roomy.gpu().bytes_in_use() - before;
    let subject = Subject::new().await;
    let weights = subject.translator.transformer().weight_bytes();
    subject.gpu().limit_memory(Some(weights + of_batch * 7 / 10));
    for _ in 0..2 {
        assert_eq!(subject.translate(&TEXTS, &short(2)).await, want);
    }
    let news = subject.take_news();
    assert!(matches!(&news[..], [DeviceNews::Smaller { sentences: 1.., .. }]), "{news:?}");
    subject.gpu().limit_memory(Some(weights));
    let error = gpu_error(subject.translator.translate(TEXT, &short(2)).await.expect_err("no memory"));
    let GpuError::NoRoom { bytes, in_use, .. } = error else { panic!("{error}") };
    assert!(bytes > 0 && in_use >= weights.min(in_use), "{bytes} beside {in_use}");
    subject.gpu().limit_memory(None);
    assert_eq!(subject.translate(&TEXTS, &short(2)).await, want);
}
