//! The engine's side of a socket: requests in, responses out, one after another.

mod answer;

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use client::{BodyWriter, Engine, Error, Progress, Report, Request, Response};
use http::header::{CONNECTION, EXPECT, HOST, TE, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName};

use crate::end::{End, Kind};
use crate::http1::{self, Body, Head, Malformed};
use crate::pipe::{Closed, EngineEnd};

/// Bodies up to this length are held, so that the engine can send them again.
const HELD_BODY: u64 = 64 << 10;

/// Where a socket leads.
pub(crate) struct Door {
    /// Kept alive by requests under way, not by an idle socket.
    pub(crate) engine: Weak<Engine>,
    /// `https://host:port`, without the port if it is 443.
    pub(crate) origin: String,
    pub(crate) news: Arc<Mutex<News>>,
}

/// What both ends know of a socket's requests.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// How long the next request may wait for a connection. OkHttp's pool passes sockets from call to call.
    pub(crate) connect_limit: Option<Duration>,
    /// How the last response came; none while the next one is awaited.
    pub(crate) facts: Option<Facts>,
    /// How the request under way fares.
    pub(crate) progress: Progress,
    /// When the engine was asked for it.
    pub(crate) asked: Option<Instant>,
    /// How the connection was opened that the first request will take.
    pub(crate) opened: Option<Report>,
}

impl News {
    fn begin(&mut self, progress: &Progress) {
        (self.facts, self.progress) = (None, progress.clone());
    }

    fn answered(&mut self, report: Report, chunked_here: bool) {
        self.facts = Some(self.facts_of(report, chunked_here));
        self.opened = None;
    }

    /// Makes of the client's report what the app is told. Opening the connection is part of the request that
    /// takes it first.
    pub(crate) fn facts_of(&self, mut report: Report, chunked_here: bool) -> Facts {
        let mut asked = self.asked;
        if let Some(opened) = &self.opened
            && opened.connection == report.connection
        {
            asked = Some(opened.asked);
            report.include_opening(opened);
        }
        Facts {
            report,
            asked,
            chunked_here,
        }
    }
}

/// How a response came.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) report: Report,
    /// When the engine was asked.
    pub(crate) asked: Option<Instant>,
    /// Whether the response is chunked although the server's was not.
    pub(crate) chunked_here: bool,
}

/// Why a socket ends.
enum Stop {
    /// The app closed it.
    Closed,
    With(End),
}

/// Serves one socket until either end closes it.
pub(crate) async fn serve(door: Door, pipe: EngineEnd<End>) {
    let mut connection = Connection {
        door,
        pipe: &pipe,
        unread: BytesMut::new(),
    };
    let stop = connection.run().await;
    drop(connection);
    if let Err(Stop::With(end)) = stop {
        pipe.end(end);
    }
}

struct Connection<'a> {
    door: Door,
    pipe: &'a EngineEnd<End>,
    unread: BytesMut,
}

impl Connection<'_> {
    async fn run(&mut self) -> Result<(), Stop> {
        self.connect().await?;
        loop {
            let head = self.head().await?;
            self.exchange(head).await?;
        }
    }

    /// Opens a connection, so that what fails there fails for the app while it connects.
    async fn connect(&mut self) -> Result<(), Stop> {
        let engine = self.engine()?;
        let opened = engine.connect(&self.door.origin);
        let limit = self.news().connect_limit;
        let connected = tokio::select! {
            connected = opened => connected?,
            () = within(limit) => return Err(Stop::connect_timed_out()),
            () = self.pipe.closed() => return Err(Stop::Closed),
        };
        if !connected.report.reused {
            self.news().opened = Some(connected.report);
        }
        self.pipe.connected();
        Ok(())
    }

    async fn head(&mut self) -> Result<Head, Stop> {
        loop {
            if let Some(head) = http1::request_head(&mut self.unread)? {
                return Ok(head);
            }
            self.pipe.read(&mut self.unread).await?;
        }
    }

    async fn exchange(&mut self, head: Head) -> Result<(), Stop> {
        let engine = self.engine()?;
        let progress = Progress::default();
        self.news().begin(&progress);
        let method = head.method.clone();
        let request = self.request(&engine, &head, &progress)?;
        if head.expects_continue {
            self.pipe.write(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        let response = match head.body.length() {
            Some(length) if length <= HELD_BODY => {
                let body = self.held(head.body).await?;
                let sent = self.sent(request.body(body));
                tokio::select! {
                    response = sent => response?,
                    () = self.pipe.closed() => return Err(Stop::Closed),
                }
            }
            length => {
                let (request, writer) = request.streamed(length);
                self.streamed(head.body, request, writer).await?
            }
        };
        self.answer(engine, &method, response).await?;
        self.news().progress = Progress::default();
        Ok(())
    }

    fn engine(&self) -> Result<Arc<Engine>, Stop> {
        self.door.engine.upgrade().ok_or(Stop::With(End::default()))
    }

    fn news(&self) -> MutexGuard<'_, News> {
        self.door
            .news
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn request(&self, engine: &Engine, head: &Head, progress: &Progress) -> Result<Request, Stop> {
        if !head.target.starts_with('/') {
            return Err(Malformed("the target is not a path").into());
        }
        let url = format!("{}{}", self.door.origin, head.target);
        let request = engine.request(head.method.clone(), &url);
        let mut request = request.progress(progress);
        if let Some(limit) = self.news().connect_limit {
            request = request.connect_limit(limit);
        }
        for (name, value) in &head.headers {
            if is_end_to_end(name, &head.headers) {
                request = request.header(name, value);
            }
        }
        Ok(request)
    }

    /// Reads a whole body.
    async fn held(&mut self, mut body: Body) -> Result<Bytes, Stop> {
        let mut held = BytesMut::new();
        while !body.is_at_end() {
            match body.take(&mut self.unread)? {
                Some(data) if held.is_empty() && body.is_at_end() => return Ok(data),
                Some(data) => held.extend_from_slice(&data),
                None => self.pipe.read(&mut self.unread).await?,
            }
        }
        Ok(held.freeze())
    }

    /// Sends a request and its body at the same time. If the response comes early, the rest of the
    /// body is read nevertheless: OkHttp reads no response before it has written the request.
    async fn streamed(
        &mut self,
        body: Body,
        request: Request,
        writer: BodyWriter,
    ) -> Result<Response, Stop> {
        let mut sent = pin!(self.sent(request));
        let mut upload = pin!(upload(body, &mut self.unread, self.pipe, writer));
        let mut response = None;
        let mut uploaded = false;
        loop {
            tokio::select! {
                answer = &mut sent, if response.is_none() => response = Some(answer?),
                done = &mut upload, if !uploaded => { done?; uploaded = true; }
                () = self.pipe.closed() => return Err(Stop::Closed),
            }
            if uploaded && let Some(response) = response.take() {
                return Ok(response);
            }
        }
    }

    /// Sends the request, and notes when.
    fn sent(&self, request: Request) -> impl Future<Output = Result<Response, Error>> + use<> {
        self.news().asked = Some(Instant::now());
        request.send()
    }
}

/// Comes true after this time, if there is one.
async fn within(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

async fn upload(
    mut body: Body,
    unread: &mut BytesMut,
    pipe: &EngineEnd<End>,
    writer: BodyWriter,
) -> Result<(), Stop> {
    let mut writer = Some(writer);
    while !body.is_at_end() {
        let Some(data) = body.take(unread)? else {
            if !body.is_at_end() {
                pipe.read(unread).await?;
            }
            continue;
        };
        if let Some(open) = &mut writer
            && open.write(data).await.is_err()
        {
            // The response, or its error, says why no more is taken.
            writer = None;
        }
    }
    if let Some(writer) = writer {
        writer.finish().await.ok();
    }
    Ok(())
}

/// Whether a field is for the server rather than for this connection (RFC 9110 section 7.6.1).
fn is_end_to_end(name: &HeaderName, headers: &HeaderMap) -> bool {
    let hop = [HOST, CONNECTION, TRANSFER_ENCODING, UPGRADE, EXPECT];
    if hop.contains(name)
        || matches!(
            name.as_str(),
            "keep-alive" | "proxy-connection" | "http2-settings"
        )
    {
        return false;
    }
    if name == TE {
        return headers.get(TE).is_some_and(|value| value == "trailers");
    }
    let options = headers.get_all(CONNECTION).iter();
    let mut options = options
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    !options.any(|option| option.trim().eq_ignore_ascii_case(name.as_str()))
}

impl Stop {
    fn connect_timed_out() -> Self {
        let why = "no connection within the connect time-out";
        Self::With(End::new(Kind::ConnectTimedOut, why))
    }
}

impl From<Closed> for Stop {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}

impl From<Malformed> for Stop {
    fn from(Malformed(why): Malformed) -> Self {
        Self::With(End::new(Kind::Unavailable, why))
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::With(error.into())
    }
}

#[cfg(test)]
mod tests;
