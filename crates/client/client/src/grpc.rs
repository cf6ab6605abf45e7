//! gRPC for tonic's clients, feature `grpc`.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, stream};
use http::HeaderMap;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use route::Fault;
use tonic::body::Body;
use tonic::{Code, Status};

use crate::body::BodyWriter;
use crate::engine::Engine;
use crate::error::Error;
use crate::response::Response;

/// A body that is ready at once and no longer is sent whole.
const MAX_WHOLE_BYTES: usize = 64 << 10;

/// Carries the calls of tonic's clients, over HTTP/3 or HTTP/2. Cheap to clone, as the engine.
///
/// A call's deadline (`grpc-timeout`) limits the time until its last message, and dropping the call or its stream of
/// replies cancels it. Its method, e.g. `/commute.v1.Bench/Echo`, is its [kind](crate::Request::kind). A call is sent
/// again only if the server cannot have acted on it. Its messages must also have been ready at once and have at most 64
/// KiB, as those of most unary calls.
///
/// Without a status from the server, the code is `DEADLINE_EXCEEDED` for the deadline and `UNAVAILABLE` if no
/// connection could be opened or one broke. It is `INTERNAL` if the server broke the protocol. The
/// [`Report`](crate::Report) of a call is among the extensions of its response.
#[derive(Clone)]
pub struct GrpcChannel {
    engine: Engine,
}

impl Engine {
    /// Creates a channel for tonic's clients. They name the server:
    /// `BenchClient::with_origin(engine.grpc(), "https://api.example".parse()?)`.
    pub fn grpc(&self) -> GrpcChannel {
        let engine = self.clone();
        GrpcChannel { engine }
    }
}

impl tower_service::Service<http::Request<Body>> for GrpcChannel {
    type Response = http::Response<Body>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Result<http::Response<Body>, Status>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(call(self.engine.clone(), request))
    }
}

impl std::fmt::Debug for GrpcChannel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GrpcChannel")
    }
}

async fn call(
    engine: Engine,
    request: http::Request<Body>,
) -> Result<http::Response<Body>, Status> {
    let (head, body) = request.into_parts();
    let mut request = engine.request(head.method, &head.uri.to_string());
    request = request.kind(head.uri.path());
    for (name, value) in &head.headers {
        request = request.header(name, value);
    }
    if let Some(limit) = deadline(&head.headers) {
        request = request.time_limit(limit);
    }
    let sent = match BufferedBody::of(body).await? {
        BufferedBody::Whole(bytes) => request.body(bytes).send().await,
        BufferedBody::Streamed(first, rest) => {
            let (request, writer) = request.streamed(None);
            engine.spawn(write(writer, first, rest));
            request.send().await
        }
    };
    Ok(answer(sent.map_err(|error| status(&error))?))
}

/// As much of a body as was ready.
enum BufferedBody {
    Whole(Bytes),
    Streamed(Bytes, Body),
}

impl BufferedBody {
    async fn of(mut body: Body) -> Result<Self, Status> {
        let mut buffered = BytesMut::new();
        while buffered.len() <= MAX_WHOLE_BYTES {
            match body.frame().now_or_never() {
                None => break,
                Some(None) => return Ok(Self::Whole(buffered.freeze())),
                Some(Some(frame)) => buffered.extend_from_slice(&data(frame?)),
            }
        }
        Ok(Self::Streamed(buffered.freeze(), body))
    }
}

/// Writes a body until its end, or until nobody takes it any more. A body that fails is not finished,
/// which ends the call.
async fn write(mut writer: BodyWriter, first: Bytes, mut rest: Body) {
    let mut next = first;
    loop {
        if !next.is_empty() && writer.write(next).await.is_err() {
            return;
        }
        let frame = tokio::select! {
            frame = rest.frame() => frame,
            () = writer.refused() => return,
        };
        next = match frame {
            Some(Ok(frame)) => data(frame),
            Some(Err(_)) => return,
            None => break,
        };
    }
    // The response, or its error, says why the end is not taken.
    writer.finish().await.ok();
}

/// Returns the data of a frame; requests have no trailers in gRPC.
fn data(frame: Frame<Bytes>) -> Bytes {
    frame.into_data().unwrap_or_default()
}

fn answer(response: Response) -> http::Response<Body> {
    let mut answer = http::Response::new(());
    *answer.status_mut() = response.status();
    answer.headers_mut().clone_from(response.headers());
    answer.extensions_mut().insert(response.report().clone());
    let frames = stream::unfold(Some(response), async |response| {
        let mut response = response?;
        match response.chunk().await {
            Ok(Some(data)) => Some((Ok(Frame::data(data)), Some(response))),
            Ok(None) => {
                let trailers = response.trailers()?.clone();
                Some((Ok(Frame::trailers(trailers)), None))
            }
            Err(error) => Some((Err(status(&error)), None)),
        }
    });
    answer.map(|()| Body::new(StreamBody::new(frames)))
}

/// Returns the status of a call that got none from the server, as gRPC's core would.
fn status(error: &Error) -> Status {
    let code = match error {
        Error::TimedOut(_) => Code::DeadlineExceeded,
        Error::Invalid(_) => Code::InvalidArgument,
        Error::Unfinished => Code::Cancelled,
        Error::Failed { fault, .. } => match fault {
            Fault::TooMany => Code::ResourceExhausted,
            Fault::Protocol | Fault::Malformed => Code::Internal,
            _ => Code::Unavailable,
        },
        _ => Code::Unavailable,
    };
    Status::new(code, error.to_string())
}

/// Parses the time limit in `grpc-timeout`: at most eight digits and a unit. Returns nothing for any other value, which
/// then limits nothing.
fn deadline(fields: &HeaderMap) -> Option<Duration> {
    let value = fields.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = value.split_at_checked(value.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(number * 3_600)),
        "M" => Some(Duration::from_secs(number * 60)),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use http_body_util::Full;

    #[test]
    fn only_a_small_body_that_is_ready_is_sent_whole() {
        let ready = |bytes: usize| Body::new(Full::new(Bytes::from(vec![0; bytes])));
        let never = stream::pending::<Result<Frame<Bytes>, Status>>();
        for (body, whole_bytes, streamed_bytes) in [
            (ready(0), Some(0), None),
            (ready(MAX_WHOLE_BYTES), Some(MAX_WHOLE_BYTES), None),
            (ready(MAX_WHOLE_BYTES + 1), None, Some(MAX_WHOLE_BYTES + 1)),
            (Body::new(StreamBody::new(never)), None, Some(0)),
        ] {
            let buffered = BufferedBody::of(body).now_or_never();
            let found = match buffered.expect("it does not wait").expect("no body fails") {
                BufferedBody::Whole(bytes) => (Some(bytes.len()), None),
                BufferedBody::Streamed(first, _) => (None, Some(first.len())),
            };
            assert_eq!(found, (whole_bytes, streamed_bytes));
        }
    }

    #[test]
    fn deadlines_in_every_unit() {
        let of = |value: &'static str| {
            let value = HeaderValue::from_static(value);
            deadline(&HeaderMap::from_iter([(
                "grpc-timeout".parse().unwrap(),
                value,
            )]))
        };
        for (value, ms) in [("2H", 7_200_000), ("3M", 180_000), ("4S", 4_000), ("5m", 5)] {
            assert_eq!(of(value), Some(Duration::from_millis(ms)), "{value}");
        }
        assert_eq!(of("6u"), Some(Duration::from_micros(6)));
        assert_eq!(of("99999999n"), Some(Duration::from_nanos(99_999_999)));
        for wrong in [
            "",
            "S",
            "1",
            "1s",
            "+1S",
            "-1S",
            "1.5S",
            "999999999S",
            "1 S",
        ] {
            assert_eq!(of(wrong), None, "{wrong:?}");
        }
    }
}
