#[path = "../../shared/server/src/certificate.rs"]
mod subject;

/// Reads the subject of a client's X.509 certificate.
pub fn certificate(data: &[u8]) {
    subject::common_name(data);
}
