//! The models on this machine, and those that can be had: listed, fetched and removed on separate threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use eframe::egui::Context;
use wordloom::transformer::Cancel;
use wordloom_hub::{
    BuiltIn, CachedModel, Choosable, Hub, HubError, Language, ModelReference, Progress, Route, Step, choose,
    offered_sources, sources, targets, written,
};

use crate::engine::Way;

/// The result of a task.
pub enum Told {
    /// The models on this machine.
    Listed(Vec<CachedModel>),
    /// Models were fetched or removed, and have to be listed again.
    Changed(String),
    /// The user stopped a download.
    Stopped,
    /// A task failed, with the reason.
    Failed(String),
}

/// What a task does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    List,
    Fetch,
    Remove,
}

/// A running download.
pub struct Download {
    /// Names of the models.
    pub names: Vec<String>,
    state: Arc<State>,
    cancel: Cancel,
}

#[derive(Default)]
struct State {
    done: AtomicU64,
    total: AtomicU64,
}

impl Download {
    /// The fetched part, 0 to 1, and the bytes: fetched and all.
    pub fn progress(&self) -> (f32, u64, u64) {
        let [done, total] = [&self.state.done, &self.state.total].map(|bytes| bytes.load(Ordering::Relaxed));
        (done as f32 / total.max(1) as f32, done, total)
    }

    /// Stops it. What has arrived is kept for the next time.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

/// The models on this machine.
pub struct Models {
    hub: Option<Hub>,
    cached: Vec<CachedModel>,
    /// Whether the models were listed once.
    pub listed: bool,
    pub download: Option<Download>,
    tell: Sender<(Task, Told)>,
    told: Receiver<(Task, Told)>,
    window: Context,
}

impl Models {
    /// Begins to list the models. Without a hub there are the built-in ones.
    pub fn new(hub: Option<Hub>, window: Context) -> Self {
        let (tell, told) = channel();
        let models =
            Self { listed: hub.is_none(), hub, cached: Vec::new(), download: None, tell, told, window };
        models.list();
        models
    }

    /// The models of the cache.
    pub fn cached(&self) -> &[CachedModel] {
        &self.cached
    }

    /// The models to choose from: the built-in ones, and those of the cache.
    pub fn choosable(&self) -> Vec<Choosable> {
        BuiltIn::all().iter().map(Choosable::from).chain(self.cached.iter().map(Choosable::from)).collect()
    }

    /// The models for a pair. `None` if they are not here.
    pub fn way(&self, from: &Language, to: &Language) -> Option<Way> {
        let languages = Some([from.clone(), to.clone()]);
        let models = self.choosable();
        let place = |step: Step| models[step.model].place.clone();
        Some(match choose(&models, from, to)? {
            Route::Direct(step) => Way { first: None, last: place(step), languages },
            Route::Pivot { first, through, second } => {
                Way { first: Some((place(first), through)), last: place(second), languages }
            }
        })
    }

    /// Languages that models here read.
    pub fn sources(&self) -> Vec<Language> {
        by_name(sources(&self.choosable()))
    }

    /// Languages that models here write: those that can be reached from this source, or all.
    pub fn targets(&self, from: Option<&Language>) -> Vec<Language> {
        let models = self.choosable();
        by_name(match from {
            Some(from) => targets(&models, from),
            None => written(&models),
        })
    }

    /// Languages that only models of the catalogue read.
    pub fn more_sources(&self) -> Vec<Language> {
        let here = sources(&self.choosable());
        by_name(offered_sources().into_iter().filter(|language| !here.contains(language)).collect())
    }

    /// The events since the last call.
    pub fn told(&mut self) -> Vec<Told> {
        let mut all: Vec<(Task, Told)> = self.told.try_iter().collect();
        for (task, told) in &mut all {
            if *task == Task::Fetch {
                self.download = None;
            }
            match told {
                Told::Listed(cached) => {
                    self.cached = std::mem::take(cached);
                    self.listed = true;
                }
                Told::Changed(_) => self.list(),
                Told::Stopped | Told::Failed(_) => self.listed = true,
            }
        }
        all.into_iter().map(|(_, told)| told).collect()
    }

    /// Fetches models, one after the other.
    pub fn get(&mut self, names: Vec<String>) {
        if self.download.is_some() {
            return;
        }
        let (state, cancel) = (Arc::new(State::default()), Cancel::default());
        let download = Download { names: names.clone(), state: state.clone(), cancel: cancel.clone() };
        self.download = Some(download);
        let window = self.window.clone();
        self.apart(Task::Fetch, move |hub| {
            for name in &names {
                let mut watch = Watch { state: &state, window: &window };
                hub.get(&ModelReference::parse_name(name)?, &mut watch, &cancel)?;
            }
            Ok(Told::Changed(format!("{} can be used now.", names.join(" and "))))
        });
    }

    /// Removes a model from the cache.
    pub fn remove(&self, name: String) {
        self.apart(Task::Remove, move |hub| {
            let freed = hub.remove(&ModelReference::parse_name(&name)?)?;
            Ok(Told::Changed(format!("{name} was removed, which frees {} MB.", freed / 1_000_000)))
        });
    }

    fn list(&self) {
        self.apart(Task::List, |hub| hub.cached_models().map(Told::Listed));
    }

    fn apart(&self, task: Task, work: impl FnOnce(&Hub) -> Result<Told, HubError> + Send + 'static) {
        let Some(hub) = self.hub.clone() else { return };
        let (tell, window) = (self.tell.clone(), self.window.clone());
        let started = std::thread::Builder::new().name("models".into()).spawn(move || {
            let told = match work(&hub) {
                Err(HubError::Cancelled) => Told::Stopped,
                Err(error) => Told::Failed(error.to_string()),
                Ok(told) => told,
            };
            let _ = tell.send((task, told)); // the window may have been closed
            window.request_repaint();
        });
        if let Err(error) = started {
            let _ = self.tell.send((task, Told::Failed(format!("no thread could be started: {error}"))));
        }
    }
}

impl Drop for Models {
    fn drop(&mut self) {
        if let Some(download) = &self.download {
            download.cancel();
        }
    }
}

fn by_name(mut languages: Vec<Language>) -> Vec<Language> {
    languages.sort_by_cached_key(Language::name);
    languages
}

/// Tells the window of a download's progress.
struct Watch<'a> {
    state: &'a State,
    window: &'a Context,
}

impl Progress for Watch<'_> {
    fn start(&mut self, _name: &str, total: u64, present: u64) {
        self.state.total.store(total, Ordering::Relaxed);
        self.state.done.store(present, Ordering::Relaxed);
        self.window.request_repaint();
    }

    fn advance(&mut self, bytes: u64) {
        self.state.done.fetch_add(bytes, Ordering::Relaxed);
        self.window.request_repaint();
    }

    fn retreat(&mut self, bytes: u64) {
        // only this thread writes it
        let done = self.state.done.load(Ordering::Relaxed);
        self.state.done.store(done.saturating_sub(bytes), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_goes_on_while_another_model_is_removed() {
        let mut models = Models::new(None, Context::default());
        let (state, cancel) = Default::default();
        models.download = Some(Download { names: vec!["owner/name".into()], state, cancel });
        let tell = |models: &Models, task, told| models.tell.send((task, told)).expect("it listens");
        tell(&models, Task::Remove, Told::Changed("another was removed".into()));
        tell(&models, Task::List, Told::Failed("the cache is away".into()));
        assert_eq!(models.told().len(), 2);
        assert!(models.download.is_some());
        tell(&models, Task::Fetch, Told::Stopped);
        assert_eq!(models.told().len(), 1);
        assert!(models.download.is_none());
    }
}
