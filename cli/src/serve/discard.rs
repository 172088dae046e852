//! Bodies that are answered unread, such as too large ones and those for an address that is not there. Were the connection closed while
//! its client sends, many clients would report that, and not the answer.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Time for the rest of a body.
const TIME: Duration = Duration::from_secs(30);
/// Time without a byte after which none is waited for.
const PAUSE: Duration = Duration::from_secs(2);

/// Answers when the body was read to its end, or its rest is too long.
///
/// * `most`: bytes that are read and discarded
pub async fn discard(State(most): State<u64>, request: Request, next: Next) -> Response {
    // it sends its body when it is asked for it
    let waits = request.headers().contains_key(header::EXPECT);
    let (back, mut rest) = oneshot::channel();
    let response = next.run(request.map(|body| Body::new(Lent { body, back: Some(back) }))).await;
    if let (false, Ok(body)) = (waits, rest.try_recv()) {
        let _ = timeout(TIME, read(body, most)).await; // then the rest is cut off
    }
    response
}

async fn read(mut body: Body, most: u64) {
    let mut left = most;
    while !body.is_end_stream() && body.size_hint().lower() <= left {
        let next = poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        let Ok(Some(Ok(frame))) = timeout(PAUSE, next).await else { return };
        let Some(fewer) = left.checked_sub(frame.data_ref().map_or(0, Bytes::len) as u64) else { return };
        left = fewer;
    }
}

/// A body that comes back when it is dropped, as far as it was not read.
struct Lent {
    body: Body,
    /// `None` once it was dropped.
    back: Option<oneshot::Sender<Body>>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(back) = self.back.take() {
            let _ = back.send(std::mem::take(&mut self.body)); // the request may be over
        }
    }
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
