//! HTTP/3, and gRPC if someone should speak it there, on one QUIC connection.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::error::StreamError;
use h3::server::RequestStream;
use h3_quic::{AcceptedRequests, Connection, RecvStream, SendStream};
use http::Response;
use http_body::{Body, Frame};
use quinn::VarInt;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::account::{Ledger, Outgoing};
use crate::connection::{Shared, idle};
use crate::early::EarlyStreams;

/// Serves requests until the client leaves, all rests too long, or the server drains.
pub(crate) async fn serve(
    quic: quinn::Connection,
    early: &EarlyStreams,
    ledger: &Ledger,
    shared: &Arc<Shared>,
) {
    let (connection, accepted) = Connection::with_accepted_requests(quic.clone());
    let mut builder = h3::server::builder();
    builder.max_field_section_size(shared.limits.header_bytes.into());
    let Ok(mut h3) = builder.build::<_, Bytes>(connection).await else {
        return;
    };
    let requests = TaskTracker::new();
    let mut winding_up = false;
    let rested = || idle(&ledger.activity, shared.limits.idle_time);
    loop {
        let next = tokio::select! {
            next = h3.accept() => next,
            () = shared.draining.cancelled(), if !winding_up => {
                winding_up = true;
                // GOAWAY: what is begun is finished, the rest is refused.
                if h3.shutdown(0).await.is_err() {
                    return;
                }
                requests.close();
                continue;
            }
            () = requests.wait(), if winding_up => break,
            () = rested() => break,
        };
        match next {
            Ok(Some(resolver)) => {
                let exchange = Exchange {
                    accepted: accepted.clone(),
                    early: early.clone(),
                    ledger: ledger.clone(),
                    shared: shared.clone(),
                }
                .run(resolver);
                let killed = shared.killed.clone();
                requests.spawn(async move { killed.run_until_cancelled(exchange).await });
            }
            // The client asks for nothing more.
            Ok(None) => {
                requests.close();
                tokio::select! {
                    () = requests.wait() => break,
                    () = rested() => break,
                }
            }
            Err(_) => return,
        }
    }
    quic.close(NO_ERROR, b"");
}

type Resolver = h3::server::RequestResolver<Connection, Bytes>;

/// One request and its response.
struct Exchange {
    accepted: AcceptedRequests,
    early: EarlyStreams,
    ledger: Ledger,
    shared: Arc<Shared>,
}

impl Exchange {
    async fn run(self, resolver: Resolver) {
        let header_time = self.shared.limits.header_time;
        // Too slow or malformed: h3, or the drop of the stream, has told the client.
        let Ok(Ok((request, stream))) = timeout(header_time, resolver.resolve_request()).await
        else {
            return;
        };
        let Some(facts) = self.accepted.take(stream.id()) else {
            return;
        };
        let early = self.early.contains(stream.id().into_inner());
        let (mut send, recv) = stream.split();
        let request = request.map(|()| RequestBody {
            stream: recv,
            data_ended: false,
        });
        let mut delivered = pin!(facts.delivery.wait());
        let response = tokio::select! {
            response = self.shared.answer(request, &self.ledger, early, None) => response,
            // The client wants no answer any more.
            _ = &mut delivered => return,
        };
        let (head, mut body) = response.into_parts();
        if respond(&mut send, Response::from_parts(head, ()), &mut body)
            .await
            .is_err()
        {
            body.broke();
            return;
        }
        drop(body);
        // A drain must not close the connection over data that is still under way.
        delivered.await;
    }
}

async fn respond(
    send: &mut RequestStream<SendStream<Bytes>, Bytes>,
    head: Response<()>,
    body: &mut Outgoing,
) -> Result<(), Broken> {
    send.send_response(head).await?;
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
        match frame?.into_data() {
            Ok(data) => send.send_data(data).await?,
            Err(frame) => {
                if let Ok(trailers) = frame.into_trailers() {
                    send.send_trailers(trailers).await?;
                }
            }
        }
    }
    Ok(send.finish().await?)
}

/// Why a response was not sent whole; which of the two, nobody asks.
struct Broken;

impl From<StreamError> for Broken {
    fn from(_: StreamError) -> Self {
        Self
    }
}

impl From<axum::Error> for Broken {
    fn from(_: axum::Error) -> Self {
        Self
    }
}

/// A request's body as it comes off its stream.
struct RequestBody {
    stream: RequestStream<RecvStream, Bytes>,
    data_ended: bool,
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = StreamError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StreamError>>> {
        if !self.data_ended {
            if let Some(mut data) = ready!(self.stream.poll_recv_data(cx))? {
                let data = data.copy_to_bytes(data.remaining());
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            self.data_ended = true;
        }
        let trailers = ready!(self.stream.poll_recv_trailers(cx))?;
        Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers))))
    }
}

/// H3_NO_ERROR, RFC 9114 section 8.1.
pub(crate) const NO_ERROR: VarInt = VarInt::from_u32(0x100);
