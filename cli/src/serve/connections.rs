//! Sockets: bounded in number, in the size of headers, and in the time that a client may take; closed in order at the end.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::sync::Semaphore;
use wordloom::transformer::Cancel;

use super::super::notice;
use super::api::Peer;

/// Number of open connections; others wait until one is closed.
const MOST_CONNECTIONS: usize = 1024;
/// Time for a request's headers to arrive, and of an idle connection.
const HEADER_TIME: Duration = Duration::from_secs(30);
/// Bytes of a request's headers.
const HEADER_BYTES: usize = 64 << 10;
/// Time for running requests to finish when the server stops.
const FINISH_TIME: Duration = Duration::from_secs(60);
/// Time between two looks at the wish to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Serves until `stop` is cancelled. Then no connection is accepted, and running requests are finished.
pub async fn serve(listener: TcpListener, router: Router, stop: Cancel) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEADER_TIME).max_buf_size(HEADER_BYTES);
    loop {
        let accepted = async {
            let permit = room.clone().acquire_owned().await;
            (permit, listener.accept().await)
        };
        let Some((permit, accepted)) = unless(&stop, accepted).await else { break };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                notice(&format!("warning: a connection was not accepted: {error}"));
                tokio::time::sleep(Duration::from_millis(200)).await; // too many open files, perhaps
                continue;
            }
        };
        let _ = stream.set_nodelay(true); // an error only costs speed
        let peer = Peer(address.ip().to_canonical());
        let service = TowerToHyperService::new(router.clone().layer(Extension(peer)));
        let connection = graceful.watch(server.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            let _permit = permit;
            let _ = connection.await; // a client that breaks the protocol gets its answer from hyper
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(FINISH_TIME, graceful.shutdown()).await; // what is not done by then is cut off
    Ok(())
}

/// The result of a future; `None` if the wish to stop comes first.
async fn unless<T>(stop: &Cancel, future: impl Future<Output = T>) -> Option<T> {
    tokio::pin!(future);
    loop {
        if stop.is_cancelled() {
            return None;
        }
        if let Ok(done) = tokio::time::timeout(LOOK, &mut future).await {
            return Some(done);
        }
    }
}
