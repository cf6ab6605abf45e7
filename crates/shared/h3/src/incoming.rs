//! Unidirectional streams of a client, before h3 gets them.
//!
//! h3 0.0.8 keeps the streams of QPACK instructions without reading them. Here they are read, and only the others are
//! passed on.

use std::task::{Context, Poll};

use h3::quic::{ConnectionErrorIncoming, RecvStream as _, StreamErrorIncoming};

use crate::control::Kind;
use crate::recv::RecvStream;
use crate::refused::Refused;

/// The open unidirectional streams that h3 does not have.
#[derive(Default)]
pub(crate) struct Incoming {
    /// Streams whose type has not come.
    untyped: Vec<RecvStream>,
    encoder: Option<RecvStream>,
    decoder: Option<RecvStream>,
}

impl Incoming {
    /// Adds a stream that was accepted.
    pub(crate) fn add(&mut self, stream: RecvStream) {
        self.untyped.push(stream);
    }

    /// Reads what has come. Returns the next stream that is for h3.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<RecvStream, ConnectionErrorIncoming>> {
        let mut at = 0;
        let mut found = None;
        while found.is_none() && at < self.untyped.len() {
            let kind = match self.untyped[at].poll_kind(cx) {
                Poll::Pending => {
                    at += 1;
                    continue;
                }
                Poll::Ready(kind) => kind,
            };
            let mut stream = self.untyped.swap_remove(at);
            let place = match kind {
                Ok(Some(Kind::Encoder)) => &mut self.encoder,
                Ok(Some(Kind::Decoder)) => &mut self.decoder,
                Ok(Some(Kind::Other)) => {
                    found = Some(stream);
                    continue;
                }
                // RFC 9114 section 6.2: a stream may end before its type.
                Ok(None) => continue,
                Err(error) => {
                    connection_error(error)?;
                    continue;
                }
            };
            if place.is_some() {
                connection_error(stream.refuse(Refused::SecondStream))?;
            }
            *place = Some(stream);
        }
        for place in [&mut self.encoder, &mut self.decoder] {
            read(place, cx)?;
        }
        found.map_or(Poll::Pending, |stream| Poll::Ready(Ok(stream)))
    }
}

/// Reads what has come of a stream whose bytes are only checked.
fn read(
    place: &mut Option<RecvStream>,
    cx: &mut Context<'_>,
) -> Result<(), ConnectionErrorIncoming> {
    let Some(stream) = place else {
        return Ok(());
    };
    loop {
        match stream.poll_data(cx) {
            Poll::Ready(Ok(Some(_))) => {}
            // The place stays taken, for no second stream may follow.
            Poll::Ready(Ok(None)) | Poll::Pending => return Ok(()),
            Poll::Ready(Err(error)) => return connection_error(error),
        }
    }
}

/// Returns an error of the connection. Those of a stream concern its client only.
fn connection_error(error: StreamErrorIncoming) -> Result<(), ConnectionErrorIncoming> {
    match error {
        StreamErrorIncoming::ConnectionErrorIncoming { connection_error } => Err(connection_error),
        _ => Ok(()),
    }
}
