//! `wordloom serve`: the page, models for a browser, and LibreTranslate's interface, from this one binary.
//!
//! | file | |
//! |---|---|
//! | `options`, `keys` | the command line |
//! | `connections` | sockets: limits, timeouts, the end |
//! | `discard` | bodies that are answered unread |
//! | `answer`, `content`, `range`, `site`, `listing` | files: the page and models |
//! | `host` | names that the server answers to |
//! | `api` | LibreTranslate's interface |
//! | `limits`, `store` | rates and room; keys, suggestions and glossaries in SQLite |
//! | `glossaries`, `memories` | terms and translations that come before the model's own |
//! | `engine` | models that translate for all clients |

mod answer;
mod api;
mod connections;
mod content;
mod discard;
mod engine;
mod glossaries;
mod host;
mod keys;
mod limits;
mod listing;
mod memories;
mod options;
mod range;
mod site;
mod store;

use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::sync::Arc;

use axum::extract::Request;
use wordloom_hub::Choosable;

use super::output::Output;
use super::{CliError, interrupt, notice};
use api::Api;
use engine::{Pool, PoolOptions};
use glossaries::Glossaries;
use host::Hosts;
use memories::Memories;
use options::ServeOptions;
use site::Site;
use store::{KeptGlossaries, Keys, Suggestions};

#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
LibreTranslate's interface (POST /translate and others), limits, API keys, TLS:
docs/serving.md. Ctrl-C finishes what runs; a second one ends at once."
)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<keys::Action>,
    #[command(flatten)]
    options: ServeOptions,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.action {
        Some(action) => keys::run(action),
        None => serve(&arguments.options),
    }
}

fn serve(options: &ServeOptions) -> Result<(), CliError> {
    let offers_fetched = options.model.is_none() && options.models.is_empty();
    let mut site = Site::open(options.page(), &options.places()?, &options.models, offers_fetched)?;
    let mut offered = std::mem::take(&mut site.offered);
    if offers_fetched {
        let fetched = options::in_cache()?;
        let is_new = |model: &Choosable| offered.iter().all(|known| known.place != model.place);
        let new: Vec<Choosable> = fetched.into_iter().filter(is_new).collect();
        offered.extend(new);
    }
    let listener = listen(&options.host, options.port)?;
    let address = listener.local_addr().map_err(cannot_serve)?;
    let hosts = Hosts::reached_at(address.ip());
    let url = hosts.url(address);
    let api = Api {
        pool: Arc::new(Pool::new(
            offered,
            PoolOptions { device: options.device.clone(), memory: options.memory, cache: CACHE_BYTES },
        )),
        hosts,
        limits: options.limits(),
        keys: options.api_keys.as_deref().map(Keys::open).transpose()?,
        suggestions: options.suggestions.as_deref().map(Suggestions::open).transpose()?,
        glossaries: Glossaries::open(
            &options.glossary,
            options.api_keys.as_deref().map(KeptGlossaries::open).transpose()?,
        )?,
        memory: match &options.translation_memory {
            Some(path) => Some(Memories::open(path, options.memory_match)?),
            None => None,
        },
        trusts_forwarded: options.trust_forwarded_for,
        rate: Default::default(),
        under_way: Default::default(),
        metrics: Default::default(),
        files: Default::default(),
        documents: Default::default(),
    };
    let stop = interrupt::ends_the_command();
    if hosts == Hosts::Any {
        notice(
            "reachable from other machines; without https, their browsers offer no WebGPU and no offline use",
        );
        if api.keys.is_none() {
            notice("without --api-keys, other machines get the page and no translations");
        }
    }
    let mut output = Output::open(None)?;
    output.line(&url)?;
    output.flush()?;
    if options.open
        && let Err(error) = open::that_detached(&url)
    {
        notice(&format!("warning: no browser could be opened: {error}"));
    }

    // One thread is enough for connections: files are read, and texts are cut and translated, on others.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot_serve)?;
    let site = Arc::new(site);
    let files = move |request: Request| std::future::ready(answer::answer(&request, &site, hosts));
    let most = DISCARDED_BODIES * options.limits().body as u64;
    let discard = axum::middleware::from_fn_with_state(most, discard::discard);
    let router = api::routes(Arc::new(api)).fallback(files).layer(discard);
    runtime.block_on(connections::serve(listener, router, stop)).map_err(cannot_serve)
}

/// Bytes for repeated sentences of each model, some ten thousands.
const CACHE_BYTES: usize = 64 << 20;

/// How many times the size of the largest body is read of a larger one.
const DISCARDED_BODIES: u64 = 4;

fn listen(host: &str, port: u16) -> Result<TcpListener, CliError> {
    let listening = TcpListener::bind((host, port)).and_then(|listener| {
        listener.set_nonblocking(true)?; // required by the runtime
        Ok(listener)
    });
    listening.map_err(|source| match source.kind() {
        ErrorKind::AddrInUse => CliError::Input(format!(
            "port {port} of {host} is in use; stop what uses it, or choose another port (--port 0 takes a free one)"
        )),
        _ => CliError::Io { what: format!("cannot listen on port {port} of {host}"), source },
    })
}

fn cannot_serve(source: io::Error) -> CliError {
    CliError::Io { what: "cannot serve".into(), source }
}
