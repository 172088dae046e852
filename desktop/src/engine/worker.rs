//! The engine's thread, which owns the model and executes commands.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use wordloom::check::{self, Report};
use wordloom::decode::{ConstraintMode, Fate};
use wordloom::explain::Explanation;
use wordloom::model::{SelfAttentionChoice, SwitchError, Switches};
use wordloom::trace::{HeadName, Trace, TraceOptions, TracedSearch};
use wordloom::transformer::{GenerateError, GenerateOptions, Keep};
use wordloom::translate::{Excess, GlossaryFile, Pivot, PivotOptions, Sentence, Update};
use wordloom::{Device, Model, TextError, TranslateError, TranslateOptions, Translator};
use wordloom_hub::{BuiltIn, Language, Place, code_for};

use super::commands::{Command, Exploration, Pending, Request, Way};
use super::document::{Order, Work};
use super::residents::Residents;
use super::{Checked, DocumentNews, Explored, MEMORY, News, Opened, Progress, Translated};
use crate::viewer::Inquiry;

pub struct Worker {
    pub device: Device,
    /// Loaded models.
    pub residents: Residents<Place, Loaded>,
    /// The models in use, which are loaded.
    pub way: Option<Way>,
    /// The document that is translated whenever there is no command.
    pub document: Option<Work>,
    pub tell: Box<dyn Fn(News)>,
}

/// A model on its device.
pub struct Loaded {
    /// The model's files: muting a head reads its weights again.
    model: Model,
    translator: Translator,
    /// Whether layers have another kind of attention.
    swapped: bool,
    name: String,
}

impl Loaded {
    /// Numbers of layers of encoder and decoder.
    fn layers(&self) -> [usize; 2] {
        let config = self.translator.transformer().config();
        [config.encoder.layers, config.decoder.layers]
    }

    /// Takes back muting, swapping and switching.
    fn restore(&mut self) -> Result<(), String> {
        if !self.translator.transformer().muted().is_empty() {
            self.translator.mute(&self.model, &[]).map_err(|error| error.to_string())?;
        }
        if !self.translator.transformer().switches().is_empty() {
            let none = self.translator.set_switches(&self.model, &Switches::default());
            none.map_err(|error: SwitchError| error.to_string())?;
        }
        if self.swapped {
            self.swapped = self.translator.set_attention(&SelfAttentionChoice::default()).is_err();
        }
        Ok(())
    }

    /// The options with a glossary, which is bound to this model. A model that reads a language between is given none: it would
    /// not find the terms.
    fn with_glossary(
        &self,
        options: TranslateOptions,
        glossary: Option<&GlossaryFile>,
    ) -> Result<TranslateOptions, String> {
        let Some(file) = glossary else { return Ok(options) };
        let bound = self.translator.glossary(file, &options, ConstraintMode::Hard);
        Ok(options.glossary(bound.map_err(|error| error.to_string())?))
    }

    fn languages(&self) -> Vec<String> {
        self.translator.tokenizer().languages().into_iter().map(str::to_owned).collect()
    }

    /// Sets the codes of languages, as far as the model has a choice.
    fn set_languages(&self, options: &mut TranslateOptions, from: &Language, to: &Language) {
        let codes = self.languages();
        let code = |language| code_for(&codes, language).map(str::to_owned);
        (options.source_language, options.target_language) = (code(from), code(to));
        let direction = self
            .translator
            .tokenizer()
            .direction(options.source_language.as_deref(), options.target_language.as_deref());
        // Marian's codes are those of its target
        if let Err(TextError::NoLanguages { .. }) = direction {
            options.source_language = None;
        }
    }
}

/// The name of a model by its place. A folder of the hub's cache is called as a commit; its repository has the name.
fn name_of(place: &Place) -> String {
    let folder = match place {
        Place::Folder(folder) => folder,
        Place::BuiltIn(_) => {
            let name = |code: &str| {
                code.parse().map_or_else(|_| code.to_owned(), |language: Language| language.name())
            };
            let pair = BuiltIn::at(place).map(|model| model.pair.map(name).join("–"));
            return format!("{}, built in", pair.unwrap_or_default());
        }
    };
    let parts: Vec<String> = folder.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    match &parts[..] {
        [.., repository, snapshots, _] if snapshots == "snapshots" && repository.starts_with("models--") => {
            repository.trim_start_matches("models--").replacen("--", "/", 1)
        }
        [.., name] => name.clone(),
        [] => String::new(),
    }
}

const FAULT: &str = "this should not have happened, and is a fault of the program; the terminal says where";

/// The shortest time between two partial translations.
const BETWEEN_PARTS: Duration = Duration::from_millis(40);
/// After this time, the window shows how much is done.
const LONG: Duration = Duration::from_millis(500);

impl Worker {
    pub fn run(mut self, commands: &Receiver<Command>) {
        loop {
            let first = match self.document {
                Some(_) => commands.try_recv(),
                None => commands.recv().map_err(|_| TryRecvError::Disconnected),
            };
            let first = match first {
                Ok(first) => first,
                Err(TryRecvError::Empty) => {
                    if catch_unwind(AssertUnwindSafe(|| self.go_on())).is_err() {
                        self.document = None;
                        (self.tell)(News::Document(DocumentNews::Ended(Some(FAULT.into()))));
                    }
                    continue;
                }
                Err(TryRecvError::Disconnected) => break,
            };
            let pending = Pending::from(first, commands);
            let (translate, explore) = (pending.translate.as_ref(), pending.explore.as_ref());
            let (number, explored) = (translate.map(|one| one.number), explore.map(|one| one.number));
            if catch_unwind(AssertUnwindSafe(|| self.execute(pending))).is_err() {
                (self.tell)(match (number, explored) {
                    (None, Some(number)) => News::Explored { number, answer: Err(FAULT.into()) },
                    _ => News::Failed { number: number.unwrap_or_default(), error: FAULT.into() },
                });
            }
        }
        if let Some(gpu) = self.device.gpu() {
            gpu.store_pipelines(); // the device may never be dropped
        }
    }

    fn execute(&mut self, pending: Pending) {
        if pending.changes_model()
            && let Some(work) = self.document.take()
        {
            let path = work.order.path.display();
            let why = format!("{path} is not translated: the model was changed meanwhile");
            (self.tell)(News::Document(DocumentNews::Ended(Some(why))));
        }
        if let Some(way) = pending.open {
            self.open(way);
        }
        if let Some(heads) = pending.mute {
            self.mute(&heads);
        }
        if let Some(choice) = pending.swap {
            self.swap(&choice);
        }
        if let Some(switches) = pending.switch {
            self.switch(&switches);
        }
        if let Some(request) = pending.translate {
            self.translate(&request);
        }
        if let Some(exploration) = pending.explore {
            self.explore(&exploration);
        }
        if let Some(inquiry) = pending.explain {
            self.explain(&inquiry);
        }
        if let Some(order) = pending.document {
            self.begin(*order);
        }
        if pending.check {
            self.check();
        }
    }

    /// Compares the GPU with the CPU. Models that then get other kernels are loaded again.
    fn check(&mut self) {
        let Device::Gpu(gpu) = &self.device else { return };
        let gpu = gpu.clone();
        let before = gpu.verdict().passed_over;
        let mut progress = |fraction: f32, _: &'static str| (self.tell)(News::Checking(fraction));
        let report = pollster::block_on(check::check(&gpu, &mut progress));
        gpu.store_pipelines();
        let checked = |report: Report| Checked {
            usable: report.is_usable(),
            summary: report.summary(),
            report: report.markdown(),
        };
        (self.tell)(News::Checked(report.map(checked).map_err(|error| error.to_string())));
        if *gpu.verdict().passed_over != *before {
            self.residents = Residents::new(MEMORY);
            if let Some(way) = self.way.take() {
                self.open(way);
            }
        }
    }

    /// Begins to translate a document.
    fn begin(&mut self, order: Order) {
        let work = match self.in_use() {
            Some(_) => Work::begin(order),
            None => Err("there is no model to translate the document".into()),
        };
        match work {
            Ok(work) => {
                self.document = Some(work);
                (self.tell)(News::Document(DocumentNews::Reached(0.0)));
            }
            Err(error) => (self.tell)(News::Document(DocumentNews::Ended(Some(error)))),
        }
    }

    /// Translates the next texts of the document.
    fn go_on(&mut self) {
        let Some(mut work) = self.document.take() else { return };
        let Some((first, last)) = self.in_use() else { return };
        let PivotOptions { first: first_options, second } = self.options(&work.order.options);
        let glossary = work.order.glossary.as_deref().filter(|_| first.is_none());
        let second = match last.with_glossary(second, glossary) {
            Ok(second) => second,
            Err(error) => return (self.tell)(News::Document(DocumentNews::Ended(Some(error)))),
        };
        let first = first.map(|first| (&first.translator, &first_options));
        let models: Vec<_> = first.into_iter().chain([(&last.translator, &second)]).collect();
        match work.go_on(&models) {
            Ok(None) => {
                (self.tell)(News::Document(DocumentNews::Reached(work.fraction())));
                self.document = Some(work);
            }
            Ok(Some(bytes)) => {
                let languages = self.way.as_ref().and_then(|way| way.languages.as_ref());
                let language = languages.map(|[_, to]| to.to_string()).or(second.target_language);
                (self.tell)(News::Document(DocumentNews::Translated {
                    path: work.order.path,
                    bytes,
                    language,
                }));
            }
            Err(why) => (self.tell)(News::Document(DocumentNews::Ended(why))),
        }
    }

    fn open(&mut self, way: Way) {
        (self.tell)(News::Loading(0.0));
        match self.load_all(&way) {
            Ok(()) => {
                let name = |place: &Place| self.residents.get(place).map_or("", |loaded| &*loaded.name);
                let last = self.residents.get(&way.last);
                let codes = last.filter(|_| way.languages.is_none()).map(Loaded::languages);
                let opened = Opened {
                    layers: last.map_or([0; 2], Loaded::layers),
                    name: match &way.first {
                        Some((first, _)) => format!("{}, then {}", name(first), name(&way.last)),
                        None => name(&way.last).to_owned(),
                    },
                    languages: codes.unwrap_or_default(),
                    way: way.clone(),
                };
                self.way = Some(way);
                (self.tell)(News::Ready(Box::new(opened)));
            }
            Err(error) => (self.tell)(News::CannotOpen(error)),
        }
    }

    /// Loads the models of a way that are not loaded yet.
    fn load_all(&mut self, way: &Way) -> Result<(), String> {
        let places: Vec<&Place> = way.first.iter().map(|(first, _)| first).chain([&way.last]).collect();
        for &place in &places {
            match self.residents.get_mut(place) {
                // another use of the model begins with the model as it was trained
                Some(loaded) => loaded.restore()?,
                None => {
                    let loaded = self.load(place)?;
                    let bytes = loaded.translator.transformer().weight_bytes();
                    self.residents.put(place.clone(), loaded, bytes);
                }
            }
        }
        self.residents.keep(&places);
        Ok(())
    }

    fn load(&self, place: &Place) -> Result<Loaded, String> {
        let files = place.files().map_err(|error| error.to_string())?;
        let model = Model::from_files(files).map_err(|error| error.to_string())?;
        let mut progress = |fraction| (self.tell)(News::Loading(fraction));
        let translator = Translator::with_progress(&self.device, &model, &mut progress);
        // while the user types, the first sentences repeat
        let translator = translator.map_err(|error| error.to_string())?.with_cache(4 << 20);
        Ok(Loaded { model, translator, swapped: false, name: name_of(place) })
    }

    /// The models in use: that of the language between, and that of the translation.
    fn in_use(&self) -> Option<(Option<&Loaded>, &Loaded)> {
        let way = self.way.as_ref()?;
        let first = way.first.as_ref().and_then(|(first, _)| self.residents.get(first));
        Some((first, self.residents.get(&way.last)?))
    }

    fn mute(&mut self, heads: &[HeadName]) {
        let Some(way) = &self.way else { return };
        let Some(Loaded { model, translator, .. }) = self.residents.get_mut(&way.last) else { return };
        let error = translator.mute(model, heads).err().map(|error| error.to_string());
        (self.tell)(News::Muted { heads: translator.transformer().muted().to_vec(), error });
    }

    fn swap(&mut self, choice: &SelfAttentionChoice) {
        let Some(way) = &self.way else { return };
        let Some(Loaded { translator, swapped, .. }) = self.residents.get_mut(&way.last) else { return };
        match translator.set_attention(choice) {
            Ok(()) => *swapped = !choice.is_empty(),
            Err(error) => {
                // without layers, every model takes the choice
                *swapped = translator.set_attention(&SelfAttentionChoice::default()).is_err();
                (self.tell)(News::NotSwapped(error.to_string()));
            }
        }
    }

    fn switch(&mut self, switches: &Switches) {
        let Some(way) = &self.way else { return };
        let Some(Loaded { model, translator, .. }) = self.residents.get_mut(&way.last) else { return };
        if let Err(error) = translator.set_switches(model, switches) {
            let none = translator.set_switches(model, &Switches::default());
            let error = none.err().unwrap_or(error);
            (self.tell)(News::NotSwitched(error.to_string()));
        }
    }

    /// The options of both models, with the picked languages in the models' own codes.
    fn options(&self, options: &TranslateOptions) -> PivotOptions {
        let mut both = PivotOptions { first: options.clone(), second: options.clone() };
        // the numbers of translations are of the last model
        both.first.generation.num_return_sequences = None;
        let (Some(way), Some((first, last))) = (&self.way, self.in_use()) else { return both };
        let Some([from, to]) = &way.languages else { return both };
        let through = way.first.as_ref().map(|(_, through)| through);
        if let Some((first, through)) = first.zip(through) {
            first.set_languages(&mut both.first, from, through);
        }
        last.set_languages(&mut both.second, through.unwrap_or(from), to);
        both
    }

    fn translate(&self, request: &Request) {
        let Some((first, last)) = self.in_use() else { return };
        let Loaded { translator, name, .. } = last;
        let Request { number, text, options, glossary } = request;
        let number = *number;
        let began = Instant::now();
        let mut shown = began;
        let kept = TraceOptions { model: name.clone(), scores: false, ..TraceOptions::default() };
        let PivotOptions { first: first_options, second } = self.options(options);
        let glossary = glossary.as_deref().filter(|_| first.is_none());
        let options = match last.with_glossary(second, glossary) {
            Ok(options) => options.keep_attention(kept.keep_attention()),
            Err(error) => return (self.tell)(News::Failed { number, error }),
        };
        let options = match translator.summarizes() {
            true => translator.summary_options(options, Excess::LeaveOut),
            false => options,
        };
        let between = first.map(|first| self.between((first, last), text, &first_options, number));
        let between = match between.transpose() {
            Ok(between) => between,
            Err(TranslateError::Generate(GenerateError::Cancelled)) => return,
            Err(error) => return (self.tell)(News::Failed { number, error: error.to_string() }),
        };
        let text = between.as_ref().unwrap_or(text);
        let translated = pollster::block_on(async {
            let mut stream = translator.stream(text, &options)?;
            while let Some(update) = stream.next().await? {
                if let Some(translation) = update.translations.into_iter().next() {
                    return Ok(Some(translation));
                }
                if shown.elapsed() >= BETWEEN_PARTS {
                    shown = Instant::now();
                    if let Some(fraction) = update.encoding {
                        let progress = Progress { what: "reading the text".into(), fraction };
                        (self.tell)(News::Beginning { number, progress });
                        continue;
                    }
                    let (settled, open) = stream.text();
                    let long = update.of_sentences > 1 && began.elapsed() >= LONG;
                    let fraction = long.then_some(update.fraction);
                    (self.tell)(News::Partial { number, settled, open, fraction });
                }
            }
            Ok(None)
        });
        let translation = match translated {
            Ok(Some(translation)) => translation,
            Ok(None) | Err(TranslateError::Generate(GenerateError::Cancelled)) => return,
            Err(error) => return (self.tell)(News::Failed { number, error: error.to_string() }),
        };
        let cut_short =
            |sentence: &Sentence| sentence.hypotheses.first().is_some_and(|best| best.reached_max_length);
        let translated = Translated {
            hypotheses: translation.hypotheses.iter().map(|one| (one.text.clone(), one.score)).collect(),
            cut_short: translation.sentences.iter().any(cut_short),
            left_out_tokens: translation.sentences.iter().map(|sentence| sentence.left_out_tokens).sum(),
            between: between.clone(),
        };
        (self.tell)(News::Translated { number, translation: translated });
        let trace = Trace::of_search(translator, text, &translation, &options, &kept);
        let attention: Vec<_> =
            translation.sentences.into_iter().filter_map(|sentence| sentence.attention).collect();
        let read = |trace: Trace| {
            pollster::block_on(trace.with_weights(&attention)).map_err(|error| error.to_string())
        };
        let trace = trace.map_err(|error| error.to_string()).and_then(read);
        match trace {
            Ok(trace) => (self.tell)(News::Traced { number, trace: Arc::new(trace) }),
            Err(_) if options.cancel.is_cancelled() => {}
            Err(error) => (self.tell)(News::Failed { number, error: format!("no attention: {error}") }),
        }
    }

    /// The text in the language between two models.
    fn between(
        &self,
        (first, last): (&Loaded, &Loaded),
        text: &str,
        options: &TranslateOptions,
        number: u64,
    ) -> Result<String, TranslateError> {
        let began = Instant::now();
        let mut shown = began;
        let through = self.way.as_ref().and_then(|way| way.first.as_ref());
        let what =
            through.map_or_else(String::new, |(_, through)| format!("translating into {}", through.name()));
        let mut watch = |update: &Update| {
            if began.elapsed() >= LONG && shown.elapsed() >= BETWEEN_PARTS {
                shown = Instant::now();
                let progress = Progress { what: what.clone(), fraction: update.fraction };
                (self.tell)(News::Beginning { number, progress });
            }
        };
        let pivot = Pivot::new(&first.translator, &last.translator);
        let mut texts = pollster::block_on(pivot.between(text, options, &mut watch))?;
        Ok(texts.remove(0).text)
    }

    fn explore(&self, exploration: &Exploration) {
        let Some((_, Loaded { translator, .. })) = self.in_use() else { return };
        let options = self.options(&exploration.options).second;
        let answer = match explored(translator, exploration, &options) {
            Ok(explored) => Ok(Box::new(explored)),
            Err(TranslateError::Generate(GenerateError::Cancelled)) => return,
            Err(error) => Err(error.to_string()),
        };
        (self.tell)(News::Explored { number: exploration.number, answer });
    }

    fn explain(&self, inquiry: &Inquiry) {
        let Some((_, Loaded { translator, .. })) = self.in_use() else { return };
        let Inquiry { number, trace, sentence, head, query } = inquiry;
        let Some(sentence) = trace.sentences.get(*sentence) else { return };
        let found = pollster::block_on(Explanation::of_sentence(translator, sentence, *head, *query));
        let answer = found.map(Box::new).map_err(|error| error.to_string());
        (self.tell)(News::Explained { number: *number, answer });
    }
}

/// A search, with its texts and end tokens.
fn explored(
    translator: &Translator,
    exploration: &Exploration,
    options: &TranslateOptions,
) -> Result<Explored, TranslateError> {
    let Exploration { source_ids, prefix, .. } = exploration;
    let request = translator.request(source_ids, prefix, options)?;
    let keep = Keep { tree: true, ..Keep::default() };
    let search = GenerateOptions::default().keep(keep).cancel(&options.cancel);
    let found = pollster::block_on(translator.transformer().generate(&[request], search))?;
    let tree = found.into_iter().next().and_then(|found| found.tree).unwrap_or_default();
    let tokenizer = translator.tokenizer();
    let finished = (0..tree.nodes.len()).filter(|&node| tree.nodes[node].fate == Fate::Finished);
    let texts: BTreeMap<usize, String> = finished
        .map(|node| Ok((node, tokenizer.decode(&[&prefix[..], &tree.tokens(node)].concat(), true)?)))
        .collect::<Result<_, TranslateError>>()?;
    let named = |token: u32| {
        let piece = tokenizer.target_token(token);
        (token, piece.map_or_else(|| format!("#{token}"), |piece| piece.into_owned()))
    };
    let pieces = tree.nodes.iter().map(|node| node.token).chain(prefix.iter().copied()).map(named).collect();
    let transformer = translator.transformer();
    let of_files = transformer.generation_config().eos_token_id.as_ref();
    let asked = options.generation.eos_token_id.as_ref().or(of_files);
    let ends: BTreeSet<u32> = match asked {
        Some(ids) => ids.as_slice().iter().copied().collect(),
        None => transformer.config().tokens.eos.into_iter().collect(),
    };
    Ok(Explored { search: TracedSearch { tree, pieces }, prefix: prefix.clone(), texts, ends })
}
