//! The messages of driver protocol version 2: one JSON object per line.
//!
//! The lab sends requests, first [`Request::Hello`]; the documentation of each names the
//! replies to it. `docs/driver-protocol.md` is the contract; these are its types.

mod application;
mod parse;
mod reply;
mod request;
mod row;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::application::{Codec, Protocol};
pub use self::parse::RequestError;
pub use self::reply::{Capability, Clock, Hello, Reply};
pub use self::request::{
    Action, Auth, Coded, CodedMessage, Discovery, Policy, Reconnect, Request, Setup, Start, Step,
    Until,
};
pub use self::row::{CallError, ErrorKind, Row};

/// The protocol version that these types describe.
pub const VERSION: u32 = 2;

/// Any line of a conversation. The published schema describes this type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Message {
    /// From the lab to the driver.
    Request(Request),
    /// From the driver to the lab.
    Reply(Reply),
}
