//! The gRPC service of `proto/commute/v1/echo.proto`.
//!
//! The service adds the content to the request's accounting itself, without gRPC's framing. The
//! content is the encoded messages of `Echo` and `Chat`, and the file's bytes of `Download` and
//! `Upload`.

use std::pin::Pin;

use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use messages::v1::bench_server;
use messages::v1::{Chunk, DownloadRequest, EchoReply, EchoRequest, UploadReply};
use prost::Message;
use sha2::{Digest, Sha256};
use tonic::{Request, Response, Status, Streaming};

use crate::accounting::RequestAccounting;
use crate::auth::SignedChunks;
use crate::files::FileBody;

/// The service `commute.v1.Bench`.
pub(crate) struct Bench {
    max_file_bytes: u64,
}

impl Bench {
    pub(crate) fn new(max_file_bytes: u64) -> Self {
        Self { max_file_bytes }
    }
}

type Replies<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl bench_server::Bench for Bench {
    async fn echo(&self, request: Request<EchoRequest>) -> Result<Response<EchoReply>, Status> {
        let accounting = accounting(&request)?;
        Ok(Response::new(echo(&accounting, request.into_inner())))
    }

    type DownloadStream = Replies<Chunk>;

    async fn download(
        &self,
        request: Request<DownloadRequest>,
    ) -> Result<Response<Replies<Chunk>>, Status> {
        let accounting = accounting(&request)?;
        let request = request.into_inner();
        accounting.add_received(&request.encode_to_vec());
        if request.bytes > self.max_file_bytes {
            let text = format!("files have at most {} bytes", self.max_file_bytes);
            return Err(Status::out_of_range(text));
        }
        let chunks = stream::iter(FileBody::new(0..request.bytes)).map(move |data| {
            accounting.add_sent(&data);
            Ok(Chunk {
                data,
                ..Chunk::default()
            })
        });
        Ok(Response::new(chunks.boxed()))
    }

    async fn upload(
        &self,
        request: Request<Streaming<Chunk>>,
    ) -> Result<Response<UploadReply>, Status> {
        let accounting = accounting(&request)?;
        let verified = request.extensions().get().cloned();
        let chunks = request.into_inner();
        let chunks = chunks.map_ok(|Chunk { data, code }| (data, code));
        let mut chunks = SignedChunks::begin(chunks, verified.as_ref(), accounting.clone()).await?;
        let mut bytes = 0;
        let mut sha = Sha256::new();
        while let Some(data) = chunks.next().await? {
            accounting.add_received(&data);
            bytes += data.len() as u64;
            sha.update(&data);
        }
        let reply = UploadReply {
            bytes,
            sha256: messages::hex(&sha.finalize()),
        };
        accounting.add_sent(&reply.encode_to_vec());
        Ok(Response::new(reply))
    }

    type ChatStream = Replies<EchoReply>;

    async fn chat(
        &self,
        request: Request<Streaming<EchoRequest>>,
    ) -> Result<Response<Replies<EchoReply>>, Status> {
        let accounting = accounting(&request)?;
        let replies = request
            .into_inner()
            .map_ok(move |message| echo(&accounting, message));
        Ok(Response::new(replies.boxed()))
    }
}

fn echo(accounting: &RequestAccounting, message: EchoRequest) -> EchoReply {
    accounting.add_received(&message.encode_to_vec());
    let reply = EchoReply::from(messages::Echo::from(message));
    accounting.add_sent(&reply.encode_to_vec());
    reply
}

fn accounting<T>(request: &Request<T>) -> Result<RequestAccounting, Status> {
    // `Shared::answer` attaches it to every request.
    request
        .extensions()
        .get()
        .cloned()
        .ok_or_else(|| Status::internal("the request has no accounting"))
}
