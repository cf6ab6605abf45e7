/// The role of one direction of a stream in an HTTP exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// From the client, on a stream that the client opened.
    Request,
    /// From the server, on a stream that the client opened.
    Response,
    /// The only direction of a unidirectional stream: control, QPACK, grease.
    Unidirectional,
}
