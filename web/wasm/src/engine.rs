//! One model on one device, for JavaScript.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Array, Date, Float32Array, Function, Promise, WebAssembly};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wordloom::model::config::Architecture;
use wordloom::model::{HeadName, ModelError, SelfAttentionChoice, SelfAttentionError, SwitchError, Switches};
use wordloom::precision::PrecisionChoice;
use wordloom::transformer::{
    Cancel, GenerateError, GenerateOptions, GenerateRequest, KeepAttention, MuteError,
};
use wordloom::{Device, DeviceChoice, Model, TranslateOptions, resolve};

use crate::abort::Abort;
use crate::failure::{Failure, message_of};
use crate::glossary::{Bound, Lines};
use crate::host::{Folder, Host, HostFolder};
use crate::info::Info;
use crate::loading::{Runner, load, open_again, settle};
use crate::options::{generation, object, refuse_ignored, take, translation_options};
use crate::pass_over::PassOver;
use crate::promise::{Work, promise};
use crate::requests::{document, forward_input, global_tokens};
use crate::results::{Generated, Memory, Partial, Tokenized, forward, js_object, shape, to_js, translation};
use crate::trace::Remembered;

/// A model on a device. Calls may overlap.
#[wasm_bindgen]
pub struct Engine(Rc<Inner>);

struct Inner {
    folder: Folder,
    choice: DeviceChoice,
    weights: PrecisionChoice,
    pass_over: Option<PassOver>,
    host: Host,
    state: RefCell<State>,
}

struct State {
    /// `None` after [`Engine::destroy`].
    runner: Option<Rc<Runner>>,
    /// The pending replacement of a lost device. Calls that need the device wait for it.
    reopening: Option<Promise>,
    /// Cancel handles of the running calls.
    running: Vec<Cancel>,
    /// The muted heads, also for a device that replaces a lost one.
    muted: Vec<HeadName>,
    /// The layers with another kind of attention, also for such a device.
    attention: SelfAttentionChoice,
    /// The switches, also for such a device.
    switches: Switches,
    /// Stored attention of the last translations, from this device with these heads and kinds.
    remembered: Vec<Remembered>,
    /// The glossary of the last translation that had one.
    glossary: Option<Bound>,
}

/// The reason why a model was not changed.
enum Refused {
    /// Its weights could not be read again.
    Reading(ModelError),
    Change(Failure),
}

#[wasm_bindgen]
impl Engine {
    /// Opens a device (`auto`, `gpu`, `cpu` or a part of an adapter's name) and loads a model, with weights in `auto`, `f32`,
    /// `f16`, `q8` or `w8a8`. `pass_over`: kernels that the device does not get, or `undefined`.
    pub async fn load(
        folder: HostFolder,
        device: String,
        weights: String,
        pass_over: JsValue,
        host: Host,
    ) -> Result<Engine, JsValue> {
        let choice: DeviceChoice = device.parse().map_err(|error: String| Failure::input(error))?;
        let weights: PrecisionChoice = weights.parse().map_err(|error: String| Failure::input(error))?;
        let pass_over = PassOver::of_js(&pass_over)?;
        let folder = Folder::new(&folder);
        let runner = load(&folder, &choice, weights, pass_over.as_ref(), &host).await?;
        let state = State {
            runner: Some(Rc::new(runner)),
            reopening: None,
            running: Vec::new(),
            muted: Vec::new(),
            attention: SelfAttentionChoice::default(),
            switches: Switches::default(),
            remembered: Vec::new(),
            glossary: None,
        };
        Ok(Self(Rc::new(Inner { folder, choice, weights, pass_over, host, state: RefCell::new(state) })))
    }

    /// The model, the device, and the reason for its choice.
    pub fn info(&self) -> Result<JsValue, JsValue> {
        let runner = self.0.runner()?;
        Ok(to_js(&Info::of(&runner, &self.0.choice, self.0.folder.files.label()))?)
    }

    /// Translates a text of any length and reports progress to `on_partial`. With the option `keepAttention`, a trace of the
    /// result is [available at once](Self::kept_trace), until a translation without it.
    pub fn translate(
        &self,
        text: String,
        options: JsValue,
        abort: &Abort,
        on_partial: Option<Function>,
    ) -> Promise {
        let options = object(&options).and_then(|mut options| {
            let keeps: Option<bool> = take(&mut options, "keepAttention", "true or false")?;
            let aligns: Option<bool> = take(&mut options, "alignments", "true or false")?;
            let glossary = Lines::take(&mut options)?;
            let document = document(options.remove("document"))?;
            let mut options = translation_options(options, true)?;
            options.document = document;
            if aligns == Some(true) {
                options = options.keep_alignments();
            }
            Ok((options, keeps == Some(true), glossary))
        });
        let inner = self.0.clone();
        self.0.call(abort, async move |runner, cancel| {
            let (options, keeps, glossary) = options.clone()?;
            let mut options = TranslateOptions { cancel, ..options };
            let translator = runner.translator()?;
            refuse_ignored(&options.generation, translator.transformer(), &[])?;
            if let Some(excess) = options.document {
                options = translator.summary_options(options, excess);
            }
            if let Some(lines) = glossary {
                let last = &mut inner.state.borrow_mut().glossary;
                options.glossary = Some(lines.bind(translator, &options, last)?);
            }
            match keeps {
                true => options = options.keep_attention(KeepAttention::default()),
                false => inner.state.borrow_mut().remembered.clear(),
            }
            let mut shown = Partial { stable: String::new(), provisional: String::new(), encoding: None };
            let mut show = |(stable, provisional), encoding, on_partial: &Function| {
                let fresh = Partial { stable, provisional, encoding };
                // after a lost device, the call starts again; shown text stays
                if fresh.stable.starts_with(&shown.stable) && fresh != shown {
                    shown = fresh;
                    if let Ok(value) = to_js(&shown) {
                        // ignore errors of the listener
                        let _ = on_partial.call1(&JsValue::NULL, &value);
                    }
                }
            };
            let begun = Date::now();
            let result = match &on_partial {
                None => translator.translate(&text, &options).await?,
                Some(on_partial) => {
                    let mut stream = translator.stream(&text, &options)?;
                    loop {
                        let Some(update) = stream.next().await? else {
                            unreachable!("the last update has the translation")
                        };
                        match update.translations.into_iter().next() {
                            Some(translation) => break translation,
                            None => show(stream.text(), update.encoding, on_partial),
                        }
                    }
                }
            };
            if keeps {
                Remembered::add(&mut inner.state.borrow_mut().remembered, &result);
            }
            translation(translator, &result, options.document.is_some(), Date::now() - begun)
        })
    }

    /// Searches for the outputs of token ids.
    pub fn generate(&self, requests: Array, abort: &Abort) -> Promise {
        let requests: Result<Vec<_>, Failure> = requests
            .iter()
            .map(|request| {
                let mut options = object(&request)?;
                let input_ids: Vec<u32> = take(&mut options, "inputIds", "a list of token ids")?;
                let globals = global_tokens(&mut options, input_ids.len())?;
                Ok((input_ids, generation(options, true)?, globals))
            })
            .collect();
        self.0.call(abort, async move |runner, cancel| {
            let transformer = runner.transformer();
            let requests = requests.as_ref().map_err(Failure::clone)?;
            let config = transformer.config();
            if config.architecture() == Architecture::EncoderOnly {
                // checked before its options are reported as missing
                return Err(GenerateError::NoDecoder { model_type: config.family.model_type() }.into());
            }
            let requests = requests
                .iter()
                .map(|(input_ids, options, globals)| {
                    refuse_ignored(options, transformer, input_ids)?;
                    let defaults = transformer.generation_config();
                    let options =
                        resolve(options, defaults, config, input_ids).map_err(GenerateError::from)?;
                    let request = GenerateRequest::new(input_ids.clone(), options);
                    Ok(GenerateRequest { global_tokens: globals.clone(), ..request })
                })
                .collect::<Result<Vec<_>, Failure>>()?;
            let options = GenerateOptions::default().cancel(&cancel);
            let results = transformer.generate(&requests, options).await?;
            to_js(&results.into_iter().map(|result| Generated::from(result.hypotheses)).collect::<Vec<_>>())
        })
    }

    /// Searches for one sentence's translation and returns the tree of the search; see [`crate::search`].
    #[wasm_bindgen(js_name = searchTree)]
    pub fn search_tree(&self, input: JsValue, abort: &Abort) -> Promise {
        let input = crate::search::Input::new(&input);
        self.0.call(abort, async move |runner, cancel| {
            let input = input.as_ref().map_err(Failure::clone)?;
            input.run(runner.translator()?, cancel).await
        })
    }

    /// Mutes exactly these heads (`"cross.2.5"`). No call may be running.
    pub fn mute(&self, heads: Array) -> Promise {
        let inner = self.0.clone();
        let heads: Result<Vec<HeadName>, Failure> = heads
            .iter()
            .map(|head| {
                let text = head.as_string().unwrap_or_default();
                text.parse().map_err(|wrong| Failure::input(format!("{text:?} names no head: {wrong}")))
            })
            .collect();
        promise(async move {
            match inner.mute(heads?).await {
                Ok(()) => Ok(JsValue::UNDEFINED),
                Err(failure) => Err(failure.into_js()),
            }
        })
    }

    /// Gives layers of the encoder another kind of self-attention (`"encoder.2=window:8"`); an empty text gives every layer
    /// its own back. No call may be running.
    #[wasm_bindgen(js_name = swapAttention)]
    pub fn swap_attention(&self, choice: &str) -> Result<(), JsValue> {
        Ok(self.0.swap_attention(choice)?)
    }

    /// Sets exactly these switches (`"encoder.2.residual=off,norm=off"`); an empty text gives the model all of its parts back.
    /// No call may be running.
    #[wasm_bindgen(js_name = setSwitches)]
    pub fn set_switches(&self, switches: &str) -> Promise {
        let inner = self.0.clone();
        let switches: Result<Switches, SwitchError> = switches.parse();
        promise(async move {
            match inner.set_switches(switches.map_err(Failure::from)?).await {
                Ok(()) => Ok(JsValue::UNDEFINED),
                Err(failure) => Err(failure.into_js()),
            }
        })
    }

    /// One teacher-forced pass: hidden states, logits, all attention weights.
    pub fn forward(&self, input: JsValue, abort: &Abort) -> Promise {
        let input = forward_input(&input);
        self.0.call(abort, async move |runner, _| {
            let input = input.as_ref().map_err(Failure::clone)?;
            Ok(forward(&runner.transformer().forward(input).await?))
        })
    }

    /// The weights `[queries, keys]` of one attention of one translation; layer and head may be `"mean"`.
    pub fn attention(&self, input: JsValue, abort: &Abort) -> Promise {
        let input = crate::attention::Input::new(&input);
        self.0.call(abort, async move |runner, _| {
            let input = input.as_ref().map_err(Failure::clone)?;
            let (sizes, weights) = input.run(runner.transformer()).await?;
            let weights = Float32Array::from(&weights[..]);
            Ok(js_object([("shape", shape(&sizes)), ("weights", weights.into())]))
        })
    }

    /// Every number of one attention, in order; see [`crate::explain`].
    pub fn explain(&self, input: JsValue, abort: &Abort) -> Promise {
        let input = crate::explain::Input::new(&input);
        self.0.call(abort, async move |runner, cancel| {
            let input = input.as_ref().map_err(Failure::clone)?;
            input.run(runner.translator()?, cancel).await
        })
    }

    /// The [`Trace`](crate::Trace) of translated sentences with all attention, on the GPU if a GPU translates.
    pub fn trace(&self, input: JsValue, abort: &Abort) -> Promise {
        let input = crate::trace::Input::new(&input, self.0.folder.files.label());
        self.0.call(abort, async move |runner, cancel| {
            let input = input.as_ref().map_err(Failure::clone)?;
            Ok(input.run(runner.translator()?, cancel).await?.into())
        })
    }

    /// As `trace`, at once and beside running calls, if translations with `keepAttention` stored all of it; otherwise
    /// `undefined`.
    #[wasm_bindgen(js_name = keptTrace)]
    pub fn kept_trace(&self, input: JsValue) -> Result<Option<crate::Trace>, JsValue> {
        let runner = self.0.runner()?;
        let input = crate::trace::Input::new(&input, self.0.folder.files.label())?;
        Ok(input.kept(runner.translator()?, &self.0.state.borrow().remembered)?)
    }

    /// The first rows of the model's position table: `{ kind, shape, values }`; only `kind` if positions are not sinusoidal.
    pub fn positions(&self, count: usize) -> Result<JsValue, JsValue> {
        let runner = self.0.runner()?;
        Ok(crate::positions::table(runner.transformer().config(), count))
    }

    /// The ids and pieces of a source text, including the end token.
    pub fn tokenize(&self, text: &str) -> Result<JsValue, JsValue> {
        let runner = self.0.runner()?;
        let tokenizer = runner.tokenizer()?;
        let direction = tokenizer.direction(None, None).map_err(Failure::from)?;
        let ids = tokenizer.encode_source(text, &direction).map_err(Failure::from)?;
        let piece = |id| tokenizer.source_token(id).unwrap_or_default().into_owned();
        let tokens = ids.iter().map(|&id| piece(id)).collect();
        Ok(to_js(&Tokenized { ids, tokens })?)
    }

    /// The text of token ids.
    pub fn detokenize(&self, ids: Vec<u32>, skip_special_tokens: bool) -> Result<String, JsValue> {
        let runner = self.0.runner()?;
        Ok(runner.tokenizer()?.decode(&ids, skip_special_tokens).map_err(Failure::from)?)
    }

    /// The memory in use.
    pub fn memory(&self) -> Result<JsValue, JsValue> {
        let runner = self.0.state.borrow().runner.clone();
        let device = runner.as_ref().map(|runner| runner.transformer().device());
        let gpu = device.as_ref().and_then(Device::gpu);
        let memory: WebAssembly::Memory = wasm_bindgen::memory().unchecked_into();
        let buffer: js_sys::ArrayBuffer = memory.buffer().unchecked_into();
        Ok(to_js(&Memory {
            device_bytes: gpu.map_or(0, wordloom::gpu::Gpu::bytes_in_use),
            buffers_created: gpu.map_or(0, wordloom::gpu::Gpu::buffers_created),
            wasm_bytes: f64::from(buffer.byte_length()),
        })?)
    }

    /// Frees all memory of the device. Running calls end as aborted.
    pub fn destroy(&self) {
        let mut state = self.0.state.borrow_mut();
        state.running.drain(..).for_each(|cancel| cancel.cancel());
        state.remembered.clear();
        let device = state.runner.take().map(|runner| runner.transformer().device());
        if let Some(gpu) = device.as_ref().and_then(Device::gpu) {
            gpu.close();
        }
    }
}

/// Starts a call's work on a model.
type Start = Box<dyn Fn(Rc<Runner>, Cancel) -> Work<JsValue, Failure>>;

impl Inner {
    fn runner(&self) -> Result<Rc<Runner>, Failure> {
        self.state.borrow().runner.clone().ok_or_else(destroyed)
    }

    /// Runs `job` as a promise. If the device is lost meanwhile, it is opened again and the job starts again, with the same ids
    /// as its result. A second loss is an error.
    fn call<J>(self: &Rc<Self>, abort: &Abort, job: J) -> Promise
    where
        J: AsyncFn(Rc<Runner>, Cancel) -> Result<JsValue, Failure> + 'static,
    {
        let job = Rc::new(job);
        let start = move |runner, cancel| -> Work<JsValue, Failure> {
            let job = Rc::clone(&job);
            Box::pin(async move { job(runner, cancel).await })
        };
        let cancel = abort.cancel();
        self.state.borrow_mut().running.push(cancel.clone());
        promise(self.clone().run(cancel, Box::new(start)))
    }

    async fn run(self: Rc<Self>, cancel: Cancel, start: Start) -> Result<JsValue, JsValue> {
        let mut result = self.attempt(&start, &cancel).await;
        if let Err((Some(lost), failure)) = &result
            && failure.is_loss()
        {
            result = match self.reopen(lost).await {
                Ok(()) => self.attempt(&start, &cancel).await,
                Err(failure) => Err((None, failure)),
            };
        }
        let mut state = self.state.borrow_mut();
        if let Some(index) = state.running.iter().position(|running| running.is_same(&cancel)) {
            state.running.swap_remove(index);
        }
        result.map_err(|(_, failure)| failure.into_js())
    }

    async fn attempt(
        &self,
        start: &Start,
        cancel: &Cancel,
    ) -> Result<JsValue, (Option<Rc<Runner>>, Failure)> {
        let runner = self.runner().map_err(|failure| (None, failure))?;
        let result = start(runner.clone(), cancel.clone()).await;
        match result {
            Err(_) if cancel.is_cancelled() => Err((None, Failure::aborted())),
            Err(failure) => Err((Some(runner), failure)),
            Ok(value) => Ok(value),
        }
    }

    fn swap_attention(&self, choice: &str) -> Result<(), Failure> {
        let wrong = |error: SelfAttentionError| Failure::input(error.to_string());
        let choice = match choice {
            "" => SelfAttentionChoice::default(),
            choice => choice.parse().map_err(wrong)?,
        };
        let mut state = self.state.borrow_mut();
        let runner = state.runner.as_mut().ok_or_else(destroyed)?;
        let Some(runner) = Rc::get_mut(runner) else {
            let message = "attention cannot be swapped while another call is running; wait for it";
            return Err(Failure::input(message));
        };
        runner.set_attention(&choice).map_err(wrong)?;
        state.remembered.clear();
        state.attention = choice;
        Ok(())
    }

    /// A runner that replaces the lost one, with the same muted heads, kinds of attention and switches.
    async fn load_again(&self) -> Result<Runner, Failure> {
        let pass_over = self.pass_over.as_ref();
        let mut runner = load(&self.folder, &self.choice, self.weights, pass_over, &self.host).await?;
        let (muted, attention, switches) = {
            let state = self.state.borrow();
            (state.muted.clone(), state.attention.clone(), state.switches.clone())
        };
        runner.set_attention(&attention).map_err(|error| Failure::input(error.to_string()))?;
        if !muted.is_empty() || !switches.is_empty() {
            let model = open_again(&self.folder).await?; // its files were read just now
            runner.mute(&model, &muted)?;
            runner.set_switches(&model, &switches)?;
            settle(&runner.transformer().device()).await?;
        }
        Ok(runner)
    }

    async fn mute(self: &Rc<Self>, heads: Vec<HeadName>) -> Result<(), Failure> {
        let muted = |runner: &mut Runner, model: &Model| match runner.mute(model, &heads) {
            Err(MuteError::Model(error)) => Err(Refused::Reading(error)),
            result => result.map_err(|error| Refused::Change(error.into())),
        };
        self.change("heads cannot be muted", muted, |state| state.muted = heads.clone()).await
    }

    async fn set_switches(self: &Rc<Self>, switches: Switches) -> Result<(), Failure> {
        let set = |runner: &mut Runner, model: &Model| match runner.set_switches(model, &switches) {
            Err(SwitchError::Model(error)) => Err(Refused::Reading(error)),
            result => result.map_err(|error| Refused::Change(error.into())),
        };
        self.change("nothing can be switched", set, |state| state.switches = switches.clone()).await
    }

    /// Makes a change that reads weights again, and waits for files that are still arriving. `keep` notes the change for a
    /// device that replaces a lost one.
    async fn change(
        self: &Rc<Self>,
        cannot: &str,
        change: impl Fn(&mut Runner, &Model) -> Result<(), Refused>,
        keep: impl FnOnce(&mut State),
    ) -> Result<(), Failure> {
        let model = open_again(&self.folder).await?;
        let result = loop {
            let attempt = {
                let mut state = self.state.borrow_mut();
                state.remembered.clear();
                let runner = state.runner.as_mut().ok_or_else(destroyed)?;
                let Some(runner) = Rc::get_mut(runner) else {
                    return Err(Failure::input(format!(
                        "{cannot} while another call is running; wait for it"
                    )));
                };
                change(runner, &model)
            };
            match attempt {
                Err(Refused::Reading(ModelError::NotArrived { file, end })) => {
                    self.folder.wait(&file, end).await?;
                }
                Err(Refused::Reading(error)) => break Err(error.into()),
                Err(Refused::Change(failure)) => break Err(failure),
                Ok(()) => break Ok(()),
            }
        };
        let runner = self.runner()?;
        let result = match result {
            Ok(()) => settle(&runner.transformer().device()).await,
            failed => failed,
        };
        let lost = result.as_ref().is_err_and(Failure::is_loss);
        if result.is_ok() || lost {
            keep(&mut self.state.borrow_mut());
        }
        // a replacement device starts with the change
        if lost { self.reopen(&runner).await } else { result }
    }

    /// Replaces a runner whose device was lost, unless another call did so already.
    async fn reopen(self: &Rc<Self>, lost: &Rc<Runner>) -> Result<(), Failure> {
        let promise = {
            let mut state = self.state.borrow_mut();
            let current = state.runner.as_ref().ok_or_else(destroyed)?;
            if !Rc::ptr_eq(current, lost) {
                return Ok(());
            }
            let inner = self.clone();
            state
                .reopening
                .get_or_insert_with(|| {
                    promise(async move {
                        let result = inner.load_again().await;
                        let mut state = inner.state.borrow_mut();
                        state.reopening = None;
                        state.remembered.clear();
                        match result {
                            // `auto` may mean the CPU now, but this translator was opened on a GPU
                            Ok(runner) if runner.transformer().device().gpu().is_none() => {
                                let message = "the device was lost, and only the CPU is left; create another \
                                               translator to run on that";
                                return Err(Failure::of("device-lost", message, None).into_js());
                            }
                            Ok(runner) if state.runner.is_some() => state.runner = Some(Rc::new(runner)),
                            Ok(_) => return Err(destroyed().into_js()),
                            Err(failure) => {
                                let reason = message_of(&failure.into_js());
                                let message =
                                    format!("the device was lost and cannot be opened again: {reason}");
                                return Err(Failure::of("device-lost", message, None).into_js());
                            }
                        }
                        Ok(JsValue::UNDEFINED)
                    })
                })
                .clone()
        };
        JsFuture::from(promise).await.map(|_| ()).map_err(Failure::Js)
    }
}

fn destroyed() -> Failure {
    Failure::of("aborted", "the translator has been destroyed", None)
}
