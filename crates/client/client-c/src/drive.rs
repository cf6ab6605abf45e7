//! Runs a call on the engine's thread: sends the request and forwards both bodies.

use std::time::Duration;

use client::{BodyWriter, Connected, Fault, Phase, Progress, Request, Response};
use http::{HeaderMap, Method};

use crate::abi::cm_status;
use crate::call::{Call, Failure, Head};

/// The arguments of a request, copied from the caller's memory.
pub(crate) struct RequestArgs {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) headers: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) body: Upload,
    pub(crate) expect_bytes: u64,
    pub(crate) label: Option<String>,
    pub(crate) replayable: bool,
    pub(crate) urgent: bool,
    /// None: the engine's setting.
    pub(crate) early_data: Option<bool>,
    pub(crate) resends: bool,
    pub(crate) limit_ms: u32,
    pub(crate) connect_ms: u32,
    pub(crate) first_byte_ms: u32,
    pub(crate) idle_ms: u32,
}

/// The body of a request.
pub(crate) enum Upload {
    Whole(Vec<u8>),
    Streamed(Option<u64>),
}

/// Sets a limit of a request.
type SetLimit = fn(Request, Duration) -> Request;

/// Creates the client's request, and the writer of a streamed body.
pub(crate) fn request(
    client: &client::Engine,
    args: RequestArgs,
    progress: &Progress,
) -> (Request, Option<BodyWriter>) {
    let request = client.request(args.method, &args.url);
    let mut request = request.progress(progress).resends(args.resends);
    for (name, value) in args.headers {
        request = request.header(name, value);
    }
    if let Some(label) = &args.label {
        request = request.kind(label);
    }
    if args.expect_bytes > 0 {
        request = request.expect_bytes(args.expect_bytes);
    }
    if args.replayable {
        request = request.idempotent(true);
    }
    if args.urgent {
        request = request.urgent();
    }
    if let Some(early_data) = args.early_data {
        request = request.early_data(early_data);
    }
    let limits: [(u32, SetLimit); 4] = [
        (args.limit_ms, Request::time_limit),
        (args.connect_ms, Request::connect_limit),
        (args.first_byte_ms, Request::first_byte_limit),
        (args.idle_ms, Request::idle_limit),
    ];
    for (ms, limit) in limits.into_iter().filter(|(ms, _)| *ms > 0) {
        request = limit(request, Duration::from_millis(ms.into()));
    }
    match args.body {
        Upload::Whole(body) => (request.body(body), None),
        Upload::Streamed(length) => {
            let (request, writer) = request.streamed(length);
            (request, Some(writer))
        }
    }
}

/// Runs a call to its end.
pub(crate) async fn drive(call: &Call, request: Request, writer: Option<BodyWriter>) {
    tokio::select! {
        biased;
        () = call.ended() => {}
        end = exchange(call, request, writer) => call.end(end),
    }
}

/// Runs a call that only opens a connection.
pub(crate) async fn connect(
    call: &Call,
    connected: impl Future<Output = Result<Connected, client::Error>>,
) {
    tokio::select! {
        biased;
        () = call.ended() => {}
        end = connected => call.end(end.map(drop).map_err(Failure::from)),
    }
}

/// Passes both bodies on.
async fn exchange(
    call: &Call,
    request: Request,
    writer: Option<BodyWriter>,
) -> Result<(), Failure> {
    match writer {
        None => receive(request, call).await,
        Some(writer) => tokio::select! {
            biased;
            end = receive(request, call) => end,
            error = send(writer, call) => Err(Failure {
                // The server may already have as many bytes as the request announced.
                may_have_acted: true,
                ..error.into()
            }),
        },
    }
}

/// Passes the request's body on. Returns only with an error that the response would not show.
async fn send(writer: BodyWriter, call: &Call) -> client::Error {
    match write(writer, call).await {
        Ok(()) | Err(client::Error::BodyNotTaken) => std::future::pending().await,
        Err(error) => error,
    }
}

async fn write(mut writer: BodyWriter, call: &Call) -> Result<(), client::Error> {
    while let Some(piece) = call.next_piece().await {
        writer.write(piece).await?;
    }
    writer.finish().await
}

/// Passes the response on.
async fn receive(request: Request, call: &Call) -> Result<(), Failure> {
    if !call.begin() {
        // The caller notices that the call has ended.
        return std::future::pending().await;
    }
    let sent = request.send().await;
    let mut response = sent.map_err(|error| failure(error, call))?;
    call.set_head(head(&response));
    loop {
        call.room().await;
        match response.chunk().await? {
            Some(piece) => call.receive(piece),
            None => break,
        }
    }
    call.set_trailers(response.trailers().map(lines).unwrap_or_default());
    Ok(())
}

/// Converts the error of a call without a response. A limit may have passed before anything was sent.
fn failure(error: client::Error, call: &Call) -> Failure {
    let timed_out = matches!(error, client::Error::TimedOut(_));
    let mut failure = Failure::from(error);
    if timed_out {
        failure.may_have_acted &= call.progress.report().is_some();
    }
    failure
}

fn head(response: &Response) -> Head {
    Head {
        status: response.status().as_u16(),
        fields: lines(response.headers()),
    }
}

/// Returns the fields as lines `name: value`. Neither names nor values have line breaks (RFC 9110 section 5.5).
fn lines(fields: &HeaderMap) -> Vec<u8> {
    let mut lines = Vec::new();
    for (name, value) in fields {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            lines.extend_from_slice(part);
        }
    }
    lines
}

impl From<client::Error> for Failure {
    fn from(error: client::Error) -> Self {
        let (status, may_have_acted) = match &error {
            client::Error::Invalid(_) => (cm_status::CM_E_ARGUMENT, false),
            client::Error::Failed {
                fault,
                may_have_acted,
            } => (of_fault(*fault), *may_have_acted),
            client::Error::TimedOut(phase) => (cm_status::CM_E_TIMEOUT, *phase != Phase::Connect),
            client::Error::FallBack(_) => (cm_status::CM_E_PLAIN, false),
            client::Error::Ended => (cm_status::CM_E_CLOSED, true),
            // What is wrong with a streamed body, and what later versions know.
            _ => (cm_status::CM_E_RESET, true),
        };
        Self {
            status,
            may_have_acted,
            text: error.to_string(),
        }
    }
}

fn of_fault(fault: Fault) -> cm_status {
    match fault {
        Fault::Name => cm_status::CM_E_NAME,
        Fault::Connect => cm_status::CM_E_CONNECT,
        Fault::Handshake => cm_status::CM_E_TLS,
        Fault::Certificate => cm_status::CM_E_CERTIFICATE,
        Fault::Reset => cm_status::CM_E_RESET,
        Fault::Protocol | Fault::Malformed | Fault::Http11Required => cm_status::CM_E_PROTOCOL,
        Fault::HeadTooLarge => cm_status::CM_E_ARGUMENT,
        Fault::Offline => cm_status::CM_E_OFFLINE,
        Fault::TooMany => cm_status::CM_E_TOO_MANY,
    }
}
