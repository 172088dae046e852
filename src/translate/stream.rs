//! [`Translator::translate`] and [`Translator::stream`].

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use super::alignment::SentenceAlignment;
use super::error::TranslateError;
use super::job::{Job, Update};
use super::languages::resolve_languages;
use super::lost_bytes;
use super::options::TranslateOptions;
use super::texts::Texts;
use super::translator::Translator;
use crate::model::AttentionKind;
use crate::text::tokens;
use crate::transformer::{Attempts, GenerateError, GenerateOptions, Generation, Progress};

/// Sentences of one batch in a stream: enough for a busy device, few enough for an early beginning of the text.
const WINDOW: usize = 16;

impl Translator {
    /// Translates one text or many, of any length. Equal sentences are searched once; see
    /// [`with_cache`](Self::with_cache).
    pub async fn translate<T: Texts + ?Sized>(
        &self,
        texts: &T,
        options: &TranslateOptions,
    ) -> Result<T::Translations, TranslateError> {
        let job = RefCell::new(Job::new(self, &texts.texts(), options, true)?);
        self.search(&job, options, Pace { window: usize::MAX, steps: false, pauses: false }).await?;
        Ok(T::gather(job.into_inner().update()?.translations))
    }

    /// Translates as [`translate`](Self::translate), and reports progress: of one text after every step or every few;
    /// of many texts after some are done, in their order. All sentences of one text are searched, even equal ones.
    /// ```no_run
    /// # use wordloom::{TranslateError, TranslateOptions, Translator};
    /// # async fn show(translator: &Translator) -> Result<(), TranslateError> {
    /// let options = TranslateOptions::default();
    /// let mut stream = translator.stream("Good morning! Where is the station?", &options)?;
    /// while let Some(update) = stream.next().await? {
    ///     let (stable, provisional) = stream.text();
    ///     println!("{} of {}: {stable}[{provisional}]", update.sentences, update.of_sentences);
    ///     for translation in update.translations {
    ///         println!("{}", translation.text);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream<'a, T: Texts + ?Sized>(
        &'a self,
        texts: &'a T,
        options: &'a TranslateOptions,
    ) -> Result<Stream<'a>, TranslateError> {
        let job = Rc::new(RefCell::new(Job::new(self, &texts.texts(), options, !T::ONE)?));
        let window = if T::ONE { WINDOW } else { usize::MAX };
        let pace = Pace { window, steps: T::ONE, pauses: true };
        let searched = job.clone();
        let search = Box::pin(async move { self.search(&searched, options, pace).await });
        Ok(Stream { job, search: Some(search) })
    }

    async fn search(
        &self,
        job: &RefCell<Job<'_>>,
        options: &TranslateOptions,
        pace: Pace,
    ) -> Result<(), TranslateError> {
        let (keep, cancel) = (options.kept_by_search(), &options.cancel);
        let searched = std::mem::take(&mut job.borrow_mut().searched);
        let all = keep.attention.as_ref().map_or(0, |attention| attention.memory);
        let mut memory = all;
        // attention goes to the first sentences of a text, and not to the longest of all
        let window = if keep.attention.is_some() { WINDOW } else { pace.window };
        let windows: Vec<&[usize]> = searched.chunks(window).collect();
        let (mut next, mut attempts) = (0, Attempts::default());
        while let Some(&sentences) = windows.get(next) {
            let replaced = self.transformer.replaced_devices();
            let requests = job.borrow().requests(sentences);
            let mut watch = |progress: Progress<'_>| job.borrow_mut().follow(sentences, pace.steps, progress);
            let generation = GenerateOptions {
                keep: keep.clone(),
                cancel: cancel.clone(),
                watch: Some(&mut watch),
                steps: pace.steps,
                pauses: pace.pauses,
            };
            let mut found = self.transformer.generate_within(&mut memory, &requests, generation).await?;
            if options.alignments
                && let Err(error) = self.align_all(job, sentences, &found, options).await
            {
                self.transformer.overcome_loss(error, &mut attempts)?;
                memory = all;
                next = if options.keep.attention.is_some() { 0 } else { next };
                continue;
            }
            if next > 0 && options.keep.attention.is_some() && self.transformer.replaced_devices() != replaced
            {
                // what was kept of earlier sentences is gone with the device
                self.transformer.begin_anew::<TranslateError>(&mut attempts)?;
                (next, memory) = (0, all);
                continue;
            }
            next += 1;
            if options.keep.attention.is_none() {
                attempts.progress();
                found.iter_mut().for_each(|found| found.attention = None);
                memory = all;
            }
            if !keep.is_nothing() {
                job.borrow_mut().keep(sentences, found);
            }
        }
        Ok(())
    }

    async fn align_all(
        &self,
        job: &RefCell<Job<'_>>,
        sentences: &[usize],
        found: &[Generation],
        options: &TranslateOptions,
    ) -> Result<(), TranslateError> {
        for (&sentence, found) in sentences.iter().zip(found) {
            self.align(job, sentence, found, options).await?;
        }
        Ok(())
    }

    /// Adds the alignment of a sentence that was found with its cross-attention.
    async fn align(
        &self,
        job: &RefCell<Job<'_>>,
        sentence: usize,
        found: &Generation,
        options: &TranslateOptions,
    ) -> Result<(), TranslateError> {
        let (Some(attention), Some(best)) = (&found.attention, found.hypotheses.first()) else {
            return Ok(());
        };
        let mut layers = Vec::new();
        for layer in attention.layers(AttentionKind::Cross) {
            layers.extend(
                attention.read_layer(AttentionKind::Cross, layer).await.map_err(GenerateError::from)?,
            );
        }
        let (direction, _) =
            resolve_languages(&self.tokenizer, options, self.transformer.generation_config())?;
        let mut job = job.borrow_mut();
        let (source, input_ids) = job.input(sentence);
        let target = lost_bytes::decode(&self.tokenizer, input_ids, &best.tokens)?;
        let source_tokens = tokens(&self.tokenizer, input_ids, source, direction.text_prefix(), false);
        let mut target_tokens = tokens(&self.tokenizer, &best.tokens, &target, "", true);
        target_tokens.remove(0);
        let alignment = SentenceAlignment::new([source, &target], [source_tokens, target_tokens], &layers);
        job.align(sentence, alignment);
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct Pace {
    /// Maximal number of sentences of a batch.
    window: usize,
    /// Whether the text is shown during its search.
    steps: bool,
    pauses: bool,
}

/// A running translation; see [`Translator::stream`]. It runs only while [`next`](Self::next) is awaited.
pub struct Stream<'a> {
    job: Rc<RefCell<Job<'a>>>,
    /// `None` at the end.
    search: Option<Search<'a>>,
}

type Search<'a> = Pin<Box<dyn Future<Output = Result<(), TranslateError>> + 'a>>;

impl Stream<'_> {
    /// Returns the next update; `None` at the end.
    ///
    /// # Errors
    /// [`TranslateError`], which ends the translation.
    pub async fn next(&mut self) -> Result<Option<Update>, TranslateError> {
        let Self { job, search } = self;
        while !job.borrow().has_news {
            let Some(running) = search else { return Ok(None) };
            let ended = poll_fn(|context| match running.as_mut().poll(context) {
                Poll::Ready(ended) => Poll::Ready(Some(ended)),
                Poll::Pending if job.borrow().has_news => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            });
            if let Some(ended) = ended.await {
                *search = None;
                ended?;
            }
        }
        Ok(Some(job.borrow_mut().update()?))
    }

    /// The first text that is not done: its stable part, which only grows, and the part that may change.
    pub fn text(&self) -> (String, String) {
        self.job.borrow().text()
    }
}
