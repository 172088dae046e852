//! A loaded model: a thread that searches, and the queue that feeds it.

use std::collections::HashMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::Notify;
use wordloom::decode::{ConstraintMode, Hypothesis};
use wordloom::transformer::{Cancel, GenerateRequest};
use wordloom::translate::Glossary;
use wordloom::{TranslateError, TranslateOptions, Translation, Translator};

use super::super::glossaries::Served;
use super::queue::{Feed, Job, Queue};

/// Number of glossaries that a model has ready.
const MOST_GLOSSARIES: usize = 64;
/// Bytes of texts that are aligned in one turn, some twenty sentences: enough for a full batch.
const TURN_BYTES: usize = 2000;

/// The reason why a text was not translated.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The text or an option does not fit the model.
    #[error("{0}")]
    Refused(String),
    /// The model cannot be loaded, or its device failed.
    #[error("{0}")]
    Broken(String),
}

impl From<TranslateError> for Failure {
    fn from(error: TranslateError) -> Self {
        Self::Refused(error.to_string())
    }
}

/// A model with its thread.
pub struct LoadedModel {
    translator: Arc<Translator>,
    queue: Arc<Queue>,
    /// Texts are aligned one part after the other; clients take turns.
    aligning: tokio::sync::Mutex<()>,
    /// Glossaries for this model's vocabulary, by their ids.
    glossaries: Mutex<HashMap<String, Arc<Glossary>>>,
    /// `None` once it was joined.
    thread: Option<JoinHandle<()>>,
}

impl LoadedModel {
    pub fn start(translator: Translator, name: &str) -> std::io::Result<Self> {
        let (translator, queue) = (Arc::new(translator), Arc::new(Queue::default()));
        let thread = {
            let (translator, queue) = (translator.clone(), queue.clone());
            std::thread::Builder::new().name(name.to_owned()).spawn(move || search(&translator, &queue))?
        };
        Ok(Self {
            translator,
            queue,
            aligning: Default::default(),
            glossaries: Mutex::default(),
            thread: Some(thread),
        })
    }

    pub fn bytes(&self) -> u64 {
        self.translator.transformer().weight_bytes()
    }

    /// Number of waiting and of running sentences.
    pub fn counts(&self) -> [usize; 2] {
        self.queue.counts()
    }

    /// Whether its thread ended because of an error.
    pub fn is_broken(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

/// Frees the memory when the thread has ended.
impl Drop for LoadedModel {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic was reported already
        }
    }
}

/// Searches until the queue is closed.
fn search(translator: &Translator, queue: &Queue) {
    let remember =
        |request: &GenerateRequest, hypotheses: &[Hypothesis]| translator.remember(request, hypotheses);
    while queue.wait() {
        let mut feed = Feed { queue, remember: &remember };
        let transformer = translator.transformer();
        let run = || pollster::block_on(transformer.serve(&mut feed, &Cancel::default()));
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => queue.fail(&error.to_string(), false),
            Err(_) => return queue.fail("the model failed unexpectedly", true),
        }
    }
}

/// A model in use: it is not removed from memory.
pub struct Lease {
    pub(super) model: Arc<LoadedModel>,
    pub(super) freed: Arc<Notify>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.freed.notify_waiters();
    }
}

impl Lease {
    pub fn translator(&self) -> &Arc<Translator> {
        &self.model.translator
    }

    /// Translates texts, together with those of other clients. If the future is dropped, the work stops.
    pub async fn translate(
        &self,
        client: &str,
        texts: Arc<Vec<String>>,
        options: TranslateOptions,
    ) -> Result<Vec<Translation>, Failure> {
        let translator = self.model.translator.clone();
        let given = texts.clone();
        let cut = move || {
            let texts: Vec<&str> = given.iter().map(String::as_str).collect();
            let parts = translator.take_texts_apart(&texts, &options)?;
            let known = parts.requests().iter().map(|request| translator.recall(request)).collect();
            let requests: Vec<Arc<GenerateRequest>> =
                parts.requests().iter().cloned().map(Arc::new).collect();
            Ok::<_, TranslateError>((known, requests, options))
        };
        let (known, requests, options): (Vec<Option<Vec<Hypothesis>>>, _, _) = blocking(cut).await??;
        let unknown = requests.iter().cloned().enumerate().filter(|&(index, _)| known[index].is_none());
        let unknown: Vec<(usize, Arc<GenerateRequest>)> = unknown.collect();
        let (job, done) = Job::new(known);
        let abandoned = Abandon(job.clone());
        if !self.model.queue.add(client, &job, unknown) {
            return Err(Failure::Broken("the model is being unloaded; try again".into()));
        }
        let results = done.await.map_err(|_| Failure::Broken("the model's thread has ended".into()))?;
        let results = results.map_err(Failure::Broken)?;
        drop(abandoned);
        let translator = self.model.translator.clone();
        // cut again, which costs little: the parts borrow the texts and cannot wait here
        let put_together = move || {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let parts = translator.take_texts_apart(&texts, &options)?;
            Ok::<_, TranslateError>(translator.put_texts_together(parts, results)?)
        };
        Ok(blocking(put_together).await??)
    }
}

impl Lease {
    /// Translates texts with alignments, beside the queue: a search that keeps attention shares its batch with no other client. A
    /// part of the texts is a turn, so that a document does not hold up a sentence. If the future is dropped, the work stops.
    pub async fn translate_aligned(
        &self,
        texts: Arc<Vec<String>>,
        options: TranslateOptions,
    ) -> Result<Vec<Translation>, Failure> {
        let _cancel = CancelOnDrop(options.cancel.clone());
        let options = options.keep_alignments();
        let mut translations = Vec::with_capacity(texts.len());
        for turn in turns(&texts) {
            let (translator, texts, options) =
                (self.model.translator.clone(), texts.clone(), options.clone());
            let translate = move || {
                let texts: Vec<&str> = texts[turn].iter().map(String::as_str).collect();
                pollster::block_on(translator.translate(&texts, &options))
            };
            let _turn = self.model.aligning.lock().await; // those that wait are first come, first served
            translations.append(&mut blocking(translate).await??);
        }
        Ok(translations)
    }
}

/// The texts of each turn: as many as have [`TURN_BYTES`], at least one.
fn turns(texts: &[String]) -> Vec<Range<usize>> {
    let mut turns: Vec<Range<usize>> = Vec::new();
    let mut bytes = 0;
    for (index, text) in texts.iter().enumerate() {
        bytes += text.len();
        match turns.last_mut() {
            Some(turn) if bytes <= TURN_BYTES => turn.end = index + 1,
            _ => {
                bytes = text.len();
                turns.push(index..index + 1);
            }
        }
    }
    turns
}

impl Lease {
    /// A glossary for the model's vocabulary and a pair of languages.
    pub async fn glossary(
        &self,
        served: &Arc<Served>,
        options: &TranslateOptions,
    ) -> Result<Arc<Glossary>, Failure> {
        let codes = [&options.source_language, &options.target_language];
        let key = codes
            .iter()
            .fold(served.id.clone(), |key, code| format!("{key} {}", code.as_deref().unwrap_or("")));
        let locked = || self.model.glossaries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = locked().get(&key) {
            return Ok(known.clone());
        }
        let (translator, served, options) = (self.model.translator.clone(), served.clone(), options.clone());
        let bind = move || {
            translator
                .glossary(&served.file, &options, ConstraintMode::Hard)
                .map_err(|error| Failure::Refused(error.to_string()))
        };
        let bound = blocking(bind).await??;
        let mut known = locked();
        if known.len() >= MOST_GLOSSARIES {
            known.clear();
        }
        known.insert(key, bound.clone());
        Ok(bound)
    }
}

struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Stops the work of a job whose caller went away.
struct Abandon(Arc<Job>);

impl Drop for Abandon {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// Runs work of the processor on another thread: the connections share one.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Failure::Broken("a text could not be read: a defect of this program".into()))
}

#[cfg(test)]
mod tests {
    use super::{TURN_BYTES, turns};

    #[test]
    fn a_turn_is_a_part_of_the_texts() {
        let texts = |lengths: &[usize]| lengths.iter().map(|&length| "x".repeat(length)).collect::<Vec<_>>();
        let half = TURN_BYTES / 2;
        assert_eq!(turns(&texts(&[half, half, 1, 3 * half, 0, 5])), [0..2, 2..3, 3..4, 4..6]);
        assert_eq!(turns(&texts(&[5, 0, 7, TURN_BYTES])), [0..3, 3..4]);
        assert!(turns(&[]).is_empty());
    }
}
