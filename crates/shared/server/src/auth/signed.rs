//! Bodies and streams that are checked as they arrive.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use bytes::Bytes;
use futures_util::{Stream, TryStreamExt};
use http_body::{Body as HttpBody, Frame, SizeHint};
use sha2::{Digest, Sha256};
use sign::{Chunks, Refusal, Verified};
use tonic::Status;

use crate::accounting::RequestAccounting;
use crate::clock::monotonic_ns;
use crate::scheme::{AuthScheme, Forged};

/// A flag and the length, before each gRPC message.
const GRPC_HEAD_BYTES: usize = 5;

/// A request's body that fails at its end if its digest is not the signed one.
pub(super) struct SignedBody {
    body: Body,
    /// None once it was made.
    check: Option<BodyCheck>,
    accounting: RequestAccounting,
}

struct BodyCheck {
    verified: Verified,
    sha: Sha256,
    /// Bytes digested.
    bytes: u64,
    /// Over gRPC, what has arrived of the head of the one message, which is not signed.
    grpc_head: Option<Vec<u8>>,
}

impl BodyCheck {
    fn add(&mut self, mut data: &[u8]) {
        if let Some(head) = &mut self.grpc_head {
            let missing = GRPC_HEAD_BYTES - head.len();
            let (more, rest) = data.split_at(missing.min(data.len()));
            head.extend_from_slice(more);
            data = rest;
        }
        self.bytes += data.len() as u64;
        self.sha.update(data);
    }

    fn finish(self) -> Result<(), Refusal> {
        // Otherwise what is decoded could be less than what is signed.
        if let Some(head) = self.grpc_head {
            let whole = [&[0], &(self.bytes as u32).to_be_bytes()[..]].concat();
            if head != whole {
                return Err(Refusal::Digest);
            }
        }
        self.verified.check_body(&self.sha.finalize().into())
    }
}

impl HttpBody for SignedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx)).transpose()?;
        let start_ns = monotonic_ns();
        let this = &mut *self;
        match frame.as_ref().and_then(Frame::data_ref) {
            Some(data) => {
                if let Some(check) = &mut this.check {
                    check.add(data);
                    this.accounting.add_verify_time(start_ns);
                }
            }
            // The end, or trailers, after which a reader may not ask again.
            None => {
                if let Some(check) = this.check.take() {
                    let checked = check.finish();
                    this.accounting.add_verify_time(start_ns);
                    if let Err(refusal) = checked {
                        return Poll::Ready(Some(Err(this.forged(refusal))));
                    }
                    this.accounting.record_auth(AuthScheme::Hmac);
                }
            }
        }
        Poll::Ready(frame.map(Ok))
    }

    /// Reports whether the body has ended and was checked. No part of it may be left out before the check.
    fn is_end_stream(&self) -> bool {
        self.check.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl SignedBody {
    /// Wraps a body whose head is verified; over gRPC that of a call with one message.
    pub(super) fn new(
        body: Body,
        verified: Verified,
        grpc: bool,
        accounting: RequestAccounting,
    ) -> Self {
        Self {
            body,
            check: Some(BodyCheck {
                verified,
                sha: Sha256::new(),
                bytes: 0,
                grpc_head: grpc.then(Vec::new),
            }),
            accounting,
        }
    }

    /// Returns the error that makes the reader, tonic or a route, give the right answer.
    fn forged(&self, refusal: Refusal) -> axum::Error {
        match self.accounting.is_grpc() {
            true => axum::Error::new(unauthenticated(&refusal)),
            false => axum::Error::new(Forged(refusal)),
        }
    }
}

fn unauthenticated(refusal: &Refusal) -> Status {
    Status::unauthenticated(refusal.to_string())
}

/// The data of a client stream's chunks. Of a signed stream, each is returned once its code is verified,
/// which takes knowing whether another follows.
pub(crate) struct SignedChunks<S> {
    stream: S,
    accounting: RequestAccounting,
    signed: Option<Signed>,
}

struct Signed {
    codes: Chunks,
    next: Option<Chunk>,
}

/// A chunk's data and code.
type Chunk = (Bytes, Bytes);

impl<S: Stream<Item = Result<Chunk, Status>> + Unpin> SignedChunks<S> {
    /// Starts to read a stream; `verified` is what the request's extensions hold if it is signed.
    pub(crate) async fn begin(
        mut stream: S,
        verified: Option<&Verified>,
        accounting: RequestAccounting,
    ) -> Result<Self, Status> {
        let signed = match verified {
            None => None,
            Some(verified) => {
                // A stream without chunks has no code of a last one.
                let first = stream.try_next().await?;
                let first = first.ok_or_else(|| unauthenticated(&Refusal::Chunk(0)))?;
                Some(Signed {
                    codes: Chunks::new(&verified.key, verified.mac),
                    next: Some(first),
                })
            }
        };
        Ok(Self {
            stream,
            accounting,
            signed,
        })
    }

    /// Returns the data of the next chunk.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Status> {
        let Some(signed) = &mut self.signed else {
            return Ok(self.stream.try_next().await?.map(|(data, _)| data));
        };
        let Some((data, code)) = signed.next.take() else {
            return Ok(None);
        };
        signed.next = self.stream.try_next().await?;
        let last = signed.next.is_none();
        let start_ns = monotonic_ns();
        let verified = signed.codes.verify(&data, last, &code);
        self.accounting.add_verify_time(start_ns);
        verified.map_err(|refusal| unauthenticated(&refusal))?;
        if last {
            self.accounting.record_auth(AuthScheme::Hmac);
        }
        Ok(Some(data))
    }
}
