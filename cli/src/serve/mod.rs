//! `wordloom serve`: the page and a model for a browser, from this one binary.

mod answer;
mod content;
mod host;
mod listing;
mod range;
mod site;

use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::serve::ListenerExt;

use super::output::Output;
use super::{CliError, interrupt, models, notice};
use host::Hosts;
use site::Site;

#[derive(clap::Args)]
pub struct Arguments {
    /// Port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 8380)]
    port: u16,
    /// Address to listen on
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    host: String,
    /// Folder or OWNER/NAME [default: the built-in one]
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// Folder of another model that the page offers, or of several such folders; may be repeated
    #[arg(long, value_name = "DIR")]
    models: Vec<PathBuf>,
    /// Folder of a built page [default: the built-in one]
    #[arg(long, value_name = "DIR")]
    page: Option<PathBuf>,
    /// Open the page in the default browser
    #[arg(long)]
    open: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let model = arguments.model.as_deref().map(models::folder).transpose()?;
    let site = Site::open(arguments.page.as_deref(), model.as_deref(), &arguments.models)?;
    let listener = listen(&arguments.host, arguments.port)?;
    let address = listener.local_addr().map_err(cannot_serve)?;
    let hosts = Hosts::reached_at(address.ip());
    let url = hosts.url(address);

    interrupt::ends_the_process();
    if hosts == Hosts::Any {
        notice(
            "reachable from other machines; without https, their browsers offer no WebGPU and no offline use",
        );
    }
    let mut output = Output::open(None)?;
    output.line(&url)?;
    output.flush()?;
    if arguments.open
        && let Err(error) = open::that_detached(&url)
    {
        notice(&format!("warning: no browser could be opened: {error}"));
    }

    // One thread is enough: files are read on others.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot_serve)?;
    runtime.block_on(serve(listener, Arc::new(site), hosts)).map_err(cannot_serve)
}

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

async fn serve(listener: TcpListener, site: Arc<Site>, hosts: Hosts) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?.tap_io(|stream| {
        let _ = stream.set_nodelay(true); // an error only costs speed
    });
    let answer = move |request: Request| std::future::ready(answer::answer(&request, &site, hosts));
    axum::serve(listener, Router::new().fallback(answer)).await
}
