//! The gRPC service of `proto/commute/v1/echo.proto`.
//!
//! Content enters the request's account here, without gRPC's framing: of `Echo` and `Chat`
//! the encoded messages, of `Download` and `Upload` the file's bytes.

use std::pin::Pin;

use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use prost::Message;
use sha2::{Digest, Sha256};
use tonic::{Request, Response, Status, Streaming};
use wire::v1::bench_server;
use wire::v1::{Chunk, DownloadRequest, EchoReply, EchoRequest, UploadReply};

use crate::account::Account;
use crate::files::FileBody;

/// The service.
pub(crate) struct Bench {
    file_bytes: u64,
}

impl Bench {
    /// Files have at most `file_bytes`.
    pub(crate) fn new(file_bytes: u64) -> Self {
        Self { file_bytes }
    }
}

type Replies<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl bench_server::Bench for Bench {
    async fn echo(&self, request: Request<EchoRequest>) -> Result<Response<EchoReply>, Status> {
        let account = account(&request)?;
        Ok(Response::new(echo(&account, request.into_inner())))
    }

    type DownloadStream = Replies<Chunk>;

    async fn download(
        &self,
        request: Request<DownloadRequest>,
    ) -> Result<Response<Replies<Chunk>>, Status> {
        let account = account(&request)?;
        let request = request.into_inner();
        account.received(&request.encode_to_vec());
        if request.bytes > self.file_bytes {
            let text = format!("files have at most {} bytes", self.file_bytes);
            return Err(Status::out_of_range(text));
        }
        let pieces = stream::iter(FileBody::new(0..request.bytes)).map(move |data| {
            account.sent(&data);
            Ok(Chunk { data })
        });
        Ok(Response::new(pieces.boxed()))
    }

    async fn upload(
        &self,
        request: Request<Streaming<Chunk>>,
    ) -> Result<Response<UploadReply>, Status> {
        let account = account(&request)?;
        let mut chunks = request.into_inner();
        let mut bytes = 0;
        let mut sha = Sha256::new();
        while let Some(Chunk { data }) = chunks.try_next().await? {
            account.received(&data);
            bytes += data.len() as u64;
            sha.update(&data);
        }
        let reply = UploadReply {
            bytes,
            sha256: wire::hex(&sha.finalize()),
        };
        account.sent(&reply.encode_to_vec());
        Ok(Response::new(reply))
    }

    type ChatStream = Replies<EchoReply>;

    async fn chat(
        &self,
        request: Request<Streaming<EchoRequest>>,
    ) -> Result<Response<Replies<EchoReply>>, Status> {
        let account = account(&request)?;
        let replies = request
            .into_inner()
            .map_ok(move |message| echo(&account, message));
        Ok(Response::new(replies.boxed()))
    }
}

fn echo(account: &Account, message: EchoRequest) -> EchoReply {
    account.received(&message.encode_to_vec());
    let reply = EchoReply::from(wire::Echo::from(message));
    account.sent(&reply.encode_to_vec());
    reply
}

fn account<T>(request: &Request<T>) -> Result<Account, Status> {
    // A client that speaks gRPC without its content type gets here without an account
    // that the service could enter into; tonic has answered it before.
    request
        .extensions()
        .get()
        .cloned()
        .ok_or_else(|| Status::internal("request has no account"))
}
